"""Backups that the service makes: a background task starts a process for each one that is due or requested.

The process is `gatepost backup --scheduled` or `--requested ID`. It makes the backup, proves it, passes it to the
operator's command and removes old backups. It stores errors for health and for the operator.
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


def make(services: Services) -> Requested:
    """Returns the object that starts requested backups."""
    return Requested(services.live, services.database)


def tasks(services: Services) -> Iterator[BackgroundTask]:
    """Yields the background tasks that start backups, and that look after the requested one."""
    yield BackgroundTask("making backups", 5, Schedule(services.live, services.database).look)
    yield BackgroundTask("ending requested backups", 5, requested(services).look)


def requested(services: Services) -> Requested:
    """Returns what `make` has made for this app."""
    starter = services.feature("backups")
    assert isinstance(starter, Requested)
    return starter


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
        self._process = _process(settings, "--scheduled")

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


class Requested:
    """Starts a process for each requested backup, at most one at a time."""

    def __init__(self, live: LiveSettings, database: Database) -> None:
        self._live, self._database = live, database
        self._running: tuple[str, subprocess.Popen[bytes], float] | None = None

    def start(self, id: str) -> None:
        """Starts the backup with this row, after its transaction. A failure becomes the error of the row."""
        self.look()
        try:
            self._running = id, _process(self._live.current, "--requested", id), monotonic()
        except OSError as error:
            _log.error("no process for a requested backup: %s", error)
            self._lose(id, f"no backup was made: {error}")

    def look(self) -> None:
        """Stores the error of a process that has ended without a backup. Raises `RowError`."""
        if self._running is None:
            return
        id, process, began = self._running
        if process.poll() is None:
            if monotonic() - began > backups.LONGEST:
                process.kill()
            return
        self._running = None
        if process.returncode:
            _log.error("a requested backup went wrong: its process ended with %d", process.returncode)
            self._lose(id, "no backup was made: its process was ended")

    def _lose(self, id: str, error: str) -> None:
        self._database.transact(lambda: backups.lose(id, error))


def _process(settings: Settings, *options: str) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, "-m", "gatepost", "backup", *options], env=settings.environment,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with suppress(OSError):  # a sandbox may refuse it
        # Lower priority than requests.
        os.setpriority(os.PRIO_PROCESS, process.pid, 10)
    return process


def make_scheduled(create_app: AppFactory, settings: Settings, database: Database,
                   migrations: Mapping[str, Path]) -> None:
    """Makes the scheduled backup, unless none is due or another process makes it.

    Raises the errors of `take`, `RowError`.
    """
    id = database.transact(lambda: backups.begin(settings.backup_hours))
    if id is not None:
        make_begun(create_app, settings, database, migrations, id)


def make_begun(create_app: AppFactory, settings: Settings, database: Database, migrations: Mapping[str, Path],
               id: str) -> None:
    """Makes the backup whose row `begin` has stored. Raises the errors of `take`, `RowError`."""
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
