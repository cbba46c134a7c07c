"""Pages that lead to a provider, and that the provider leads back to.

The page that it leads back to changes nothing: it has a form with what the provider sent, which the script of the
console sends at once. So the login is a POST from the service's own page. With it the browser sends cookies that are
`SameSite=Strict`, and a scanner that follows links uses no code.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from flask import Request, Response

from gatepost import Call, Endpoint, Line, Message, Problem, Routes, StrictSchema, Text
from gatepost.collections.asking import sent_instead
from gatepost.http.credentials import console_sessions
from settings import Settings

from ...console.pages import Way, drawn_again, form, inside, offer_login, page, see_other, sentence, served, showing
from ...console.pages import texts as parameters
from ..single_sign_on import configured
from ..single_sign_on.flow import BACK, MARK, START, Flow
from ..single_sign_on.identities import CONNECT, failed, issuer_of, prepare, start, talking

_OPEN = "a user who logs in has no session yet"
_SENT = ("code", "state", "iss", "error")
_COST = 50  # units: each code is stored for an hour
_LONGEST = 8192  # characters of a code: some providers put encrypted tokens into it


def when(settings: Settings) -> bool:
    """True if the pages are served."""
    return served(settings) and configured.is_on(settings)


show = showing(__package__)
routes = Routes("single_sign_on", "Logins with an identity provider.", when=when)


def _ways(call: Call) -> list[Way]:
    return [Way(START.replace(MARK, provider.name), Message("Log in with {provider}", provider=provider.title))
            for provider in configured.providers(call.services.settings).values()] \
        if START in call.services.registry.paths else []


offer_login(_ways)


def _draw(call: Call, problem: Problem) -> Response:
    """Draws the page of a refusal, or leads to the page of the next step."""
    location = problem.headers.get("Location")
    if problem.code == "login_incomplete" and location == CONNECT:
        return see_other(call, location)
    if problem.code == "login_incomplete" and location:
        return see_other(call, f"{location}?next={quote(_wanted(call), safe='/')}")
    if problem.code == "login_incomplete":
        return show(call, "not_connected.html", framed=False, connect=CONNECT, problem=sentence(call, problem))
    return show(call, "not_logged_in.html", framed=False, problem=sentence(call, problem))


_refused = drawn_again(_draw, (400, 401, 403, 404, 409, 413, 415, 429))


@routes.get(START, **page(public=_OPEN, query=parameters("next", "connect"), anonymous=True, cost=10,
                          refused=_refused))
def begin(call: Call) -> Response:
    """Lead to the provider, and keep the login in a cookie."""
    if call.request.headers.get("Sec-Fetch-Site") == "cross-site":
        # The provider may know the browser: a page of another site must not open a session without a click here.
        return see_other(call, f"/console/login?next={quote(inside(call.query.get('next')), safe='/')}")
    issuer, settings = issuer_of(call), call.services.settings
    with talking(call, issuer):
        metadata = issuer.metadata()
    flow = Flow.begun(issuer.provider.name, inside(call.query.get("next")), connects=bool(call.query.get("connect")))
    proves_again = console_sessions.has_cookie(settings, call.request) and not flow.connects
    response = see_other(call, "")
    response.headers["Location"] = flow.url(settings, issuer.provider, metadata, proves_again=proves_again)
    response.headers["Set-Cookie"] = flow.cookie(call.services, call.request)
    return response


def _without_others(request: Request) -> Request:
    """Returns the request with the parameters that are read. Providers send further ones, each its own."""
    values = {name: request.args.getlist(name) for name in (*_SENT, "lang")}
    return sent_instead(request, request.method,
                        {name: sent[0] for name, sent in values.items() if len(sent) == 1})


class _BackSchema(StrictSchema):
    code = Text(required=True, maximum=_LONGEST)
    state = Text(required=True, maximum=200)
    iss = Line(maximum=2000)


class _AnswerSchema(StrictSchema):
    code = Text(minimum=0, maximum=_LONGEST)
    state = Text(minimum=0, maximum=8192)
    iss = Text(minimum=0, maximum=2000)
    error = Text(minimum=0, maximum=500)


@routes.get(BACK, **page(public=_OPEN, query=_AnswerSchema(), anonymous=True, translate=_without_others,
                         refused=_refused))
def back(call: Call) -> Response:
    """Show the form that completes the login, which the script sends at once."""
    provider = issuer_of(call).provider
    if "error" in call.query or "code" not in call.query:
        error = str(call.query.get("error", ""))
        is_known = error.isascii() and error.isidentifier()
        raise failed(provider, f"the provider answers {error[:60] if is_known else 'without a code'}",
                     Message("{provider} has not logged you in. Begin again, or log in with your password.",
                             provider=provider.title))
    values = {name: call.query[name] for name in _SENT if name in call.query}
    return show(call, "back.html", framed=False, provider=provider.title, path=BACK.replace(MARK, provider.name),
                values=values)


def _logged_in(call: Call, _: Any) -> Response:
    return see_other(call, _wanted(call))


def _wanted(call: Call) -> str:
    flow = Flow.sent(call.services, call.request)
    return inside(None if flow is None else flow.next)


routes.endpoints.append(form(
    Endpoint(name="log_in_with_provider", method="POST", path=BACK, permission="session.create", body=_BackSchema(),
             prepare=prepare, handler=start, writes=True, secret=True, cost=_COST, summary="Log in with a provider."),
    BACK, _logged_in, _refused, identify=console_sessions.visitor))
