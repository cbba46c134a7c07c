"""Examples of bodies, made of those of their fields; and the ids in examples, which rows of the demo have, too."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from typing import Any

from marshmallow import Schema, fields

from ..schemas.fields import Reference

_NONE = object()


@cache
def example_id(collection: str) -> str:
    """The id of the example of a collection, such as `articles`: always the same one. A UUIDv7 (RFC 9562) of the first
    of January 2025."""
    return f"01941f29-7c00-7000-8000-{sha256(collection.encode()).hexdigest()[:12]}"


def example_of(schema: Schema) -> dict[str, Any] | None:
    """A body that the schema takes: every required field, and each that has an example of its own.

    None where a required field has none.
    """
    found = {}
    for name, field in schema.fields.items():
        if field.dump_only:
            continue
        value = _value(field)
        if value is not _NONE:
            found[name] = value
        elif field.required:
            return None
    return found


def _value(field: fields.Field[Any]) -> Any:
    if "example" in field.metadata:
        return field.metadata["example"]
    match field:
        case Reference() if field.required:
            return example_id(field.collection)
        case fields.Nested() if field.required:
            return example_of(field.schema) or _NONE
        case fields.List() if field.required:
            inner = _value(field.inner)
            return _NONE if inner is _NONE else [inner]
    return _NONE
