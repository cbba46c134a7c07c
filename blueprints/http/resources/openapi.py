"""The OpenAPI description, made from the same `Endpoint` declarations that the pipeline runs.

flask-smorest assembles it (3.1, and 3.0 for tools that lag behind); the page at `/docs` shows it without any
other host.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files
from itertools import chain
from typing import Any

import orjson
from apispec.ext.marshmallow import MarshmallowPlugin, resolver
from flask import Flask, Response
from flask_smorest import Api
from marshmallow import Schema, fields

from ..pipeline.browsers import page_headers
from ..protocol.json_body import ANY
from ..protocol.language import PARAMETER
from ..protocol.problems import CATALOGUE, Problem
from ..request.call import Discovered
from ..request.endpoint import Endpoint
from ..schemas.fields import Id, StrictSchema, Time
from ..schemas.records import answered, is_row
from .rendering import render

PROBLEM_JSON = "application/problem+json"
_ASSETS = files("blueprints.http.resources").joinpath("static", "docs")
_CATALOGUE_HEADERS = page_headers(style_src="'self'", img_src="data:")
# RapiDoc makes style sheets as it goes, so that no hash can name them. Scripts are those of the package alone.
_PAGE_HEADERS = page_headers(script_src="'self'", style_src="'self' 'unsafe-inline'", connect_src="'self'",
                             img_src="data:")
_TYPES = {".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8",
          ".js": "text/javascript; charset=utf-8", ".txt": "text/plain; charset=utf-8"}


_DEFERRED = {"Location": {"description": "The job.", "schema": {"type": "string"}},
             "Preference-Applied": {"description": "respond-async", "schema": {"type": "string"}}}


class FaultSchema(StrictSchema):
    code = fields.String(required=True)
    detail = fields.String(required=True)
    pointer = fields.String(metadata={"description": "Where in the body (RFC 6901)."})
    parameter = fields.String()
    header = fields.String()
    meta = fields.Dict(keys=fields.String(), metadata={"description": "Machine-readable values."})


class ReasonSchema(StrictSchema):
    reason = fields.String(required=True, metadata={
        "description": "Why the policy refuses, in one sentence for people, in the language of the answer."})


class ProblemSchema(StrictSchema):
    """An error, always in this shape (RFC 9457)."""

    type = fields.String(required=True)
    title = fields.String(required=True)
    status = fields.Integer(required=True)
    detail = fields.String(required=True)
    instance = fields.String(required=True)
    code = fields.String(required=True, metadata={"enum": list(CATALOGUE)})
    request_id = fields.String(required=True)
    errors = fields.List(fields.Nested(FaultSchema), required=True)
    meta = fields.Nested(ReasonSchema, metadata={
        "description": "Only of a 403 of the policy, where the setting `explain_refusals` is `self`."})


def describe(endpoint: Endpoint) -> dict[str, Any]:
    """What flask-smorest keeps on a view function to document it (its `_apidoc`)."""
    parameters: list[dict[str, Any]] = []
    if endpoint.query is not None:
        parameters.append({"in": "query", "required": False, "schema": endpoint.query})
    if endpoint.body is not None:
        kind = type(endpoint.body)
        body = kind(partial=endpoint.partial) if endpoint.partial else endpoint.body
        parameters.append({"in": "json", "required": endpoint.body_required, "schema": body,
                           "content_type": endpoint.accepts[0]})
    success: dict[str, Any] = {"description": "Done.", "content_type": None}
    if endpoint.answer is not None:
        success["schema"] = answered(type(endpoint.answer), ()) if _is_input(endpoint.answer) else endpoint.answer
    responses = {endpoint.status: [success]}
    if endpoint.method == "GET":
        responses[304] = [{"description": "The client has this representation already.", "content_type": None}]
    if endpoint.deferred is not None:
        parameters.append({"in": "header", "name": "Prefer", "schema": {"type": "string"}, "example": "respond-async",
                           "description": "respond-async: have it done as a job (RFC 7240)."})
        responses[202] = [{"description": "It is done as a job, which the answer shows.",
                           "content_type": "application/json", "headers": _DEFERRED}]
    for status, title in sorted(_errors(endpoint).items()):
        responses[status] = [{"description": title, "schema": ProblemSchema, "content_type": PROBLEM_JSON}]
    permission = (f"Needs the permission `{endpoint.permission}`." if endpoint.permission
                  else f"Needs no permission: {endpoint.public}")
    return {"arguments": {"parameters": parameters, "responses": {}}, "response": {"responses": responses},
            "success_status_codes": [endpoint.status],
            "manual_doc": {"summary": endpoint.summary, "description": permission, **_files(endpoint),
                           **({"deprecated": True} if endpoint.deprecated else {}),
                           # No token of a user or service is taken there, not even a wrong one.
                           "security": [] if endpoint.anonymous else [{}, {"bearer": []}]}}


def _files(endpoint: Endpoint) -> dict[str, Any]:
    """Bodies that no schema describes: pages, and files of rows."""
    found: dict[str, Any] = {}
    if endpoint.body is None and endpoint.prepare is not None:
        found["requestBody"] = {"required": True, "content": _content(endpoint.accepts)}
    if endpoint.produces:
        found["responses"] = {endpoint.status: {"content": _content(endpoint.produces)}}
    return found


def _content(media_types: tuple[str, ...]) -> dict[str, Any]:
    return {kind: {"schema": {"type": "object" if kind == "application/json" else "string"}} for kind in media_types}


def _errors(endpoint: Endpoint) -> dict[int, str]:
    titles = {400: "The request is not valid", 401: "Credentials are needed, or are not valid",
              414: "The URL is too long", 429: "Too many requests",
              500: "Something went wrong on our side", 503: "Not available right now"}
    if endpoint.anonymous and not endpoint.answers_401:
        del titles[401]
    if endpoint.permission is not None or endpoint.answers_403:
        titles[403] = "The policy does not allow this"
    if endpoint.load is not None or "<" in endpoint.path or endpoint.answers_404:
        titles[404] = "There is no such object, or it may not be seen"
    if len(endpoint.produces) != 1 and endpoint.status != 204:
        titles[406] = "There is no such representation"
    if endpoint.deprecated is not None:
        titles[410] = "The endpoint is no longer there"
    if endpoint.body is not None or endpoint.prepare is not None:
        titles |= {413: "The body is too large"}
        titles |= {} if ANY in endpoint.accepts else {415: "The media type is not supported"}
    if endpoint.writes:
        titles[409] = "The state does not allow this"
    if endpoint.writes and endpoint.method in ("POST", "PATCH") and not endpoint.secret:
        titles[422] = "The Idempotency-Key was used for another body"
    if endpoint.conditional:
        titles |= {412: "The object has changed since", 428: "If-Match is required"}
    return titles


def _schema_name(schema: Any) -> str:
    """Component names: `Article` in answers, `NewArticle` and `ArticleChanges` in bodies."""
    name: str = resolver(schema)
    if not isinstance(schema, Schema):
        return name
    if schema.partial:
        return f"{name}Changes"
    return f"New{name}" if _is_input(schema) else name


def _is_input(schema: Schema) -> bool:
    return is_row(schema) and type(schema).__name__.endswith("Schema")


def _portable(_: Any, field: fields.Field[Any], ret: dict[str, Any], **__: Any) -> dict[str, str]:
    """Patterns in the dialect of JSON Schema (ECMA-262), which has other anchors than Python."""
    pattern: str | None = ret.get("pattern")
    return {} if pattern is None else {"pattern": pattern.replace(r"\A", "^").replace(r"\Z", "$")}


_ABOUT = """What a caller may do is what the policy's lines say: each operation names the permission that it needs.
Rows that the caller may not view are not found, not listed and not counted.

Log in with `POST /api/login`, then send `Authorization: Bearer <access_token>`. Errors are
[problem documents](/docs/errors) whose `code` never changes; `title` and `detail` come in the language that `lang` or
`Accept-Language` asks for, where there is a translation.
"""


@lru_cache(maxsize=8)
def document(registry: Discovered, version: str) -> bytes:
    """The OpenAPI document of everything in the registry, `3.1.0` or `3.0.3`, as JSON."""
    # An app documents in one version only, so each document is made in a throw-away app.
    app = Flask("gatepost-docs", static_folder=None)
    app.config.update(API_TITLE="Gatepost", API_VERSION="1", OPENAPI_VERSION=version)
    plugin = MarshmallowPlugin(schema_name_resolver=_schema_name)
    api = Api(app, spec_kwargs={"marshmallow_plugin": plugin, "info": {"description": _ABOUT}})
    assert plugin.converter is not None  # it is made with the Api
    plugin.converter.add_attribute_function(_portable)  # type: ignore[no-untyped-call]
    api.DEFAULT_ERROR_RESPONSE_NAME = None
    api.spec.components.security_scheme("bearer", {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"})
    api.spec.components.parameter(PARAMETER, "query", {
        "description": "The language of error details and of pages (RFC 5646); before `Accept-Language`.",
        "schema": {"type": "string"}, "example": "de"})
    api.register_field(Id, "string", "uuid")
    api.register_field(Time, "string", "date-time")
    for made in registry.blueprints():
        api.register_blueprint(made)
    described = api.spec.to_dict()
    _leave_empty(described)
    _name_guards(described["components"]["schemas"], registry)
    return orjson.dumps(described)


def _leave_empty(described: dict[str, Any]) -> None:
    """Examples of parameters are there to be read: what the page sends is what its reader has typed."""
    kept = [item.get("parameters", ()) for path in described["paths"].values()
            for item in (path, *(operation for name, operation in path.items() if name != "parameters"))]
    for parameter in chain(*kept, described["components"]["parameters"].values()):
        if "$ref" not in parameter:
            parameter["x-fill-example"] = "no"  # RapiDoc's own word


def _name_guards(schemas: dict[str, Any], registry: Discovered) -> None:
    """Answers say which permission shows a guarded field."""
    for collection in registry.collections.values():
        shown = schemas.get(collection.schema.__name__.removesuffix("Schema"), {}).get("properties", {})
        for name, permission in collection.guards.items():
            if name in shown:
                known = shown[name].get("description", "")
                shown[name]["description"] = f"{known} Shown with the permission `{permission}`.".strip()


def documentation_file(name: str) -> Response:
    """A file of the documentation page. Raises `Problem` (`not_found`)."""
    found = next((file for file in _ASSETS.iterdir() if file.name == name), None)
    suffix = name[name.rfind("."):]
    if found is None or suffix not in _TYPES:
        raise Problem("not_found")
    return Response(found.read_bytes(), content_type=_TYPES[suffix], headers=_PAGE_HEADERS)


def error_catalogue() -> Response:
    """Every error code with its status, as one page: what `type` in a problem document leads to."""
    return Response(render("errors.html", catalogue=CATALOGUE), content_type=_TYPES[".html"],
                    headers=_CATALOGUE_HEADERS)
