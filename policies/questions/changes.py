"""Changes that a diff found, as data, JSON and text for a terminal: a summary by role, then every change."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

from ..comparison.prover import Witness
from ..syntax.vocabulary import Vocabulary

MORE, LESS, OTHER, UNDECIDED = "more", "less", "other", "undecided"
_SIGN = {MORE: "+", LESS: "−", OTHER: "~", UNDECIDED: "?"}
_VERBS = {MORE: ("gains", "gain"), LESS: ("loses", "lose"), OTHER: ("changes", "change"),
          UNDECIDED: ("is undecided in", "are undecided in")}
_WIDTH = 100
_MOST_NAMED = 9  # so many are named in a line; JSON has them all
_FEW = 2  # so many roles are named by "every role but"
NOTHING = "No difference in what anybody may do."


@dataclass(frozen=True, slots=True)
class Change:
    """A change of what roles, users or a scope may do.

    who     all for whom the change is the same: `support`, `user:<id>`, `scope read:orders`
    having  the roles with which users gain or lose this, if their own roles are unknown; empty: any role
    kind    more, less, other (something is gained and something else lost), or undecided
    before, after  the conditions in words; empty: never
    gained, lost   a request with another answer for the first of `who`; None for a scope, which has no conditions
    lines   places of the new rules that decide, such as `articles.csv:14`
    gone    places of the old rules that decided
    """

    who: tuple[str, ...]
    permission: str
    kind: str
    before: str
    after: str
    lines: tuple[str, ...]
    gone: tuple[str, ...] = ()
    gained: Witness | None = None
    lost: Witness | None = None
    having: tuple[str, ...] = ()

    def __str__(self) -> str:
        having = f" as {' or '.join(self.having)}" if self.having else ""
        return f"{_SIGN[self.kind]} {self.permission}: {self._turn}, for {', '.join(self.who)}{having}"

    def as_json(self) -> dict[str, Any]:
        return {
            "who": list(self.who),
            "having": list(self.having),
            "permission": self.permission,
            "change": self.kind,
            "before": self.before or None,
            "after": self.after or None,
            "gained": self.gained and self.gained.as_json(),
            "lost": self.lost and self.lost.as_json(),
            "lines": list(self.lines),
            "lines_before": list(self.gone),
        }

    @property
    def _turn(self) -> str:
        before, after = (words or "never" for words in (self.before, self.after))
        return f"{before} → {after}"

    def _heading(self, permissions: str) -> str:
        cannot = ", too many combinations of facts to compare" if self.kind == UNDECIDED else ""
        return f"{_SIGN[self.kind]} {permissions}: {self._turn}{cannot}"

    def _details(self, roles: Collection[str]) -> Iterator[str]:
        yield f"for    {', '.join(_names(self.who, roles))}"
        if self.having:
            yield f"as     {', '.join(self.having)}"
        for label, example in (("gains", self.gained), ("loses", self.lost)):
            if example is not None:
                text = str(example)
                yield f"{label}  {text if text == 'always' else f'for example: {text}'}"
        if self.lines:
            yield f"{'rules' if len(self.lines) > 1 else 'rule '}  {', '.join(self.lines)}"
        if self.gone:
            yield f"was    {', '.join(self.gone)}"


@dataclass(frozen=True, slots=True)
class Summary:
    """The changes that all of `who` have in common: kind of change → permissions."""

    who: tuple[str, ...]
    permissions: Mapping[str, tuple[str, ...]]

    def as_json(self) -> dict[str, Any]:
        """`both`: something is gained and something else lost."""
        keys = {"gains": MORE, "loses": LESS, "both": OTHER, "undecided": UNDECIDED}
        return {"who": list(self.who), **{key: list(self.permissions.get(kind, ())) for key, kind in keys.items()}}


@dataclass(frozen=True)
class Changes:
    """Every change from one policy to another, ordered by permission for roles and users, then by scope.

    old, new    the versions of both
    all         the changes, undecided ones among them
    roles       those of both policies, in the order in which they are shown
    invariants  lines of invariants.csv that were added ("+ …") or removed ("− …"); they decide nothing
    groups      lines that give a role to a group of an identity provider, likewise; they change roles at a login
    """

    old: str
    new: str
    all: tuple[Change, ...]
    invariants: tuple[str, ...]
    vocabulary: Vocabulary
    roles: tuple[str, ...]
    groups: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.all or self.invariants or self.groups)

    def __iter__(self) -> Iterator[Change]:
        """Iterates over the proved changes, each with an example, and the undecided ones."""
        return iter(self.all)

    @property
    def proved(self) -> tuple[Change, ...]:
        return tuple(change for change in self.all if change.kind != UNDECIDED)

    @property
    def undecided(self) -> tuple[Change, ...]:
        return tuple(change for change in self.all if change.kind == UNDECIDED)

    @property
    def summary(self) -> tuple[Summary, ...]:
        """Summaries by role in the order of roles, then by user and scope. Those with equal changes share a summary."""
        by_who: dict[str, dict[str, dict[str, None]]] = {}
        for change in self.all:
            for who in change.who:
                by_who.setdefault(who, {}).setdefault(change.kind, {})[change.permission] = None
        names = [*(role for role in self.roles if role in by_who), *(who for who in by_who if who not in self.roles)]
        alike: dict[tuple[tuple[str, tuple[str, ...]], ...], list[str]] = {}
        for who in names:
            kinds = tuple((kind, tuple(by_who[who][kind])) for kind in _SIGN if kind in by_who[who])
            alike.setdefault(kinds, []).append(who)
        return tuple(Summary(tuple(whom), dict(kinds)) for kinds, whom in alike.items())

    def as_json(self) -> dict[str, Any]:
        return {
            "old": self.old,
            "new": self.new,
            "summary": [one.as_json() for one in self.summary],
            "changes": [change.as_json() for change in self.proved],
            "undecided": [change.as_json() for change in self.undecided],
            "invariants": list(self.invariants),
            "groups": list(self.groups),
        }

    def as_lines(self) -> list[str]:
        """Returns lines of 100 columns: the summary, each change with examples and rules, invariants, and groups."""
        lines: list[str] = [line for one in self.summary for line in wrapped(self._summed(one))]
        for change, permissions in self._alike():
            lines += ["", *wrapped(change._heading(", ".join(grouped(permissions, self.vocabulary))))]
            for detail in change._details(self.roles):
                lines += wrapped(detail, "    ")
        if not self.all:
            lines.append(NOTHING)
        if self.invariants:
            lines += ["", "Invariants:", *(f"  {line}" for line in self.invariants)]
        if self.groups:
            lines += ["", "Roles of groups, from the next login of each member:",
                      *(f"  {line}" for line in self.groups)]
        return lines

    def _summed(self, one: Summary) -> str:
        names = _names(one.who, self.roles)
        several = len(names) > 1
        counts = (
            f"{_VERBS[kind][several]} {len(permissions)} ({', '.join(grouped(permissions, self.vocabulary))})"
            for kind, permissions in one.permissions.items()
        )
        return f"{', '.join(names)} {', '.join(counts)}"

    def _alike(self) -> Iterator[tuple[Change, list[str]]]:
        """The changes that differ in their permission alone, once, with all their permissions."""
        alike: dict[object, tuple[Change, list[str]]] = {}
        for change in self.all:
            content = (change.who, change.having, str(change.gained), str(change.lost), change.lines, change.gone)
            key = (change.kind, change.before, change.after, *content)
            alike.setdefault(key, (change, []))[1].append(change.permission)
        yield from alike.values()


def grouped(permissions: Iterable[str], vocabulary: Vocabulary) -> list[str]:
    """The permissions, with `order.*` for all of a resource, and `*` for all that there are."""
    remaining = dict.fromkeys(permissions)
    if remaining.keys() >= vocabulary.by_permission.keys():
        return ["*"]
    whole = {resource.name for resource in vocabulary.resources.values()
             if len(resource.permissions) > 1 and resource.permissions <= remaining.keys()}
    named = (f"{resource}.*" if resource in whole else one
             for one, resource in ((one, one.partition(".")[0]) for one in remaining))
    return list(dict.fromkeys(named))


def _names(who: Sequence[str], roles: Collection[str]) -> list[str]:
    """Names for a sentence: `every role but admin`, `user:<id>`, `490 others`."""
    mine = [name for name in who if name in roles]
    others = [name for name in who if name not in roles]
    missing = [role for role in roles if role not in mine]
    if mine and len(missing) <= _FEW:
        mine = [f"every role but {' and '.join(missing)}" if missing else "every role"]
    names = [*mine, *others]
    more = len(names) - _MOST_NAMED
    return names if more <= 1 else [*names[:_MOST_NAMED], f"{more} others"]


def wrapped(line: str, indent: str = "") -> list[str]:
    """Returns a line for a terminal, as several if it is long."""
    return wrap(line, _WIDTH, initial_indent=indent, subsequent_indent=f"{indent}    ", break_long_words=False,
                break_on_hyphens=False)
