"""Endpoints that clients should leave: announced (RFC 9745), dated (RFC 8594), counted, and one day gone.

Uses are counted in memory and stored at most once a second, so that a read stays a read.
"""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING

from werkzeug.http import http_date

from models.deprecated_use import note_use
from models.errors import RowError

from .errors import Problem

if TYPE_CHECKING:
    from models.database import Database

    from .call import Call

log = logging.getLogger("gatepost")

INTERVAL = 1.0  # seconds that a count may wait in memory while others follow


@dataclass(frozen=True)
class Deprecation:
    """Clients should have used `successor` (a path) since the day `since`, and must from the day `sunset` on."""

    since: date
    sunset: date
    successor: str

    def headers(self) -> dict[str, str]:
        """`Deprecation` (RFC 9745 section 2), `Sunset` (RFC 8594 section 3), `Link` (RFC 5829 section 3.3)."""
        return {"Deprecation": f"@{int(_start(self.since).timestamp())}", "Sunset": http_date(_start(self.sunset)),
                "Link": f'<{self.successor}>; rel="successor-version"'}


class DeprecatedUses:
    """Who used what, not stored yet: of one process."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._waiting: Counter[tuple[str, str, str]] = Counter()
        self._stored = float("-inf")

    def add(self, tenant_id: str, endpoint: str, client: str) -> bool:
        """Count one use; whether it is time to store."""
        with self._lock:
            self._waiting[tenant_id, endpoint, client] += 1
            return monotonic() - self._stored >= INTERVAL

    def store(self, database: Database) -> None:
        """Add what was counted to the table. A database that cannot take it now gets it later."""
        with self._lock:
            taken, self._waiting, self._stored = self._waiting, Counter(), monotonic()
        if not taken:
            return
        try:
            # In one order everywhere, so that two processes cannot wait for each other in a circle.
            database.transact(lambda: [note_use(*use, times) for use, times in sorted(taken.items())])
        except RowError as error:
            log.warning("uses of deprecated endpoints wait for the database: %s", error)
            with self._lock:
                self._waiting.update(taken)


def note(call: Call, deprecation: Deprecation) -> None:
    """Announce the end on the answer and count the use. Raises `Problem` (`gone`) once the end has come."""
    if datetime.now(UTC) >= _start(deprecation.sunset):
        raise Problem("gone", f"Use {deprecation.successor}.", headers=deprecation.headers())
    call.headers.update(deprecation.headers())
    uses, endpoint = call.services.deprecated_uses, f"{call.endpoint.method} {call.endpoint.path}"
    if uses.add(call.tenant_id, endpoint, call.principal.key):
        uses.store(call.services.database)


def _start(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)
