"""Effects of a change of the rules, for readers: the same form for a trial and for the policy history."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from gatepost import Call
from gatepost.collections.names import USERS, Names, shown_to

MORE, LESS, OTHER, UNDECIDED = "more", "less", "other", "undecided"
_KINDS = {"+": MORE, "-": LESS, "~": OTHER, "?": UNDECIDED}
_OPPOSITE = {MORE: LESS, LESS: MORE}
_PERSON = "user:"
Called = Callable[[str], "Who"]


@dataclass(frozen=True, slots=True)
class Who:
    """A role, a scope or a user. Only a user has an `id`."""

    name: str
    id: str = ""


@dataclass(frozen=True, slots=True)
class Turn:
    """A change of what some users may do.

    kind    `MORE`, `LESS`, `OTHER` (some more and some less), or `UNDECIDED`
    before, after  the conditions in words; empty: never
    gained, lost   an example of a request with another answer; empty if none is needed or known
    lines, gone    places of the new rules that decide, and of the old rules that decided
    """

    kind: str
    permission: str
    who: tuple[Who, ...]
    having: tuple[str, ...] = ()
    before: str = ""
    after: str = ""
    gained: str = ""
    lost: str = ""
    lines: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()

    @property
    def reversed(self) -> Turn:
        """The opposite change, for a revert."""
        return replace(self, kind=_OPPOSITE.get(self.kind, self.kind), before=self.after, after=self.before,
                       gained=self.lost, lost=self.gained, lines=self.gone, gone=self.lines)


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes of a policy.

    invariants  lines of invariants.csv, added (`+ …`) or removed (`− …`)
    groups      lines that give a role to a group of an identity provider, likewise
    unknown     the reason why the changes are unknown
    """

    turns: tuple[Turn, ...]
    invariants: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    unknown: str = ""

    @property
    def reversed(self) -> Changes:
        return Changes(tuple(turn.reversed for turn in self.turns), _turned(self.invariants), _turned(self.groups),
                       self.unknown)

    def count(self, kind: str) -> int:
        return sum(turn.kind == kind for turn in self.turns)


def _turned(lines: Iterable[str]) -> tuple[str, ...]:
    opposite = {"+": "−", "−": "+", "-": "+"}
    return tuple(opposite.get(line[:1], line[:1]) + line[1:] for line in lines)


def called_for(call: Call) -> Called:
    """Returns a function that names the subjects of rules. It names users only if the caller may see them."""
    names = Names(shown_to(call))

    def called(key: str) -> Who:
        id = key.removeprefix(_PERSON)
        return Who(key) if id == key else Who(names.of(USERS, id), id)

    return called


def of_trial(trial: Mapping[str, Any], called: Called) -> Changes:
    """Returns the changes of a trial that compared the policies. Subjects with the same change are listed together."""
    groups: dict[tuple[Any, ...], tuple[Mapping[str, Any], list[Who]]] = {}
    for change in trial["changes"] or ():
        alike = tuple(str(change[name]) for name in ("sign", "permission", "having", "before", "after", "lines"))
        who = called(f"{_PERSON}{change['user']}") if change["user"] else Who(change["role"] or change["scope"])
        groups.setdefault(alike, (change, []))[1].append(who)
    return Changes(tuple(_turn(_KINDS[change["sign"]], tuple(who), change, change["example"])
                         for change, who in groups.values()), tuple(trial["invariants"] or ()),
                   tuple(trial["groups"] or ()))


def of_history(changes: Iterable[Mapping[str, Any]] | None, called: Called) -> Changes | None:
    """Returns the changes in a row of the policy history; None if they are not computed yet."""
    if changes is None:
        return None
    items = [*changes]
    turns = [_turn(item["change"], tuple(map(called, item["who"])), item, {}) for item in items
             if item["change"] in (MORE, LESS, OTHER, UNDECIDED)]
    invariants, groups = (tuple(str(item["line"]) for item in items if item["change"] == kind)
                          for kind in ("invariant", "group"))
    return Changes(tuple(turns), invariants, groups,
                   next((str(item["detail"]) for item in items if item["change"] == "unknown"), ""))


def _turn(kind: str, who: tuple[Who, ...], change: Mapping[str, Any], example: Mapping[str, Any]) -> Turn:
    gained, lost = (text if (text := example.get(name)) != "always" else "" for name in ("gained", "lost"))
    return Turn(kind, change["permission"], who, tuple(change["having"]), change["before"] or "", change["after"] or "",
                gained or "", lost or "", tuple(change["lines"]), tuple(change["lines_before"]))
