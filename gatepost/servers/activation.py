"""Sockets that a supervisor holds (systemd's socket activation).

They accept connections during a restart of the service, and the kernel keeps these for the next process.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence

GRACE = 0.7  # seconds after the last accepted connection, in which open connections may send one more request


class HeldSocketError(ValueError):
    """Error of a socket that cannot be served. The text has the reason, and the change that the socket unit needs."""


def held_sockets(descriptors: Sequence[int], workers: int) -> list[socket.socket]:
    """Returns the sockets behind the descriptors, one for each worker (0: the one process of waitress).

    If several workers share a socket, only one of them gets connections, so each needs its own (SO_REUSEPORT).

    Raises HeldSocketError for a descriptor that is not a listening TCP socket, for different addresses, and for another
    number of sockets than workers.
    """
    sockets: list[socket.socket] = []
    try:
        sockets.extend(_listening(item) for item in descriptors)
        _check(sockets, workers or 1)
    except HeldSocketError:
        for item in sockets:
            item.detach()  # the descriptor stays open
        raise
    for item in sockets:
        item.set_inheritable(False)
    return sockets


def _check(sockets: Sequence[socket.socket], needed: int) -> None:
    if len(sockets) != needed:
        raise HeldSocketError(f"The supervisor holds {_counted(len(sockets), 'socket')}, and "
                              f"{_counted(needed, 'process', 'processes')} will serve: the socket unit needs "
                              f"{_counted(needed, 'line')} ListenStream=, with ReusePort=yes where they are several.")
    if len({each.getsockname() for each in sockets}) > 1:
        raise HeldSocketError("The supervisor's sockets have several addresses: all workers need the same one.")


def _listening(descriptor: int) -> socket.socket:
    try:
        candidate = socket.socket(fileno=descriptor)
    except OSError as error:
        raise HeldSocketError(f"Descriptor {descriptor} of the supervisor is no socket: {error.strerror}.") from error
    listens = candidate.type == socket.SOCK_STREAM and candidate.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
    if candidate.family not in (socket.AF_INET, socket.AF_INET6) or not listens:
        candidate.detach()
        raise HeldSocketError(f"Descriptor {descriptor} of the supervisor is no TCP socket that listens: the socket "
                              "unit needs ListenStream=ADDRESS:PORT, and Accept=no.")
    return candidate


def _counted(count: int, noun: str, nouns: str = "") -> str:
    return f"{count} {noun if count == 1 else nouns or noun + 's'}"
