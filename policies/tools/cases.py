"""Testing a policy: cases of who may do what, with which objects, under a pinned clock.

A case names principals, objects and the permissions that are granted; every other permission of the same
resource must be refused. A line that no case reached could be lost without a failing case: `uncovered` names it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..evaluation.policy import Policy
from ..evaluation.principal import FixedEnvironment, Principal
from ..evaluation.rights import RIGHTS
from ..syntax.finding import Finding
from ..syntax.roles import RoleLink
from ..syntax.rules import Rule, ScopeRule
from ..syntax.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class Thing:
    """What a case asks about: an object of a resource, or (columns None) the resource as such.

    shares  grantee (`user:<id>`, `group:<name>`, `role:<name>`) → right (a key of `RIGHTS`)
    """

    name: str
    resource: str
    columns: Mapping[str, Any] | None
    shares: Mapping[str, str]

    def shared(self, principal: Principal, _obj: Any, permission: str) -> bool:
        """Whether a share of this object gives `permission` to `principal`; never to a guest."""
        if principal.kind == "guest":
            return False
        verb = permission.partition(".")[2]
        grantees = (
            principal.key,
            f"role:{principal.role}",
            *(f"group:{name}" for name in principal.groups),
        )
        return any(verb in RIGHTS[self.shares[name]] for name in grantees if name in self.shares)


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
    """The cases of one file."""

    file: str
    cases: tuple[Case, ...]

    def questions(self, vocabulary: Vocabulary) -> Iterator[Question]:
        """Every single question of the suite, in the order of the file."""
        for case in self.cases:
            for who, principal in case.principals:
                for thing in case.things:
                    for permission in sorted(vocabulary.resources[thing.resource].permissions):
                        expected = permission in case.may[who, thing.name]
                        yield Question(case, who, principal, thing, permission, expected)


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
            self.principal, self.permission, self.thing.columns, self.case.environment, self.thing.shared
        )

    def rules_of(self, policy: Policy) -> Iterator[Rule]:
        """The rules that hold here, whether they allow or deny."""
        traces = policy.rule_traces(
            self.principal, self.permission, self.thing.columns, self.case.environment, self.thing.shared
        )
        return (trace.rule for trace in traces if trace.matched)


@dataclass(slots=True)
class Report:
    """The result of a run: the number of questions, and a finding for each wrong answer."""

    asked: int = 0
    cases: int = 0
    failures: list[Finding] = field(default_factory=list)


def run(policy: Policy, suite: Suite) -> Report:
    """Ask every question; a wrong answer becomes a finding at the line of its case."""
    report = Report(cases=len(suite.cases))
    for question in suite.questions(policy.vocabulary):
        report.asked += 1
        if question.asked_of(policy) != question.expected:
            report.failures.append(_failure(suite, question))
    return report


def uncovered(policy: Policy, suite: Suite) -> list[Finding]:
    """A warning for each line (rule, scope or role) that no question of the suite reached.

    A rule is reached when it held for a question; a role's line, when a rule that held came by it; a scope's
    line, when it covered what was allowed.
    """
    reached: set[Rule | ScopeRule | RoleLink] = set()
    for question in suite.questions(policy.vocabulary):
        principal, permission = question.principal, question.permission
        if policy.covers(principal, permission):
            for rule in question.rules_of(policy):
                reached.add(rule)
                reached.update(policy.roles.chain(principal.role, rule.sub) or ())
                reached.update(policy.roles.chain(principal.key, rule.sub) or ())
        if principal.scopes and question.asked_of(policy):
            reached.update(
                line
                for line in policy.scopes
                if line.scope in principal.scopes and permission in policy.patterns.covered(line.act)
            )
    lines: tuple[Rule | ScopeRule | RoleLink, ...] = (*policy.rules, *policy.scopes, *policy.roles.links)
    return sorted(
        Finding(line.file, line.line, "no case reaches this line", "warning")
        for line in lines
        if line not in reached
    )


def _failure(suite: Suite, question: Question) -> Finding:
    verdict = "may not" if question.expected else "may"
    wanted = "should" if question.expected else "should not"
    on = f" on {question.thing.name!r}" if question.thing.columns is not None else ""
    message = f"{question.case.name}: {question.who} {verdict} {question.permission}{on}, and {wanted}"
    return Finding(suite.file, question.case.line, message)
