"""The fields that every collection has, and how rows look in answers."""

from __future__ import annotations

from copy import copy
from functools import cache
from typing import Any

from marshmallow import Schema, fields

from .fields import Id, Int, Line, Reference, StrictSchema, Time

# Leaves room to count on: a row at the end of 64 bits could never be changed again.
_LAST_VERSION = 2**53


class RecordSchema(StrictSchema):
    """What every row answers about itself; the service sets all of it."""

    id = Id(dump_only=True)
    tenant_id = Id(dump_only=True)
    version = Int(dump_only=True, minimum=1, maximum=_LAST_VERSION)
    created_at = Time(dump_only=True)
    updated_at = Time(dump_only=True)


class OwnedSchema(RecordSchema):
    """A row with an owner: by default who made it. `department` is the creator's at that time."""

    owner_id = Reference("users", expand="owner", allow_none=True)
    department = Line(dump_only=True, allow_none=True)


def is_row(schema: Schema) -> bool:
    """Whether it describes rows: what has an id that the service gives."""
    return "id" in schema.fields and schema.fields["id"].dump_only


@cache
def answered(schema: type[Schema], expand: tuple[str, ...]) -> Schema:
    """Rows of this schema as they are answered, for the documentation: `fields` and the policy may leave out any field,
    `expand` puts objects beside their ids.
    """
    made: dict[str, Any] = {}
    for name, declared in schema().dump_fields.items():
        made[name] = copy(declared)
        made[name].required = False
    for name in expand:
        made[name] = fields.Dict(keys=fields.String(), allow_none=True, dump_only=True,
                                 metadata={"description": "The object itself, when `expand` names it."})
    made["allowed_actions"] = fields.List(fields.String(), dump_only=True, metadata={
        "description": "What this caller may do to it now, when `fields` names it."})
    return StrictSchema.from_dict(made, name=schema.__name__.removesuffix("Schema"))()
