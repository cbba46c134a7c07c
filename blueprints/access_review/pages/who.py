"""*Who can do this*: all users who may do something, and the rule that allows each of them."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from flask import Response

from gatepost import Call, Problem, Routes
from gatepost.collections.asking import ask
from gatepost.http.credentials.console_sessions import member

from ...console.pages import collection_of, names_of, objects_found, page, sentence, served, showing, texts
from ...console.people.listed import PEOPLE, ways

_ASKED = ("permission", "id", "cursor", "before")
_ROWS = 50


show = showing(__package__)
routes = Routes("console_who", "The users who may do something.", when=served)


@routes.get(f"{PEOPLE}/who", **page("policy.view", query=texts(*_ASKED), cost=5, identify=member))
def who(call: Call) -> Response:
    """Show who may do something, to an object or to any."""
    asked = {name: call.query.get(name, "").strip() for name in _ASKED}
    answer, objects, problem = dict[str, Any](), list[tuple[str, str]](), ""
    if asked["permission"]:
        try:
            objects = objects_found(call, asked["permission"], asked["id"])
            answer = {} if objects else ask(call, "policy_who", {**asked, "limit": _ROWS})
        except Problem as refusal:
            problem = sentence(call, refusal)
    about = collection_of(call, asked["permission"]), asked["id"]
    return show(call, "people_who.html", asked=asked, items=answer.get("items", []), answered=bool(answer),
                objects=[(id, title, _link(asked, id=id)) for id, title in objects], problem=problem,
                permissions=sorted(call.services.registry.by_permission),
                ways=ways(call), title=names_of(call, [about]).get(about, "") if answer and asked["id"] else "",
                later=answer.get("next_cursor") and _link(asked, cursor=answer["next_cursor"]),
                earlier=answer.get("prev_cursor") and _link(asked, before=answer["prev_cursor"]))


def _link(asked: dict[str, str], **changes: str) -> str:
    kept = {"permission": asked["permission"], "id": asked["id"], **changes}
    return f"{PEOPLE}/who?{urlencode({name: text for name, text in kept.items() if text})}"
