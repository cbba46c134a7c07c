"""`Collection`: a table, a schema and a policy become a REST resource.

The endpoints below are generated from the declaration of a subclass. They run through the pipeline like every other.
A handler gets a row that the caller may view (`<resource>.view`) and that the endpoint's permission was checked for.
To change what happens, override `create`, `update`, `delete`, `prepare`, `restrict` or `attach`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, ClassVar

from ..http.pipeline import conditional
from ..http.pipeline.conditional import written_version
from ..http.protocol.entity_tags import body_hash, entity_tag, view_hash
from ..http.protocol.json_body import MERGE_PATCH
from ..http.protocol.problems import Fault, Problem, not_found, read_only
from ..http.reading.listing import Listing
from ..http.reading.query import ItemQuery
from ..http.reading.readable import Values
from ..http.request import events, setting
from ..http.request.call import Call
from ..http.request.endpoint import Endpoint
from ..http.request.urls import path_of
from ..http.schemas.guarded import outer_of, present
from ..http.schemas.validation import MISSING
from ..http.writing import sharing
from ..http.writing.actions import Action
from ..http.writing.writable import Writable, references_of
from ..jobs import exports, imports


class Collection(Writable):
    """One REST resource. These class attributes are the whole declaration.

    name          plural, in the path: `/api/<name>`
    resource      singular, in permissions: `<resource>.view`
    model         the table
    schema        the fields of its rows, in answers and bodies
    sort          sort orders that clients may use; each needs an index
    default_sort  the sort order of a list, unless the client names one
    born          the column with the time of creation; lists with `snapshot=true` leave out newer rows
    until         the expiry column: an expired row is treated as deleted; None: rows do not expire
    gone          the revocation column: a row with a time in it is treated as deleted; None: no such column
    filters       field → the operators of its filters
    search        columns searched by the query parameter `q`; must equal `searched` of the model
    expand        names of references that clients may expand to whole objects
    guarded       field → permission needed to see it; `department` of an `Owned` row is guarded without an entry here
    view_guarded  field or `items.price` → permission needed to see it; `view` decides until a rule names it
    judged        columns that rules may read although no answer shows them
    computed      fields outside of the schema, answered only if the query parameter `fields` asks for them
    managed       fields that only callers with `<resource>.manage` may set; a rule can name a permission for each
    set_guarded   field → permission needed to set it; `create` and `update` decide until a rule names the permission
    create_only   fields that are set at creation and never change
    proved        read-only fields that no import sets either: a new row begins without a value
    null_at_create  columns filled after `<resource>.create` is evaluated; rules about `create` cannot read them
    import_keys   unique fields by which an import finds an existing row
    most_owned    the number of rows that a user without `<resource>.manage` may own; None: the setting `owner_rows`
    on_erase      effect of an erasure on the rows of a user: `delete`, `anonymise` or `hand_over`
    anonymised    column → its value in an anonymised row
    imports       True if rows can be imported
    shares        True if rows can be shared
    overview      fields that a list of the console shows beside the title; empty: a few, chosen by their kinds
    """

    imports: ClassVar[bool] = True
    overview: ClassVar[tuple[str, ...]] = ()

    def __init__(self) -> None:
        super().__init__()
        self.listing = Listing(self)
        self._item_query = ItemQuery(self)
        # A PUT keeps columns without a default that allow no null: the collection has set their first value.
        self._replaceable = tuple(
            name for name in self.body_schema.load_fields
            if (column := self.model._meta.fields.get(name)) is not None
            and name not in self.managed and name not in self.create_only
            and (column.null or column.default is not None))
        self._defaults = tuple((name, column.default) for name in self.body_schema.load_fields
                               if (column := self.model._meta.fields.get(name)) is not None
                               and isinstance(column.default, str | int))
        # If a client sends an answer back by PUT, fields that were hidden in it are absent, and keep their values.
        self._keeps_absent = tuple(name for name in self.guards if name in self.body_schema.load_fields)

    @cached_property
    def served(self) -> tuple[Endpoint, ...]:
        """The `endpoints`, cached because they take long to make."""
        return tuple(self.endpoints())

    def endpoints(self) -> Iterator[Endpoint]:
        """Yields the endpoints of the collection."""
        item_path, list_path, body = f"/api/{self.name}/<id>", f"/api/{self.name}", self.body_schema
        item, shape = self._item_query.schema, self.answer
        writing: dict[str, Any] = {"writes": True, "restrict": self.restrict}
        if self.prepares:
            writing["fetch"] = self._fetch
        with_etag: dict[str, Any] = {"version_guard": self.guards.get("version")}
        changing: dict[str, Any] = {**writing, **with_etag, "load": self.load_record, "conditional": True}
        confirming: dict[str, Any] = {"prepare": self._confirm} if self.confirms else {}
        required = tuple(name for name in self._keeps_absent if self.body_schema.fields[name].required)
        yield Endpoint(name="list", method="GET", path=list_path, permission=self.view, handler=self.listing.answer,
                       narrows=True, query=self.listing.query.schema, answer=self.listing.envelope(),
                       summary=f"List {self.name}.")
        yield Endpoint(name="get", method="GET", path=item_path, permission=self.view, handler=self.show,
                       load=self.load_values, query=item, answer=shape, summary=f"Get {self.a_row}.", **with_etag)
        yield Endpoint(name="create", method="POST", path=list_path, permission=self.permission("create"), body=body,
                       defaults=self._defaults,
                       handler=self._create, load=self.draft, status=201, answer=shape,
                       summary=f"Create {self.a_row}.", **writing)
        yield Endpoint(name="replace", method="PUT", path=item_path, permission=self.permission("update"), body=body,
                       fixed=self.create_only, kept=required, defaults=self._defaults, handler=self._replace,
                       judge_after=True, answer=shape,
                       summary=f"Replace {self.a_row}: what is left out gets its default.",
                       **changing, **confirming)
        yield Endpoint(name="update", method="PATCH", path=item_path, permission=self.permission("update"), body=body,
                       partial=True, fixed=self.create_only, accepts=MERGE_PATCH, handler=self._modify,
                       judge_after=True, answer=shape, summary=f"Change some fields of {self.a_row}.", **changing,
                       **confirming)
        yield Endpoint(name="delete", method="DELETE", path=item_path, permission=self.permission("delete"),
                       handler=self._delete, status=204, summary=f"Delete {self.a_row}.", **changing)
        for action in self.actions:
            yield Endpoint(name=action.name, method="POST", path=f"{item_path}/{action.name}", body=action.body,
                           body_required=action.body_required, permission=self.permission(action.name),
                           handler=self._performing(action), answer=shape,
                           summary=_action(action, self.a_row), **changing)
        yield exports.endpoint(self.listing)
        if self.imports:
            yield imports.endpoint(self)
        if self.shares:
            yield from sharing.endpoints(self)

    # Handlers

    def show(self, call: Call, names: tuple[str, ...] | None = None) -> dict[str, Any]:
        """Returns the row with the fields in the query parameter `fields`; without it, `names`; without both, all."""
        requested, expand = self._item_query.read(call.query)
        names = requested if names is None or "fields" in call.query else names
        answer = self.represent(call, [call.row], names, expand)[0]
        parts = [answer.get(self.expansions[name].within or name) for name in expand]
        if names is not self.representation.names:
            parts += [answer[name] for name in self.computed if name in answer]
        if call.endpoint.by_slug and call.path["id"] != call.row["id"]:
            parts.append(call.row["id"])  # a slug can move to another row
        self._tag(call, answer, parts)
        return answer

    def _create(self, call: Call) -> dict[str, Any]:
        call.services.row_quota.take(self, call.row, call.access.allows)
        self.create(call, call.row)
        events.note(call, self.name, events.CREATED, call.row.id)
        call.headers["Location"] = path_of(call.request, f"/api/{self.name}/{call.row.id}")
        return self._answer(call)

    def _fetch(self, call: Call) -> None:
        """Calls `prepare`; for an existing row, the permission is checked first.

        Afterwards the pipeline loads the row and checks the permission again.
        """
        if "id" in call.path:
            with call.services.database.connected():
                call.row = self.rows(call).find(call.path["id"])
                if call.row is None or not self.shows(call, call.row.__data__):
                    raise not_found()
                call.access.require(call.endpoint.permission or "", call.facts)
                self.restrict(call)
                conditional.check(call)
        self.prepare(call)
        call.row = None

    def _confirm(self, call: Call) -> None:
        self.confirm(call, call.path["id"], call.body)

    def _replace(self, call: Call) -> dict[str, Any]:
        missing = [name for name in self._keeps_absent if name not in call.body]
        hidden = self.hidden(call, call.facts, missing)
        if faults := [Fault("missing_field", MISSING, pointer=f"/{name}") for name in missing
                      if name not in hidden and self.body_schema.fields[name].required]:
            raise Problem.of(faults, "invalid_body")
        absent = {name: self.first_value(name) for name in self._replaceable
                  if name not in call.body and name not in hidden}
        return self._change(call, {**absent, **call.body})

    def _modify(self, call: Call) -> dict[str, Any]:
        return self._change(call, call.body)

    def _change(self, call: Call, body: Values) -> dict[str, Any]:
        changes = self.permitted(call, body)
        if changes:
            self.update(call, call.row, changes)
            events.note(call, self.name, events.UPDATED, call.row.id)
        return self._answer(call)

    def _delete(self, call: Call) -> None:
        self.delete(call, call.row)
        events.note(call, self.name, events.DELETED, call.row.id)
        call.services.row_quota.forget(self, call.row.__data__.get("owner_id"))

    def _performing(self, action: Action) -> Callable[[Call], dict[str, Any]]:
        references = references_of(action.body)

        def perform(call: Call) -> dict[str, Any]:
            row, before = call.row, dict(call.row.__data__)
            if faults := [*map(read_only, call.read_only), *self.lost(call, references, call.body)]:
                raise Problem.of(faults, "invalid_body")
            if not action.starts_from(row.__data__):
                hidden = bool(self.hidden(call, call.facts, (action.state,)))
                raise action.conflict(getattr(row, action.state), hidden=hidden)
            if guarded := {name: value for name, value in call.body.items() if name in self.set_guards}:
                self.require_settable(call, guarded, before, self.hidden(call, before, guarded))
            version = row.version
            action.perform(self, call, row)
            if guarded:
                setting.require(call, row.__data__)
            self.rows(call).save(row)
            if row.version != version:
                events.note(call, self.name, events.UPDATED, row.id)
            events.note(call, self.name, action.name, row.id)
            return self._answer(call)

        return perform

    def _answer(self, call: Call) -> dict[str, Any]:
        answer = self.represent(call, [dict(call.row.__data__)], self.representation.names)[0]
        self._tag(call, answer)
        return answer

    def _tag(self, call: Call, answer: Values, parts: Sequence[Any] = ()) -> None:
        """Sets the ETag of a row's answer. An answer with a part of the fields has an ETag of its own.

        parts  values that the answer depends on, besides the row's version and the names of the fields
        """
        view = None
        absent = [name for name in self._of_entries
                  if outer_of(name) in answer and not present(answer, name)] if self._of_entries else []
        if parts:
            view = body_hash(repr((*answer, *absent, parts)).encode())
        elif absent or len(answer) != len(self.representation.names):
            view = view_hash((*answer, *absent))
        call.headers["ETag"] = entity_tag(written_version(call, self.guards.get("version")), view)


def _action(action: Action, a_row: str) -> str:
    """Returns the summary of an action: `Publish an article: show it to every reader.`"""
    name, about = action.name.replace("_", " ").capitalize(), action.about
    if not about:
        return f"{name} {a_row}."
    return f"{name} {a_row}: {about if about[1:2].isupper() else about[0].lower() + about[1:]}"
