"""Flask application without the parts that Gatepost does not use: coroutines, Flask's sessions, URLs with a host."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache, cached_property
from typing import Any

from flask import Flask, Request, Response, request, request_finished, request_started
from flask.ctx import RequestContext
from flask.globals import request_ctx
from flask.sessions import NullSession, SessionInterface
from flask.typing import ResponseReturnValue
from werkzeug.routing import BaseConverter, MapAdapter, Rule
from werkzeug.wsgi import get_content_length

from policies.syntax.addresses import normalized

_NONE = NullSession()

Arrival = Callable[[Request], None]
"""Function that runs on each request before its view. An exception becomes the answer."""
Departure = Callable[[Request, Response], Response]
"""Function that runs on each answer before it is sent, including errors."""


class NotReady(Exception):
    """Error of an instance that cannot be served yet. The message names the command that fixes it."""


class _NoCookies(SessionInterface):
    def open_session(self, app: Flask, request: Request) -> NullSession:
        return _NONE


class _Request(Request):
    def __init__(self, environ: dict[str, Any], populate_request: bool = True, shallow: bool = False) -> None:
        """Reads the client's address from `environ` in normalized form; None if it is absent or unreadable."""
        super().__init__(environ, populate_request, shallow)
        self.remote_addr = normalized(self.remote_addr)

    @cached_property
    def content_length(self) -> int | None:
        """Announced length of the body in bytes; None without a body, and for a chunked body."""
        # Read several times. Werkzeug's own property searches the headers each time.
        return get_content_length(self.environ)


class _Rule(Rule):
    """Rule with reserved words: `taken` maps a variable to the words that it never matches. Other paths have them."""

    def __init__(self, string: str, *, taken: Mapping[str, Iterable[str]] | None = None, **options: Any) -> None:
        super().__init__(string, **options)
        self._taken = taken or {}

    def get_empty_kwargs(self) -> dict[str, Any]:
        return {**super().get_empty_kwargs(), "taken": self._taken}

    def get_converter(self, variable_name: str, *rest: Any) -> BaseConverter:
        converter = super().get_converter(variable_name, *rest)
        if words := "|".join(map(re.escape, self._taken.get(variable_name, ()))):
            converter.regex = rf"(?!(?:{words})\Z){converter.regex}"
        return converter

    def _compile_builder(self, append_unknown: bool = True) -> Callable[..., tuple[str, str]]:
        """Compiles the function that builds URLs of this rule at its first call.

        No answer of Gatepost needs one, and compiling two for each rule took a third of a start.
        """
        make = super()._compile_builder

        @cache
        def compiled() -> Callable[..., tuple[str, str]]:
            return make(append_unknown)

        return lambda rule, **values: compiled()(rule, **values)


class _Adapter(MapAdapter):
    def make_redirect_url(self, path_info: str, query_args: Any = None, domain_part: str | None = None) -> str:
        """Returns the path and query to which a plugin's rule redirects, such as a rule that ends in a slash.

        Werkzeug's method adds a host, which is unknown here, and drops the query.
        """
        query = query_args or request.query_string.decode("latin-1")
        return super().make_redirect_url(path_info, query, domain_part).removeprefix("http://")


class Application(Flask):
    """Application that answers in advance what Flask looks up several times on each request.

    arrivals    functions that run on each request, in this order
    departures  functions that run on each answer, in this order, after Flask's own
    """

    request_class = _Request
    url_rule_class: type[Rule] = _Rule
    session_interface = _NoCookies()
    mount = ""
    """Path of `public_url`, which the proxy removes. It becomes WSGI's SCRIPT_NAME of each request."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.arrivals: list[Arrival] = []
        self.departures: list[Departure] = []
        # Werkzeug would redirect `//` to `/`, in HTML.
        self.url_map.merge_slashes = False

    def ensure_sync(self, func: Callable[..., Any]) -> Callable[..., Any]:
        return func

    def full_dispatch_request(self) -> Response:
        """Does what Flask's method does, with fewer steps: looks the request up once, and calls no empty hooks."""
        if (self.before_request_funcs or self.after_request_funcs or self.url_value_preprocessors
                or request_started.receivers or request_finished.receivers):
            return super().full_dispatch_request()
        self._got_first_request = True
        context = request_ctx._get_current_object()  # type: ignore[attr-defined]
        request: Request = context.request
        try:
            self._arrive(request)
            if request.routing_exception is not None:
                self.raise_routing_exception(request)
            assert request.url_rule is not None and request.view_args is not None
            # Flask itself answers OPTIONS.
            answer: Any = self.dispatch_request() if request.method == "OPTIONS" else \
                self.view_functions[request.url_rule.endpoint](**request.view_args)
        except Exception as error:
            answer = self.handle_user_exception(error)
        if context._after_request_functions:
            return self.finalize_request(answer)
        return self._depart(request, self.make_response(answer))

    def preprocess_request(self) -> ResponseReturnValue | None:
        self._arrive(request_ctx.request)
        return super().preprocess_request()

    def process_response(self, response: Response) -> Response:
        return self._depart(request_ctx.request, super().process_response(response))

    def _arrive(self, request: Request) -> None:
        for function in self.arrivals:
            function(request)

    def _depart(self, request: Request, response: Response) -> Response:
        for function in self.departures:
            response = function(request, response)
        return response

    def add_url_rule(self, rule: str, endpoint: str | None = None, view_func: Callable[..., Any] | None = None,
                     provide_automatic_options: bool | None = None, **options: Any) -> None:
        """Passes `view_func.taken` to the rule. flask-smorest would pass it as an option to a rule of another class."""
        super().add_url_rule(rule, endpoint, view_func, provide_automatic_options,
                             taken=getattr(view_func, "taken", None), **options)

    def request_context(self, environ: dict[str, Any]) -> RequestContext:
        # Set in the environment, because the console makes requests to the API from it.
        if self.mount:
            environ["SCRIPT_NAME"] = self.mount
        return RequestContext(self, environ)

    def create_url_adapter(self, request: Request | None) -> MapAdapter | None:
        if request is None:
            return None
        # Neither routes nor answers depend on the host; `Map.bind` would encode it anyway.
        return _Adapter(self.url_map, server_name="", script_name=request.root_path, subdomain="", url_scheme="http",
                        path_info=request.path, default_method=request.method)
