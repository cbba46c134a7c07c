"""Scratch folders that are locked by their process. A folder without a lock belongs to a killed process and can be
removed."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import mkdtemp

SCRATCH = ".gatepost-scratch-"  # the first characters of the name of a scratch folder


@contextmanager
def scratch(parent: Path | None = None) -> Iterator[Path]:
    """Makes a new folder in `parent`, or in the folder for temporary files. It is locked in the block, and removed at
    its end. Raises OSError."""
    folder, descriptor = _locked(parent)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(descriptor)


def _locked(parent: Path | None) -> tuple[Path, int]:
    while True:
        folder = Path(mkdtemp(prefix=SCRATCH, dir=parent))
        # Another process may remove it before it is locked.
        with suppress(FileNotFoundError):
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            with suppress(OSError):  # a file system without locks: then nobody removes the folder as abandoned
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            if folder.exists():
                return folder, descriptor
            os.close(descriptor)
