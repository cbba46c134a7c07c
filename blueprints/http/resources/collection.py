"""`Collection`: a table, a schema and a policy become a REST resource.

A subclass declares what it is; the endpoints below are generated from the declaration and run through the
pipeline like every other. What a handler gets has been found through `<resource>.view` and judged, so that
nobody can forget the check. To change what happens, override `create`, `update`, `delete`, `restrict` or `attach`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

import peewee as pw

from models.base import whole
from models.tables.share import withdraw

from ..protocol.entity_tags import body_hash, entity_tag
from ..protocol.json_body import MERGE_PATCH
from ..protocol.messages import Message
from ..protocol.problems import Fault, Problem, dangling, read_only
from ..reading import exporting
from ..reading.listing import Listing
from ..reading.query import ItemQuery
from ..reading.readable import Readable, Values
from ..request.call import Call, Endpoint
from ..schemas.fields import StrictSchema
from ..schemas.records import answered
from ..writing import importing, sharing
from ..writing.actions import Action


class Collection(Readable):
    """One REST resource. The class attributes are the whole declaration.

    name        plural: the path, `/api/<name>`
    resource    singular: the permissions, `<resource>.view`
    sort        sort orders that clients may ask for; each is served by an index
    born        the column that says when a row came to be, for `snapshot=true`
    filters     field → the operators that it may be filtered by
    search      columns whose words can be searched for (`q`): the table's `searched`, which are indexed
    expand      references that may be answered as objects beside their ids
    guarded     fields that only the row's owner and `<resource>.manage` see
    managed     fields that only `<resource>.manage` may set
    create_only fields that are set when a row is made, and never again
    imports     whether rows can be imported
    import_keys unique fields by which an import may find the row that a line means
    most_owned  rows that a user without `<resource>.manage` may own; None: as many as the setting `owner_rows` says
    """

    sort: ClassVar[tuple[str, ...]] = ("created_at",)
    default_sort: ClassVar[str] = "-created_at"
    born: ClassVar[str] = "created_at"
    filters: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    search: ClassVar[tuple[str, ...]] = ()
    expand: ClassVar[tuple[str, ...]] = ()
    managed: ClassVar[tuple[str, ...]] = ("owner_id",)
    create_only: ClassVar[tuple[str, ...]] = ()
    imports: ClassVar[bool] = True
    import_keys: ClassVar[tuple[str, ...]] = ()
    most_owned: ClassVar[int | None] = None

    def __init__(self) -> None:
        super().__init__()
        self.listing = Listing(self)
        self._item_query = ItemQuery(self)

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

    @property
    def stores_plainly(self) -> bool:
        """Whether making a row is nothing but its insertion, so that many can be stored at once."""
        return type(self).create is Collection.create

    def restrict(self, call: Call) -> None:
        """Refuse what no policy line can allow to be done to `call.row`; nothing by default."""

    def endpoints(self) -> Iterator[Endpoint]:
        """Every route of the collection."""
        one, many, body = f"/api/{self.name}/<id>", f"/api/{self.name}", self.body_schema
        item, shown = self._item_query.schema, answered(self.schema, self.expand)
        writing: dict[str, Any] = {"writes": True, "restrict": self.restrict}
        changing: dict[str, Any] = {**writing, "load": self.load_record, "conditional": True}
        yield Endpoint(name="list", method="GET", path=many, permission=self.view, handler=self.listing.answer,
                       narrows=True, query=self.listing.query.schema, answer=self.listing.envelope(),
                       summary=f"List {self.name}.")
        yield Endpoint(name="get", method="GET", path=one, permission=self.view, handler=self.show,
                       load=self.load_values, query=item, answer=shown, summary=f"Get one {self.resource}.")
        yield Endpoint(name="create", method="POST", path=many, permission=self.permission("create"), body=body,
                       handler=self._create, load=self.draft, status=201, answer=shown,
                       summary=f"Create one {self.resource}.", **writing)
        yield Endpoint(name="replace", method="PUT", path=one, permission=self.permission("update"), body=body,
                       fixed=self.create_only, handler=self._replace, judge_after=True, answer=shown,
                       summary=f"Replace one {self.resource}: what is left out gets its default.", **changing)
        yield Endpoint(name="modify", method="PATCH", path=one, permission=self.permission("update"), body=body,
                       partial=True, fixed=self.create_only, accepts=MERGE_PATCH, handler=self._modify,
                       judge_after=True, answer=shown, summary=f"Change one {self.resource}, in part.", **changing)
        yield Endpoint(name="delete", method="DELETE", path=one, permission=self.permission("delete"),
                       handler=self._delete, status=204, summary=f"Delete one {self.resource}.", **changing)
        for found in self.actions:
            yield Endpoint(name=found.name, method="POST", path=f"{one}/{found.name}", body=StrictSchema(),
                           body_required=False, permission=self.permission(found.name),
                           handler=self._performing(found), answer=shown,
                           summary=f"{found.name.capitalize()} one {self.resource}. {found.about}", **changing)
        yield exporting.endpoint(self)
        if self.imports:
            yield importing.endpoint(self)
        yield from sharing.endpoints(self)

    # Finding the row of a request

    def load_record(self, call: Call) -> Any:
        """The row that the path names, locked for the change, or None when the caller may not view it."""
        row = self.rows(call).find(call.path["id"], lock=True)
        return row if row is not None and call.access.allows(self.view, row.__data__) else None

    def load_values(self, call: Call) -> dict[str, Any] | None:
        """The columns of the row that the path names, or None when the caller may not view it."""
        return self.visible(call, call.path["id"])

    def draft(self, call: Call) -> Any:
        """A new row from the body, stamped and not yet stored: what `<resource>.create` is judged on."""
        faults = [read_only(name) for name in call.read_only]
        row = self.model(tenant_id=call.tenant_id)
        # The policy reads every column of a row, also of one that is not stored yet.
        row.__data__ = whole(row)
        self.stamp(call, row)
        if not call.access.allows(self.manage, row.__data__):
            faults += [read_only(name) for name in self.managed if name in call.body]
        faults += self._dangling(call, call.body)
        if faults:
            raise Problem.of(faults, "invalid_body")
        for name, value in call.body.items():
            if name in self.model._meta.fields:
                setattr(row, name, value)
        return row

    def stamp(self, call: Call, row: Any) -> None:
        """Give a new row its owner and department: those of who makes it."""
        row.owner_id, row.department = call.principal.id, call.principal.department

    # Handlers

    def show(self, call: Call, names: tuple[str, ...] | None = None) -> dict[str, Any]:
        """The row, with the fields that were asked for, else with `names`, else with all."""
        query = self._item_query.read(call.query)
        names = query.names if names is None or "fields" in call.query else names
        answer = self.represent(call, [call.row], names, query.expand)[0]
        self._tag(call, answer, whole=names == self.representation.names and not query.expand)
        return answer

    def _create(self, call: Call) -> dict[str, Any]:
        call.services.ownership.take(self, call.row, call.access.allows)
        self.create(call, call.row)
        call.headers["Location"] = f"/api/{self.name}/{call.row.id}"
        return self._written(call)

    def _replace(self, call: Call) -> dict[str, Any]:
        absent = {name: _default(self.model._meta.fields[name]) for name in self.body_schema.load_fields
                  if name in self.model._meta.fields and name not in call.body
                  and name not in self.managed and name not in self.create_only}
        return self._change(call, {**absent, **call.body})

    def _modify(self, call: Call) -> dict[str, Any]:
        return self._change(call, call.body)

    def _change(self, call: Call, body: Values) -> dict[str, Any]:
        changes = self.permitted(call, body)
        if changes:
            self.update(call, call.row, changes)
        return self._written(call)

    def _delete(self, call: Call) -> None:
        self.delete(call, call.row)
        call.services.ownership.forget(self, call.row.__data__.get("owner_id"))

    def _performing(self, found: Action) -> Callable[[Call], dict[str, Any]]:
        def perform(call: Call) -> dict[str, Any]:
            row, before = call.row, getattr(call.row, found.state)
            if before not in found.transitions:
                meta = {"from": before, "allowed_from": list(found.transitions)}
                detail = Message("{action} is not possible from {state}.", action=found.name, state=before)
                fault = Fault("invalid_transition", detail, pointer=f"/{found.state}", meta=meta)
                raise Problem.of([fault], "invalid_transition")
            found.method(self, row)
            setattr(row, found.state, found.transitions[before])
            self.rows(call).save(row)
            return self._written(call)

        return perform

    def _written(self, call: Call) -> dict[str, Any]:
        answer = self.represent(call, [dict(call.row.__data__)], self.representation.names)[0]
        self._tag(call, answer)
        return answer

    def _tag(self, call: Call, answer: Values, *, whole: bool = True) -> None:
        """The ETag of a row's answer; what shows it in part, or only to some, has one of its own."""
        whole = whole and len(answer) == len(self.representation.names)
        call.headers["ETag"] = entity_tag(call.facts["version"],
                                          None if whole else body_hash(repr(answer).encode()))

    # What may be written

    def permitted(self, call: Call, body: Values) -> dict[str, Any]:
        """The changes in a body, after refusing what this caller may not set; equal values pass."""
        current = dict(call.row.__data__)
        self.attach(call.tenant_id, [current])
        shown = self.representation.encode(current, self.representation.names)
        manages = call.access.allows(self.manage, current)
        fixed = () if manages else self.managed
        faults = [read_only(name) for name, value in call.read_only.items() if value != shown.get(name)]
        faults += [read_only(name) for name, value in body.items() if name in fixed and value != shown.get(name)]
        changes = {name: value for name, value in body.items() if name not in fixed}
        faults += self._dangling(call, {name: value for name, value in changes.items()
                                        if value != current.get(name)})
        if faults:
            raise Problem.of(faults, "invalid_body")
        return changes

    def _dangling(self, call: Call, values: Values) -> list[Fault]:
        """References to rows that are absent or that the caller may not view: one answer for both."""
        return [dangling(f"/{name}") for name, field in self.references.items() if values.get(name) is not None
                and not call.services.collections[field.collection].sees(call, values[name])]


def _default(column: pw.Field) -> Any:
    return column.default() if callable(column.default) else column.default
