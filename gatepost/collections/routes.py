"""Endpoints become views: `Routes` declares plain ones, `blueprint` serves all, `described` documents them.

Every view is one call of the pipeline. There is no other way to add a view, so there is no view whose
permission was forgotten: `Endpoint` insists on one, and `refuse_strays` looks for views made elsewhere.
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
        """`when` says under which settings they are served; None: always."""
        self.name = name
        self.when = when
        self.about = about
        self.endpoints: list[Endpoint] = []
        self._makers: list[Maker] = []
        # As for a class: its rules, texts and migrations stand beside the module that makes it.
        self.__module__ = str(sys._getframe(1).f_globals.get("__name__", __name__))
        self.made_of: object = None  # the plain Flask Blueprint whose views these are

    def get(self, path: str, **declaration: Any) -> Callable[[Handler], Handler]:
        """Declare a GET endpoint; `declaration` are the fields of `Endpoint`."""
        return self._declare("GET", path, declaration)

    def post(self, path: str, **declaration: Any) -> Callable[[Handler], Handler]:
        """Declare a POST endpoint, which writes."""
        return self._declare("POST", path, {"writes": True} | declaration)

    def patch(self, path: str, **declaration: Any) -> Callable[[Handler], Handler]:
        """Declare a PATCH endpoint, which writes; absent fields stay as they are."""
        return self._declare("PATCH", path, {"writes": True, "partial": True} | declaration)

    def delete(self, path: str, **declaration: Any) -> Callable[[Handler], Handler]:
        """Declare a DELETE endpoint, which writes."""
        return self._declare("DELETE", path, {"writes": True, "status": 204} | declaration)

    def of_each(self, make: Maker) -> Maker:
        """Declare the endpoints that follow from a collection, for each that is served: pages of its rows, say."""
        self._makers.append(make)
        return make

    def over(self, collections: Iterable[Collection]) -> list[Endpoint]:
        """Every endpoint, where these collections are served."""
        known = list(collections)
        return [*self.endpoints, *(one for make in self._makers for collection in known for one in make(collection))]

    def _declare(self, method: str, path: str, declaration: dict[str, Any]) -> Callable[[Handler], Handler]:
        def mark(handler: Handler) -> Handler:
            summary = (handler.__doc__ or "").strip().partition("\n")[0]
            self.endpoints.append(Endpoint(name=handler.__name__, method=method, path=path, handler=handler,
                                           summary=summary, **declaration))
            return handler

        return mark


DECLARED = "gatepost_endpoint"  # the attribute of a plain view that says what `Endpoint` is to know of it
View = TypeVar("View", bound=Callable[..., Any])


def permission(name: str, **declaration: Any) -> Callable[[View], View]:
    """Say which permission a view of a plain Flask `Blueprint` needs; `declaration` are further fields of `Endpoint`.

    It then runs through the pipeline like every endpoint. `flask.g.call` is its `Call`.
    """
    return _declare_view({"permission": name, **declaration})


def public(reason: str, **declaration: Any) -> Callable[[View], View]:
    """Say why a view of a plain Flask `Blueprint` needs no permission; `declaration` as in `permission`."""
    return _declare_view({"public": reason, **declaration})


def _declare_view(declaration: dict[str, Any]) -> Callable[[View], View]:
    def mark(view: View) -> View:
        setattr(view, DECLARED, declaration)
        return view

    return mark


def blueprint(name: str, endpoints: Sequence[Endpoint]) -> Blueprint:
    """A blueprint whose views run these endpoints through the pipeline."""
    made, names = Blueprint(name, __name__), set[str]()
    for endpoint in endpoints:
        view = _view(endpoint)
        view.taken = _taken(endpoint.path, endpoints)  # type: ignore[attr-defined]
        # Several of a group may have one name: pages of each collection, say.
        unique = endpoint.name if endpoint.name not in names else f"{endpoint.name}_{len(names)}"
        names.add(unique)
        made.add_url_rule(endpoint.path, unique, view, methods=[endpoint.method])
    return made


def described(name: str, about: str, endpoints: Iterable[Endpoint]) -> flask_smorest.Blueprint:
    """A flask-smorest blueprint of these endpoints, as the OpenAPI document has them; it serves none."""
    import flask_smorest  # only for whoever asks for the document

    made = flask_smorest.Blueprint(name, __name__, description=about)
    for endpoint in endpoints:
        view = _view(endpoint)
        view._apidoc = describe(name, endpoint)  # type: ignore[attr-defined]
        made.add_url_rule(endpoint.path, endpoint.name, view, methods=[endpoint.method],
                          parameters=path_parameters(name, endpoint))
    return made


def _taken(path: str, endpoints: Iterable[Endpoint]) -> dict[str, list[str]]:
    """The first variable of the path, and the words that other paths have there: `export` is no id of an article."""
    prefix, _, rest = path.partition("<")
    words = {endpoint.path.removeprefix(prefix) for endpoint in endpoints if endpoint.path.startswith(prefix)}
    fixed = sorted(word for word in words if word and not set(word) & set("</"))
    return {rest.partition(">")[0]: fixed} if rest and fixed else {}


def _view(endpoint: Endpoint) -> Callable[..., Response]:
    def view(**path: str) -> Response:
        found = services()
        found.ensure_running()
        return run(found, _meant(endpoint), path)

    view.__name__ = endpoint.name
    view.endpoint = endpoint  # type: ignore[attr-defined]
    return view


def _meant(endpoint: Endpoint) -> Endpoint:
    if endpoint.variant is not None:
        parameter, value, variant = endpoint.variant
        return variant if request.args.get(parameter) == value else endpoint
    # HEAD asks what GET would answer, and does nothing.
    if endpoint.deferred is not None and request.method == endpoint.method:
        wish = preferences(request.headers.get("Prefer")).get("respond-async")
        return endpoint if wish != "" else endpoint.deferred
    return endpoint


def refuse_strays(app: Flask) -> None:
    """Raises RuntimeError for a route that no `Endpoint` stands behind: its permission would never be checked."""
    for rule in app.url_map.iter_rules():
        if not isinstance(getattr(app.view_functions[rule.endpoint], "endpoint", None), Endpoint):
            raise RuntimeError(f"{rule.rule} is no Endpoint: declare its permission, or public='reason'")


def answer_options(app: Flask) -> None:
    """OPTIONS says which methods a path takes (RFC 9110 section 9.3.7), and has nothing to add in a body."""
    flask_answer = app.make_default_options_response

    def options() -> Response:
        response = flask_answer()
        response.status_code = 204
        del response.headers["Content-Type"]
        return response

    app.make_default_options_response = options  # type: ignore[method-assign]
