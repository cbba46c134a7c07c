"""`gatepost migrate`: brings the database's schema up to this version."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable

import click
from playhouse.migrations import MigrationError

from gatepost.commands import policy_files
from gatepost.commands.context import load_settings, migrations, registry, show_path
from gatepost.commands.instance import database_of, lacking, require_instance, settle_restore
from gatepost.commands.printing import echo, echo_lines, progress
from gatepost.features import CannotSave, Features, Installation, Saved
from gatepost.http.auditing.writer import sealer
from gatepost.http.security.keys import KeyFileError, Keys
from models.engine.errors import RowError
from models.migrate import pending, rolling, upgrade

_ROLLING = "nodes of an older version may go on serving"
_STRICT = "stop every node of an older version first"


@click.command()
@click.option("--check", is_flag=True,
              help="Change nothing. Exit with 1 if a migration is missing, a rule is no longer accepted, or a table "
                   "lacks a column.")
@click.option("--leave-unproved", is_flag=True,
              help="Continue even if batches of the audit log differ from their seals, or their key was forgotten.")
def migrate(check: bool, leave_unproved: bool) -> None:
    """Bring the database up to date, after a backup.

    It also names the permissions that are new, and changes no rule.

    \b
    Example: gatepost migrate --check
    """
    settings = load_settings()
    settle_restore(settings)
    require_instance(settings)
    saved: list[Saved] = []
    with database_of(settings) as database:
        served = registry()
        installation, features = Installation(load_settings(served.settings), database), served.features
        try:
            if check:
                waiting = pending(database, migrations())
                beside = rolling(waiting, migrations())
                lines = [f"{name}: {_ROLLING if name in beside else _STRICT}" for name in waiting]
                lines += [*policy_files.outdated(installation), *features.outdated(installation)]
                lines += [] if waiting else filter(None, [lacking(database)])
                echo_lines("\n".join(lines) or "Nothing to do.")
                for sentence in features.news(installation):
                    echo(sentence)
                sys.exit(bool(lines))
            keys = Keys.load(settings.secret_file)
            with progress("Indexing words") as report:
                applied = upgrade(database, migrations(), before=lambda: _save(features, installation, saved),
                                  sealer=sealer(keys, lenient=leave_unproved), report=report)
            removed = [file for backup in saved for file in backup.tidy()]
            refused = [*policy_files.outdated(installation), *features.outdated(installation)]
            missing = lacking(database)
        except RowError as error:
            raise click.ClickException(f"{type(error).__name__}: {error}{_backup_lines(saved)}") from error
        except (MigrationError, KeyFileError, CannotSave) as error:
            raise click.ClickException(f"{error}{_backup_lines(saved)}") from error
    for backup in saved:
        echo(f"Backup: {show_path(backup.place)}")
    for file in removed:
        echo(f"Removed an older backup: {show_path(file)}")
    echo_lines("\n".join(f"Applied {name}" for name in applied) or "Nothing to do.")
    if refused:
        echo_lines("\n".join(refused))
    for sentence in features.news(installation):
        echo(sentence)
    if missing is not None:
        raise click.ClickException(missing)


def _backup_lines(saved: Iterable[Saved]) -> str:
    """Returns lines that name the backups made before the failed migration."""
    return "".join(f"\nA backup of before: {show_path(backup.place)}" for backup in saved)


def _save(features: Features, installation: Installation, saved: list[Saved]) -> None:
    """Makes a backup before the migrations; prints a warning instead if pg_dump is missing."""
    if installation.database.dialect == "postgres" and shutil.which("pg_dump") is None:
        echo("No backup is made, because pg_dump is not installed here.", err=True)
        return
    for backup in features.save(installation, "before-migration"):
        saved.append(backup)
