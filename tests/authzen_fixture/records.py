"""Records, with the verbs of the scenario beside those of every collection."""

from __future__ import annotations

from collections.abc import Iterator

import peewee as pw
from marshmallow import fields

from gatepost import Call, Collection, Endpoint, Function, Owned, OwnedSchema


class Record(Owned):
    """One record."""

    status = pw.TextField(default="active")

    class Meta:
        table_name = "records"


class RecordRowSchema(OwnedSchema):
    """One record."""

    status = fields.String(dump_only=True)


class Records(Collection):
    """Records of the scenario."""

    name, resource = "records", "record"
    model, schema = Record, RecordRowSchema
    sort = ("created_at",)

    def endpoints(self) -> Iterator[Endpoint]:
        yield from super().endpoints()
        for verb in ("read", "write"):
            yield Endpoint(name=verb, method="GET", path=f"/api/records/<id>/{verb}", permission=f"record.{verb}",
                           load=self.load_record, handler=_done, summary="Do it.")


# A condition that asks who calls: it has to be asked about each user.
intown = Function("intown", reads=(("sub", "department"),), literals=(), holds=lambda department: department == "town")


def _done(call: Call) -> dict[str, bool]:
    return {"done": True}
