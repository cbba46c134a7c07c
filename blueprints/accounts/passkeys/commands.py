"""`gatepost user remove-passkeys`: for a user whose devices were lost or stolen."""

from __future__ import annotations

import click

from gatepost.commands.instance import open_instance, record
from gatepost.commands.printing import echo
from models.base import Rows
from models.tables.passkey import Passkey


@click.command()
@click.argument("email")
def remove(email: str) -> None:
    """Remove all passkeys of a user.

    The user logs in with the password, and can add new ones. Sessions go on: gatepost user disable ends them.

    \b
    Example: gatepost user remove-passkeys ada@example.org
    """
    with open_instance() as instance:
        def work() -> int:
            user = instance.user(email)
            number = Rows(Passkey, user.tenant_id).discard(owner_id=user.id)
            if number:
                record(user.tenant_id, "user", "remove_passkeys", user.id)
            return number

        number = instance.database.transact(work)
    echo(f"Removed: {number}.")
