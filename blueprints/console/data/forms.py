"""Forms over rows: to make one, to change or delete it, to act on it, to share it.

Each is one endpoint of the collection (`form`), with the entries that its body's schema has. To look for the row that
a reference leads to, the form is sent to a path of its own, and drawn again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from flask import Response
from marshmallow import Schema
from werkzeug.datastructures import MultiDict

from gatepost import Call, Collection, Endpoint, Problem, Reference
from gatepost.collections.names import Names, shown_to
from gatepost.http.credentials.console_sessions import member
from gatepost.http.credentials.step_up import CurrentPassword
from gatepost.http.writing.sharing import Grantee

from ..forms import asks_again, form, typed
from ..frame import drawn_again, page, routes, see_other, show
from ..naming import PERSON, found, names_of, sentence
from .fields import entries, typed_of
from .item import answered, changed_by, item
from .listed import Kind
from .words import collection_called, field_called

_NEW, _CHANGE, _DELETE, _SHARE, _UNSHARE = "create", "update", "delete", "share", "unshare"
Options = dict[str, tuple[tuple[str, str], ...]]


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
    if endpoint.body is not None and _looked_up(endpoint.body):
        yield asks_again(f"{path}/find", endpoint.body, draw, permission=endpoint.permission, identify=member,
                         **about_one)


def _loading(collection: Collection) -> Any:
    """The row that the path names, if the caller may view it; not locked, for nothing is done to it."""
    def load(call: Call) -> Any:
        row = collection.rows(call).find(call.path["id"])
        return row if row is not None and collection.shows(call, row.__data__) else None

    return load


def _looked_up(schema: Schema) -> list[str]:
    return [name for name, field in schema.load_fields.items() if isinstance(field, Reference | Grantee)]


# What is drawn

def _form(call: Call, kind: Kind, name: str, endpoint: Endpoint, problem: Problem | None) -> Response:
    schema, sent = endpoint.body or Schema(), typed(call)
    answer, tag = dict[str, Any](), ""
    if name != _NEW:
        answer, tag, _ = answered(call, kind, call.path["id"])  # type: ignore[assignment]
    names = _asked_for(call, kind, name, endpoint, answer)
    before = typed_of(answer, names) if name == _CHANGE else MultiDict[str, str]()
    given = MultiDict(sent) if sent else before
    options = _options(call, schema, names, given)
    conflict = problem is not None and problem.code == "version_conflict"
    now = answer if conflict and name == _CHANGE else None
    fields = entries(call, schema, names, given, collection=kind.collection if schema is kind.collection.body_schema
                     else None, partial=endpoint.partial, problem=problem, now=now,
                     options=options)
    beside = {fault for field in fields for fault in field.faults}
    return show(call, "data_form.html", kind=kind, name=name, collection=collection_called(kind.name),
                id=call.path.get("id", ""), title=_called(call, kind), fields=fields,
                tag=tag if not sent or conflict else sent.get("_version", tag), repeatable=not endpoint.secret,
                about=_about(kind, name), problem="" if problem is None or conflict else _left(call, problem, beside),
                conflict=changed_by(call, kind, call.path["id"]) or {} if conflict else None,
                looked={one: sent.get(f"_find_{one}", "") for one in _looked_up(schema)}, wanted=sent.get("_find", ""))


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
        fixed = () if call.access.may_ever(collection.manage) else collection.managed
        return [one for one in names if one not in fixed and schema.fields[one].metadata.get("on_create", True)]
    row = collection.visible(call, call.path["id"])
    fixed = () if row is not None and call.access.would_allow(collection.manage, row) else collection.managed
    mine = call.path["id"] == call.principal.id
    return [one for one in names if one not in fixed and (
        mine if isinstance(schema.fields[one], CurrentPassword) else one in answer or schema.fields[one].load_only)]


def _options(call: Call, schema: Schema, names: Sequence[str], given: MultiDict[str, str]) -> Options:
    """The rows that references may lead to: the one that is chosen, and those that are found. Where one alone is found,
    it is chosen in `given`."""
    options: Options = {}
    say = call.services.translations.wanted(call.request).say
    for name in names:
        field, text = schema.fields[name], given.get(f"_find_{name}", "")
        if isinstance(field, Grantee):
            people = [(f"{PERSON}{id}", called) for id, called in (found(call, "users", text) if text else [])]
            _choose_the_only(given, name, people)
            options[name] = (*people, *((f"role:{role}", str(say(role))) for role in call.access.policy.roles.of_users))
        elif isinstance(field, Reference):
            several = dict(found(call, field.collection, text))
            _choose_the_only(given, name, list(several.items()))
            chosen = given.get(name, "")
            if chosen and chosen not in several:
                called = names_of(call, [(field.collection, chosen)]).get((field.collection, chosen), "")
                several = {chosen: called or chosen, **several}
            options[name] = tuple(several.items())
    return options


def _choose_the_only(given: MultiDict[str, str], name: str, several: Sequence[tuple[str, str]]) -> None:
    """Chooses the only match of a look-up in this field."""
    if given.get("_find") == name and given.get(f"_find_{name}") and len(several) == 1:
        given[name] = several[0][0]


def _called(call: Call, kind: Kind) -> str:
    return Names(shown_to(call)).of(kind.name, call.path["id"]) if "id" in call.path else ""


def _about(kind: Kind, name: str) -> str:
    return next((one.about for one in kind.collection.actions if one.name == name), "")


def _left(call: Call, problem: Problem, beside: set[str]) -> str:
    """Returns the faults that no field shows, as a sentence."""
    say = call.services.translations.wanted(call.request).say
    left = [fault for fault in problem.faults if say(fault.detail) not in beside]
    return sentence(call, problem, left) if left or not problem.faults else ""


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
