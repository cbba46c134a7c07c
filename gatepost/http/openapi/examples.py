"""Examples of bodies, made of those of their fields. The ids in them are those of rows of the demo."""

from __future__ import annotations

from typing import Any

from marshmallow import Schema, fields

from ..schemas import file_formats
from ..schemas.documented import example_id
from ..schemas.fields import Reference


def example_of(schema: Schema, *, partial: bool = False) -> dict[str, Any] | None:
    """A body that the schema takes: every required field, and each that has an example of its own; `partial`: the first
    of them alone.

    None where a required field has none, and where there would be nothing in it.
    """
    found = {}
    for name, field in schema.fields.items():
        if field.dump_only:
            continue
        value = _value(field, needed=field.required)
        if value is not None:
            found[name] = value
        elif field.required:
            return None
    return dict(list(found.items())[:1 if partial else None]) or None


def example_lines(schema: Schema, media_type: str) -> str | None:
    """A file of one line that an import of such rows takes."""
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
