"""`gatepost parcels …`."""

import click

from gatepost import Rows, echo, open_instance

from .parcels import API_KEY, CARRIER, Parcel


@click.group()
def parcels() -> None:
    """Look at parcels, and throw away those that are gone."""


@parcels.command()
def waiting() -> None:
    """Say how many parcels wait."""
    with open_instance() as instance:
        number = Rows(Parcel, instance.tenant().id).select().where(Parcel.status == "packed").count()
        key = "with" if API_KEY.of(instance) else "without"
        echo(f"{number} for {CARRIER.of(instance)}, {key} a key")


@parcels.command()
@click.option("--tenant", metavar="NAME", help="The default tenant unless given.")
def tidy(tenant: str | None) -> None:
    """Throw away the parcels that were collected."""
    with open_instance() as instance:
        found = instance.tenant(tenant)

        def work() -> int:
            instance.record(found, "parcel", "tidy")
            return Rows(Parcel, found.id).remove(status="collected")

        echo(f"{instance.database.transact(work)} thrown away.")
