"""The fields that every collection has (API, section 3)."""

from __future__ import annotations

from marshmallow import fields

from .fields import Id, Int, Reference, StrictSchema, Time


class RecordSchema(StrictSchema):
    """What every row answers about itself; the service sets all of it."""

    id = Id(dump_only=True)
    tenant_id = Id(dump_only=True)
    version = Int(dump_only=True)
    created_at = Time(dump_only=True)
    updated_at = Time(dump_only=True)


class OwnedSchema(RecordSchema):
    """A row with an owner: by default who made it. `department` is the creator's at that time."""

    owner_id = Reference("users", expand="owner")
    department = fields.String(dump_only=True)
