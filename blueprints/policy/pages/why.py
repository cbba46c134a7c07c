"""The page *Why?*: explains why a user or role is allowed or refused, also in other circumstances."""

from __future__ import annotations

from flask import Response

from gatepost import Call, Message, Problem, Routes
from gatepost.collections.asking import ask
from models.base import read_id

from ...console.pages import Page, enter, found, objects_found, page, sentence, served, showing, texts

CIRCUMSTANCES = ("at", "ip", "device", "scope")
_PARAMETERS = ("as", "permission", "id", *CIRCUMSTANCES)
_DEVICES = ("desktop", "mobile", "tablet", "bot", "other")


show = showing(__package__)
routes = Routes("console_why", "Why something is allowed or refused.", when=served)
enter(Page("/console/why", Message("Explain access"), "policy.view", place=20))


@routes.get("/console/why", **page("policy.view", query=texts(*_PARAMETERS), cost=3))
def why(call: Call) -> Response:
    """Show what somebody may do, and why or why not."""
    parameters = {name: call.query.get(name, "").strip() for name in _PARAMETERS}
    answer, people, objects, problem = None, list[tuple[str, str]](), list[tuple[str, str]](), ""
    if parameters["as"] and parameters["permission"]:
        try:
            people = _people(call, parameters["as"])
            objects = [] if people else objects_found(call, parameters["permission"], parameters["id"])
            if not people and not objects:
                answer = ask(call, "policy_explain", parameters)
        except Problem as refusal:
            problem = sentence(call, refusal)
    return show(call, "why.html", parameters=parameters, answer=answer, people=people, objects=objects, problem=problem,
                permissions=sorted(call.services.registry.by_permission), roles=call.access.policy.roles.names,
                devices=_DEVICES, supposed=any(parameters[name] for name in CIRCUMSTANCES))


def _people(call: Call, text: str) -> list[tuple[str, str]]:
    """Lists the users whose name matches the text; [] for an e-mail, id or role. Raises `Problem` if none matches."""
    if "@" in text or read_id(text) or text in call.access.policy.roles:
        return []
    if several := found(call, "users", text):
        return several
    raise Problem("not_found", "There is no such user or role, or you may not see them.")
