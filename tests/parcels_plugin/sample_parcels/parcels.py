"""Parcels: one for each order that leaves, weighed by hand and collected by a carrier."""

from functools import partial

import peewee as pw
from marshmallow import fields

from gatepost import (
    Call,
    Collection,
    Function,
    Id,
    IdField,
    Int,
    Owned,
    OwnedSchema,
    Routes,
    Rows,
    Setting,
    StrictSchema,
    Task,
    every,
    new_id,
    on,
    transition,
)

CARRIER = Setting.choice("carrier", "post", "who collects the parcels", among=("post", "courier"), live=True)
MOST = Setting.whole("most", 100, "most parcels that one run of the clock hands over", minimum=1, maximum=1000)
API_KEY = Setting.text("api_key", "", "the key of the carrier's API; empty: parcels wait", secret=True)


class Parcel(Owned):
    """A parcel of one order."""

    order_id = IdField(null=True)
    grams = pw.IntegerField(default=0)
    carrier = pw.TextField(default="")
    status = pw.TextField(default="packed")

    class Meta:
        table_name = "parcels"


class ParcelSchema(OwnedSchema):
    """A parcel."""

    order_id = Id(dump_only=True, allow_none=True)
    grams = Int(minimum=0, maximum=30_000)
    carrier = fields.String(dump_only=True)
    status = fields.String(dump_only=True)


class Parcels(Collection):
    """Parcels of orders."""

    name, resource = "parcels", "parcel"
    model, schema = Parcel, ParcelSchema
    sort = ("created_at",)
    filters = {"status": ("eq",), "grams": ("gte",)}

    collect = transition("collect", "The carrier has it.", {"packed": "collected"})


class LoadSchema(StrictSchema):
    """The number of parcels that wait for a carrier."""

    carrier = fields.String(required=True)
    parcels = Int(required=True)


routes = Routes("parcel_load", "How much waits for a carrier.")


@routes.get("/api/parcel-load", permission="parcel_load.view", answer=LoadSchema())
def load(call: Call) -> dict[str, object]:
    """Count the waiting parcels, and name their carrier."""
    waiting = Rows(Parcel, call.tenant_id).select().where(Parcel.status == "packed").count()
    return {"carrier": CARRIER.of(call), "parcels": waiting}


heavier = Function(
    "heavier", reads=(("obj", "grams"),), literals=(int,),
    holds=lambda grams, limit: grams is not None and grams > limit,
    where=lambda grams, limit: grams > limit,
    words={"heavy": (5_000,)},
)


@on("orders.ship")
def pack(task: Task) -> None:
    """Pack a parcel for each order that leaves."""
    for id in task.payload["ids"]:
        parcel = Parcel(id=new_id(), order_id=id, carrier=CARRIER.of(task))
        task.once(f"pack {id}", partial(task.rows(Parcel).insert, parcel))


@every(minutes=1)
def hand_over(task: Task) -> dict[str, int | None]:
    """Set the carrier of parcels without one, in batches of limited size."""
    rows = task.rows(Parcel)
    waiting = [parcel.id for parcel in rows.select(Parcel.id).where(Parcel.carrier == "").limit(MOST.of(task))]
    carrier = CARRIER.of(task)
    return {"handed_over": task.once("hand over", lambda: rows.change({Parcel.carrier: carrier},
                                                                      Parcel.id.in_(waiting)))}
