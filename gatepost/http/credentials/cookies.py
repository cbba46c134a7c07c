"""Cookies that are credentials (RFC 6265): read as strictly as they are set, only from pages of the same origin.

Browsers send cookies automatically. So an endpoint that accepts one refuses requests from pages of another origin, even
though `SameSite=Strict` should withhold the cookie.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from flask import Request
from werkzeug.http import dump_cookie

from settings import Settings

from ..protocol.problems import Fault, Problem

_PORTS = {"http": 80, "https": 443}


def all_sent(request: Request, name: str) -> set[str]:
    """Returns all values of the cookie. Splits at semicolons, also inside quotation marks (RFC 6265 section 4.2.1)."""
    pairs = [pair.partition("=") for pair in request.environ.get("HTTP_COOKIE", "").split(";")]
    return {value.strip() for key, _, value in pairs if key.strip() == name}


def sent(request: Request, name: str) -> str | None:
    """Returns the value of the cookie, or None.

    Raises `Problem` (`invalid_header`) for two of them: a page of a neighbouring host may have set one. Does not clear
    our own, because then the other one would be accepted.
    """
    values = all_sent(request, name)
    if len(values) > 1:
        fault = Fault("invalid_header", "A cookie that is a credential was sent twice, with different values.",
                      header="Cookie")
        raise Problem.of([fault], "invalid_header")
    return next(iter(values), None)


def refuse_foreign(settings: Settings, request: Request, *, unsaid: bool = True, opaque: bool = False) -> None:
    """Raises `Problem` (`forbidden`) for a request from a page of another origin. Only browsers send the origin.

    It is in `Sec-Fetch-Site` for a trustworthy origin (Fetch Metadata), and otherwise in `Origin`. `unsaid` is True if
    a request with neither header is accepted; `opaque` if one with `Origin: null` counts as such a request. Browsers
    send that for a form of a page with `Referrer-Policy: no-referrer`, if they send no `Sec-Fetch-Site`.
    """
    site, origin = request.environ.get("HTTP_SEC_FETCH_SITE"), request.environ.get("HTTP_ORIGIN")
    if site is not None:
        is_own = site in ("same-origin", "none")
    elif origin is not None and not (opaque and origin == "null"):
        own_origin = _origin(settings.public_url or request.host_url)
        is_own = own_origin is not None and _origin(origin) == own_origin
    else:
        is_own = unsaid
    if not is_own:
        raise Problem("forbidden", "The cookie is only for pages of the service's own origin.")


def cookie(settings: Settings, request: Request, name: str, value: str, path: str, seconds: int, *, lax: bool = False
           ) -> str:
    """Returns the header that sets a cookie for so many seconds, unreadable for scripts; 0 clears it.

    `lax`: browsers also send it when a page of another site leads here.
    """
    return dump_cookie(name, value, max_age=seconds, path=path, secure=is_secure(settings, request), httponly=True,
                       samesite="Lax" if lax else "Strict")


def is_secure(settings: Settings, request: Request) -> bool:
    """True if clients reach the service by HTTPS."""
    return request.is_secure or settings.public_url.startswith("https://")


def _origin(url: str) -> tuple[str, str | None, int | None] | None:
    """Returns scheme, host and port (RFC 6454); None for a text that is not a URL with a host, such as `null`."""
    try:
        parts = urlsplit(url)
        return (parts.scheme, parts.hostname, parts.port or _PORTS.get(parts.scheme)) if parts.hostname else None
    except ValueError:
        return None
