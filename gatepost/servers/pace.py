"""How slowly a client may send or read, behind either server, and what the kernel still keeps for it."""

from __future__ import annotations

import fcntl
import sys
import termios
from typing import Protocol

RATE = 1000  # bytes a second that a client sends or reads at least
WINDOW = 30.0  # seconds for which it may move nothing
CREDIT = 300.0  # most seconds that a fast reader can save up: a receive window that has grown to 32 MB opens that late


class _HasFileno(Protocol):
    def fileno(self) -> int: ...


def unacknowledged(connection: int | _HasFileno) -> int:
    """Bytes that were sent on a connection and have not arrived; 0 for what is no connection, or no longer.

    The kernel takes megabytes at once, which says nothing of who reads them.
    """
    try:
        return int.from_bytes(fcntl.ioctl(connection, termios.TIOCOUTQ, bytes(4)), sys.byteorder)
    except OSError:
        return 0


class Pace:
    """Whether one transfer goes on at `RATE`, from `since` (monotonic) on.

    What moves faster earns seconds in which nothing has to move, `most` of them.

    left  the seconds for which nothing has to move
    """

    def __init__(self, since: float, most: float, moved: int = 0) -> None:
        self._most, self._since, self._moved = most, since, moved
        self.left = WINDOW

    def too_slow(self, now: float, moved: int) -> bool:
        """Take into account that so many bytes were moved until `now`; whether they are too few."""
        earned, passed = (moved - self._moved) / RATE, now - self._since
        self._since, self._moved = now, moved
        self.left = min(self.left + earned, self._most) - passed
        return self.left < 0
