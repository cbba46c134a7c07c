"""`gatepost compact`: frees unused space of the database and rebuilds indexes of words that have lost rows."""

from __future__ import annotations

import shutil
from pathlib import Path
from time import monotonic

import click

from gatepost.collections.plugins.discovery import discover
from gatepost.commands.instance import open_instance
from gatepost.commands.printing import echo
from models.engine.database import Database
from models.records.search import has_lost_words, index_anew, merge
from models.tables.sizes import measure

WORTH = 0.05  # share of free space from which the file is rewritten


@click.command()
@click.option("--yes", is_flag=True, help="Do not ask.")
def compact(yes: bool) -> None:
    """Free the space of deleted rows, and repair indexes of words.

    On SQLite it rewrites the file if at least 5 % of it is free. That takes about a second for each 100 MiB, and needs
    free space of twice the file's size. Writers wait; after five seconds they are refused with 503. Reads go on. On
    Postgres it runs VACUUM (ANALYZE), which blocks nobody; run VACUUM FULL yourself.

    \\b
    Example: gatepost compact --yes
    """
    with open_instance() as instance:
        database = instance.database
        before = measure(database)
        _mend_words(database)
        if database.dialect == "postgres":
            database.compact()
        elif database.spare() < WORTH * before.database:
            echo(f"{_mebibytes(database.spare())} of {_mebibytes(before.database)} are free: the file stays as it is.")
        else:
            _rewrite(database, before.database, yes=yes)
        if before.files and shutil.disk_usage(Path(str(database.database)).parent).free > 2 * before.files:
            database.files.compact()
        after = measure(database)
    echo(f"Database: {_mebibytes(before.database)} before, {_mebibytes(after.database)} now.")
    if before.files and after.files is not None:
        echo(f"Files of exports: {_mebibytes(before.files)} before, {_mebibytes(after.files)} now.")
    if before.log is not None and after.log is not None:
        echo(f"Its log: {_mebibytes(before.log)} before, {_mebibytes(after.log)} now.")


def _mend_words(database: Database) -> None:
    for collection in discover().collections.values():
        if collection.search:
            if has_lost_words(database, collection.model):
                index_anew(database, collection.model)
                echo(f"Searches did not find all {collection.name}: their words are indexed again.")
            merge(database, collection.model)


def _rewrite(database: Database, size: int, *, yes: bool) -> None:
    free = shutil.disk_usage(Path(str(database.database)).parent).free
    if free < 2 * size:
        raise click.ClickException(f"{_mebibytes(free)} are free on the disk, and {_mebibytes(2 * size)} are needed.")
    if not yes:
        click.confirm(f"{_mebibytes(database.spare())} can be given back. Writers wait meanwhile. Go on?", abort=True)
    began = monotonic()
    database.compact()
    echo(f"Writers waited for {monotonic() - began:.1f} s.")


def _mebibytes(size: float) -> str:
    return f"{size / 2**20:.1f} MiB"
