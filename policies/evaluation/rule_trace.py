"""The reasons why a rule matched or did not: each fact that it asks for, with the actual values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..syntax.expression import Atom, Expression, attributes, fold, text
from ..syntax.rules import Rule
from .compiled import NO_OBJECT, Row, SharedWith, compiled, value_of
from .principal import Environment, Principal


@dataclass(frozen=True, slots=True)
class Fact:
    """An atom of a condition, such as `r.obj.owner_id == r.sub.id`, with the values of what it reads.

    `values` maps `r.obj.owner_id` to what was found; None is a missing value.
    """

    atom: Atom
    text: str
    values: dict[str, Any]
    holds: bool


_Outcome = tuple[bool, list[Fact]]  # of a part of a condition: its answer, and the facts that decide it


@dataclass(frozen=True, slots=True)
class RuleTrace:
    """One rule on one object. `failed` are the facts that would have to be otherwise for it to hold."""

    rule: Rule
    expression: Expression
    matched: bool
    facts: tuple[Fact, ...]
    failed: tuple[Fact, ...]


def trace_rule(
    rule: Rule,
    expression: Expression,
    permission: str,
    principal: Principal,
    obj: Row | None,
    env: Environment,
    shared: SharedWith,
) -> RuleTrace:
    """Evaluates the condition of a rule, fact by fact."""
    row = NO_OBJECT if obj is None else obj
    facts: dict[Atom, Fact] = {}

    def fact(atom: Atom) -> Fact:
        if atom not in facts:
            values = {str(attribute): value_of(attribute)(principal, row, env) for attribute in attributes(atom)}
            holds = compiled(atom, permission)(principal, row, env, shared)
            facts[atom] = Fact(atom, text(atom), values, holds)
        return facts[atom]

    def leaf(atom: Atom | bool) -> _Outcome:
        return (atom, []) if isinstance(atom, bool) else (fact(atom).holds, [fact(atom)])

    matched, reasons = fold(
        expression, leaf,
        all_of=lambda parts: _outcome(all(holds for holds, _ in parts), parts),
        any_of=lambda parts: _outcome(any(holds for holds, _ in parts), parts),
        opposite=lambda part: (not part[0], part[1]),
    )
    return RuleTrace(rule, expression, matched, tuple(facts.values()), () if matched else tuple(reasons))


def _outcome(holds: bool, parts: list[_Outcome]) -> _Outcome:
    """The outcome of a whole: the parts with the same outcome decide it."""
    return holds, [fact for part, facts in parts if part is holds for fact in facts]
