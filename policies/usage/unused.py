"""Rules and permissions that nobody uses, in two grades: proved, and not seen.

*Proved*: without the rule, no request gets another answer (`lint.redundant`), or no decision in the audit log does
(`trials`). *Not seen*: by the counts, the rule decided nothing and showed no row of a list.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..evaluation.policy import Policy
from ..lint.matches import Matches
from ..lint.redundant import NOTHING, Idle, Redundancy, redundancy
from ..questions.changes import wrapped
from ..questions.recorded import Entry
from ..syntax.rules import Rule
from ..wording.message import Message
from .lines import digest, line_of
from .trials import Trials, tried

LISTS = ("For lists, one page per second is counted for each role and permission. Rows that a deny rule keeps out of "
         "lists are not counted, and neither are commands; their decisions in the audit log are replayed.")
CLOSED = Message("Some rules are no longer accepted: until they are changed, nothing is proved about the others.")


@dataclass(frozen=True, slots=True)
class UnusedLine:
    """A rule that nobody uses.

    reason   why it has no effect; None: it was not seen
    seen     how often it decided something all the same
    alike    true if every recorded decision is proved to be the same without it
    unknown  number of recorded decisions that depend on unrecorded facts
    """

    rule: Rule
    reason: str | None
    seen: int
    alike: bool
    unknown: int

    def as_json(self) -> dict[str, Any]:
        proved = "comparison" if self.reason else "replay" if self.alike else None
        return {"file": self.rule.file, "line": self.rule.line, "text": line_of(self.rule), "proved": proved,
                "reason": self.reason, "seen": self.seen, "unknown": self.unknown}


@dataclass(frozen=True, slots=True)
class Unused:
    """Rules and permissions that nobody used since a time.

    idle         rules without effect
    unseen       rules that were not seen; the proved ones and all in `idle` can be removed together
    undecided    rules that were seen, and may or may not have an effect: there is no proof of either
    permissions  permissions that nobody used → true if some rule gives them
    gaps         sentences about periods without counts
    """

    version: str
    since: str
    lines: int
    decisions: int
    unrecorded: int
    idle: tuple[UnusedLine, ...]
    unseen: tuple[UnusedLine, ...]
    undecided: tuple[Rule, ...]
    permissions: Mapping[str, bool]
    gaps: tuple[str, ...]

    def __bool__(self) -> bool:
        """True if any rule is unused."""
        return bool(self.idle or self.unseen)

    def as_json(self) -> dict[str, Any]:
        return {
            "policy_version": self.version, "since": self.since, "lines": self.lines,
            "replayed": {"decisions": self.decisions, "not_told": self.unrecorded},
            "without_effect": [line.as_json() for line in self.idle],
            "not_seen": [line.as_json() for line in self.unseen],
            "undecided": [{"file": rule.file, "line": rule.line, "text": line_of(rule)} for rule in self.undecided],
            "permissions": [{"permission": name, "given": given} for name, given in self.permissions.items()],
            "gaps": list(self.gaps), "note": LISTS,
        }

    def as_lines(self) -> Iterator[str]:
        """Yields the lines for a terminal."""
        yield from wrapped(f"Of {self.lines} rules, {len(self.idle)} have no effect, and {len(self.unseen)} others "
                           f"were not used since {self.since}.")
        yield from self._listed("Without effect: it is proved that no answer changes when all of these are removed.",
                                self.idle)
        alike = [line for line in self.unseen if line.alike]
        yield from self._listed(f"Not used, and proved for the audit log: {self.decisions} recorded decisions stay the "
                                "same without all of these.", alike)
        yield from self._listed("Not used, but not proved: some decisions depend on facts that were not recorded.",
                                [line for line in self.unseen if not line.alike])
        if self.undecided:
            yield from ("", *wrapped("Used. Their effect cannot be decided; simplify their conditions:"))
            yield from (f"  {rule.place}  {line_of(rule)}" for rule in self.undecided)
        if self.permissions:
            yield from ("", "Permissions that nobody used (* no rule gives it):")
            for resource, verbs in self._by_resource().items():
                yield from wrapped(f"{resource}: {', '.join(verbs)}", "  ")
        if self.unrecorded:
            yield from ("", *wrapped(f"{self.unrecorded} refusals were recorded without their permission."))
        if self.gaps:
            yield from ("", "Not counted:")
            for gap in self.gaps:
                yield from wrapped(gap, "  ")
        yield from ("", *wrapped(LISTS))

    def _by_resource(self) -> dict[str, list[str]]:
        verbs: dict[str, list[str]] = {}
        for name, given in self.permissions.items():
            resource, _, verb = name.partition(".")
            verbs.setdefault(resource, []).append(verb if given else f"{verb}*")
        return verbs

    @staticmethod
    def _listed(head: str, lines: Iterable[UnusedLine]) -> Iterator[str]:
        for number, line in enumerate(lines):
            if not number:
                yield from ("", *wrapped(head))
            remarks = [line.reason] if line.reason else []
            remarks += [f"used {line.seen} times"] if line.seen else []
            remarks += [f"unknown for {line.unknown} decisions"] if line.unknown else []
            remark = f"  ({'; '.join(remarks)})" if remarks else ""
            yield f"  {line.rule.place}  {line_of(line.rule)}{remark}"


def unused(policy: Policy, since: str, counts: Mapping[tuple[str, str], int], rows: Iterable[Entry],
           gaps: Iterable[str]) -> Unused:
    """Returns the rules and permissions that nobody used since that time.

    counts  (digest of a rule, permission) → how often the rule settled the permission since then
    rows    audit events since then
    """
    by_digest: dict[str, int] = {}
    for (line, _), count in counts.items():
        by_digest[line] = by_digest.get(line, 0) + count
    seen = {rule: by_digest.get(digest(rule), 0) for rule in policy.rules}
    # With closed rules nothing is proved: other rules may have an effect once these are changed.
    redundant = NOTHING if policy.closed else redundancy(Matches(policy))
    reasons = _reasons(redundant)
    candidates = [rule for rule in policy.rules
                  if not seen[rule] and rule not in reasons and not policy.ends_fallback(rule)]
    trials = tried(policy, reasons, candidates, rows)

    def entry(rule: Rule) -> UnusedLine:
        alike = not policy.closed and trials.alike(rule)
        return UnusedLine(rule, reasons.get(rule), seen[rule], alike, trials.unknown[rule])

    unseen = [rule for rule in candidates if rule not in trials.needed]
    return Unused(
        policy.version, since, len(policy.rules), trials.decisions, trials.unrecorded,
        tuple(entry(rule) for rule in policy.rules if rule in reasons), tuple(map(entry, unseen)),
        tuple(rule for rule in policy.rules if rule in redundant.undecided and rule not in unseen),
        _permissions(policy, counts, trials), (*gaps, *([CLOSED] if policy.closed else [])))


def _reasons(redundant: Redundancy) -> dict[Rule, str]:
    """The reason of each rule without effect."""
    return {**{rule: f"the same as {first.place}" for rule, first in redundant.copies.items()},
            **dict.fromkeys(redundant.never, "it holds for no caller to whom it applies"),
            **{idle.rule: _settled(idle) for idle in redundant.idle}}


def _settled(idle: Idle) -> str:
    if not idle.by:
        return "no rule allows what it denies"
    by = ", ".join(rule.place for rule in idle.by)
    return f"denied anyway by {by}" if idle.refused else f"settled by {by}"


def _permissions(policy: Policy, counts: Mapping[tuple[str, str], int], trials: Trials) -> dict[str, bool]:
    allowing = {digest(rule) for rule in policy.rules if rule.eft == "allow"}
    # A deleted rule may have allowed something, too: all that is known is that it was used.
    denying = {digest(rule) for rule in policy.rules} - allowing
    used = trials.permissions | {permission for (line, permission), count in counts.items()
                                 if count and line not in denying}
    given = {permission for rule in policy.rules if rule.eft == "allow"
             for permission in policy.permissions_of_line(rule)}
    return {name: name in given for name in sorted(policy.patterns.permissions) if name not in used}
