"""The refresh token of a page's login as a cookie (RFC 6265), which no script of the page can read.

`POST /api/token/refresh` and `POST /api/logout` take it, and it is a credential nowhere else. Browsers send it by
themselves: both refuse a request that a page of another origin makes, though `SameSite=Strict` should keep the cookie
from it.
"""

from __future__ import annotations

from typing import Any

from flask import Request

from gatepost.http.credentials import cookies, sessions
from gatepost.http.protocol.problems import Problem
from gatepost.http.request import identity
from gatepost.http.request.call import Call, Services
from gatepost.http.request.urls import path_of
from models.base import now
from models.records.times import elapsed
from policies import Principal
from settings import Settings

_NAME = "gatepost_refresh"  # browsers let nobody set one with the prefix `__Secure-` over plain HTTP


def sent(settings: Settings, request: Request) -> str | None:
    """The refresh token that the request has as a cookie; None where it has none. Raises `Problem` for two of them."""
    return cookies.sent(request, _name_of(settings, request))


def refuse_foreign(settings: Settings, request: Request) -> None:
    """Raises `Problem` (`forbidden`) for what a page of another origin sends; no program but a browser says so."""
    cookies.refuse_foreign(settings, request)


def identify(services: Services, request: Request) -> tuple[Principal, str | None]:
    """Who logs out: as `Authorization` says, else whose refresh token the cookie is, and the id of its session.

    Raises `Problem`: `invalid_token`, `token_expired`, `forbidden` for a page of another origin, `invalid_header`.
    """
    if _all_sent(services.settings, request):
        refuse_foreign(services.settings, request)  # also beside a token: `take_back` ends what the cookie stands for
    if "HTTP_AUTHORIZATION" in request.environ or (token := sent(services.settings, request)) is None:
        return identity.identify(services, request)
    found = sessions.renewable(token)
    if found is None:
        raise sessions.invalid({"Set-Cookie": _cookie(services.settings, request, "", 0)})
    session, user = found
    return identity.principal_of(user), session.id


def exchange(call: Call, token: str) -> dict[str, Any]:
    """What `sessions.exchange` answers for the token of the cookie; its last successor is in the cookie again: an older
    one would come too late, and be taken for a stolen one.

    Raises what that does, and `forbidden` for a page of another origin.
    """
    settings, request = call.services.settings, call.request
    refuse_foreign(settings, request)
    try:
        answer = sessions.exchange(call, token, newest=True)
    except Problem as problem:
        if problem.code == "invalid_token":
            problem.headers["Set-Cookie"] = _cookie(settings, request, "", 0)
        raise
    return put(call, answer)


def put(call: Call, answer: dict[str, Any]) -> dict[str, Any]:
    """The answer of a login or a refresh, `call.row` being its session, with the refresh token in the cookie alone."""
    lasts = round(elapsed(now(), call.row.expires_at))
    call.headers["Set-Cookie"] = _cookie(call.services.settings, call.request, answer["refresh_token"], lasts)
    return {name: value for name, value in answer.items() if name != "refresh_token"}


def take_back(call: Call) -> str | None:
    """Clear the cookie of a caller who logs out; the id of the session that it stands for, where it is one and good."""
    settings, request = call.services.settings, call.request
    tokens = _all_sent(settings, request)
    if not tokens:
        return None
    call.headers["Set-Cookie"] = _cookie(settings, request, "", 0)
    found = sessions.renewable(tokens.pop()) if len(tokens) == 1 else None
    return None if found is None else found[0].id


def _name_of(settings: Settings, request: Request) -> str:
    return f"__Secure-{_NAME}" if cookies.is_secure(settings, request) else _NAME


def _all_sent(settings: Settings, request: Request) -> set[str]:
    return cookies.all_sent(request, _name_of(settings, request))


def _cookie(settings: Settings, request: Request, value: str, seconds: int) -> str:
    return cookies.cookie(settings, request, _name_of(settings, request), value, path_of(request, "/api"), seconds)
