"""The fields that every collection has."""

from .fields import Id, Int, Line, Reference, StrictSchema, Time

# Leaves room to count on: a row at the end of 64 bits could never be changed again.
_LAST_VERSION = 2**53


class RecordSchema(StrictSchema):
    """The read-only fields that every row has."""

    id = Id(dump_only=True)
    tenant_id = Id(dump_only=True)
    version = Int(dump_only=True, minimum=1, maximum=_LAST_VERSION)
    created_at = Time(dump_only=True)
    updated_at = Time(dump_only=True)


class OwnedSchema(RecordSchema):
    """The fields of a row with an owner."""

    owner_id = Reference("users", expand="owner", allow_none=True)
    department = Line(dump_only=True, allow_none=True)
