"""Where rows meet rules: what one principal may do, in one request.

`policies` knows no table and `models` no rule; this module turns a policy's plan into the WHERE of a
table, and answers the question "is this row shared with the caller?" from the table of shares.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import lru_cache, reduce
from operator import and_, or_
from typing import Any, ClassVar, Literal, cast

import peewee as pw

from models.base import Record
from models.engine.prepared import Bind
from models.indexes import leading
from models.tables.share import any_in, any_shared, has_right, rights, shared_ids
from policies import NEVER, Plan, Policy, Principal
from policies.evaluation.compiled import NO_OBJECT, value_of
from policies.evaluation.principal import Environment, FixedEnvironment
from policies.evaluation.rights import RIGHTS, rights_for
from policies.evaluation.sql import alternatives, where
from policies.syntax.attributes import ENVIRONMENT, REQUESTS
from policies.syntax.expression import Attribute, GroupOfCaller, Shared, conjuncts
from policies.syntax.roles import ADMIN, GUEST

from ..protocol.messages import Message
from ..protocol.problems import Problem

# What shares add to a list: also what they alone open, nothing, or only what is shared with the caller.
Sharing = Literal["include", "exclude", "only"]
_Reader = Callable[[Principal, Mapping[str, Any], Environment], Any]


@dataclass(frozen=True, slots=True)
class Narrowing:
    """The rows of a table that a plan leaves: `key` identifies the SQL, `values` fill its placeholders.

    branches  disjuncts, one of which must hold; None: every row
    sought    for each branch, whether it names its rows by id (what is shared): few, to be looked up, not walked
    denies    expressions that must all hold
    """

    key: tuple[Any, ...]
    branches: tuple[pw.Expression, ...] | None
    sought: tuple[bool, ...]
    denies: tuple[pw.Expression, ...]
    values: Mapping[str, Any]

    @property
    def everything(self) -> bool:
        """Whether no row is left out."""
        return self.branches is None and not self.denies

    def expression(self) -> pw.Expression:
        """All of it as one condition, for a place that needs no index of its own."""
        allowed = pw.SQL("1 = 1") if self.branches is None else reduce(or_, self.branches or (_no_row(),))
        return cast(pw.Expression, reduce(and_, self.denies, allowed))


def _no_row() -> pw.Expression:
    return cast(pw.Expression, pw.SQL("1 = 0"))


def lost_role(role: str) -> Problem:
    """The refusal of a user whose role no user can have under the policy."""
    return Problem("forbidden", Message("The policy has no role {role} for users. Ask an administrator for another "
                                        "one.", role=role))


NOTHING = Narrowing(("nothing",), (_no_row(),), (False,), (), {})


class Access:
    """One principal under one policy snapshot, from the start of a request to its end."""

    __slots__ = ("_plans", "environment", "policy", "principal")
    is_supposed: ClassVar[bool] = False

    def __init__(self, policy: Policy, principal: Principal, environment: Environment) -> None:
        self.policy = policy
        self.principal = principal
        self.environment = environment
        self._plans: dict[str, Plan] = {}

    @property
    def roles(self) -> frozenset[str]:
        """The principal's role and every role that it inherits."""
        return self.policy.roles.closure(self.principal.role)

    @property
    def is_lost(self) -> bool:
        """True if the policy has no such role for users: then nothing is permitted, not even what a guest may."""
        return self.policy.is_lost(self.principal)

    def ranks_over(self, role: str) -> bool:
        """Whether the principal may decide about users of a role: one that theirs equals or inherits, and with the role
        `admin` any, also one that the policy does not have for users. What a line lends to a person gives no rank."""
        return self.principal.role == ADMIN or (role in self.roles and role != GUEST)

    def may_ever(self, permission: str) -> bool:
        """Whether there is any object at all on which the permission could be granted."""
        return self.plan(permission).outcome is not NEVER

    def permissions(self) -> list[str]:
        """Every permission that the principal may have on some object."""
        return [name for name in sorted(self.policy.patterns.permissions) if self.may_ever(name)]

    def patterns(self) -> list[str]:
        """The same, shortened: `article.*` where that is every permission of the resource, `*` where it is every one
        there is."""
        held, known = self.permissions(), self.policy.patterns.permissions
        if len(held) == len(known):
            return ["*"]
        wanting = {name.partition(".")[0] for name in known.difference(held)}
        resources = [(name, name.partition(".")[0]) for name in held]
        return list(dict.fromkeys(name if resource in wanting else f"{resource}.*" for name, resource in resources))

    def allows(self, permission: str, row: Mapping[str, Any] | None = None) -> bool:
        """Whether the principal may do this, to this row (column name → value); the line that settles it is counted."""
        return self.policy.settle(self.principal, permission, row, self.environment, self.shared)

    def would_allow(self, permission: str, row: Mapping[str, Any] | None = None) -> bool:
        """`allows`, where nothing is done: no use of a line is counted."""
        return self.policy.decide(self.principal, permission, row, self.environment, self.shared)

    def is_certain(self, permission: str, row: Mapping[str, Any] | None, unknown: Set[str]) -> bool:
        """True if `allows` says yes whatever the columns `unknown` of the row hold."""
        if row is None or not unknown:
            return self.allows(permission, row)
        return self.policy.is_certain(self.principal, permission, row, unknown, self.environment, self.shared)

    def note_shown(self, permission: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Count the lines by which rows are shown that were found by the plan of a permission."""
        self.policy.glance(self.principal, permission, rows, self.environment)

    def require(self, permission: str, row: Mapping[str, Any] | None = None, unknown: Set[str] = frozenset()) -> None:
        """Raises the `Problem` that refuses, unless the policy allows, whatever the columns `unknown` hold."""
        if not self.is_certain(permission, row, unknown):
            raise self.refusal(permission)

    def refusal(self, permission: str) -> Problem:
        """401 for a guest, 403 for every other caller."""
        if self.principal.kind == "guest":
            return Problem("unauthenticated", Message(
                "A guest may not do this ({permission}). Log in first.", permission=permission))
        if self.is_lost:
            return lost_role(self.principal.role)
        if not self.policy.covers(self.principal, permission):
            return Problem("insufficient_scope", Message(
                "The token's scopes do not cover {permission}.", permission=permission),
                           headers={"WWW-Authenticate": self._challenge(permission)}, permission=permission)
        return Problem("forbidden", Message("The policy does not allow {permission} here.", permission=permission),
                       permission=permission)

    def needed_scope(self, permission: str) -> str | None:
        """The scope that would cover the permission, the first in the policy's files; None where none does."""
        return next((rule.scope for rule in self.policy.scopes if self.policy.covers(
            replace(self.principal, scopes=frozenset((rule.scope,))), permission)), None)

    def _challenge(self, permission: str) -> str:
        """RFC 6750 section 3: the scope that would do, the narrowest first in the policy's files."""
        needed = self.needed_scope(permission)
        return 'Bearer error="insufficient_scope"' + ("" if needed is None else f', scope="{needed}"')

    def plan(self, permission: str) -> Plan:
        """The rows on which the permission is granted; a key for what is made of it."""
        found = self._plans.get(permission)
        if found is None:
            found = self._plans[permission] = self.policy.plan(self.principal, permission, self.environment)
        return found

    def narrow(self, permission: str, model: type[Record], shared: Sharing = "include", prefix: str = ""
               ) -> Narrowing | None:
        """The rows on which the permission is granted, or None when there can be none.

        `prefix` begins the names of its placeholders, where a statement narrows by what two principals may do.
        `shared`: `exclude` leaves out those on which a share alone grants it, `only` those that are not shared with the
        principal.
        """
        plan = self.plan(permission)
        if plan.outcome is NEVER or not self.policy.covers(self.principal, permission):
            return None
        resource, _, verb = permission.partition(".")
        named = self.grantees if plan.uses_shares or shared == "only" else []
        if named and not any_shared(self.principal.tenant_id, resource, named):
            named = []  # looking up what is shared takes as long as all else, and mostly nothing is
        template = _template(plan, model, resource, verb, len(named), shared, prefix)
        values = {name: read(self.principal, NO_OBJECT, self.environment) for name, read in template.parameters}
        if named:
            values["tenant"] = self.principal.tenant_id
            values |= zip(_grantees(len(named), prefix), named, strict=True)
        return Narrowing(template.key, template.branches, template.sought, template.denies, values)

    def is_constant(self, permission: str) -> bool:
        """Whether the plan would be the same at another hour, from elsewhere, and whatever is shared."""
        plan = self.plan(permission)
        return not plan.uses_environment and not plan.uses_shares

    @property
    def grantees(self) -> list[str]:
        """Everything a share can name that means this principal: a role also when a line lends it to them; nothing for
        a guest."""
        principal = self.principal
        if principal.kind == GUEST:
            return []
        roles = [f"role:{role}" for role in sorted(self.policy.roles.shared_as(principal.role, principal.key))]
        groups = [f"group:{name}" for name in principal.groups]
        return [principal.key, *roles, *groups]

    def by(self, method: str) -> Supposed:
        """The access that the principal would have now by another method."""
        known = {name: getattr(self.environment, name) for name in ENVIRONMENT}
        return Supposed(self.policy, self.principal,
                        FixedEnvironment(**{**known, "method": method, "request": REQUESTS[method]}))

    def shared(self, principal: Principal, row: Mapping[str, Any], permission: str) -> bool:
        """Whether a share gives this permission on the row: to the principal, a group or a role of theirs."""
        resource, _, verb = permission.partition(".")
        rights = rights_for(verb)
        # With a guest, nothing can be shared.
        if not rights or row["id"] is None or principal.kind == GUEST or not any_in(principal.tenant_id, resource):
            return False
        return has_right(principal.tenant_id, resource, row["id"], self.grantees, rights)

    def rights(self, resource: str, id: str) -> list[str]:
        """The rights that shares give the principal on an object, sorted."""
        tenant_id, named = self.principal.tenant_id, self.grantees
        # Remembered until something is committed; mostly nothing is shared.
        return rights(tenant_id, resource, id, named) if named and any_in(tenant_id, resource) else []


class Supposed(Access):
    """The access of a principal who does not ask: what is found out about it counts as no use of a line, and locks no
    row."""

    __slots__ = ()
    is_supposed = True
    allows = Access.would_allow

    def note_shown(self, permission: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Counts nothing."""


@dataclass(frozen=True, slots=True)
class _Template:
    key: tuple[Any, ...]
    branches: tuple[pw.Expression, ...] | None
    sought: tuple[bool, ...]
    denies: tuple[pw.Expression, ...]
    parameters: tuple[tuple[str, _Reader], ...]


MOST_GROUPS = 50  # of one user: a list asks for each of them


@lru_cache(maxsize=256)
def _grantees(number: int, prefix: str) -> tuple[str, ...]:
    """Names of the placeholders for what a share can name a caller by: themselves, their roles, their groups."""
    return tuple(f"{prefix}grantee {index}" for index in range(number))


@lru_cache(maxsize=4096)
def _template(plan: Plan, model: type[Record], resource: str, verb: str, named: int, sharing: Sharing, prefix: str
              ) -> _Template:
    parameters: dict[str, _Reader] = {}

    def parameter(operand: Attribute | GroupOfCaller) -> pw.Node:
        parameters[f"{prefix}{operand}"] = value_of(operand)
        return Bind(f"{prefix}{operand}")

    def with_rights(rights: Collection[str]) -> pw.Expression:
        if not named:
            return _no_row()
        return model.id.in_(shared_ids(Bind("tenant"), resource, [Bind(name) for name in _grantees(named, prefix)],
                                      rights))

    def shared() -> pw.Expression:
        return with_rights(rights_for(verb))

    columns = {field.name: field for field in model._meta.sorted_fields}
    indexed = leading(model) if plan.groups else frozenset()
    found = where(plan, columns, parameter, shared, indexed)
    # A denial of what is shared holds all the same.
    opened = where(plan, columns, parameter, _no_row, indexed) if sharing == "exclude" else found
    branches = None if opened.allows is None else tuple(opened.allows)
    sought = tuple(any(isinstance(part, Shared) for part in conjuncts(allow))
                   for allow in alternatives(plan, indexed))
    if branches is not None and (not named or sharing == "exclude"):
        branches = tuple(branch for branch, by_id in zip(branches, sought, strict=True) if not by_id)
        sought = (False,) * len(branches)
    denies = cast(tuple[pw.Expression, ...], tuple(found.denies))
    if sharing == "only":
        allowed = () if branches is None else (reduce(or_, branches or (_no_row(),)),)
        branches = (reduce(and_, allowed, with_rights(tuple(RIGHTS))),) if named else ()
        sought = (True,) * len(branches)
    key = (plan, resource, verb, named, sharing, prefix)
    return _Template(key, branches, sought, denies, tuple(parameters.items()))
