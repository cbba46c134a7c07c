"""The OpenAPI document, in version 3.1, and 3.0 for tools that cannot read 3.1. flask-smorest assembles it.

This module also describes fields of marshmallow as JSON Schema, and makes components of parameters that several
operations have.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock
from typing import Any, Self

import orjson
from apispec import APISpec
from apispec.ext.marshmallow import MarshmallowPlugin
from apispec.ext.marshmallow.common import make_schema_key
from apispec.ext.marshmallow.openapi import OpenAPIConverter
from flask import Flask, Request
from flask_smorest import Api
from marshmallow import Schema, fields

from gatepost.http.openapi import headers, problems
from gatepost.http.openapi.operations import ACCEPTED, LEFT_OUT, NOT_MODIFIED
from gatepost.http.protocol.language import PARAMETER
from gatepost.http.reading.query import SIZES
from gatepost.http.request.access import Access
from gatepost.http.request.call import Discovered, Peer, Services
from gatepost.http.request.endpoint import Endpoint
from gatepost.http.request.environment import RequestEnvironment
from gatepost.http.request.identity import guest
from gatepost.http.schemas.documented import Expanded, component_name
from gatepost.http.schemas.fields import Id, Time


def share_parameters(described: dict[str, Any]) -> None:
    """Replaces each parameter that several operations have by a reference to a component.

    The component has the name of the parameter. If only operations of one group have it, the name of the group comes
    first: `articles.title`.
    """
    places: dict[bytes, list[tuple[str, list[Any], int]]] = defaultdict(list)
    for group, parameters in parameter_lists(described):
        for index, parameter in enumerate(parameters):
            if "$ref" not in parameter:
                places[orjson.dumps(parameter)].append((group, parameters, index))
    shared = described["components"]["parameters"]
    for content, uses in places.items():
        if len(uses) > 1:
            parameter = orjson.loads(content)
            groups = {group for group, _, _ in uses}
            name = parameter["name"] if len(groups) > 1 else f"{groups.pop()}.{parameter['name']}"
            if name in shared:
                name = f"{uses[0][0]}.{parameter['name']}"
            if name in shared:
                continue
            shared[name] = parameter
            for _, parameters, index in uses:
                parameters[index] = {"$ref": f"#/components/parameters/{name}"}


def parameter_lists(described: dict[str, Any]) -> Iterator[tuple[str, list[Any]]]:
    """Yields (group, parameters) of every path and operation."""
    for item in described["paths"].values():
        operations = [operation for name, operation in item.items() if name != "parameters"]
        group = operations[0]["tags"][0]
        for holder in (item, *operations):
            if "parameters" in holder:
                yield group, holder["parameters"]


def schema_name(schema: type[Schema] | Schema) -> str:
    """Returns the name of the component of a schema."""
    return component_name(schema if isinstance(schema, type) else type(schema))


class Types:
    """Functions that describe our fields to apispec. They run after its own, and receive the result of these."""

    def __init__(self, spec: APISpec, converter: OpenAPIConverter, collections: Mapping[str, Peer]) -> None:
        self._components = spec.components
        self._null = {"type": "null"} if spec.openapi_version.minor else {
            "type": "object", "enum": [None], "nullable": True}
        self._converter = converter
        self._collections = collections
        for function in (self._portable, self._expanded, self._untyped, self._without_default, self._with_component):
            # A closure, because apispec binds the function to the converter as a method.
            converter.add_attribute_function(  # type: ignore[no-untyped-call]
                lambda _, field, *, ret, describe=function, **__: describe(field, ret))

    def _portable(self, field: fields.Field[Any], described: dict[str, Any]) -> dict[str, Any]:
        """Returns a pattern in the dialect of JSON Schema (ECMA-262), whose anchors differ from those of Python."""
        pattern: str | None = described.get("pattern")
        return {} if pattern is None else {"pattern": pattern.replace(r"\A", "^").replace(r"\Z", "$")}

    def _expanded(self, field: fields.Field[Any], described: dict[str, Any]) -> dict[str, Any]:
        """Describes an expanded object by the schema of its collection."""
        if not isinstance(field, Expanded) or (target := self._collections.get(field.collection)) is None:
            return {}
        reference = self._converter.resolve_nested_schema(target.answer)  # type: ignore[no-untyped-call]
        described.pop("nullable", None)
        return {"anyOf": [reference, self._null]}

    def _untyped(self, _: fields.Field[Any], described: dict[str, Any]) -> dict[str, Any]:
        """Removes `nullable` from a field without a type: OpenAPI 3.0 allows it only beside a type."""
        if not described.keys() & {"type", "allOf", "anyOf", "$ref"}:
            described.pop("nullable", None)
        return {}

    def _without_default(self, field: fields.Field[Any], described: dict[str, Any]) -> dict[str, Any]:
        """Moves the default of a field to its description.

        Client generators assume that a field with a `default` is always present.
        """
        if "default" in field.metadata or "default" not in described:
            return {}
        value = described.pop("default")
        sentence = f"{orjson.dumps(value).decode()} unless given."
        return {"description": f"{described.get('description', '')} {sentence}".strip()}

    def _with_component(self, field: fields.Field[Any], described: dict[str, Any]) -> dict[str, Any]:
        """Makes a component of the values that several fields have. A field that may be null gets null beside it."""
        if (component := field.metadata.get("component")) is None:
            return {}
        values = [value for value in described["enum"] if value is not None]
        name = self._component(component, {"type": "string", "enum": values})
        for key in ("type", "enum", "minLength", "maxLength", "nullable"):
            described.pop(key, None)
        reference: dict[str, Any] = self._components.get_ref("schema", name)
        return {"anyOf": [reference, self._null]} if field.allow_none else reference

    def _component(self, component: str, values: dict[str, Any]) -> str:
        """Returns the name of the component with these values. A number distinguishes it from another component of the
        same name, such as that of a plugin."""
        name, number = component, 0
        while (existing := self._components.schemas.get(name)) and set(existing.get("enum", ())) != set(values["enum"]):
            number += 1
            name = f"{component}{number}"
        if existing is None:
            self._components.schema(name, values)
        return name


_ABOUT = """What a caller may do is what the policy's lines say: each operation names the permission that it needs.
Rows that the caller may not view are not found, not listed and not counted.

Log in with `POST /api/login`, then send `Authorization: Bearer <access_token>`. Errors are
[problem documents]({url}/docs/errors) whose `code` never changes; `title` and `detail` come in the language that `lang`
or `Accept-Language` asks for, where there is a translation.

Every request may carry `X-Request-ID`, which is answered, logged and kept in the audit log, and `API-Version: 1`,
which every answer has. Where limits are set, each answer says by `RateLimit` and `RateLimit-Policy` what is left. What
is deprecated is announced by `Deprecation` and `Sunset`, with a `Link` to its successor: an operation, or a parameter
or field that was sent.
"""

_MAKING = Lock()  # one thread makes a document and the others wait for it, because it takes half a second


@dataclass(frozen=True, kw_only=True)
class Served:
    """Facts about the instance that serves the document.

    open_to_guests  permissions that a guest may have on some object; None: unknown
    page_size       rows on a page by default; `largest_page`: the largest size that any role may request
    """

    open_to_guests: frozenset[str] | None = None
    page_size: int = 20
    largest_page: int = 200

    @classmethod
    def by(cls, services: Services, request: Request) -> Self:
        """Returns the facts of this instance for a guest who sends this request."""
        settings = services.settings
        visitor = Access(services.policy.current, guest(services.guest_tenant),
                         RequestEnvironment(request, settings.zone))
        return cls(open_to_guests=frozenset(visitor.permissions()), page_size=settings.page_size,
                   largest_page=max(settings.max_page_size, *settings.page_sizes.values()))


def document(registry: Discovered, version: str, served: Served | None = None, url: str = "") -> bytes:
    """Returns the OpenAPI document of the registry in `version`, `3.1.0` or `3.0.3`, as JSON.

    url  URL of the service
    """
    with _MAKING:
        return _render(registry, version, served or Served(), url)


@lru_cache(maxsize=16)
def _render(registry: Discovered, version: str, served: Served, url: str) -> bytes:
    content = _document(registry, version, served.page_size, served.largest_page)
    info = content["info"] | {"description": _ABOUT.format(url=url),
                              "contact": content["info"]["contact"] | ({"url": url} if url else {})}
    return orjson.dumps({**content, "info": info, "servers": [{"url": url or "/"}],
                         "paths": _with_security(content["paths"], registry, served.open_to_guests)})


# Depends on nothing of a request, such as its device or hour, because making a document takes half a second.
@lru_cache(maxsize=8)
def _document(registry: Discovered, version: str, page_size: int, largest_page: int) -> dict[str, Any]:
    # An app documents in one version only, so each document is made in a throw-away app.
    app = Flask("gatepost-docs", static_folder=None)
    app.config.update(API_TITLE="Gatepost", API_VERSION="1", OPENAPI_VERSION=version)
    plugin = MarshmallowPlugin(schema_name_resolver=schema_name)
    info = {"contact": {"name": "The operator of this service"},
            "license": {"name": "MIT", "url": "https://opensource.org/license/mit"}}
    api = Api(app, spec_kwargs={"marshmallow_plugin": plugin, "info": info})
    assert plugin.converter is not None  # it is made with the Api
    api.DEFAULT_ERROR_RESPONSE_NAME = None
    api.spec.components.security_scheme("bearer", {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"})
    api.spec.components.security_scheme("refresh_cookie", {
        "type": "apiKey", "in": "cookie", "name": "gatepost_refresh", "description":
        "The refresh token of a login with `cookie: true`; over HTTPS its name begins with `__Secure-`."})
    Types(api.spec, plugin.converter, registry.collections)
    api.register_field(Id, "string", "uuid")
    api.register_field(Time, "string", "date-time")
    _declare_components(api, registry)
    # First, so that the answer of a plugin's route cannot take one of their names.
    for collection in registry.collections.values():
        plugin.converter.resolve_nested_schema(collection.answer)  # type: ignore[no-untyped-call]
    for blueprint in registry.documented():
        api.register_blueprint(blueprint)
    described: dict[str, Any] = api.spec.to_dict()
    for name in ("Error", "PaginationMetadata"):  # flask-smorest's own, which no operation answers
        del described["components"]["schemas"][name]
    for _, parameters in parameter_lists(described):
        _add_sizes(parameters, page_size, largest_page)
        _leave_empty(parameters)
    _leave_empty(described["components"]["parameters"].values())
    share_parameters(described)
    _describe_guards(described["components"]["schemas"], registry, plugin.converter)
    if version.startswith("3.0"):
        _strip_references(described)
    return described


def _declare_components(api: Api, registry: Discovered) -> None:
    components = api.spec.components
    components.parameter(PARAMETER, "query", {
        "description": "The language of error details and of pages (RFC 5646); before `Accept-Language`.",
        "schema": {"type": "string"}, "example": "de"})
    for name, content in headers.SENT.items():
        components.parameter(name, "header", dict(content), lazy=True)
    for name, content in headers.ANSWERED.items():
        components.header(name, dict(content), lazy=True)
    for name, content in problems.components().items():
        components.response(name, dict(content), lazy=True)
    components.response(NOT_MODIFIED, {"description": "The client has this representation already.",
                                       "headers": {name: name for name in ("ETag", "Link", *headers.EVERYWHERE)}})
    components.response(LEFT_OUT, {
        "description": "It is done, and the object is left out, as the client prefers.",
        "headers": {name: name for name in ("ETag", "Preference-Applied", "Idempotency-Replayed", *headers.EVERYWHERE)},
    }, lazy=True)
    if "jobs" in registry.collections:
        components.response(ACCEPTED, {
            "description": "It is done as a job, which the answer shows.",
            "headers": {name: name for name in ("Location", "Preference-Applied", "Idempotency-Replayed")},
            "content": {"application/json": {"schema": registry.collections["jobs"].answer}}}, lazy=True)


def _with_security(paths: dict[str, Any], registry: Discovered,
                   open_to_guests: frozenset[str] | None) -> dict[str, Any]:
    """Returns the paths with the credentials that each operation accepts."""
    endpoints = registry.by_operation
    return {path: {name: content if name == "parameters"
                   else {**content, "security": _security(endpoints[content["operationId"]], open_to_guests)}
                   for name, content in item.items()} for path, item in paths.items()}


def _security(endpoint: Endpoint, open_to_guests: frozenset[str] | None) -> list[dict[str, list[str]]]:
    if endpoint.anonymous:
        return []  # ignores the token of a user or service, even a wrong one
    closed = open_to_guests is not None and endpoint.permission not in (None, *open_to_guests)
    cookie: list[dict[str, list[str]]] = [{"refresh_cookie": []}] if endpoint.by_cookie else []
    needed: list[dict[str, list[str]]] = [{"bearer": []}, *cookie]
    return needed if closed else [{}, *needed]


def _add_sizes(parameters: list[Any], page_size: int, largest_page: int) -> None:
    """Adds the sizes of pages to the parameters.

    The schema has no default: a client that sent it would contradict the other names of the parameter.
    """
    for parameter in parameters:
        if parameter.get("name") in SIZES:
            if parameter["name"] == "limit":
                parameter["description"] += f" It has {page_size} unless given."
            parameter["schema"]["maximum"] = largest_page


def _leave_empty(parameters: Iterable[Any]) -> None:
    """Tells the documentation page to send no example value of an optional parameter that its reader left empty."""
    for parameter in parameters:
        if "$ref" not in parameter and not parameter.get("required"):
            parameter["x-fill-example"] = "no"  # RapiDoc's own word


def _strip_references(described: Any) -> None:
    """Removes all keys beside a reference, as OpenAPI 3.0 requires."""
    if isinstance(described, dict) and isinstance(reference := described.get("$ref"), str):
        described.clear()
        described["$ref"] = reference
        return
    values = described.values() if isinstance(described, dict) else described if isinstance(described, list) else ()
    for value in values:
        _strip_references(value)


def _describe_guards(schemas: dict[str, Any], registry: Discovered, converter: OpenAPIConverter) -> None:
    """Adds to each guarded field of an answer the permission that shows it."""
    for collection in registry.collections.values():
        # Not by `schema_name`: a plugin's schema may have the name of one of ours, and then gets a number.
        name = converter.refs.get(make_schema_key(collection.answer), "")
        for guarded, permission in collection.guards.items():
            described = _field(schemas, schemas.get(name, {}), guarded.split("."))
            if described is not None:
                about = described.get("description", "")
                described["description"] = f"{about} Shown with the permission `{permission}`.".strip()


def _field(schemas: dict[str, Any], component: dict[str, Any], path: list[str]) -> dict[str, Any] | None:
    """Returns a field of a component, or of the entries of its list; None if there is none."""
    field: dict[str, Any] | None = component.get("properties", {}).get(path[0])
    if len(path) == 1 or field is None:
        return field
    reference = field.get("items", {}).get("$ref", "")
    return _field(schemas, schemas.get(reference.rpartition("/")[2], {}), path[1:])
