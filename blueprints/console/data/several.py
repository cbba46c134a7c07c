"""Several rows of a list at once: one run of the API's own endpoint for each row, and its outcome.

Each run has a transaction, an audit event and units of its own. Its `If-Match` is the version that the list has shown,
so that a row changed meanwhile is reported. A deletion is asked again first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from urllib.parse import urlencode

from flask import Response
from marshmallow import fields

from gatepost import Call, Collection, Endpoint, Fault, Message, Problem, StrictSchema
from gatepost.collections.asking import perform
from gatepost.http.credentials.console_sessions import member
from models.base import is_id

from ..forms import asks_again, typed
from ..frame import drawn_again, routes, show, texts
from ..naming import names_of, sentence
from .listed import DELETE, Kind, parameter_names, rows_page, verbs_of
from .words import collection_called

MOST = 100  # rows of one form
_STALE = Message("This row was changed or deleted after the list was opened.")
_NOT_TRIED = Message("Not tried, because your limit of requests is used up.")


class _SeveralSchema(StrictSchema):
    """The form: `do` is the action, each `row` an id and a version, and `sure` a confirmed deletion."""

    do = fields.String()
    row = fields.List(fields.String())
    sure = fields.String()


@dataclass(frozen=True)
class Outcome:
    """The outcome for one row. `problem` is the text of a refusal; "": it is done."""

    id: str
    title: str
    problem: str = ""


@routes.of_each
def forms(collection: Collection) -> Iterator[Endpoint]:
    """The form around the list of a collection."""
    kind = Kind.of(collection)
    if "list" not in kind.served or not verbs_of(kind):
        return

    def again(call: Call, problem: Problem) -> Response:
        return rows_page(call, kind, problem)

    yield running(asks_again(
        f"{kind.path}/several", _SeveralSchema(), partial(_several, kind), permission=collection.view, narrows=True,
        identify=member, query=texts(*parameter_names(collection)), refused=drawn_again(again),
        summary="Change several rows."))


def running(endpoint: Endpoint) -> Endpoint:
    """Returns the endpoint with its handler outside of any transaction, so that the handler may run other endpoints."""
    @contextmanager
    def around(call: Call) -> Iterator[None]:
        call.write.response = endpoint.handler(call)
        yield

    # The handler in the transaction is not reached, because the answer is there before.
    return replace(endpoint, writes=True, around=around)


def _several(kind: Kind, call: Call) -> Response:
    sent = typed(call)
    verb, chosen = _verb(call, kind, sent.get("do", "")), _chosen(sent.getlist("row"))
    names = _names(call, kind, chosen)
    if verb == DELETE and sent.get("sure") != "yes":
        outcomes = [Outcome(id, names.get(id, "")) for id in chosen]
        template = "data_several_delete.html"
    else:
        outcomes = list(_outcomes(call, kind, verb, chosen, names, sent.get("_key", "")))
        template = "data_several.html"
    with call.services.database.connected():
        query = {name: text for name, text in call.query.items() if text}
        return show(
            call, template, kind=kind, title=collection_called(kind.name), verb=verb, outcomes=outcomes,
            chosen=[f"{id} {version}" for id, version in chosen.items()], query=urlencode(query),
            done=sum(not one.problem for one in outcomes), linked="get" in kind.served and verb != DELETE)


def _verb(call: Call, kind: Kind, verb: str) -> str:
    if verb not in verbs_of(kind):
        raise Problem.of([Fault("invalid_field", "There is no such action.", pointer="/do")], "invalid_body")
    permission = kind.collection.permission(verb)
    if not call.access.may_ever(permission):
        raise call.access.refusal(permission)
    return verb


def _chosen(sent: list[str]) -> dict[str, str]:
    """Returns id → version, in the order of the form."""
    if not sent:
        raise _wrong(Message("Select at least one row."))
    if len(sent) > MOST:
        raise _wrong(Message("Select at most {most} rows.", most=MOST))
    versions: dict[str, str] = {}
    for value in sent:
        id, _, version = value.partition(" ")
        if not is_id(id):
            raise _wrong(Message("This is not a row of the list."))
        versions.setdefault(id, version)
    return versions


def _wrong(text: Message) -> Problem:
    return Problem.of([Fault("invalid_field", text, pointer="/row")], "invalid_body")


def _names(call: Call, kind: Kind, ids: Mapping[str, str]) -> dict[str, str]:
    """Returns id → title, as far as the caller may view the rows, before any of them is changed."""
    with call.services.database.connected():
        return {id: title for (_, id), title in names_of(call, ((kind.name, id) for id in ids)).items()}


def _outcomes(call: Call, kind: Kind, verb: str, chosen: Mapping[str, str], names: Mapping[str, str], key: str
              ) -> Iterator[Outcome]:
    say, stopped = call.services.translations.wanted(call.request).say, False
    for id, version in chosen.items():
        problem = ""
        if stopped:
            problem = say(_NOT_TRIED)
        else:
            try:
                _run(call, kind.served[verb], id, version, key)
            except Problem as refusal:
                problem = _told(call, refusal)
                stopped = refusal.code == "rate_limited"
        yield Outcome(id, names.get(id, ""), problem)


def _run(call: Call, endpoint: Endpoint, id: str, version: str, key: str) -> None:
    headers = {"HTTP_IF_MATCH": f'"{version}"'} if version and endpoint.conditional else {}
    if key and not endpoint.secret:
        headers["HTTP_IDEMPOTENCY_KEY"] = f"{key}-{id}"
    body: dict[str, Any] | None = {} if endpoint.body is not None else None
    perform(call, endpoint, path={"id": id}, body=body, headers=headers)


def _told(call: Call, refusal: Problem) -> str:
    say = call.services.translations.wanted(call.request).say
    if refusal.code == "version_conflict":
        return say(_STALE)
    parts = [sentence(call, refusal), say(refusal.reason) if refusal.reason else ""]
    return " ".join(part for part in dict.fromkeys(parts) if part)

