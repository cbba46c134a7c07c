"""The secrets of an instance: `gatepost keys …`."""

from __future__ import annotations

import socket
from functools import partial
from pathlib import Path

import click

from gatepost.commands.context import load_settings, registry, show_path
from gatepost.commands.instance import Instance, open_instance, require_instance
from gatepost.commands.printing import Group, echo
from gatepost.features import CannotSave, FeatureError, Installation, Saved
from gatepost.http.security.keys import KeyFileError, Keys, fingerprints, prepared_fingerprint
from gatepost.http.security.known_keys import prepare_known, rotate_known
from models.base import now
from models.engine.database import Database
from models.engine.errors import RowError
from models.tables.instance import the_instance
from models.tables.node import alive, places


@click.group(cls=Group)
def keys() -> None:
    """List the generations of keys, and rotate them."""


@keys.command("list")
def list_keys() -> None:
    """List the generations, the one that signs first. The keys themselves are never shown.

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
@click.option("--prepare", is_flag=True,
              help="Create the key that the next rotation will sign with. Until then it only verifies.")
@click.option("--forget", is_flag=True,
              help="Drop all other keys, also a prepared one. Their signatures are refused at once.")
def rotate_keys(prepare: bool, forget: bool) -> None:
    """Sign with a new key from now on, or with the prepared one.

    Signatures of older keys stay valid. Running servers read the new key.

    If several nodes serve one database: run this with --prepare on one of them, copy its secret.key to the others,
    then run this on each, within an hour.

    If secret.key is lost, you need a backup that was made after the rotation. So the command makes one, in the folder
    of backups.

    --forget is for a key that leaked: every client must refresh, cursors end, and existing audit seals can no longer
    be verified. Run `gatepost audit verify` first.

    \b
    Example: gatepost keys rotate
    """
    if prepare and forget:
        raise click.UsageError("--prepare and --forget exclude each other: a key that leaked is replaced at once.")
    with open_instance() as instance:
        file = instance.settings.secret_file
        before = the_instance().key_fingerprint
        try:
            if prepare:
                ring = prepare_known(instance.database, file)
            else:
                if not forget:
                    _refuse_before_others(instance, prepared_fingerprint(instance.keys()))
                installation = Installation(instance.settings, instance.database)
                ring = rotate_known(instance.database, file, forget=forget,
                                    reencrypt=partial(registry().features.reencrypt, installation))
        except (KeyFileError, OSError, FeatureError) as error:
            raise click.ClickException(str(error)) from error
        _show(ring)
        # If another node made the key that signs, that node made the backup, too.
        if not prepare and before != fingerprints(ring)[0]:
            _back_up(instance)


def _back_up(instance: Instance) -> None:
    """Makes a backup with the new key. Prints its path, or the reason why there is none."""
    backups: list[Saved] = []
    try:
        for saved in registry().features.save(Installation(instance.settings, instance.database), "after-rotation"):
            backups.append(saved)
            echo(f"Backup: {show_path(saved.place)}")
        for file in (file for saved in backups for file in saved.tidy()):
            echo(f"Removed an older backup: {show_path(file)}")
    except (CannotSave, RowError, OSError) as error:
        echo(f"Older backups stay: {error}." if backups else
             f"No backup holds the new key, since none can be made: {error}. Keep a copy of "
             f"{instance.settings.secret_file}, or run: gatepost backup", err=True)


def _refuse_before_others(instance: Instance, prepared: str | None) -> None:
    """Raises ClickException if other nodes lack the next key, because they would refuse its signatures."""
    if prepared is not None and the_instance().key_fingerprint == prepared:
        return
    if nodes := without_key(instance.database, instance.settings.instance, prepared):
        first = ("Run gatepost keys rotate --prepare, copy secret.key to each of them" if prepared is None
                 else "Copy secret.key to each of them, wait until gatepost doctor --nodes says that it is there")
        raise click.ClickException(f"Other nodes would refuse what the new key signs: {', '.join(nodes)}. {first}, "
                                   "then run gatepost keys rotate on each. After a leak: gatepost keys rotate --forget")


def without_key(database: Database, instance: Path, fingerprint: str | None) -> list[str]:
    """Lists the other running nodes that lack this key, as `host:folder`.

    `fingerprint` is None for a key that does not exist yet. Raises `RowError`.
    """
    with database.connected():
        rows = alive(database)
    own_place = (socket.gethostname(), str(instance))
    nodes = places([row for row in rows if fingerprint not in (row.key_fingerprint, row.prepared_fingerprint)
                    or fingerprint is None])
    return sorted(f"{host}:{folder}" for host, folder in nodes if (host, folder) != own_place)


def _show(ring: Keys) -> None:
    for place, generation in enumerate(ring.generations()):
        if place == 0:
            state = "signs"
        elif generation.master.prepared:
            state = "verifies, signs after gatepost keys rotate"
        elif generation.until is None or now() < generation.until:
            state = f"verifies until {generation.until}" if generation.until else "verifies"
        else:
            state = "proves audit seals only"
        echo(f"{generation.kid}  {generation.master.made or 'made before times were noted':28}  {state}")
