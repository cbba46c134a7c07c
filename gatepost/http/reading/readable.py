"""Rows of a collection that a caller may view (`<resource>.view`), as JSON.

Nothing here changes a row. Fields that the caller may not see are omitted. An expanded object is authorized like any
other.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

import peewee as pw
from marshmallow import Schema, fields

from models.base import Record, Rows, now
from models.engine.database import Database
from models.engine.prepared import Bind, Prepared, binds, cache_sql, placeholders, prepare
from models.records.columns import reader
from policies.evaluation.policy import Policy
from policies.evaluation.sql import Where

from ..protocol.problems import Problem, dangling
from ..request.access import Narrowing
from ..request.call import Call
from ..schemas.documented import Expanded, answer_schema
from ..schemas.fields import StrictSchema, values_of
from ..schemas.guarded import Guards, outer_of, remove
from ..schemas.records import OwnedSchema
from ..schemas.representation import Representation
from ..schemas.validation import BoundedCache
from .expansion import Expansion, expansions

Values = Mapping[str, Any]
_SEEN = 10_000  # checked references that a call remembers; an import may have more
_MOST = 8_192  # ids in one statement; SQLite allows 32 766 values, Postgres 65 535


class Readable:
    """Readable side of a collection. `Collection` explains the class attributes."""

    name: ClassVar[str]
    resource: ClassVar[str]
    model: ClassVar[type[Record]]
    schema: ClassVar[type[StrictSchema]]
    sort: ClassVar[tuple[str, ...]] = ("created_at",)
    default_sort: ClassVar[str] = "-created_at"
    born: ClassVar[str] = "created_at"
    until: ClassVar[str | None] = None
    gone: ClassVar[str | None] = None
    filters: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    search: ClassVar[tuple[str, ...]] = ()
    expand: ClassVar[tuple[str, ...]] = ()
    guarded: ClassVar[Mapping[str, str]] = {}
    view_guarded: ClassVar[Mapping[str, str]] = {}
    judged: ClassVar[tuple[str, ...]] = ()
    computed: ClassVar[tuple[str, ...]] = ()
    shares: ClassVar[bool] = True

    def __init__(self) -> None:
        self.body_schema = self.schema()
        self.representation = Representation(self.body_schema, self.model)
        self._attached = frozenset(self.representation.names) - frozenset(self.representation.columns)
        self.expansions = expansions(self.body_schema)
        self._read = reader(self.columns)
        self._all_guards = Guards(self.guards)
        self._latest: tuple[Policy | None, Guards] = None, self._all_guards  # of `guards_in`
        self._guards_by_followers: BoundedCache[Guards] = BoundedCache(16)
        self._of_entries = tuple(name for name in self.guards if name != outer_of(name))
        self._id = self.columns.index(self.model._meta.fields["id"])

    def attach(self, tenant_id: str, rows: list[dict[str, Any]]) -> None:
        """Adds fields from other tables to the rows. Adds none by default."""

    @property
    def columns(self) -> tuple[pw.Field, ...]:
        """Every column of the table, in its order."""
        return tuple(self.model._meta.sorted_fields)

    @cached_property
    def view(self) -> str:
        return self.permission("view")

    @cached_property
    def manage(self) -> str:
        return self.permission("manage")

    def permission(self, verb: str) -> str:
        """Returns the permission that allows `verb` on this resource."""
        return f"{self.resource}.{verb}"

    @property
    def a_row(self) -> str:
        """Name of a row in a sentence: `an article`, `a user`."""
        return f"{'an' if self.resource[0] in 'aeio' else 'a'} {self.resource}"

    @cached_property
    def guards(self) -> dict[str, str]:
        """Guarded fields, each with the permission that shows it: `guarded`, `view_guarded`, and `department` of rows
        with an owner."""
        owned = {"department": self.permission("view_private")} if issubclass(self.schema, OwnedSchema) else {}
        return owned | dict(self.guarded) | {name: self.permission(verb) for name, verb in self.view_guarded.items()}

    def guards_in(self, policy: Policy) -> Guards:
        """Returns the guards that can hide a field of a row that `view` shows.

        Those of `view_guarded` cannot until a rule names their permission.
        """
        latest, guards = self._latest
        if latest is not policy:
            followers = policy.followers.intersection(map(self.permission, self.view_guarded.values()))
            guards = self._guards_by_followers.get(followers, lambda: self._all_guards.without(followers))
            self._latest = policy, guards
        return guards

    @property
    def age_column(self) -> pw.Field:
        """Column that orders rows by age: the id if the creation time is a guarded field."""
        return self.model._meta.fields["id" if self.born in self.guards else self.born]

    @property
    def lasting(self) -> list[pw.Expression]:
        """Conditions that exclude deleted rows, and rows that have expired at the time that is bound as `now`."""
        fields = self.model._meta.fields
        return [*([] if self.until is None else [fields[self.until] > Bind("now")]),
                *([] if self.gone is None else [fields[self.gone].is_null()])]

    def moment(self) -> dict[str, str]:
        """Returns the value of the Bind in `lasting`."""
        return {} if self.until is None else {"now": now()}

    def values_of(self, name: str) -> tuple[str, ...]:
        """Returns all values of a text field, if they are declared."""
        return values_of(self.body_schema.fields.get(name))

    @cached_property
    def answer(self) -> Schema:
        """Schema of rows in answers, for the documentation. A guarded field may be missing."""
        return self.answer_without(frozenset(self.guards))

    def answer_without(self, sometimes: frozenset[str], name: str = "") -> Schema:
        """Returns the schema of answers in which the fields `sometimes` may be missing, as the component `name`."""
        expanded: dict[str, fields.Field[Any]] = {reference: Expanded(self.expansions[reference].collection, reference)
                                                  for reference in self.expand}
        return answer_schema(self.schema, sometimes=sometimes, besides=expanded | self._computed, name=name,
                        values={field: self.values_of(field) for field in self.representation.names})

    @property
    def _computed(self) -> dict[str, fields.Field[Any]]:
        """Fields of `computed`."""
        return {}

    # Finding rows

    def counts(self, row: Values) -> bool:
        """True if a row has neither expired nor been deleted."""
        return ((self.until is None or row[self.until] > now())
                and (self.gone is None or row[self.gone] is None))

    def shows(self, call: Call, row: Values) -> bool:
        """True if a row counts, and the caller may view it."""
        if not self.counts(row):
            return False
        if call.access.allows(self.view, row):
            return True
        call.write.hidden = row
        return False

    def load_values(self, call: Call) -> dict[str, Any] | None:
        """Returns the columns of the row that the path names; None if the caller may not view it."""
        return self.visible(call, call.path["id"])

    def rows(self, call: Call) -> Rows[Any]:
        """Returns the rows of the caller's tenant."""
        return Rows(self.model, call.tenant_id)

    def sees(self, call: Call, id: str) -> bool:
        """True if the caller may view the row. A row that was seen in this call is not read again."""
        if (self.name, id) in call.seen:
            return True
        if self.visible(call, id) is None:
            return False
        if len(call.seen) >= _SEEN:
            call.seen.clear()
        call.seen.add((self.name, id))
        return True

    def visible(self, call: Call, key: str, column: str = "id") -> dict[str, Any] | None:
        """Returns the columns of a row; None if it does not exist, or if the caller may not view it.

        column  a column with unique values, such as `slug`
        """
        database = call.services.database
        rows = _by_column(database, self, column).run(database, {"tenant": call.tenant_id, "key": key})
        values = self._read(rows[0]) if rows else None
        return values if values is not None and self.shows(call, values) else None

    def referred(self, call: Call, ids: Sequence[str], pointer: str) -> list[Any]:
        """Returns the rows that a list in the body names, in its order. Locks them if there is a transaction.

        Raises `Problem` (`invalid_reference`, at `pointer` with the index in it) for rows that the caller may not
        view, or that do not exist.
        """
        visible = {row.id: row for row in self.rows(call).find_all(set(ids), lock=not call.access.is_supposed)
                   if self.shows(call, row.__data__)}
        faults = [dangling(pointer.format(index)) for index, id in enumerate(ids) if id not in visible]
        if faults:
            raise Problem.of(faults, "invalid_body")
        return [visible[id] for id in ids]

    def visible_many(self, call: Call, ids: Collection[str]) -> dict[str, dict[str, Any]]:
        """Returns the representations of the rows that the caller may view, by id. One query serves many ids."""
        narrowing, sorted_ids = call.access.narrow(self.view, self.model), sorted(ids)
        result: dict[str, dict[str, Any]] = {}
        if narrowing is not None:
            for start in range(0, len(sorted_ids), _MOST):
                result |= self._visible(call, narrowing, sorted_ids[start:start + _MOST])
        return result

    def _visible(self, call: Call, narrowing: Narrowing, ids: Collection[str]) -> dict[str, dict[str, Any]]:
        database, values = call.services.database, placeholders(ids)
        tuples = _by_ids(database, self, narrowing.where, len(values)).run(
            database, {**narrowing.values, "tenant": call.tenant_id, **self.moment(), **values})
        rows = [self._read(row) for row in tuples]
        call.access.note_shown(self.view, rows)
        answers = self.represent(call, rows, self.representation.names)
        return {row[self._id]: answer for row, answer in zip(tuples, answers, strict=True)}

    # From rows to JSON

    def represent(self, call: Call, rows: list[dict[str, Any]], names: Sequence[str],
                  expand: Iterable[str] = ()) -> list[dict[str, Any]]:
        """Returns rows as the caller may see them: without hidden fields, with the references in `expand`."""
        if not self._attached.isdisjoint(names):
            self.attach(call.tenant_id, rows)
        answers = [self._shown(call, row, names) for row in rows]
        for name in expand:
            self._expand(call, rows, answers, self.expansions[name])
        return answers

    def _shown(self, call: Call, row: Values, names: Sequence[str]) -> dict[str, Any]:
        answer = self.representation.encode(row, names)
        for permission, guarded, outer in self.guards_in(call.access.policy).groups:
            if not answer.keys().isdisjoint(outer) and not call.access.allows(permission, row):
                remove(answer, guarded)
        return answer

    def hidden(self, call: Call, row: Values, names: Collection[str]) -> list[str]:
        """Returns the fields among `names` that the caller may not see in this row.

        The name of a list includes the fields of its entries.
        """
        result: list[str] = []
        for permission, guarded, outer in self.guards_in(call.access.policy).groups:
            requested = [name for name in guarded
                         if name in names or (name not in outer and outer_of(name) in names)]
            if requested and not call.access.allows(permission, row):
                result += requested
        return result

    def _expand(self, call: Call, rows: list[dict[str, Any]], answers: list[dict[str, Any]],
                expansion: Expansion) -> None:
        guards = self.guards_in(call.access.policy).by_field
        if needed := {guards[name] for name in expansion.read if name in guards}:
            shown = [(row, answer) for row, answer in zip(rows, answers, strict=True)
                     if all(call.access.allows(permission, row) for permission in needed)]
            rows, answers = [row for row, _ in shown], [answer for _, answer in shown]
        expansion.apply(call, rows, answers)


@cache_sql
def _by_column(database: Database, readable: Readable, column: str) -> Prepared:
    query = Rows(readable.model, Bind("tenant")).select(*readable.columns)
    return prepare(database, query.where(readable.model._meta.fields[column] == Bind("key")))


@cache_sql
def _by_ids(database: Database, readable: Readable, where: Where, count: int) -> Prepared:
    query = Rows(readable.model, Bind("tenant")).select(*readable.columns)
    return prepare(database, query.where(readable.model.id.in_(binds(count)), where.expression(), *readable.lasting))
