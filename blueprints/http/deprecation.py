"""Endpoints that clients should leave: announced (RFC 9745), dated (RFC 8594), counted, and one day gone.

Uses are counted in memory and stored beside the requests, so that a read stays a read.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from threading import Lock
from typing import TYPE_CHECKING

from werkzeug.http import http_date

from models.deprecated_use import note_use

from .errors import Problem

if TYPE_CHECKING:
    from models.database import Database

    from .call import Call


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

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = Lock()
        self._waiting: Counter[tuple[str, str, str]] = Counter()

    def add(self, tenant_id: str, endpoint: str, client: str) -> None:
        """Count one use."""
        with self._lock:
            self._waiting[tenant_id, endpoint, client] += 1

    def store(self) -> None:
        """Add what was counted to the table. What a database cannot take now, it gets the next time."""
        with self._lock:
            taken, self._waiting = self._waiting, Counter()
        if not taken:
            return
        try:
            # In one order everywhere, so that two processes cannot wait for each other in a circle.
            self._database.transact(lambda: [note_use(*use, times) for use, times in sorted(taken.items())])
        except BaseException:
            with self._lock:
                self._waiting.update(taken)
            raise


def note(call: Call, deprecation: Deprecation) -> None:
    """Announce the end on the answer and count the use. Raises `Problem` (`gone`) once the end has come."""
    if datetime.now(UTC) >= _start(deprecation.sunset):
        raise Problem("gone", f"Use {deprecation.successor}.", headers=deprecation.headers())
    call.headers.update(deprecation.headers())
    endpoint = f"{call.endpoint.method} {call.endpoint.path}"
    call.services.deprecated_uses.add(call.tenant_id, endpoint, call.principal.key)


def _start(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)
