"""Whether SQLite has read a write-ahead log to its end after a crash.

Where bytes of a log are damaged, SQLite takes them for the end of it, and says nothing: transactions behind them that
were committed are gone with the next write. A frame that ends a transaction, and lies behind all that was read, gives
this away (sqlite.org/fileformat2.html, *The Write-Ahead Log*).
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
_HEAD, _FRAME = 32, 24  # bytes of the log's header, and of a frame's before its page
_COOKIE = 40  # where the first page holds the schema cookie
_FIRST_PAGE, _NO_END = b"\0\0\0\1", b"\0\0\0\0"  # in the head of a frame: which page, and that more follow
_PAGE = 4096  # bytes of a page where the header cannot say it
_BIG = 0x377F0683  # the number that begins a log whose checksums are of big-endian words; one less is little-endian

Sums = tuple[int, int]
logger = logging.getLogger(__name__)


class Written(NamedTuple):
    """What a log holds by its look: its salts, the bytes of a page, the number of the last frame that ends a
    transaction, and the schema cookies of the pages up to it."""

    salts: bytes
    page: int
    last: int
    cookies: frozenset[int]


class Recovery:
    """The log of the file at `path`, before and after SQLite read it for the first connection of this process."""

    def __init__(self, path: Path) -> None:
        self._path, self._log, self._kept = path, Path(f"{path}-wal"), Path(f"{path}{SUFFIX}")
        self._before: Written | None = None
        self._done = False

    def begin(self) -> None:
        """Look at the log before SQLite does; no more than once."""
        if not self._done:
            with suppress(OSError):  # SQLite says so itself
                self._before = written(self._log)

    def end(self, conn: apsw.Connection) -> None:
        """Hold what SQLite has read against what was there. Keeps a copy of a log that was not read to its end.

        Raises what apsw raises.
        """
        before, self._before, self._done = self._before, None, True
        if before is None:
            return
        read, _ = conn.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_NOOP)
        if before.last <= read:
            return
        try:
            if broken(self._log, before, read):
                logger.error("%d pages of %s cannot be read: %s", before.last - read, self._log, self._sentence())
                self._keep()
        except OSError as error:
            logger.error("%s cannot be kept: %s", self._log, error)

    def loss(self) -> str | None:
        """What became of a log that was not read to its end, until the operator has seen to it."""
        return self._sentence() if self._kept.exists() else None

    def _sentence(self) -> str:
        return (f"the end of the write-ahead log could not be read after a crash, so that the last writes may be "
                f"missing: compare with what clients know was stored, and with the newest backup; then move "
                f"{self._kept.name} away, which is that log")

    def _keep(self) -> None:
        try:
            kept = new_file(self._kept, self._path)
        except FileExistsError:
            return  # the first is the one that was told of
        with kept, self._log.open("rb") as log:
            while block := log.read(1 << 20):
                kept.write(block)
            kept.flush()
            os.fsync(kept.fileno())


def written(log: Path) -> Written | None:
    """How far a log was written, by the heads of its frames; None where there is none. Raises OSError."""
    try:
        descriptor = os.open(log, os.O_RDONLY | os.O_CLOEXEC)  # SQLite has no lock on it
    except FileNotFoundError:
        return None
    try:
        head = os.pread(descriptor, _HEAD, 0)
        whole = len(head) == _HEAD and _of_the_head(head) == unpack(">2I", head[24:])
        page = int(unpack(">I", head[8:12])[0]) if whole else _PAGE
        # A header that is damaged has no salts; the first frame has them.
        salts = head[16:24] if whole else os.pread(descriptor, 8, _HEAD + 8)
        size, last = os.fstat(descriptor).st_size, 0
        cookies: set[int] = set()
        begun: set[int] = set()  # of the transaction whose end is not found yet
        for number in range(1, (size - _HEAD) // (_FRAME + page) + 1):
            found = os.pread(descriptor, _FRAME, _place(number, page))
            if found[8:16] != salts:
                continue
            if found[:4] == _FIRST_PAGE:
                begun.add(int.from_bytes(os.pread(descriptor, 4, _place(number, page) + _FRAME + _COOKIE), "big"))
            if found[4:8] != _NO_END:
                last, cookies, begun = number, cookies | begun, set()
    finally:
        os.close(descriptor)
    return Written(salts, page, last, frozenset(cookies)) if last else None


def broken(log: Path, before: Written, read: int) -> bool:
    """Whether damage stands between the `read` frames and the last: else another process is just writing them."""
    try:
        content = log.open("rb", buffering=0)
    except FileNotFoundError:
        return False  # copied into the file, and gone
    with content:
        head = content.read(_HEAD)
        if len(head) < _HEAD:
            return False  # copied, and cut
        if _of_the_head(head) != unpack(">2I", head[24:]):
            return True
        if head[16:24] != before.salts:
            return False  # begun anew: all of it was copied into the file
        big = head[:4] == _BIG.to_bytes(4, "big")
        # Of the frame that was read last, or of the head: both end with their checksum.
        content.seek(_place(read, before.page) if read else _HEAD - _FRAME)
        sums: Sums = unpack(">2I", content.read(_FRAME).ljust(_FRAME, b"\0")[16:])
        for number in range(read + 1, before.last + 1):
            content.seek(_place(number, before.page))
            frame = content.read(_FRAME + before.page)
            whole = len(frame) == _FRAME + before.page and frame[8:16] == before.salts
            sums = checksum(frame[:8] + frame[_FRAME:], sums, big=big) if whole else sums
            if not whole or unpack(">2I", frame[16:_FRAME]) != sums:
                # Unless it was cut or has begun anew meanwhile.
                content.seek(0)
                return content.read(_HEAD) == head
    return False


def checksum(content: bytes, sums: Sums, *, big: bool) -> Sums:
    """The checksum of so many words, after that of what stands before them."""
    first, second = sums
    words = unpack(f"{'>' if big else '<'}{len(content) // 4}I", content)
    for left, right in zip(words[::2], words[1::2], strict=True):
        first = (first + left + second) & 0xFFFFFFFF
        second = (second + right + first) & 0xFFFFFFFF
    return first, second


def _of_the_head(head: bytes) -> Sums:
    return checksum(head[:24], (0, 0), big=head[:4] == _BIG.to_bytes(4, "big"))


def _place(number: int, page: int) -> int:
    """Where a frame begins; the first has the number 1."""
    return _HEAD + (number - 1) * (_FRAME + page)
