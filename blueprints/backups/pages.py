"""The button on the page *Status* that makes a backup."""

from __future__ import annotations

from flask import Response

from gatepost import Call, Problem, Routes

from ..console.pages import drawn_again, form, see_other, served
from ..console.running.page import RUNNING, drawn
from . import endpoints

routes = Routes("console_backups", "A button that makes a backup.", when=served)


def _again(call: Call, problem: Problem) -> Response:
    return drawn(call, problem)


_MAKE = next(endpoint for endpoint in endpoints.routes.endpoints if endpoint.operation == "admin_backup")
routes.endpoints.append(form(_MAKE, f"{RUNNING}/backups", lambda call, _: see_other(call, f"{RUNNING}#backups"),
                             drawn_again(_again)))
