"""Requests from an address that cannot be read: logged, counted, and reported by health.

A server always knows the address of a connection. So such a request has come through a trusted proxy that writes
something else into X-Forwarded-For, or lets a client write it.
"""

from __future__ import annotations

import logging
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING

from flask import Request

from policies.syntax.addresses import LONGEST

if TYPE_CHECKING:
    from .metrics import Metrics

log = logging.getLogger("gatepost")

RECENT = 600.0  # seconds for which health reports such a request


class UnreadableAddresses:
    """The requests from an unreadable address that one app has seen. Every method may be called by any thread.

    metrics  where they are counted, too
    """

    def __init__(self) -> None:
        self.metrics: Metrics | None = None
        self._lock = Lock()
        self._number, self._last = 0, 0.0

    def look(self, request: Request) -> None:
        """Count a request whose address cannot be read; an `Arrival`."""
        if request.remote_addr is not None or not (address := request.environ.get("REMOTE_ADDR")):
            return
        with self._lock:
            self._number, self._last = self._number + 1, monotonic()
        if self.metrics is not None:
            self.metrics.unreadable_addresses.inc()
        # The handler of the log writes a few of one minute, and how many it left out.
        log.warning("the address of a client cannot be read: %a", address[:LONGEST])

    @property
    def recent(self) -> tuple[int, float] | None:
        """The number of these requests since the start, and the seconds since the last one; None if that is more than
        `RECENT` ago."""
        with self._lock:
            age = monotonic() - self._last
            return (self._number, age) if self._number and age < RECENT else None
