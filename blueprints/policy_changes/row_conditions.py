"""Decisions of two policies about many callers, as conditions on the rows of a table and on its tenants' users.

A decision is about one caller, a plan about the rows of one caller. Here the caller stays open: parts that depend only
on the role and the environment are evaluated, and attributes in which users of a role differ become columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import peewee as pw

from gatepost.http.request.on_users import OnUsers
from models.tables.audience import Audience, Way
from policies import Policy, Principal
from policies.comparison.subjects import Subject, condition_of
from policies.evaluation.compiled import NO_OBJECT, compiled, no_shares, value_of
from policies.evaluation.plan import branches, contradicts
from policies.evaluation.principal import Environment
from policies.evaluation.rights import rights_to
from policies.syntax.attributes import is_of_login
from policies.syntax.expression import (
    GROUPS,
    Ago,
    Atom,
    Attribute,
    Comparison,
    Expression,
    InGroup,
    Parameter,
    PluginCall,
    Prefixed,
    Shared,
    asks_shares,
    attributes,
    conjunction,
    conjuncts,
    negation,
    reads_object,
    rebuild,
)
from policies.syntax.roles import GUEST

# Attributes in which users of a role differ.
_OWN = frozenset(("id", "key", "department", "groups", "tenant_id"))


class NoSql(Exception):
    """Error: the database cannot answer this; the message says why."""


@dataclass(frozen=True, slots=True)
class SharedAs(Shared):
    """A share that gives one of `rights`, also by one of `roles`. Roles may differ between the two policies."""

    rights: tuple[str, ...]
    roles: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Needs:
    """Needs of a permission: the condition of a policy for a subject, and roles by which a share may give it."""

    condition: Expression
    roles: frozenset[str]

    @property
    def is_timely(self) -> bool:
        """True if the answer depends on the environment."""
        return any(attribute.root == "env" for attribute in attributes(self.condition))


def needs_of(policy: Policy, subject: Subject, permission: str) -> Needs:
    """Returns the condition of all rules for a role, a user with that role, or guests."""
    key = GUEST if subject.is_guest else subject.key
    condition = condition_of(policy.matching_rules(subject.role, key, permission))
    if not asks_shares(condition):
        return Needs(condition, frozenset())
    return Needs(condition, policy.roles.shared_as(subject.role, subject.key))


@dataclass(frozen=True, slots=True)
class Callers:
    """The users of a role, those of them with rules of their own, or guests, and the environment of their requests.

    guest_tenant  the tenant of guests
    """

    subject: Subject
    environment: Environment
    guest_tenant: str

    def allowed(self, policy: Policy, permission: str) -> Expression:
        """Returns the condition under which the policy gives them the permission, over what differs by caller and row.

        Raises FunctionFailed, and NoSql.
        """
        needs, rights = needs_of(policy, self.subject, permission), rights_to(permission, policy.vocabulary.fallbacks)
        shareable = rights and not self.subject.is_guest
        shared: Expression = SharedAs(rights, tuple(sorted(needs.roles))) if shareable else False
        return self._partial(needs.condition, permission, shared)

    def _partial(self, expression: Expression, permission: str, shared: Expression) -> Expression:
        return rebuild(expression, lambda atom: shared if isinstance(atom, Shared) else self._answer(atom, permission))

    def _answer(self, atom: Atom, permission: str) -> Expression:
        """Returns the answer to an atom if it is the same for all callers and rows; else the atom."""
        if not self.subject.is_guest and any(map(is_of_login, attributes(atom))):
            raise NoSql("a condition asks how the caller logged in, and so differs between requests of one user")
        constants = [attribute for attribute in attributes(atom) if self.is_constant(attribute)]
        if len(constants) == len(attributes(atom)):
            return compiled(atom, permission)(self._principal, NO_OBJECT, self.environment, no_shares)
        if isinstance(atom, PluginCall) and atom.function.where is None:
            raise NoSql(f"the function {atom.function.name} of a plugin asks who calls, and has no SQL")
        missing = isinstance(atom, Comparison | InGroup) and None in map(self.value, constants)
        return False if missing or (isinstance(atom, InGroup) and self.subject.is_guest) else atom

    def is_constant(self, attribute: Attribute) -> bool:
        """True if an attribute is the same for all callers and rows."""
        return attribute.root == "env" or (
            attribute.root == "sub" and (self.subject.is_guest or attribute.name not in _OWN))

    def value(self, attribute: Parameter) -> Any:
        return value_of(attribute)(self._principal, NO_OBJECT, self.environment)

    @property
    def _principal(self) -> Principal:
        role = self.subject.role
        return Principal(None, GUEST, role, self.guest_tenant, None, "guest" if self.subject.is_guest else "user")


def attributes_read(conditions: Sequence[Expression]) -> frozenset[tuple[str, str]]:
    """Returns the attributes of rows and users that conditions read, such as `("obj", "department")`.

    Conditions that read shares also read groups, because a share may be with a group of the caller.
    """
    read = {attribute for condition in conditions for attribute in attributes(condition)}
    groups = {GROUPS} if any(map(asks_shares, conditions)) else set()
    return frozenset((attribute.root, attribute.name) for attribute in read | groups)


def exceptions(allowed: Expression, other: Expression) -> list[tuple[Expression, ...]]:
    """Returns alternatives on which `allowed` holds and `other` does not. An alternative holds if all its parts do."""
    alternatives = []
    for branch in branches(allowed):
        rests = [_without(each, branch) for each in branches(other)]
        if not any(each is True for each in rests):
            alternatives.append((*conjuncts(branch), *(negation(each) for each in rests if each is not False)))
    return alternatives


def _without(expression: Expression, fact: Expression) -> Expression:
    """Returns the rest of an expression if `fact` holds."""
    if contradicts(conjunction((expression, fact))):
        return False
    held = conjuncts(fact)
    return conjunction(part for part in conjuncts(expression) if part not in held)


class Conditions(OnUsers):
    """Writes exceptions as SQL, over the rows and users of an audience."""

    def __init__(self, audience: Audience, resource: str, callers: Callers) -> None:
        super().__init__(audience.users, {name: getattr(audience.row, name) for name in audience.columns})
        self._audience, self._resource, self._callers = audience, resource, callers

    def way(self, parts: Sequence[Expression]) -> Way:
        """Returns the parts as SQL, grouped by the tables that they read. Raises FunctionFailed."""
        of_row: list[pw.Node] = []
        of_user: list[pw.Node] = []
        of_both: list[pw.Node] = []
        for part in parts:
            match part:  # few rows are shared, or name a group: the database searches these first
                case Shared():
                    of_row.append(self._audience.shared_at_all(self._resource))
                case InGroup(Attribute("obj") | Prefixed(_, Attribute("obj")) as name):
                    of_row.append(self._audience.names_a_group(self.group_name(name)))
                    of_user.append(self._users.in_a_group())
            place = of_row if not self._reads_user(part) else of_both if reads_object(part) else of_user
            place.append(self.expression(part))
        return Way(tuple(of_row), tuple(of_user), tuple(of_both))

    def parameter(self, operand: Parameter) -> pw.Node:
        read = operand.attribute if isinstance(operand, Ago) else operand
        if isinstance(read, Attribute) and self._callers.is_constant(read):
            return pw.Value(self._callers.value(operand), converter=False)
        return super().parameter(operand)

    def shared(self, share: Shared) -> pw.Node:
        if not isinstance(share, SharedAs):
            raise TypeError("a share of no certain rights has no SQL")
        return self._audience.shared(self._resource, share.rights, share.roles)

    def _reads_user(self, part: Expression) -> bool:
        if self._callers.subject.is_guest:
            return False
        return asks_shares(part) or not all(
            attribute.root == "obj" or self._callers.is_constant(attribute) for attribute in attributes(part))
