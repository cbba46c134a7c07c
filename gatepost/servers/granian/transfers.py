"""Clients that read too slowly from granian, which waits without end for them, in a thread, or keeps what they do not
read in memory.

granian does not tell which connection a request came by. The kernel knows of each what was sent and what has arrived.
"""

from __future__ import annotations

import os
import socket
import struct
from contextlib import suppress

from ..pace import CREDIT, Pace, unacknowledged

# Of Linux's `struct tcp_info`: `tcpi_bytes_acked`, the 64 bits from byte 120 on.
_ACKED = struct.Struct("=120xQ")
_DROP = struct.pack("ii", 1, 0)  # SO_LINGER: what was not read is dropped

Peer = tuple[str, int]


class Transfers:
    """The connections of this process to its own `port` that have something to read."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._known: dict[Peer, Pace] = {}

    def look(self, now: float) -> None:
        """Close those whose client reads too slowly (`Pace`); none where there is no /proc."""
        found: dict[Peer, Pace] = {}
        with suppress(FileNotFoundError):
            for descriptor in map(int, os.listdir("/proc/self/fd")):
                # Any of them may be gone by now, or be no connection.
                with suppress(OSError):
                    if unacknowledged(descriptor):
                        self._weigh(descriptor, now, found)
        self._known = found

    def _weigh(self, descriptor: int, now: float, found: dict[Peer, Pace]) -> None:
        with _connection(descriptor) as connection:
            if connection.type != socket.SOCK_STREAM or connection.getsockname()[1:2] != (self._port,):
                return
            peer: Peer = connection.getpeername()[:2]
            arrived: int = _ACKED.unpack(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _ACKED.size))[0]
            pace = self._known.get(peer) or Pace(now, CREDIT)
            if pace.too_slow(now, arrived):
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _DROP)
                connection.shutdown(socket.SHUT_RDWR)
            else:
                found[peer] = pace


def _connection(descriptor: int) -> socket.socket:
    """The same connection by a descriptor of its own. Raises OSError where there is none."""
    own = os.dup(descriptor)
    try:
        return socket.socket(fileno=own)
    except OSError:
        os.close(own)
        raise
