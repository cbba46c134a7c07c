"""Which lines bear on whom: for each caller and permission every line that reaches them, and what it asks.

Most lines have the same few conditions. They are numbered, and each question is answered once for callers and
resources that are alike, so that thousands of lines cost little more than their number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from ..comparison.candidates import ID, KEY
from ..comparison.prover import Prover
from ..comparison.search import Undecided
from ..comparison.subjects import Subject, named_in, persons
from ..comparison.witness import Witness
from ..evaluation.policy import Policy
from ..evaluation.rights import rights_for
from ..syntax.expression import (
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
MOST_NODES = 3_000  # of the search for one example; beyond it a line is said to be undecided
MOST_PERSONS = 20  # whose own identity is looked at where a condition names roles or persons
_ROLE = Attribute("sub", "role")
Numbers = Counter[int]


@dataclass(eq=False)
class Cell:
    """One caller and one permission: the lines that reach them, each with the number of what it asks.

    allows, denies  how many of the lines that count ask the same
    """

    subject: Subject
    permission: str
    lines: Mapping[Rule, int]
    allows: Numbers = field(default_factory=Counter)
    denies: Numbers = field(default_factory=Counter)

    def count(self, rule: Rule, number: int, by: int = 1) -> None:
        """Count a line, or count it no more."""
        counted = self.allows if rule.eft == ALLOW else self.denies
        counted[number] += by
        if not counted[number]:
            del counted[number]


class Standing:
    """The cells of one policy, and what is known of their conditions. Lines may be taken out of the count."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.prover = Prover(policy, most=MOST_NODES)
        self.out: set[Rule] = set()
        self.persons = frozenset(persons(policy))
        # Roles with few rights first: with them a line of a person is most likely to give something.
        self.roles = sorted(policy.roles.names, key=lambda role: (len(policy.roles.closure(role)), role))
        self.expressions: list[Expression] = []
        self._numbers: dict[Expression, int] = {}
        self._cells: dict[tuple[Subject, str], Cell] = {}
        self._known: dict[tuple[object, ...], Witness | Undecided | None] = {}
        self._bearing: dict[Rule, list[tuple[Cell, int]]] = {rule: [] for rule in policy.rules}

    def cell(self, subject: Subject, permission: str) -> Cell:
        """The lines about a caller and a permission; those that are taken out are not counted."""
        known = self._cells.get((subject, permission))
        if known is None:
            reaching = self.policy.reaching(subject.role, subject.key, permission)
            named = self.policy.vocabulary.by_permission[permission].columns.keys()
            # A matcher may apply a line to a permission that it does not name, of a resource without its columns.
            lines = {rule: self.number(left) for rule, left in reaching if columns(left) <= named}
            known = self._cells[subject, permission] = Cell(subject, permission, lines)
            for rule, number in lines.items():
                self._bearing[rule].append((known, number))
                if rule not in self.out:
                    known.count(rule, number)
        return known

    @property
    def cells(self) -> Collection[Cell]:
        """The cells that were asked for."""
        return self._cells.values()

    def number(self, expression: Expression) -> int:
        """The number of a condition: equal ones have the same."""
        found = self._numbers.get(expression)
        if found is None:
            found = self._numbers[expression] = len(self.expressions)
            self.expressions.append(expression)
        return found

    def reached(self, rule: Rule) -> Iterator[tuple[Cell, int]]:
        """`alone`, and for a line of a role the persons for whom it can count more than for their role alone."""
        yield from self.alone(rule)
        if rule.sub in self.persons:
            return
        permissions = self.policy.permissions_of_line(rule)
        if self.personal:
            for key in sorted(self.persons):
                yield from self._of_person(rule, key, permissions)
        elif rule.eft == DENY:
            for permission in sorted(permissions):
                for key in dict.fromkeys((*self.lent.get(rule.sub, ()), *self.given.get(permission, ()))):
                    yield from self._of_person(rule, key, (permission,))

    def alone(self, rule: Rule) -> Iterator[tuple[Cell, int]]:
        """The cells of the person whom a line names, or of all roles that it reaches: that which it names first."""
        permissions = self.policy.permissions_of_line(rule)
        if rule.sub in self.persons:
            yield from self._of_person(rule, rule.sub, permissions)
            return
        for role in sorted(self.roles, key=lambda role: role != rule.sub):
            yield from self._in_cells(rule, Subject(role), permissions)

    @cached_property
    def lent(self) -> Mapping[str, list[str]]:
        """For each role the persons who were lent it, or an heir of it."""
        found: dict[str, list[str]] = {}
        for key in sorted(self.persons):
            for name in self.policy.roles.closure(key):
                found.setdefault(name, []).append(key)
        return found

    @cached_property
    def given(self) -> Mapping[str, list[str]]:
        """For each permission the persons whom lines about them, or about the roles lent to them, allow it."""
        acts: dict[str, set[str]] = {}
        for rule in self.policy.rules:
            if rule.eft == ALLOW:
                acts.setdefault(rule.sub, set()).update(self.policy.permissions_of_line(rule))
        found: dict[str, list[str]] = {}
        for key in sorted(self.persons):
            for permission in frozenset().union(*(acts.get(name, ()) for name in self.policy.roles.closure(key))):
                found.setdefault(permission, []).append(key)
        return found

    @cached_property
    def personal(self) -> bool:
        """Whether a condition names roles or persons: then a line may count for a person, and for no role alone."""
        return bool(self.persons) and any(
            _names_callers(atom) for condition in self.policy.conditions.values()
            for atom in atoms(condition.expression))

    def callers(self, expression: Expression) -> Iterator[Subject]:
        """Each role alone; with a condition that names roles or persons also each person whom it can tell from them,
        of those alike one."""
        yield from map(Subject, self.roles)
        alike: dict[object, str] = {}
        for key in sorted(self.persons) if any(map(_names_callers, atoms(expression))) else ():
            named = key if named_in(expression, (key,)) else None
            alike.setdefault((self.policy.roles.closure(key) - {key}, named), key)
        yield from (Subject(role, key) for key in alike.values() for role in self.roles if role != GUEST)

    @property
    def too_many(self) -> bool:
        """Whether it would take too long to ask for each person whether a line of a role counts for them."""
        return self.personal and len(self.persons) > MOST_PERSONS

    def take_out(self, rule: Rule) -> None:
        """Count a line no more, in any cell."""
        self.out.add(rule)
        for cell, number in self._bearing[rule]:
            cell.count(rule, number, -1)

    def counts(self, cell: Cell, rule: Rule, number: int) -> bool:
        """Whether a request is answered otherwise without this line, beside those that count. Raises Undecided."""
        allow = rule.eft == ALLOW
        alike, others = (cell.allows, cell.denies) if allow else (cell.denies, cell.allows)
        if alike[number] > 1:
            return False
        rest = frozenset(one for one in alike if one != number)
        return self._asked(("counts", allow, number, rest, frozenset(others)), cell, (number, *rest, *others),
                           lambda: self._difference(allow, number, rest, others))

    def _difference(self, allow: bool, number: int, rest: Iterable[int], others: Iterable[int]) -> Expression:
        opposite = self.any_of(others)
        return conjunction((self.expressions[number], negation(self.any_of(rest)),
                            negation(opposite) if allow else opposite))

    def meets(self, cell: Cell, *numbers: int) -> bool:
        """Whether all of these conditions can hold at once. Raises Undecided."""
        return self._asked(("meets", frozenset(numbers)), cell, numbers,
                           lambda: conjunction(self.expressions[one] for one in numbers))

    def implies(self, cell: Cell, narrow: int, wide: Iterable[int]) -> bool:
        """Whether one of `wide` holds wherever `narrow` does. Raises Undecided."""
        wider = frozenset(wide)
        if narrow in wider:
            return True
        return not self._asked(("implies", narrow, wider), cell, (narrow, *wider),
                               lambda: conjunction((self.expressions[narrow], negation(self.any_of(wider)))))

    def holds(self, cell: Cell, number: int) -> bool:
        """Whether a condition holds on every request about an object, or on every one where there are no objects.
        Raises Undecided."""
        found = self._example(("holds", number), cell, (number,), lambda: negation(self.expressions[number]))
        rows = self.policy.vocabulary.by_permission[cell.permission].columns
        return found is None or (found.row is None and bool(rows))

    def open(self, cell: Cell, number: int, reading: Attribute, goal: Expression) -> Witness | None:
        """A request that the lines of the cell allow, and on which `goal` holds of a condition that reads this
        attribute. Raises Undecided."""
        allows, denies = frozenset(cell.allows), frozenset(cell.denies)
        return self._example(
            ("open", number, reading, allows, denies), cell, (number, *allows, *denies),
            lambda: conjunction((self.any_of(allows), negation(self.any_of(denies)), goal)))

    def meets_allowed(self, cell: Cell, number: int, without: Iterable[int]) -> bool:
        """True if a condition, and none of `without`, can hold for an object on which the lines of the cell allow
        something. Raises Undecided."""
        allows, denies = frozenset(cell.allows), frozenset((*cell.denies, *without))
        found = self._example(
            ("meets_allowed", number, allows, denies), cell, (number, *allows, *denies),
            lambda: conjunction((self.expressions[number], self.any_of(allows), negation(self.any_of(denies)))))
        rows = self.policy.vocabulary.by_permission[cell.permission].columns
        return found is not None and (found.row is not None or not rows)

    def any_of(self, numbers: Iterable[int]) -> Expression:
        """The disjunction of these conditions."""
        return disjunction(self.expressions[one] for one in sorted(numbers))

    def _asked(
        self, question: tuple[object, ...], cell: Cell, numbers: Iterable[int], goal: Callable[[], Expression],
    ) -> bool:
        return self._example(question, cell, numbers, goal) is not None

    def _example(
        self, question: tuple[object, ...], cell: Cell, numbers: Iterable[int], goal: Callable[[], Expression],
    ) -> Witness | None:
        """An example of a goal, remembered for all cells in which the answer is the same."""
        subject = cell.subject
        if subject.key is not None and not any(self.naming(number) for number in numbers):
            subject = Subject(subject.role)
        verb = cell.permission.partition(".")[2]
        key = (question, self.prover.kind(cell.permission), bool(rights_for(verb)), subject.key, subject.is_guest)
        if key not in self._known:
            self._known[key] = self._found(goal(), subject, cell.permission)
        known = self._known[key]
        if isinstance(known, Undecided):
            raise known
        return known

    def _found(self, goal: Expression, subject: Subject, permission: str) -> Witness | Undecided | None:
        try:
            return self.prover.example(goal, subject, permission)
        except Undecided as undecided:
            return undecided

    def naming(self, number: int) -> bool:
        """Whether a condition compares the caller's id with a literal: then it matters who the person is."""
        return any(isinstance(atom, Comparison) and atom.left in (ID, KEY) and not isinstance(atom.right, Attribute)
                   for atom in atoms(self.expressions[number]))

    def _of_person(self, rule: Rule, key: str, permissions: Iterable[str]) -> Iterator[tuple[Cell, int]]:
        """The cells of a person with each role, as long as more rights of a role can make a difference.

        An allow that changes nothing beside few rights changes nothing beside more; a deny is tried on many first.
        """
        roles = [role for role in self.roles if role != GUEST]
        if rule.eft == ALLOW and not self.personal:
            roles = [role for role in roles if not any(
                other in self.policy.roles.closure(role) for other in roles if other != role)]
        for role in roles if rule.eft == ALLOW else reversed(roles):
            yield from self._in_cells(rule, Subject(role, key), permissions)

    def _in_cells(self, rule: Rule, subject: Subject, permissions: Iterable[str]) -> Iterator[tuple[Cell, int]]:
        for permission in sorted(permissions):
            cell = self.cell(subject, permission)
            if rule in cell.lines:
                yield cell, cell.lines[rule]


def _names_callers(atom: Expression) -> bool:
    match atom:
        case FunctionCall("g", (_, str())):
            return True
        case Comparison(_, left, right) if not isinstance(right, Attribute) or right.root == "sub":
            return left in (_ROLE, ID, KEY)
        case Comparison():
            return _ROLE in attributes(atom)
    return False
