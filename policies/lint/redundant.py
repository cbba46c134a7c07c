"""Rules without effect: other rules decide already, so that no decision changes if they are removed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..comparison.prover import Undecided
from ..syntax.expression import conjunction, negation
from ..syntax.rules import Rule
from .standing import ALLOW, DENY, Cell, Standing


@dataclass(frozen=True)
class Idle:
    """A rule without effect.

    by       rules that decide in its place; empty if no rule allows what this one denies
    refused  true if these deny what it allows; false if they do the same as the rule
    """

    rule: Rule
    by: tuple[Rule, ...]
    refused: bool = False

    @property
    def alone(self) -> Rule | None:
        """The one line that settles it."""
        return self.by[0] if len(self.by) == 1 else None


@dataclass(frozen=True)
class Redundancy:
    """The redundant rules of a policy. No rule is in two of these fields.

    copies     rules that repeat an earlier rule, with the first of these
    never      rules that match no caller whom they are about
    idle       rules that can match and change nothing; all can be removed together
    undecided  rules for which the search gave up
    """

    copies: dict[Rule, Rule]
    never: tuple[Rule, ...]
    idle: tuple[Idle, ...]
    undecided: tuple[Rule, ...]


NOTHING = Redundancy({}, (), (), ())


def redundancy(standing: Standing) -> Redundancy:
    """Removes each rule that changes nothing beside the remaining ones, the last one first.

    Deny rules are removed first: if an allow rule and a deny rule cancel each other, the denial is meant.
    """
    rules = standing.policy.rules
    first: dict[tuple[str, ...], Rule] = {}
    copies = {rule: known for rule in rules
              if (known := first.setdefault((rule.sub, rule.act, rule.when, rule.eft), rule)) is not rule}
    for rule in copies:
        standing.take_out(rule)
    never: list[Rule] = []
    idle: list[Rule] = []
    undecided: list[Rule] = []
    # A rule that also covers a removed collection has an effect again when that returns.
    left = [rule for rule in reversed(rules) if rule not in copies and not standing.policy.patterns.awaits(rule.act)]
    for rule in sorted(left, key=lambda one: one.eft == ALLOW):
        try:
            if not _can_hold(standing, rule):
                never.append(rule)
            elif _counts(standing, rule):
                continue
            else:
                idle.append(rule)
            standing.take_out(rule)
        except Undecided:
            undecided.append(rule)
    return Redundancy(copies, tuple(never), tuple(_settled(standing, rule) for rule in idle), tuple(undecided))


def _counts(standing: Standing, rule: Rule) -> bool:
    too_many = standing.too_many and rule.sub not in standing.persons
    cells = standing.alone(rule) if too_many else standing.reached(rule)
    return any(standing.counts(cell, rule, number) for cell, number in cells) or too_many


def _can_hold(standing: Standing, rule: Rule) -> bool:
    return any(standing.meets(place, number) for place, number in standing.asking(rule))


def _settled(standing: Standing, rule: Rule) -> Idle:
    """Finds the rules that decide in place of an idle rule, for the first caller whom it can match.

    It covers all permissions, and names as few rules as possible.
    """
    by: dict[Rule, None] = {}
    refused, subject = False, None
    for cell, number in standing.reached(rule):
        if subject not in (None, cell.subject):
            break
        if not standing.meets(cell, number):
            continue
        subject = cell.subject
        denies = [(one, asks) for one, asks in _counted(standing, cell) if one.eft == DENY]
        allows = [(one, asks) for one, asks in _counted(standing, cell) if one.eft == ALLOW]
        if rule.eft == ALLOW and standing.implies(cell, number, cell.denies):
            refused = True
            by.update(dict.fromkeys(_wider(standing, cell, number, denies)))
        elif rule.eft == ALLOW:
            narrowed = standing.number(conjunction(
                (standing.expressions[number], negation(standing.any_of(cell.denies)))))
            by.update(dict.fromkeys(_wider(standing, cell, narrowed, allows)))
        elif any(standing.meets(cell, number, asks) for _, asks in allows):
            allowed = standing.number(conjunction((standing.expressions[number], standing.any_of(cell.allows))))
            by.update(dict.fromkeys(_wider(standing, cell, allowed, denies)))
    return Idle(rule, tuple(by), refused)


def _counted(standing: Standing, cell: Cell) -> Iterator[tuple[Rule, int]]:
    return ((rule, number) for rule, number in cell.lines.items() if rule not in standing.out)


def _wider(standing: Standing, cell: Cell, number: int, lines: list[tuple[Rule, int]]) -> list[Rule]:
    """Returns the rule that matches whenever this condition holds, or several rules that do so together."""
    lines = sorted(lines, key=lambda line: standing.expressions[line[1]] is not True)
    for rule, asks in lines:
        if standing.implies(cell, number, (asks,)):
            return [rule]
    return [rule for rule, asks in lines if standing.meets(cell, number, asks)]
