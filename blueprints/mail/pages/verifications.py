"""Pages to verify one's e-mail address: ask for a link, and the page that the link opens.

As for a password link, a GET changes nothing, because scanners of messages follow links. The button needs the password,
unless the user is logged in. The page cannot tell, because browsers send no cookie with a link of another site.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

from flask import Request, Response

from gatepost import Call, Problem, Routes
from gatepost.http.credentials import console_sessions
from gatepost.http.credentials.console_sessions import member
from gatepost.http.request.call import Services
from gatepost.http.request.endpoint import Endpoint
from policies import Principal

from ...console.pages import drawn_again, form, page, refused, see_other, sentence, showing
from ...password_links.pages.choice import private, visitor, without_referrer
from .. import verifications
from ..endpoints import PasswordOfAccountSchema
from ..endpoints import verification_routes as api
from .links import when

ASK = "/console/account/verify-email"
SENT = f"{ASK}/sent"
DONE = "/console/verify-email"
_API: dict[str, Endpoint] = {endpoint.name: endpoint for endpoint in api.endpoints}
_OPEN = "the token in the path is the credential"

show = showing(__package__)
routes = Routes("console_verifications", "Pages to verify an e-mail address.", when=when)


def reader(services: Services, request: Request) -> tuple[Principal, str | None]:
    """Returns the user who is logged in with this browser, else a guest. Raises `Problem` as `visitor` does."""
    caller = visitor(services, request)
    with suppress(Problem):  # the session has ended, or the form does not say its origin: no cookie counts
        return console_sessions.identify(services, request)
    return caller


@routes.get(verifications.PAGE, **page(public=_OPEN, identify=visitor, secret_path=True, refused=private(refused)))
def verify(call: Call) -> Response:
    """Show the button that verifies the address."""
    return _drawn(call)


def _drawn(call: Call, problem: Problem | None = None) -> Response:
    user = verifications.holder(call, call.path["token"])
    say = call.services.translations.wanted(call.request).say
    fault = next((say(one.detail) for one in problem.faults if one.pointer == "/password"), "") if problem else ""
    return without_referrer(show(call, "email_verify.html", framed=False, state="asked", email=user.email,
                                 hours=verifications.HOURS, fault=fault,
                                 problem=sentence(call, problem) if problem and not fault else ""))


@routes.get(DONE, **page(public="it says that an address was verified", identify=visitor))
def verified(call: Call) -> Response:
    """Say that the address was verified."""
    return _said(call, "done", framed=False)


@routes.get(SENT, **page("profile.view", identify=member))
def sent(call: Call) -> Response:
    """Say that a message is on its way."""
    return _said(call, "sent", framed=True)


def _said(call: Call, state: str, *, framed: bool) -> Response:
    return show(call, "email_verify.html", framed=framed, state=state, hours=verifications.HOURS)


def _prepare(call: Call) -> None:
    verifications.prepare(call, call.path["token"], call.body.get("password"))


def _use(call: Call) -> None:
    verifications.use(call, call.path["token"])


def _done(call: Call, _: Any) -> Response:
    return without_referrer(see_other(call, DONE))


def _requested(call: Call, _: Any) -> Response:
    return see_other(call, SENT)


routes.endpoints += [
    form(replace(_API["verify"], handler=_use, prepare=_prepare, body=PasswordOfAccountSchema(), secret_path=True),
         verifications.PAGE, _done, private(drawn_again(_drawn)), identify=reader),
    form(_API["request_verification"], ASK, _requested, identify=member),
]
