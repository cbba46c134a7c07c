"""The fields that every collection has."""

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
