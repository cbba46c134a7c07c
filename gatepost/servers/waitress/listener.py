"""Listener of waitress: accepts as many connections as there are descriptors, and never loops over a failing accept."""

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
FEWEST = 16  # connections that are tried even where descriptors are few
SWEEP = 0.5  # seconds between two looks for clients that are too slow
PAUSE = 0.5  # seconds without accepting when there is nothing to accept with
UNREAD = 256 * 2**20  # bytes of answers that wait to be read, in memory and on disk

_EXHAUSTED = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM))


def connections_allowed(threads: int) -> int:
    """Raises the limit of descriptors as far as allowed, and returns the number of connections that it leaves room for.

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
    """Makes room for a new connection by closing the one that has been idle longest; looks for slow clients."""

    channel_class = Channel
    stopping = False  # whether each connection ends with its next answer

    def __init__(self, app: WSGIApplication, sockets: dict[int, Any], *arguments: Any, bodies: BodyBudget,
                 connections: int, **options: Any) -> None:
        """`sockets` are by descriptor, those of all connections among them; the others are for waitress."""
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
        """Close the connections whose clients are too slow, and those that keep too much unread."""
        connections = channels(self._sockets)
        for channel in connections:
            channel.watch(now)
        unread = sum(channel.total_outbufs_len for channel in connections)
        for channel in sorted(connections, key=lambda each: each.precedence) if unread > UNREAD else ():
            if unread > UNREAD and channel.total_outbufs_len:
                unread -= channel.total_outbufs_len
                channel.handle_close()

    def _make_room(self) -> bool:
        """Close the connection that has had no request under way for longest, if there is one."""
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
