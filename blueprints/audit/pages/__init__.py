"""Pages of the console about the audit log."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime, tzinfo
from typing import Any
from urllib.parse import urlencode

from flask import Response

from blueprints.console.pages import (
    PERSON,
    Page,
    Part,
    collection_of,
    enter,
    names_of,
    page,
    people,
    sentence,
    served,
    show_part,
    showing,
    texts,
)
from gatepost import Call, Message, Problem, Routes
from gatepost.collections.asking import ask
from gatepost.collections.names import USERS
from policies.syntax.vocabulary import date_time

PATH = "/console/audit"
RESULTS = ("allowed", "refused", "failed")
_FILTERS = ("who", "resource", "action", "result", "id", "from", "to")
_ASKED = (*_FILTERS, "cursor", "before", "follow")
_ROWS = 50
_RECENT = 5  # refusals on the start page
_NOBODY = ("guest", "operator", "system", "*")  # principals that are not users

Row = dict[str, Any]


show = showing(__package__)
routes = Routes("console_audit", "The audit log.", when=served)
enter(Page("/console/audit", Message("Audit log"), "audit.view", place=50))


@routes.get(PATH, **page("audit.view", query=texts(*_ASKED), narrows=True, cost=2))
def show_log(call: Call) -> Response:
    """Show what happened, the newest first."""
    asked = {name: call.query.get(name, "").strip() for name in _ASKED}
    answer: dict[str, Any] = {"items": [], "next_cursor": None, "prev_cursor": None}
    persons, problem = list[tuple[str, str]](), ""
    try:
        persons = _persons(call, asked["who"])
        if len(persons) < 2:
            answer = ask(call, "audit_list", _query(asked, persons, call.services.settings.zone))
    except Problem as refusal:
        problem = sentence(call, refusal)
    follows = bool(asked["follow"]) and not asked["cursor"] and not asked["before"]
    return show(call, "audit_log.html", asked=asked, rows=_rows(call, answer["items"]), problem=problem,
                results=RESULTS, persons=persons if len(persons) > 1 else [],
                resources=sorted(call.access.policy.vocabulary.resources),
                narrowed=any(asked[name] for name in ("id", "from", "to")), follows=follows,
                again=_link(asked), following=_link(asked, follow="1"),
                older=answer["next_cursor"] and _link(asked, cursor=answer["next_cursor"]),
                newer=answer["prev_cursor"] and _link(asked, before=answer["prev_cursor"]),
                with_person={id: _link(asked, who=id) for id, _ in persons})


def _refusals(call: Call) -> dict[str, Any]:
    answer = ask(call, "audit_list", {"result": "refused", "limit": _RECENT})
    return {"rows": _rows(call, answer["items"])}


show_part(Part(PATH, "audit.view", f"{__package__}:overview_refusals.html", _refusals, place=20))


@routes.get(f"{PATH}/<id>", **page("audit.view", narrows=True, cost=5))
def event(call: Call) -> Response:
    """Show one audit event, and the reason of its answer."""
    answer = ask(call, "audit_get", path={"id": call.path["id"]})
    past, problem = None, ""
    explained = "policy_explain_past" in call.services.registry.by_operation
    if explained and "facts" in answer and call.access.may_ever("policy.view"):
        try:
            past = ask(call, "policy_explain_past", path={"id": call.path["id"]})
        except Problem as refusal:
            problem = sentence(call, refusal)
    [row] = _rows(call, [answer])
    facts = answer.get("facts")
    seal = ask(call, "audit_seal", path={"id": call.path["id"]})
    return show(call, "event.html", row=row, found=answer, seal=seal, past=past, problem=problem,
                today=_today(call, row, answer),
                facts=None if facts is None else json.dumps(facts, indent=2, ensure_ascii=False),
                alike=_link(dict.fromkeys(_ASKED, ""), id=answer["resource_id"]) if answer["resource_id"] else "")


def _persons(call: Call, who: str) -> list[tuple[str, str]]:
    """Lists (id, name) of the users that match the filter `who`; [] if it names no user."""
    if not who or who in _NOBODY:
        return []
    return people(call, who.removeprefix(PERSON))


def _query(asked: Mapping[str, str], persons: list[tuple[str, str]], zone: tzinfo) -> dict[str, Any]:
    who = f"{PERSON}{persons[0][0]}" if persons else asked["who"]
    return {"principal": who, "resource": asked["resource"], "action": asked["action"], "result": asked["result"],
            "resource_id": asked["id"], "time__gte": _time(asked["from"], zone), "time__lt": _time(asked["to"], zone),
            "cursor": asked["cursor"], "before": asked["before"], "limit": _ROWS}


def _time(text: str, zone: tzinfo) -> str:
    """Returns a time as the API takes it. Without an offset it is in `zone`; a date alone means midnight."""
    try:
        moment = datetime.fromisoformat(text)
        return date_time(moment if moment.tzinfo is not None else moment.replace(tzinfo=zone))
    except (ValueError, OverflowError):
        return text  # The API says what is wrong with it.


def _rows(call: Call, items: list[Row]) -> list[Row]:
    """Returns rows for the template, with the names of users and the titles of objects that the caller may see."""
    about = {one["id"]: (collection_of(call, one["resource"]), one["resource_id"] or "") for one in items}
    names = names_of(call, [*((USERS, _user(one)) for one in items), *about.values()])
    return [{**one, "permission": f"{one['resource']}.{one['action']}", "user": _user(one),
             "name": names.get((USERS, _user(one)), ""), "title": names.get(about[one["id"]], ""),
             "person": about[one["id"]][0] == USERS} for one in items]


def _user(row: Mapping[str, Any]) -> str:
    """Returns the id of the user who did it; "" if the principal is not a user."""
    principal = str(row["principal"])
    return principal.removeprefix(PERSON) if principal.startswith(PERSON) else ""


def _today(call: Call, row: Row, answer: Mapping[str, Any]) -> str:
    """Returns the link that explains the same request by the current rules; "" if that is not possible."""
    who = row["user"] or (answer["principal"] if answer["principal"] == "guest" else "")
    registry = call.services.registry
    askable = "/console/why" in registry.paths and row["permission"] in registry.by_permission
    if not who or not askable or not call.access.may_ever("policy.view"):
        return ""
    question = {"as": who, "permission": row["permission"], "id": answer["resource_id"] or ""}
    return f"/console/why?{urlencode({name: text for name, text in question.items() if text})}"


def _link(asked: Mapping[str, str], **changes: str) -> str:
    """Returns the link to the page with the same filters and these changes."""
    kept = {name: asked[name] for name in _FILTERS if asked[name]}
    return f"{PATH}?{urlencode({**kept, **changes})}" if kept or changes else PATH
