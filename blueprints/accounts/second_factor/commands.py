"""`gatepost user remove-second-factor`: for a user who lost their phone and their recovery codes."""

from __future__ import annotations

import click

from gatepost.commands.instance import open_instance, record
from gatepost.commands.printing import echo
from models.base import Rows
from models.tables.session import end_all
from models.tables.user import User

from . import factors


@click.command()
@click.argument("email")
def remove(email: str) -> None:
    """Remove the second factor of a user who lost it.

    Their sessions end, and the password alone is enough again. It also helps where codes cannot be checked, because
    the keys of the service have changed.

    \b
    Example: gatepost user remove-second-factor ada@example.org
    """
    with open_instance() as instance:
        def work() -> None:
            account = instance.user(email)
            user = Rows(User, account.tenant_id).find(account.id, lock=True)
            if user is None or not factors.remove(user):
                raise click.ClickException(f"{email} has no second factor.")
            end_all(user)
            Rows(User, user.tenant_id).save(user)
            record(user.tenant_id, "user", "remove_second_factor", user.id)

        instance.database.transact(work)
        echo(f"{email} has no second factor any more; their sessions have ended.")
