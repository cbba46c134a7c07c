"""The variables of an expression, each with the few values that decide it, for a caller who asks for a permission.

The values are those of possible requests: a required column has a value, a state is one of the states, a guest has
no id and no department, the date and its weekday agree. Attributes that are compared share their values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property

from ..evaluation.policy import Policy
from ..evaluation.principal import OPERATOR
from ..evaluation.rights import rights_for
from ..syntax.addresses import within
from ..syntax.attributes import ENVIRONMENT, REQUESTS, SUBJECT
from ..syntax.expression import (
    ADDRESS,
    GROUPS,
    ID,
    KEY,
    KIND,
    TENANT,
    Atom,
    Attribute,
    Comparison,
    Expression,
    FunctionCall,
    InGroup,
    PluginCall,
    Shared,
    atoms,
    attributes,
)
from ..syntax.roles import ADMIN
from ..syntax.rules import PERSON
from ..syntax.vocabulary import Column, Resource, is_of
from . import clock, pools
from .search import Variable
from .subjects import Subject
from .substitution import Input, Value, inputs_of

NOW, DATE, WEEKDAY, HOUR, METHOD, REQUEST = (
    Attribute("env", name) for name in ("now", "date", "weekday", "hour", "method", "request")
)
CLOCK = (NOW, DATE, WEEKDAY, HOUR)
_ORDER = ("sub", "env", "obj")
_PREFIX = "user:"
Attributes = tuple[Attribute, ...]


@dataclass(frozen=True)
class Ground:
    """A caller, the permission that they ask for, and its resource.

    named  the keys of users whom rules name; a caller who is only a role is none of them
    """

    subject: Subject
    permission: str
    resource: Resource
    named: frozenset[str] = frozenset()

    @property
    def shareable(self) -> bool:
        """True if a share can give the subject this permission: not to a guest, and certain verbs only."""
        return not self.subject.is_guest and bool(rights_for(self.permission.partition(".")[2]))

    @cached_property
    def unset(self) -> frozenset[str]:
        """The columns that have no value yet when the permission is checked."""
        return self.resource.unset(self.permission)

    @cached_property
    def may_lack(self) -> frozenset[str]:
        """The columns that may be missing in such a row, though they are not in a stored one."""
        return self.resource.may_lack(self.permission)

    def is_id(self, attribute: Attribute) -> bool:
        """True if an attribute holds ids."""
        return attribute == KEY or self._column(attribute).format == "uuid"

    def variables(self, goal: Expression) -> list[Variable]:
        """The variables of a goal: those of the caller first, then of the circumstances, then of the object."""
        read = tuple(dict.fromkeys(atoms(goal)))
        groups = list(self._groups(read))
        readings = tuple(self._readings(groups, read))
        found = [_showing(_of_clock(read), readings)] if readings else []
        others = dict.fromkeys(one for atom in read for one in inputs_of(atom) if not isinstance(one, Attribute))
        for group in groups:
            pool = self._pool(group, read, readings)
            mine = [Variable(bundle, tuple(self._values(bundle, pool))) for bundle in self._bundles(group)
                    if bundle != (GROUPS,) and not (readings and bundle[0] in CLOCK)]
            found += mine
            if GROUPS in group:
                # What can be put in the place of a name: also what an attribute is that takes no value of the pool.
                named = (*pool, *(value for one in mine for values in one.values for value in values))
                others |= dict.fromkeys(InGroup(value) for value in named if isinstance(value, str))
        found.sort(key=lambda variable: min(_ORDER.index(one.root) for one in attributes_of(variable)))
        return [*found, *(Variable((one,), self._answers(one)) for one in others)]

    @cached_property
    def _together(self) -> tuple[Attributes, ...]:
        """Attributes that have their values together: each settles the others."""
        columns = self.resource.columns
        same = tuple((Attribute("obj", column.same_as), Attribute("obj", name))
                     for name, column in columns.items() if column.same_as is not None)
        # Every object that a request reaches is of the caller's tenant.
        tenant = ((TENANT, Attribute("obj", "tenant_id")),) if "tenant_id" in columns else ()
        return ((ID, KEY), (DATE, WEEKDAY), (METHOD, REQUEST), *tenant, *same)

    def _bundles(self, group: Iterable[Attribute]) -> Iterator[Attributes]:
        left = dict.fromkeys(group)
        while left:
            first = next(iter(left))
            bundle = next((together for together in self._together if first in together), (first,))
            for one in bundle:
                left.pop(one, None)
            yield bundle

    def _column(self, attribute: Attribute) -> Column:
        if attribute.root == "obj":
            return self.resource.columns[attribute.name]
        return (SUBJECT if attribute.root == "sub" else ENVIRONMENT)[attribute.name]

    def _groups(self, read: Sequence[Atom]) -> Iterator[Attributes]:
        """The attributes that are compared with each other, or that name groups of the caller."""
        linked: dict[Attribute, Attributes] = {}
        for atom in read:
            joined = [one for found in _compared(atom) for bundle in self._bundles((found,)) for one in bundle]
            whole = tuple(dict.fromkeys(one for found in joined for one in linked.get(found, (found,))))
            linked.update(dict.fromkeys(whole, whole))
        yield from {id(found): found for found in linked.values()}.values()

    def _pool(self, group: Attributes, read: Sequence[Atom], readings: Sequence[clock.Reading]) -> list[Value]:
        """The values that the members of a group share."""
        columns = [self._column(one) for one in group if one != GROUPS]
        read = [atom for atom in read if set(attributes(atom)) & set(group)]
        known = {*_literals(read), *(value for column in columns for value in column.values)}
        words = {value for value in known if isinstance(value, str)}
        whole = {value for value in known if isinstance(value, int)}
        count = len(group)
        found: list[Value] = []
        if ID in group:
            known_ids = {word.removeprefix(_PREFIX) for word in (*words, self.subject.key or "") if _is_person(word)}
            people = pools.ids(known_ids, count)
            found += [*people, *(_PREFIX + one for one in people)]
        if ADDRESS in group:
            networks = [str(atom.arguments[1]) for atom in read if isinstance(atom, FunctionCall)]
            found += pools.addresses(words, networks, count)
        for format in dict.fromkeys(column.format for column in columns):
            mine = {word for word in words if format is None or is_of(format, word)}
            if format == "date":
                shown = {day for _, day, _, _ in readings} if DATE in group else set()
                found += pools.dates(mine | shown, count, weekdays=any(WEEKDAY in attributes(atom) for atom in read))
            elif format == "date-time":
                shown = {now for now, _, _, _ in readings} if NOW in group else set()
                found += pools.moments(mine | shown, count)
            elif format == "uuid":
                found += pools.ids(mine, count)
            else:
                found += pools.texts(mine, count)
        return [*dict.fromkeys((*found, *sorted(words))), *pools.numbers(whole, count)]

    def _readings(self, groups: Sequence[Attributes], read: Sequence[Atom]) -> Iterator[clock.Reading]:
        """The readings of clocks, if both the time and a wall clock are read; none if only one of them is."""
        asked = _of_clock(read)
        if NOW not in asked or asked == (NOW,):
            return
        of = {one: next((group for group in groups if one in group), (one,)) for one in CLOCK}
        said = {one: {*_literals([atom for atom in read if set(attributes(atom)) & {*of[one]}])} for one in CLOCK}
        times = {str(literal) for literal in said[NOW]}
        dates = {str(literal) for literal in said[DATE] if isinstance(literal, str)} | clock.days(times)
        # Compared with a column, each hour is another one.
        hours = {literal for literal in said[HOUR] if isinstance(literal, int)} if of[HOUR] == (HOUR,) else range(24)
        yield from clock.readings(pools.moments(times, len(of[NOW])) if times else (),
                                  pools.dates(dates, len(of[DATE]), weekdays=WEEKDAY in asked), [*hours])

    def _values(self, bundle: Attributes, pool: Sequence[Value]) -> Iterator[tuple[Value, ...]]:
        """The values that these attributes can have together."""
        if bundle == (ID, KEY):
            yield from self._identities(pool)
        elif bundle == (DATE, WEEKDAY):
            days = (value for value in pool if isinstance(value, str) and is_of("date", value))
            yield from ((day, date.fromisoformat(day).isoweekday()) for day in days)
        elif bundle == (METHOD, REQUEST):
            yield from REQUESTS.items()
        else:
            yield from ((value,) * len(bundle) for value in self._possible(bundle[0], pool))

    def _possible(self, attribute: Attribute, pool: Sequence[Value]) -> Iterator[Value]:
        column, guest = self._column(attribute), self.subject.is_guest
        if attribute == KIND:
            yield from ("guest",) if guest else ("user", "service")
            return
        if attribute.root == "obj" and attribute.name in self.unset:
            yield None
            return
        if column.type is bool:
            yield from (True, False)
        elif column.values:
            yield from column.values
        elif not (guest and attribute.root == "sub" and column.nullable):
            yield from (value for value in pool if type(value) is column.type and _fits(value, attribute, column))
        if column.nullable or (attribute.root == "obj" and attribute.name in self.may_lack):
            yield None

    def _identities(self, pool: Sequence[Value]) -> Iterator[tuple[Value, ...]]:
        if self.subject.is_guest:
            yield None, self.subject.role
        elif self.subject.key is not None:
            yield self.subject.key.removeprefix(_PREFIX), self.subject.key
        else:
            ids = (value for value in pool if isinstance(value, str) and is_of("uuid", value))
            yield from ((value, key) for value in ids if (key := f"{_PREFIX}{value}") not in self.named)
            if self.subject.role == ADMIN:
                yield None, OPERATOR

    def _answers(self, one: Input) -> tuple[tuple[Value, ...], ...]:
        """The answers of an atom that no attribute settles."""
        if (isinstance(one, Shared) and not self.shareable) or (isinstance(one, InGroup) and self.subject.is_guest):
            return ((False,),)
        return ((True,), (False,))


def elsewhere(*policies: Policy) -> str | None:
    """An address in none of the networks that these policies name."""
    read = [atom for policy in policies for atom in atoms(policy.model.matcher) if ADDRESS in attributes(atom)]
    networks = [str(atom.arguments[1]) for atom in read if isinstance(atom, FunctionCall)]
    literals = [str(literal) for literal in _literals(read)]
    found = pools.addresses(literals, networks, 1)
    return next((one for one in found if one not in literals and not any(within(one, name) for name in networks)), None)


def _compared(atom: Atom) -> tuple[Attribute, ...]:
    """The attributes whose values an atom compares; what a plugin's function makes of its own is not known."""
    return () if isinstance(atom, PluginCall) else attributes(atom)


def _of_clock(read: Sequence[Atom]) -> Attributes:
    """The attributes of the clock that are read: the date and its weekday together."""
    asked = {one for atom in read for one in _compared(atom)}
    asked |= {DATE, WEEKDAY} if asked & {DATE, WEEKDAY} else set()
    return tuple(one for one in CLOCK if one in asked)


def _showing(asked: Attributes, readings: Iterable[clock.Reading]) -> Variable:
    """The clock as one variable."""
    places = [CLOCK.index(one) for one in asked]
    return Variable(asked, tuple(dict.fromkeys(tuple(reading[place] for place in places) for reading in readings)))


def _literals(read: Sequence[Atom]) -> Iterator[str | int]:
    """The values that atoms name: those that attributes are compared with, and the groups."""
    for atom in read:
        named = atom.right if isinstance(atom, Comparison) else atom.group if isinstance(atom, InGroup) else None
        if isinstance(named, str | int):
            yield named


def attributes_of(variable: Variable) -> Iterator[Attribute]:
    """The attributes among the inputs of a variable."""
    return (one for one in variable.inputs if isinstance(one, Attribute))


def _fits(value: Value, attribute: Attribute, column: Column) -> bool:
    """True if a value of the pool is one for this attribute: an address is no uuid."""
    if attribute == ADDRESS:
        return pools.is_address(str(value))
    return column.format is None or is_of(column.format, str(value))


def _is_person(word: str) -> bool:
    return bool(PERSON.fullmatch(word)) or is_of("uuid", word)
