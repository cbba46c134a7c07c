"""Testing a policy: cases of who may do what, with which objects, under a pinned clock.

A case names principals, objects and the permissions that are granted; every other permission of the same
resource must be refused. case_file.py reads them, case_run.py asks them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..evaluation.compiled import SharedWith
from ..evaluation.policy import Policy
from ..evaluation.principal import FixedEnvironment, Principal
from ..evaluation.rights import RIGHTS
from ..evaluation.rule_trace import RuleTrace
from ..syntax.roles import GUEST, Roles
from ..syntax.vocabulary import Resource, Vocabulary
from ..wording.finding import Finding


@dataclass(frozen=True, slots=True)
class Thing:
    """The object that a case asks about. With `columns` None, it is the resource as such.

    shares  grantee (`user:<id>`, `group:<name>`, `role:<name>`) → right (a key of `RIGHTS`)
    """

    name: str
    resource: str
    columns: Mapping[str, Any] | None
    shares: Mapping[str, str]

    def shared_under(self, roles: Roles) -> SharedWith:
        """Returns a function that is true if a share of this object gives a permission, as the service decides it.

        A share with a role also reaches principals who inherit the role or were lent it. No share reaches a guest.
        """
        def shared(principal: Principal, _obj: Any, permission: str) -> bool:
            verb = permission.partition(".")[2]
            named = (principal.key, *(f"role:{name}" for name in roles.shared_as(principal.role, principal.key)),
                     *(f"group:{name}" for name in principal.groups))
            return principal.kind != GUEST and any(
                verb in RIGHTS[self.shares[name]] for name in named if name in self.shares)

        return shared

    def as_new(self, resource: Resource, case: Case) -> Thing:
        """The object as the service has it when it is about to make it."""
        return replace(self, columns=resource.created(self.columns or {}, case.environment.now))


@dataclass(frozen=True, slots=True)
class Case:
    """One case; `may` maps (principal's name, object's name) to what is granted."""

    name: str
    line: int
    principals: tuple[tuple[str, Principal], ...]
    things: tuple[Thing, ...]
    may: Mapping[tuple[str, str], frozenset[str]]
    environment: FixedEnvironment


@dataclass(frozen=True, slots=True)
class Suite:
    """The cases of one file; `warnings` name what in it tests nothing."""

    file: str
    cases: tuple[Case, ...]
    warnings: tuple[Finding, ...] = ()

    def questions(self, vocabulary: Vocabulary) -> Iterator[Question]:
        """Every single question of the suite, in the order of the file."""
        for case in self.cases:
            for who, principal in case.principals:
                for thing in case.things:
                    resource = vocabulary.resources[thing.resource]
                    for permission in sorted(resource.permissions):
                        expected = permission in case.may[who, thing.name]
                        new = permission == f"{resource.name}.create" and thing.columns is not None
                        yield Question(case, who, principal, thing.as_new(resource, case) if new else thing,
                                       permission, expected)


@dataclass(frozen=True, slots=True)
class Question:
    """May this principal do this to this thing?"""

    case: Case
    who: str
    principal: Principal
    thing: Thing
    permission: str
    expected: bool

    def asked_of(self, policy: Policy) -> bool:
        """The policy's answer."""
        return policy.decide(
            self.principal, self.permission, self.thing.columns, self.case.environment,
            self.thing.shared_under(policy.roles),
        )

    def traces(self, policy: Policy) -> list[RuleTrace]:
        """Every rule about this caller and permission, those that hold and those that do not."""
        return policy.rule_traces(
            self.principal, self.permission, self.thing.columns, self.case.environment,
            self.thing.shared_under(policy.roles),
        )
