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
    """The object of another collection beside its id, when `expand` names it: null where there is none, and where the
    caller may not view it."""

    def __init__(self, collection: str, name: str) -> None:
        super().__init__(allow_none=True,
                         metadata={"description": f"The object itself, when `expand` names `{name}`."})
        self.collection = collection


def serves_both(schema: Schema) -> bool:
    """True if bodies and answers share this schema, with different fields."""
    return any(field.dump_only for field in schema.fields.values())


@lru_cache(maxsize=512)
def sent(schema: type[Schema], name: str, *, creating: bool = False, partial: bool = False, fixed: tuple[str, ...] = (),
         kept: tuple[str, ...] = (), defaults: tuple[tuple[str, Any], ...] = ()) -> Schema:
    """Returns the schema of bodies as a component `name`: without the fields of answers only, and without `fixed`.

    creating  leaves out fields whose metadata exclude creation (`on_create`)
    partial   no field is required, and an absent one keeps its value; `kept`: these fields are not required
    defaults  (field, value) of a new row for fields that the body omits
    """
    made = {}
    for field_name, declared in schema().load_fields.items():
        if field_name not in fixed and not (creating and declared.metadata.get("on_create") is False):
            made[field_name] = field = _sent(declared)
            field.required = declared.required and not partial and field_name not in kept
            if partial:
                field.load_default = missing
    for field_name, value in () if partial else defaults:
        if field_name in made:
            made[field_name].load_default = value
    return _made(schema, made, name)


def answered(schema: type[Schema], *, sometimes: frozenset[str] = frozenset(),
             values: Mapping[str, tuple[str, ...]] | None = None,
             besides: Mapping[str, fields.Field[Any]] | None = None, name: str = "") -> Schema:
    """The answer's half of a schema: every field is there, but for those that are `sometimes`, here or in their
    metadata, which say when.

    values   field → all the values that it can have
    besides  field → what is answered besides the schema's fields; a name with a point stands in a list: `items.product`
    name     the component's; without it the schema's own
    """
    made = {field_name: _answered(field, field_name, besides or {})
            for field_name, field in schema().dump_fields.items()}
    for field_name, field in made.items():
        field.required = field_name not in sometimes and "sometimes" not in field.metadata
        if values and (known := values.get(field_name)):
            field.metadata = {**field.metadata, **choices(schema, field_name, known)}
    made |= {field_name: field for field_name, field in (besides or {}).items() if "." not in field_name}
    return _made(schema, made, name or component_name(schema))


# The collections of which the demo has a row with that id.
IN_THE_DEMO = frozenset(("articles", "categories", "comments", "contact", "orders", "pages", "products", "users"))


@cache
def example_id(collection: str) -> str:
    """The id of the example of a collection, such as `articles`: always the same one. A UUIDv7 (RFC 9562) of the first
    of January 2025."""
    return f"01941f29-7c00-7000-8000-{sha256(collection.encode()).hexdigest()[:12]}"


def choices(schema: type[Schema], field: str, values: tuple[str, ...]) -> dict[str, Any]:
    """Returns the metadata of a field with few values: they become a component, such as `ArticleStatus`."""
    return {"enum": list(values), "component": component_name(schema) + field.title().replace("_", "")}


def component_name(schema: type[Schema]) -> str:
    """Returns the component name of a schema: its class, without the affixes of every schema class."""
    return schema.__name__.removeprefix("_").removesuffix("Schema")


def _made(schema: type[Schema], declared: dict[str, Any], name: str) -> Schema:
    made = StrictSchema.from_dict(declared, name=name)
    made.__doc__ = schema.__doc__
    return made()


def _sent(declared: fields.Field[Any]) -> fields.Field[Any]:
    """Returns a field for bodies, and so the objects in it."""
    field = copy(declared)
    if isinstance(field, fields.List):
        field.inner = _sent(field.inner)
    elif isinstance(field, fields.Nested) and serves_both(field.schema):
        kind = type(field.schema)
        return fields.Nested(sent(kind, f"New{component_name(kind)}"), required=field.required,
                             allow_none=field.allow_none, metadata=field.metadata)
    return field


def _answered(declared: fields.Field[Any], name: str, besides: Mapping[str, fields.Field[Any]]) -> Any:
    """Returns a field for answers, and so the objects in it."""
    field = copy(declared)
    if isinstance(field, fields.List):
        field.inner = _answered(field.inner, name, besides)
    elif isinstance(field, fields.Nested) and serves_both(field.schema):
        within = {inner.removeprefix(f"{name}."): found for inner, found in besides.items()
                  if inner.startswith(f"{name}.")}
        return fields.Nested(answered(type(field.schema), besides=within), allow_none=field.allow_none,
                             metadata=field.metadata)
    field.dump_only = False  # has no meaning in a schema of answers
    # Rows may be older than a current limit of bodies.
    field.validators = [check for check in field.validators if isinstance(check, OneOf)]
    return field
