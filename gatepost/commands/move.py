"""`gatepost move`: moves an instance from SQLite to Postgres."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, cast

import click
from playhouse.migrations import MigrationError

from gatepost.commands.context import load_settings, migrations
from gatepost.commands.instance import (
    database_of,
    find_tenant,
    record,
    require_instance,
    sentences,
    settle_restore,
)
from gatepost.commands.printing import echo, progress
from gatepost.commands.settings import without_password
from gatepost.http.auditing.writer import sealer
from gatepost.http.security import known_keys
from gatepost.http.security.keys import KeyFileError, Keys
from gatepost.instance import journal
from gatepost.instance.journal import UnderWay
from models import moving
from models.engine.connect import open_database
from models.engine.database import Database
from models.migrate import obstacle
from models.moving import CannotMove
from settings import REDACTED, Settings

if TYPE_CHECKING:
    from models.engine.postgres.database import PostgresDatabase

_LOCK_WAIT = 1.0  # seconds
_FAULTS = (CannotMove, KeyFileError, MigrationError, UnderWay)


@click.command()
@click.option("--to", "url", metavar="URL", help="The empty database, such as postgresql://gatepost@db/gatepost.")
@click.option("--leave-unknown", is_flag=True,
              help="Leave the rows of plugins behind that are not installed, instead of ending.")
@click.option("--undo", is_flag=True, help="Let the SQLite database take writes again after a move.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def move(url: str | None, leave_unknown: bool, undo: bool, yes: bool) -> None:
    """Move all rows from SQLite to an empty Postgres database.

    All of them are moved, or none. Ids, versions, passwords, tokens, shares, the audit log with its seals and the
    policy history stay as they are. Sessions end, and unfinished jobs fail. Writes are refused meanwhile, and reads go
    on; afterwards the SQLite database takes no writes any more. Keys, rules and settings stay where they are: change
    database_url yourself.

    Leave the password out of the URL, and let PGPASSWORD or ~/.pgpass say it: others can read what is typed.

    \b
    Example: gatepost move --to postgresql://gatepost@db.example.org/gatepost
    """
    if undo == (url is not None):
        raise click.UsageError("Give either --to URL or --undo.")
    settings = load_settings()
    settle_restore(settings)
    require_instance(settings)
    with _sentences(), journal.alone(settings.instance, _LOCK_WAIT), database_of(settings) as source, sentences(source):
        if source.dialect != "sqlite":
            raise CannotMove("This instance is on Postgres already: database_url says so.")
        if url is None:
            _undo(settings, source, yes=yes)
        else:
            _move(settings, source, url, leave_unknown=leave_unknown, yes=yes)


def _move(settings: Settings, source: Database, url: str, *, leave_unknown: bool, yes: bool) -> None:
    directories = migrations()
    with source.connected():
        # A database that an interrupted move closed can be moved again.
        if source.moved() is None and (reason := obstacle(source, directories)) is not None:
            raise CannotMove(reason)
        keys = Keys.load(settings.secret_file)
        known_keys.check(source, keys)
        tenant = find_tenant(settings).id
    with _target(settings, url) as target, sentences(target):
        moving.prepare(source, target, directories)
        if not yes:
            click.confirm("Writes are refused while the rows are moved, and this database takes none afterwards. "
                          "Go on?", abort=True)
        began = monotonic()
        with progress("Moving") as tell:
            result = moving.move(source, target, sealer(keys), leave_unknown=leave_unknown, progress=tell,
                                 finish=lambda: record(tenant, "instance", "move", None))
        _show(result, monotonic() - began, url)


def _undo(settings: Settings, source: Database, *, yes: bool) -> None:
    with source.connected():
        place = source.moved()
    if place is None:
        raise CannotMove("This instance was not moved.")
    if not yes:
        click.confirm(f"What was written to {place} since the move is not here. Go on?", abort=True)
    moving.reopen(source)
    with source.connected():
        tenant = find_tenant(settings).id
        source.transact(lambda: record(tenant, "instance", "undo_move", None))
    echo("The SQLite database takes writes again.")


def _show(result: moving.Done, seconds: float, url: str) -> None:
    echo(f"Moved: {sum(result.rows.values())} rows in {len(result.rows)} tables to {result.place} ({seconds:.1f} s)")
    for table, number in sorted(result.rows.items(), key=lambda each: (-each[1], each[0])):
        if number:
            echo(f"  {number:10} {table}")
    echo(f"Compared: the rows of each table are as many, and the audit log has the same {result.seals} seals.")
    echo(f"{result.sessions} sessions have ended: users log in again, since a refresh token would be good once in each "
         "database.")
    if result.jobs:
        echo(f"{result.jobs} unfinished jobs have failed, since a worker may have begun them here. "
             "To try one again: gatepost jobs retry ID")
    for table, why in moving.STAYS.items():
        echo(f"Not moved: {table} ({why})")
    for table in result.left:
        echo(f"Not moved: {table} (its plugin is not installed)", err=True)
    echo("This database takes no writes any more. Put this into settings.toml, or where else database_url is set, and "
         "start Gatepost again:")
    redacted = without_password(url)
    echo(f'database_url = "{redacted}"')
    if REDACTED in redacted:
        echo("with the password, which is not printed.")


@contextmanager
def _target(settings: Settings, url: str) -> Iterator[PostgresDatabase]:
    if not url.startswith(("postgresql://", "postgres://")):
        raise CannotMove("--to is no URL of Postgres: it begins with postgresql://")
    try:
        target = open_database(url, pool_size=2, statement_timeout=settings.statement_timeout)
    except ValueError:
        # The driver's message quotes the URL, which may hold a password.
        raise CannotMove("--to cannot be read as a URL of Postgres.") from None
    try:
        yield cast("PostgresDatabase", target)
    finally:
        target.close_all()


@contextmanager
def _sentences() -> Iterator[None]:
    """Raises ClickException for the errors of a move."""
    try:
        yield
    except _FAULTS as error:
        raise click.ClickException(str(error)) from error
