"""URLs and paths in answers. Each is made by `path_of` or `url_of`.

The proxy removes the path of `public_url`, so no route has it. `Application` sets it as the `root_path` of each request
(SCRIPT_NAME of WSGI). `X-Forwarded-Prefix` is not read.
"""

from __future__ import annotations

import re

from flask import Request

from settings import Settings

# Host name or address, and a port, as `servers/grammar` accepts them in the header Host.
_HOST = re.compile(r"(?:[A-Za-z0-9._~-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?")


def path_of(request: Request, path: str = "") -> str:
    """Returns the path as clients write it: below the path of `public_url`."""
    return request.root_path + path


def url_of(settings: Settings, request: Request | None, path: str = "", *, by_proxy: bool = True) -> str:
    """Returns the URL of a path of the service: below the setting `public_url`, or below the scheme and host that a
    trusted proxy sends.

    Without both, returns `path_of`: the `Host` of a direct client proves nothing. `by_proxy` is False for an
    identifier or a secret link, which must not depend on the proxy. Without a request, in a command, only `public_url`
    counts.
    """
    if settings.public_url:
        return settings.url + path
    if request is None:
        return path
    if by_proxy and settings.trusted_proxies and _is_forwarded(settings.trusted_proxies, request.environ):
        return f"{request.scheme}://{request.environ['HTTP_HOST']}{path_of(request, path)}"
    return path_of(request, path)


def seen_url(settings: Settings, request: Request) -> str:
    """Returns the URL of the service for the reader of a page: `url_of`, else with the `Host` of the request.
    """
    url = url_of(settings, request)
    if "://" in url:
        return url
    host = request.environ.get("HTTP_HOST", "")
    return f"{request.scheme}://{host if _HOST.fullmatch(host) else 'localhost'}{url}"


def _is_forwarded(proxies: int, environ: dict[str, str]) -> bool:
    """True if `ProxyFix` has taken the host from X-Forwarded-Host, and the host is valid."""
    hosts = environ.get("HTTP_X_FORWARDED_HOST", "").split(",")
    return (len(hosts) >= proxies and hosts[-proxies].strip() == environ.get("HTTP_HOST")
            and _HOST.fullmatch(environ["HTTP_HOST"]) is not None and environ["wsgi.url_scheme"] in ("http", "https"))
