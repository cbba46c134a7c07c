"""Checks after a crash that SQLite has read a write-ahead log to its end.

SQLite takes damaged bytes of a log for its end, without a message. Committed transactions behind them are lost with the
next write. A frame that ends a transaction, and lies behind all that was read, shows this damage
(sqlite.org/fileformat2.html, *The Write-Ahead Log*).
"""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from pathlib import Path
from struct import unpack
from typing import NamedTuple

import apsw

from system.files import new_file

SUFFIX = "-wal.damaged"
_HEAD, _FRAME = 32, 24  # bytes of the log's header, and of a frame's header before its page
_COOKIE = 40  # offset of the schema cookie in the first page
_FIRST_PAGE, _NO_END = b"\0\0\0\1", b"\0\0\0\0"  # in a frame: first page, more follow
_PAGE = 4096  # bytes of a page if the header cannot be read
_BIG = 0x377F0683  # first number of a log whose checksums use big-endian words; one less means little-endian

Sums = tuple[int, int]
logger = logging.getLogger(__name__)


class Written(NamedTuple):
    """Content of a log as its headers show it.

    salts    of the log
    page     bytes of a page
    last     number of the last frame that ends a transaction
    cookies  schema cookies of the pages up to that frame
    """

    salts: bytes
    page: int
    last: int
    cookies: frozenset[int]


class Recovery:
    """Log of the file at `path`, before and after SQLite read it for the first connection of this process."""

    def __init__(self, path: Path) -> None:
        self._path, self._log, self._copy_path = path, Path(f"{path}-wal"), Path(f"{path}{SUFFIX}")
        self._log_at_start: Written | None = None
        self._ended = False

    def begin(self) -> None:
        """Reads the log before SQLite does; only once."""
        if not self._ended:
            with suppress(OSError):  # SQLite reports the same error
                self._log_at_start = written(self._log)

    def end(self, conn: apsw.Connection) -> None:
        """Compares what SQLite has read with what was there. Keeps a copy of a log that was not read to its end.

        Raises what apsw raises.
        """
        log, self._log_at_start, self._ended = self._log_at_start, None, True
        if log is None:
            return
        read, _ = conn.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_NOOP)
        if log.last <= read:
            return
        try:
            if broken(self._log, log, read):
                logger.error("%d pages of %s cannot be read: %s", log.last - read, self._log, self._sentence())
                self._keep()
        except OSError as error:
            logger.error("%s cannot be kept: %s", self._log, error)

    def loss(self) -> str | None:
        """Returns the warning about a log that was not read to its end, until the operator has moved its copy away."""
        return self._sentence() if self._copy_path.exists() else None

    def _sentence(self) -> str:
        return (f"the end of the write-ahead log could not be read after a crash, so that the last writes may be "
                f"missing: compare with what clients know was stored, and with the newest backup; then move "
                f"{self._copy_path.name} away, which is that log")

    def _keep(self) -> None:
        try:
            copy = new_file(self._copy_path, self._path)
        except FileExistsError:
            return  # the first copy is the one that was reported
        with copy, self._log.open("rb") as log:
            while block := log.read(1 << 20):
                copy.write(block)
            copy.flush()
            os.fsync(copy.fileno())


def written(log: Path) -> Written | None:
    """Returns how far a log was written, read from the headers of its frames; None if there is no complete transaction.
    Raises OSError."""
    try:
        descriptor = os.open(log, os.O_RDONLY | os.O_CLOEXEC)  # SQLite holds no lock on it
    except FileNotFoundError:
        return None
    try:
        head = os.pread(descriptor, _HEAD, 0)
        whole = len(head) == _HEAD and _of_the_head(head) == unpack(">2I", head[24:])
        page = int(unpack(">I", head[8:12])[0]) if whole else _PAGE
        # A damaged header has no salts; the first frame has them.
        salts = head[16:24] if whole else os.pread(descriptor, 8, _HEAD + 8)
        size, last = os.fstat(descriptor).st_size, 0
        cookies: set[int] = set()
        begun: set[int] = set()  # cookies of the transaction whose end is not reached yet
        for number in range(1, (size - _HEAD) // (_FRAME + page) + 1):
            frame = os.pread(descriptor, _FRAME, _place(number, page))
            if frame[8:16] != salts:
                continue
            if frame[:4] == _FIRST_PAGE:
                begun.add(int.from_bytes(os.pread(descriptor, 4, _place(number, page) + _FRAME + _COOKIE), "big"))
            if frame[4:8] != _NO_END:
                last, cookies, begun = number, cookies | begun, set()
    finally:
        os.close(descriptor)
    return Written(salts, page, last, frozenset(cookies)) if last else None


def broken(log: Path, written_log: Written, read: int) -> bool:
    """True if there is damage between the `read` frames and the last. Otherwise another process is just writing them.
    """
    try:
        content = log.open("rb", buffering=0)
    except FileNotFoundError:
        return False  # copied into the file, and deleted
    with content:
        head = content.read(_HEAD)
        if len(head) < _HEAD:
            return False  # copied, and truncated
        if _of_the_head(head) != unpack(">2I", head[24:]):
            return True
        if head[16:24] != written_log.salts:
            return False  # restarted: all of it was copied into the file
        big = head[:4] == _BIG.to_bytes(4, "big")
        # Checksum of the last read frame, or of the header: both end with it.
        content.seek(_place(read, written_log.page) if read else _HEAD - _FRAME)
        sums: Sums = unpack(">2I", content.read(_FRAME).ljust(_FRAME, b"\0")[16:])
        for number in range(read + 1, written_log.last + 1):
            content.seek(_place(number, written_log.page))
            frame = content.read(_FRAME + written_log.page)
            whole = len(frame) == _FRAME + written_log.page and frame[8:16] == written_log.salts
            sums = checksum(frame[:8] + frame[_FRAME:], sums, big=big) if whole else sums
            if not whole or unpack(">2I", frame[16:_FRAME]) != sums:
                # No damage if the log was truncated or has restarted meanwhile.
                content.seek(0)
                return content.read(_HEAD) == head
    return False


def checksum(content: bytes, sums: Sums, *, big: bool) -> Sums:
    """Returns the checksum of these words, continued from the checksum of the bytes before."""
    first, second = sums
    words = unpack(f"{'>' if big else '<'}{len(content) // 4}I", content)
    for left, right in zip(words[::2], words[1::2], strict=True):
        first = (first + left + second) & 0xFFFFFFFF
        second = (second + right + first) & 0xFFFFFFFF
    return first, second


def _of_the_head(head: bytes) -> Sums:
    return checksum(head[:24], (0, 0), big=head[:4] == _BIG.to_bytes(4, "big"))


def _place(number: int, page: int) -> int:
    """Returns the offset of a frame; the first has the number 1."""
    return _HEAD + (number - 1) * (_FRAME + page)
