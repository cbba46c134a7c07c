"""Cases of a policy: who may do what, with which objects, under a pinned clock; and their run.

A case names principals, objects and the permissions that are granted; every other permission of the same resource must
be refused. `case_file` reads them. `run` returns wrong answers with the rule that decided. A rule that matched in no
case could be lost without a failing case: `Coverage` names it.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..evaluation.compiled import SharedWith
from ..evaluation.policy import Policy
from ..evaluation.principal import FixedEnvironment, Principal
from ..evaluation.rights import rights_to
from ..evaluation.rule_trace import RuleTrace
from ..syntax.roles import GUEST, RoleLink
from ..syntax.rules import Rule, ScopeRule
from ..syntax.vocabulary import Resource, Vocabulary
from ..wording.finding import Finding

_IDLE = "no rule allows or denies anything in this case, so every answer is no; use a permission that a rule names"


@dataclass(frozen=True, slots=True)
class Thing:
    """The object that a case asks about. With `columns` None, it is the resource as such.

    shares  grantee (`user:<id>`, `group:<name>`, `role:<name>`) → right (a key of `RIGHTS`)
    """

    name: str
    resource: str
    columns: Mapping[str, Any] | None
    shares: Mapping[str, str]

    def shared_under(self, policy: Policy) -> SharedWith:
        """Returns a function that is true if a share of this object gives a permission, as the service decides it.

        A share with a role also reaches principals who inherit the role or were lent it. No share reaches a guest.
        """
        def shared(principal: Principal, _obj: Any, permission: str) -> bool:
            rights, roles = rights_to(permission, policy.vocabulary.fallbacks), policy.roles
            named = (principal.key, *(f"role:{name}" for name in roles.shared_as(principal.role, principal.key)),
                     *(f"group:{name}" for name in principal.groups))
            return principal.kind != GUEST and any(
                self.shares[name] in rights for name in named if name in self.shares)

        return shared

    def as_new(self, resource: Resource, case: Case) -> Thing:
        """Returns the object as the service has it before it creates it."""
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
    """The cases of one file, with `warnings` about entries that test nothing."""

    file: str
    cases: tuple[Case, ...]
    warnings: tuple[Finding, ...] = ()

    def questions(self, vocabulary: Vocabulary, followers: Container[str] = ()) -> Iterator[Question]:
        """Yields every question of the suite, in the order of the file.

        A list that has the fallback of a permission has the permission, too, if it is one of the `followers`
        (`Policy.followers`): cases that are older than the permission stay right.
        """
        for case in self.cases:
            for who, principal in case.principals:
                for thing in case.things:
                    resource = vocabulary.resources[thing.resource]
                    for permission in sorted(resource.permissions):
                        may = case.may[who, thing.name]
                        expected = permission in may or (
                            permission in followers and resource.fallbacks.get(permission) in may)
                        new = permission == f"{resource.name}.create" and thing.columns is not None
                        yield Question(case, who, principal, thing.as_new(resource, case) if new else thing,
                                       permission, expected)


@dataclass(frozen=True, slots=True)
class Question:
    """A question: may this principal do this to this thing?"""

    case: Case
    who: str
    principal: Principal
    thing: Thing
    permission: str
    expected: bool

    def asked_of(self, policy: Policy) -> bool:
        """Returns the policy's answer."""
        return policy.decide(
            self.principal, self.permission, self.thing.columns, self.case.environment,
            self.thing.shared_under(policy),
        )

    def traces(self, policy: Policy) -> list[RuleTrace]:
        """Returns every rule about this principal and permission, with the facts that match and those that fail."""
        return policy.rule_traces(
            self.principal, self.permission, self.thing.columns, self.case.environment,
            self.thing.shared_under(policy),
        )


@dataclass(frozen=True, slots=True)
class Failure:
    """A question that was answered wrongly.

    decided_by  the rule that allowed or denied; None if no rule did
    nearest     for a refusal without a deciding rule, the rule that came nearest to allowing it
    """

    question: Question
    file: str
    reason: str
    decided_by: Rule | None = None
    nearest: Rule | None = None

    @property
    def identity(self) -> tuple[int, str, str, str, str]:
        """Identifies the question without its answer: line and name of the case, principal, permission, object."""
        question = self.question
        return question.case.line, question.case.name, question.who, question.permission, question.thing.name

    @property
    def answer(self) -> str:
        """"ann may not article.update on 'a draft', and should: articles.csv:14 needs own_draft"."""
        question = self.question
        verdict, wanted = ("may not", "should") if question.expected else ("may", "should not")
        on = f" on {question.thing.name!r}" if question.thing.columns is not None else ""
        return f"{question.who} {verdict} {question.permission}{on}, and {wanted}: {self.reason}"

    @property
    def finding(self) -> Finding:
        case = self.question.case
        return Finding(self.file, case.line, f"{case.name}: {self.answer}")

    def as_json(self) -> dict[str, Any]:
        """Returns what a finding has no fields for."""
        question = self.question
        return {
            "case": question.case.name,
            "who": question.who,
            "permission": question.permission,
            "object": question.thing.name if question.thing.columns is not None else None,
            "expected": "allowed" if question.expected else "refused",
            "decided_by": _place(self.decided_by),
            "nearest": _place(self.nearest),
        }


@dataclass(slots=True)
class Report:
    """The result of a run: the number of questions, each wrong answer, and the other cases that reach no rule."""

    suite: Suite
    questions: int = 0
    failures: list[Failure] = field(default_factory=list)
    idle: list[Case] = field(default_factory=list)

    @property
    def warnings(self) -> list[Finding]:
        """Warnings about entries of the file, and about whole cases, that test nothing."""
        idle = (Finding(self.suite.file, case.line, f"{case.name}: {_IDLE}", "warning") for case in self.idle)
        return sorted([*self.suite.warnings, *idle])

    @property
    def findings(self) -> list[Finding]:
        """The warnings, and an error for each wrong answer."""
        return sorted([*self.warnings, *(failure.finding for failure in self.failures)])


class Coverage:
    """The lines of a policy (rules, scopes, roles) that questions reached; `run` fills it.

    A rule is reached when it held for a question; a role's line, when a rule that held came by it; a scope's
    line, when it covered what was allowed.
    """

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._lines: tuple[Rule | ScopeRule | RoleLink, ...] = (
            *policy.rules, *policy.scopes, *policy.roles.links)
        self._reached: set[Rule | ScopeRule | RoleLink] = set()

    @property
    def lines(self) -> int:
        return len(self._lines)

    @property
    def reached(self) -> int:
        return len(self._reached)

    @property
    def percent(self) -> int:
        """0–100, rounded down: 100 is every line."""
        return 100 * self.reached // self.lines

    def missed(self) -> list[Finding]:
        """Yields a warning for each line that no question reached."""
        return sorted(Finding(line.file, line.line, "no case reaches this rule", "warning")
                      for line in self._lines if line not in self._reached)

    def add(self, question: Question, allowed: bool) -> None:
        """Records the lines that a question reached."""
        policy, principal = self._policy, question.principal
        if not policy.covers(principal, question.permission):
            return
        for trace in question.traces(policy):
            if trace.matched:
                self._reached.add(trace.rule)
                for name in (principal.role, principal.key):
                    self._reached.update(policy.roles.chain(name, trace.rule.sub) or ())
        if allowed and principal.scopes:
            self._reached.update(line for line in policy.scopes if line.scope in principal.scopes
                                 and question.permission in policy.patterns.covered(line.act))


def run(policy: Policy, suite: Suite, coverage: Coverage | None = None) -> Report:
    """Asks the policy every question; `coverage`, if given, records the lines that were reached."""
    report = Report(suite)
    for question in suite.questions(policy.vocabulary, policy.followers):
        report.questions += 1
        allowed = question.asked_of(policy)
        if allowed != question.expected:
            report.failures.append(_failure(policy, suite.file, question))
        if coverage is not None:
            coverage.add(question, allowed)
    wrong = {failure.question.case.line for failure in report.failures}
    report.idle = [case for case in suite.cases if case.line not in wrong and not _reaches(policy, case)]
    return report


def _reaches(policy: Policy, case: Case) -> bool:
    """True if a rule is about a permission of the case. Otherwise the case passes with any object and circumstances."""
    resources = {thing.resource for thing in case.things}
    return not resources or not case.principals or any(
        policy.matching_rules(principal.role, principal.key, permission)
        for _, principal in case.principals for resource in resources
        for permission in policy.vocabulary.resources[resource].permissions)


def _failure(policy: Policy, file: str, question: Question) -> Failure:
    """Names the rule that decided, else the allow rule that lacks the fewest facts and has the nearest role."""
    principal, traces = question.principal, question.traces(policy)

    def distance(trace: RuleTrace) -> tuple[int, int]:
        return len(trace.failed), _links(policy, principal, trace.rule)

    def first(candidates: Iterable[RuleTrace]) -> Rule | None:
        trace = min(candidates, key=distance, default=None)
        return None if trace is None else trace.rule

    if question.expected and not policy.covers(principal, question.permission):
        return Failure(question, file, f"the scopes of {question.who} do not cover it")
    effect, verb = ("deny", "denies") if question.expected else ("allow", "allows")
    if rule := first(trace for trace in traces if trace.matched and trace.rule.eft == effect):
        return Failure(question, file, f"{rule.place} {verb} it ({rule.when})", rule)
    if rule := first(trace for trace in traces if trace.rule.eft == "allow"):
        return Failure(question, file, f"{rule.place} needs {rule.when}", nearest=rule)
    return Failure(question, file, f"no rule gives it to {principal.role}")


def _links(policy: Policy, principal: Principal, rule: Rule) -> int:
    """Counts the `g` lines by which a caller gets a rule."""
    chains = (policy.roles.chain(name, rule.sub) for name in (principal.role, principal.key))
    return min((len(chain) for chain in chains if chain is not None), default=0)


def _place(rule: Rule | None) -> dict[str, Any] | None:
    return None if rule is None else {"file": rule.file, "line": rule.line}
