"""Files and names that are to reach the disk."""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO

Identity = tuple[int, int]
"""Device and inode: what tells two files apart that have had the same name."""


def identity(path: str | Path) -> Identity | None:
    """The file that has this name now; None: none has. Raises OSError."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def new_file(file: Path, like: Path) -> BinaryIO:
    """A new file, open for writing and readable by its owner alone. Where root runs a command, it belongs to the owner
    of the file `like`. Raises FileExistsError, OSError."""
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    if os.geteuid() == 0:
        owner = os.stat(like)
        os.fchown(descriptor, owner.st_uid, owner.st_gid)
    return open(descriptor, "wb")


def sync(folder: Path) -> None:
    """Wait until the names in a folder are on its disk. Raises OSError."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
