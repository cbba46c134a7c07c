"""What the service says about itself: where to begin, health, its OpenAPI description and the documentation page."""

from __future__ import annotations

from contextlib import suppress
from datetime import date
from hmac import compare_digest
from importlib.metadata import version
from typing import Any

from flask import Response
from marshmallow import fields

from gatepost import Call, Problem, Routes, StrictSchema
from models.engine.errors import RowError
from models.migrate import pending
from models.tables.job import backlog
from models.tables.user import User
from policies.loading.lost import lost

from .http.operations.deprecation import Deprecation
from .http.pipeline import negotiation
from .http.resources import front
from .http.resources.openapi import document, documentation_file, error_catalogue
from .policy import trouble

routes = Routes("public", "The service itself: health and documentation.")

_DOCS = "it is the same documentation for every caller; the setting `docs` turns it off"
_PING = Deprecation(since=date(2026, 11, 1), sunset=date(2027, 11, 1), successor="/api/health")
_METRICS = "it takes a token of its own, the setting `metrics_token`; without the setting it is 404"
_ROOT = "it has only links, to the documentation and to health"
_FOR_READERS = {"description": "Only for callers with `policy.view`."}
_LIVE = "it is the liveness probe of a supervisor, and tells nothing else"


class BacklogSchema(StrictSchema):
    """Numbers of jobs."""

    waiting = fields.Integer(required=True)
    running = fields.Integer(required=True)
    failed = fields.Integer(required=True)
    seconds = fields.Float(required=True, metadata={
        "description": "For how long the oldest job that waits has been due."})


class HealthSchema(StrictSchema):
    """`ok`, `degraded` or `down`, together and for each check; 503 when it is down."""

    status = fields.String(required=True)
    checks = fields.Dict(keys=fields.String(), values=fields.String(), required=True)
    policy_version = fields.String(metadata=_FOR_READERS)
    policy_error = fields.String(metadata=_FOR_READERS)
    users_without_role = fields.Integer(metadata={"description": (
        "How many users have a role that the policy has lost; they may do nothing. " + _FOR_READERS["description"])})
    jobs = fields.Nested(BacklogSchema, metadata=_FOR_READERS)
    version = fields.String(metadata=_FOR_READERS)


class AliveSchema(StrictSchema):
    status = fields.String(required=True)


@routes.get("/", public=_ROOT, produces=(negotiation.JSON, negotiation.HTML), offline=True)
def root(call: Call) -> Response | dict[str, Any]:
    """Links to the documentation and to health: a page for browsers, JSON for programs."""
    links = front.links(docs=call.services.settings.docs)
    call.headers["Vary"] = "Accept"
    if negotiation.best(call, negotiation.JSON, negotiation.HTML) == negotiation.HTML:
        return front.page(links)
    return {"links": {link.name: link.path for link in links}}


@routes.get("/api/health", permission="health.view", answer=HealthSchema(), offline=True)
def health(call: Call) -> Response | dict[str, Any]:
    """Whether the service works, with the state of each of its parts; 503 when it does not."""
    services = call.services
    checks = {"database": "ok", "migrations": "ok", "policy": "ok", "limits": services.limits.state}
    try:
        if pending(services.database, services.registry.migrations):
            checks["migrations"] = "down"
    except RowError:
        checks["database"] = checks["migrations"] = "down"
    if services.database.damage is not None:
        checks["database"] = "down"
    if services.policy.trouble is not None:
        checks["policy"] = "degraded"
    worst = "down" if "down" in checks.values() else "degraded" if "degraded" in checks.values() else "ok"
    answer: dict[str, Any] = {"status": worst, "checks": checks}
    if call.access.may_ever("policy.view"):
        # A guest who is told the version is told its known weaknesses, and when an edit came into force.
        answer |= {"policy_version": services.policy.current.version, "version": version("gatepost")}
        if (error := trouble(call)) is not None:
            answer["policy_error"] = error
        with suppress(RowError):
            gone = lost(call.access.policy, User.held_roles(services.database))
            answer["users_without_role"] = User.number_with_roles(gone)
            answer["jobs"] = backlog(services.database)._asdict()
    call.status = 503 if worst == "down" else 200
    return answer


@routes.get("/api/health/live", public=_LIVE, answer=AliveSchema(), anonymous=True)
def live(call: Call) -> dict[str, str]:
    """Always 200: the process answers."""
    return {"status": "ok"}


@routes.get("/api/ping", permission="health.view", deprecated=_PING, answer=AliveSchema())
def ping(call: Call) -> dict[str, str]:
    """Answer `ok`. Use `/api/health` instead."""
    return {"status": "ok"}


@routes.get("/api/openapi.json", public=_DOCS, produces=("application/json",), answers_404=True)
def openapi(call: Call) -> Response:
    """This API as OpenAPI 3.1."""
    return _document(call, "3.1.0")


@routes.get("/api/openapi-3.0.json", public=_DOCS, produces=("application/json",), answers_404=True)
def openapi_30(call: Call) -> Response:
    """This API as OpenAPI 3.0, for tools that do not read 3.1."""
    return _document(call, "3.0.3")


@routes.get("/docs", public=_DOCS, produces=("text/html",), answers_404=True)
def page(call: Call) -> Response:
    """The documentation page."""
    return _asset(call, "index.html")


@routes.get("/docs/errors", public=_DOCS, produces=("text/html",), answers_404=True)
def errors(call: Call) -> Response:
    """Every error code and what it means."""
    _refuse_when_off(call)
    return error_catalogue()


@routes.get("/docs/<name>", public=_DOCS, produces=("text/*",))
def asset(call: Call) -> Response:
    """A file of the documentation page."""
    return _asset(call, call.path["name"])


@routes.get("/metrics", public=_METRICS, produces=("text/plain",), answers_401=True, answers_404=True,
            anonymous=True)
def metrics(call: Call) -> Response:
    """Metrics for Prometheus, with the token of the setting `metrics_token`."""
    found, wanted = call.services.metrics, call.services.settings.metrics_token
    if found is None:
        raise Problem("not_found")
    scheme, _, token = call.request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not compare_digest(token.strip().encode(), wanted.encode()):
        raise Problem("invalid_token", "Send Authorization: Bearer <token>, as the setting metrics_token has it.")
    text, media_type = found.text()
    return Response(text, content_type=media_type)


def _document(call: Call, version: str) -> Response:
    _refuse_when_off(call)
    return Response(document(call.services.registry, version), mimetype="application/json")


def _asset(call: Call, name: str) -> Response:
    _refuse_when_off(call)
    return documentation_file(name)


def _refuse_when_off(call: Call) -> None:
    if not call.services.settings.docs:
        raise Problem("not_found")
