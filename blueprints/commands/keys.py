"""The secrets of an instance: `gatepost keys …`."""

from __future__ import annotations

import click

from blueprints.commands.context import load_settings, open_instance, require_instance
from blueprints.commands.printing import Group, echo
from blueprints.http.security.keys import KeyFileError, Keys
from blueprints.http.security.known_keys import rotate_known
from models.base import now


@click.group(cls=Group)
def keys() -> None:
    """List the generations of keys, and rotate them."""


@keys.command("list")
def list_keys() -> None:
    """List the generations, the newest first. The keys themselves are never shown.

    \b
    Example: gatepost keys list
    """
    settings = load_settings()
    require_instance(settings)
    try:
        ring = Keys.load(settings.secret_file)
    except KeyFileError as error:
        raise click.ClickException(str(error)) from error
    _show(ring)


@keys.command("rotate")
@click.option("--forget", is_flag=True, help="Drop all older keys: what they signed is refused at once.")
def rotate_keys(forget: bool) -> None:
    """Sign with a new key from now on.

    What older keys signed stays valid. Running servers follow.

    With --forget, for a key that leaked, every client must refresh, cursors end, and audit seals made so far cannot
    be proved any more: run `gatepost audit verify` first.

    \b
    Example: gatepost keys rotate
    """
    with open_instance() as instance:
        try:
            ring = rotate_known(instance.database, instance.settings.secret_file, forget=forget)
        except (KeyFileError, OSError) as error:
            raise click.ClickException(str(error)) from error
    _show(ring)


def _show(ring: Keys) -> None:
    for place, each in enumerate(ring.generations()):
        if place == 0:
            state = "signs"
        elif each.until is None or now() < each.until:
            state = f"verifies until {each.until}" if each.until else "verifies"
        else:
            state = "proves audit seals only"
        echo(f"{each.kid}  {each.master.made or 'made before times were noted':28}  {state}")
