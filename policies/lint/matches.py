"""Rules by caller: for each caller and permission every rule about them, with its condition.

Most rules have the same few conditions. These are numbered, and each question is answered once for similar callers
and resources. So the time is nearly proportional to the number of rules.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cached_property
from itertools import product
from typing import NamedTuple

from ..comparison.prover import Prover, Undecided, Witness
from ..comparison.subjects import Subject, named_in, persons, told_apart
from ..evaluation.policy import Policy, place_of
from ..evaluation.rights import rights_to
from ..syntax.expression import (
    ID,
    KEY,
    ROLE,
    Attribute,
    Comparison,
    Expression,
    FunctionCall,
    atoms,
    attributes,
    columns,
    conjunction,
    disjunction,
    negation,
)
from ..syntax.roles import GUEST
from ..syntax.rules import Rule

ALLOW, DENY = "allow", "deny"
MOST_NODES = 3_000  # of the search for one example; beyond it a rule is undecided
MOST_PERSONS = 20  # whose own identity matters if a condition names roles or users
Numbers = Counter[int]


class _Unknown:
    """An example that was not looked for."""


_UNKNOWN = _Unknown()


class Place(NamedTuple):
    """One caller and one permission."""

    subject: Subject
    permission: str


class Cell:
    """One caller and one permission, with their rules, each with the number of its condition.

    base  cell of a user's role; the user has its rules and `own` ones
    """

    __slots__ = ("_conditions", "_counts", "base", "own", "permission", "subject")

    def __init__(self, subject: Subject, permission: str, own: Mapping[Rule, int], base: Cell | None = None) -> None:
        self.subject, self.permission, self.own, self.base = subject, permission, own, base
        self._counts: dict[str, Numbers] = {ALLOW: Counter(), DENY: Counter()}
        self._conditions: dict[str, frozenset[int]] = {}

    @property
    def lines(self) -> Mapping[Rule, int]:
        """All rules, in the order of the files."""
        if self.base is None:
            return self.own
        return dict(sorted((*self.base.own.items(), *self.own.items()), key=place_of))

    def number(self, rule: Rule) -> int | None:
        """The number of the condition of a rule; None if it cannot match."""
        number = self.own.get(rule)
        return self.base.number(rule) if number is None and self.base is not None else number

    @property
    def allows(self) -> frozenset[int]:
        """The conditions of the counted rules that allow."""
        return self.conditions_of(ALLOW)

    @property
    def denies(self) -> frozenset[int]:
        """The conditions of the counted rules that deny."""
        return self.conditions_of(DENY)

    def conditions_of(self, effect: str) -> frozenset[int]:
        """The conditions of the counted rules of an effect."""
        numbers = self._conditions.get(effect)
        if numbers is None:
            numbers = self._conditions[effect] = frozenset(self._counts[effect])
        return numbers if self.base is None else numbers | self.base.conditions_of(effect)

    def alike(self, effect: str, number: int) -> int:
        """The number of counted rules of an effect with the same condition."""
        return self._counts[effect][number] + (0 if self.base is None else self.base.alike(effect, number))

    def count(self, rule: Rule, number: int, by: int = 1) -> None:
        """Starts or stops counting a rule of its own."""
        counted = self._counts[rule.eft]
        counted[number] += by
        if not counted[number]:
            del counted[number]
        self._conditions.pop(rule.eft, None)


class Matches:
    """The cells of one policy, and known facts about their conditions. Rules can be excluded."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.prover = Prover(policy, most=MOST_NODES)
        self.out: set[Rule] = set()
        self.persons = frozenset(persons(policy))
        # Roles with few rights first: with them a rule of a user is most likely to give something.
        self.roles = sorted(policy.roles.names, key=lambda role: (len(policy.roles.closure(role)), role))
        self.expressions: list[Expression] = []
        self._numbers: dict[Expression, int] = {}
        self._naming: set[int] = set()  # of those that name the caller: it matters to them who a user is
        self._columns: list[frozenset[str]] = []
        self._rows = {name: resource.columns.keys() for name, resource in policy.vocabulary.by_permission.items()}
        self._cells: dict[tuple[Subject, str], Cell] = {}
        self._examples: dict[tuple[object, ...], Witness | Undecided | None] = {}
        self._bearing: dict[Rule, list[tuple[Cell, int]]] = {rule: [] for rule in policy.rules}
        # What is alike to conditions in permissions: the columns of the resource, and what shares give.
        self._like = {name: (self.prover.kind(name), bool(rights_to(name, policy.vocabulary.fallbacks)))
                      for name in policy.vocabulary.by_permission}

    def cell(self, subject: Subject, permission: str) -> Cell:
        """The rules about a caller and a permission; excluded rules are not counted."""
        cell = self._cells.get((subject, permission))
        if cell is None:
            cell = self._cells[subject, permission] = self._made(subject, permission)
        return cell

    def _made(self, subject: Subject, permission: str) -> Cell:
        role, key = subject.role, subject.key
        lines = None if key is None else self.policy.beside(role, key, permission)
        base = None if lines is None else self.cell(Subject(role), permission)
        rules = self.policy.matching_rules(role, key, permission) if lines is None else lines
        numbers = ((rule, self._fitting(condition, permission)) for rule, condition in rules)
        made = Cell(subject, permission, {rule: number for rule, number in numbers if number is not None}, base)
        for rule, number in made.own.items():
            self._bearing[rule].append((made, number))
            if rule not in self.out:
                made.count(rule, number)
        return made

    def _fitting(self, condition: Expression, permission: str) -> int | None:
        """The number of a condition; None where it is of columns that the permission's resource has not: a matcher may
        apply a rule to a permission that it does not name."""
        number = self.number(condition)
        return number if self._columns[number] <= self._rows[permission] else None

    @property
    def cells(self) -> Collection[Cell]:
        """The cells that were asked for."""
        return self._cells.values()

    def number(self, expression: Expression) -> int:
        """The number of a condition: equal ones have the same."""
        number = self._numbers.get(expression)
        if number is None:
            number = self._numbers[expression] = len(self.expressions)
            self.expressions.append(expression)
            self._columns.append(columns(expression))
            if any(isinstance(atom, Comparison) and atom.left in (ID, KEY) and not isinstance(atom.right, Attribute)
                   for atom in atoms(expression)):
                self._naming.add(number)
        return number

    def reached(self, rule: Rule) -> Iterator[tuple[Cell, int]]:
        """`alone`, and for a rule of a role the users for whom it can count more than for their role alone."""
        yield from self.alone(rule)
        if rule.sub in self.persons:
            return
        permissions = self.policy.permissions_of_line(rule)
        if self.personal:
            for key in sorted(self.persons):
                yield from self._in_cells(rule, self._as_person(rule, key), permissions)
        elif rule.eft == DENY:
            for permission in sorted(permissions):
                for key in dict.fromkeys((*self.lent.get(rule.sub, ()), *self.given.get(permission, ()))):
                    yield from self._in_cells(rule, self._as_person(rule, key), (permission,))

    def alone(self, rule: Rule) -> Iterator[tuple[Cell, int]]:
        """The cells of the user whom a rule names, or of all roles that it can match, the named one first."""
        return self._in_cells(rule, self._named(rule), self.policy.permissions_of_line(rule))

    def places(self, rule: Rule) -> Iterator[tuple[Place, int]]:
        """The places of the cells of `alone`, without creating them."""
        return self._places(rule, self._named(rule))

    def asking(self, rule: Rule) -> Iterator[tuple[Place, int]]:
        """The places of a rule with its condition; of places that the condition cannot tell apart, the first."""
        subjects = self._named(rule)
        if rule.sub in self.persons and not self.policy.asks_role:
            subjects = subjects[:1]
        elif rule.sub not in self.persons and self.personal:
            subjects = [*subjects, *(Subject(role, key) for key in self._unlike for role in self._of_persons)]
        seen = set()
        for place, number in self._places(rule, subjects):
            like = (number, self._like_of(*place, (number,)))
            if like not in seen:
                seen.add(like)
                yield place, number

    def _places(self, rule: Rule, subjects: Iterable[Subject]) -> Iterator[tuple[Place, int]]:
        for subject, permission in product(subjects, sorted(self.policy.permissions_of_line(rule))):
            condition = self.policy.condition_for(rule, permission, subject.role, subject.key)
            number = None if condition is False else self._fitting(condition, permission)
            if number is not None:
                yield Place(subject, permission), number

    def _named(self, rule: Rule) -> list[Subject]:
        """The subjects that a rule can match."""
        if rule.sub in self.persons:
            return self._as_person(rule, rule.sub)
        return [Subject(role) for role in sorted(self.roles, key=lambda role: role != rule.sub)]

    def _as_person(self, rule: Rule, key: str) -> list[Subject]:
        """A user with each role, as long as more rights of a role can make a difference.

        An allow that changes nothing beside few rights changes nothing beside more; a deny is tried on many first.
        """
        if rule.eft == ALLOW:
            return [Subject(role, key) for role in (self._of_persons if self.personal else self._lowest)]
        return [Subject(role, key) for role in reversed(self._of_persons)]

    @cached_property
    def _of_persons(self) -> list[str]:
        """The roles that a user can have."""
        return [role for role in self.roles if role != GUEST]

    @cached_property
    def _lowest(self) -> list[str]:
        """Those of them that inherit no other."""
        return [role for role in self._of_persons if not any(
            other in self.policy.roles.closure(role) for other in self._of_persons if other != role)]

    @cached_property
    def _unlike(self) -> list[str]:
        """The users whom a rule of a role may tell from others of the role; of those alike one."""
        alike: dict[object, str] = {}
        for key in sorted(self.persons):
            alike.setdefault((self.policy.roles.closure(key) - {key}, key if key in self._mentioned else None), key)
        return [*alike.values()]

    @cached_property
    def _mentioned(self) -> frozenset[str]:
        return told_apart(self.policy)

    def is_plain(self, key: str) -> bool:
        """True if no rule and no condition names a user: then users differ only in lent roles."""
        return key not in self._with_lines and key not in self._mentioned

    @cached_property
    def _with_lines(self) -> frozenset[str]:
        return frozenset(rule.sub for rule in self.policy.rules)

    @cached_property
    def lent(self) -> Mapping[str, list[str]]:
        """Users by role: those to whom the role, or a role that inherits it, is lent."""
        by_role: dict[str, list[str]] = {}
        for key in sorted(self.persons):
            for name in self.policy.roles.closure(key):
                by_role.setdefault(name, []).append(key)
        return by_role

    @cached_property
    def given(self) -> Mapping[str, list[str]]:
        """Users by permission: those whom their own rules, or rules of roles lent to them, allow it."""
        acts: dict[str, set[str]] = {}
        for rule in self.policy.rules:
            if rule.eft == ALLOW:
                acts.setdefault(rule.sub, set()).update(self.policy.permissions_of_line(rule))
        by_permission: dict[str, list[str]] = {}
        for key in sorted(self.persons):
            for permission in frozenset().union(*(acts.get(name, ()) for name in self.policy.roles.closure(key))):
                by_permission.setdefault(permission, []).append(key)
        return by_permission

    @cached_property
    def personal(self) -> bool:
        """True if a condition names roles or users: then a rule can have an effect for a user and for no role."""
        return bool(self.persons) and any(
            _names_callers(atom) for condition in self.policy.conditions.values()
            for atom in atoms(condition.expression))

    def callers(self, expression: Expression) -> Iterator[Subject]:
        """Each role alone; with a condition that names roles or users also each user whom it can tell from them,
        of those alike one."""
        yield from map(Subject, self.roles)
        alike: dict[object, str] = {}
        for key in sorted(self.persons) if any(map(_names_callers, atoms(expression))) else ():
            named = key if named_in(expression, (key,)) else None
            alike.setdefault((self.policy.roles.closure(key) - {key}, named), key)
        yield from (Subject(role, key) for key in alike.values() for role in self.roles if role != GUEST)

    @property
    def too_many(self) -> bool:
        """True if it would take too long to ask for each user whether a rule of a role counts for them."""
        return self.personal and len(self.persons) > MOST_PERSONS

    def take_out(self, rule: Rule) -> None:
        """Removes a rule from every cell."""
        self.out.add(rule)
        for cell, number in self._bearing[rule]:
            cell.count(rule, number, -1)

    def counts(self, cell: Cell, rule: Rule, number: int) -> bool:
        """True if an answer changes when this rule is removed from the counted ones. Raises Undecided."""
        allow = rule.eft == ALLOW
        if cell.alike(rule.eft, number) > 1:
            return False
        rest, others = cell.conditions_of(rule.eft) - {number}, cell.conditions_of(DENY if allow else ALLOW)
        return self._conditions(("counts", allow, number, rest, others), cell, (number, *rest, *others),
                           lambda: self._difference(allow, number, rest, others))

    def _difference(self, allow: bool, number: int, rest: Iterable[int], others: Iterable[int]) -> Expression:
        opposite = self.any_of(others)
        return conjunction((self.expressions[number], negation(self.any_of(rest)),
                            negation(opposite) if allow else opposite))

    def meets(self, place: Place | Cell, *numbers: int) -> bool:
        """True if all of these conditions can hold at once. Raises Undecided."""
        return self._conditions(("meets", frozenset(numbers)), place, numbers,
                           lambda: conjunction(self.expressions[one] for one in numbers))

    def implies(self, place: Place | Cell, narrow: int, wide: Iterable[int]) -> bool:
        """True if one of `wide` holds wherever `narrow` does. Raises Undecided."""
        wider = frozenset(wide)
        if narrow in wider:
            return True
        return not self._conditions(("implies", narrow, wider), place, (narrow, *wider),
                               lambda: conjunction((self.expressions[narrow], negation(self.any_of(wider)))))

    def holds(self, place: Place | Cell, number: int) -> bool:
        """True if a condition holds on every request about an object, or on every one where there are no objects.
        Raises Undecided."""
        witness = self._example(("holds", number), place, (number,), lambda: negation(self.expressions[number]))
        return witness is None or (witness.row is None and bool(self._rows[place.permission]))

    def open(self, cell: Cell, number: int, reading: Attribute, goal: Expression) -> Witness | None:
        """A request that the rules of the cell allow, and on which `goal` holds of a condition that reads this
        attribute. Raises Undecided."""
        allows, denies = cell.allows, cell.denies
        return self._example(
            ("open", number, reading, allows, denies), cell, (number, *allows, *denies),
            lambda: conjunction((self.any_of(allows), negation(self.any_of(denies)), goal)))

    def meets_allowed(self, cell: Cell, number: int, without: Iterable[int]) -> bool:
        """True if a condition, and none of `without`, can hold for an object on which the rules of the cell allow
        something. Raises Undecided."""
        allows, denies = frozenset(cell.allows), frozenset((*cell.denies, *without))
        witness = self._example(
            ("meets_allowed", number, allows, denies), cell, (number, *allows, *denies),
            lambda: conjunction((self.expressions[number], self.any_of(allows), negation(self.any_of(denies)))))
        rows = self.policy.vocabulary.by_permission[cell.permission].columns
        return witness is not None and (witness.row is not None or not rows)

    def any_of(self, numbers: Iterable[int]) -> Expression:
        """The disjunction of these conditions."""
        return disjunction(self.expressions[one] for one in sorted(numbers))

    def _conditions(
        self, question: tuple[object, ...], place: Place | Cell, numbers: Iterable[int], goal: Callable[[], Expression],
    ) -> bool:
        return self._example(question, place, numbers, goal) is not None

    def _example(
        self, question: tuple[object, ...], place: Place | Cell, numbers: Iterable[int], goal: Callable[[], Expression],
    ) -> Witness | None:
        """An example of a goal, remembered for all places in which the answer is the same."""
        like = self._like_of(place.subject, place.permission, numbers)
        cached = self._examples.get((question, like), _UNKNOWN)
        if isinstance(cached, _Unknown):
            subject = place.subject
            if subject.key is not None and like[-1] is None:
                subject = Subject(subject.role)
            cached = self._examples[question, like] = self._searched(goal(), subject, place.permission)
        if isinstance(cached, Undecided):
            raise cached
        return cached

    def _searched(self, goal: Expression, subject: Subject, permission: str) -> Witness | Undecided | None:
        try:
            return self.prover.example(goal, subject, permission)
        except Undecided as undecided:
            return undecided

    def naming(self, number: int) -> bool:
        """True if a condition compares the caller's id with a literal: then the answer depends on the user."""
        return number in self._naming

    def _like_of(self, subject: Subject, permission: str, numbers: Iterable[int]) -> tuple[object, ...]:
        """The key of an answer about these conditions, beside the conditions."""
        named = subject.key is not None and not self._naming.isdisjoint(numbers)
        return (*self._like[permission], subject.is_guest, subject.key if named else None)

    def _in_cells(self, rule: Rule, subjects: Iterable[Subject], permissions: Iterable[str]
                  ) -> Iterator[tuple[Cell, int]]:
        for subject, permission in product(subjects, sorted(permissions)):
            cell = self.cell(subject, permission)
            number = cell.number(rule)
            if number is not None:
                yield cell, number


def _names_callers(atom: Expression) -> bool:
    match atom:
        case FunctionCall("g", (_, str())):
            return True
        case Comparison(_, left, right) if not isinstance(right, Attribute) or right.root == "sub":
            return left in (ROLE, ID, KEY)
        case Comparison():
            return ROLE in attributes(atom)
    return False
