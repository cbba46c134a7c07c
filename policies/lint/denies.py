"""Denials that match more or less than their author meant: inheriting roles, and missing values."""

from __future__ import annotations

from collections.abc import Iterator

from ..comparison.prover import Undecided
from ..syntax.attributes import ENVIRONMENT, in_words, subject_of
from ..syntax.expression import (
    GROUPS,
    ID,
    Atom,
    Attribute,
    Comparison,
    Expression,
    PluginCall,
    atoms,
    attributes,
    conjunction,
    negation,
    rebuild,
)
from ..syntax.roles import ADMIN, GUEST
from ..syntax.rules import Rule
from .matches import ALLOW, Cell, Matches
from .words import listed, places, verb

EVERYTHING = "*"


class Denies:
    """Findings about a denial that refuses too much to heirs, or does not refuse a missing value."""

    def __init__(self, matches: Matches) -> None:
        self._matches, self._policy = matches, matches.policy
        self._missing: dict[tuple[int, str], tuple[Attribute, ...]] = {}

    def inherited(self, rule: Rule) -> str | None:
        """Says which heirs a denial reaches although other rules allow it by name; for guest, that it reaches all."""
        if rule.sub in self._matches.persons:
            return None
        lost: dict[Rule, None] = {}
        heirs: dict[str, None] = {}
        reached = False
        above = self._policy.roles.closure(rule.sub)
        for cell, number in self._matches.alone(rule):
            role = cell.subject.role
            if role == rule.sub != ADMIN or not self._matches.meets(cell, number):
                continue
            reached = True
            for allow, asks in cell.lines.items():
                explicit = allow.eft == ALLOW and (allow.sub not in above or allow.sub == ADMIN)
                if explicit and self._takes(cell, number, allow, asks):
                    lost[allow], heirs[role] = None, None
        if rule.sub == GUEST and reached:
            lines = f", also what {places(lost)} {verb(lost, 'gives', 'give')}" if lost else ""
            return (f"every role inherits guest, so this denies it to all{lines}; use the condition `anonymous` for "
                    f"guests only")
        if not lost:
            return None
        if rule.sub == ADMIN:
            return f"this denies administrators what {places(lost)} {verb(lost, 'gives', 'give')}"
        return (f"{listed(sorted(heirs))} {verb(heirs, 'inherits', 'inherit')} {rule.sub}, and this denies them what "
                f"{places(lost)} {verb(lost, 'gives', 'give')}; to take it from {rule.sub} alone, take out the rule "
                f"that allows it")

    def missing(self, rule: Rule) -> str | None:
        """Says that a denial does not hold for a missing value, and that a caller is allowed there."""
        examples: dict[Attribute, str] = {}
        for place, number in self._matches.places(rule):
            for one in self._nullable(number, place.permission):
                if one not in examples and (example := self._open(self._matches.cell(*place), number, one)):
                    examples[one] = example
        if not examples:
            return None
        named = " or ".join(f"{in_words(one)}" for one in examples)
        example = next(iter(examples.values()))
        return (f"this denies nothing where {named} is missing (allowed: {example}); write an allow on the opposite "
                f"condition instead, which holds on no missing value either")

    def _takes(self, cell: Cell, number: int, allow: Rule, asks: int) -> bool:
        """True if a denial takes what a rule gives: some of it, or all where the rule gives everything there is."""
        if allow.act == EVERYTHING:
            return self._matches.implies(cell, asks, (number,))
        return self._matches.meets(cell, number, asks)

    def _open(self, cell: Cell, number: int, one: Attribute) -> str:
        """A request that is allowed although the denial would hold on some value of what is missing."""
        expression = self._matches.expressions[number]
        if one == ID and cell.subject.is_guest and not _unequal(expression, one):
            return ""  # nothing is a guest's own
        try:
            missing = negation(Comparison("==", one, one))
            example = self._matches.open(cell, number, one, conjunction((missing, _as_if(expression, one))))
        except Undecided:
            return ""
        if example is None or (example.row is None and one.root == "obj"):
            return ""
        return f"{cell.permission} by {cell.subject}, {example}"

    def _nullable(self, number: int, permission: str) -> tuple[Attribute, ...]:
        """The attributes that may be missing, and without whose value a condition does not hold."""
        nullable = self._missing.get((number, permission))
        if nullable is None:
            expression, resource = self._matches.expressions[number], self._policy.vocabulary.by_permission[permission]
            of_roots = {"obj": resource.columns, "sub": subject_of(self._policy.vocabulary), "env": ENVIRONMENT}
            read = dict.fromkeys(one for atom in atoms(expression) for one in _compared(atom))
            nullable = tuple(one for one in read if of_roots[one.root][one.name].nullable)
            self._missing[number, permission] = nullable
        return nullable


def _compared(atom: Atom) -> Iterator[Attribute]:
    """The attributes without whose value an atom does not hold. A plugin's function makes of it what it likes."""
    return (one for one in attributes(atom) if one != GROUPS and not isinstance(atom, PluginCall))


def _as_if(expression: Expression, one: Attribute) -> Expression:
    """The expression with every comparison of an attribute as it would have to be for the whole to hold."""
    return rebuild(expression, lambda atom: True if one in attributes(atom) else atom,
                   lambda atom: False if one in attributes(atom) else atom)


def _unequal(expression: Expression, one: Attribute) -> bool:
    """True if an attribute is compared by another operator than `==`."""
    return any(isinstance(atom, Comparison) and atom.operator != "==" for atom in atoms(expression)
               if one in attributes(atom))

