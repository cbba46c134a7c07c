"""The run of a suite: wrong answers with the rule that decided, and the rules that matched.

A rule that matched in no case could be lost without a failing case: `Coverage` names it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ..evaluation.policy import Policy
from ..evaluation.principal import Principal
from ..evaluation.rule_trace import RuleTrace
from ..syntax.roles import RoleLink
from ..syntax.rules import Rule, ScopeRule
from ..wording.finding import Finding
from .cases import Case, Question, Suite

_IDLE = "no rule allows or denies anything in this case, so every answer is no; use a permission that a rule names"


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
    def asked(self) -> tuple[int, str, str, str, str]:
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
    asked: int = 0
    failures: list[Failure] = field(default_factory=list)
    idle: list[Case] = field(default_factory=list)

    @property
    def warnings(self) -> list[Finding]:
        """Warnings about words of the file, and about whole cases, that test nothing."""
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
        """Note which lines a question reached."""
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
    """Ask every question; `coverage`, if given, notes the lines that were reached."""
    report = Report(suite)
    for question in suite.questions(policy.vocabulary):
        report.asked += 1
        allowed = question.asked_of(policy)
        if allowed != question.expected:
            report.failures.append(_failure(policy, suite.file, question))
        if coverage is not None:
            coverage.add(question, allowed)
    wrong = {failure.question.case.line for failure in report.failures}
    report.idle = [case for case in suite.cases if case.line not in wrong and not _reaches(policy, case)]
    return report


def _reaches(policy: Policy, case: Case) -> bool:
    """True if a rule is about what a case asks. Without one, the case passes with any object and circumstances."""
    resources = {thing.resource for thing in case.things}
    return not resources or not case.principals or any(
        policy.reaching(principal.role, principal.key, permission)
        for _, principal in case.principals for resource in resources
        for permission in policy.vocabulary.resources[resource].permissions)


def _failure(policy: Policy, file: str, question: Question) -> Failure:
    """Names the rule that decided, else the allow rule that lacks the fewest facts and has the nearest role."""
    principal, traces = question.principal, question.traces(policy)

    def distance(trace: RuleTrace) -> tuple[int, int]:
        return len(trace.failed), _links(policy, principal, trace.rule)

    def first(found: Iterable[RuleTrace]) -> Rule | None:
        trace = min(found, key=distance, default=None)
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
