"""Rights of one principal in one request, on rows.

`policies` knows no table, and `models` knows no rule. This module turns a policy's plan into the WHERE of a table, and
looks up in the table of shares which rows are shared with the caller.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import lru_cache, reduce
from operator import and_, or_
from typing import Any, ClassVar, Literal

import peewee as pw

from models.base import Record
from models.engine.prepared import Bind
from models.indexes import leading
from models.tables.share import any_in, any_shared, has_right, rights, shared_ids
from policies import ALWAYS, NEVER, Plan, Policy, Principal
from policies.evaluation.compiled import NO_OBJECT, value_of
from policies.evaluation.principal import Environment, FixedEnvironment
from policies.evaluation.rights import RIGHTS, rights_for, rights_to
from policies.evaluation.sql import Where, no_row, where
from policies.syntax.attributes import ENVIRONMENT, REQUESTS
from policies.syntax.expression import Parameter
from policies.syntax.roles import ADMIN, GUEST

from ..protocol.messages import Message
from ..protocol.problems import Problem

# Effect of shares on a list: add the rows that only a share grants, leave them out, or select only shared rows.
Sharing = Literal["include", "exclude", "only"]
_Reader = Callable[[Principal, Mapping[str, Any], Environment], Any]


@dataclass(frozen=True, slots=True)
class Narrowing:
    """Condition of a plan on the rows of a table, as SQL that many callers share; `values` fill its Binds."""

    where: Where
    values: Mapping[str, Any]


def lost_role(role: str) -> Problem:
    """Returns the refusal of a user whose role the policy does not have for users."""
    return Problem("forbidden", Message("The policy has no role {role} for users. Ask an administrator for another "
                                        "one.", role=role))


NOTHING = Narrowing(Where((no_row(),), by_id=(False,)), {})


class Access:
    """Rights of one principal under one version of the policy, for the duration of a request."""

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
        """True if the policy does not have the principal's role for users. Then nothing is permitted."""
        return self.policy.is_lost(self.principal)

    def ranks_over(self, role: str) -> bool:
        """True if the principal may decide about users of `role`.

        That is the principal's own role, and each role that it inherits. The role `admin` ranks over every role, even
        one that the policy does not have for users. A role that a rule lends gives no rank.
        """
        return self.principal.role == ADMIN or (role in self.roles and role != GUEST)

    def may_ever(self, permission: str) -> bool:
        """True if the permission can be granted on some object."""
        return self.plan(permission).outcome is not NEVER

    def permissions(self) -> list[str]:
        """Returns the permissions that the principal may have on some object."""
        return [name for name in sorted(self.policy.patterns.permissions) if self.may_ever(name)]

    def patterns(self) -> list[str]:
        """Returns `permissions` in short form: `article.*` for all permissions of a resource, `*` for all of them."""
        granted, declared = self.permissions(), self.policy.patterns.permissions
        if len(granted) == len(declared):
            return ["*"]
        incomplete = {name.partition(".")[0] for name in declared.difference(granted)}
        resources = [(name, name.partition(".")[0]) for name in granted]
        return list(dict.fromkeys(name if resource in incomplete else f"{resource}.*" for name, resource in resources))

    def allows(self, permission: str, row: Mapping[str, Any] | None = None) -> bool:
        """True if the principal has the permission on this row (column name → value). Counts a use of the rule."""
        return self.policy.settle(self.principal, permission, row, self.environment, self.shared)

    def would_allow(self, permission: str, row: Mapping[str, Any] | None = None) -> bool:
        """Does the same as `allows`, but counts no use of a rule: nothing follows from the decision."""
        return self.policy.decide(self.principal, permission, row, self.environment, self.shared)

    def is_certain(self, permission: str, row: Mapping[str, Any] | None, unknown: Set[str]) -> bool:
        """True if the permission is granted for every possible value of the columns `unknown`."""
        if row is None or not unknown:
            return self.allows(permission, row)
        return self.policy.is_certain(self.principal, permission, row, unknown, self.environment, self.shared)

    def note_shown(self, permission: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Counts uses of the rules that show these rows. The rows come from the plan of the permission."""
        self.policy.glance(self.principal, permission, rows, self.environment)

    def require(self, permission: str, row: Mapping[str, Any] | None = None, unknown: Set[str] = frozenset()) -> None:
        """Raises `refusal` unless the policy allows it for every possible value of the columns `unknown`."""
        if not self.is_certain(permission, row, unknown):
            raise self.refusal(permission)

    def refusal(self, permission: str) -> Problem:
        """Returns the refusal: 401 for a guest, 403 for every other caller."""
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
        """Returns the first scope in the policy's files that covers the permission; None if no scope does."""
        return next((rule.scope for rule in self.policy.scopes if self.policy.covers(
            replace(self.principal, scopes=frozenset((rule.scope,))), permission)), None)

    def _challenge(self, permission: str) -> str:
        """Returns the challenge with the scope that the token lacks (RFC 6750 section 3)."""
        needed = self.needed_scope(permission)
        return 'Bearer error="insufficient_scope"' + ("" if needed is None else f', scope="{needed}"')

    def plan(self, permission: str) -> Plan:
        """Returns the plan of the permission: the rows on which it is granted. A plan also serves as a cache key."""
        plan = self._plans.get(permission)
        if plan is None:
            plan = self._plans[permission] = self.policy.plan(self.principal, permission, self.environment)
        return plan

    def shows_all(self, permission: str) -> bool:
        """True if no row hides the field that the permission shows: the rules give it for every row, or for exactly the
        rows of its fallback."""
        plan, fallback = self.plan(permission), self.policy.vocabulary.fallbacks.get(permission)
        return plan.outcome is ALWAYS or (
            fallback is not None and replace(plan, permission=fallback) == self.plan(fallback))

    def narrow(self, permission: str, model: type[Record], shared: Sharing = "include", prefix: str = ""
               ) -> Narrowing | None:
        """Returns the condition for the rows on which the permission is granted, or None if there can be no such row.

        prefix  start of the names of its placeholders, for a statement with the conditions of two principals
        shared  `exclude` leaves out rows on which only a share grants it; `only` leaves out rows that are not shared
        """
        plan = self.plan(permission)
        if plan.outcome is NEVER or not self.policy.covers(self.principal, permission):
            return None
        resource, _, verb = self.policy.vocabulary.fallbacks.get(permission, permission).partition(".")
        grantees = self.grantees if plan.uses_shares or shared == "only" else []
        if grantees and not any_shared(self.principal.tenant_id, resource, grantees):
            grantees = []  # a lookup of shares takes as long as everything else, and usually finds none
        where, parameters = _where(plan, model, resource, verb, len(grantees), shared, prefix)
        values = {name: read(self.principal, NO_OBJECT, self.environment) for name, read in parameters}
        if grantees:
            values["tenant"] = self.principal.tenant_id
            values |= zip(_grantees(len(grantees), prefix), grantees, strict=True)
        return Narrowing(where, values)

    def is_constant(self, permission: str) -> bool:
        """True if the plan depends neither on the environment, such as time and address, nor on shares."""
        plan = self.plan(permission)
        return not plan.uses_environment and not plan.uses_shares

    @property
    def grantees(self) -> list[str]:
        """Returns the grantees of shares that mean this principal, with roles that a rule lends; none for a guest."""
        principal = self.principal
        if principal.kind == GUEST:
            return []
        roles = [f"role:{role}" for role in sorted(self.policy.roles.shared_as(principal.role, principal.key))]
        groups = [f"group:{name}" for name in principal.groups]
        return [principal.key, *roles, *groups]

    def by(self, method: str) -> Supposed:
        """Returns the access that the principal would have with another method."""
        values = {name: getattr(self.environment, name) for name in ENVIRONMENT}
        return Supposed(self.policy, self.principal,
                        FixedEnvironment(**{**values, "method": method, "request": REQUESTS[method]}))

    def shared(self, principal: Principal, row: Mapping[str, Any], permission: str) -> bool:
        """True if a share grants this permission on the row to the principal, or to one of their groups or roles."""
        resource, rights = permission.partition(".")[0], rights_to(permission, self.policy.vocabulary.fallbacks)
        # Nothing can be shared with a guest.
        if not rights or row["id"] is None or principal.kind == GUEST or not any_in(principal.tenant_id, resource):
            return False
        return has_right(principal.tenant_id, resource, row["id"], self.grantees, rights)

    def rights(self, resource: str, id: str) -> list[str]:
        """Returns the rights that shares grant the principal on an object, sorted."""
        tenant_id, grantees = self.principal.tenant_id, self.grantees
        # Cached until the next commit; usually nothing is shared.
        return rights(tenant_id, resource, id, grantees) if grantees and any_in(tenant_id, resource) else []


class Supposed(Access):
    """Access of a principal who is not the caller. Its decisions count no use of a rule and lock no row."""

    __slots__ = ()
    is_supposed = True
    allows = Access.would_allow

    def note_shown(self, permission: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Counts nothing."""


MOST_GROUPS = 50  # of one user: the SQL of a list has a placeholder for each


@lru_cache(maxsize=256)
def _grantees(number: int, prefix: str) -> tuple[str, ...]:
    """Returns the names of the placeholders for the caller's grantees: the user, their roles, their groups."""
    return tuple(f"{prefix}grantee {index}" for index in range(number))


@lru_cache(maxsize=4096)
def _where(plan: Plan, model: type[Record], resource: str, verb: str, grantees: int, sharing: Sharing, prefix: str
           ) -> tuple[Where, tuple[tuple[str, _Reader], ...]]:
    """Returns the SQL of a plan, and functions that read the values of its Binds from a caller and an environment.

    verb  the verb whose rights of shares give the permission
    """
    parameters: dict[str, _Reader] = {}

    def parameter(operand: Parameter) -> pw.Node:
        parameters[f"{prefix}{operand}"] = value_of(operand)
        return Bind(f"{prefix}{operand}")

    def with_rights(rights: Collection[str]) -> pw.Expression:
        if not grantees:
            return no_row()
        return model.id.in_(shared_ids(Bind("tenant"), resource, [Bind(name) for name in _grantees(grantees, prefix)],
                                      rights))

    def shared() -> pw.Expression:
        return with_rights(rights_for(verb))

    columns = {field.name: field for field in model._meta.sorted_fields}
    indexed = leading(model) if plan.groups else frozenset()
    sql = where(plan, columns, parameter, shared, indexed)
    # A denial applies to shared rows as well.
    allows = where(plan, columns, parameter, no_row, indexed).allows if sharing == "exclude" else sql.allows
    by_id = sql.by_id
    if allows is not None and (not grantees or sharing == "exclude"):
        allows = tuple(allow for allow, is_shared in zip(allows, by_id, strict=True) if not is_shared)
        by_id = (False,) * len(allows)
    if sharing == "only":
        allowed = () if allows is None else (reduce(or_, allows or (no_row(),)),)
        allows = (reduce(and_, allowed, with_rights(tuple(RIGHTS))),) if grantees else ()
        by_id = (True,) * len(allows)
    return Where(allows, sql.denies, by_id), tuple(parameters.items())
