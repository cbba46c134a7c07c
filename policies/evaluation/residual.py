"""What is left of the rules for one role or person and one permission: decisions and plans start here."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from ..syntax.expression import (
    AllOf,
    AnyOf,
    Comparison,
    Expression,
    InGroup,
    Negation,
    atoms,
    attributes,
    conjunction,
    disjunction,
    negation,
    reads_object,
)
from ..syntax.rules import Rule
from .compiled import NO_OBJECT, Row, SharedWith, Test, compiled, either, no_shares, value_of
from .plan import Plan, planned
from .principal import Environment, Principal

# Callers differ by their groups: conditions that name twenty could be answered in a million ways.
MOST_PLANS = 512


class Residual:
    """The rules that reach a role and a permission, folded. Immutable but for its cache of MOST_PLANS plans."""

    def __init__(self, permission: str, rules: Iterable[tuple[Rule, Expression]]) -> None:
        self.permission = permission
        self.rules = tuple(rules)
        self._allows = list(dict.fromkeys(left for rule, left in self.rules if rule.eft == "allow"))
        self._denies = list(dict.fromkeys(left for rule, left in self.rules if rule.eft == "deny"))
        self.decide = self._decision()
        used = [atom for left in (*self._allows, *self._denies) for atom in atoms(left)]
        self._settled = tuple(dict.fromkeys(atom for atom in used if not reads_object(atom)))
        self._parameters = tuple(dict.fromkeys(
            attribute for atom in used if reads_object(atom) for attribute in attributes(atom)
            if attribute.root != "obj"
        ))
        self._uses_environment = any(attribute.root == "env" for atom in used for attribute in attributes(atom))
        self._tests = tuple(compiled(atom, permission) for atom in self._settled)
        self._readers = tuple(value_of(attribute) for attribute in self._parameters)
        self._asks_groups = any(isinstance(atom, InGroup) for atom in used)
        self._plans: dict[tuple[int, ...], Plan] = {}

    def plan(self, principal: Principal, env: Environment) -> Plan:
        """The plan for this caller now: atoms that do not read the object are replaced by their answers."""
        answers = (
            *(test(principal, NO_OBJECT, env, no_shares) for test in self._tests),
            *(read(principal, NO_OBJECT, env) is None for read in self._readers),
            len(principal.groups) if self._asks_groups else 0,
        )
        plan = self._plans.get(answers)
        if plan is None:
            if len(self._plans) >= MOST_PLANS:
                self._plans.clear()
            plan = self._plans[answers] = self._planned(answers)
        return plan

    def deciding(self, principal: Principal, row: Row, env: Environment, shared: SharedWith) -> Rule | None:
        """The first rule that allows this; denials are not looked at."""
        return next((rule for rule, test in self._reasons if test(principal, row, env, shared)), None)

    @cached_property
    def _reasons(self) -> list[tuple[Rule, Test]]:
        return [(rule, compiled(left, self.permission)) for rule, left in self.rules if rule.eft == "allow"]

    def _decision(self) -> Test:
        allow = _any_of(self._allows, self.permission)
        if not self._denies:
            return allow
        deny = _any_of(self._denies, self.permission)
        return lambda s, o, e, x: allow(s, o, e, x) and not deny(s, o, e, x)

    def _planned(self, answers: tuple[int, ...]) -> Plan:
        settled: dict[Expression, bool] = dict(zip(self._settled, map(bool, answers), strict=False))
        *absent, groups = answers[len(self._settled) :]
        absences = zip(self._parameters, absent, strict=True)
        missing = frozenset(attribute for attribute, absent in absences if absent)

        def put(expression: Expression) -> Expression:
            match expression:
                case AllOf(parts):
                    return conjunction(put(part) for part in parts)
                case AnyOf(parts):
                    return disjunction(put(part) for part in parts)
                case Negation(part):
                    return negation(put(part))
                case Comparison(_, left, right) if left in missing or right in missing:
                    return False
                case InGroup() if groups == 0:
                    return False
            return settled.get(expression, expression)

        return planned(
            self.permission, [put(left) for left in self._allows], [put(left) for left in self._denies],
            self._uses_environment, groups,
        )


def _any_of(expressions: list[Expression], permission: str) -> Test:
    whole = disjunction(expressions)
    if isinstance(whole, AnyOf):
        return either([compiled(part, permission) for part in whole.parts])
    return compiled(whole, permission)
