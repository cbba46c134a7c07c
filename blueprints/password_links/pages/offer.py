"""The page on which a link for a user is created and shown once."""

from __future__ import annotations

from typing import Any

from flask import Response

from gatepost import Call, Problem, Routes
from gatepost.collections.asking import ask
from gatepost.http.credentials.console_sessions import member

from ...console.pages import drawn_again, form, page, sentence, served, showing
from ...console.people.listed import PEOPLE
from ..endpoints import routes as api

_CREATE = next(endpoint for endpoint in api.endpoints if endpoint.name == "create")
_PATH = f"{PEOPLE}/<id>/password-link"

show = showing(__package__)
routes = Routes("console_password_links", "One-time links.", when=served)


@routes.get(_PATH, **page("user.create_password_link", narrows=True, identify=member))
def offer(call: Call) -> Response:
    """Show the button that creates a link for a user."""
    return _offered(call)


def _offered(call: Call, problem: Problem | None = None) -> Response:
    user = ask(call, "users_get", {"fields": "id,name"}, path={"id": call.path["id"]})
    return show(call, "password_link.html", user=user, link="", hours=call.services.settings.password_link_hours,
                problem="" if problem is None else sentence(call, problem))


def _created(call: Call, result: dict[str, Any]) -> Response:
    return show(call, "password_link.html", user={"id": call.row.id, "name": call.row.name}, link=result["link"],
                hours=call.services.settings.password_link_hours, problem="")


routes.endpoints.append(form(_CREATE, _PATH, _created, drawn_again(_offered), identify=member))
