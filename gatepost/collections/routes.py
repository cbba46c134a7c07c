"""Endpoints become views: `Routes` declares plain ones, `blueprint` serves all, `described` documents them.

Every view is one call of the pipeline. No view lacks a permission: `Endpoint` requires one, and `refuse_strays` refuses
views that were added in another way.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from flask import Blueprint, Flask, Response, request

from settings import Settings

from ..http.openapi.operations import describe, path_parameters
from ..http.pipeline.stages import run
from ..http.protocol.preferences import preferences
from ..http.request.call import Call, services
from ..http.request.endpoint import Endpoint
from .collection import Collection

if TYPE_CHECKING:
    import flask_smorest

Handler = Callable[[Call], Any]
Maker = Callable[[Collection], Iterable[Endpoint]]


class Routes:
    """Plain endpoints of one topic, declared by decorating their handlers.

    >>> routes = Routes("session", "Log in and out.")
    >>> @routes.post("/api/login", permission="session.create", body=Login())
    ... def login(call): ...
    """

    def __init__(self, name: str, about: str, *, when: Callable[[Settings], bool] | None = None) -> None:
        """Creates an empty group. `when` returns true for settings under which it is served; None: always."""
        self.name = name
        self.when = when
        self.about = about
        self.endpoints: list[Endpoint] = []
        self._makers: list[Maker] = []
        # Like a class, it names its module: rules, texts and migrations are files beside that module.
        self.__module__ = str(sys._getframe(1).f_globals.get("__name__", __name__))
        self.made_of: object = None  # the plain Flask Blueprint whose views these are

    def get(self, path: str, **declaration: Any) -> Callable[[Handler], Handler]:
        """Declares a GET endpoint; `declaration` are the fields of `Endpoint`."""
        return self._declare("GET", path, declaration)

    def post(self, path: str, **declaration: Any) -> Callable[[Handler], Handler]:
        """Declares a POST endpoint, which writes."""
        return self._declare("POST", path, {"writes": True} | declaration)

    def patch(self, path: str, **declaration: Any) -> Callable[[Handler], Handler]:
        """Declares a PATCH endpoint, which writes; absent fields keep their values."""
        return self._declare("PATCH", path, {"writes": True, "partial": True} | declaration)

    def delete(self, path: str, **declaration: Any) -> Callable[[Handler], Handler]:
        """Declares a DELETE endpoint, which writes."""
        return self._declare("DELETE", path, {"writes": True, "status": 204} | declaration)

    def of_each(self, make: Maker) -> Maker:
        """Declares endpoints for each served collection, such as pages of its rows."""
        self._makers.append(make)
        return make

    def over(self, collections: Iterable[Collection]) -> list[Endpoint]:
        """Lists every endpoint, if these collections are served."""
        served = list(collections)
        return [*self.endpoints,
                *(endpoint for make in self._makers for collection in served for endpoint in make(collection))]

    def _declare(self, method: str, path: str, declaration: dict[str, Any]) -> Callable[[Handler], Handler]:
        def mark(handler: Handler) -> Handler:
            summary = (handler.__doc__ or "").strip().partition("\n")[0]
            self.endpoints.append(Endpoint(name=handler.__name__, method=method, path=path, handler=handler,
                                           summary=summary, **declaration))
            return handler

        return mark


DECLARED = "gatepost_endpoint"  # the attribute of a plain view that has the fields of its `Endpoint`
View = TypeVar("View", bound=Callable[..., Any])


def permission(name: str, **declaration: Any) -> Callable[[View], View]:
    """Declares the permission of a view of a plain Flask `Blueprint`; `declaration` are further fields of `Endpoint`.

    The view then runs through the pipeline like every endpoint. `flask.g.call` is its `Call`.
    """
    return _declare_view({"permission": name, **declaration})


def public(reason: str, **declaration: Any) -> Callable[[View], View]:
    """Declares why a view of a plain Flask `Blueprint` needs no permission; `declaration` as in `permission`."""
    return _declare_view({"public": reason, **declaration})


def _declare_view(declaration: dict[str, Any]) -> Callable[[View], View]:
    def mark(view: View) -> View:
        setattr(view, DECLARED, declaration)
        return view

    return mark


def blueprint(name: str, endpoints: Sequence[Endpoint]) -> Blueprint:
    """Creates a Flask blueprint whose views run these endpoints through the pipeline."""
    result, names = Blueprint(name, __name__), set[str]()
    for endpoint in endpoints:
        view = _view(endpoint)
        view.taken = _reserved_words(endpoint.path, endpoints)  # type: ignore[attr-defined]
        # Several endpoints of a group may have the same name, such as the pages of each collection.
        unique = endpoint.name if endpoint.name not in names else f"{endpoint.name}_{len(names)}"
        names.add(unique)
        result.add_url_rule(endpoint.path, unique, view, methods=[endpoint.method])
    return result


def described(name: str, about: str, endpoints: Iterable[Endpoint]) -> flask_smorest.Blueprint:
    """Creates a flask-smorest blueprint of these endpoints, for the OpenAPI document only; it serves none."""
    import flask_smorest  # imported only to make the document

    result = flask_smorest.Blueprint(name, __name__, description=about)
    for endpoint in endpoints:
        view = _view(endpoint)
        view._apidoc = describe(name, endpoint)  # type: ignore[attr-defined]
        result.add_url_rule(endpoint.path, endpoint.name, view, methods=[endpoint.method],
                            parameters=path_parameters(name, endpoint))
    return result


def _reserved_words(path: str, endpoints: Iterable[Endpoint]) -> dict[str, list[str]]:
    """Returns {first variable of the path: words that other paths have there}: `export` is not an id of an article."""
    prefix, _, rest = path.partition("<")
    if not rest:
        return {}
    words = {endpoint.path.removeprefix(prefix) for endpoint in endpoints if endpoint.path.startswith(prefix)}
    fixed = sorted(word for word in words if word and not set(word) & set("</"))
    return {rest.partition(">")[0]: fixed} if fixed else {}


def _view(endpoint: Endpoint) -> Callable[..., Response]:
    def view(**path: str) -> Response:
        current = services()
        current.ensure_running()
        return run(current, _variant_of(endpoint), path)

    view.__name__ = endpoint.name
    view.endpoint = endpoint  # type: ignore[attr-defined]
    return view


def _variant_of(endpoint: Endpoint) -> Endpoint:
    if endpoint.variant is not None:
        parameter, value, variant = endpoint.variant
        return variant if request.args.get(parameter) == value else endpoint
    # HEAD has no effects, so it starts no job.
    if endpoint.deferred is not None and request.method == endpoint.method:
        wish = preferences(request.headers.get("Prefer")).get("respond-async")
        return endpoint if wish != "" else endpoint.deferred
    return endpoint


def refuse_strays(app: Flask) -> None:
    """Raises RuntimeError for a route without an `Endpoint`, because its permission would never be checked."""
    for rule in app.url_map.iter_rules():
        if not isinstance(getattr(app.view_functions[rule.endpoint], "endpoint", None), Endpoint):
            raise RuntimeError(f"{rule.rule} is no Endpoint: declare its permission, or public='reason'")


def answer_options(app: Flask) -> None:
    """Makes Flask answer OPTIONS with status 204 and no body; `Allow` names the methods (RFC 9110 section 9.3.7)."""
    flask_answer = app.make_default_options_response

    def options() -> Response:
        response = flask_answer()
        response.status_code = 204
        del response.headers["Content-Type"]
        return response

    app.make_default_options_response = options  # type: ignore[method-assign]
