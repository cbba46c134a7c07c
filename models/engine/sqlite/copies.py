"""Copies of a whole SQLite database: makes one while others write, and replaces a database that others use."""

from __future__ import annotations

import fcntl
import os
import shutil
from contextlib import suppress
from pathlib import Path

import apsw

from models.engine.errors import InUse
from models.engine.sqlite.pair import SUFFIX, Pair, freshen
from system.files import new_file, sync

SIDE_FILES = ("-wal", "-shm", SUFFIX)
# The byte of the -shm file that each process with an open connection locks (sqlite.org/walformat.html).
_IN_USE = 128


def copy(source: apsw.Connection, target: str) -> None:
    """Writes the content that a connection sees to the new file `target`, readable only by its owner.

    Raises FileExistsError, and what apsw raises.
    """
    new_file(target).close()
    fresh = apsw.Connection(target)
    try:
        # One step reads one snapshot, and in WAL mode keeps no writer waiting.
        with fresh.backup("main", source, "main") as progress:
            progress.step(-1)
        freshen(fresh)
    finally:
        fresh.close()


def freshened(staged: Path) -> int:
    """Gives an unused file a new token, and returns it (`Pair.adopting`). Raises what apsw raises."""
    conn = apsw.Connection(str(staged), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        return freshen(conn)
    finally:
        conn.close()


def take_over(file: Path, pair: Pair, staged: Path, aside: Path, *, keep: bool) -> None:
    """Replaces the content of a database by that of `staged`. The caller has the turn to write.

    Moves unreadable files into the folder `aside`; with `keep`, always copies them there. Raises `InUse`, and what apsw
    raises.
    """
    try:
        if not file.exists():
            raise apsw.CantOpenError
        if keep:
            _keep(file, aside)
        with pair.adopting(freshened(staged)):
            overwrite(file, staged)
    except (apsw.CorruptError, apsw.NotADBError, apsw.CantOpenError, apsw.ReadOnlyError):
        exchange(file, staged, aside)


def overwrite(file: Path, staged: Path) -> None:
    """Replaces the content of a database that others may use by that of `staged`. The caller has the turn to write.

    Readers finish what they have begun to read, and then see the new content. Raises what apsw raises; then nothing has
    changed.
    """
    # A connection does not see a change that it has made this way, so these two are closed again.
    live, fresh = apsw.Connection(str(file)), apsw.Connection(str(staged), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        with live.backup("main", fresh, "main") as progress:
            progress.step(-1)
        live.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
    finally:
        live.close()
        fresh.close()


def _keep(file: Path, aside: Path) -> None:
    """Copies the files of a database unchanged into the folder `aside`."""
    aside.mkdir(mode=0o700, exist_ok=True)
    for suffix in ("", "-wal", SUFFIX):
        with suppress(FileNotFoundError):
            shutil.copy2(f"{file}{suffix}", aside)


def exchange(file: Path, staged: Path, aside: Path) -> None:
    """Moves `staged` to the path of a database that is unreadable or missing. Moves its files into the folder `aside`.

    Raises `InUse` while another process has it open: that process would go on with its log, and delete the new one.
    """
    if _is_open(file):
        raise InUse("the database cannot be read, and a process has it open: stop Gatepost first")
    for suffix in ("", *SIDE_FILES):
        place = Path(f"{file}{suffix}")
        if place.exists():
            aside.mkdir(mode=0o700, exist_ok=True)
            place.rename(aside / place.name)
    staged.rename(file)
    sync(file.parent)


def _is_open(file: Path) -> bool:
    try:
        descriptor = os.open(f"{file}-shm", os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _IN_USE)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False
