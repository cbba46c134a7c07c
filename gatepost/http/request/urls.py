"""The URLs and paths that the service hands out: each goes through `path_of` or `url_of`.

The path of `public_url` is taken off by the proxy, so no route has it. `Application` gives it to each request as its
`root_path` (SCRIPT_NAME of WSGI). `X-Forwarded-Prefix` is not read.
"""

from __future__ import annotations

import re

from flask import Request

from settings import Settings

# Written into headers: a name or an address, and a port, as `servers/grammar` takes them for Host.
_HOST = re.compile(r"(?:[A-Za-z0-9._~-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?")


def path_of(request: Request, path: str = "") -> str:
    """The path as clients write it: below that of `public_url`."""
    return request.root_path + path


def url_of(settings: Settings, request: Request, path: str = "", *, by_proxy: bool = True) -> str:
    """The URL of a path of the service: below the setting `public_url`, or below the scheme and host that a trusted
    proxy says.

    Where nobody says it, `path_of`: `Host` of a client that speaks to us directly is no proof of anything. `by_proxy`:
    off for an identifier, which is the same whatever proxy a request came through.
    """
    if settings.public_url:
        return settings.url + path
    if by_proxy and settings.trusted_proxies and _is_said(settings.trusted_proxies, request.environ):
        return f"{request.scheme}://{request.environ['HTTP_HOST']}{path_of(request, path)}"
    return path_of(request, path)


def seen_url(settings: Settings, request: Request) -> str:
    """The URL of the service for a reader who looks at a page of it: `url_of`, else with the host that was asked for.
    """
    known = url_of(settings, request)
    if "://" in known:
        return known
    host = request.environ.get("HTTP_HOST", "")
    return f"{request.scheme}://{host if _HOST.fullmatch(host) else 'localhost'}{known}"


def _is_said(proxies: int, environ: dict[str, str]) -> bool:
    """True if `ProxyFix` has taken the host out of X-Forwarded-Host, and it is a valid one."""
    said = environ.get("HTTP_X_FORWARDED_HOST", "").split(",")
    return (len(said) >= proxies and said[-proxies].strip() == environ.get("HTTP_HOST")
            and _HOST.fullmatch(environ["HTTP_HOST"]) is not None and environ["wsgi.url_scheme"] in ("http", "https"))
