"""The search for an example on which an expression holds, as a request that can be tried; or the proof of none.

It is a decision diagram over the few values that decide. One variable after the other gets its values, and the
expression is simplified each time. Equal remainders are followed once, so that the number of nodes grows with what the
expression can tell apart, not with the product of all values.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from ..evaluation.compiled import NO_OBJECT, Row, compiled
from ..evaluation.policy import Policy
from ..evaluation.principal import FixedEnvironment, LoggedIn, Login, Principal
from ..syntax.attributes import as_written, in_words, is_of_login
from ..syntax.durations import later
from ..syntax.expression import (
    ID,
    KEY,
    KIND,
    NOW,
    TENANT,
    AllOf,
    AnyOf,
    Attribute,
    Expression,
    InGroup,
    Negation,
    PluginCall,
    Shared,
    atoms,
    columns,
    conjunction,
    conjuncts,
    disjunction,
    disjuncts,
    negation,
    reads_object,
    text,
)
from ..syntax.rules import Rule
from ..syntax.vocabulary import Column
from .candidates import DATE, HOUR, METHOD, REQUEST, WEEKDAY, Ground, Variable, person, wall_clock
from .subjects import Lines, Subject, condition_of, named_in, persons
from .substitution import AGE, Facts, Input, Value, by_age, inputs, put, reads

MOST_NODES = 20_000  # some seconds; the largest policies that were tried took fewer than 4 000
EVERY_CASE = "always"  # text of a witness in which no fact matters
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_ME, _OBJECT, _TENANT = person(1), person(0xF0), person(0xF1)
_ANYBODY = f"user:{person(0xF2)}"
_Found = tuple[Facts, bool] | None


class Undecided(Exception):
    """Error: an expression has too many combinations of facts to be decided."""


class Prover:
    """Finds example requests for policies of one vocabulary.

    Results are cached, because many permissions have the same conditions.
    """

    def __init__(self, *policies: Policy, most: int = MOST_NODES) -> None:
        """Takes policies of one vocabulary; `most` bounds the work on one expression (`example`)."""
        self._vocabulary, self._most = policies[0].vocabulary, most
        self._named = frozenset(persons(*policies))
        self._results: dict[tuple[object, ...], _Found | Undecided] = {}
        # Resources with equal columns have equal facts, but for what new rows lack. A first permission stands for all.
        kinds: dict[tuple[object, ...], str] = {}
        self._kind_of = {
            permission: kinds.setdefault((frozenset(resource.columns.items()), resource.unset(permission),
                                          resource.may_lack(permission)), permission)
            for permission, resource in self._vocabulary.by_permission.items()}

    def kind(self, permission: str) -> str:
        """Returns a value that is equal for permissions for which a goal has the same facts."""
        return self._kind_of[permission]

    def example(self, goal: Expression, subject: Subject, permission: str) -> Witness | None:
        """Returns a request of this subject for this permission on which `goal` holds; None if there is none.

        Raises Undecided if the search takes too long, or if an unusual matcher makes `goal` read a column that the
        resource does not have.
        """
        result = self._facts(goal, subject, permission)
        if result is None:
            return None
        facts, with_object = result
        own_facts = facts if subject.key is None else _of_person(facts, subject.key)
        ground = Ground(subject, permission, self._vocabulary.by_permission[permission], self._named,
                        self._vocabulary.login)
        return witness(ground, own_facts, with_object=with_object)

    def possible(self, goal: Expression, subject: Subject, permission: str) -> bool:
        """True if there is an example. Raises Undecided, like `example`."""
        return self._facts(goal, subject, permission) is not None

    def exception(self, narrow: Expression, wide: Expression, subject: Subject, permission: str) -> Witness | None:
        """Returns a request on which `narrow` holds and `wide` does not; None if `narrow` implies `wide`.

        Raises Undecided.
        """
        if narrow == wide:
            return None
        return self.example(conjunction((narrow, negation(wide))), subject, permission)

    def _facts(self, goal: Expression, subject: Subject, permission: str) -> _Found:
        """Returns the facts of an example. If the goal does not name the user, they are facts about any user."""
        if goal is False:
            return None
        resource = self._vocabulary.by_permission[permission]
        # All users whom the goal does not name have the same facts: five hundred users are one search.
        alike = subject if subject.key is None or named_in(goal, (subject.key,)) else Subject(subject.role, _ANYBODY)
        ground = Ground(alike, permission, resource, self._named, self._vocabulary.login)
        key = (goal, self._kind_of[permission], alike.is_guest, alike.key, ground.shareable)
        if key not in self._results:
            self._results[key] = self._normal(goal, ground, key[1:])
        result = self._results[key]
        if isinstance(result, Undecided):
            raise result
        return result

    def _normal(self, goal: Expression, ground: Ground, like: tuple[object, ...]) -> _Found | Undecided:
        """Returns the facts for the normal form of a goal. Many goals share one normal form."""
        if ground.resource.columns and not columns(goal) <= ground.resource.columns.keys():
            return Undecided()
        simple = normal(goal)
        if simple is False:
            return None
        key = ("normal", simple, *like)
        if key not in self._results:
            self._results[key] = self._search(simple, ground)
        return self._results[key]

    def _search(self, goal: Expression, ground: Ground) -> _Found | Undecided:
        try:
            if ground.resource.columns:
                aged = by_age(goal)
                facts = example(aged, ground.variables(aged), self._most)
                if facts is not None:
                    return _dated(facts), True
            without_object = normal(put(goal, _nothing(goal)))
            facts = example(without_object, ground.variables(without_object), self._most)
            return None if facts is None else (facts, False)
        except Undecided as undecided:
            return undecided


def _dated(facts: Facts) -> Facts:
    """Returns facts with the time of each column whose age they name, and with now."""
    if not any(isinstance(item, Attribute) and item.root == AGE for item in facts):
        return facts
    now = _at(facts).now
    dated: dict[Input, Value] = {NOW: now}
    for item, value in facts.items():
        if isinstance(item, Attribute) and item.root == AGE:
            moment = None if value is None else later(now, -timedelta(microseconds=int(value)))
            dated[Attribute("obj", item.name)] = moment
        else:
            dated[item] = value
    return dated


def _of_person(facts: Facts, person: str) -> Facts:
    """Returns facts about any user as facts about this one."""
    substitutes = {_ANYBODY: person, _ANYBODY.removeprefix("user:"): person.removeprefix("user:")}
    return {name: substitutes.get(value, value) if isinstance(value, str) else value for name, value in facts.items()}


def _nothing(goal: Expression) -> Facts:
    """Returns the values of columns, shares and plugin calls in the absence of an object."""
    values: dict[Input, Value] = {}
    for item in inputs(goal):
        if isinstance(item, Attribute):
            values |= {item: None} if item.root == "obj" else {}
        elif isinstance(item, Shared | PluginCall) and reads_object(item):
            values[item] = False
    return values


@dataclass(frozen=True, slots=True)
class Difference:
    """One example that only the new policy allows to a subject, and one that only the old policy allows.

    undecided  true if the search gave up; both examples are then unknown
    """

    gained: Witness | None
    lost: Witness | None
    undecided: bool = False

    def __bool__(self) -> bool:
        return self.undecided or self.gained is not None or self.lost is not None


SAME = Difference(None, None)


class Comparison:
    """Compares two policies of one vocabulary, exactly.

    prover  with the cached results about their conditions
    """

    def __init__(self, old: Policy, new: Policy, most: int = MOST_NODES) -> None:
        self.old, self.new = old, new
        self.prover = Prover(old, new, most=most)

    def between(self, subject: Subject, permission: str) -> Difference:
        """Returns the difference for one subject and permission. Each example was tried on both policies."""
        old, new = (policy.matching_rules(subject.role, subject.key, permission) for policy in (self.old, self.new))
        if _meaning(old) == _meaning(new):
            return SAME
        before, after = condition_of(old), condition_of(new)
        try:
            gained = self._tried(self.prover.exception(after, before, subject, permission), self.new, self.old)
            lost = self._tried(self.prover.exception(before, after, subject, permission), self.old, self.new)
        except Undecided:
            return Difference(None, None, undecided=True)
        return Difference(gained, lost)

    @staticmethod
    def _tried(witness: Witness | None, gives: Policy, refuses: Policy) -> Witness | None:
        """Returns the witness if one policy allows it and the other refuses it. Raises Undecided otherwise."""
        if witness is not None and (witness.answer(gives), witness.answer(refuses)) != (True, False):
            raise Undecided
        return witness


def _meaning(lines: Lines) -> frozenset[tuple[str, Expression]]:
    """Returns the pairs of effect and condition, without their places. Rules with equal pairs answer alike."""
    return frozenset((rule.eft, condition) for rule, condition in lines)


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
        """Returns the answer of a policy to this request."""
        if not any(isinstance(atom, PluginCall) for atom in atoms(policy.model.matcher)):
            return policy.decide(self.principal, self.ground.permission, self.row, self.environment, self.shared)
        effects = {rule.eft for rule in self.matching(policy)}
        return "allow" in effects and "deny" not in effects

    def matching(self, policy: Policy) -> Iterator[Rule]:
        """Yields the rules of a policy that match this request."""
        rules = policy.matching_rules(self.principal.role, self.principal.key, self.ground.permission)
        return (rule for rule, condition in rules if self.holds(condition))

    def holds(self, condition: Expression) -> bool:
        """True if a condition holds for this request.

        Answers of plugin functions come from the facts, because the object is made up.
        """
        answers: dict[Input, Value] = {call: bool(self.facts.get(call)) for call in inputs(condition)
                                       if isinstance(call, PluginCall)}
        test = compiled(put(condition, answers), self.ground.permission)
        return test(self.principal, NO_OBJECT if self.row is None else self.row, self.environment, self.shared)

    def __str__(self) -> str:
        """ "status is draft, owner_id is the caller's id"; `always` when no fact matters."""
        return ", ".join(self._phrases()) or EVERY_CASE

    def as_json(self) -> dict[str, Any]:
        """Returns the facts that matter by the names of model.conf, and as text."""
        values = {str(item) if isinstance(item, Attribute) else text(item): value
                  for item, value in self.facts.items()}
        return {"text": str(self), "object": self.row is not None, "facts": values}

    def _phrases(self) -> Iterator[str]:
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
        for item in (ID, KEY, TENANT, Attribute("obj", "tenant_id")):
            facts.pop(item, None)
        yield from (self._fact(item, value) for item, value in facts.items())

    def _fact(self, item: Input, value: Value) -> str:
        if isinstance(item, Shared):
            return f"it is {'' if value else 'not '}shared with the caller"
        if isinstance(item, InGroup):
            return f"the caller is {'' if value else 'not '}in the group {item.group}"
        if not isinstance(item, Attribute):
            return f"{text(item)} {'holds' if value else 'does not hold'}"
        if value is None:
            return f"{in_words(item)} is missing"
        if value in (self.facts.get(ID), self.facts.get(KEY)):
            return f"{in_words(item)} is the caller's id"
        if self._made_up(item, value):
            return f"{in_words(item)} is another id"
        return f"{in_words(item)} is {as_written(value)}"

    def _made_up(self, item: Attribute, value: Value) -> bool:
        """True if a value stands for any that no rule names, or for any that is not the caller's."""
        return self.ground.is_id(item) and str(value).removeprefix("user:") in map(person, range(1, 9))


def witness(ground: Ground, facts: Facts, *, with_object: bool) -> Witness:
    """Makes a request with these facts, and with ordinary values for everything else."""
    subject = ground.subject
    own_id = None if subject.is_guest else (subject.key or "").removeprefix("user:") or _ME
    id = facts.get(ID, own_id)
    kind = facts.get(KIND, "guest" if subject.is_guest else "user")
    principal = LoggedIn(
        id=None if id is None else str(id),
        key=str(facts.get(KEY, subject.role if id is None else f"user:{id}")),
        role=subject.role,
        tenant_id=str(facts.get(TENANT, _TENANT)),
        department=_text(facts.get(Attribute("sub", "department"))),
        kind=str(kind),
        groups=tuple(str(item.group) for item, value in facts.items() if isinstance(item, InGroup) and value),
        login=Login({item.name: value for item, value in facts.items()
                     if isinstance(item, Attribute) and is_of_login(item)}),
    )
    values = {item.name: value for item, value in facts.items() if isinstance(item, Attribute) and item.root == "env"}
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
    """Returns circumstances with a clock that agrees with the facts."""
    usual, now, day, hour = FixedEnvironment(), *map(facts.get, (NOW, DATE, HOUR))
    if now is None:
        clock = time(usual.hour if hour is None else int(hour), tzinfo=UTC)
        return usual.at(datetime.combine(date.fromisoformat(str(day or usual.date)), clock), UTC)
    local = wall_clock(str(now), None if day is None else str(day), None if hour is None else int(hour))
    return replace(usual.at(local, UTC), now=str(now))


def _text(value: Value) -> str | None:
    return None if value is None else str(value)


def _ordinary(name: str, column: Column) -> Value:
    """Returns a value for a column that does not matter."""
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


def normal(goal: Expression) -> Expression:
    """Returns the normal form of an expression: it holds on the same facts."""
    return _pushed(_settled(goal), False)


def _settled(goal: Expression) -> Expression:
    """Substitutes the parts of a conjunction into each other, so that each requirement appears once.

    Two policies share most of their rules. After this, `new && !old` contains only the rules that they do not share.
    """
    while isinstance(goal, AllOf):
        refuted = {each for part in goal.parts if isinstance(part, Negation) for each in disjuncts(part.part)}
        required: set[Expression] = {part for part in goal.parts if not isinstance(part, AnyOf | Negation)}
        simpler = conjunction(part if part in required else _without(part, refuted, required) for part in goal.parts)
        if simpler == goal:
            break
        goal = simpler
    return goal


def _without(part: Expression, refuted: set[Expression], required: set[Expression]) -> Expression:
    """Returns a part of a conjunction without what the other parts refute or require themselves."""
    if part in required:
        return True
    match part:
        case AnyOf(parts):
            return disjunction(False if each in refuted else _without(each, refuted, required) for each in parts)
        case AllOf(parts):
            return conjunction(False if each in refuted else _without(each, refuted, required) for each in parts)
        case Negation(AllOf(parts)):
            # `!(a && b)` beside `a` is `!b`. The same holds beside denials of the other policy.
            return negation(conjunction(
                True if each in required or (isinstance(each, Negation) and set(disjuncts(each.part)) <= refuted)
                else each for each in parts))
    return part


def _pushed(expression: Expression, negated: bool) -> Expression:
    match expression:
        case Negation(part):
            return _pushed(part, not negated)
        case AllOf(parts):
            return (disjunction if negated else conjunction)(_pushed(part, negated) for part in parts)
        case AnyOf(parts):
            return (conjunction if negated else disjunction)(_pushed(part, negated) for part in parts)
    return negation(expression) if negated else expression


def example(goal: Expression, variables: Sequence[Variable], most: int = MOST_NODES) -> Facts | None:
    """Returns a minimal set of facts on which `goal` holds whatever the other facts are; None if there is none.

    The search is fastest for a goal in its normal form. `variables` cover every input of the goal. Their order breaks
    ties. Raises Undecided after `most` nodes.
    """
    facts = _Search(variables, most).run(goal)
    return None if facts is None else _reduced(goal, facts, variables)


class _Search:
    def __init__(self, variables: Sequence[Variable], most: int) -> None:
        self._of: Mapping[Input, Variable] = {name: variable for variable in variables for name in variable.inputs}
        self._most, self._nodes = most, 0
        self._hopeless: set[Expression] = set()

    def run(self, goal: Expression) -> dict[Input, Value] | None:
        if goal is True:
            return {}
        if goal is False or goal in self._hopeless:
            return None
        self._nodes += 1
        if self._nodes > self._most:
            raise Undecided
        parts = conjuncts(goal)
        read = [reads(part) for part in parts]
        variable = self._decisive(read)
        # Most parts do not read the variable: they stay as they are.
        others = [part for part, names in zip(parts, read, strict=True) if names.isdisjoint(variable.inputs)]
        concerned = conjunction(part for part, names in zip(parts, read, strict=True)
                                if not names.isdisjoint(variable.inputs))
        followed: set[Expression] = set()
        for values in variable.near(goal):
            facts = dict(zip(variable.inputs, values, strict=True))
            rest = put(concerned, facts)
            if rest in followed:
                continue
            followed.add(rest)
            more = None if rest is False else self.run(conjunction((rest, *others)))
            if more is not None:
                return {**facts, **more}
        self._hopeless.add(goal)
        return None

    def _decisive(self, read: Iterable[frozenset[Input]]) -> Variable:
        """Returns the variable that decides most: many parts read it, and these read little else."""
        weights: defaultdict[Input, float] = defaultdict(float)
        for names in read:
            for item in names:
                weights[item] += 4.0 ** -len(names)
        return self._of[max((name for name in self._of if name in weights), key=weights.__getitem__)]


def _reduced(goal: Expression, facts: Facts, variables: Sequence[Variable]) -> Facts:
    """Returns these facts without the superfluous ones."""
    needed = dict(facts)
    for variable in reversed(variables):
        if variable.inputs[0] in needed:
            fewer = {name: value for name, value in needed.items() if name not in variable.inputs}
            if put(goal, fewer) is True:
                needed = fewer
    return needed
