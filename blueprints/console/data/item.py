"""One row: its fields, the actions on it, its shares and its audit events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from flask import Response

from gatepost import Call, Collection, Endpoint, Problem
from gatepost.collections.asking import ask, ask_with_headers
from gatepost.collections.names import title
from gatepost.http.credentials.console_sessions import member

from ..frame import page, routes, show, texts
from ..naming import PERSON, names_of, sentence
from .fields import LONG, OWN, shown, summary
from .listed import Kind, possible
from .seen import seen
from .words import collection_called

_MOST = 10  # entries of what happened
_BESIDES = ("owner_id", "department", "created_at", "updated_at")  # what every collection says


@routes.of_each
def pages(collection: Collection) -> Iterator[Endpoint]:
    """The page of one row."""
    kind = Kind.of(collection)
    if "get" not in kind.served:
        return

    def handler(call: Call) -> Response:
        return item(call, kind, who=call.query.get("as", ""))

    yield Endpoint(name=f"data_{collection.name}_item", method="GET", path=f"{kind.path}/<id>", handler=handler,
                   summary=f"Show {collection.a_row}.",
                   **page(collection.view, load=collection.load_values, identify=member, query=texts("as")))


def answered(call: Call, kind: Kind, id: str) -> tuple[Mapping[str, Any], str, list[str]]:
    """Returns the API's answer about a row, its entity tag, and the actions open to the caller. Raises `Problem`."""
    names = [*kind.collection.representation.names,
             *(name for name in kind.collection.computed if name == "allowed_actions")]
    answer, headers = ask_with_headers(call, kind.operation("get"), {"fields": ",".join(names)}, path={"id": id})
    return answer, headers.get("ETag", ""), possible(call, kind, id, answer.get("allowed_actions"))


def item(call: Call, kind: Kind, problem: Problem | None = None, who: str = "") -> Response:
    """The page; with the problem of what was tried on it."""
    id, collection = call.path["id"], kind.collection
    answer, tag, allowed = answered(call, kind, id)
    whose, wrong = None, "" if problem is None else sentence(call, problem)
    try:
        whose = seen(call, kind.name, who, [id]) if who else None
    except Problem as refusal:
        wrong = sentence(call, refusal)
    view = None if whose is None else whose.of(id)
    names = sorted((name for name in collection.representation.names if name != "id"
                    and (view is None or name not in view["hidden"])), key=_BESIDES.__contains__)
    fields = shown(call, collection, [answer], names)[0]
    head = summary(collection, names)[0]
    called = title(answer, with_email=False) or (str(answer.get(head) or "").partition("\n")[0] if head else "")
    return show(call, "data_item.html", kind=kind, collection=collection_called(kind.name), id=id, title=called,
                long=[field for field in fields if field.kind == LONG],
                pairs=[field for field in fields if field.kind != LONG and field.name not in OWN],
                rest=[field for field in fields if field.name in OWN], tag=tag, problem=wrong, whose=whose, view=view,
                actions=[] if who else _actions(kind, allowed), allowed=[] if who else allowed,
                shares=_shares(call, kind, id) if "share" in allowed and not who else None,
                history=_history(call, kind, id), may_ask=call.access.may_ever("policy.view"))


def _actions(kind: Kind, allowed: Sequence[str]) -> list[dict[str, Any]]:
    return [{"name": found.name, "about": found.about, "asks": bool(found.body.load_fields)}
            for found in kind.collection.actions if found.name in allowed]


def _shares(call: Call, kind: Kind, id: str) -> list[dict[str, Any]] | None:
    """Returns the shares of a row; None if they are hidden from the caller."""
    if "shares" not in kind.served:
        return None
    try:
        found = ask(call, kind.operation("shares"), {}, path={"id": id})
    except Problem:
        return None
    people = names_of(call, (("users", grantee.removeprefix(PERSON)) for one in found["items"]
                             if (grantee := one["grantee"]).startswith(PERSON)))
    return [{**one, "name": people.get(("users", one["grantee"].removeprefix(PERSON)), "")
             if one["grantee"].startswith(PERSON) else ""} for one in found["items"]]


def _history(call: Call, kind: Kind, id: str) -> list[dict[str, Any]] | None:
    """Returns the audit events of a row, the newest first; None if the audit log is hidden from the caller."""
    if not call.access.may_ever("audit.view") or "audit" not in call.services.collections:
        return None
    try:
        found = ask(call, "audit_list", {"resource": kind.collection.resource, "resource_id": id, "limit": _MOST,
                                         "fields": "id,time,principal,action,result"})
    except Problem:
        return None
    people = names_of(call, (("users", one["principal"].removeprefix(PERSON)) for one in found["items"]
                             if one["principal"].startswith(PERSON)))
    return [{**one, "name": people.get(("users", one["principal"].removeprefix(PERSON)), "")}
            for one in found["items"]]


def changed_by(call: Call, kind: Kind, id: str) -> Mapping[str, Any] | None:
    """The last thing that was done to a row, as far as the caller may know."""
    return next((one for one in _history(call, kind, id) or () if one["result"] == "allowed"), None)
