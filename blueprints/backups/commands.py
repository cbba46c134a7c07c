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
@click.option("--scheduled", is_flag=True, hidden=True, help="As the service does by itself, where one is due.")
@click.option("--requested", metavar="ID", hidden=True, help="As the service does for a request, which has this row.")
@click.pass_obj
def backup(create_app: AppFactory, file: Path | None, scheduled: bool, requested: str | None) -> None:
    """Write the instance to one file, while it serves.

    That is the database, the keys, the policies and the settings. Without FILE it goes to the folder of backups. With
    the setting backup_recipient it is encrypted, and has the suffix .age.

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
        taken = take(instance.settings, instance.database, place.absolute())
        instance.database.transact(lambda: _note(instance, taken))
    echo(f"Backup: {show_path(taken.place)} ({_mebibytes(taken.bytes)}, {taken.seconds:.1f} s)")
    if taken.waits is not None:
        echo(f"A writer waited {taken.waits * 1000:.0f} ms at most meanwhile.")
    if taken.log is not None:
        echo(f"The log of the database grew from {_mebibytes(taken.log[0])} to {_mebibytes(taken.log[1])}.")
    if not instance.settings.backup_recipient:
        echo(_IN_THE_CLEAR, mark=click.style("! ", fg="yellow", bold=True))
    echo(f"Prove it: gatepost restore --verify {show_path(taken.place)}")


@click.command("restore")
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False, readable=True))
@click.option("--verify", is_flag=True, help="Change nothing: restore it in a scratch place, start that, and log in.")
@click.option("--replace", is_flag=True, help="Put it in the place of the instance that is there.")
@click.option("--only-keys", is_flag=True,
              help="Put the key file alone in its place, where it is lost, damaged or that of another database.")
@click.option("--identity", type=click.Path(path_type=Path, exists=True, dir_okay=False), metavar="F",
              help="The file of an age or SSH key that can read an encrypted backup.")
@click.option("--keep-tokens", is_flag=True, help="Let service tokens act at once, without `gatepost token release`.")
@click.option("--erasures", type=click.Path(path_type=Path, exists=True, dir_okay=False), metavar="F",
              help="A list of `gatepost user erasures`: whom it names is erased in what is restored.")
@click.option("--resume-jobs", is_flag=True, help="Run the jobs that were unfinished.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--name", metavar="NAME",
              help="The name of the folder of the instance, which a backup of another instance is to replace.")
@click.pass_obj
def restore_(create_app: AppFactory, file: Path, verify: bool, replace: bool, only_keys: bool, identity: Path | None,
             keep_tokens: bool, erasures: Path | None, resume_jobs: bool, yes: bool, name: str | None) -> None:
    """Make an instance of a backup, or prove that it can be done.

    All sessions end, and service tokens are held. With --replace what is there goes, but not before it is in a backup
    of its own; SQLite may be served meanwhile, Postgres must not be. Who was erased in it since that backup is erased
    in what is restored, too.

    With --only-keys, rows, rules and settings stay as they are, and running servers follow.

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
                echo(f"What was there before, to be removed when nobody needs it: {show_path(aside)}")
            return
        if verify:
            proved = prove(create_app, settings, database, migrations(), file.absolute(), identity)
            _note_proof(settings, database, file)
            _show_proof(file, proved)
            return
        settle_restore(settings)
        if holds_instance(settings, database):
            if not replace:
                raise CannotRestore(f"There is an instance in {settings.instance} or its database. --replace puts the "
                                    "backup in its place.")
            if not yes:
                click.confirm(f"What was written to {settings.instance} since that backup will be gone. Go on?",
                              abort=True)
        known = None if erasures is None else read(erasures)
        choices = Choices(keep_tokens, resume_jobs, known)
        done = restore(settings, database, registry(whole=True), file.absolute(), choices, identity,
                       lambda: _ask_for_name(settings, name, yes=yes))
        _show(settings, done, held=not keep_tokens and _tokens_held(settings))


def _ask_for_name(settings: Settings, name: str | None, *, yes: bool) -> None:
    """Raises CannotRestore unless the operator types the name of the instance that another one's backup replaces."""
    expected = settings.instance.resolve().name
    text = f"The backup is one of another instance than {settings.instance}."
    if name is None and not yes:
        name = click.prompt(f"{text} To replace that, type the name of its folder")
    if name != expected:
        raise CannotRestore(f"{text} To replace that, name its folder: --name {shlex.quote(expected)}")


def _show(settings: Settings, done: Restored, *, held: int) -> None:
    echo(f"Restored: {settings.instance}, as it was at {done.found.manifest.made_at}")
    echo_lines("\n".join(f"Applied {name}" for name in done.found.applied) or "No migration was missing.")
    for remark in done.found.remarks:
        echo(f"The audit trail in the backup is not whole: {remark}", err=True)
    _show_commands(done.found)
    echo("All sessions have ended: users log in again.")
    if held:
        echo(f"{held} service tokens are held, since some may have been revoked after the backup. "
             "gatepost token release lets them act again.")
    if done.erased is None:
        echo("Who was erased since that backup is not known here, and is back. Name a list of `gatepost user erasures` "
             "by --erasures, or erase them again.", err=True)
    elif done.erased:
        echo(f"{done.erased} persons who were erased since that backup are erased again.")
    if done.saved is not None:
        echo(f"What was there before: {show_path(done.saved)}")
    if done.aside is not None:
        echo(f"Files of before, to be removed when nobody needs them: {show_path(done.aside)}")


def _show_proof(file: Path, proved: Staged) -> None:
    rows = proved.manifest.contents.rows
    echo(f"Proved: {show_path(file)}, taken at {proved.manifest.made_at} by Gatepost {proved.manifest.version}")
    echo(f"{sum(rows.values())} rows in {len(rows)} tables are there, and the audit trail is whole.")
    if proved.applied:
        echo(f"{len(proved.applied)} migrations were missing, and could be applied.")
    _show_commands(proved)
    echo("The service started from it, and answered a login and the list of each collection.")


def _show_commands(backup: Staged) -> None:
    for command in backup.commands:
        echo(f"Its settings run a command: {command}", mark=click.style("! ", fg="yellow", bold=True))


def _tokens_held(settings: Settings) -> int:
    with database_of(settings) as database, database.connected():
        return ServiceToken.held()


def _note(instance: Instance, taken: Taken) -> None:
    record(instance.tenant().id, "instance", "backup", note(taken))


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
        echo(f"The proof was not written down: {error}", err=True)


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
