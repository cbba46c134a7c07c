"""The refresh token of a page's login as a cookie (RFC 6265), which no script of the page can read.

`POST /api/token/refresh` and `POST /api/logout` take it, and it is a credential nowhere else. Browsers send it by
themselves: both refuse a request that a page of another origin makes, though `SameSite=Strict` should keep the cookie
from it.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from flask import Request
from werkzeug.http import dump_cookie

from models.base import now
from models.records.times import elapsed
from policies import Principal
from settings import Settings

from ..protocol.problems import Fault, Problem
from ..request import identity
from ..request.base_url import base_url
from ..request.call import Call, Services
from . import sessions

_NAME = "gatepost_refresh"
_PORTS = {"http": 80, "https": 443}


def name(settings: Settings, request: Request) -> str:
    """What the cookie is called: browsers let nobody set one with the prefix over plain HTTP."""
    return f"__Secure-{_NAME}" if _is_secure(settings, request) else _NAME


def sent(settings: Settings, request: Request) -> str | None:
    """The refresh token that the request has as a cookie; None where it has none.

    Raises `Problem` (`invalid_header`) for two of them: a page of a neighbouring host may have put one there. Ours is
    not cleared, since the other one would be taken then.
    """
    found = _all_sent(settings, request)
    if len(found) > 1:
        fault = Fault("invalid_header", "The cookie with the refresh token was sent twice, with different values.",
                      header="Cookie")
        raise Problem.of([fault], "invalid_header")
    return next(iter(found), None)


def refuse_foreign(settings: Settings, request: Request) -> None:
    """Raises `Problem` (`forbidden`) for what a page of another origin sends; no program but a browser says so.

    `Sec-Fetch-Site` tells it where the origin is trustworthy (Fetch Metadata), `Origin` in other places.
    """
    site, origin = request.environ.get("HTTP_SEC_FETCH_SITE"), request.environ.get("HTTP_ORIGIN")
    if site is not None:
        own = site in ("same-origin", "none")
    else:
        home = _origin(settings.public_url or request.host_url)
        own = origin is None or (home is not None and _origin(origin) == home)
    if not own:
        raise Problem("forbidden", "The cookie is only for pages of the service's own origin.")


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


def _all_sent(settings: Settings, request: Request) -> set[str]:
    """The values of the cookie, between semicolons (RFC 6265 section 4.2.1): a quotation mark in another one hides
    none."""
    wanted = name(settings, request)
    pairs = [pair.partition("=") for pair in request.environ.get("HTTP_COOKIE", "").split(";")]
    return {value.strip() for key, _, value in pairs if key.strip() == wanted}


def _cookie(settings: Settings, request: Request, value: str, seconds: int) -> str:
    path = urlsplit(base_url(settings, request)).path
    return dump_cookie(name(settings, request), value, max_age=seconds, path=f"{path}/api",
                       secure=_is_secure(settings, request), httponly=True, samesite="Strict")


def _is_secure(settings: Settings, request: Request) -> bool:
    return request.is_secure or settings.public_url.startswith("https://")


def _origin(url: str) -> tuple[str, str | None, int | None] | None:
    """Scheme, host and port (RFC 6454); None for what is no URL with a host, such as `null`."""
    try:
        parts = urlsplit(url)
        return (parts.scheme, parts.hostname, parts.port or _PORTS.get(parts.scheme)) if parts.hostname else None
    except ValueError:
        return None
