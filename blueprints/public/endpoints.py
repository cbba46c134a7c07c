"""Public endpoints: the front page, the OpenAPI documents, the documentation pages and metrics."""

from __future__ import annotations

from datetime import date
from hmac import compare_digest
from typing import Any

from flask import Response

from blueprints.public import front
from blueprints.public.documentation import documentation_file, documentation_page, error_catalogue
from gatepost import Call, Problem, Routes
from gatepost.collections.plugins.leaving_out import to_begin_with
from gatepost.http.operations.deprecation import Deprecation
from gatepost.http.pipeline import negotiation
from gatepost.http.request.urls import path_of, seen_url, url_of

from ..health.endpoints import AliveSchema

routes = Routes("public", "The service itself: documentation and metrics.")

_DOCS = "it is the same documentation for every caller; the setting `docs` turns it off"
_PING = Deprecation(since=date(2026, 11, 1), sunset=date(2027, 11, 1), successor="/api/health")
_METRICS = "it takes a token of its own, the setting `metrics_token`; without the setting it is 404"
_ROOT = "it has only links, to the documentation and to health"


@routes.get("/", public=_ROOT, produces=(negotiation.JSON, negotiation.HTML), offline=True, operation="front_page")
def root(call: Call) -> Response | dict[str, Any]:
    """Get links to the documentation and to health: a page for browsers, JSON for programs."""
    links = front.links(path_of(call.request), docs=call.services.settings.docs)
    call.headers["Vary"] = "Accept"
    if negotiation.best(call, negotiation.JSON, negotiation.HTML) == negotiation.HTML:
        return front.page(links)
    return {"links": {link.name: link.path for link in links}}


@routes.get("/api/ping", permission="health.view", deprecated=_PING, answer=AliveSchema(), operation="ping")
def ping(call: Call) -> dict[str, str]:
    """Answer `ok`. Use `/api/health` instead."""
    return {"status": "ok"}


@routes.get("/api/openapi.json", public=_DOCS, produces=("application/json",), problems=(404,), operation="openapi")
def openapi(call: Call) -> Response:
    """Get this API as OpenAPI 3.1."""
    return _document(call, "3.1.0")


@routes.get("/api/openapi-3.0.json", public=_DOCS, produces=("application/json",), problems=(404,),
            operation="openapi_3_0")
def openapi_30(call: Call) -> Response:
    """Get this API as OpenAPI 3.0, for tools that do not read 3.1."""
    return _document(call, "3.0.3")


@routes.get("/docs", public=_DOCS, produces=("text/html",), problems=(404,), operation="docs_page")
def page(call: Call) -> Response:
    """Show how to log in and try, and every operation: a page for browsers."""
    _refuse_when_off(call)
    return documentation_page(seen_url(call.services.settings, call.request),
                              to_begin_with(call.services.settings.without))


@routes.get("/docs/errors", public=_DOCS, produces=("text/html",), problems=(404,), operation="docs_errors")
def errors(call: Call) -> Response:
    """Show every error code and what it means: a page for browsers."""
    _refuse_when_off(call)
    return error_catalogue()


@routes.get("/docs/<name>", public=_DOCS, produces=("text/*",), operation="docs_file")
def asset(call: Call) -> Response:
    """Get a file of the documentation page."""
    _refuse_when_off(call)
    return documentation_file(call.path["name"])


@routes.get("/metrics", public=_METRICS, produces=("text/plain",), problems=(401, 404),
            anonymous=True, operation="metrics")
def metrics(call: Call) -> Response:
    """Get the metrics for Prometheus, with the token of the setting `metrics_token`."""
    numbers, expected = call.services.metrics, call.services.settings.metrics_token
    if numbers is None:
        raise Problem("not_found")
    scheme, _, token = call.request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not compare_digest(token.strip().encode(), expected.encode()):
        raise Problem("invalid_token", "Send Authorization: Bearer <token>, as the setting metrics_token has it.")
    text, media_type = numbers.text()
    return Response(text, content_type=media_type)


def _document(call: Call, version: str) -> Response:
    from gatepost.http.openapi.document import Served, document  # imports flask-smorest, which nothing else needs

    _refuse_when_off(call)
    services = call.services
    return Response(document(services.registry, version, Served.by(services, call.request),
                             url_of(services.settings, call.request)), mimetype="application/json")


def _refuse_when_off(call: Call) -> None:
    if not call.services.settings.docs:
        raise Problem("not_found")
