"""Commands about mail: `gatepost mail test`."""

from __future__ import annotations

import click

from gatepost.commands.context import load_settings, registry
from gatepost.commands.printing import Group, echo
from gatepost.http.protocol.messages import Translations
from models.base import new_id
from models.records.mailboxes import normalize

from . import configured, letters, smtp


@click.group(cls=Group)
def mail() -> None:
    """Test the mail server."""


@mail.command()
@click.argument("address")
def test(address: str) -> None:
    """Send a test message to an address, at once and without a job.

    If the server refuses it, its reply is printed.

    \b
    Example: gatepost mail test ada@example.org
    """
    settings, normal = load_settings(), normalize(address)
    if missing := configured.missing(settings):
        raise click.ClickException(f"Mail is off. Set first: {', '.join(missing)}.")
    if normal is None:
        raise click.ClickException(f"{address} is not an e-mail address.")
    translation = Translations(settings.language, registry().translations).in_language()
    message = letters.composed(settings, translation, normal, letters.trial(settings), new_id())
    try:
        smtp.deliver(settings, message)
    except smtp.Undelivered as error:
        reply = f" ({error.reply})" if error.reply else ""
        raise click.ClickException(f"The message was not sent: {error}{reply}.") from None
    echo(f"The mail server took the message for {normal}.")
