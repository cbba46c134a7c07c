"""How slowly a client may send or read, behind either server, and what the kernel still keeps for it."""

from __future__ import annotations

import fcntl
import sys
import termios
from typing import Protocol

RATE = 1000  # bytes a second that a client sends or reads at least,
WINDOW = 30.0  # in so many seconds


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
