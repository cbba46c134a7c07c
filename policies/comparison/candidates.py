"""The variables of an expression, each with the few values that decide it, for a caller who asks for a permission.

The values are those of possible requests: a required column has a value, a state is one of the states, a guest has
no id and no department, the date and its weekday agree. Attributes that are compared share their values.

The time zone is a setting of the service, and rules are compared without it. So any time and local time are possible
that agree in some existing zone. A proof holds in every zone; an example is possible in at least one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from functools import cached_property
from ipaddress import IPv6Network, ip_network
from itertools import islice, product

from ..evaluation.policy import Policy
from ..evaluation.principal import OPERATOR
from ..evaluation.rights import rights_to
from ..syntax.addresses import MAPPED, Network, network, normalized, within
from ..syntax.attributes import ENVIRONMENT, REQUESTS, SUBJECT, is_of_login
from ..syntax.durations import later
from ..syntax.expression import (
    ADDRESS,
    GROUPS,
    ID,
    KEY,
    KIND,
    NOW,
    TENANT,
    Ago,
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
from ..syntax.vocabulary import DATE_TIME, Column, Resource, date_time, is_of
from .subjects import Subject
from .substitution import AGE, MICROSECONDS, Input, Value, inputs_of

DATE, WEEKDAY, HOUR, METHOD, REQUEST = (
    Attribute("env", name) for name in ("date", "weekday", "hour", "method", "request")
)
CLOCK = (NOW, DATE, WEEKDAY, HOUR)
_ORDER = ("sub", "env", AGE, "obj")
_AGES = tuple(seconds * MICROSECONDS for seconds in (86_400, 3_600, 60, 1))  # steps between ages in examples
_PREFIX = "user:"
Attributes = tuple[Attribute, ...]
Reading = tuple[str, str, int, int]  # of a clock: time, date, weekday and hour
EAST, WEST = timedelta(hours=14), timedelta(hours=-12)  # the outermost offsets of time zones
MOST_TRIED = 1000  # addresses that are tried to find one outside of all networks
_DAY, _HOUR, _HOURS, _WEEK = timedelta(days=1), timedelta(hours=1), 24, 7
_ANY_DATE, _ANY_TIME = date(2026, 11, 18), datetime(2026, 11, 18, 10, tzinfo=UTC)
_PRIVATE, _LOCAL = ip_network("192.168.0.0/16"), ip_network("fd00::/64")


@dataclass(frozen=True)
class Variable:
    """Inputs that get their values together, such as the date and its weekday; each of `values` is one for each input.

    The values suffice: whatever an expression does with any other, it does with one of these.

    linked  of a time: what it is compared with, directly or not, if ages are among it. When now has its value, those
            near the times that are left in the goal suffice: `near`
    """

    inputs: tuple[Input, ...]
    values: Sequence[tuple[Value, ...]]
    linked: Attributes = ()

    def near(self, goal: Expression) -> Sequence[tuple[Value, ...]]:
        """Returns the values that suffice for what is left of a goal."""
        if not self.linked or NOW in self.inputs:
            return self.values
        read = [atom for atom in atoms(goal) if not {*self.linked}.isdisjoint(attributes(atom))]
        if any(NOW in attributes(atom) for atom in read):
            return self.values
        times = times_near((str(literal) for literal in _literals(read)), len(self.linked))
        return [*((time,) for time in times), *(one for one in self.values if one == (None,))]


@dataclass(frozen=True)
class Ground:
    """A caller, the permission that they ask for, and its resource.

    named  the keys of users whom rules name; a caller who is only a role is none of them
    login  attributes of the caller that features declare
    """

    subject: Subject
    permission: str
    resource: Resource
    named: frozenset[str] = frozenset()
    login: Mapping[str, Column] = field(default_factory=dict)

    @property
    def shareable(self) -> bool:
        """True if a share can give the subject this permission: not to a guest, and certain verbs only."""
        return not self.subject.is_guest and bool(rights_to(self.permission, self.resource.fallbacks))

    @cached_property
    def unset(self) -> frozenset[str]:
        """Columns without a value when the permission is checked."""
        return self.resource.unset(self.permission)

    @cached_property
    def may_lack(self) -> frozenset[str]:
        """Columns that may be missing in such a row, but not in a stored one."""
        return self.resource.may_lack(self.permission)

    def is_id(self, attribute: Attribute) -> bool:
        """True if an attribute holds ids."""
        return attribute == KEY or self._column(attribute).format == "uuid"

    def variables(self, goal: Expression) -> list[Variable]:
        """Returns the variables of a goal: those of the caller, then of the circumstances, then of the object."""
        read = tuple(dict.fromkeys(atoms(goal)))
        together = self._together_in(read)
        groups = list(self._groups(read, together))
        readings = tuple(self._readings(groups, read))
        variables = [_showing(_of_clock(read), readings)] if readings else []
        other_inputs = dict.fromkeys(item for atom in read for item in inputs_of(atom)
                                     if not isinstance(item, Attribute))
        for group in groups:
            pool = self._pool(group, read, readings)
            linked = group if NOW in group and any(_asks_age(atom) for atom in read) else ()
            of_group = [Variable(bundle, tuple(self._values(bundle, pool)), linked)
                        for bundle in _bundles(group, together)
                        if bundle != (GROUPS,) and not (readings and bundle[0] in CLOCK)]
            variables += of_group
            if GROUPS in group:
                # Values that can take the place of a name, also those of attributes that take no value of the pool.
                names = (*pool, *(value for variable in of_group for values in variable.values for value in values))
                other_inputs |= dict.fromkeys(InGroup(f"{prefix}{name}") for name in names if isinstance(name, str)
                                              for prefix in _prefixes(read))
        variables.sort(key=lambda variable: min(_ORDER.index(each.root) for each in attributes_of(variable)))
        return [*variables, *(Variable((item,), self._answers(item)) for item in other_inputs)]

    @cached_property
    def _together(self) -> tuple[Attributes, ...]:
        """Attributes that get their values together, because each determines the others."""
        columns = self.resource.columns
        same = tuple((Attribute("obj", column.same_as), Attribute("obj", name))
                     for name, column in columns.items() if column.same_as is not None)
        # Every object that a request reaches is of the caller's tenant.
        tenant = ((TENANT, Attribute("obj", "tenant_id")),) if "tenant_id" in columns else ()
        return ((ID, KEY), (DATE, WEEKDAY), (METHOD, REQUEST), *tenant, *same)

    def _together_in(self, read: Sequence[Atom]) -> tuple[Attributes, ...]:
        """Returns `_together`, with what is read of the caller's login: only a user has one."""
        login = dict.fromkeys(one for atom in read for one in attributes(atom) if is_of_login(one))
        return (*self._together, (KIND, *login)) if login else self._together

    def _column(self, attribute: Attribute) -> Column:
        if attribute.root == "obj":
            return self.resource.columns[attribute.name]
        if attribute.root == AGE:
            return Column(int, self.resource.columns[attribute.name].nullable)
        if is_of_login(attribute):
            return self.login[attribute.name]
        return (SUBJECT if attribute.root == "sub" else ENVIRONMENT)[attribute.name]

    def _groups(self, read: Sequence[Atom], together: tuple[Attributes, ...]) -> Iterator[Attributes]:
        """Yields groups of attributes that are compared with each other, or that name groups of the caller."""
        linked: dict[Attribute, Attributes] = {}
        for atom in read:
            joined = [member for compared in _compared(atom) for bundle in _bundles((compared,), together)
                      for member in bundle]
            group = tuple(dict.fromkeys(member for each in joined for member in linked.get(each, (each,))))
            linked.update(dict.fromkeys(group, group))
        yield from {id(group): group for group in linked.values()}.values()

    def _pool(self, group: Attributes, read: Sequence[Atom], readings: Sequence[Reading]) -> list[Value]:
        """Returns the values that the members of a group share."""
        columns = [self._column(member) for member in group if member != GROUPS]
        read = [atom for atom in read if set(attributes(atom)) & set(group)]
        if group[0].root == AGE:
            return [*ages_near(literal for literal in _literals(read) if isinstance(literal, int))]
        named = {*_literals(read), *(value for column in columns for value in column.values)}
        texts = {value for value in named if isinstance(value, str)}
        texts |= _without_prefixes(texts, _prefixes(read))
        numbers = {value for value in named if isinstance(value, int)}
        count = len(group)
        pool: list[Value] = []
        if ID in group:
            person_ids = {word.removeprefix(_PREFIX) for word in (*texts, self.subject.key or "") if _is_person(word)}
            people = ids_unlike(person_ids, count)
            pool += [*people, *(_PREFIX + person_id for person_id in people)]
        if ADDRESS in group:
            networks = [str(atom.arguments[1]) for atom in read if isinstance(atom, FunctionCall)]
            pool += addresses_near(texts, networks, count)
        for format in dict.fromkeys(column.format for column in columns):
            of_format = {word for word in texts if format is None or is_of(format, word)}
            if format == "date":
                on_clock = {day for _, day, _, _ in readings} if DATE in group else set()
                weekdays = any(WEEKDAY in attributes(atom) for atom in read)
                pool += dates_near(of_format | on_clock, count, weekdays=weekdays)
            elif format == "date-time":
                on_clock = {now for now, _, _, _ in readings} if NOW in group else set()
                pool += times_near(shifted(of_format | on_clock, read), count)
            elif format == "uuid":
                pool += ids_unlike(of_format, count)
            else:
                pool += texts_unlike(of_format, count)
        return [*dict.fromkeys((*pool, *sorted(texts))), *numbers_near(numbers, count)]

    def _readings(self, groups: Sequence[Attributes], read: Sequence[Atom]) -> Iterator[Reading]:
        """Yields the readings of clocks if both the time and a wall clock are read; none if only one of them is."""
        names = _of_clock(read)
        if NOW not in names or names == (NOW,):
            return
        group_by = {name: next((group for group in groups if name in group), (name,)) for name in CLOCK}
        literals = {name: {*_literals([atom for atom in read if set(attributes(atom)) & {*group_by[name]}])}
                    for name in CLOCK}
        times = {str(literal) for literal in literals[NOW]}
        times = shifted(times, read) if times else times
        dates = {str(literal) for literal in literals[DATE] if isinstance(literal, str)} | local_dates(times)
        # Compared with a column, each hour is another one.
        alone = group_by[HOUR] == (HOUR,)
        hours = {literal for literal in literals[HOUR] if isinstance(literal, int)} if alone else range(24)
        yield from clock_readings(times_near(times, len(group_by[NOW])) if times else (),
                                  dates_near(dates, len(group_by[DATE]), weekdays=WEEKDAY in names), [*hours])

    def _values(self, bundle: Attributes, pool: Sequence[Value]) -> Iterator[tuple[Value, ...]]:
        """Yields the values that these attributes can have together."""
        if bundle == (ID, KEY):
            yield from self._identities(pool)
        elif bundle == (DATE, WEEKDAY):
            days = (value for value in pool if isinstance(value, str) and is_of("date", value))
            yield from ((day, date.fromisoformat(day).isoweekday()) for day in days)
        elif bundle == (METHOD, REQUEST):
            yield from REQUESTS.items()
        elif bundle[0] == KIND and len(bundle) > 1:
            yield from self._logins(bundle[1:], pool)
        else:
            yield from ((value,) * len(bundle) for value in self._possible(bundle[0], pool))

    def _possible(self, attribute: Attribute, pool: Sequence[Value]) -> Iterator[Value]:
        column, guest = self._column(attribute), self.subject.is_guest
        if attribute == KIND:
            yield from ("guest",) if guest else ("user", "service")
            return
        of_object = attribute.root in ("obj", AGE)
        if of_object and attribute.name in self.unset:
            yield None
            return
        if column.type is bool:
            yield from (True, False)
        elif column.values:
            yield from column.values
        elif not (guest and attribute.root == "sub" and column.nullable):
            yield from (value for value in pool if type(value) is column.type and _fits(value, attribute, column))
        if column.nullable or (of_object and attribute.name in self.may_lack):
            yield None

    def _logins(self, read: Attributes, pool: Sequence[Value]) -> Iterator[tuple[Value, ...]]:
        """Yields a kind of caller with the values that these attributes of a login can have."""
        yield "guest" if self.subject.is_guest else "service", *(None for _ in read)
        if not self.subject.is_guest:
            yield from (("user", *values) for values in product(*(self._of_login(one, pool) for one in read)))

    def _of_login(self, attribute: Attribute, pool: Sequence[Value]) -> Sequence[Value]:
        column = self.login[attribute.name]
        if column.type is bool:
            return True, False
        return column.values or [value for value in pool if type(value) is column.type and (
            not isinstance(value, int) or column.least is None or value >= column.least)]

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

    def _answers(self, atom: Input) -> tuple[tuple[Value, ...], ...]:
        """Returns the answers of an atom that no attribute determines."""
        if (isinstance(atom, Shared) and not self.shareable) or (isinstance(atom, InGroup) and self.subject.is_guest):
            return ((False,),)
        return ((True,), (False,))


def elsewhere(*policies: Policy) -> str | None:
    """Returns an address in none of the networks that these policies name; None if there is none."""
    read = [atom for policy in policies for atom in atoms(policy.model.matcher) if ADDRESS in attributes(atom)]
    networks = [str(atom.arguments[1]) for atom in read if isinstance(atom, FunctionCall)]
    literals = [str(literal) for literal in _literals(read)]
    addresses = addresses_near(literals, networks, 1)
    return next((address for address in addresses if address not in literals
                 and not any(within(address, network) for network in networks)), None)


def _bundles(group: Iterable[Attribute], together: tuple[Attributes, ...]) -> Iterator[Attributes]:
    """Yields the attributes of a group, with all that get their values together with one of them."""
    remaining = dict.fromkeys(group)
    while remaining:
        first = next(iter(remaining))
        bundle = next((each for each in together if first in each), (first,))
        for attribute in bundle:
            remaining.pop(attribute, None)
        yield bundle


def _compared(atom: Atom) -> tuple[Attribute, ...]:
    """Returns the attributes whose values an atom compares. Those of a plugin's function are unknown."""
    return () if isinstance(atom, PluginCall) else attributes(atom)


def _prefixes(read: Sequence[Atom]) -> tuple[str, ...]:
    """Returns the texts that atoms put before the name of a group; the empty one is among them."""
    return tuple(dict.fromkeys(("", *(atom.prefix for atom in read if isinstance(atom, InGroup)))))


def _without_prefixes(texts: Collection[str], prefixes: Sequence[str]) -> set[str]:
    """Returns what must follow one prefix to make a group that a text is, with a prefix or without."""
    groups = {f"{prefix}{text}" for text in texts for prefix in prefixes}
    return {group.removeprefix(prefix) for group in groups for prefix in filter(None, prefixes)
            if group.startswith(prefix)}


def _asks_age(atom: Atom) -> bool:
    return isinstance(atom, Comparison) and isinstance(atom.right, Ago)


def _of_clock(read: Sequence[Atom]) -> Attributes:
    """Returns the attributes of the clock that are read: the date and its weekday together."""
    compared = {one for atom in read for one in _compared(atom)}
    compared |= {DATE, WEEKDAY} if compared & {DATE, WEEKDAY} else set()
    return tuple(one for one in CLOCK if one in compared)


def _showing(names: Attributes, readings: Iterable[Reading]) -> Variable:
    """Returns the clock as one variable."""
    places = [CLOCK.index(one) for one in names]
    return Variable(names, tuple(dict.fromkeys(tuple(reading[place] for place in places) for reading in readings)))


def _literals(read: Sequence[Atom]) -> Iterator[str | int]:
    """Yields the values that atoms name: those that attributes are compared with, and the groups."""
    for atom in read:
        literal = atom.right if isinstance(atom, Comparison) else atom.group if isinstance(atom, InGroup) else None
        if isinstance(literal, str | int):
            yield literal


def attributes_of(variable: Variable) -> Iterator[Attribute]:
    """Yields the attributes among the inputs of a variable."""
    return (attribute for attribute in variable.inputs if isinstance(attribute, Attribute))


def _fits(value: Value, attribute: Attribute, column: Column) -> bool:
    """True if a value of the pool has the format of this attribute."""
    if attribute == ADDRESS:
        return is_address(str(value))
    return column.format is None or is_of(column.format, str(value))


def _is_person(word: str) -> bool:
    return bool(PERSON.fullmatch(word)) or is_of("uuid", word)


# The functions below take literals of one type, and how many values are compared with each other. They return enough
# values on either side of each literal, or unlike all of them, for every order in which they can stand.


def person(number: int) -> str:
    """Returns the id of a user or object in examples. Its time is long before any real one (RFC 9562, UUIDv7)."""
    return f"00000000-0000-7000-8000-{number:012x}"


def numbers_near(literals: Iterable[int], count: int) -> list[int]:
    """Returns integers around each literal."""
    numbers = {literal + step for literal in {*literals} or {0} for step in range(-count, count + 1)}
    return sorted(numbers, key=lambda number: (abs(number), number))


def dates_near(literals: Iterable[str], count: int, *, weekdays: bool) -> list[str]:
    """Returns days (YYYY-MM-DD) around each literal; with `weekdays`, a whole week before the first and after each."""
    named = {date.fromisoformat(literal).toordinal() for literal in literals} or {_ANY_DATE.toordinal()}
    week = _WEEK if weekdays else 0
    ordinals = {ordinal + step for ordinal in named for step in range(-count, count + week + 1)}
    ordinals |= {min(named) - count - step for step in range(week)}
    return [date.fromordinal(day).isoformat() for day in sorted(ordinals) if 0 < day <= date.max.toordinal()]


def times_near(literals: Iterable[str], count: int) -> list[str]:
    """Returns times (RFC 3339, UTC, microseconds) around each literal."""
    times = {*map(parsed, literals)} or {_ANY_TIME}
    return sorted({date_time(neighbour) for time in times for neighbour in _around(time, count)})


def ages_near(literals: Iterable[int]) -> list[int]:
    """Returns each age, and one below, between and above them: whole days, hours or minutes from it, if they fit."""
    ages = sorted({*literals})
    near = list[int]()
    for age, following in zip(ages, [*ages[1:], None], strict=True):
        free = None if following is None else following - age
        near += [age, age + next((step for step in _AGES if free is None or step < free), 1)]
    below = ages[0] - next((step for step in _AGES if step < ages[0]), max(min(ages[0], _AGES[-1]), 1))
    return [below, *near]


def shifted(literals: Collection[str], read: Sequence[Atom]) -> set[str]:
    """Returns times, with those that lie a duration of `read` before or after one; of none, with those around any."""
    seconds = {atom.right.seconds for atom in read if isinstance(atom, Comparison) and isinstance(atom.right, Ago)}
    if not seconds:
        return {*literals}
    # One time settles now, and now another column: of a column at a literal, a duration later, and another one earlier.
    steps = {0, *seconds, *(-step for step in seconds), *(one - other for one in seconds for other in seconds)}
    return {later(time, timedelta(seconds=step)) for time in {*literals} or {date_time(_ANY_TIME)} for step in steps}


def ids_unlike(literals: Iterable[str], count: int) -> list[str]:
    """Returns some ids unlike all literals, and the literals."""
    return _unlike({*literals}, count, person)


def texts_unlike(literals: Iterable[str], count: int) -> list[str]:
    """Returns the literals, and some texts unlike all of them."""
    texts = {*literals}
    fresh = _unlike(texts, count, lambda number: f"other-{number}" if number > 1 else "other")
    return [*sorted(texts), *fresh[:count]]


def addresses_near(literals: Iterable[str], networks: Iterable[str], count: int) -> list[str]:
    """Returns the literals, the ends of each network and their neighbours, and some addresses in no network.

    The addresses have the spelling of the service. An IPv6 network with IPv4 addresses in it has only its others here.
    """
    addresses, blocks = {*literals}, [network(name) for name in networks]
    holes = [MAPPED] if any(isinstance(one, IPv6Network) for one in blocks) else []
    for block in (*blocks, *holes):
        addresses |= _ends(block, count)
    addresses = {address for address in addresses if is_address(address)}
    fresh: list[str] = []
    # Both versions: an IPv4 address is in no IPv6 network, and the reverse, however wide the network is.
    for hosts in (_PRIVATE, _LOCAL):
        outside = (str(address) for address in islice(hosts.hosts(), MOST_TRIED)
                   if not any(address in block for block in blocks))
        fresh += islice((address for address in outside if address not in addresses), count)
    return [*fresh, *sorted(addresses)]


def is_address(text: str) -> bool:
    """True if a text is an address, IPv4 or IPv6, in the one spelling in which a request has it."""
    return normalized(text) == text


def _ends(network: Network, count: int) -> set[str]:
    """Returns the first and the last addresses of a network, and their neighbours."""
    kind = type(network.network_address)
    first, last = int(network.network_address), int(network.broadcast_address)
    numbers = {end + step for end in (first, last) for step in range(-count, count + 1)}
    return {str(kind(number)) for number in numbers if 0 <= number < 2**network.max_prefixlen}


def _unlike(taken: set[str], count: int, name: Callable[[int], str]) -> list[str]:
    unused: Iterator[str] = (word for number in range(1, len(taken) + count + 1) if (word := name(number)) not in taken)
    return [*(next(unused) for _ in range(count)), *sorted(taken)]


def _around(moment: datetime, count: int) -> Iterator[datetime]:
    for step in range(-count, count + 1):
        with suppress(OverflowError):  # the first and the last year
            yield moment + timedelta(microseconds=step)


def parsed(text: str) -> datetime:
    """Parses a time in the format of columns."""
    return datetime.strptime(text, DATE_TIME).replace(tzinfo=UTC)


def local_dates(moments: Iterable[str]) -> set[str]:
    """Returns the dates (YYYY-MM-DD) that one of these times can have in some zone."""
    dates = set()
    for moment in map(parsed, moments):
        with suppress(OverflowError):
            dates |= {(moment + step * _DAY).date().isoformat() for step in (-1, 0, 1)}
    return dates


def hour_runs(hours: Collection[int]) -> list[tuple[int, int]]:
    """Returns the day as runs of hours (first, last) that comparisons with these hours cannot tell apart."""
    cuts = sorted({0, *(cut for hour in hours for cut in (hour, hour + 1) if 0 < cut < _HOURS)})
    return [(first, after - 1) for first, after in zip(cuts, [*cuts[1:], _HOURS], strict=True)]


def clock_readings(moments: Collection[str], dates: Iterable[str], hours: Collection[int]) -> Iterator[Reading]:
    """Yields the readings that clocks can show.

    For each date and each run of `hours`, these are the times in `moments` at which some zone has that date and hour.
    If there is none, one other such time is used. The readings suffice if `moments` contains the neighbours of each
    compared time, and `dates` the neighbours of each compared date.
    """
    times = [(parsed(moment), moment) for moment in moments]
    for day in dates:
        for first, last in hour_runs(hours):
            wall = date.fromisoformat(day)
            midnight = datetime.combine(wall, time(), UTC)
            with suppress(OverflowError):
                begins = datetime.combine(wall, time(first), UTC)
                earliest, latest = begins - EAST, begins + (last - first + 1) * _HOUR - WEST
                near = [(moment, text) for moment, text in times if earliest <= moment < latest]
                for moment, text in near or [(begins, date_time(begins))]:
                    # The first hour of the run that some zone has at that time.
                    yield text, day, wall.isoweekday(), max(first, (moment - midnight + WEST) // _HOUR)


def wall_clock(now: str, day: str | None, hour: int | None) -> datetime:
    """Returns the local time in UTC, or in the nearest zone that has this day and hour at that time."""
    moment = parsed(now)
    for offset in sorted(range(WEST // _HOUR, EAST // _HOUR + 1), key=abs):
        with suppress(OverflowError):
            local = moment + offset * _HOUR
            if day in (None, local.date().isoformat()) and hour in (None, local.hour):
                return local
    return moment
