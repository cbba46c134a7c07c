"""`gatepost migrate`: the database as this version needs it."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

import click
from playhouse.migrations import MigrationError

from blueprints.backups import retention
from blueprints.backups.encryption import CannotEncrypt
from blueprints.backups.taking import CannotBackUp, free_place, take
from blueprints.policy.commands.folders import outdated_lines
from blueprints.policy_changes.commands.adopt import news
from gatepost.commands.context import load_settings, migrations, show_path
from gatepost.commands.instance import database_of, lacking, require_instance, settle_restore
from gatepost.commands.printing import echo, echo_lines, progress
from gatepost.http.auditing.trail import sealer
from gatepost.http.security.keys import KeyFileError, Keys
from models.engine.database import Database
from models.engine.errors import RowError
from models.migrate import pending, rolling, upgrade
from policies.loading.outdated import UNTIL_CHANGED
from settings import Settings

_ROLLING = "nodes of an older version may go on serving"
_STRICT = "stop every node of an older version first"
_OUTDATED = f"These lines of the policy are no longer accepted. Change them; until then {UNTIL_CHANGED}:"


@click.command()
@click.option("--check", is_flag=True,
              help="Change nothing; exit with 1 when there is something to do, a rule is no longer accepted, or a "
                   "table lacks a column.")
@click.option("--leave-unproved", is_flag=True,
              help="Go on though batches of the audit trail are not what was sealed, or their key was forgotten.")
def migrate(check: bool, leave_unproved: bool) -> None:
    """Bring the database up to date, after a backup.

    It also names the permissions that are new, and changes no rule.

    \b
    Example: gatepost migrate --check
    """
    settings = load_settings()
    settle_restore(settings)
    require_instance(settings)
    saved: list[Path] = []
    with database_of(settings) as database:
        try:
            if check:
                waiting = pending(database, migrations())
                beside = rolling(waiting, migrations())
                outdated = [str(finding) for finding in outdated_lines(database)]
                said = [f"{name}: {_ROLLING if name in beside else _STRICT}" for name in waiting]
                said += [_OUTDATED, *outdated] if outdated else []
                said += [] if waiting else filter(None, [lacking(database)])
                echo_lines("\n".join(said) or "Nothing to do.")
                sys.exit(bool(said))
            keys = Keys.load(settings.secret_file)
            with progress("Indexing words") as report:
                applied = upgrade(database, migrations(), before=lambda: saved.extend(_save(settings, database)),
                                  sealer=sealer(keys, lenient=leave_unproved), report=report)
            removed = retention.remove_old(settings.backups) if saved else []
            refused, missing = outdated_lines(database), lacking(database)
        except RowError as error:
            raise click.ClickException(f"{type(error).__name__}: {error}{_kept(saved)}") from error
        except (MigrationError, KeyFileError, CannotBackUp, CannotEncrypt) as error:
            raise click.ClickException(f"{error}{_kept(saved)}") from error
    for file in saved:
        echo(f"Backup: {show_path(file)}")
    for file in removed:
        echo(f"Removed an older backup: {show_path(file)}")
    echo_lines("\n".join(f"Applied {name}" for name in applied) or "Nothing to do.")
    if refused:
        echo_lines("\n".join((_OUTDATED, *map(str, refused))))
    for sentence in news():
        echo(sentence)
    if missing is not None:
        raise click.ClickException(missing)


def _kept(saved: Iterable[Path]) -> str:
    """Where the database is as it was before what failed: migrations that came first are applied."""
    return "".join(f"\nA backup of before: {show_path(file)}" for file in saved)


def _save(settings: Settings, database: Database) -> list[Path]:
    """A backup of what is about to be migrated; none where a server's own programs are not at hand to make it."""
    if database.dialect == "postgres" and shutil.which("pg_dump") is None:
        echo("No backup is made, because pg_dump is not installed here.", err=True)
        return []
    return [take(settings, database, free_place(settings.backups, retention.BEFORE_MIGRATION), probing=False).place]
