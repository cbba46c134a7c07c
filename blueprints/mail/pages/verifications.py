"""Pages to verify one's e-mail address: ask for a link, and the page that the link opens.

As for a password link, a GET changes nothing, because scanners of messages follow links.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from flask import Response

from gatepost import Call, Problem, Routes
from gatepost.http.credentials.console_sessions import member
from gatepost.http.request.endpoint import Endpoint

from ...console.pages import drawn_again, form, page, refused, see_other, sentence, showing
from ...password_links.pages.choice import private, visitor, without_referrer
from .. import verifications
from ..endpoints import verification_routes as api
from .links import when

ASK = "/console/account/verify-email"
SENT = f"{ASK}/sent"
DONE = "/console/verify-email"
_API: dict[str, Endpoint] = {endpoint.name: endpoint for endpoint in api.endpoints}
_OPEN = "the token in the path is the credential"

show = showing(__package__)
routes = Routes("console_verifications", "Pages to verify an e-mail address.", when=when)


@routes.get(verifications.PAGE, **page(public=_OPEN, identify=visitor, secret_path=True, refused=private(refused)))
def verify(call: Call) -> Response:
    """Show the button that verifies the address."""
    return _drawn(call)


def _drawn(call: Call, problem: Problem | None = None) -> Response:
    user = verifications.holder(call, call.path["token"])
    return without_referrer(show(call, "email_verify.html", framed=False, state="asked", email=user.email,
                                 hours=verifications.HOURS,
                                 problem="" if problem is None else sentence(call, problem)))


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


def _use(call: Call) -> None:
    verifications.use(call, call.path["token"])


def _done(call: Call, _: Any) -> Response:
    return without_referrer(see_other(call, DONE))


def _requested(call: Call, _: Any) -> Response:
    return see_other(call, SENT)


routes.endpoints += [
    form(replace(_API["verify"], handler=_use, body=None, secret_path=True), verifications.PAGE, _done,
         private(drawn_again(_drawn)), identify=visitor),
    form(_API["request_verification"], ASK, _requested, identify=member),
]
