"""Least speed of a client that sends or reads, and the bytes that the kernel still keeps for it."""

from __future__ import annotations

import fcntl
import socket
import sys
import termios

RATE = 1000  # bytes a second that a client sends or reads at least
WINDOW = 30.0  # seconds for which it may move nothing
CREDIT = 300.0  # most seconds that a fast reader can save up: a receive window that has grown to 32 MB opens that late


def unacknowledged(connection: socket.socket) -> int:
    """Returns the bytes that were sent on a connection and have not arrived; 0 where there is no connection.

    The kernel takes megabytes at once, which says nothing of who reads them.
    """
    try:
        return int.from_bytes(fcntl.ioctl(connection, termios.TIOCOUTQ, bytes(4)), sys.byteorder)
    except OSError:
        return 0


class Pace:
    """Pace of one transfer that has to go on at `RATE`, from `since` (monotonic) on.

    What moves faster earns seconds in which nothing has to move, `most` of them.

    left  the seconds for which nothing has to move
    """

    def __init__(self, since: float, most: float, moved: int = 0) -> None:
        self._most, self._since, self._moved = most, since, moved
        self.left = WINDOW

    def too_slow(self, now: float, moved: int) -> bool:
        """Notes that so many bytes were moved until `now`, and returns True if they are too few."""
        earned, passed = (moved - self._moved) / RATE, now - self._since
        self._since, self._moved = now, moved
        self.left = min(self.left + earned, self._most) - passed
        return self.left < 0
