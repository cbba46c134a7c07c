"""The Flask application, without what nothing here uses: coroutines, cookies, and URLs that name a host."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

from flask import Flask, Request
from flask.sessions import NullSession, SessionInterface
from werkzeug.routing import MapAdapter
from werkzeug.wsgi import get_content_length

_NONE = NullSession()


class NotReady(Exception):
    """The instance cannot be served yet; the sentence says which command mends that."""


class _NoCookies(SessionInterface):
    def open_session(self, app: Flask, request: Request) -> NullSession:
        return _NONE


class _Request(Request):
    @cached_property
    def content_length(self) -> int | None:
        """The announced length of the body, in bytes; None where there is none, or it is sent in chunks."""
        # It is asked for several times. Werkzeug's own searches the headers, and takes a call each time after that.
        return get_content_length(self.environ)


class Application(Flask):
    """Flask looks for each of these several times on every request; here they are answered in advance."""

    request_class = _Request
    session_interface = _NoCookies()

    def ensure_sync(self, func: Callable[..., Any]) -> Callable[..., Any]:
        return func

    def create_url_adapter(self, request: Request | None) -> MapAdapter | None:
        if request is None:
            return None
        # No route depends on the host, and no answer names it by a route; `Map.bind` would encode it all the same.
        return MapAdapter(self.url_map, server_name="", script_name=request.root_path, subdomain="", url_scheme="http",
                          path_info=request.path, default_method=request.method)
