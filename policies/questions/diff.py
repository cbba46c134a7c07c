"""Effective difference of two policies: which roles may do more, less, or under other conditions.

The comparison is not textual. A rule that moves, a renamed condition and a rule that was inherited anyway are no
changes. A condition redefined in model.conf is a change for every role with rules that use it. Each change is proved
by a request that the two policies answer differently. What is not listed changes no decision.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from ..comparison.subjects import Subject
from ..evaluation.grants import ALWAYS_WORD
from ..evaluation.policy import Policy
from ..invariants.lines import lines_of
from ..syntax.roles import GUEST
from .answers import Answer, Answers
from .changes import LESS, MORE, Change, Changes
from .persons import Alike, Persons

_Of = tuple[Subject, Answer, Change]  # a change, of whom its examples are


Tell = Callable[[int, int], object]
"""Receives the number of compared permissions, and the number of all."""


def diff(old: Policy, new: Policy, stored: Mapping[str, str] | None = None, tell: Tell | None = None) -> Changes:
    """Returns every effective change from `old` to `new`. They have the same vocabulary; their roles may differ.

    It compares each role alone, as a user and as a service, and each user whom rules name. These have the role that is
    `stored` for the key `user:<id>`, or if none is, each role except guest. `tell` is called from time to time.
    """
    return Changes(old.version, new.version, tuple(_changes(old, new, stored or {}, tell)),
                   tuple(_added_and_removed(_invariants(old), _invariants(new))), old.vocabulary, _roles(old, new),
                   tuple(_added_and_removed(map(str, old.roles.groups), map(str, new.roles.groups))))


def decide_alike(old: Policy, new: Policy) -> bool:
    """True if two policies provably answer every request alike; False also if that is undecided."""
    return next(_changes(old, new, {}, None), None) is None


def _changes(old: Policy, new: Policy, stored: Mapping[str, str], tell: Tell | None) -> Iterator[Change]:
    permissions = old.vocabulary.by_permission
    compared = _Diff(old, new, stored)
    for number, permission in enumerate(permissions):
        if tell is not None:
            tell(number, len(permissions))
        yield from compared.on(permission)
    yield from _scopes(old, new)


def _roles(old: Policy, new: Policy) -> tuple[str, ...]:
    """The roles of both, in the order of the new one."""
    return tuple(dict.fromkeys((*new.roles.names, *old.roles.names)))


class _Diff:
    def __init__(self, old: Policy, new: Policy, stored: Mapping[str, str]) -> None:
        self._stored, self._roles = stored, _roles(old, new)
        self._persons, self._answers = Persons(old, new), Answers(old, new)

    def on(self, permission: str) -> list[Change]:
        """The changes of one permission, with equal changes joined: roles first, then users."""
        of_roles: dict[str, Answer] = {}
        for role in self._roles:
            may_differ = self._persons.may_differ(role, permission)
            answer = self._answers.answer(Subject(role), permission) if may_differ else None
            if answer is not None:
                of_roles[role] = answer
        roles = (self._of((role,), Subject(role), permission, answer) for role, answer in of_roles.items())
        persons = (one for alike in self._persons.on(permission)
                   for one in self._of_persons(alike, permission, of_roles))
        return [self._with_examples(*one) for one in _together((*roles, *persons))]

    def _of_persons(self, alike: Alike, permission: str, of_roles: Mapping[str, Answer]) -> Iterator[_Of]:
        """Yields the changes of users with equal rules, without those that equal the changes of their role."""
        everywhere = tuple(role for role in self._roles if role != GUEST)
        by_roles: dict[tuple[str, ...], list[str]] = {}
        for key in alike.keys:
            role = self._stored.get(key)
            by_roles.setdefault((role,) if role is not None else everywhere, []).append(key)
        answers: dict[object, Answer | None] = {}
        for roles, keys in by_roles.items():
            changed: dict[tuple[str, str, str], tuple[Answer, list[str]]] = {}
            for role in roles if alike.changed else (
                    role for role in roles if self._persons.may_differ(role, permission)):
                like = self._answers.like(role, permission)
                if like not in answers:
                    answers[like] = self._answers.answer(Subject(role, alike.keys[0]), permission)
                answer = answers[like]
                if answer is not None and not _told(answer, of_roles.get(role), alike.changed):
                    changed.setdefault(_kind(answer), (answer, []))[1].append(role)
            for answer, having in changed.values():
                yield self._of(tuple(keys), Subject(having[0], alike.keys[0]), permission, answer,
                               () if len(having) == len(roles) else tuple(having))

    def _of(self, who: tuple[str, ...], subject: Subject, permission: str, answer: Answer,
            having: tuple[str, ...] = ()) -> _Of:
        change = self._answers.change(subject, permission, answer)
        return subject, answer, replace(change, who=who, having=having)

    def _with_examples(self, subject: Subject, answer: Answer, change: Change) -> Change:
        gained, lost = self._answers.examples(subject, change.permission, answer)
        return replace(change, gained=gained, lost=lost)


def _kind(change: Change | Answer) -> tuple[str, str, str]:
    return change.kind, change.before, change.after


def _told(change: Answer, of_role: Answer | None, by_own_lines: bool) -> bool:
    """True if the change of a user's role already describes the change for the user."""
    return of_role is not None and (
        _kind(change) == _kind(of_role) or (not by_own_lines and change.kind == of_role.kind)
    )


def _together(changes: Iterable[_Of]) -> list[_Of]:
    """Those of one kind, with the same words, as one of the first subject."""
    alike: dict[tuple[object, ...], list[_Of]] = {}
    for subject, answer, change in changes:
        alike.setdefault((_kind(change), change.having), []).append((subject, answer, change))
    joined = []
    for same in alike.values():
        each = [change for _, _, change in same]
        subject, answer, first = same[0]
        joined.append((subject, answer, replace(
            first, who=_each(change.who for change in each), lines=_each(change.lines for change in each),
            gone=_each(change.gone for change in each))))
    return joined


def _each(tuples: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one for several in tuples for one in several))


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
    """Returns each permission that a scope covers, with the lines that give it."""
    by_permission: dict[str, tuple[str, ...]] = {}
    for line in policy.scopes:
        if line.scope == scope:
            for permission in policy.patterns.covered(line.act):
                by_permission[permission] = (*by_permission.get(permission, ()), f"{line.file}:{line.line}")
    return by_permission


def _invariants(policy: Policy) -> Iterator[str]:
    """Returns the lines of invariants.csv. Blanks between columns do not count."""
    return map(str, lines_of(policy))


def _added_and_removed(old: Iterable[str], new: Iterable[str]) -> Iterator[str]:
    """Yields the lines that only one side has: `− …` of the old one, then `+ …` of the new one."""
    before, after = dict.fromkeys(old), dict.fromkeys(new)
    yield from (f"− {line}" for line in before if line not in after)
    yield from (f"+ {line}" for line in after if line not in before)
