"""What a caller sees of a collection: rows found through `<resource>.view`, turned into JSON.

Nothing here changes a row. Fields that the caller may not see are left out, and an object that is expanded is
authorised like any other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import peewee as pw

from models.base import Owned, Rows
from models.prepared import Bind, Prepared, prepare

from .action import Action
from .call import Call
from .errors import Problem, dangling
from .fields import Reference, StrictSchema
from .representation import Representation

Values = Mapping[str, Any]


class Readable:
    """The reading half of a `Collection`, which explains the attributes."""

    name: ClassVar[str]
    resource: ClassVar[str]
    model: ClassVar[type[Owned]]
    schema: ClassVar[type[StrictSchema]]
    guarded: ClassVar[tuple[str, ...]] = ()

    def __init__(self) -> None:
        self.body_schema = self.schema()
        self.representation = Representation(self.body_schema, self.model)
        self.references = {name: field for name, field in self.body_schema.fields.items()
                           if isinstance(field, Reference)}
        self.actions = [found for name in dir(type(self))
                        if isinstance(found := getattr(getattr(type(self), name), "action", None), Action)]
        self._attached = frozenset(self.representation.names) - frozenset(self.representation.columns)
        self._read = self.representation.reader(self.columns)
        self._by_id: dict[str, Prepared] = {}

    def attach(self, tenant_id: str, rows: list[dict[str, Any]]) -> None:
        """Add to each row the fields that are answered with it and live in another table."""

    @property
    def columns(self) -> tuple[pw.Field, ...]:
        """Every column of the table, in its order."""
        return tuple(self.model._meta.sorted_fields)

    @property
    def view(self) -> str:
        return self.permission("view")

    @property
    def manage(self) -> str:
        return self.permission("manage")

    def permission(self, verb: str) -> str:
        """The permission that allows `verb` on this resource."""
        return f"{self.resource}.{verb}"

    # Finding rows

    def rows(self, call: Call) -> Rows[Any]:
        """The rows of the caller's tenant."""
        return Rows(self.model, call.tenant_id)

    def visible(self, call: Call, id: str) -> dict[str, Any] | None:
        """A row as its columns, seen with the caller's eyes: None for absent and for hidden alike."""
        database = call.services.database
        statement = self._by_id.get(database.dialect)
        if statement is None:
            query = Rows(self.model, Bind("tenant")).select(*self.columns).where(self.model.id == Bind("id"))
            statement = self._by_id[database.dialect] = prepare(database, query)
        found = statement.run(database, {"tenant": call.tenant_id, "id": id})
        values = self._read(found[0]) if found else None
        return values if values is not None and call.access.allows(self.view, values) else None

    def referred(self, call: Call, ids: Sequence[str], pointer: str) -> list[Any]:
        """The rows that a list in the body names, in its order; nobody else changes them in this transaction.

        Raises `Problem` (`invalid_reference`, at `pointer` with the index in it) for those that the caller may not
        view, or that are absent.
        """
        seen = {row.id: row for row in self.rows(call).find_all(set(ids), lock=True)
                if call.access.allows(self.view, row.__data__)}
        faults = [dangling(pointer.format(index)) for index, id in enumerate(ids) if id not in seen]
        if faults:
            raise Problem.of(faults, "invalid_body")
        return [seen[id] for id in ids]

    def visible_many(self, call: Call, ids: set[str]) -> dict[str, dict[str, Any]]:
        """The representations of those of these rows that the caller may view, by id, in one query."""
        if not ids:
            return {}
        found = [dict(row.__data__) for row in self.rows(call).select().where(self.model.id.in_(sorted(ids)))]
        seen = [values for values in found if call.access.allows(self.view, values)]
        shown = self.represent(call, seen, self.representation.names)
        return {values["id"]: answer for values, answer in zip(seen, shown, strict=True)}

    # From rows to JSON

    def represent(self, call: Call, rows: list[dict[str, Any]], names: Sequence[str],
                  expand: Iterable[str] = ()) -> list[dict[str, Any]]:
        """Rows as the caller may see them: guarded fields only where permitted, references expanded if asked."""
        if not self._attached.isdisjoint(names):
            self.attach(call.tenant_id, rows)
        answers = [self.representation.encode(row, self._seen(call, row, names)) for row in rows]
        if "allowed_actions" in names:
            for row, answer in zip(rows, answers, strict=True):
                answer["allowed_actions"] = self.allowed_actions(call, row)
        for name in expand:
            self._expand(call, rows, answers, name)
        return answers

    def allowed_actions(self, call: Call, row: Values) -> list[str]:
        """What this caller may do to this row now: verbs whose permission holds and whose state fits."""
        verbs = [verb for verb in ("update", "delete", "share") if call.access.allows(self.permission(verb), row)]
        return verbs + [found.name for found in self.actions if row[found.state] in found.transitions
                        and call.access.allows(self.permission(found.name), row)]

    def _seen(self, call: Call, row: Values, names: Sequence[str]) -> Sequence[str]:
        if not self.guarded or row["owner_id"] == call.principal.id is not None \
                or call.access.allows(self.manage, row):
            return names
        return tuple(name for name in names if name not in self.guarded)

    def _expand(self, call: Call, rows: list[dict[str, Any]], answers: list[dict[str, Any]], name: str) -> None:
        column, reference = next((column, field) for column, field in self.references.items()
                                 if field.expand == name)
        target = call.services.collections[reference.collection]
        objects = target.visible_many(call, {row[column] for row in rows if row[column] is not None})
        for row, answer in zip(rows, answers, strict=True):
            answer[name] = objects.get(row[column])
