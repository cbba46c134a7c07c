"""The answer of a policy to a recorded decision: allowed, refused, hidden, or unknown.

The answer is unknown only if it depends on unrecorded facts. The policy first decides as it decides requests. If it
needs an unknown fact, its rules are simplified with the known ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from ..comparison.substitution import Input, Value, inputs, put
from ..evaluation.compiled import NO_OBJECT, FunctionFailed, Row, compiled, value_of
from ..evaluation.plan import NEVER, planned
from ..evaluation.policy import Policy
from ..evaluation.residual import Residual
from ..evaluation.rule_trace import Fact
from ..explaining.explain import via
from ..explaining.explanation import Remark, Step
from ..explaining.facts import Called, found, nameless
from ..syntax.expression import (
    GROUPS,
    Atom,
    Attribute,
    Comparison,
    Expression,
    InGroup,
    atoms,
    attributes,
    conjunction,
    disjunction,
    negation,
    reads_object,
    rebuild,
    text,
)
from ..syntax.rules import Rule
from .recorded import ALLOWED, HIDDEN, NOTHING, REFUSED, UNKNOWN, Recorded, Unrecorded

_VIEW = ".view"


class _NotKnown:
    """The value of an attribute that nobody recorded."""

    def __str__(self) -> str:
        return "not recorded"


_NOT_KNOWN = _NotKnown()


class Answer(NamedTuple):
    """The answer of a policy.

    result  allowed, refused, hidden or unknown; refused also if it is unknown which of refused and hidden
    step    step of the decision that is not allowed; None: no single one
    missing unknown facts that the answer needs: `r.obj.status`
    """

    result: str
    step: int | None = None
    missing: frozenset[str] = frozenset()


def answer(policy: Policy, decision: Recorded) -> Answer:
    """The answer of the policy alone, without rules in code."""
    if not decision.facts:
        return Answer(UNKNOWN, missing=frozenset((NOTHING,)))
    if decision.of_any:
        return _of_any(policy, decision)
    if not decision.found:
        return Answer(_not_found(policy, decision))
    missing: frozenset[str] = frozenset()
    for number, (permission, row) in enumerate(decision.steps):
        held = _held(policy, decision, permission, row)
        if held is False:
            hides = permission.endswith(_VIEW) and row is not NO_OBJECT and not missing
            return Answer(_not_found(policy, decision) if hides else REFUSED, number)
        if held is not True:
            missing |= held
    return Answer(UNKNOWN, missing=missing) if missing else Answer(ALLOWED)


def _not_found(policy: Policy, decision: Recorded) -> str:
    """Returns hidden; or refused if the policy never allows it to the caller, which is checked before the object."""
    return HIDDEN if _of_any(policy, decision).result == ALLOWED else REFUSED


def allowing(policy: Policy, decision: Recorded, step: int) -> str | None:
    """Returns the place of the first rule that allows a step; None if no rule is known to."""
    permission, row = decision.steps[step]
    for rule, condition in policy.matching_rules(decision.caller.role, decision.caller.key, permission):
        if rule.eft == "allow" and (_settled(condition, decision, permission) is not False if decision.of_any
                                    else _put(condition, decision, permission, row) is True):
            return rule.place
    return None


def _held(policy: Policy, decision: Recorded, permission: str, row: Row) -> bool | frozenset[str]:
    """Returns the answer to one step, or the facts that it lacks."""
    try:
        return policy.decide(decision.caller, permission, row, decision.environment, decision.shared)
    except (Unrecorded, FunctionFailed):
        scoped = covered(policy, decision, permission)
    if scoped is False:
        return False
    lines = _lines(policy, decision, permission)
    values = _values(lines.inputs, decision, permission, row)
    rest = conjunction((put(lines.allows, values), negation(put(lines.denies, values))))
    if rest is False or rest is scoped is True:
        return rest
    missing = frozenset(name for atom in atoms(rest) for name in _unknown(atom, decision, row))
    return missing if scoped is True else missing | scoped


def _of_any(policy: Policy, decision: Recorded) -> Answer:
    """Returns the answer about any object, as `Policy.may_ever` does."""
    permission = decision.permission
    try:
        ever = policy.may_ever(decision.caller, permission, decision.environment)
        return Answer(ALLOWED if ever else REFUSED)
    except (Unrecorded, FunctionFailed):
        scoped = covered(policy, decision, permission)
    lines = _lines(policy, decision, permission)
    allows, denies = (_settled(one, decision, permission) for one in (lines.allows, lines.denies))
    if scoped is False or planned(permission, [allows], [denies]).outcome is NEVER:
        return Answer(REFUSED)
    missing = {name for one in (allows, denies) for atom in atoms(one) for name in _unknown(atom, decision, None)}
    if isinstance(scoped, frozenset):
        missing |= scoped
    return Answer(UNKNOWN, missing=frozenset(missing)) if missing else Answer(ALLOWED)


class _Lines(NamedTuple):
    """The conditions of the rules that allow and of those that deny, and all inputs that they read."""

    allows: Expression
    denies: Expression
    inputs: frozenset[Input]


def _lines(policy: Policy, decision: Recorded, permission: str) -> _Lines:
    return _lines_of(policy.residual(decision.caller.role, decision.caller.key, permission))


@lru_cache(maxsize=4096)
def _lines_of(residual: Residual) -> _Lines:
    allows, denies = (disjunction(condition for rule, condition in residual.rules if rule.eft == effect)
                      for effect in ("allow", "deny"))
    return _Lines(allows, denies, frozenset((*inputs(allows), *inputs(denies))))


def covered(policy: Policy, decision: Recorded, permission: str) -> bool | frozenset[str]:
    """True if the recorded scopes cover a permission; or the facts that the answer lacks."""
    try:
        return policy.covers(decision.caller, permission)
    except Unrecorded as error:
        return frozenset((str(error),))


def _values(read: Iterable[Input], decision: Recorded, permission: str, row: Row) -> dict[Input, Value]:
    """The recorded values of these inputs."""
    values: dict[Input, Value] = {InGroup(name): held for name, held in decision.groups.items()}
    for one in read:
        try:
            if isinstance(one, Attribute):
                values[one] = value_of(one)(decision.caller, row, decision.environment)
            elif not isinstance(one, InGroup):
                values[one] = compiled(one, permission)(decision.caller, row, decision.environment, decision.shared)
        except (Unrecorded, FunctionFailed):
            pass
    return values


def _put(condition: Expression, decision: Recorded, permission: str, row: Row) -> Expression:
    """The expression, simplified by what is known."""
    return put(condition, _values(inputs(condition), decision, permission, row))


def _settled(condition: Expression, decision: Recorded, permission: str) -> Expression:
    """The expression with the known answers of the atoms that do not read the object."""
    def leaf(atom: Atom) -> Expression:
        if not reads_object(atom):
            return _put(atom, decision, permission, NO_OBJECT)
        missing = isinstance(atom, Comparison) and any(_read(one, decision, None) is None for one in attributes(atom))
        return False if missing else atom

    return rebuild(condition, leaf)


def _read(attribute: Attribute, decision: Recorded, row: Row | None) -> object:
    """The value of an attribute, None for a missing one; `_NOT_KNOWN`, as all of any object are."""
    if attribute.root == "obj" and row is None:
        return _NOT_KNOWN
    try:
        return value_of(attribute)(decision.caller, NO_OBJECT if row is None else row, decision.environment)
    except Unrecorded:
        return _NOT_KNOWN


def _unknown(atom: Atom, decision: Recorded, row: Row | None) -> Iterator[str]:
    """Returns the facts that an atom lacks; none about the object if any object will do (`row` is None)."""
    read = [one for one in attributes(atom) if one != GROUPS and not (row is None and one.root == "obj")]
    unread = [str(one) for one in read if _read(one, decision, row) is _NOT_KNOWN]
    if unread:
        yield from unread
    elif isinstance(atom, InGroup):
        yield str(GROUPS) if row is None and reads_object(atom) else text(atom)
    elif row is not None or not reads_object(atom):
        yield text(atom)


def traced(policy: Policy, decision: Recorded, step: int, called: Called = nameless) -> list[Step]:
    """Each rule about a step of a decision, with its result and the facts that it read. A rule that depends on
    unrecorded facts counts as not matching; the remark says so."""
    permission, row = decision.steps[step]
    lines = policy.matching_rules(decision.caller.role, decision.caller.key, permission)
    return [_traced(policy, decision, (permission, row), line, called) for line in lines]


def _traced(policy: Policy, decision: Recorded, step: tuple[str, Row], line: tuple[Rule, Expression],
            called: Called) -> Step:
    (permission, row), (rule, condition) = step, line
    facts = _values(inputs(condition), decision, permission, row)
    remarks = {}
    for atom in atoms(condition):
        holds = put(atom, facts)
        if isinstance(holds, bool):
            values = {str(one): _read(one, decision, row) for one in attributes(atom) if one != GROUPS}
            remarks[atom] = Remark(found(Fact(atom, text(atom), values, holds), permission, called), holds)
        else:
            remarks[atom] = Remark(f"not recorded: {', '.join(_unknown(atom, decision, row))}", None)
    held = put(condition, facts)
    wanting = () if held is True else tuple(remark.text for remark in remarks.values() if remark.holds is not True)
    person = called("sub", "key", rule.sub) if rule.sub not in policy.roles else ""
    return Step(rule, via(policy, decision.caller, rule.sub), tuple(remarks.values()), held is True, wanting, person)
