"""Security headers and CORS headers for browsers (Fetch standard).

Credentials are bearer tokens, and the cookies (`credentials/cookies`) are for pages of the service's own origin. So
CORS never allows credentials. Without the setting `cors_origins`, no page of another origin can read an answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from flask import Request, Response

from .application import Departure

if TYPE_CHECKING:
    from settings import LiveSettings

# Forbidden to every page: frames, forms, a base URL. None of these directives falls back to `default-src`.
_NEVER = {"base-uri": "'none'", "form-action": "'none'", "frame-ancestors": "'none'"}


def _policy(directives: Mapping[str, str]) -> str:
    return "; ".join(f"{name} {value}" for name, value in {"default-src": "'none'", **directives}.items())


# Headers of every answer; pages have `page_headers` as well.
PROTECTION = (("X-Content-Type-Options", "nosniff"), ("X-Frame-Options", "DENY"), ("Referrer-Policy", "no-referrer"),
              ("Content-Security-Policy", _policy(_NEVER)))
REQUEST_HEADERS = ("Accept-Language, API-Version, Authorization, Content-Type, Idempotency-Key, If-Match, "
                   "If-None-Match, Prefer, traceparent, X-Request-ID")
ANSWER_HEADERS = ("Accept, Accept-Encoding, Accept-Patch, Accept-Post, API-Version, Content-Disposition, "
                  "Content-Language, Deprecation, ETag, Idempotency-Replayed, Link, Location, Preference-Applied, "
                  "RateLimit, RateLimit-Policy, Retry-After, Sunset, WWW-Authenticate, X-Request-ID")
MAX_AGE = 600  # seconds that a browser remembers a permission


def page_headers(**sources: str) -> dict[str, str]:
    """Returns the headers of a page for browsers. `style_src="'self'"` allows that source; all others are denied.

    The page cannot use devices. A page of another origin that opened it, or was opened by it, cannot access it.
    """
    allowed = {name.replace("_", "-"): source for name, source in sources.items()}
    never = {name: source for name, source in _NEVER.items() if name not in allowed}
    return {"Content-Security-Policy": _policy(allowed | never),
            "Cross-Origin-Opener-Policy": "same-origin",
            "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()"}


def telling(live: LiveSettings) -> Departure:
    """Returns a function that adds the headers of the settings `hsts_seconds`, `cors_origins` and `cors_headers`."""

    def tell(request: Request, response: Response) -> Response:
        settings = live.current
        # Must not be sent over plain HTTP (RFC 6797 section 7.2).
        if settings.hsts_seconds and request.is_secure:
            response.headers["Strict-Transport-Security"] = f"max-age={settings.hsts_seconds}"
        if settings.cors_origins:
            _allow_origin(request, response, _origins(settings.cors_origins), settings.cors_headers.split())
        return response

    return tell


@lru_cache(maxsize=8)
def _origins(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _allow_origin(request: Request, response: Response, origins: frozenset[str], own: list[str]) -> None:
    headers, origin = response.headers, request.headers.get("Origin")
    if "*" not in origins:
        response.vary.add("Origin")
    if origin is None or ("*" not in origins and origin not in origins):
        return
    headers["Access-Control-Allow-Origin"] = "*" if "*" in origins else origin
    if request.method == "OPTIONS" and "Access-Control-Request-Method" in request.headers:
        headers["Access-Control-Allow-Methods"] = headers.get("Allow", "")
        headers["Access-Control-Allow-Headers"] = ", ".join((REQUEST_HEADERS, *own))
        headers["Access-Control-Max-Age"] = str(MAX_AGE)
    else:
        headers["Access-Control-Expose-Headers"] = ", ".join((ANSWER_HEADERS, *own))
