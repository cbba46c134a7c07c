"""The page that asks for a code after the password. Its path has the token of the challenge.

So logs do not show it, and the browser sends the origin alone as `Referer`. A page without any `Referer` would send
`Origin: null` with its form.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from flask import Response

from gatepost import Call, Problem, Routes, StrictSchema, Text
from gatepost.http.credentials import console_sessions
from gatepost.http.protocol.problems import Fault

from ....console.pages import (
    drawn_again,
    form,
    further_step,
    inside,
    page,
    refused,
    see_other,
    sentence,
    served,
    texts,
    typed,
)
from ...second_factor import factors
from ...second_factor import login as logins
from ...second_factor.endpoints import routes as api
from . import show

_VERIFY = next(endpoint for endpoint in api.endpoints if endpoint.name == "verify")

routes = Routes("console_login_code", "The code of a login.", when=served)


class CodeForm(StrictSchema):
    code = Text(required=True, maximum=factors.LONGEST)


def _private(answer: Callable[[Problem], Response]) -> Callable[[Problem], Response]:
    return lambda problem: _with_origin_alone(answer(problem))


def _with_origin_alone(response: Response) -> Response:
    response.headers["Referrer-Policy"] = "strict-origin"
    return response


@routes.get(logins.PAGE, **page(public="the password was checked, and the login is not complete", query=texts("next"),
                                identify=console_sessions.visitor, secret_path=True, refused=_private(refused)))
def code(call: Call) -> Response:
    """Show the form for the code of a login."""
    logins.holder(call, call.path["token"])
    return _drawn(call, call.query.get("next"))


def _drawn(call: Call, wanted: str | None, problem: Problem | None = None) -> Response:
    say = call.services.translations.wanted(call.request).say
    fault = _fault_of_code(problem)
    return _with_origin_alone(show(
        call, "login_code.html", framed=False, token=call.path["token"], wanted=inside(wanted),
        fault="" if fault is None else say(fault.detail),
        problem=sentence(call, problem) if problem is not None and fault is None else ""))


def _fault_of_code(problem: Problem | None) -> Fault | None:
    return next((fault for fault in problem.faults if fault.pointer == "/code"), None) if problem is not None else None


def _again(call: Call, problem: Problem) -> Response:
    wanted = typed(call).get("_next")
    return further_step(call, problem, wanted) or _drawn(call, wanted, problem)


def _prepare(call: Call) -> None:
    logins.prepare(call, call.path["token"], call.body["code"])


def _start(call: Call) -> None:
    console_sessions.start(call, *logins.complete(call, call.path["token"], call.body["code"]))


def _in(call: Call, _: Any) -> Response:
    return see_other(call, inside(typed(call).get("_next")))


routes.endpoints.append(form(
    replace(_VERIFY, handler=_start, prepare=_prepare, body=CodeForm(), secret_path=True),
    logins.PAGE, _in, _private(drawn_again(_again)), identify=console_sessions.visitor, carries=()))
