"""Temporary files of killed processes: the next command, and the next start of a server, remove them.

A process locks (flock) each temporary file and scratch folder while it needs it. What nobody has locked was left. A
temporary file outside of the folders of the instance has a note in the instance, which is locked instead.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex

from gatepost.rules.ledger import WAITING
from models.scratch import SCRATCH
from settings import Settings
from system.files import FRESH, locked_file

from . import journal

NOTE, NOTED = ".gatepost-note-", ".gatepost-noted-"  # the first characters of the names of a note, and of what it names
_LONGEST_PATH = 4096  # bytes


@contextmanager
def noted(instance: Path, folder: Path) -> Iterator[Path]:
    """A path in `folder` at which the block may make a temporary file or folder; a note in the instance names it until
    the block has ended. The block removes what it makes.

    Without a note, because none can be written there, the block runs all the same.
    """
    place = folder.absolute() / f"{NOTED}{token_hex(8)}"
    file = None
    with suppress(OSError):
        note, file = locked_file(instance, NOTE)
        os.write(file.fileno(), os.fsencode(place))
        os.fsync(file.fileno())
    try:
        yield place
    finally:
        if file is not None:
            note.unlink(missing_ok=True)
            file.close()


def remove(settings: Settings) -> None:
    """Remove what killed processes have left in the folders of the instance, and in the folder for temporary files."""
    journal.remove_unbegun(settings.instance)
    folders = {settings.instance, settings.policies, settings.instance / WAITING, Path(tempfile.gettempdir())}
    # A rule file is written where its link leads to.
    folders.update(place.resolve().parent for place in _entries(settings.policies) if place.is_symlink())
    for place in (place for folder in folders for place in _entries(folder, (SCRATCH, FRESH, NOTE))):
        with suppress(OSError):
            _remove_unlocked(place, settings.instance)


def _entries(folder: Path, prefixes: tuple[str, ...] = ("",)) -> list[Path]:
    try:
        return [folder / name for name in os.listdir(folder) if name.startswith(prefixes)]
    except OSError:
        return []


def _remove_unlocked(place: Path, instance: Path) -> None:
    """Remove a file or a folder that nobody has locked; of a note, first what it names. Raises OSError."""
    folder = stat.S_ISDIR(place.lstat().st_mode)
    kind = os.O_RDONLY | os.O_DIRECTORY if folder else os.O_RDWR | os.O_NONBLOCK
    descriptor = os.open(place, kind | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Otherwise the process that had locked it has removed it or given it its name.
        if os.path.samestat(os.fstat(descriptor), place.lstat()) and _is_ours(place, instance):
            if place.name.startswith(NOTE):
                named = Path(os.fsdecode(os.read(descriptor, _LONGEST_PATH)))
                if named.is_absolute() and named.name.startswith(NOTED) and _is_ours(named, instance):
                    _delete(named)
            _delete(place)
    finally:
        os.close(descriptor)


def _is_ours(place: Path, instance: Path) -> bool:
    """True if a file belongs to this user or the owner of the instance, or is gone. Raises OSError."""
    with suppress(FileNotFoundError):
        return place.lstat().st_uid in (os.geteuid(), instance.stat().st_uid)
    return True


def _delete(place: Path) -> None:
    """Remove a file or a folder, if there is one; never what a link leads to. Raises OSError."""
    with suppress(FileNotFoundError):
        if stat.S_ISDIR(place.lstat().st_mode):
            shutil.rmtree(place)
        else:
            place.unlink()
