"""Why a rule held or did not: each fact that it asked for, and what was found instead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..syntax.expression import AllOf, AnyOf, Atom, Expression, Negation, attributes, text
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
    """Evaluate what is left of a rule, fact by fact."""
    row = NO_OBJECT if obj is None else obj
    facts: dict[Atom, Fact] = {}

    def fact(atom: Atom) -> Fact:
        if atom not in facts:
            values = {str(attribute): value_of(attribute)(principal, row, env) for attribute in attributes(atom)}
            holds = compiled(atom, permission)(principal, row, env, shared)
            facts[atom] = Fact(atom, text(atom), values, holds)
        return facts[atom]

    def judge(part: Expression) -> tuple[bool, list[Fact]]:
        """Whether a part holds, and the facts that decide so."""
        match part:
            case bool():
                return part, []
            case Negation(inner):
                holds, reasons = judge(inner)
                return not holds, reasons
            case AllOf(parts) | AnyOf(parts):
                judged = [judge(inner) for inner in parts]
                holds = all(one for one, _ in judged) if isinstance(part, AllOf) else any(one for one, _ in judged)
                return holds, [reason for one, reasons in judged if one is holds for reason in reasons]
        found = fact(part)
        return found.holds, [found]

    matched, reasons = judge(expression)
    return RuleTrace(rule, expression, matched, tuple(facts.values()), () if matched else tuple(reasons))
