"""What a change of the files effectively changes: which roles may do more, less, or on other conditions.

Not textual: a line that moves, a renamed condition or a rule that was inherited anyway is no change, while a
condition redefined in model.conf is one for every role that it reaches.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..evaluation.grants import ALWAYS_WORD, Grant, Grants, ordered
from ..evaluation.policy import Policy

MORE, LESS, OTHER = "more", "less", "other"
_SIGN = {MORE: "+", LESS: "-", OTHER: "~"}


@dataclass(frozen=True, slots=True)
class Change:
    """What roles, persons or a scope may do after the change, compared with before.

    who     all whom it reaches alike
    kind    more, less, or other: neither covers the other, as far as the conditions' texts can tell
    before, after  the conditions in words; empty: not at all
    places  the lines that say so now, or that said so when nothing does any more
    """

    who: tuple[str, ...]
    permission: str
    kind: str
    before: str
    after: str
    places: tuple[str, ...]

    def __str__(self) -> str:
        before, after = (words or "never" for words in (self.before, self.after))
        return f"{_SIGN[self.kind]} {self.permission}: {before} → {after}, for {', '.join(self.who)}"

    def as_json(self) -> dict[str, Any]:
        return {
            "who": list(self.who),
            "permission": self.permission,
            "change": self.kind,
            "before": self.before or None,
            "after": self.after or None,
            "lines": list(self.places),
        }


def diff(old: Policy, new: Policy) -> list[Change]:
    """Every effective change from `old` to `new`: by permission for roles and persons, then by scope."""
    return [*_grants(old, new), *_scopes(old, new)]


def _grants(old: Policy, new: Policy) -> Iterator[Change]:
    was, now = Grants(old), Grants(new)
    roles = ordered(old.vocabulary.roles | new.vocabulary.roles)
    concerned = {
        person: was.concerning(person) | now.concerning(person) for person in sorted({*was.persons, *now.persons})
    }
    for permission in dict.fromkeys((*old.vocabulary.by_permission, *new.vocabulary.by_permission)):
        alike: dict[tuple[str, str, str], list[tuple[str, Grant]]] = {}
        for who in (*roles, *(person for person, spoken in concerned.items() if permission in spoken)):
            if old.says_the_same(new, who, permission):
                continue
            before, after = was.of(who, permission), now.of(who, permission)
            if before.meaning != after.meaning:
                named = after if after.places else before
                alike.setdefault(_compared(before, after), []).append((who, named))
        for (kind, old_words, new_words), reached in alike.items():
            places = dict.fromkeys(place for _, found in reached for place in found.places)
            whom = tuple(who for who, _ in reached)
            yield Change(whom, permission, kind, old_words, new_words, tuple(places))


def _compared(before: Grant, after: Grant) -> tuple[str, str, str]:
    """What kind of change it is, and both sides in words."""
    wider, narrower = after.covers(before), before.covers(after)
    kind = MORE if wider and not narrower else LESS if narrower and not wider else OTHER
    if before.words == after.words:
        return kind, _explicit(before), _explicit(after)
    return kind, before.words, after.words


def _explicit(found: Grant) -> str:
    """A grant in the terms of model.conf, where the same word means two things."""
    allowed, denied = (
        " || ".join(sorted(" && ".join(sorted(facts)) or ALWAYS_WORD for facts in side)) for side in found.meaning
    )
    return f"{allowed}, but not {denied}" if denied else allowed


def _scopes(old: Policy, new: Policy) -> Iterator[Change]:
    for scope in sorted(old.scope_names | new.scope_names):
        before, after = _covered(old, scope), _covered(new, scope)
        for permission in sorted(before.keys() ^ after.keys()):
            kind, found = (MORE, after) if permission in after else (LESS, before)
            was, now = (ALWAYS_WORD if permission in covered else "" for covered in (before, after))
            yield Change((f"scope {scope}",), permission, kind, was, now, (found[permission],))


def _covered(policy: Policy, scope: str) -> dict[str, str]:
    """Each permission that a scope covers, and the line that says so."""
    return {
        permission: f"{line.file}:{line.line}"
        for line in policy.scopes
        if line.scope == scope
        for permission in policy.patterns.covered(line.act)
    }
