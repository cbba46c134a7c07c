"""The variables of an expression, each with the few values that decide it, for a caller who asks for a permission.

Only what a request can be: a column that is never missing is not missing, a state is one of the states, a guest has no
id and no department, the date and its weekday agree. Attributes that are compared with each other share their values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property

from ..evaluation.rights import rights_for
from ..syntax.attributes import ENVIRONMENT, REQUESTS, SUBJECT
from ..syntax.expression import Atom, Attribute, Comparison, Expression, FunctionCall, Shared, atoms, attributes
from ..syntax.rules import PERSON
from ..syntax.vocabulary import Column, Resource, is_of
from . import pools
from .search import Variable
from .subjects import Subject
from .substitution import Input, Value, inputs_of

ID, KEY, KIND, TENANT = (Attribute("sub", name) for name in ("id", "key", "kind", "tenant_id"))
ADDRESS, DATE, WEEKDAY, METHOD, REQUEST = (
    Attribute("env", name) for name in ("ip", "date", "weekday", "method", "request")
)
_ORDER = ("sub", "env", "obj")
_PREFIX = "user:"
Attributes = tuple[Attribute, ...]


@dataclass(frozen=True)
class Ground:
    """Who asks for which permission, of which resource.

    named  the keys of persons whom lines name: nobody who asks by a role alone is one of them
    """

    subject: Subject
    permission: str
    resource: Resource
    named: frozenset[str] = frozenset()

    @property
    def shareable(self) -> bool:
        """Whether a share can give the subject this permission: not to a guest, and certain verbs only."""
        return not self.subject.is_guest and bool(rights_for(self.permission.partition(".")[2]))

    def is_id(self, attribute: Attribute) -> bool:
        """Whether an attribute holds ids."""
        return attribute == KEY or self._column(attribute).format == "uuid"

    def variables(self, goal: Expression) -> list[Variable]:
        """The variables of a goal: those of the caller first, then of the circumstances, then of the object."""
        read = tuple(dict.fromkeys(atoms(goal)))
        found = [Variable(bundle, tuple(self._values(bundle, pool)))
                 for group, pool in self._pools(read) for bundle in self._bundles(group)]
        found.sort(key=lambda variable: min(_ORDER.index(one.root) for one in attributes_of(variable)))
        others = dict.fromkeys(one for atom in read for one in inputs_of(atom) if not isinstance(one, Attribute))
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

    def _pools(self, read: Sequence[Atom]) -> Iterator[tuple[list[Attribute], list[Value]]]:
        """Each group of attributes that are compared with each other, and the values that its members share."""
        linked: dict[Attribute, list[Attribute]] = {}
        for atom in read:
            joined = [one for found in attributes(atom) for bundle in self._bundles((found,)) for one in bundle]
            whole = list(dict.fromkeys(one for found in joined for one in linked.get(found, (found,))))
            linked.update(dict.fromkeys(whole, whole))
        for group in {id(found): found for found in linked.values()}.values():
            yield group, self._pool(group, [atom for atom in read if set(attributes(atom)) & set(group)])

    def _pool(self, group: Sequence[Attribute], read: Sequence[Atom]) -> list[Value]:
        columns = [self._column(one) for one in group]
        literals = [atom.right for atom in read
                    if isinstance(atom, Comparison) and not isinstance(atom.right, Attribute)]
        known = {*literals, *(value for column in columns for value in column.values)}
        words = {value for value in known if isinstance(value, str)}
        whole = {value for value in known if isinstance(value, int)}
        count = len(group)
        found: list[Value] = []
        if ID in group:
            known_ids = {word.removeprefix(_PREFIX) for word in (*words, self.subject.key or "") if _is_person(word)}
            people = pools.ids(known_ids, count)
            found += [*people, *(_PREFIX + one for one in people)]
        elif ADDRESS in group:
            networks = [str(atom.arguments[1]) for atom in read if isinstance(atom, FunctionCall)]
            found += pools.addresses(words, networks, count)
        for format in dict.fromkeys(column.format for column in columns):
            mine = {word for word in words if format is None or is_of(format, word)}
            if format == "date":
                found += pools.dates(mine, count, weekdays=any(WEEKDAY in attributes(atom) for atom in read))
            elif format == "date-time":
                found += pools.moments(mine, count)
            elif format == "uuid":
                found += pools.ids(mine, count)
            else:
                found += pools.texts(mine, count)
        return [*dict.fromkeys((*found, *sorted(words))), *pools.numbers(whole, count)]

    def _values(self, bundle: Attributes, pool: Sequence[Value]) -> Iterator[tuple[Value, ...]]:
        """What these attributes can be together."""
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
        if column.type is bool:
            yield from (True, False)
        elif column.values:
            yield from column.values
        elif not (guest and attribute.root == "sub" and column.nullable):
            yield from (value for value in pool if type(value) is column.type and _fits(value, attribute, column))
        if column.nullable:
            yield None

    def _identities(self, pool: Sequence[Value]) -> Iterator[tuple[Value, ...]]:
        if self.subject.is_guest:
            yield None, self.subject.role
        elif self.subject.key is not None:
            yield self.subject.key.removeprefix(_PREFIX), self.subject.key
        else:
            ids = (value for value in pool if isinstance(value, str) and is_of("uuid", value))
            yield from ((value, key) for value in ids if (key := f"{_PREFIX}{value}") not in self.named)

    def _answers(self, one: Input) -> tuple[tuple[Value, ...], ...]:
        """What an atom can be that no attribute settles."""
        return ((False,),) if isinstance(one, Shared) and not self.shareable else ((True,), (False,))


def attributes_of(variable: Variable) -> Iterator[Attribute]:
    """The attributes among the inputs of a variable."""
    return (one for one in variable.inputs if isinstance(one, Attribute))


def _fits(value: Value, attribute: Attribute, column: Column) -> bool:
    """Whether a value of the pool is one for this attribute: an address is no uuid."""
    if attribute == ADDRESS:
        return pools.is_address(str(value))
    return column.format is None or is_of(column.format, str(value))


def _is_person(word: str) -> bool:
    return bool(PERSON.fullmatch(word)) or is_of("uuid", word)
