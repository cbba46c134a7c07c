"""A witness: facts on which a rule, or the difference of two policies, shows; as a request that can be tried."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time
from typing import Any

from ..evaluation.compiled import NO_OBJECT, Row, compiled
from ..evaluation.policy import Policy
from ..evaluation.principal import FixedEnvironment, Principal
from ..syntax.attributes import as_written, in_words
from ..syntax.expression import ID, KEY, KIND, TENANT, Attribute, Expression, InGroup, PluginCall, Shared, atoms, text
from ..syntax.rules import Rule
from ..syntax.vocabulary import Column
from . import clock, pools
from .candidates import DATE, HOUR, METHOD, NOW, REQUEST, WEEKDAY, Ground
from .substitution import Facts, Input, Value, inputs, put

_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
EVERY_CASE = "always"  # how a witness reads in which no fact matters
_ME, _OBJECT, _TENANT = pools.person(1), pools.person(0xF0), pools.person(0xF1)


@dataclass(frozen=True, slots=True)
class Witness:
    """An example request: caller, circumstances and object. Only `facts` matter; the rest is made up.

    row  every column of the object; None: there is no object
    """

    ground: Ground
    facts: Facts
    principal: Principal
    environment: FixedEnvironment
    row: Row | None

    def shared(self, principal: Principal, row: Row, permission: str) -> bool:
        """The `SharedWith` of this request."""
        return bool(self.facts.get(Shared()))

    def answer(self, policy: Policy) -> bool:
        """The answer of a policy to this request."""
        if not any(isinstance(one, PluginCall) for one in atoms(policy.model.matcher)):
            return policy.decide(self.principal, self.ground.permission, self.row, self.environment, self.shared)
        effects = {rule.eft for rule in self.matching(policy)}
        return "allow" in effects and "deny" not in effects

    def matching(self, policy: Policy) -> Iterator[Rule]:
        """Yields the rules of a policy that match this request."""
        lines = policy.reaching(self.principal.role, self.principal.key, self.ground.permission)
        return (rule for rule, left in lines if self.holds(left))

    def holds(self, left: Expression) -> bool:
        """True if a condition holds for this request. What a plugin's function answers is as the facts say: about an
        object that is made up it cannot be asked."""
        answers: dict[Input, Value] = {one: bool(self.facts.get(one)) for one in inputs(left)
                                       if isinstance(one, PluginCall)}
        test = compiled(put(left, answers), self.ground.permission)
        return test(self.principal, NO_OBJECT if self.row is None else self.row, self.environment, self.shared)

    def __str__(self) -> str:
        """ "status is draft, owner_id is the caller's id"; `always` when no fact matters."""
        return ", ".join(self._said()) or EVERY_CASE

    def as_json(self) -> dict[str, Any]:
        """The facts that matter by the names of model.conf, and in words."""
        values = {str(one) if isinstance(one, Attribute) else text(one): value
                  for one, value in self.facts.items()}
        return {"text": str(self), "object": self.row is not None, "facts": values}

    def _said(self) -> Iterator[str]:
        if self.row is None and self.ground.resource.columns:
            yield "no object is named"
        facts = dict(self.facts)
        key = facts.get(KEY)
        if key is not None and key not in (self.ground.subject.key, self.ground.subject.role) and not self._made_up(
                KEY, key):
            yield f"the caller is {key}"
        if (kind := facts.pop(KIND, None)) is not None:
            yield f"the kind of caller is {kind}"
        if (now := facts.pop(NOW, None)) is not None:
            yield f"the time is {now}"
        if (day := facts.pop(DATE, None)) is not None:
            facts.pop(WEEKDAY, None)
            yield f"the date is {day}, a {_WEEKDAYS[date.fromisoformat(str(day)).weekday()]}"
        if (method := facts.pop(METHOD, None)) is not None:
            facts.pop(REQUEST, None)
            yield f"the method is {method}"
        for one in (ID, KEY, TENANT, Attribute("obj", "tenant_id")):
            facts.pop(one, None)
        yield from (self._fact(one, value) for one, value in facts.items())

    def _fact(self, one: Input, value: Value) -> str:
        if isinstance(one, Shared):
            return f"it is {'' if value else 'not '}shared with the caller"
        if isinstance(one, InGroup):
            return f"the caller is {'' if value else 'not '}in the group {one.group}"
        if not isinstance(one, Attribute):
            return f"{text(one)} {'holds' if value else 'does not hold'}"
        if value is None:
            return f"{in_words(one)} is missing"
        if value in (self.facts.get(ID), self.facts.get(KEY)):
            return f"{in_words(one)} is the caller's id"
        if self._made_up(one, value):
            return f"{in_words(one)} is another id"
        return f"{in_words(one)} is {as_written(value)}"

    def _made_up(self, one: Attribute, value: Value) -> bool:
        """True if a value stands for any that no line names, or that only has to be unlike the caller's."""
        return self.ground.is_id(one) and str(value).removeprefix("user:") in map(pools.person, range(1, 9))


def witness(ground: Ground, facts: Facts, *, with_object: bool) -> Witness:
    """The request in which these facts are so, and whatever else there is is ordinary."""
    subject = ground.subject
    fresh = None if subject.is_guest else (subject.key or "").removeprefix("user:") or _ME
    id = facts.get(ID, fresh)
    kind = facts.get(KIND, "guest" if subject.is_guest else "user")
    principal = Principal(
        id=None if id is None else str(id),
        key=str(facts.get(KEY, subject.role if id is None else f"user:{id}")),
        role=subject.role,
        tenant_id=str(facts.get(TENANT, _TENANT)),
        department=_text(facts.get(Attribute("sub", "department"))),
        kind=str(kind),
        groups=tuple(str(one.group) for one, value in facts.items() if isinstance(one, InGroup) and value),
    )
    values = {one.name: value for one, value in facts.items() if isinstance(one, Attribute) and one.root == "env"}
    environment = _at(facts).having(values)
    if not with_object:
        return Witness(ground, facts, principal, environment, None)
    columns = ground.resource.columns
    row = {name: None if name in ground.unset else facts.get(Attribute("obj", name), _ordinary(name, column))
           for name, column in columns.items()}
    row |= {name: row[column.same_as] for name, column in columns.items() if column.same_as is not None}
    if "tenant_id" in row:
        row["tenant_id"] = principal.tenant_id
    return Witness(ground, facts, principal, environment, row)


def _at(facts: Facts) -> FixedEnvironment:
    """A clock of which the facts can be a part."""
    usual, now, day, hour = FixedEnvironment(), *map(facts.get, (NOW, DATE, HOUR))
    if now is None:
        hand = time(usual.hour if hour is None else int(hour), tzinfo=UTC)
        return usual.at(datetime.combine(date.fromisoformat(str(day or usual.date)), hand), UTC)
    shown = clock.wall(str(now), None if day is None else str(day), None if hour is None else int(hour))
    return replace(usual.at(shown, UTC), now=str(now))


def _text(value: Value) -> str | None:
    return None if value is None else str(value)


def _ordinary(name: str, column: Column) -> Value:
    """A value for a column that does not matter."""
    if column.nullable:
        return None
    if column.values:
        return column.values[0]
    if column.type is bool:
        return True
    if column.type is int:
        return 1
    if column.format == "uuid":
        return _OBJECT
    if column.format == "date":
        return FixedEnvironment().date
    return "2026-11-18T10:00:00.000000Z" if column.format == "date-time" else name
