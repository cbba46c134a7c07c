"""The rules for one role or user and one permission, partially evaluated: the start of decisions and plans."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from time import monotonic
from typing import Any

from ..syntax.attributes import is_of_login
from ..syntax.expression import (
    Atom,
    Comparison,
    Expression,
    InGroup,
    Shared,
    asks_shares,
    atoms,
    attributes,
    columns,
    disjunction,
    reads_object,
    rebuild,
)
from ..syntax.rules import Rule
from .compiled import NO_OBJECT, FunctionFailed, Row, SharedWith, Test, compiled, no_shares, value_of
from .plan import Plan, planned
from .principal import Environment, Principal

# Callers differ by their groups: conditions that name twenty could be answered in a million ways.
MOST_PLANS = 512
GLANCE = 1.0  # seconds between two pages whose rules are counted

Cell = list[int]
"""One number: how often a rule has decided a permission. A list, because no thread interrupts its increment."""


class Uses:
    """Counts, in this process, how often each rule of one policy settled an object or showed rows of a list."""

    def __init__(self) -> None:
        self._cells: dict[tuple[Rule, str], Cell] = {}

    def cell(self, rule: Rule, permission: str) -> Cell:
        """Returns the cell of a rule and a permission."""
        return self._cells.setdefault((rule, permission), [0])

    def counts(self) -> dict[tuple[Rule, str], int]:
        """Returns the counts by (rule, permission), without zeros."""
        return {key: cell[0] for key, cell in list(self._cells.items()) if cell[0]}


class Residual:
    """The rules that can match for a role and a permission, partially evaluated.

    It is immutable, except for its caches of MOST_PLANS entries and the counts in `uses`.

    shareable  true if a share can name the callers: not for guests
    """

    def __init__(self, permission: str, rules: Iterable[tuple[Rule, Expression]], uses: Uses | None = None, *,
                 shareable: bool = True) -> None:
        self.permission, self._shareable = permission, shareable
        self.rules = tuple(rules)
        self._uses = uses or Uses()
        self._next_glance = 0.0
        self._allows = list(dict.fromkeys(condition for rule, condition in self.rules if rule.eft == "allow"))
        self._denies = list(dict.fromkeys(condition for rule, condition in self.rules if rule.eft == "deny"))
        self.decide = self._decision()
        used = {atom: reads_object(atom) for condition in (*self._allows, *self._denies) for atom in atoms(condition)}
        self._settled = tuple(atom for atom, of_object in used.items() if not of_object)
        self._parameters = tuple(dict.fromkeys(
            attribute for atom, of_object in used.items() if of_object for attribute in attributes(atom)
            if attribute.root != "obj"
        ))
        self._uses_environment = any(
            attribute.root == "env" or is_of_login(attribute) for atom in used for attribute in attributes(atom))
        self._tests = tuple(compiled(atom, permission) for atom in self._settled)
        self._readers = tuple(value_of(attribute) for attribute in self._parameters)
        self._prefixes = tuple(dict.fromkeys(
            atom.prefix for atom in used if isinstance(atom, InGroup) and atom.prefix))
        self._asks_groups = any(isinstance(atom, InGroup) for atom in used)
        self._plans: dict[tuple[int, ...], Plan] = {}
        self._without: dict[frozenset[str], Residual] = {}

    def plan(self, principal: Principal, env: Environment) -> Plan:
        """The plan for this caller now: atoms that do not read the object are replaced by their answers."""
        answers = (
            *(test(principal, NO_OBJECT, env, no_shares) for test in self._tests),
            *(read(principal, NO_OBJECT, env) is None for read in self._readers),
            len(principal.groups) if self._asks_groups else 0,
            *(any(name.startswith(prefix) for name in principal.groups) for prefix in self._prefixes),
        )
        plan = self._plans.get(answers)
        if plan is None:
            if len(self._plans) >= MOST_PLANS:
                self._plans.clear()
            plan = self._plans[answers] = self._planned(answers)
        return plan

    def without(self, unknown: frozenset[str]) -> Residual:
        """Returns the same rules for objects whose `unknown` columns have no known value.

        An atom that reads one of these is true in a deny rule and false in an allow rule.
        """
        residual = self._without.get(unknown)
        if residual is None:
            if len(self._without) >= MOST_PLANS:
                self._without.clear()
            residual = self._without[unknown] = Residual(self.permission, (
                (rule, _supposing(condition, unknown, rule.eft == "deny")) for rule, condition in self.rules))
        return residual

    def deciding(self, principal: Principal, row: Row, env: Environment, shared: SharedWith) -> Rule | None:
        """The first rule that allows this; denials are not looked at."""
        return next((rule for rule, test in self._reasons if test(principal, row, env, shared)), None)

    @cached_property
    def _reasons(self) -> list[tuple[Rule, Test]]:
        return [(rule, compiled(condition, self.permission)) for rule, condition in self.rules if rule.eft == "allow"]

    @cached_property
    def settle(self) -> Test:
        """Test that decides like `decide` and counts a use of the deciding rule.

        It is the first rule that allows, or the first that denies what a rule allows. If no rule allows, nothing is
        counted.
        """
        allows, denies = self._counted("allow"), self._counted("deny")

        def settle(s: Principal, o: Row, e: Any, x: SharedWith) -> bool:
            for allow, cell in allows:
                if allow(s, o, e, x):
                    for deny, refusing in denies:
                        if deny(s, o, e, x):
                            refusing[0] += 1
                            return False
                    cell[0] += 1
                    return True
            return False

        return settle

    def glance(self, principal: Principal, rows: Sequence[Mapping[str, Any]], env: Environment) -> None:
        """Counts the rules that show the rows of a page: one page each `GLANCE` seconds, and a rule once a page.

        A rule counts if its condition holds for a row. A rule that reads shares, or a column that the rows lack,
        counts if no other rule shows some row. So it may be counted too often, and is never missed.
        """
        moment = monotonic()
        if moment < self._next_glance or not rows:
            return
        self._next_glance = moment + GLANCE
        stored, covered, uncertain = rows[0].keys(), set[int](), list[Cell]()
        for read, test, cell in self._showing:
            if read is None or not read <= stored:
                uncertain.append(cell)
                continue
            try:
                holding = [number for number, row in enumerate(rows) if test(principal, row, env, no_shares)]
            except FunctionFailed:
                uncertain.append(cell)
                continue
            if holding:
                cell[0] += 1
                covered.update(holding)
        if len(covered) < len(rows):
            for cell in uncertain:
                cell[0] += 1

    @cached_property
    def _showing(self) -> list[tuple[frozenset[str] | None, Test, Cell]]:
        """Lists for each allow rule its columns (None: it reads shares), its test and its cell."""
        read = (None if asks_shares(condition) else columns(condition) for condition in self._first_lines("allow"))
        return [(names, *counted) for names, counted in zip(read, self._counted("allow"), strict=True)]

    def _counted(self, effect: str) -> list[tuple[Test, Cell]]:
        return [(compiled(condition, self.permission), self._uses.cell(rule, self.permission))
                for condition, rule in self._first_lines(effect).items()]

    def _first_lines(self, effect: str) -> dict[Expression, Rule]:
        """Returns each condition with its first rule. If a rule has no condition, it is returned alone."""
        first: dict[Expression, Rule] = {}
        for rule, condition in self.rules:
            if rule.eft == effect:
                first.setdefault(condition, rule)
        return {True: first[True]} if True in first else first

    def _decision(self) -> Test:
        allow = compiled(disjunction(self._allows), self.permission)
        if not self._denies:
            return allow
        deny = compiled(disjunction(self._denies), self.permission)
        return lambda s, o, e, x: allow(s, o, e, x) and not deny(s, o, e, x)

    def _planned(self, answers: tuple[int, ...]) -> Plan:
        settled: dict[Expression, bool] = dict(zip(self._settled, map(bool, answers), strict=False))
        others = answers[len(self._settled) :]
        absent, groups = others[:len(self._parameters)], others[len(self._parameters)]
        absences = zip(self._parameters, absent, strict=True)
        without = {prefix for prefix, is_there in zip(self._prefixes, others[len(self._parameters) + 1 :], strict=True)
                   if not is_there}
        missing = frozenset(attribute for attribute, absent in absences if absent)

        def leaf(atom: Atom) -> Expression:
            match atom:
                case Comparison() if not missing.isdisjoint(attributes(atom)):
                    return False
                case InGroup() if groups == 0 or atom.prefix in without:
                    return False
                case Shared() if not self._shareable:
                    return False
            return settled.get(atom, atom)

        return planned(self.permission, [rebuild(left, leaf) for left in self._allows],
                       [rebuild(left, leaf) for left in self._denies], self._uses_environment, groups)


def _supposing(expression: Expression, unknown: frozenset[str], answer: bool) -> Expression:
    """The expression with this answer for every atom that reads one of these columns. No `!` contains such an atom."""
    return rebuild(expression, lambda atom: atom if unknown.isdisjoint(columns(atom)) else answer)
