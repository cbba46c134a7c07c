"""How marshmallow fields become JSON Schema, and what the components are called."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
from apispec import APISpec
from apispec.ext.marshmallow.openapi import OpenAPIConverter
from marshmallow import Schema, fields

from ..request.call import Peer
from ..schemas.documented import Expanded, component_name


def schema_name(schema: type[Schema] | Schema) -> str:
    """What the component of a schema is called."""
    return component_name(schema if isinstance(schema, type) else type(schema))


class Types:
    """What apispec does not know of our fields: asked after its own functions, with what they have made of a field."""

    def __init__(self, spec: APISpec, converter: OpenAPIConverter, collections: Mapping[str, Peer]) -> None:
        self._components = spec.components
        self._null = {"type": "null"} if spec.openapi_version.minor else {
            "type": "object", "enum": [None], "nullable": True}
        self._converter = converter
        self._collections = collections
        for function in (self._portable, self._expanded, self._untyped, self._unless_given, self._named):
            # As a closure, since apispec makes a method of the converter of it.
            converter.add_attribute_function(  # type: ignore[no-untyped-call]
                lambda _, field, *, ret, asked=function, **__: asked(field, ret))

    def _portable(self, field: fields.Field[Any], made: dict[str, Any]) -> dict[str, Any]:
        """Patterns in the dialect of JSON Schema (ECMA-262), which has other anchors than Python."""
        pattern: str | None = made.get("pattern")
        return {} if pattern is None else {"pattern": pattern.replace(r"\A", "^").replace(r"\Z", "$")}

    def _expanded(self, field: fields.Field[Any], made: dict[str, Any]) -> dict[str, Any]:
        """An object that is expanded is one of its collection."""
        if not isinstance(field, Expanded) or (target := self._collections.get(field.collection)) is None:
            return {}
        shown = self._converter.resolve_nested_schema(target.answer)  # type: ignore[no-untyped-call]
        made.pop("nullable", None)
        return {"anyOf": [shown, self._null]}

    def _untyped(self, _: fields.Field[Any], made: dict[str, Any]) -> dict[str, Any]:
        """OpenAPI 3.0 takes `nullable` only beside a type; what may be anything may be null."""
        if not made.keys() & {"type", "allOf", "anyOf", "$ref"}:
            made.pop("nullable", None)
        return {}

    def _unless_given(self, field: fields.Field[Any], made: dict[str, Any]) -> dict[str, Any]:
        """What holds where a body leaves a field out is told in words: generators of clients take a field with a
        `default` for one that is always there."""
        if "default" in field.metadata or "default" not in made:
            return {}
        value = made.pop("default")
        told = f"{orjson.dumps(value).decode()} unless given."
        return {"description": f"{made.get('description', '')} {told}".strip()}

    def _named(self, field: fields.Field[Any], made: dict[str, Any]) -> dict[str, Any]:
        """Values that several fields have are a component of their own; beside it null, where a field may be that."""
        if (wanted := field.metadata.get("component")) is None:
            return {}
        name = self._component(wanted, {"type": "string", "enum": [one for one in made["enum"] if one is not None]})
        for key in ("type", "enum", "minLength", "maxLength", "nullable"):
            made.pop(key, None)
        reference: dict[str, Any] = self._components.get_ref("schema", name)
        return {"anyOf": [reference, self._null]} if field.allow_none else reference

    def _component(self, wanted: str, values: dict[str, Any]) -> str:
        """The name of the component with these values: with a number, as apispec does it, where a schema of a plugin
        is called like another one."""
        name, number = wanted, 0
        while (known := self._components.schemas.get(name)) and set(known.get("enum", ())) != set(values["enum"]):
            number += 1
            name = f"{wanted}{number}"
        if known is None:
            self._components.schema(name, values)
        return name
