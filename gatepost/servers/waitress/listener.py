"""Listener of waitress: accepts as many connections as descriptors allow, and never loops over a failing accept."""

from __future__ import annotations

import errno
import logging
import resource
import socket
from time import monotonic
from typing import Any
from wsgiref.types import WSGIApplication

from waitress.server import TcpWSGIServer

from .bodies import BodyBudget
from .channel import Channel, Doing

log = logging.getLogger("gatepost.serving")

CONNECTIONS = 1000  # at most
FEWEST = 16  # connections that are accepted even with few descriptors
SWEEP = 0.5  # seconds between two checks for slow clients
PAUSE = 0.5  # seconds without accepting when there are no descriptors
UNREAD = 256 * 2**20  # bytes of answers that wait to be read, in memory and on disk

_EXHAUSTED = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM))


def connections_allowed(threads: int) -> int:
    """Raises the limit of descriptors as far as allowed, and returns the number of connections that fit.

    Database, policy files, logs and the handlers of `threads` need descriptors too.
    """
    others = 100 + 4 * threads
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return CONNECTIONS
    allowed = CONNECTIONS + others if hard == resource.RLIM_INFINITY else min(hard, CONNECTIONS + others)
    if soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    return max(FEWEST, min(CONNECTIONS, max(soft, allowed) - others))


def channels(sockets: dict[int, Any]) -> list[Channel]:
    """Returns the connections among the sockets of a loop."""
    return [each for each in sockets.values() if isinstance(each, Channel)]


class Listener(TcpWSGIServer):
    """Listener that closes slow clients, and the longest idle connection to make room for a new one."""

    channel_class = Channel
    stopping = False  # True once each connection ends with its next answer

    def __init__(self, app: WSGIApplication, sockets: dict[int, Any], *arguments: Any, bodies: BodyBudget,
                 connections: int, **options: Any) -> None:
        """Takes all sockets of the loop by descriptor, including connections. The other arguments are for waitress."""
        self.bodies, self._sockets = bodies, sockets
        self._connections = connections
        self._next_sweep = self._paused_until = 0.0  # monotonic
        self._exhausted = False
        super().__init__(app, sockets, *arguments, **options)

    @property
    def address(self) -> tuple[str, int]:
        """Host and port."""
        host, port, *_ = self.socket.getsockname()
        return host, port

    def readable(self) -> bool:
        now = monotonic()
        if now >= self._next_sweep:
            self._next_sweep = now + SWEEP
            self.sweep(now)
        return bool(self.accepting) and now >= self._paused_until

    def handle_accept(self) -> None:
        if len(self._sockets) < self._connections or self._make_room():
            super().handle_accept()
        else:
            self._pause("All connections are in use.")

    def accept(self) -> tuple[socket.socket, Any] | None:
        try:
            accepted: tuple[socket.socket, Any] | None = super().accept()
        except OSError as error:
            if error.errno not in _EXHAUSTED:
                raise
            self._make_room()
            self._pause(f"No connection can be accepted: {error.strerror}.")
            return None
        self._exhausted = False
        return accepted

    def sweep(self, now: float) -> None:
        """Closes connections of clients that are too slow, or that leave too much unread."""
        connections = channels(self._sockets)
        for channel in connections:
            channel.watch(now)
        unread = sum(channel.total_outbufs_len for channel in connections)
        for channel in sorted(connections, key=lambda each: each.precedence) if unread > UNREAD else ():
            if unread > UNREAD and channel.total_outbufs_len:
                unread -= channel.total_outbufs_len
                channel.handle_close()

    def _make_room(self) -> bool:
        """Closes the connection that has been idle longest, if there is one."""
        first = min(channels(self._sockets), key=lambda each: each.precedence, default=None)
        if first is None or first.precedence[0] > Doing.SENDING_BODY:
            return False
        first.handle_close()
        return True

    def _pause(self, reason: str) -> None:
        self._paused_until = monotonic() + PAUSE
        if not self._exhausted:
            self._exhausted = True
            log.warning("%s Waiting for some to end.", reason)
