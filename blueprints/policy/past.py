"""Explanation of a past decision by its audit event and by the policy version of that time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from gatepost.collections.names import USERS, Names
from gatepost.http.writing.writable import Writable
from models.tables import policy_version
from models.tables.audit import Audit
from policies import Policy, PolicyError, Vocabulary
from policies.explaining.explanation import MARK, Step
from policies.loading.loader import from_files
from policies.questions.evaluated import Answer, answer, covered, traced
from policies.questions.recorded import ALLOWED, COLUMNS, UNKNOWN, Entry, Recorded, decisions

_MOST_LINES = 5  # shown rules that did not hold
_OTHERWISE = {
    True: "the policy allowed it; a rule in code refused it, such as rank or state",
    False: "the policy version of that time refuses it",
}


@dataclass(frozen=True)
class Past:
    """One past decision: the recorded answer, and the answer of the policy version alone.

    who      the name of the caller
    rule     the place of the rule in the audit event
    version  the policy version
    covered  true if the scopes covered the decisive permission, or were not recorded
    lines    the rules about that permission
    closed   true if some rules of that version are no longer accepted, so that their effect is unknown
    """

    decision: Recorded
    who: str
    rule: str | None
    version: str
    permission: str
    found: Answer
    covered: bool
    lines: tuple[Step, ...]
    closed: bool = False

    @property
    def summary(self) -> str:
        """The decision and its reason in one sentence."""
        entry, decision = self.decision.entry, self.decision
        on = f" on {entry.resource_id}" if entry.resource_id else ""
        times = f", {decision.count} times" if decision.count > 1 else ""
        return (f"{self.who} ({decision.caller.role}) was {decision.answered or 'refused'} {decision.permission}{on} "
                f"at {entry.time}{times}: {self._because}")

    @property
    def agrees(self) -> bool | None:
        """True if the policy version alone gives the recorded answer; None if that depends on unrecorded facts."""
        if self.found.result == UNKNOWN or self.decision.answered is None:
            return None
        agrees = (self.found.result == ALLOWED) is (self.decision.answered == ALLOWED)
        return None if self.closed and not agrees else agrees

    @property
    def decided_by(self) -> Step | None:
        """The rule that allowed or denied; None if no rule did."""
        effect = "allow" if self.found.result == ALLOWED else "deny"
        holding = [step for step in self.lines if step.holds and step.rule.eft == effect]
        return next((step for step in holding if step.rule.place == self.rule), holding[0] if holding else None)

    @property
    def misses(self) -> tuple[Step, ...]:
        """The rules that lacked a fact to allow it, the nearest first; () if it was allowed."""
        if self.found.result == ALLOWED or not self.covered:
            return ()
        missing = [step for step in self.lines if step.rule.eft == "allow" and not step.holds]
        return tuple(sorted(missing, key=lambda step: len(step.missing))[:_MOST_LINES])

    @property
    def _because(self) -> str:
        if self.agrees is False:
            return _OTHERWISE[self.found.result == ALLOWED]
        if self.found.result == UNKNOWN:
            return f"the reason depends on facts that were not recorded ({', '.join(sorted(self.found.missing))})"
        if self.agrees is None and self.decision.answered is not None:
            return "the reason is not known, because some rules of that version are no longer accepted"
        if not self.covered:
            return "the token's scopes did not cover it"
        if (step := self.decided_by) is not None:
            return f"{step.rule.place} {'denies' if step.rule.eft == 'deny' else 'allows'} it ({step.rule.when})"
        if not self.decision.found:
            return "there was no such object"
        if self.misses:
            return self.misses[0].reason
        return f"no rule gave {self.permission} to {self.decision.caller.role}"

    def with_lines(self, lines: Iterable[Step]) -> Past:
        """Returns a copy with only these rules."""
        return replace(self, lines=tuple(lines))

    def as_lines(self) -> Iterator[str]:
        yield self.summary
        decided = self.decided_by
        for head, step in (*((("decided", decided),) if decided else ()), *(("not met", one) for one in self.misses)):
            yield f"  {head:<9} {step.rule.place}  {step.line}{f'  ({step.person})' if step.person else ''}"
            for fact in step.facts:
                yield f"            {MARK[fact.holds]} {fact.text}"
        yield f"  {'policy':<9} {self.version}"

    def as_json(self) -> dict[str, Any]:
        entry = self.decision.entry
        return {
            "audit": entry.id, "time": entry.time, "as": self.who, "role": entry.role, "summary": self.summary,
            "permission": self.decision.permission, "asked": list(self.decision.asked), "object": entry.resource_id,
            "count": self.decision.count, "answered": self.decision.answered, "policy_alone": self.found.result,
            "agrees": self.agrees, "not_recorded": sorted(self.found.missing),
            "decided_by": self.decided_by.as_json() if self.decided_by else None,
            "nearest_misses": [step.as_json() for step in self.misses], "policy_version": self.version,
        }


class NotKept(Exception):
    """The policy version is not kept or cannot be loaded; the text is a sentence."""


def recorded(row: Audit, vocabulary: Vocabulary) -> list[Recorded]:
    """Lists the decisions of an audit event: one; for an import, one for each group of its rows; [] without a decision.
    """
    return list(decisions(Entry(**{name: getattr(row, name) for name in COLUMNS}), vocabulary))


def rules_of(version: str | None, vocabulary: Vocabulary) -> Policy | None:
    """Loads a policy version from the history; None if it is not there. Raises `NotKept` if it cannot be loaded."""
    kept = None if version is None else policy_version.named(version)
    if kept is None:
        return None
    try:
        files = {name: text.encode() for name, text in kept.files.items()}
        return from_files(files, vocabulary, closing=True)
    except PolicyError as error:
        raise NotKept(f"The policy version of that time ({version}) cannot be used today:\n{error}") from None


def gone(version: str | None) -> NotKept:
    """Returns the error about a policy version that is not kept."""
    return NotKept(f"The policy version of that time ({version or 'unknown'}) is no longer stored.")


def explained(policy: Policy, decision: Recorded, rule: str | None, names: Names, collection: Writable | None) -> Past:
    """Explains a past decision by its policy version.

    rule        the place of the rule in the audit event
    collection  the collection of the object; None if there is none
    """
    answered = answer(policy, decision)
    step = len(decision.asked) - 1 if answered.step is None else answered.step
    lines = traced(policy, decision, step, names.called(collection)) if decision.steps else []
    name = names.of(USERS, decision.who.removeprefix("user:"))
    permission = decision.steps[step][0] if decision.steps else decision.permission
    return Past(decision, name or decision.who, rule, policy.version, permission, answered,
                covered(policy, decision, permission) is not False, tuple(lines), bool(policy.closed))
