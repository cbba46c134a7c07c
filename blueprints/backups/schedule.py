"""Scheduled backups: a background task starts a process for each backup that is due.

The process is `gatepost backup --scheduled`. It makes the backup, proves it, passes it to the operator's command and
removes old backups. It stores errors for health and for the operator.
"""

from __future__ import annotations

import logging
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from gatepost.http.operations.background import BackgroundTask
from models.engine.database import Database
from models.engine.errors import RowError
from models.tables import backup as backups
from settings import LiveSettings, Settings

from . import retention
from .archive import BadArchive
from .encryption import CannotEncrypt
from .proof import AppFactory, prove
from .taking import CannotBackUp, free_place, take

if TYPE_CHECKING:
    from gatepost.http.request.call import Services

LONGEST = 3600.0  # seconds that the operator's command may run
_LOUDEST = 500  # stored characters of its output
_FAULTS = (BadArchive, CannotBackUp, CannotEncrypt, RowError, OSError)
_log = logging.getLogger("gatepost.backup")


def tasks(services: Services) -> Iterator[BackgroundTask]:
    """Yields the background task that starts backups."""
    yield BackgroundTask("making backups", 5, Schedule(services.live, services.database).look)


class Schedule:
    """Starts a process for each due backup. If several processes of an instance do so, only one makes the backup."""

    def __init__(self, live: LiveSettings, database: Database) -> None:
        self._live, self._database = live, database
        self._process: subprocess.Popen[bytes] | None = None
        self._start = 0.0

    def look(self) -> None:
        """Starts a backup if one is due. Raises `RowError`, OSError."""
        settings = self._live.current
        if not settings.backup_hours or self._runs():
            return
        with self._database.connected():
            if not backups.is_due(settings.backup_hours):
                return
        self._start = monotonic()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "gatepost", "backup", "--scheduled"], env=settings.environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with suppress(OSError):  # a sandbox may refuse it
            # Lower priority than requests.
            os.setpriority(os.PRIO_PROCESS, self._process.pid, 10)

    def _runs(self) -> bool:
        if self._process is None:
            return False
        if self._process.poll() is None:
            if monotonic() - self._start > backups.LONGEST:
                self._process.kill()
            return True
        code, self._process = self._process.returncode, None
        with self._database.connected():
            error = backups.ages().error
        if error is not None or code != 0:
            _log.error("the scheduled backup failed: %s", error or f"its process ended with {code}")
        return False


def make_scheduled(create_app: AppFactory, settings: Settings, database: Database,
                   migrations: Mapping[str, Path]) -> None:
    """Makes the scheduled backup, unless none is due or another process makes it.

    Raises the errors of `take`, `RowError`.
    """
    id = database.transact(lambda: backups.begin(settings.backup_hours))
    if id is None:
        return
    faults: list[str] = []

    def inspect(archive: Path) -> None:
        if settings.backup_prove:
            faults.extend(_proof_fault(create_app, settings, database, migrations, archive))

    try:
        result = take(settings, database, free_place(settings.backups, retention.SCHEDULED), inspect=inspect)
    except _FAULTS as error:
        _note_error(database, id, f"no backup was made: {error}")
        raise
    database.transact(lambda: backups.note_made(id, str(result.place), result.digest, result.bytes, result.seconds))
    if settings.backup_prove and not faults:
        database.transact(lambda: backups.note_proof(result.digest))
    faults += _sending_fault(settings, result.place)
    if faults:
        _note_error(database, id, "; ".join(faults))
    retention.remove_old(settings.backups)


def _proof_fault(create_app: AppFactory, settings: Settings, database: Database, migrations: Mapping[str, Path],
                 archive: Path) -> list[str]:
    """Proves a backup. Returns a list with the error, or []."""
    try:
        prove(create_app, settings, database, migrations, archive)
    except _FAULTS as error:
        return [f"the backup is not proved: {error}"]
    return []


def _sending_fault(settings: Settings, place: Path) -> list[str]:
    """Runs the operator's command on a backup. Returns a list with the error, or []."""
    if not settings.backup_command:
        return []
    try:
        process = subprocess.run([*shlex.split(settings.backup_command), str(place)], stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=LONGEST, check=False)
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        return [f"backup_command failed: {error}"]
    if process.returncode == 0:
        return []
    output = process.stdout.decode(errors="replace").strip()[-_LOUDEST:]
    return [f"backup_command ended with {process.returncode}{output and f': {output}'}"]


def _note_error(database: Database, id: str, error: str) -> None:
    """Stores an error. The service that started this process reads it there and logs it."""
    database.transact(lambda: backups.note_error(id, error[:2 * _LOUDEST]))
