"""Views of a plain Flask `Blueprint`, as endpoints: each declares its permission, and runs through the pipeline.

The pipeline does not run a Blueprint's other parts (`before_request`, error handlers, static files). So a Blueprint
with any of them is refused instead of served without them.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from typing import Any

from flask import Blueprint, Flask, Response, current_app
from werkzeug.exceptions import HTTPException
from werkzeug.routing import Rule

from ...http.pipeline import errors, limiting
from ...http.request.call import Call
from ...http.request.endpoint import Endpoint
from ..routes import DECLARED, Routes
from .contents import PluginError
from .places import place

_READS = ("GET", "HEAD", "OPTIONS")
_AROUND = ("before_request_funcs", "after_request_funcs", "teardown_request_funcs", "error_handler_spec",
           "url_value_preprocessors", "url_default_functions", "template_context_processors")


def routes_of(source: str, blueprint: Blueprint) -> Routes:
    """Returns the views of a Blueprint as routes.

    Raises `PluginError` for a view without a permission, and for parts that the pipeline would not run.
    """
    app, empty = _registered(blueprint), _registered(Blueprint(blueprint.name, blueprint.import_name))
    if blueprint.has_static_folder or blueprint.template_folder is not None:
        raise PluginError(f"{source}: the Blueprint {blueprint.name!r} has files of its own, which no permission "
                          "guards")
    for name in _AROUND:
        if _count_functions(getattr(app, name)) != _count_functions(getattr(empty, name)):
            raise PluginError(f"{source}: the Blueprint {blueprint.name!r} has {name}, which would not be called: "
                              "every view runs through the pipeline of Gatepost")
    about = inspect.getdoc(importlib.import_module(blueprint.import_name)) or ""
    routes = Routes(blueprint.name, about.partition("\n")[0])
    routes.__module__, routes.made_of = blueprint.import_name, blueprint
    for rule in app.url_map.iter_rules():
        if rule.defaults or rule.subdomain or rule.host or rule.redirect_to:
            raise PluginError(f"{source}: {place(app.view_functions[rule.endpoint])}: the route {rule.rule} has "
                              "defaults, a host or a redirection; only its path and methods are served")
        routes.endpoints.extend(_endpoints(source, blueprint, rule, app.view_functions[rule.endpoint]))
    return routes


def _endpoints(source: str, blueprint: Blueprint, rule: Rule, view: Callable[..., Any]) -> Iterator[Endpoint]:
    methods = sorted((rule.methods or set()) - {"HEAD", "OPTIONS"})
    for method in methods:
        declared = _declaration(view, method)
        if declared is None:
            raise PluginError(f"{source}: {place(_function_of(view, method))}: the view of {method} {rule.rule} has no "
                              'permission; say it with @permission("…"), or @public("why it needs none")')
        name = rule.endpoint.removeprefix(f"{blueprint.name}.").replace(".", "_")
        if len(methods) > 1:
            name = f"{name}_{method.lower()}"
        summary = (_function_of(view, method).__doc__ or "").strip().partition("\n")[0]
        try:
            yield Endpoint(**{"name": name, "method": method, "path": rule.rule, "handler": _handler(view),
                              "summary": summary, **(_WRITES if method not in _READS else {}), **declared})
        except TypeError as error:
            raise PluginError(f"{source}: {place(_function_of(view, method))}: {error}") from error


def _registered(blueprint: Blueprint) -> Flask:
    app = Flask(blueprint.import_name, static_folder=None)
    app.register_blueprint(blueprint)
    return app


def _count_functions(spec: Any) -> int:
    """Counts the functions in Flask's nested dictionaries."""
    if isinstance(spec, dict):
        return sum(map(_count_functions, spec.values()))
    return len(spec) if isinstance(spec, list) else 1


def _function_of(view: Callable[..., Any], method: str) -> Callable[..., Any]:
    """Returns the function that answers: the view, or the method of its class."""
    function: Callable[..., Any] = getattr(getattr(view, "view_class", None), method.lower(), view)
    return function


def _declaration(view: Callable[..., Any], method: str) -> dict[str, Any] | None:
    for holder in (_function_of(view, method), view, getattr(view, "view_class", None)):
        declared: dict[str, Any] | None = getattr(holder, DECLARED, None)
        if declared is not None:
            return declared
    return None


@contextmanager
def _body_read(call: Call) -> Iterator[None]:
    """Reads the body before the transaction, because a view would read it while other writers wait."""
    limiting.allow_body(call)
    call.request.get_data(cache=True)
    yield


_WRITES: Mapping[str, Any] = {"writes": True, "around": _body_read}


def _handler(view: Callable[..., Any]) -> Callable[[Call], Response]:
    """Returns a handler with the view's response, whatever type Flask accepts for it.

    An error status is raised as `Problem`, so that the transaction is rolled back.
    """

    @wraps(view)
    def answer(call: Call) -> Response:
        try:
            response: Response = current_app.make_response(current_app.ensure_sync(view)(**call.path))
        except HTTPException as error:
            if error.response is None:
                detail = (error.description or "") if error.description != type(error).description else ""
                raise errors.of_status(error.code or 500, detail=detail) from error
            response = current_app.make_response(error.response)
        if response.status_code >= 400:
            response.close()
            raise errors.of_status(response.status_code)
        return response

    return answer
