"""Documentation of schemas: fields of bodies, fields of answers, and the ids in examples."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from functools import cache, lru_cache
from hashlib import sha256
from typing import Any

from marshmallow import Schema, fields, missing
from marshmallow.validate import OneOf

from .fields import StrictSchema


class Expanded(fields.Field[Any]):
    """Object of another collection beside its id, if `expand` names it. It is null if it does not exist, or if the
    caller may not view it."""

    def __init__(self, collection: str, name: str) -> None:
        super().__init__(allow_none=True,
                         metadata={"description": f"The object itself, when `expand` names `{name}`."})
        self.collection = collection


def serves_both(schema: Schema) -> bool:
    """True if bodies and answers share this schema, with different fields."""
    return any(field.dump_only for field in schema.fields.values())


@lru_cache(maxsize=512)
def body_schema(schema: type[Schema], name: str, *, creating: bool = False, partial: bool = False,
                fixed: tuple[str, ...] = (), kept: tuple[str, ...] = (),
                defaults: tuple[tuple[str, Any], ...] = ()) -> Schema:
    """Returns the schema of bodies as a component `name`: without the fields of answers only, and without `fixed`.

    creating  leaves out fields whose metadata exclude creation (`on_create`)
    partial   no field is required, and an absent one keeps its value; `kept`: these fields are not required
    defaults  (field, value) of a new row for fields that the body omits
    """
    result = {}
    for field_name, declared in schema().load_fields.items():
        if field_name not in fixed and not (creating and declared.metadata.get("on_create") is False):
            result[field_name] = field = _body_field(declared)
            field.required = declared.required and not partial and field_name not in kept
            if partial:
                field.load_default = missing
    for field_name, value in () if partial else defaults:
        if field_name in result:
            result[field_name].load_default = value
    return _component(schema, result, name)


def answer_schema(schema: type[Schema], *, sometimes: frozenset[str] = frozenset(),
                  values: Mapping[str, tuple[str, ...]] | None = None,
                  besides: Mapping[str, fields.Field[Any]] | None = None, name: str = "") -> Schema:
    """Returns the schema of answers. Every field is required, except those in `sometimes`, or with `sometimes` in their
    metadata. A name with a point is a field of the entries of a list: `items.product`.

    values   field → all values that it can have
    besides  further fields, by name
    name     name of the component; by default that of the schema
    """
    result = {field_name: _answer_field(field, field_name, sometimes, besides or {})
              for field_name, field in schema().dump_fields.items()}
    for field_name, field in result.items():
        field.required = field_name not in sometimes and "sometimes" not in field.metadata
        if values and (allowed := values.get(field_name)):
            field.metadata = {**field.metadata, **choices(schema, field_name, allowed)}
    result |= {field_name: field for field_name, field in (besides or {}).items() if "." not in field_name}
    return _component(schema, result, name or component_name(schema))


# Collections of which the demo has a row with the id of `example_id`.
IN_THE_DEMO = frozenset(("articles", "categories", "comments", "contact", "orders", "pages", "products", "users"))


@cache
def example_id(collection: str) -> str:
    """Returns the id in the examples of a collection, such as `articles`. It is constant: a UUIDv7 (RFC 9562) of the
    first of January 2025."""
    return f"01941f29-7c00-7000-8000-{sha256(collection.encode()).hexdigest()[:12]}"


def choices(schema: type[Schema], field: str, values: tuple[str, ...]) -> dict[str, Any]:
    """Returns the metadata of a field with few values: they become a component, such as `ArticleStatus`."""
    return {"enum": list(values), "component": component_name(schema) + field.title().replace("_", "")}


def component_name(schema: type[Schema]) -> str:
    """Returns the component name of a schema: its class, without the affixes of every schema class."""
    return schema.__name__.removeprefix("_").removesuffix("Schema")


def _component(schema: type[Schema], declared: dict[str, Any], name: str) -> Schema:
    component = StrictSchema.from_dict(declared, name=name)
    component.__doc__ = schema.__doc__
    return component()


def _body_field(declared: fields.Field[Any]) -> fields.Field[Any]:
    """Returns a field for bodies. Objects in it get the schema of bodies as well."""
    field = copy(declared)
    if isinstance(field, fields.List):
        field.inner = _body_field(field.inner)
    elif isinstance(field, fields.Nested) and serves_both(field.schema):
        kind = type(field.schema)
        return fields.Nested(body_schema(kind, f"New{component_name(kind)}"), required=field.required,
                             allow_none=field.allow_none, metadata=field.metadata)
    return field


def _answer_field(declared: fields.Field[Any], name: str, sometimes: frozenset[str],
                  besides: Mapping[str, fields.Field[Any]]) -> Any:
    """Returns a field for answers. Objects in it get the schema of answers as well."""
    field = copy(declared)
    if isinstance(field, fields.List):
        field.inner = _answer_field(field.inner, name, sometimes, besides)
    elif isinstance(field, fields.Nested) and serves_both(field.schema):
        start = f"{name}."
        within = {inner.removeprefix(start): extra for inner, extra in besides.items() if inner.startswith(start)}
        absent = frozenset(inner.removeprefix(start) for inner in sometimes if inner.startswith(start))
        return fields.Nested(answer_schema(type(field.schema), sometimes=absent, besides=within),
                             allow_none=field.allow_none, metadata=field.metadata)
    field.dump_only = False  # has no meaning in a schema of answers
    # Rows may be older than a current limit of bodies.
    field.validators = [check for check in field.validators if isinstance(check, OneOf)]
    return field
