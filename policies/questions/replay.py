"""Replay of the decisions in the audit log under another policy: those it would have refused, and those let in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from ..evaluation.policy import Policy
from ..evaluation.residual import Residual
from .changes import wrapped
from .evaluated import Answer, allowing, answer
from .recorded import ALLOWED, UNKNOWN, Entry, Recorded, Unrecorded, decisions

LET_IN, REFUSED_NOW = "let_in", "refused_now"
MOST_EXAMPLES = 3
MOST_SHOWN = 9  # persons of one line, and names of what is missing; JSON has them all
READS = "Reads are not recorded: use --rows for what lists would show."
_HEADS = {LET_IN: ("+", "let in by"), REFUSED_NOW: ("−", "refused now, was allowed by")}


@dataclass(slots=True)
class Flip:
    """Decisions that turn out otherwise, alike: how many, and the first few by the id and time of their audit rows."""

    count: int = 0
    examples: list[tuple[str, str]] = field(default_factory=list)

    def add(self, decision: Recorded) -> None:
        self.count += decision.count
        if len(self.examples) < MOST_EXAMPLES:
            self.examples.append((decision.entry.id, decision.entry.time))


@dataclass
class Replay:
    """Result of a replay: recorded decisions under another policy.

    unchanged   decisions with the same answer under both policies
    unknown     decisions that depend on facts that were not recorded; `missing` counts these facts by name
    otherwise   decisions that the old policy answers otherwise than recorded: earlier rules or a rule in code decided
    flips       (let in or refused now, key of the caller, permission, place of the rule) → flips. The rule that lets
                in is of the new policy; the rule that allowed what is refused now is of the old one
    """

    old: str
    new: str
    decisions: int = 0
    unchanged: int = 0
    unknown: int = 0
    otherwise: int = 0
    missing: Counter[str] = field(default_factory=Counter)
    flips: dict[tuple[str, str, str, str], Flip] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """True if any decision changes."""
        return bool(self.flips)

    def count(self, kind: str) -> int:
        """Counts the decisions of one kind: let in, or refused now."""
        return sum(flip.count for key, flip in self.flips.items() if key[0] == kind)

    def as_json(self) -> dict[str, Any]:
        return {
            "old": self.old, "new": self.new, "decisions": self.decisions, "unchanged": self.unchanged,
            "let_in": self._listed(LET_IN), "refused_now": self._listed(REFUSED_NOW),
            "unknown": {"count": self.unknown, "missing": dict(self.missing.most_common())},
            "answered_otherwise_then": self.otherwise, "note": READS,
        }

    def as_lines(self, called: Callable[[str], str] = str) -> list[str]:
        """Returns text for a terminal: the numbers, then the callers of each permission and rule, most frequent first.

        `called` returns the name for the key of a caller.
        """
        noun = "decision" if self.decisions == 1 else "decisions"
        lines = [f"{self.decisions} {noun}: {self.unchanged} as before, {self.count(REFUSED_NOW)} refused now, "
                 f"{self.count(LET_IN)} let in, {self.unknown} unknown."]
        if self.missing:
            names = [f"{name} ({count})" for name, count in self.missing.most_common()]
            lines += wrapped(f"unknown because not recorded: {', '.join(_few(names))}", "  ")
        if self.otherwise:
            lines += wrapped(f"{self.otherwise} were answered differently then than by the old rules: by earlier "
                             "rules, or by a rule in code.", "  ")
        for (kind, permission, place), flips in self._by_line().items():
            sign, words = _HEADS[kind]
            persons = [f"{called(who)} ({flip.count})" for who, flip in flips[:MOST_SHOWN]]
            persons += [f"{len(flips) - MOST_SHOWN} others"] if len(flips) > MOST_SHOWN else []
            id, time = flips[0][1].examples[0]
            lines += ["", *wrapped(f"{sign} {permission}: {sum(flip.count for _, flip in flips)} {words} {place}"),
                      *wrapped(f"for    {', '.join(persons)}", "    "), f"    as in  {id} at {time}"]
        return [*lines, "", READS]

    def _by_line(self) -> dict[tuple[str, str, str], list[tuple[str, Flip]]]:
        groups: dict[tuple[str, str, str], list[tuple[str, Flip]]] = {}
        for (kind, who, permission, place), flip in self._sorted():
            groups.setdefault((kind, permission, place), []).append((who, flip))
        return groups

    def _listed(self, kind: str) -> dict[str, Any]:
        groups = [{"who": who, "permission": permission, "line": place, "count": flip.count,
                   "examples": [{"id": id, "time": time} for id, time in flip.examples]}
                  for (one, who, permission, place), flip in self._sorted() if one == kind]
        return {"count": self.count(kind), "groups": groups}

    def _sorted(self) -> list[tuple[tuple[str, str, str, str], Flip]]:
        return sorted(self.flips.items(), key=lambda item: (item[0][0] == LET_IN, -item[1].count, item[0]))


def replay(old: Policy, new: Policy, rows: Iterable[Entry]) -> Replay:
    """Replays the decisions in audit events under both policies. The policies have the same vocabulary."""
    result = Replay(old.version, new.version)
    for row in rows:
        for decision in decisions(row, old.vocabulary):
            _add(result, old, new, decision)
    return result


def _add(result: Replay, old: Policy, new: Policy, decision: Recorded) -> None:
    count, before = decision.count, answer(old, decision)
    result.decisions += count
    if before.result != UNKNOWN and decision.answered is not None and (
            (before.result == ALLOWED) is not (decision.answered == ALLOWED)):
        result.otherwise += count
    if decision.facts and all(_alike(old, new, decision, permission) for permission in decision.asked):
        result.unchanged += count
        return
    after = answer(new, decision)
    if UNKNOWN in (before.result, after.result):
        result.unknown += count
        for name in before.missing | after.missing:
            result.missing[name] += count
    elif (before.result == ALLOWED) is (after.result == ALLOWED):
        result.unchanged += count
    else:
        kind = LET_IN if after.result == ALLOWED else REFUSED_NOW
        by, other, refusal = (new, old, before) if kind == LET_IN else (old, new, after)
        key = kind, decision.who, decision.permission, _place(by, other, decision, refusal)
        result.flips.setdefault(key, Flip()).add(decision)


def _place(by: Policy, other: Policy, decision: Recorded, refusal: Answer) -> str:
    """Returns the place of the rule in `by` that allows what `other` refuses, or of its scope rule."""
    step = len(decision.asked) - 1 if refusal.step is None else refusal.step
    permission = decision.steps[step][0]
    if other.covers(decision.caller, permission):
        return allowing(by, decision, step) or ""
    scopes = decision.caller.scopes or ()
    return next((f"{line.file}:{line.line}" for line in by.scopes
                 if line.scope in scopes and permission in by.patterns.covered(line.act)), "")


def _alike(old: Policy, new: Policy, decision: Recorded, permission: str) -> bool:
    """True if rules and scopes are equal in both policies: then both answer alike, even without unrecorded facts."""
    caller = decision.caller
    try:
        return old.covers(caller, permission) is new.covers(caller, permission) and _same(
            *(policy.residual(caller.role, caller.key, permission) for policy in (old, new)))
    except Unrecorded:
        return False


@lru_cache(maxsize=4096)
def _same(one: Residual, other: Residual) -> bool:
    mine, theirs = (frozenset((rule.eft, condition) for rule, condition in each.rules) for each in (one, other))
    return mine == theirs


def _few(names: list[str]) -> list[str]:
    more = len(names) - MOST_SHOWN
    return names if more <= 1 else [*names[:MOST_SHOWN], f"{more} others"]
