"""What a change of the files effectively changes: which roles may do more, less, or on other conditions.

Not textual: a line that moves, a renamed condition or a rule that was inherited anyway is no change, while a
condition redefined in model.conf is one for every role that it reaches. Each change was proved by a request that the
two policies answer differently, and what is not listed changes no decision.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from ..comparison.compare import Comparison
from ..comparison.search import Undecided
from ..comparison.subjects import Subject
from ..evaluation.grants import ALWAYS_WORD, Grant, Part, grant
from ..evaluation.policy import Policy
from ..invariants.lines import lines_of
from ..syntax.expression import Expression, negation, text
from ..syntax.roles import GUEST
from .changes import LESS, MORE, OTHER, UNDECIDED, Change, Changes
from .persons import Alike, Persons
from .reasons import Reasons


def diff(old: Policy, new: Policy, stored: Mapping[str, str] | None = None) -> Changes:
    """Every effective change from `old` to `new`, which have the same vocabulary, though perhaps not the same roles.

    Compared are each role alone, as a user and as a service, and each person whom lines name, with the role that is
    `stored` for the key `user:<id>`, or with each role but guest where none is.
    """
    found = _Diff(old, new, stored or {})
    changes = tuple(change for permission in old.vocabulary.by_permission for change in found.on(permission))
    return Changes(old.version, new.version, (*changes, *_scopes(old, new)), tuple(_invariants(old, new)),
                   old.vocabulary, _roles(old, new))


def decide_alike(old: Policy, new: Policy) -> bool:
    """Whether two policies answer every request alike; not where that cannot be decided."""
    return not diff(old, new).all


def _roles(old: Policy, new: Policy) -> tuple[str, ...]:
    """The roles of both, in the order of the new one."""
    return tuple(dict.fromkeys((*new.roles.names, *old.roles.names)))


class _Diff:
    def __init__(self, old: Policy, new: Policy, stored: Mapping[str, str]) -> None:
        self._old, self._new, self._stored = old, new, stored
        self._roles = _roles(old, new)
        self._comparison = Comparison(old, new)
        self._persons = Persons(old, new)
        self._here, self._before = Reasons(new, old), Reasons(old, new)

    def on(self, permission: str) -> list[Change]:
        """The changes of one permission, those who change alike together: roles first, then persons."""
        of_roles: dict[str, Change] = {}
        for role in self._roles:
            may_differ = self._persons.may_differ(role, permission)
            change = self._between(Subject(role), permission) if may_differ else None
            if change is not None:
                of_roles[role] = change
        persons = (change for alike in self._persons.on(permission)
                   for change in self._of_persons(alike, permission, of_roles))
        return _together((*of_roles.values(), *persons))

    def _of_persons(self, alike: Alike, permission: str, of_roles: Mapping[str, Change]) -> Iterator[Change]:
        """The changes of persons with equal lines, where they are not just those of their role."""
        everywhere = tuple(role for role in self._roles if role != GUEST)
        by_roles: dict[tuple[str, ...], list[str]] = {}
        for key in alike.keys:
            role = self._stored.get(key)
            by_roles.setdefault((role,) if role is not None else everywhere, []).append(key)
        for roles, keys in by_roles.items():
            changed: dict[tuple[str, str, str], tuple[Change, list[str]]] = {}
            for role in roles:
                may_differ = alike.changed or self._persons.may_differ(role, permission)
                change = self._between(Subject(role, alike.keys[0]), permission) if may_differ else None
                if change is not None and not _told(change, of_roles.get(role), alike.changed):
                    changed.setdefault(_kind(change), (change, []))[1].append(role)
            for change, having in changed.values():
                yield replace(change, who=tuple(keys), having=() if len(having) == len(roles) else tuple(having))

    def _between(self, subject: Subject, permission: str) -> Change | None:
        found = self._comparison.between(subject, permission)
        if not found:
            return None
        old, new = (self._grant(policy, subject, permission) for policy in (self._old, self._new))
        before, after = (old.words, new.words) if old.words != new.words else (_explicit(old), _explicit(new))
        if found.undecided:
            lines, gone = (reasons.reaching(subject.role, subject.key, permission)
                           for reasons in (self._here, self._before))
            return Change((str(subject),), permission, UNDECIDED, before, after, tuple(lines), tuple(gone))
        lines, gone = [], []
        if found.gained is not None:
            gone += self._before.of(found.gained, "deny")
            # What was allowed but for a denial needed no new line.
            lines += [] if self._before.of(found.gained, "allow") else self._here.of(found.gained, "allow")
        if found.lost is not None:
            lines += self._here.of(found.lost, "deny")
            gone += [] if self._here.of(found.lost, "allow") else self._before.of(found.lost, "allow")
        kind = OTHER if found.gained and found.lost else MORE if found.gained else LESS
        return Change((str(subject),), permission, kind, before, after, tuple(dict.fromkeys(lines)),
                      tuple(dict.fromkeys(gone)), found.gained, found.lost)

    def _grant(self, policy: Policy, subject: Subject, permission: str) -> Grant:
        """What the lines give, without those that can never hold for the subject."""
        judged = ((rule, self._judged(left, subject, permission))
                  for rule, left in policy.reaching(subject.role, subject.key, permission))
        return grant(Part(rule, left) for rule, left in judged if left is not False)

    def _judged(self, left: Expression, subject: Subject, permission: str) -> Expression:
        """The condition, or whether it holds where that is the same whatever the facts are."""
        try:
            if not self._comparison.prover.possible(left, subject, permission):
                return False
            return left if self._comparison.prover.possible(negation(left), subject, permission) else True
        except Undecided:
            return left


def _kind(change: Change) -> tuple[str, str, str]:
    return change.kind, change.before, change.after


def _told(change: Change, of_role: Change | None, by_own_lines: bool) -> bool:
    """Whether the change of a person's role already says what changes for that person."""
    return of_role is not None and (
        _kind(change) == _kind(of_role) or (not by_own_lines and change.kind == of_role.kind)
    )


def _together(changes: Iterable[Change]) -> list[Change]:
    """Those of one kind, with the same words, as one: the examples are those of the first."""
    alike: dict[tuple[object, ...], list[Change]] = {}
    for change in changes:
        alike.setdefault((_kind(change), change.having), []).append(change)
    return [
        replace(found[0], who=_each(change.who for change in found), lines=_each(change.lines for change in found),
                gone=_each(change.gone for change in found))
        for found in alike.values()
    ]


def _each(found: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one for several in found for one in several))


def _explicit(found: Grant) -> str:
    """A grant in the terms of model.conf, where the same word means two things."""
    allowed, denied = (" || ".join(dict.fromkeys(text(part.expression) for part in side))
                       for side in (found.allows, found.denies))
    return f"{allowed}, but not {denied}" if denied else allowed


def _scopes(old: Policy, new: Policy) -> Iterator[Change]:
    for scope in sorted(old.scope_names | new.scope_names):
        before, after = _covered(old, scope), _covered(new, scope)
        for permission in sorted(before.keys() ^ after.keys()):
            who = (f"scope {scope}",)
            if permission in after:
                yield Change(who, permission, MORE, "", ALWAYS_WORD, after[permission])
            else:
                yield Change(who, permission, LESS, ALWAYS_WORD, "", (), before[permission])


def _covered(policy: Policy, scope: str) -> dict[str, tuple[str, ...]]:
    """Each permission that a scope covers, and the lines that say so."""
    found: dict[str, tuple[str, ...]] = {}
    for line in policy.scopes:
        if line.scope == scope:
            for permission in policy.patterns.covered(line.act):
                found[permission] = (*found.get(permission, ()), f"{line.file}:{line.line}")
    return found


def _invariants(old: Policy, new: Policy) -> Iterator[str]:
    """Which lines of invariants.csv are only in one of both, however their columns are spaced."""
    before, after = (dict.fromkeys(map(str, lines_of(policy))) for policy in (old, new))
    yield from (f"− {line}" for line in before if line not in after)
    yield from (f"+ {line}" for line in after if line not in before)
