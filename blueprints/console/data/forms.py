"""Forms over rows: to make one, to change or delete it, to act on it, to share it.

Each is one endpoint of the collection (`form`), with the entries that its body's schema has. To look for the row that
a reference leads to, or to add a row to a list, the form is sent to a path of its own, and drawn again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from flask import Response
from marshmallow import Schema

from gatepost import Call, Collection, Endpoint, Message, Problem
from gatepost.collections.names import Names, shown_to
from gatepost.http.credentials.console_sessions import member
from gatepost.http.credentials.step_up import CurrentPassword

from ..forms import asks_again, form, typed
from ..frame import drawn_again, page, routes, see_other, show
from ..naming import sentence
from ..values import Manner, Sent, arranged, count, row_schema, written
from .entries import Entries, outside
from .item import answered, changed_by, item
from .listed import Kind
from .lookups import is_redrawn, lookups
from .words import collection_called, field_called

_NEW, _CHANGE, _DELETE, _SHARE, _UNSHARE = "create", "update", "delete", "share", "unshare"
_OWNER = "owner_id"
_OWN = Message("If you choose nobody, you are the owner.")


@routes.of_each
def forms(collection: Collection) -> Iterator[Endpoint]:
    """The forms of a collection, and the pages that they are drawn on."""
    kind = Kind.of(collection)
    for name in (_NEW, _CHANGE, _DELETE, _SHARE, _UNSHARE, *kind.actions):
        if (endpoint := kind.served.get(name)) is not None:
            yield from _forms(kind, name, endpoint)


def _forms(kind: Kind, name: str, endpoint: Endpoint) -> Iterator[Endpoint]:
    path = f"{kind.path}/{name}" if name == _NEW else f"{kind.path}/<id>/{name}"
    asks = name == _DELETE or (endpoint.body is not None and bool(endpoint.body.load_fields))

    def draw(call: Call, problem: Problem | None = None) -> Response:
        return _delete(call, kind, problem) if name == _DELETE else _form(call, kind, name, endpoint, problem)

    def drawn(call: Call, problem: Problem | None = None) -> Response:
        return draw(call, problem) if asks else item(call, kind, problem)

    def done(call: Call, result: Any) -> Response:
        return _done(call, kind, name, endpoint, result)

    yield form(endpoint, path, done, drawn_again(drawn), identify=member)
    if not asks:
        return
    about_one: dict[str, Any] = {"narrows": True} if name == _NEW else {
        "load": _loading(kind.collection), "restrict": endpoint.restrict}
    yield Endpoint(name=f"data_{kind.name}_{name}", method="GET", path=path, handler=draw,
                   summary=endpoint.summary, **page(endpoint.permission, identify=member, **about_one))
    if endpoint.body is not None and is_redrawn(endpoint.body):
        yield asks_again(f"{path}/again", endpoint.body, draw, permission=endpoint.permission, identify=member,
                         **about_one)


def _loading(collection: Collection) -> Any:
    """The row that the path names, if the caller may view it; not locked, for nothing is done to it."""
    def load(call: Call) -> Any:
        row = collection.rows(call).find(call.path["id"])
        return row if row is not None and collection.shows(call, row.__data__) else None

    return load


# What is drawn

def _form(call: Call, kind: Kind, name: str, endpoint: Endpoint, problem: Problem | None) -> Response:
    schema, sent, collection = endpoint.body or Schema(), typed(call), kind.collection
    answer, tag = dict[str, Any](), ""
    if name != _NEW:
        answer, tag, _ = answered(call, kind, call.path["id"])  # type: ignore[assignment]
    names = sorted(_asked_for(call, kind, name, endpoint, answer), key=lambda one: one in collection.managed)
    given = arranged(sent or (written(schema, answer, names, Manner.of(call)) if name == _CHANGE else sent))
    if name != _CHANGE:
        _add_first_rows(schema, names, given)
    manages = name == _SHARE and call.access.would_allow(collection.manage, collection.visible(call, call.path["id"]))
    found, currency = lookups(call, schema, names, given, manages=manages), outside(schema, names, collection, answer)
    conflict = problem is not None and problem.code == "version_conflict"
    fields = Entries(call, schema, given, collection, lookups=found, currency=currency, problem=problem,
                     now=answer if conflict and name == _CHANGE else None).of(names)
    if name == _NEW:
        hint = str(call.services.translations.wanted(call.request).say(_OWN))
        fields = [replace(one, hint=hint) if one.name == _OWNER else one for one in fields]
    return show(call, "data_form.html", kind=kind, name=name, collection=collection_called(kind.name),
                id=call.path.get("id", ""), title=_called(call, kind), fields=fields, currency=currency,
                tag=tag if not sent or conflict else sent.get("_version", tag), repeatable=not endpoint.secret,
                about=_about(kind, name),
                problem="" if problem is None or conflict else _left(call, problem, names),
                conflict=changed_by(call, kind, call.path["id"]) or {} if conflict else None)


def _add_first_rows(schema: Schema, names: Sequence[str], given: Sent) -> None:
    """Adds an empty row to each list without any."""
    for name in names:
        if row_schema(schema.fields[name]) is not None and not count(given, name):
            given.add(f"{name}.0", "")


def _delete(call: Call, kind: Kind, problem: Problem | None) -> Response:
    tag = answered(call, kind, call.path["id"])[1] if "get" in kind.served else ""
    return show(call, "data_delete.html", kind=kind, collection=collection_called(kind.name), id=call.path["id"],
                title=_called(call, kind), tag=tag, problem="" if problem is None else sentence(call, problem))


def _asked_for(call: Call, kind: Kind, name: str, endpoint: Endpoint, answer: Mapping[str, Any]) -> list[str]:
    """Returns the fields of the form: those that the caller may both set and see."""
    schema, collection = endpoint.body or Schema(), kind.collection
    names = [one for one in schema.load_fields if one not in endpoint.fixed]
    if schema is not collection.body_schema:
        return names
    if name == _NEW:
        fixed = collection.fixed_for(call.access, None, creates=True)
        return [one for one in names if one not in fixed and schema.fields[one].metadata.get("on_create", True)]
    row = collection.visible(call, call.path["id"])
    fixed = collection.fixed_for(call.access, row)
    mine = call.path["id"] == call.principal.id
    return [one for one in names if one not in fixed and (
        mine if isinstance(schema.fields[one], CurrentPassword) else one in answer or schema.fields[one].load_only)]


def _called(call: Call, kind: Kind) -> str:
    return Names(shown_to(call)).of(kind.name, call.path["id"]) if "id" in call.path else ""


def _about(kind: Kind, name: str) -> str:
    return next((one.about for one in kind.collection.actions if one.name == name), "")


def _left(call: Call, problem: Problem, names: Sequence[str]) -> str:
    """Returns the faults that do not stand beside one of these fields, as a sentence."""
    others = [fault for fault in problem.faults
            if (fault.pointer or "/").split("/")[1] not in names and fault.parameter not in names]
    return sentence(call, problem, others) if others or not problem.faults else ""


# What follows

def _done(call: Call, kind: Kind, name: str, endpoint: Endpoint, result: Any) -> Response:
    if endpoint.secret:
        shown = [(field_called(one), result[one]) for one in result if isinstance(result[one], str) and one != "id"]
        return show(call, "data_secret.html", kind=kind, collection=collection_called(kind.name), shown=shown)
    if name == _DELETE or "get" not in kind.served:
        return see_other(call, kind.path)
    id = result.get("id", "") if name == _NEW else call.path["id"]
    may_see = name != _NEW or kind.collection.visible(call, id) is not None
    return see_other(call, f"{kind.path}/{id}" if may_see else kind.path)
