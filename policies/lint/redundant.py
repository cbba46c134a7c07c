"""Rules without effect: other rules decide already, so that no decision changes if they are removed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..comparison.prover import Undecided
from ..syntax.expression import conjunction, negation
from ..syntax.rules import Rule
from .matches import ALLOW, DENY, Cell, Matches


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
        """The one rule that settles it."""
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


def redundancy(matches: Matches) -> Redundancy:
    """Removes each rule that changes nothing beside the remaining ones, the last one first.

    Deny rules are removed first: if an allow rule and a deny rule cancel each other, the denial is meant.
    """
    rules = matches.policy.rules
    first: dict[tuple[str, ...], Rule] = {}
    copies = {rule: earlier for rule in rules
              if (earlier := first.setdefault((rule.sub, rule.act, rule.when, rule.eft), rule)) is not rule}
    for rule in copies:
        matches.take_out(rule)
    never: list[Rule] = []
    idle: list[Rule] = []
    undecided: list[Rule] = []
    # A rule that also covers a removed collection has an effect again when that returns. Without a rule that names a
    # permission with a fallback, the fallback may decide.
    candidates = [
        rule for rule in reversed(rules) if rule not in copies and not matches.policy.patterns.awaits(rule.act)
        and not matches.policy.ends_fallback(rule)]
    for rule in sorted(candidates, key=lambda one: one.eft == ALLOW):
        try:
            if not _can_hold(matches, rule):
                never.append(rule)
            elif _counts(matches, rule):
                continue
            else:
                idle.append(rule)
            matches.take_out(rule)
        except Undecided:
            undecided.append(rule)
    return Redundancy(copies, tuple(never), tuple(_settled(matches, rule) for rule in idle), tuple(undecided))


def _counts(matches: Matches, rule: Rule) -> bool:
    too_many = matches.too_many and rule.sub not in matches.persons
    cells = matches.alone(rule) if too_many else matches.reached(rule)
    return any(matches.counts(cell, rule, number) for cell, number in cells) or too_many


def _can_hold(matches: Matches, rule: Rule) -> bool:
    return any(matches.meets(place, number) for place, number in matches.asking(rule))


def _settled(matches: Matches, rule: Rule) -> Idle:
    """Finds the rules that decide in place of an idle rule, for the first caller whom it can match.

    It covers all permissions, and names as few rules as possible.
    """
    by: dict[Rule, None] = {}
    refused, subject = False, None
    for cell, number in matches.reached(rule):
        if subject not in (None, cell.subject):
            break
        if not matches.meets(cell, number):
            continue
        subject = cell.subject
        denies = [(one, asks) for one, asks in _counted(matches, cell) if one.eft == DENY]
        allows = [(one, asks) for one, asks in _counted(matches, cell) if one.eft == ALLOW]
        if rule.eft == ALLOW and matches.implies(cell, number, cell.denies):
            refused = True
            by.update(dict.fromkeys(_wider(matches, cell, number, denies)))
        elif rule.eft == ALLOW:
            narrowed = matches.number(conjunction(
                (matches.expressions[number], negation(matches.any_of(cell.denies)))))
            by.update(dict.fromkeys(_wider(matches, cell, narrowed, allows)))
        elif any(matches.meets(cell, number, asks) for _, asks in allows):
            allowed = matches.number(conjunction((matches.expressions[number], matches.any_of(cell.allows))))
            by.update(dict.fromkeys(_wider(matches, cell, allowed, denies)))
    return Idle(rule, tuple(by), refused)


def _counted(matches: Matches, cell: Cell) -> Iterator[tuple[Rule, int]]:
    return ((rule, number) for rule, number in cell.lines.items() if rule not in matches.out)


def _wider(matches: Matches, cell: Cell, number: int, lines: list[tuple[Rule, int]]) -> list[Rule]:
    """Returns the rule that matches whenever this condition holds, or several rules that do so together."""
    lines = sorted(lines, key=lambda line: matches.expressions[line[1]] is not True)
    for rule, asks in lines:
        if matches.implies(cell, number, (asks,)):
            return [rule]
    return [rule for rule, asks in lines if matches.meets(cell, number, asks)]
