"""`gatepost backup` and `gatepost restore`."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from playhouse.migrations import MigrationError

from blueprints.backups import retention
from blueprints.backups.archive import BadArchive, digest_of
from blueprints.backups.encryption import CannotEncrypt
from blueprints.backups.only_keys import restore_keys
from blueprints.backups.proof import prove
from blueprints.backups.restoring import CannotRestore, Choices, Restored, holds_instance, restore
from blueprints.backups.schedule import make_begun, make_scheduled
from blueprints.backups.staging import Staged
from blueprints.backups.taking import CannotBackUp, Taken, free_place, note, take
from gatepost.collections.repeating import BadList, read
from gatepost.commands.context import load_settings, migrations, registry, show_path
from gatepost.commands.instance import (
    AppFactory,
    Instance,
    database_of,
    is_in_use,
    open_instance,
    record,
    sentences,
    settle_restore,
)
from gatepost.commands.printing import echo, echo_lines
from gatepost.http.security.keys import KeyFileError
from gatepost.instance.journal import UnderWay
from models.engine.database import Database
from models.engine.errors import RowError
from models.tables import backup as backups
from models.tables.service_token import ServiceToken
from settings import Settings

_IN_THE_CLEAR = ("It holds the keys, and is not encrypted: who can read it can act as any user. Keep it as you keep "
                 "secret.key, or set backup_recipient.")
_FAULTS = (BadArchive, BadList, CannotBackUp, CannotEncrypt, CannotRestore, KeyFileError, MigrationError, RowError,
           UnderWay)


@click.command("backup")
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option("--scheduled", is_flag=True, hidden=True, help="Make the scheduled backup, if one is due.")
@click.option("--requested", metavar="ID", hidden=True, help="Make the backup that a request has begun.")
@click.pass_obj
def backup(create_app: AppFactory, file: Path | None, scheduled: bool, requested: str | None) -> None:
    """Write the instance to one file while the service runs.

    The file has the database, the keys, the policies and the settings. Without FILE it is written to the folder of
    backups. With the setting backup_recipient it is encrypted, and its name ends in .age.

    \b
    Example: gatepost backup /srv/backups/today.tar.gz
    """
    with open_instance() as instance, _sentences():
        if scheduled:
            make_scheduled(create_app, instance.settings, instance.database, migrations())
            return
        if requested is not None:
            make_begun(create_app, instance.settings, instance.database, migrations(), requested)
            return
        place = file or free_place(instance.settings.backups, retention.SCHEDULED)
        result = take(instance.settings, instance.database, place.absolute())
        instance.database.transact(lambda: _note(instance, result))
    echo(f"Backup: {show_path(result.place)} ({_mebibytes(result.bytes)}, {result.seconds:.1f} s)")
    if result.waits is not None:
        echo(f"A writer waited {result.waits * 1000:.0f} ms at most meanwhile.")
    if result.log is not None:
        echo(f"The log of the database grew from {_mebibytes(result.log[0])} to {_mebibytes(result.log[1])}.")
    if not instance.settings.backup_recipient:
        echo(_IN_THE_CLEAR, mark=click.style("! ", fg="yellow", bold=True))
    echo(f"Prove it: gatepost restore --verify {show_path(result.place)}")


@click.command("restore")
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False, readable=True))
@click.option("--verify", is_flag=True,
              help="Change nothing: restore into a temporary folder, start the service there, and log in.")
@click.option("--replace", is_flag=True, help="Replace the existing instance.")
@click.option("--only-keys", is_flag=True,
              help="Restore only the key file, if it is lost, damaged or of another database.")
@click.option("--identity", type=click.Path(path_type=Path, exists=True, dir_okay=False), metavar="F",
              help="File of the age or SSH key that can decrypt the backup.")
@click.option("--keep-tokens", is_flag=True, help="Do not suspend service tokens.")
@click.option("--erasures", type=click.Path(path_type=Path, exists=True, dir_okay=False), metavar="F",
              help="List from `gatepost user erasures`. These users are erased in the restored rows.")
@click.option("--resume-jobs", is_flag=True, help="Run unfinished jobs of the backup.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--name", metavar="NAME",
              help="Folder name of the instance, to confirm that a backup of another instance replaces it.")
@click.pass_obj
def restore_(create_app: AppFactory, file: Path, verify: bool, replace: bool, only_keys: bool, identity: Path | None,
             keep_tokens: bool, erasures: Path | None, resume_jobs: bool, yes: bool, name: str | None) -> None:
    """Restore an instance from a backup, or verify the backup.

    All sessions end, and service tokens are suspended. --replace first makes a backup of the existing instance, and
    then replaces it; the service may run meanwhile on SQLite, but not on Postgres. Users who were erased since that
    backup are erased in the restored rows as well.

    With --only-keys, rows, rules and settings stay as they are, and running servers read the restored keys.

    \b
    Example: gatepost restore --verify /srv/backups/today.tar.gz
    """
    if only_keys and (verify or replace or keep_tokens or erasures or resume_jobs):
        raise click.UsageError("--only-keys goes with --identity alone: it restores neither rows nor rules.")
    settings = load_settings()
    with database_of(settings) as database, sentences(database), _sentences():
        if only_keys:
            settle_restore(settings)
            if not is_in_use(settings):
                raise CannotRestore("There is no database that the keys belong to. Without --only-keys, the whole "
                                    "instance is restored.")
            aside = restore_keys(settings, database, file.absolute(), identity)
            echo(f"Restored: {settings.secret_file}")
            if aside is not None:
                echo(f"The replaced file, to be removed when nobody needs it: {show_path(aside)}")
            return
        if verify:
            staged = prove(create_app, settings, database, migrations(), file.absolute(), identity)
            _note_proof(settings, database, file)
            _show_proof(file, staged)
            return
        settle_restore(settings)
        if holds_instance(settings, database):
            if not replace:
                raise CannotRestore(f"There is an instance in {settings.instance} or its database. --replace puts the "
                                    "backup in its place.")
            if not yes:
                click.confirm(f"What was written to {settings.instance} since that backup will be gone. Go on?",
                              abort=True)
        erasures_of_list = None if erasures is None else read(erasures)
        choices = Choices(keep_tokens, resume_jobs, erasures_of_list)
        result = restore(settings, database, registry(whole=True), file.absolute(), choices, identity,
                         lambda: _ask_for_name(settings, name, yes=yes))
        _show(settings, result, suspended=not keep_tokens and _suspended_tokens(settings))


def _ask_for_name(settings: Settings, name: str | None, *, yes: bool) -> None:
    """Raises CannotRestore unless the operator types the name of the instance that another one's backup replaces."""
    expected = settings.instance.resolve().name
    text = f"The backup is one of another instance than {settings.instance}."
    if name is None and not yes:
        name = click.prompt(f"{text} To replace that, type the name of its folder")
    if name != expected:
        raise CannotRestore(f"{text} To replace that, name its folder: --name {shlex.quote(expected)}")


def _show(settings: Settings, result: Restored, *, suspended: int) -> None:
    echo(f"Restored: {settings.instance}, as it was at {result.found.manifest.made_at}")
    echo_lines("\n".join(f"Applied {name}" for name in result.found.applied) or "No migration was missing.")
    for remark in result.found.remarks:
        echo(f"The audit log in the backup is not complete: {remark}", err=True)
    _show_commands(result.found)
    echo("All sessions have ended: users log in again.")
    if suspended:
        echo(f"{suspended} service tokens are suspended, because some may have been revoked after the backup. "
             "Re-enable them: gatepost token release")
    if result.erased is None:
        echo("Erasures since that backup are not known here, so erased users are back. Restore with --erasures and a "
             "list from `gatepost user erasures`, or erase them again.", err=True)
    elif result.erased:
        echo(f"{result.erased} users who were erased since that backup are erased again.")
    if result.saved is not None:
        echo(f"Backup of the replaced instance: {show_path(result.saved)}")
    if result.aside is not None:
        echo(f"Replaced files, to be removed when nobody needs them: {show_path(result.aside)}")


def _show_proof(file: Path, staged: Staged) -> None:
    rows = staged.manifest.contents.rows
    echo(f"Proved: {show_path(file)}, taken at {staged.manifest.made_at} by Gatepost {staged.manifest.version}")
    echo(f"The backup has {sum(rows.values())} rows in {len(rows)} tables, and a complete audit log.")
    if staged.applied:
        echo(f"{len(staged.applied)} migrations were missing, and could be applied.")
    _show_commands(staged)
    echo("The service started from it, and answered a login and the list of each collection.")


def _show_commands(backup: Staged) -> None:
    for command in backup.commands:
        echo(f"Its settings run a command: {command}", mark=click.style("! ", fg="yellow", bold=True))


def _suspended_tokens(settings: Settings) -> int:
    with database_of(settings) as database, database.connected():
        return ServiceToken.held()


def _note(instance: Instance, result: Taken) -> None:
    record(instance.tenant().id, "instance", "backup", note(result))


def _note_proof(settings: Settings, database: Database, file: Path) -> None:
    """Stores the proof if this instance has made the backup."""
    if not settings.secret_file.exists():
        return
    digest = digest_of(file)
    try:
        with database.connected():
            if database.table_exists("backups"):
                database.transact(lambda: backups.note_proof(digest))
    except RowError as error:
        echo(f"The proof could not be recorded: {error}", err=True)


@contextmanager
def _sentences() -> Iterator[None]:
    """Raises ClickException for the errors of a backup or restore, and for those of files."""
    try:
        yield
    except _FAULTS as error:
        text = f"{type(error).__name__}: {error}" if isinstance(error, RowError) else str(error)
        raise click.ClickException(text) from error
    except OSError as error:
        raise click.ClickException(f"{error.filename or 'A file'}: {error.strerror or error}") from error


def _mebibytes(size: int) -> str:
    return f"{size / 2**20:.1f} MiB"
