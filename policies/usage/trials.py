"""Trial of recorded decisions without some rules: which of them do the decisions in the audit log need?

All of these rules are removed. A rule is put back if a decision changes without it. Allow rules are tried with all
deny rules in place, and the reverse. So a rule that is put back changes no decision that was tried before, and the
rules that stay out can be removed together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from ..evaluation.policy import Policy
from ..questions.evaluated import answer
from ..questions.recorded import ALLOWED, UNKNOWN, Entry, Recorded, decisions
from ..syntax.rules import Rule

MOST_PARTS = 4096  # cached policies of a few rules: similar callers share them


@dataclass
class Trials:
    """Result of a trial of recorded decisions without some rules.

    decisions    number of decisions
    unrecorded   number of decisions whose permission was not recorded
    needed       rules that were put back
    unknown      rule → number of decisions that it matters to and that depend on facts that were not recorded
    permissions  permissions that somebody used: those of allowed decisions
    """

    decisions: int = 0
    unrecorded: int = 0
    needed: set[Rule] = field(default_factory=set)
    unknown: Counter[Rule] = field(default_factory=Counter)
    permissions: set[str] = field(default_factory=set)

    def alike(self, rule: Rule) -> bool:
        """True if every decision is proved to be the same without this rule."""
        return not (rule in self.needed or self.unknown[rule] or self.unrecorded)


def tried(policy: Policy, idle: Iterable[Rule], rules: Iterable[Rule], rows: Iterable[Entry]) -> Trials:
    """Repeats the recorded decisions with and without `rules`, always without `idle`, which have no effect together."""
    trials = Trials()
    without = frozenset(idle)
    base = policy.only(rule for rule in policy.rules if rule not in without)
    halves = {effect: _Half(base, [rule for rule in rules if rule.eft == effect]) for effect in ("allow", "deny")}
    for row in rows:
        for decision in decisions(row, policy.vocabulary):
            trials.decisions += decision.count
            if decision.permission not in policy.vocabulary.by_permission:
                trials.unrecorded += decision.count
            else:
                _try(trials, base, halves, decision)
    return trials


def _try(trials: Trials, base: Policy, halves: dict[str, _Half], decision: Recorded) -> None:
    if decision.answered == ALLOWED:
        trials.permissions.update(decision.asked)
    reaching = {rule for permission in decision.asked
                for rule, _ in base.matching_rules(decision.caller.role, decision.caller.key, permission)}
    bearing = {effect: half.out & reaching for effect, half in halves.items()}
    if not any(bearing.values()):
        return
    before = answer(base, decision).result
    if before == UNKNOWN:
        trials.unknown.update(dict.fromkeys((*bearing["allow"], *bearing["deny"]), decision.count))
        return
    # Without an allow rule, less is allowed; without a deny rule, more.
    effect = "allow" if before == ALLOWED else "deny"
    if not bearing[effect]:
        return
    after = halves[effect].answer(reaching - bearing[effect], decision)
    if after == UNKNOWN:
        trials.unknown.update(dict.fromkeys(bearing[effect], decision.count))
    elif (after == ALLOWED) is not (before == ALLOWED):
        trials.needed.update(halves[effect].put_back(reaching, decision, before))


class _Half:
    """A policy without the rules of one effect that are still out.

    A decision evaluates only the rules about the caller. Otherwise the whole policy would be rebuilt for each rule that
    is put back.
    """

    def __init__(self, base: Policy, rules: Iterable[Rule]) -> None:
        self._base = base
        self.out = set(rules)
        self._parts: dict[frozenset[Rule], Policy] = {}

    def answer(self, rules: Collection[Rule], decision: Recorded) -> str:
        """Returns the answer of these rules alone."""
        key = frozenset(rules)
        part = self._parts.get(key)
        if part is None:
            if len(self._parts) >= MOST_PARTS:
                self._parts.clear()
            part = self._parts[key] = self._base.only(sorted(key, key=_place))
        return answer(part, decision).result

    def put_back(self, reaching: Collection[Rule], decision: Recorded, before: str) -> set[Rule]:
        """Puts back as few of these rules as restore the decision, preferably the first ones, and returns them."""
        back = {rule for rule in reaching if rule in self.out}
        kept = {rule for rule in reaching if rule not in self.out}
        for rule in sorted(back, key=_place, reverse=True):
            if (self.answer(kept | back - {rule}, decision) == ALLOWED) is (before == ALLOWED):
                back.remove(rule)
        self.out -= back
        return back


def _place(rule: Rule) -> tuple[str, int]:
    return rule.file, rule.line
