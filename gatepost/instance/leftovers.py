"""Removal of temporary files of killed processes, by the next command or the next start of a server.

A process locks (flock) each temporary file and scratch folder while it needs it. A file without a lock is left over.
For a temporary file outside of the instance's folders, a note file in the instance has its path, and is locked instead.
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

from gatepost.rules.history import WAITING
from models.scratch import SCRATCH
from settings import Settings
from system.files import FRESH, locked_file

from . import journal

NOTE, NOTED = ".gatepost-note-", ".gatepost-noted-"  # prefixes of note files, and of the files that they name
_LONGEST_PATH = 4096  # bytes


@contextmanager
def noted(instance: Path, folder: Path) -> Iterator[Path]:
    """Yields a path in `folder` for a temporary file or folder. A note in the instance names it during the block.

    The block itself removes the file. It also runs if no note can be written.
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
    """Removes leftover files in the folders of the instance, and in the system's folder for temporary files."""
    journal.remove_unbegun(settings.instance)
    folders = {settings.instance, settings.policies, settings.instance / WAITING, Path(tempfile.gettempdir())}
    # The temporary file of a linked rule file is beside the link's target.
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
    """Removes a file or folder without a lock; for a note, first the file that it names. Raises OSError."""
    folder = stat.S_ISDIR(place.lstat().st_mode)
    kind = os.O_RDONLY | os.O_DIRECTORY if folder else os.O_RDWR | os.O_NONBLOCK
    descriptor = os.open(place, kind | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # If it is another file now, the process that had locked it has removed or renamed it.
        if os.path.samestat(os.fstat(descriptor), place.lstat()) and _is_ours(place, instance):
            if place.name.startswith(NOTE):
                target = Path(os.fsdecode(os.read(descriptor, _LONGEST_PATH)))
                if target.is_absolute() and target.name.startswith(NOTED) and _is_ours(target, instance):
                    _delete(target)
            _delete(place)
    finally:
        os.close(descriptor)


def _is_ours(place: Path, instance: Path) -> bool:
    """True if a file belongs to this user or the owner of the instance, or is deleted. Raises OSError."""
    with suppress(FileNotFoundError):
        return place.lstat().st_uid in (os.geteuid(), instance.stat().st_uid)
    return True


def _delete(place: Path) -> None:
    """Removes a file or a folder if it exists; never the target of a link. Raises OSError."""
    with suppress(FileNotFoundError):
        if stat.S_ISDIR(place.lstat().st_mode):
            shutil.rmtree(place)
        else:
            place.unlink()
