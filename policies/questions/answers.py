"""Answers of two policies about a subject and a permission, computed once for all subjects with equal rules.

Thousands of users have rules of their own, beside those of the role that each has or could have. The cost of a
comparison depends on the rules alone: subjects with equal matching rules, whom no condition names, are one question.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ..comparison.prover import SAME, Comparison, Difference, Undecided, Witness
from ..comparison.subjects import Subject, condition_of, literals_of, named_in, names_of
from ..evaluation.grants import Grant, Part, grant
from ..evaluation.policy import Line, Policy, place_of
from ..evaluation.rights import rights_to
from ..syntax.expression import Expression, negation, text
from ..syntax.model import MODEL_FILE
from ..syntax.roles import GUEST, RoleLink
from ..syntax.rules import Rule
from .changes import LESS, MORE, OTHER, UNDECIDED, Change

_Said = tuple[str, str, Expression]  # a rule without name and place: word, effect, condition


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to one question.

    kind, before, after  as in a change; the kind is empty where nothing differs
    lines, gone          places of the rules that make the difference, in the new and in the old policy
    difference           the difference for one of the subjects
    """

    kind: str
    before: str = ""
    after: str = ""
    lines: tuple[int, ...] = ()
    gone: tuple[int, ...] = ()
    difference: Difference = SAME


@dataclass(frozen=True, slots=True, eq=False)
class _Base:
    """The rules of a role, shared by all users with the role and by all roles with these rules.

    number  the same for bases with equal rules
    """

    number: int
    lines: tuple[Line, ...]
    places: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class _MatchingRules:
    """The rules of one policy for a subject: those of a role, and by place those inserted before them."""

    base: _Base
    own: tuple[tuple[int, Line], ...] = ()

    @property
    def said(self) -> tuple[object, ...]:
        """A key that is equal for subjects with equal rules."""
        return self.base.number, *[(place, rule.when, rule.eft, condition) for place, (rule, condition) in self.own]

    @property
    def lines(self) -> list[Line]:
        """All of them, in the order of the files."""
        merged, begin = [], 0
        for place, line in self.own:
            merged += [*self.base.lines[begin:place], line]
            begin = place
        return [*merged, *self.base.lines[begin:]]


class _Side:
    """The rules of one policy."""

    def __init__(self, policy: Policy, numbers: dict[tuple[_Said, ...], int]) -> None:
        self._policy, self._numbers = policy, numbers
        self._bases: dict[tuple[str, str], _Base] = {}
        self._by_lines: dict[tuple[Line, ...], _Base] = {}
        self._asks_role = policy.asks_role
        self._last: tuple[tuple[str | None, ...], tuple[Line, ...] | None] = ((), None)

    def matching_rules(self, subject: Subject, permission: str) -> _MatchingRules:
        base = self.base(subject.role, permission)
        if subject.key is None:
            return _MatchingRules(base)
        if self._policy.roles.is_lost(subject.role, subject.key):
            return _MatchingRules(_NO_ROLE)
        own = self._own(subject, permission)
        if own is None:
            lines = self._policy.matching_rules(subject.role, subject.key, permission)
            return _MatchingRules(_NO_ROLE, tuple((0, line) for line in lines))
        return _MatchingRules(base, tuple((bisect(base.places, place_of(line)), line) for line in own))

    def base(self, role: str, permission: str) -> _Base:
        if role not in self._policy.roles:
            return _NO_ROLE
        base = self._bases.get((role, permission))
        if base is None:
            lines = self._policy.matching_rules(role, None, permission)
            base = self._bases[role, permission] = self._by_lines.get(lines) or self._of(lines)
        return base

    def _of(self, lines: tuple[Line, ...]) -> _Base:
        content = tuple((rule.when, rule.eft, condition) for rule, condition in lines)
        number = self._numbers.setdefault(content, len(self._numbers))
        base = self._by_lines[lines] = _Base(number, lines, tuple(map(place_of, lines)))
        return base

    def _own(self, subject: Subject, permission: str) -> tuple[Line, ...] | None:
        """The rules that name a user. It is called for the same user with one role after the other."""
        assert subject.key is not None
        key = (subject.key, permission, subject.role if self._asks_role else None)
        if self._last[0] != key:
            self._last = key, self._policy.beside(subject.role, subject.key, permission)
        return self._last[1]


_NO_ROLE = _Base(0, (), ())


class Answers:
    """The answers of two policies. It remembers each question."""

    def __init__(self, old: Policy, new: Policy) -> None:
        self._comparison = Comparison(old, new)
        self._here, self._before = Reasons(new, old), Reasons(old, new)
        numbers: dict[tuple[_Said, ...], int] = {(): _NO_ROLE.number}
        self._old, self._new = _Side(old, numbers), _Side(new, numbers)
        self._literals = literals_of(old, old.rules) | literals_of(new, new.rules)
        self._asks_role = old.asks_role or new.asks_role
        self._fallbacks = new.vocabulary.fallbacks
        self._answers: dict[tuple[object, ...], Answer] = {}
        self._differences: dict[tuple[object, ...], Difference] = {}
        self._simplified: dict[tuple[object, ...], Expression] = {}

    def answer(self, subject: Subject, permission: str) -> Answer | None:
        """The answer about one subject and one permission; None where both policies answer alike."""
        old, new = self._matching_rules(subject, permission)
        before, after = old.said, new.said
        if before == after:
            return None
        like = self._like(subject, permission, old, new)
        answer = self._answers.get((before, after, *like))
        if answer is None:
            answer = self._answers[before, after, *like] = self._asked(subject, permission, old.lines, new.lines, like)
        return answer if answer.kind else None

    def like(self, role: str, permission: str) -> object:
        """A key that is equal for roles with which each user gets the same answer about a permission."""
        if self._asks_role or role == GUEST:
            return role
        return self._old.base(role, permission), self._new.base(role, permission)

    def change(self, subject: Subject, permission: str, answer: Answer) -> Change:
        """The change for a subject about whom this is the answer, without its examples."""
        old, new = (side.lines for side in self._matching_rules(subject, permission))
        lines, gone = [new[place][0] for place in answer.lines], [old[place][0] for place in answer.gone]
        if answer.kind == UNDECIDED:
            here, before = self._here.unlike(lines), self._before.unlike(gone)
        else:
            here, before = self._here.places(lines, subject), self._before.places(gone, subject)
        return Change((str(subject),), permission, answer.kind, answer.before, answer.after, tuple(here), tuple(before))

    def examples(self, subject: Subject, permission: str, answer: Answer) -> tuple[Witness | None, Witness | None]:
        """Returns an example of what the subject gains and one of what it loses. Each was tried on both policies."""
        difference = answer.difference
        example = difference.gained or difference.lost
        if example is not None and (example.ground.subject, example.ground.permission) != (subject, permission):
            difference = self._comparison.between(subject, permission)
        return difference.gained, difference.lost

    def _matching_rules(self, subject: Subject, permission: str) -> tuple[_MatchingRules, _MatchingRules]:
        return self._old.matching_rules(subject, permission), self._new.matching_rules(subject, permission)

    def _like(self, subject: Subject, permission: str, old: _MatchingRules, new: _MatchingRules) -> tuple[object, ...]:
        """Returns what an answer depends on beside the rules."""
        key = subject.key
        if key is not None:
            mentioned = not self._literals.isdisjoint(names_of(key))
            names = mentioned and any(named_in(condition, (key,)) for _, condition in (*old.lines, *new.lines))
            key = key if names else ""
        return (self._comparison.prover.kind(permission), bool(rights_to(permission, self._fallbacks)),
                subject.is_guest, key)

    def _asked(self, subject: Subject, permission: str, old: list[Line], new: list[Line], like: tuple[object, ...]
               ) -> Answer:
        difference = self._difference(subject, permission, (condition_of(old), condition_of(new), *like))
        if not difference:
            return Answer("")
        given = [self._grant(lines, subject, permission, like) for lines in (old, new)]
        before, after = (one.words for one in given)
        if before == after:
            before, after = map(_explicit, given)
        if difference.undecided:
            return Answer(UNDECIDED, before, after, tuple(range(len(new))), tuple(range(len(old))), difference)
        lines: list[int] = []
        gone: list[int] = []
        gained, lost = difference.gained, difference.lost
        if gained is not None:
            gone += _matching(gained, old, "deny")
            # What only a denial prevented needed no new rule.
            lines += [] if _matching(gained, old, "allow") else _matching(gained, new, "allow")
        if lost is not None:
            lines += _matching(lost, new, "deny")
            gone += [] if _matching(lost, new, "allow") else _matching(lost, old, "allow")
        kind = OTHER if gained and lost else MORE if gained else LESS
        return Answer(kind, before, after, tuple(lines), tuple(gone), difference)

    def _difference(self, subject: Subject, permission: str, question: tuple[object, ...]) -> Difference:
        difference = self._differences.get(question)
        if difference is None:
            difference = self._differences[question] = self._comparison.between(subject, permission)
        return difference

    def _grant(self, lines: list[Line], subject: Subject, permission: str, like: tuple[object, ...]) -> Grant:
        """Returns the grant of these rules, without those that can never match the subject."""
        parts = []
        for rule, expression in lines:
            condition = self._simplified.get((expression, *like))
            if condition is None:
                condition = self._simplified[expression, *like] = self._judge(expression, subject, permission)
            if condition is not False:
                parts.append(Part(rule, condition))
        return grant(parts)

    def _judge(self, condition: Expression, subject: Subject, permission: str) -> Expression:
        """The condition, or whether it holds where that is the same whatever the facts are."""
        try:
            if not self._comparison.prover.possible(condition, subject, permission):
                return False
            return condition if self._comparison.prover.possible(negation(condition), subject, permission) else True
        except Undecided:
            return condition


def _matching(example: Witness, lines: list[Line], effect: str) -> list[int]:
    """The places of the rules of an effect that hold for a request."""
    return [place for place, (rule, condition) in enumerate(lines) if rule.eft == effect and example.holds(condition)]


def _explicit(given: Grant) -> str:
    """A grant in the terms of model.conf, where the same word means two things."""
    allowed, denied = (" || ".join(dict.fromkeys(text(part.expression) for part in side))
                       for side in (given.allows, given.denies))
    return f"{allowed}, but not {denied}" if denied else allowed


class Reasons:
    """The rules of one policy that another one lacks or reads otherwise."""

    def __init__(self, policy: Policy, other: Policy) -> None:
        self._policy = policy
        self._known = {_says(rule) for rule in other.rules}
        self._links = {(link.name, link.inherits) for link in other.roles.links}
        self._conditions = other.conditions

    def places(self, rules: Iterable[Rule], subject: Subject) -> list[str]:
        """Returns the places that explain why these rules match a subject in this policy, each once."""
        return list(dict.fromkeys(place for rule in rules for place in self._places(rule, subject)))

    def unlike(self, rules: Iterable[Rule]) -> list[str]:
        """Returns the places of those rules whose exact text the other policy lacks."""
        return [rule.place for rule in rules if _says(rule) not in self._known]

    def _places(self, rule: Rule, subject: Subject) -> Iterator[str]:
        """The rule itself if it is new; else the line of roles.csv by which it matches the caller, or its condition."""
        if _says(rule) not in self._known:
            yield rule.place
            return
        unlike = [link for link in self._chain(rule, subject) if (link.name, link.inherits) not in self._links]
        condition, other = (conditions.get(rule.when) for conditions in (self._policy.conditions, self._conditions))
        if unlike:
            yield from (f"{link.file}:{link.line}" for link in unlike)
        elif condition is not None and (
                other is None or condition.expression != other.expression):
            yield f"{MODEL_FILE}:{condition.line}"
        else:
            yield rule.place

    def _chain(self, rule: Rule, subject: Subject) -> tuple[RoleLink, ...]:
        ways = (self._policy.roles.chain(name, rule.sub) for name in (subject.role, subject.key) if name is not None)
        return next((way for way in ways if way is not None), ())


def _says(rule: Rule) -> tuple[str, str, str, str]:
    return rule.sub, rule.act, rule.when, rule.eft
