"""The page on which the second factor of a user is removed."""

from __future__ import annotations

from typing import Any

from flask import Response

from gatepost import Call, Problem, Routes
from gatepost.collections.asking import ask
from gatepost.http.credentials.console_sessions import member

from ....console.pages import drawn_again, form, page, see_other, sentence, served
from ...second_factor.endpoints import routes as api
from . import show

_REMOVE = next(endpoint for endpoint in api.endpoints if endpoint.name == "remove_of_user")
_PERSON = "/console/people/<id>"
_PATH = f"{_PERSON}/remove-second-factor"

routes = Routes("console_second_factor_of_user", "The second factor of a user.", when=served)


@routes.get(_PATH, **page("user.remove_second_factor", narrows=True, identify=member))
def offer(call: Call) -> Response:
    """Show the button that removes the second factor of a user."""
    return _offered(call)


def _offered(call: Call, problem: Problem | None = None) -> Response:
    user = ask(call, "users_get", {"fields": "id,name"}, path={"id": call.path["id"]})
    return show(call, "second_factor_of_user.html", user=user,
                problem="" if problem is None else sentence(call, problem))


def _removed(call: Call, _: Any) -> Response:
    return see_other(call, _PERSON.replace("<id>", call.row.id))


routes.endpoints.append(form(_REMOVE, _PATH, _removed, drawn_again(_offered), identify=member))
