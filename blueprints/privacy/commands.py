"""Commands about one user's data: `gatepost user export`, `user erase` and `user erasures`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from blueprints.privacy import exporting
from gatepost.collections import erasing, repeating
from gatepost.collections.erasing import STAYS, CannotErase, RowCount
from gatepost.commands import policy_files
from gatepost.commands.context import registry, show_path
from gatepost.commands.instance import Instance, open_instance, record
from gatepost.commands.printing import echo
from gatepost.commands.private_file import private_file
from gatepost.http.schemas import file_formats
from models.base import read_id
from models.engine.errors import InUse, StillReferenced, TimedOut
from models.tables import erasure
from models.tables.user import User
from policies.loading.files import Unreadable, read_bytes
from policies.loading.snapshot import LARGEST_SNAPSHOT

_FATES = {"delete": "are deleted", "anonymise": "are anonymised", "hand_over": "are handed over to {heir}",
          STAYS: "stay, and belong to nobody who can be seen (--to hands them over)"}


@click.command("export")
@click.argument("email")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
def export_person(email: str, file: Path) -> None:
    """Write everything about a user to a file.

    The file is NDJSON, and is meant for that user. Only the user who runs this command can read it, and it must not
    exist yet. It has no secrets: no password, not even a hash, and no token.

    \b
    Example: gatepost user export ada@example.org ada.ndjson
    """
    with open_instance() as instance:
        person = instance.user(email)
        lines = exporting.lines(instance.database, person, registry(whole=True).collections)
        with private_file(file) as output:
            for chunk in file_formats.write(file_formats.NDJSON, (), lines):
                output.write(chunk)
        instance.database.transact(lambda: record(person.tenant_id, "user", "export", person.id))
    echo(f"Exported: {show_path(file)}")


@click.command("erase")
@click.argument("email")
@click.option("--to", "heir", metavar="EMAIL", help="New owner of the articles, pages, products and categories.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def erase_person(email: str, heir: str | None, yes: bool) -> None:
    """Erase a user, for good.

    First it lists the user's data, and asks. Rows that others refer to stay, without their author. The audit log keeps
    only the user's id. To complete an interrupted erasure, run the same command again; the user's id works instead of
    EMAIL, also after the erasure.

    \b
    Example: gatepost user erase ada@example.org --to grace@example.org --yes
    """
    collections = registry(whole=True).collections
    with open_instance() as instance, _sentences():
        person = _person(instance, email)
        if person.erased_at is None:
            new_owner = None if heir is None else instance.user(heir)
            if new_owner is not None:
                erasing.require_heir(person, new_owner)
            erasing.require_another_administrator(person)
            _show(erasing.find(person, collections, new_owner), person, new_owner)
            _show_lines(person.id)
            if not yes:
                click.confirm(f"Erase {email}? It cannot be undone.", abort=True)
            erasing.begin(instance.database, person, new_owner)
            erasing.erase_rows(instance.database, person, collections, new_owner)
            echo(f"Erased. Remaining rows have only the id {person.id}.")
        _clean_up(instance, collections, person.id)
    echo("Older backups still have the user's data until they are removed. A restore with --replace erases it again; a "
         "restore into a new instance needs --erasures and the list from `gatepost user erasures`.")


@click.command("erasures")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
def list_erasures(file: Path) -> None:
    """Write the erased users to FILE, for a new instance.

    A restore into a new instance takes the file by --erasures, and erases these users again.

    The file has only ids and times, no names. Keep it where the backups are kept.

    \b
    Example: gatepost user erasures erasures.ndjson
    """
    with open_instance() as instance:
        erasures = erasure.erasures(instance.database)
        with private_file(file) as output:
            for line in repeating.written(erasures):
                output.write(line)
    echo(f"{len(erasures)} erasures: {show_path(file)}")


def _person(instance: Instance, text: str) -> User:
    id = read_id(text)
    user = None if id is None else User.by_id(id)
    return instance.user(text) if user is None else user


def _show(counts: list[RowCount], person: User, heir: User | None) -> None:
    echo(f"{person.email}, {person.role}, id {person.id}")
    for count in counts:
        fate = _FATES[count.fate].format(heir=None if heir is None else heir.email)
        echo(f"  {count.number} {count.kind} {fate}")
    echo("  the account is deleted; its id stays where others refer to it")


def _show_lines(id: str) -> None:
    """Prints the rules that name the user. An erasure does not change rules; the administrator removes them."""
    places = []
    for file in sorted(policy_files.of_instance().glob("*.csv")):
        try:
            text = read_bytes(file, LARGEST_SNAPSHOT).decode(errors="replace")
        except Unreadable:
            continue
        places += [f"{file.name}:{number}" for number, line in enumerate(text.splitlines(), 1) if f"user:{id}" in line]
    if places:
        echo(f"Rules of the policy name the user, and stay until you remove them: {', '.join(places)}")


def _clean_up(instance: Instance, collections: erasing.Collections, id: str) -> None:
    try:
        erasing.clean_up(instance.database, collections)
    except (InUse, TimedOut) as error:
        raise click.ClickException(f"The rows are erased, but their bytes are not overwritten yet: {error}. "
                                   f"Complete it later: gatepost user erase {id}") from error
    echo("Their remains in the files of the database are overwritten.")


@contextmanager
def _sentences() -> Iterator[None]:
    """Raises ClickException for a user who cannot be erased."""
    try:
        yield
    except CannotErase as error:
        raise click.ClickException(str(error)) from error
    except StillReferenced as error:
        raise click.ClickException("A row that is to be deleted is referred to by one that stays, and nothing was "
                                   f"erased; the account is disabled. {error}") from error
