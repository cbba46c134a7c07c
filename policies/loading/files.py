"""Files that an administrator edits: regular ones of a bounded size, never waited for; and files written as a whole,
also those that are no policy, such as the key file.

A plain read of a FIFO, a terminal or a socket would block for ever, one of a link to /dev/zero would fill the memory.
A link to a regular file is read like the file.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex

FRESH = ".gatepost-new-"  # the first characters of the name of a temporary file
LARGEST_FILE = 1 << 20  # bytes of one policy file
_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_SPECIAL = "this is not a regular file"
# The first line of a file that was written from the database; its own text begins behind it, with line 1.
_EXPORTED = re.compile(rb"# Exported from the database: policy [0-9a-f]{16}, text ([0-9a-f]{16})\. [^\n]*\n")
_ADVICE = "Line 1 is the next. Edits here have no effect: gatepost policy apply DIR"


class Unreadable(Exception):
    """A file that cannot be read, or is not a regular file; the text is a sentence without the file's name."""


def read_bytes(place: Path, largest: int = LARGEST_FILE) -> bytes:
    """The bytes of a regular file of at most `largest` bytes. Raises Unreadable."""
    try:
        descriptor = os.open(place, _FLAGS)
    except OSError as error:
        # The error of opening a socket.
        raise Unreadable(_SPECIAL if error.errno == errno.ENXIO else _sentence(error)) from None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise Unreadable(_SPECIAL)
        return _bounded(descriptor, largest)
    except OSError as error:
        raise Unreadable(_sentence(error)) from None
    finally:
        os.close(descriptor)


def read_text(place: Path) -> str:
    """The same, decoded from UTF-8. Raises Unreadable."""
    try:
        return read_bytes(place).decode("utf-8")
    except UnicodeDecodeError as error:
        raise Unreadable(f"the file cannot be read: {error}") from None


def exported(text: bytes, version: str) -> bytes:
    """What a file holds that is written from the database: a text of the policy `version` behind a line about it."""
    return f"# Exported from the database: policy {version}, text {_digest(text)}. {_ADVICE}\n".encode() + text


def own_text(content: bytes) -> bytes:
    """The content of a file, without the line in front if it was written from the database."""
    heading = _EXPORTED.match(content)
    return content if heading is None else content[heading.end():]


def is_as_exported(content: bytes) -> bool:
    """Whether a file was written from the database and not edited since."""
    heading = _EXPORTED.match(content)
    return heading is not None and heading.group(1).decode() == _digest(content[heading.end():])


def write(place: Path, content: bytes, mode: int = 0o600) -> None:
    """Put a file in place of what is there: readers find the old one or the whole new one. Raises OSError."""
    with fresh_file(place, content, mode) as fresh:
        os.replace(fresh, place)


def rewrite(place: Path, content: bytes) -> None:
    """`write` for a file that is there, whose owner and permissions stay. Raises OSError."""
    old = os.stat(place)
    with fresh_file(place, content) as fresh:
        os.chown(fresh, old.st_uid, old.st_gid)
        fresh.chmod(stat.S_IMODE(old.st_mode))
        os.replace(fresh, place)


@contextmanager
def fresh_file(place: Path, content: bytes, mode: int = 0o600) -> Iterator[Path]:
    """A file beside `place` whose content has reached the disk, gone afterwards unless it was moved. Raises OSError."""
    fresh, descriptor = locked_file(place.parent, FRESH, mode)
    try:
        with open(descriptor, "wb", closefd=False) as file:
            file.write(content)
            file.flush()
            os.fsync(descriptor)
        yield fresh
    finally:
        fresh.unlink(missing_ok=True)
        os.close(descriptor)


def give_name(fresh: Path, place: Path) -> None:
    """Give a file its name, where no other file has it. Raises FileExistsError, OSError."""
    try:
        os.link(fresh, place)
    except FileExistsError:
        raise
    except OSError:
        # A file system without links.
        os.replace(fresh, place)


def locked_file(folder: Path, prefix: str, mode: int = 0o600) -> tuple[Path, int]:
    """A new file and its descriptor, locked (flock) while that is open: of a process that is killed, a file without a
    lock is left. Raises OSError."""
    while True:
        place = folder / f"{prefix}{token_hex(8)}"
        descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        with suppress(OSError):  # a file system without locks: nobody takes the file for a left one there
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        # Another process may have removed it before it was locked.
        if place.exists():
            return place, descriptor
        os.close(descriptor)


def _digest(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()[:16]


def _bounded(descriptor: int, largest: int) -> bytes:
    # Not by the size in fstat: a file may grow meanwhile, and files of /proc have the size 0.
    found = bytearray()
    while part := os.read(descriptor, largest + 1 - len(found)):
        found += part
        if len(found) > largest:
            raise Unreadable(f"the file has more than {largest >> 20} MiB")
    return bytes(found)


def _sentence(error: OSError) -> str:
    return f"the file cannot be read: {error.strerror}"
