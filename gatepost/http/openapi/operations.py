"""Description of one endpoint as an operation of the OpenAPI document, with examples made from those of its fields."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from marshmallow import Schema, fields

from gatepost.http.openapi import headers, problems
from gatepost.http.protocol.language import PARAMETER
from gatepost.http.request.endpoint import Endpoint
from gatepost.http.schemas import file_formats
from gatepost.http.schemas.documented import (
    IN_THE_DEMO,
    answer_schema,
    body_schema,
    component_name,
    example_id,
    serves_both,
)
from gatepost.http.schemas.fields import Reference


def example_of(schema: Schema, *, partial: bool = False) -> dict[str, Any] | None:
    """Returns an example of a body: every required field, and each field with its own example.

    partial  only the first of these fields
    Returns None if a required field has no example, or if the body would be empty.
    """
    example = {}
    for name, field in schema.fields.items():
        if field.dump_only:
            continue
        value = _value(field, needed=field.required)
        if value is not None:
            example[name] = value
        elif field.required:
            return None
    return dict(list(example.items())[:1 if partial else None]) or None


def example_lines(schema: Schema, media_type: str) -> str | None:
    """Returns an example of an import file of these rows, with one line."""
    example = example_of(schema)
    if example is None:
        return None
    return b"".join(file_formats.write(media_type, list(example), [example])).decode()


def _value(field: fields.Field[Any], *, needed: bool) -> Any:
    if "example" in field.metadata or not needed:
        return field.metadata.get("example")
    match field:
        case Reference():
            return example_id(field.collection)
        case fields.Nested():
            return example_of(field.schema)
        case fields.List():
            inner = _value(field.inner, needed=True)
            return None if inner is None else [inner]
    return None


NOT_MODIFIED, ACCEPTED, LEFT_OUT = "NotModified", "Accepted", "LeftOut"  # answers that operations share


def operation_id(group: str, endpoint: Endpoint) -> str:
    """Returns the id of the operation. It is stable, because clients name functions after it."""
    return endpoint.operation or f"{group}_{endpoint.name}"


def path_parameters(group: str, endpoint: Endpoint) -> list[Any]:
    """Returns the parameters of every operation of the endpoint's path."""
    parameters: list[Any] = [PARAMETER]
    if "<id>" in endpoint.path:
        example = {"example": example_id(group)} if group in IN_THE_DEMO else {}
        parameters.append({"in": "path", "name": "id", "required": True, "schema": {"type": "string", "format": "uuid"},
                           "description": "The id of the object.", **example})
    return parameters


def describe(group: str, endpoint: Endpoint) -> dict[str, Any]:
    """Returns the documentation that flask-smorest keeps on a view function (its `_apidoc`)."""
    permission = (f"Needs the permission `{endpoint.permission}`." if endpoint.permission
                  else f"Needs no permission: {endpoint.public}")
    return {"arguments": {"parameters": list(_parameters(endpoint)), "responses": {}},
            "response": {"responses": _responses(endpoint)},
            "success_status_codes": [endpoint.status],
            "manual_doc": {"operationId": operation_id(group, endpoint), "summary": endpoint.summary,
                           "description": permission, **_files(endpoint),
                           **({"deprecated": True} if endpoint.deprecated else {})}}


def _parameters(endpoint: Endpoint) -> Iterator[Any]:
    if endpoint.by_slug:
        yield {"in": "path", "name": "id", "required": True, "schema": {"type": "string"},
               "description": "The id or the slug of the object.", "example": "imprint"}
    if endpoint.query is not None:
        yield {"in": "query", "required": False, "schema": endpoint.query}
    body = None if endpoint.body is None else _body_schema(endpoint, endpoint.body)
    # An optional body without fields is accepted, and not documented.
    if body is not None and (body.fields or endpoint.body_required):
        example = example_of(body, partial=endpoint.partial)
        yield {"in": "json", "required": endpoint.body_required, "schema": body, "content_type": endpoint.accepts[0],
               **({} if example is None else {"examples": _examples(example)})}
    yield from headers.request_headers(endpoint)


def _body_schema(endpoint: Endpoint, body: Schema) -> Schema:
    name, creating = component_name(type(body)), False
    if endpoint.partial:
        name = f"{name}Changes"
    elif endpoint.fixed or endpoint.kept:
        name = f"{name}Replacement"
    elif serves_both(body):
        name, creating = f"New{name.removeprefix('New')}", True
    else:
        return body
    return body_schema(type(body), name, creating=creating, partial=endpoint.partial, fixed=endpoint.fixed,
                       kept=endpoint.kept, defaults=endpoint.defaults)


def _responses(endpoint: Endpoint) -> dict[int | str, list[Any]]:
    success: dict[str, Any] = {"description": "Done.", "content_type": None, "headers": headers.of_success(endpoint)}
    if endpoint.answer is not None:
        success["schema"] = _with_all_fields(type(endpoint.answer)) if serves_both(endpoint.answer) else endpoint.answer
    responses: dict[int | str, list[Any]] = {
        status: [dict(success)] for status in (endpoint.status, *endpoint.statuses)}
    if endpoint.minimal and endpoint.status != 201:
        responses[204] = [LEFT_OUT]
    if endpoint.deferred is not None:
        responses[202] = [ACCEPTED]
    if endpoint.method == "GET":
        responses[304] = [NOT_MODIFIED]
    return responses | problems.responses(endpoint)


def _examples(value: Any) -> dict[str, Any]:
    """Returns named examples (`examples`): the documentation page does not read `example`."""
    return {"example": {"value": value}}


@lru_cache(maxsize=128)
def _with_all_fields(schema: type[Schema]) -> Schema:
    """Returns the schema of a row with all its fields, for an endpoint outside its collection."""
    return answer_schema(schema)


def _files(endpoint: Endpoint) -> dict[str, Any]:
    """Returns the description of bodies without a schema: pages, and files of rows."""
    documentation: dict[str, Any] = {}
    if endpoint.body is None and endpoint.prepare is not None:
        content = _content(endpoint.accepts)
        if endpoint.lines is not None:
            for media_type, described in content.items():
                if (example := example_lines(endpoint.lines, media_type)) is not None:
                    described["examples"] = _examples(example)
        documentation["requestBody"] = {"required": True, "content": content}
    if endpoint.produces:
        documentation["responses"] = {endpoint.status: {"content": _content(endpoint.produces)}}
    return documentation


def _content(media_types: tuple[str, ...]) -> dict[str, Any]:
    return {kind: {"schema": {"type": "object" if kind == "application/json" else "string"}} for kind in media_types}
