"""Files that appear as a whole: readers find the old file or the new one, also after a kill or a power failure."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import BinaryIO

FRESH = ".gatepost-new-"  # the first characters of the name of a temporary file

Identity = tuple[int, int]
"""Device and inode: they tell two files apart that have had the same name."""


@dataclass(frozen=True)
class FreshFile:
    """A temporary file that takes the name `place` once it is written.

    path  its present name
    file  to write to
    """

    place: Path
    path: Path
    file: BinaryIO

    def sync(self) -> None:
        """Waits until the content is on the disk. Raises OSError."""
        self.file.flush()
        os.fsync(self.file.fileno())

    def replace(self) -> None:
        """Puts the file in its place, also over another file. Raises OSError."""
        self.sync()
        os.replace(self.path, self.place)
        sync(self.place.parent)

    def link(self) -> None:
        """Puts the file in its place if no other file is there. Raises FileExistsError, OSError."""
        self.sync()
        link(self.path, self.place)


def write(place: Path, content: bytes, mode: int = 0o600, like: os.stat_result | None = None) -> None:
    """Writes a file through `fresh_file` and puts it in its place, also over another file. Raises OSError."""
    with fresh_file(place, mode, like) as fresh:
        fresh.file.write(content)
        fresh.replace()


@contextmanager
def fresh_file(place: Path, mode: int = 0o600, like: os.stat_result | None = None, *, owner: Path | None = None,
               path: Path | None = None) -> Iterator[FreshFile]:
    """Gives a temporary file beside `place`, removed at the end of the block unless the block puts it in its place.

    mode   its permissions, less the umask
    like   a file whose owner and permissions it gets instead
    owner  a file whose owner it gets if root runs this
    path   its name, which only the caller uses: a file of this name was left by a killed process. None: a random name,
           locked as in `locked_file`

    Raises OSError.
    """
    if path is None:
        path, file = locked_file(place.parent, FRESH, mode, owner)
    else:
        path.unlink(missing_ok=True)
        file = new_file(path, owner, mode)
    try:
        if like is not None:
            os.fchown(file.fileno(), like.st_uid, like.st_gid)
            os.fchmod(file.fileno(), stat.S_IMODE(like.st_mode))
        yield FreshFile(place, path, file)
    finally:
        path.unlink(missing_ok=True)
        file.close()


def link(path: Path, place: Path) -> None:
    """Renames a file to `place`, if no other file is there. Raises FileExistsError, OSError."""
    try:
        os.link(path, place)
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        if os.path.lexists(place):
            raise FileExistsError(f"{place} is there already") from None
        os.replace(path, place)
    path.unlink(missing_ok=True)
    sync(place.parent)


def locked_file(folder: Path, prefix: str, mode: int = 0o600, owner: Path | None = None) -> tuple[Path, BinaryIO]:
    """Returns a new file with a random name, locked (flock) until it is closed. A killed process leaves a file without
    a lock.

    Raises OSError.
    """
    while True:
        path = folder / f"{prefix}{token_hex(8)}"
        file = new_file(path, owner, mode)
        with suppress(OSError):  # a file system without locks: then no process removes this file as abandoned
            fcntl.flock(file, fcntl.LOCK_EX)
        # Another process may have removed it before it was locked.
        if path.exists():
            return path, file
        file.close()


def new_file(path: str | Path, owner: Path | None = None, mode: int = 0o600) -> BinaryIO:
    """Returns a new file, open for writing. If root runs this, it belongs to the owner of the file `owner`.

    Raises FileExistsError, also for a link, and OSError.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, mode)
    if owner is not None and os.geteuid() == 0:
        status = os.stat(owner)
        os.fchown(descriptor, status.st_uid, status.st_gid)
    return open(descriptor, "wb")


def identity(path: str | Path) -> Identity | None:
    """Returns the identity of the file that has this name now; None if there is none. Raises OSError."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


def sync(folder: Path) -> None:
    """Waits until the names in a folder are on the disk. Raises OSError."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:  # a file system that cannot sync folders
            raise
    finally:
        os.close(descriptor)
