"""Requests from an unreadable address: logged, counted, and reported by the health check.

A server always knows the address of a connection. So such a request comes through a trusted proxy that writes another
text into X-Forwarded-For, or lets a client write it.
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

RECENT = 600.0  # seconds for which the health check reports such a request


class UnreadableAddresses:
    """Counts the requests of one app from an unreadable address. Any thread may call any method.

    metrics  counts them as well
    """

    def __init__(self) -> None:
        self.metrics: Metrics | None = None
        self._lock = Lock()
        self._number, self._last = 0, 0.0

    def look(self, request: Request) -> None:
        """Counts a request whose address cannot be read (an `Arrival`)."""
        if request.remote_addr is not None or not (address := request.environ.get("REMOTE_ADDR")):
            return
        with self._lock:
            self._number, self._last = self._number + 1, monotonic()
        if self.metrics is not None:
            self.metrics.unreadable_addresses.inc()
        # The log writes only a few a minute, and then the number of omitted lines.
        log.warning("the address of a client cannot be read: %a", address[:LONGEST])

    @property
    def recent(self) -> tuple[int, float] | None:
        """Returns the number of these requests since the start, and the seconds since the last one.

        None if that is more than `RECENT` seconds ago.
        """
        with self._lock:
            age = monotonic() - self._last
            return (self._number, age) if self._number and age < RECENT else None
