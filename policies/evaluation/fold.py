"""Partial evaluation of a matcher: known attributes become constants, and the rest of the expression is kept.

Known are the columns of a policy line (`rule.when`, …), the permission (`act`), the caller's role (`role`)
and, where a line names a person, the caller's key (`key`). What is left reads r.sub, r.obj, r.env.
The result for each part of a matcher is cached by the constants that it depends on, so that thousands of lines
with the same condition are folded once.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

from ..syntax.expression import (
    AllOf,
    AnyOf,
    Attribute,
    Comparison,
    Expression,
    FunctionCall,
    Negation,
    Operand,
    atoms,
    attributes,
    conjunction,
    disjunction,
    negation,
)
from ..syntax.patterns import Patterns
from ..syntax.roles import Roles

Known = Mapping[str, str]
COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class Folder:
    """Folds one matcher under one graph of roles and the permissions that patterns cover."""

    def __init__(self, matcher: Expression, roles: Roles, patterns: Patterns) -> None:
        self._roles, self._patterns = roles, patterns
        self._parts = matcher.parts if isinstance(matcher, AllOf) else (matcher,)
        self._needs: dict[int, tuple[str, ...]] = {}
        self._memory: dict[tuple[object, ...], Expression] = {}
        for part in self._parts:
            self._prepare(part)

    def fold(self, known: Known) -> Expression:
        """What is left of the matcher: False as soon as one part of it is."""
        left = []
        for part in self._parts:
            folded = self._folded(part, known)
            if folded is False:
                return False
            left.append(folded)
        return conjunction(left)

    def _prepare(self, part: Expression) -> None:
        needs = (_need(attribute, atom) for atom in atoms(part) for attribute in attributes(atom))
        self._needs[id(part)] = tuple(sorted({need for need in needs if need}))
        match part:
            case AllOf(parts) | AnyOf(parts):
                for inner in parts:
                    self._prepare(inner)
            case Negation(inner):
                self._prepare(inner)

    def _folded(self, part: Expression, known: Known) -> Expression:
        needs = self._needs[id(part)]
        if known.get("key") and "key" in needs:
            # Not remembered: the answer is of use for this person only, and there may be many persons.
            return self._compute(part, known)
        key = (id(part), *map(known.get, needs))
        answer = self._memory.get(key)
        if answer is None:
            answer = self._memory[key] = self._compute(part, known)
        return answer

    def _compute(self, part: Expression, known: Known) -> Expression:
        match part:
            case AllOf(parts):
                return conjunction(self._folded(inner, known) for inner in parts)
            case AnyOf(parts):
                return disjunction(self._folded(inner, known) for inner in parts)
            case Negation(inner):
                return negation(self._folded(inner, known))
            case Comparison(symbol, left, right):
                left, right = _put(left, known), _put(right, known)
                if not isinstance(left, Attribute) and not isinstance(right, Attribute):
                    return COMPARE[symbol](left, right) if type(left) is type(right) else symbol == "!="
                if not isinstance(left, Attribute):
                    left, right = right, left
                    symbol = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(symbol, symbol)
                return Comparison(symbol, left, right)
            case FunctionCall(function, arguments):
                return self._called(function, tuple(_put(argument, known) for argument in arguments), known)
        return part

    def _called(self, function: str, arguments: tuple[Operand, ...], known: Known) -> Expression:
        first, second = arguments
        if function == "g" and first == Attribute("sub", "key") and "key" in known:
            first = known["key"]
        if not isinstance(first, str) or not isinstance(second, str):
            return FunctionCall(function, (first, second))
        if function == "g":
            return second in self._roles.closure(first)
        return first in self._patterns.covered(second)


def _need(attribute: Attribute, atom: Expression) -> str | None:
    if attribute.root == "rule":
        return f"rule.{attribute.name}"
    if attribute.root in ("act", "scope"):
        return attribute.root
    if attribute == Attribute("sub", "role"):
        return "role"
    if attribute == Attribute("sub", "key") and isinstance(atom, FunctionCall):
        return "key"
    return None


def _put(operand: Operand, known: Known) -> Operand:
    if not isinstance(operand, Attribute):
        return operand
    need = _need(operand, False)
    return operand if need is None else known.get(need, operand)
