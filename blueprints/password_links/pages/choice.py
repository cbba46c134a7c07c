"""The page that a link opens. Its visitor is not logged in.

Its path has the token, so it sends no `Referer`, and logs do not show it. A GET changes nothing, because scanners of
messages follow links.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from flask import Request, Response

from gatepost import Call, Problem, Routes
from gatepost.http.credentials import cookies
from gatepost.http.request.call import Services
from gatepost.http.request.identity import guest
from policies import Principal

from ...console.pages import drawn_again, form, page, refused, see_other, sentence, served, showing
from ...console.passwords import RepeatedSchema, refuse_different
from .. import links
from ..endpoints import routes as api

DONE = "/console/password"
_USE = next(endpoint for endpoint in api.endpoints if endpoint.name == "use")
_OPEN = "the token in the path is the credential"

show = showing(__package__)
routes = Routes("console_password_choice", "The page of a one-time link.", when=served)


def visitor(services: Services, request: Request) -> tuple[Principal, str | None]:
    """Returns a guest, regardless of the cookie. Raises `Problem` (`forbidden`) for a form of another origin."""
    if request.method not in ("GET", "HEAD"):
        # The page sends no referrer, so some browsers send `Origin: null`. No cookie counts here; the token does.
        cookies.refuse_foreign(services.settings, request, opaque=True)
    return guest(services.guest_tenant), None


def private(answer: Callable[[Problem], Response]) -> Callable[[Problem], Response]:
    """Returns the answer to a refusal without the referrer."""
    return lambda problem: without_referrer(answer(problem))


def without_referrer(response: Response) -> Response:
    """Returns the response of a page whose path browsers must not pass on."""
    response.headers["Referrer-Policy"] = "no-referrer"
    return response


@routes.get(links.PAGE, **page(public=_OPEN, identify=visitor, secret_path=True, refused=private(refused)))
def choose(call: Call) -> Response:
    """Show the form of a link."""
    return _drawn(call)


def _drawn(call: Call, problem: Problem | None = None) -> Response:
    user = links.holder(call, call.path["token"])
    with call.services.database.connected():
        drops_credentials = links.drops_credentials(user, call.path["token"])
    say = call.services.translations.wanted(call.request).say
    faults = {(fault.pointer or "/")[1:]: say(fault.detail) for fault in problem.faults} if problem else {}
    by_field = {name: faults.get(name, "") for name in RepeatedSchema().fields}
    return without_referrer(show(call, "password_choose.html", framed=False, email=user.email, faults=by_field,
                                  drops_credentials=drops_credentials,
                                  problem=sentence(call, problem) if problem and not any(by_field.values()) else ""))


@routes.get(DONE, **page(public="it says what to do after a link was used", identify=visitor))
def chosen(call: Call) -> Response:
    """Show the way to the login, after a link was used."""
    return show(call, "password_chosen.html", framed=False)


def _prepare(call: Call) -> None:
    links.holder(call, call.path["token"])
    refuse_different(call.body)
    call.prepared = links.prepare(call, call.path["token"], call.body["new_password"])


def _use(call: Call) -> None:
    links.use(call, call.path["token"], call.prepared)


def _done(call: Call, _: Any) -> Response:
    return without_referrer(see_other(call, DONE))


routes.endpoints.append(form(
    replace(_USE, handler=_use, prepare=_prepare, body=RepeatedSchema(), secret_path=True),
    links.PAGE, _done, private(drawn_again(_drawn)), identify=visitor))
