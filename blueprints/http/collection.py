"""`Collection`: a table, a schema and a policy become a REST resource.

A subclass declares what it is; the endpoints below are generated from the declaration and run through the
pipeline like every other. What a handler gets has been found through `<resource>.view` and judged, so that
nobody can forget the check. To change what happens, override `create`, `update`, `delete`, `restrict` or `attach`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import peewee as pw

from models.base import Owned, Rows
from models.prepared import Bind, Prepared, prepare
from models.share import withdraw

from .body import JSON, MERGE_PATCH
from .call import Call, Endpoint
from .conditional import entity_tag
from .errors import Fault, Problem
from .fields import Reference, StrictSchema
from .listing import Listing
from .query import ItemQuery
from .representation import Representation
from .respond import fingerprint

Method = TypeVar("Method", bound=Callable[..., Any])
Values = Mapping[str, Any]


class Conflict(Problem):
    """The state of a row does not allow this. Raise it in a collection's own code: 409."""

    def __init__(self, detail: str, code: str = "conflict", faults: Sequence[Fault] = ()) -> None:
        super().__init__(code, detail, faults)


@dataclass(frozen=True)
class Action:
    """`POST /api/{collection}/{id}/{name}`: calls `method`, then moves `state` along `transitions`."""

    name: str
    transitions: Mapping[Any, Any]
    state: str
    method: Callable[..., None]


def action(name: str, *, transitions: Mapping[Any, Any], state: str = "status") -> Callable[[Method], Method]:
    """Declare a method of a collection as an action, permitted by `<resource>.<name>`.

    The method gets the row in the state that it leaves, and may set more, or raise `Conflict`; then the row moves
    and is saved.
    """

    def mark(method: Method) -> Method:
        method.action = Action(name, transitions, state, method)  # type: ignore[attr-defined]
        return method

    return mark


class Collection:
    """One REST resource. The class attributes are the whole declaration.

    name        plural: the path, `/api/<name>`
    resource    singular: the permissions, `<resource>.view`
    sort        sort orders that clients may ask for; each is served by an index
    filters     field → the operators that it may be filtered by
    expand      references that may be answered as objects beside their ids
    guarded     fields that only the row's owner and `<resource>.manage` see
    managed     fields that only `<resource>.manage` may set
    create_only fields that are set when a row is made, and never again
    """

    name: ClassVar[str]
    resource: ClassVar[str]
    model: ClassVar[type[Owned]]
    schema: ClassVar[type[StrictSchema]]
    sort: ClassVar[tuple[str, ...]] = ("created_at",)
    default_sort: ClassVar[str] = "-created_at"
    filters: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    expand: ClassVar[tuple[str, ...]] = ()
    guarded: ClassVar[tuple[str, ...]] = ()
    managed: ClassVar[tuple[str, ...]] = ("owner_id",)
    create_only: ClassVar[tuple[str, ...]] = ()

    def __init__(self) -> None:
        self._schema = self.schema()
        self.representation = Representation(self._schema, self.model)
        self.references = {name: field for name, field in self._schema.fields.items()
                           if isinstance(field, Reference)}
        self._attached = frozenset(self.representation.names) - frozenset(self.representation.columns)
        self.actions = [found for name in dir(type(self))
                        if isinstance(found := getattr(getattr(type(self), name), "action", None), Action)]
        self.listing = Listing(self)
        self._item_query = ItemQuery(self)
        self._by_id: Prepared | None = None
        self._read = self.representation.reader(self.columns)

    # What a collection may override

    def create(self, call: Call, row: Any) -> None:
        """Store a new row, stamped and judged."""
        self.rows(call).insert(row)

    def update(self, call: Call, row: Any, changes: Values) -> None:
        """Store the changed columns of a row; references are checked already."""
        for name, value in changes.items():
            setattr(row, name, value)
        self.rows(call).save(row)

    def delete(self, call: Call, row: Any) -> None:
        """Remove a row, and who it was shared with."""
        withdraw(row.tenant_id, self.resource, row.id)
        self.rows(call).delete(row)

    def restrict(self, call: Call) -> None:
        """Refuse what no policy line can allow to be done to `call.row`; nothing by default."""

    def attach(self, tenant_id: str, rows: list[dict[str, Any]]) -> None:
        """Add to each row the fields that are answered with it and live in another table."""

    # Declarations read by others

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

    def endpoints(self) -> Iterator[Endpoint]:
        """Every route of the collection."""
        one, many, body = f"/api/{self.name}/<id>", f"/api/{self.name}", self._schema
        item = self._item_query.schema
        writing: dict[str, Any] = {"writes": True, "restrict": self.restrict}
        changing: dict[str, Any] = {**writing, "load": self.load_record, "conditional": True}
        yield Endpoint(name="list", method="GET", path=many, permission=self.view, handler=self.listing.answer,
                       query=self.listing.query.schema, answer=self.listing.envelope())
        yield Endpoint(name="get", method="GET", path=one, permission=self.view, handler=self._get,
                       load=self.load_values, query=item, answer=body)
        yield Endpoint(name="create", method="POST", path=many, permission=self.permission("create"), body=body,
                       handler=self._create, load=self.draft, status=201, answer=body, **writing)
        yield Endpoint(name="replace", method="PUT", path=one, permission=self.permission("update"), body=body,
                       fixed=self.create_only, handler=self._replace, judge_after=True, answer=body, **changing)
        yield Endpoint(name="modify", method="PATCH", path=one, permission=self.permission("update"), body=body,
                       partial=True, fixed=self.create_only, accepts=MERGE_PATCH, handler=self._modify,
                       judge_after=True, answer=body, **changing)
        yield Endpoint(name="delete", method="DELETE", path=one, permission=self.permission("delete"),
                       handler=self._delete, status=204, **changing)
        for found in self.actions:
            yield Endpoint(name=found.name, method="POST", path=f"{one}/{found.name}", body=StrictSchema(),
                           body_required=False, permission=self.permission(found.name),
                           handler=self._performing(found), answer=body,
                           summary=(found.method.__doc__ or "").strip(), **changing)

    # Finding rows

    def rows(self, call: Call) -> Rows[Any]:
        """The rows of the caller's tenant."""
        return Rows(self.model, call.tenant_id)

    def load_record(self, call: Call) -> Any:
        """The row that the path names, locked for the change, or None when the caller may not view it."""
        row = self.rows(call).find(call.path["id"], lock=True)
        return row if row is not None and call.access.allows(self.view, row.__data__) else None

    def load_values(self, call: Call) -> dict[str, Any] | None:
        """The columns of the row that the path names, or None when the caller may not view it."""
        return self.visible(call, call.path["id"])

    def visible(self, call: Call, id: str) -> dict[str, Any] | None:
        """A row as its columns, seen with the caller's eyes: None for absent and for hidden alike."""
        database = call.services.database
        if self._by_id is None:
            self._by_id = prepare(database, Rows(self.model, Bind("tenant")).select(*self.columns).where(
                self.model.id == Bind("id")))
        found = self._by_id.run(database, {"tenant": call.tenant_id, "id": id})
        values = self._read(found[0]) if found else None
        return values if values is not None and call.access.allows(self.view, values) else None

    def draft(self, call: Call) -> Any:
        """A new row from the body, stamped and not yet stored: what `<resource>.create` is judged on."""
        faults = [_read_only(name) for name in call.read_only]
        row = self.model(tenant_id=call.tenant_id)
        self.stamp(call, row)
        if not call.access.allows(self.manage, row.__data__):
            faults += [_read_only(name) for name in self.managed if name in call.body]
        faults += self._dangling(call, call.body)
        if faults:
            raise Problem.of(faults, "invalid_body")
        for name in self.model._meta.fields:
            # The policy reads every column of a row, also of one that is not stored yet.
            setattr(row, name, call.body[name] if name in call.body else getattr(row, name))
        return row

    def stamp(self, call: Call, row: Any) -> None:
        """Give a new row its owner and department: those of who makes it."""
        row.owner_id, row.department = call.principal.id, call.principal.department

    # Handlers

    def _get(self, call: Call) -> dict[str, Any]:
        query = self._item_query.read(call.query)
        answer = self.represent(call, [call.row], query.names, query.expand)[0]
        whole = query.names == self.representation.names and not query.expand and len(answer) == len(query.names)
        call.headers["ETag"] = entity_tag(call.row["version"], None if whole else fingerprint(repr(answer).encode()))
        return answer

    def _create(self, call: Call) -> dict[str, Any]:
        self.create(call, call.row)
        call.headers["Location"] = f"/api/{self.name}/{call.row.id}"
        return self._written(call)

    def _replace(self, call: Call) -> dict[str, Any]:
        absent = {name: self.model._meta.fields[name].default for name in self._schema.load_fields
                  if name in self.model._meta.fields and name not in call.body
                  and name not in self.managed and name not in self.create_only}
        return self._change(call, {**absent, **call.body})

    def _modify(self, call: Call) -> dict[str, Any]:
        return self._change(call, call.body)

    def _change(self, call: Call, body: Values) -> dict[str, Any]:
        changes = self._permitted(call, body)
        if changes:
            self.update(call, call.row, changes)
        return self._written(call)

    def _delete(self, call: Call) -> None:
        self.delete(call, call.row)

    def _performing(self, found: Action) -> Callable[[Call], dict[str, Any]]:
        def perform(call: Call) -> dict[str, Any]:
            row, before = call.row, getattr(call.row, found.state)
            if before not in found.transitions:
                meta = {"from": before, "allowed_from": list(found.transitions)}
                fault = Fault("invalid_transition", f"{found.name} is not possible from {before}.",
                              pointer=f"/{found.state}", meta=meta)
                raise Problem.of([fault], "invalid_transition")
            found.method(self, row)
            setattr(row, found.state, found.transitions[before])
            self.rows(call).save(row)
            return self._written(call)

        return perform

    def _written(self, call: Call) -> dict[str, Any]:
        call.headers["ETag"] = entity_tag(call.row.version)
        return self.represent(call, [dict(call.row.__data__)], self.representation.names)[0]

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

    def visible_many(self, call: Call, ids: set[str]) -> dict[str, dict[str, Any]]:
        """The representations of those of these rows that the caller may view, by id, in one query."""
        if not ids:
            return {}
        found = [dict(row.__data__) for row in self.rows(call).select().where(self.model.id.in_(sorted(ids)))]
        seen = [values for values in found if call.access.allows(self.view, values)]
        shown = self.represent(call, seen, self.representation.names)
        return {values["id"]: answer for values, answer in zip(seen, shown, strict=True)}

    # What may be written

    def _permitted(self, call: Call, body: Values) -> dict[str, Any]:
        """The changes in a body, after refusing what this caller may not set; equal values pass."""
        current = dict(call.row.__data__)
        self.attach(call.tenant_id, [current])
        shown = self.representation.encode(current, self.representation.names)
        manages = call.access.allows(self.manage, current)
        fixed = () if manages else self.managed
        faults = [_read_only(name) for name, value in call.read_only.items() if value != shown.get(name)]
        faults += [_read_only(name) for name, value in body.items() if name in fixed and value != shown.get(name)]
        changes = {name: value for name, value in body.items() if name not in fixed}
        faults += self._dangling(call, {name: value for name, value in changes.items()
                                        if value != current.get(name)})
        if faults:
            raise Problem.of(faults, "invalid_body")
        return changes

    def _dangling(self, call: Call, values: Values) -> list[Fault]:
        """References to rows that are absent or that the caller may not view: one answer for both."""
        return [Fault("invalid_reference", "There is no such object, or you may not see it.", pointer=f"/{name}")
                for name, field in self.references.items() if values.get(name) is not None
                and call.services.collections[field.collection].visible(call, values[name]) is None]


def _read_only(name: str) -> Fault:
    return Fault("read_only_field", "This field cannot be set.", pointer=f"/{name}")
