"""The URL under which clients know the service: what goes before a path, where an answer names a whole URL."""

from __future__ import annotations

import re

from flask import Request

from settings import Settings

# Written into headers: a name or an address, and a port, as `servers/grammar` takes them for Host.
_HOST = re.compile(r"(?:[A-Za-z0-9._~-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?")


def base_url(settings: Settings, request: Request) -> str:
    """The URL of the service without a final slash: the setting `public_url`, or the scheme and host that a trusted
    proxy says.

    Where nobody says it, the path under which the service is mounted, mostly the empty text: `Host` of a client that
    speaks to us directly is no proof of anything.
    """
    if settings.public_url:
        return settings.url
    if settings.trusted_proxies and _is_said(settings.trusted_proxies, request.environ):
        return f"{request.scheme}://{request.environ['HTTP_HOST']}{request.root_path}"
    return request.root_path


def seen_url(settings: Settings, request: Request) -> str:
    """The URL of the service for a reader who looks at a page of it: `base_url`, else the host that was asked for."""
    known = base_url(settings, request)
    if "://" in known:
        return known
    host = request.environ.get("HTTP_HOST", "")
    return f"{request.scheme}://{host if _HOST.fullmatch(host) else 'localhost'}{known}"


def _is_said(proxies: int, environ: dict[str, str]) -> bool:
    """Whether `ProxyFix` has taken the host out of X-Forwarded-Host, and it is one."""
    said = environ.get("HTTP_X_FORWARDED_HOST", "").split(",")
    return (len(said) >= proxies and said[-proxies].strip() == environ.get("HTTP_HOST")
            and _HOST.fullmatch(environ["HTTP_HOST"]) is not None and environ["wsgi.url_scheme"] in ("http", "https"))
