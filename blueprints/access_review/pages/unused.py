"""*Unused*: rules and permissions that nobody has used for a while."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from flask import Response

from gatepost import Call, Problem, Routes
from gatepost.collections.asking import ask
from gatepost.http.credentials.console_sessions import member

from ...console.pages import page, sentence, served, showing, texts
from ...console.people.listed import PEOPLE, ways

DAYS = ("7", "30", "90", "400")


show = showing(__package__)
routes = Routes("console_unused", "Rules and permissions that nobody uses.", when=served)


@routes.get(f"{PEOPLE}/unused", **page("policy.view", query=texts("days"), cost=5, identify=member))
def unused(call: Call) -> Response:
    """Show what nobody has used for so many days."""
    days = call.query.get("days", "").strip() or DAYS[1]
    result, problem = dict[str, Any](), ""
    try:
        result = ask(call, "policy_unused", {"days": days})
    except Problem as refusal:
        problem = sentence(call, refusal)
    return show(call, "people_unused.html", days=days, choices=sorted({*DAYS, days}, key=_number), report=result,
                problem=problem, permissions=_by_resource(result.get("permissions", [])), ways=ways(call))


def _number(text: str) -> tuple[int, str]:
    return int(text) if text.isdecimal() else 0, text


def _by_resource(permissions: list[dict[str, Any]]) -> list[tuple[str, list[dict[str, Any]]]]:
    return [(name, list(some)) for name, some in groupby(
        permissions, key=lambda one: str(one["permission"]).partition(".")[0])]
