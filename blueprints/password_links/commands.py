"""`gatepost user link`: a link with which a user chooses a password."""

from __future__ import annotations

import click

from gatepost.commands.context import registry
from gatepost.commands.instance import open_instance, record
from gatepost.commands.printing import echo
from models.base import Rows
from models.tables.user import User

from . import links


@click.command()
@click.argument("email")
def link(email: str) -> None:
    """Make a link with which a user chooses a password.

    It is shown once, and replaces an earlier one. Pass it on to the user by any means. It is valid for one use, until
    the account changes, and for the hours of the setting password_link_hours.

    \b
    Example: gatepost user link ada@example.org
    """
    with open_instance() as instance:
        settings = instance.settings
        if links.PAGE not in registry().served(settings).paths:
            raise click.ClickException("The page of the link is not served: see the settings console and without.")

        def work() -> tuple[str, str]:
            account = instance.user(email)
            user = Rows(User, account.tenant_id).find(account.id, lock=True)
            if user is None or not user.active:
                raise click.ClickException(f"{email} is disabled. Enable it first: gatepost user enable {email}")
            record(user.tenant_id, "user", "create_password_link", user.id)
            return links.make(settings, user)

        token, expires_at = instance.database.transact(work)
    echo(links.url(settings, token))
    echo(f"Valid once, until {expires_at}. It is shown only now.", err=True)
    if not settings.public_url:
        echo("Put the address of the service before the path, or set public_url.", err=True)
