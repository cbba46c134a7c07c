"""Restore of a backup: everything is prepared in a folder, and then replaces the instance.

The replaced instance is not lost. Its rows are in a new backup, or, if they cannot be read, in files that are moved
aside. Its keys and policies are moved aside, too.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from gatepost.collections.registry import Registry
from gatepost.collections.repeating import repeat
from gatepost.http.security.keys import KeyFileError, Keys, fingerprints
from gatepost.instance import journal
from gatepost.instance.journal import Journal
from models.engine.database import Database
from models.engine.errors import RowError
from models.tables import backup as backups
from models.tables import erasure
from models.tables.audit import add
from models.tables.erasure import Erasure
from models.tables.restored import end_what_was_under_way, new_epoch
from models.tables.tenant import Tenant
from settings import Settings

from . import retention
from .archive import KEYS, digest_of
from .staging import Staged, staged
from .taking import free_place, take

LOCK_WAIT = 1.0  # seconds


class CannotRestore(Exception):
    """Error of a restore that has changed nothing. The message is a sentence."""


@dataclass(frozen=True)
class Restored:
    """The result of a restore.

    found   the restored backup
    saved   the backup of the replaced instance; None if there was none, or if it could not be read
    aside   the folder with the replaced files; None if there were none
    erased  number of users who were erased again; None if the erasures since the backup are unknown
    """

    found: Staged
    saved: Path | None
    aside: Path | None
    erased: int | None


@dataclass(frozen=True)
class Choices:
    """Options of a restore.

    keep_tokens  service tokens are not suspended
    resume_jobs  unfinished jobs are run
    erasures     erasures of users, besides those of the replaced instance; None: not known
    """

    keep_tokens: bool = False
    resume_jobs: bool = False
    erasures: Sequence[Erasure] | None = None


def holds_instance(settings: Settings, database: Database) -> bool:
    """True if the folder or the database has something that a restore would replace."""
    if settings.secret_file.exists() or settings.policies.exists():
        return True
    try:
        return _has_tables(settings, database)
    except RowError:
        return True


def restore(settings: Settings, database: Database, registry: Registry, archive: Path, choices: Choices,
            identity: Path | None = None, ask: Callable[[], None] = lambda: None) -> Restored:
    """Restores a backup to the instance of the settings. Erasures since the backup are repeated before it is served.

    `ask` is called if the backup is of another instance than the one to replace; it may raise. The list of backups is
    kept.

    Raises CannotRestore, UnderWay, and the errors of `staged`; then the instance is unchanged. If the process is
    killed, the next start completes or undoes the restore.
    """
    instance = settings.instance
    fresh = not instance.exists()
    instance.mkdir(mode=0o700, parents=True, exist_ok=True)
    with journal.alone(instance, LOCK_WAIT):
        for leftover in instance.glob(f"{journal.STAGED}*"):
            shutil.rmtree(leftover, ignore_errors=True)
        folder = Path(mkdtemp(prefix=journal.STAGED, dir=instance))
        plan = Journal(new_epoch(), folder.name, free_name(instance), fresh)
        aside = instance / plan.aside
        try:
            with staged(archive, folder, database, registry.migrations, identity) as backup:
                holds = holds_instance(settings, database)
                other = holds and _is_of_another(settings, database, backup)
                if other:
                    ask()
                repeated = _erasures(database, choices) if holds else choices.erasures
                saved = _save(settings, database) if holds else None
                erased = None if repeated is None else repeat(backup.database, registry.collections, repeated)
                # The list of backups of another instance is not kept, because they do not have these rows.
                _keep_backups(backup, archive, [] if other or not holds else _backups(database))
                _begin_epoch(backup.database, settings, plan.epoch, choices)
                journal.write_down(instance, plan)
                database.take_over(backup.database, aside, keep=saved is None)
        finally:
            # After any error, the epoch in the database shows if the rows were replaced.
            journal.end(settings, plan)
    return Restored(backup, saved, aside if aside.is_dir() else None, erased)


def _has_tables(settings: Settings, database: Database) -> bool:
    path = settings.database_url.removeprefix("sqlite:///")
    if path != settings.database_url:
        return Path(path).exists()
    with database.connected():
        return bool(database.get_tables())


def _erasures(database: Database, choices: Choices) -> Sequence[Erasure] | None:
    """Returns the erasures in the replaced instance and in the choices; None if neither is known."""
    try:
        return [*erasure.erasures(database), *(choices.erasures or ())]
    except RowError:
        return choices.erasures


def _is_of_another(settings: Settings, database: Database, backup: Staged) -> bool:
    """True if the backup and the instance have no tenant in common.

    Tenants are compared and not keys, because keys may have been rotated. If the database cannot be read, keys are
    compared.
    """
    try:
        with database.connected():
            ours = {tenant.id for tenant in Tenant.all()}
    except RowError:
        ours = set()
    if ours:
        with backup.database.connected():
            return ours.isdisjoint(tenant.id for tenant in Tenant.all())
    try:
        keys = Keys.load(settings.secret_file)
    except KeyFileError:
        return False
    return set(fingerprints(keys)).isdisjoint(fingerprints(Keys.load(backup.folder / KEYS)))


def _backups(database: Database) -> list[dict[str, Any]]:
    try:
        return backups.known(database)
    except RowError:
        return []


def _keep_backups(backup: Staged, archive: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Copies the list of backups to the restored database, and adds the restored backup."""
    digest, size = digest_of(archive), archive.stat().st_size

    def work() -> None:
        backups.remember(rows)
        backups.remember_file(str(archive), digest, size, backup.manifest.made_at)

    with backup.database.connected():
        backup.database.transact(work)


def _save(settings: Settings, database: Database) -> Path | None:
    """Makes a backup of the present instance; None if its SQLite file cannot be read, which is then moved aside."""
    place = free_place(settings.backups, retention.BEFORE_RESTORE)
    try:
        return take(settings, database, place, probing=False, lenient=True).place
    except RowError as error:
        if database.dialect == "sqlite":
            return None
        raise CannotRestore(f"What is there cannot be backed up first: {error}. A new, empty database can be restored "
                            "into without that.") from error


def free_name(instance: Path) -> str:
    """Returns the name of a new folder for replaced files."""
    while (instance / (name := f"replaced-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}")).exists():
        time.sleep(0.1)
    return name


def _begin_epoch(database: Database, settings: Settings, epoch: str, choices: Choices) -> None:
    def work() -> None:
        end_what_was_under_way(epoch, keep_tokens=choices.keep_tokens, resume_jobs=choices.resume_jobs)
        tenant = Tenant.by_name(settings.default_tenant)
        if tenant is not None:
            add(tenant_id=tenant.id, principal="operator", role="operator", resource="instance", action="restore",
                resource_id=None, result="allowed", reason="command line")

    with database.connected():
        database.transact(work)
