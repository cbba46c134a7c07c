"""*Why?*: what somebody may do, and why or why not."""

from __future__ import annotations

from typing import Any

from flask import Response

from gatepost import Call, Problem, is_id

from ..http.resources.asking import ask
from .frame import page, routes, show, texts

_ASKED = ("as", "permission", "id", "at", "ip", "device", "method", "scope")
_MOST_FOUND = 10  # objects that a title finds


@routes.get("/console/why", **page("policy.view", query=texts(*_ASKED)))
def why(call: Call) -> Response:
    """Show what somebody may do, and why or why not."""
    asked = {name: call.query.get(name, "").strip() for name in _ASKED}
    problem, answer, found = None, None, list[dict[str, Any]]()
    try:
        if asked["id"] and not is_id(asked["id"]):
            found = _named(call, asked["permission"], asked["id"])
        elif asked["as"] and asked["permission"]:
            answer = ask(call, "policy_explain", asked)
    except Problem as refusal:
        problem = refusal
    say = call.services.translations.wanted(call.request).say
    return show(call, "why.html", asked=asked, answer=answer, found=found,
                permissions=sorted(call.services.registry.by_permission),
                roles=call.services.policy.current.roles.names,
                problem="" if problem is None else say(problem.detail) or say(problem.faults[0].detail))


def _named(call: Call, permission: str, text: str) -> list[dict[str, Any]]:
    """The objects that a text finds, of those that the caller may view."""
    return []
