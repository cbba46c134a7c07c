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

_PARAMETERS = ("permission", "id", "cursor", "before")
_ROWS = 50


show = showing(__package__)
routes = Routes("console_who", "The users who may do something.", when=served)


@routes.get(f"{PEOPLE}/who", **page("policy.view", query=texts(*_PARAMETERS), cost=5, identify=member))
def who(call: Call) -> Response:
    """Show who may do something, to an object or to any."""
    parameters = {name: call.query.get(name, "").strip() for name in _PARAMETERS}
    answer, objects, problem = dict[str, Any](), list[tuple[str, str]](), ""
    if parameters["permission"]:
        try:
            objects = objects_found(call, parameters["permission"], parameters["id"])
            answer = {} if objects else ask(call, "policy_who", {**parameters, "limit": _ROWS})
        except Problem as refusal:
            problem = sentence(call, refusal)
    about = collection_of(call, parameters["permission"]), parameters["id"]
    return show(call, "people_who.html", parameters=parameters, items=answer.get("items", []), answered=bool(answer),
                objects=[(id, title, _link(parameters, id=id)) for id, title in objects], problem=problem,
                permissions=sorted(call.services.registry.by_permission),
                ways=ways(call), title=names_of(call, [about]).get(about, "") if answer and parameters["id"] else "",
                later=answer.get("next_cursor") and _link(parameters, cursor=answer["next_cursor"]),
                earlier=answer.get("prev_cursor") and _link(parameters, before=answer["prev_cursor"]))


def _link(parameters: dict[str, str], **changes: str) -> str:
    kept = {"permission": parameters["permission"], "id": parameters["id"], **changes}
    return f"{PEOPLE}/who?{urlencode({name: text for name, text in kept.items() if text})}"
