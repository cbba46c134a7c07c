"""The fields that every collection has."""

from .fields import Id, Int, Line, Reference, StrictSchema, Time

# Far below the end of 64 bits: a row whose version is at the end could never change again.
_LAST_VERSION = 2**53


class RecordSchema(StrictSchema):
    """Read-only fields of every row."""

    id = Id(dump_only=True)
    tenant_id = Id(dump_only=True)
    version = Int(dump_only=True, minimum=1, maximum=_LAST_VERSION)
    created_at = Time(dump_only=True)
    updated_at = Time(dump_only=True)


class OwnedSchema(RecordSchema):
    """Fields of a row with an owner."""

    owner_id = Reference("users", expand="owner", allow_none=True)
    department = Line(dump_only=True, allow_none=True)
