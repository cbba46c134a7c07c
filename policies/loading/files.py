"""Files that an administrator edits: regular ones of a bounded size, never waited for.

A plain read of a FIFO, a terminal or a socket would block for ever, one of a link to /dev/zero would fill the memory.
A link to a regular file is read like the file.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
from pathlib import Path

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
    """The content of a file that is written from the database: a line about the policy `version`, then the text."""
    return f"# Exported from the database: policy {version}, text {_digest(text)}. {_ADVICE}\n".encode() + text


def own_text(content: bytes) -> bytes:
    """The content of a file, without the line in front if it was written from the database."""
    heading = _EXPORTED.match(content)
    return content if heading is None else content[heading.end():]


def is_as_exported(content: bytes) -> bool:
    """True if a file was written from the database and not edited since."""
    heading = _EXPORTED.match(content)
    return heading is not None and heading.group(1).decode() == _digest(content[heading.end():])


def _digest(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()[:16]


def _bounded(descriptor: int, largest: int) -> bytes:
    # The size in fstat is no use: the file may grow, and files in /proc have the size 0.
    content = bytearray()
    while part := os.read(descriptor, largest + 1 - len(content)):
        content += part
        if len(content) > largest:
            raise Unreadable(f"the file has more than {largest >> 20} MiB")
    return bytes(content)


def _sentence(error: OSError) -> str:
    return f"the file cannot be read: {error.strerror}"
