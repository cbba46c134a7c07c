"""Partial evaluation of a matcher: known attributes become constants, and the rest of the expression is kept.

Known are the columns of a rule (`rule.when`, …), the permission (`act`), the caller's role (`role`) and, if a rule
names a user, the caller's key (`key`). The rest reads r.sub, r.obj, r.env.

The result for each part of a matcher is remembered under all that it depends on: the constants that the part compares,
and the answers of `g` and `globMatch` in it. So thousands of rules with the same condition are evaluated once, for all
the users that they name, and the memory does not grow with the number of users. `expression.rebuild` remembers nothing,
so this class walks the parts by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..syntax.conditions import is_parameter
from ..syntax.expression import (
    COMPARE,
    KEY,
    MIRRORED,
    ROLE,
    AllOf,
    AnyOf,
    Attribute,
    Comparison,
    Expression,
    FunctionCall,
    InGroup,
    Negation,
    Operand,
    Prefixed,
    atoms,
    attributes,
    conjunction,
    conjuncts,
    disjunction,
    negation,
    walk,
)
from ..syntax.roles import Roles
from ..syntax.vocabulary import Patterns

Known = Mapping[str, str]


class PartialEvaluator:
    """Evaluates one matcher under one graph of roles and the permissions that patterns cover."""

    def __init__(self, matcher: Expression, roles: Roles, patterns: Patterns) -> None:
        self._roles, self._patterns, self._matcher = roles, patterns, matcher
        # For each part: the constants that it compares, and the calls in it.
        self._needs: dict[int, tuple[tuple[str, ...], tuple[_Call, ...]]] = {}
        self._memory: dict[tuple[object, ...], Expression] = {}
        for part in walk(matcher):
            self._needs[id(part)] = _needs(part)

    def evaluate(self, known: Known) -> Expression:
        """Returns the rest of the matcher, simplified."""
        return self._evaluate(self._matcher, known)

    def leaves_any(self, known: Known) -> bool:
        """True if `evaluate` is not False; faster, since the parts that are left are not joined."""
        return all(self._evaluate(part, known) is not False for part in conjuncts(self._matcher))

    @property
    def asks_role(self) -> bool:
        """True if the answer depends on the caller's role in other ways than `g` with the rule's role."""
        constants, calls = self._needs[id(self._matcher)]
        needs = ({call.first_need, call.second_need} for call in calls)
        return "role" in constants or any("role" in need and "rule.sub" not in need for need in needs)

    def _evaluate(self, part: Expression, known: Known) -> Expression:
        constants, calls = self._needs[id(part)]
        if isinstance(part, FunctionCall):
            return self._called(calls[0], known) if calls else part
        key = (id(part), *map(known.get, constants), *[self._called(call, known) for call in calls])
        answer = self._memory.get(key)
        if answer is None:
            answer = self._memory[key] = self._compute(part, known)
        return answer

    def _compute(self, part: Expression, known: Known) -> Expression:
        match part:
            case AllOf(parts):
                return conjunction(self._evaluate(inner, known) for inner in parts)
            case AnyOf(parts):
                return disjunction(self._evaluate(inner, known) for inner in parts)
            case Negation(inner):
                return negation(self._evaluate(inner, known))
            case Comparison(symbol, left, right):
                left, right = _put(left, known), _put(right, known)
                if isinstance(right, Prefixed):
                    return _with_parameter(left, right)
                if not isinstance(left, Attribute) and not isinstance(right, Attribute):
                    return COMPARE[symbol](left, right) if type(left) is type(right) else symbol == "!="
                if not isinstance(left, Attribute):
                    left, right = right, left
                    symbol = MIRRORED[symbol]
                return Comparison(symbol, left, right)
            case InGroup(Attribute() as group) if isinstance(name := _put(group, known), str):
                return InGroup(name)
        return part

    def _called(self, call: _Call, known: Known) -> Expression:
        first = call.first if call.first_need is None else known.get(call.first_need, call.first)
        second = call.second if call.second_need is None else known.get(call.second_need, call.second)
        if not isinstance(first, str) or not isinstance(second, str):
            return FunctionCall(call.function, (first, second))
        if call.function == "g":
            return first == second or second in self._roles.closure(first)
        return first in self._patterns.covered(second)


@dataclass(frozen=True, slots=True)
class _Call:
    """A call of `g` or `globMatch`: its arguments, and under which name each may be known."""

    function: str
    first: Operand
    first_need: str | None
    second: Operand
    second_need: str | None


def _needs(part: Expression) -> tuple[tuple[str, ...], tuple[_Call, ...]]:
    """The constants that a part compares, and the calls in it."""
    within = tuple(atoms(part))
    needs = (_need(attribute) for atom in within if not _answered(atom) for attribute in attributes(atom))
    constants = tuple(sorted({need for need in needs if need}))
    calls = dict.fromkeys(atom for atom in within if isinstance(atom, FunctionCall) and _answered(atom))
    return constants, tuple(map(_call, calls))


def _call(call: FunctionCall) -> _Call:
    first, second = call.arguments
    # Only in a call is the key a constant: in a comparison it is left for each caller.
    first_need = "key" if first == KEY else _need(first)
    return _Call(call.function, first, first_need, second, _need(second))


def _answered(atom: Expression) -> bool:
    """True if the atom is a call whose answer follows from its arguments."""
    return isinstance(atom, FunctionCall) and atom.function in ("g", "globMatch")


def _need(attribute: Operand) -> str | None:
    """Under which name a part of the question, or of the line, may be known."""
    if not isinstance(attribute, Attribute):
        return None
    if attribute.root == "rule":
        return f"rule.{attribute.name}"
    if attribute.root in ("act", "scope"):
        return attribute.root
    return "role" if attribute == ROLE else None


def _put(operand: Operand, known: Known) -> Operand:
    if isinstance(operand, Prefixed):
        value = _put(operand.attribute, known)
        return operand.prefix + value if isinstance(value, str) else operand
    need = _need(operand)
    return operand if need is None else known.get(need, operand)


def _with_parameter(word: Operand, right: Prefixed) -> Expression:
    """`p.when == 'language:' + r.obj.language`, for a line: a comparison with what stands behind the colon."""
    if not isinstance(word, str):
        return Comparison("==", word, right)
    prefix, parameter = word[:len(right.prefix)], word[len(right.prefix):]
    return Comparison("==", right.attribute, parameter) if prefix == right.prefix and is_parameter(parameter) else False
