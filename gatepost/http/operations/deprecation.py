"""Deprecation of endpoints, parameters and fields: announced (RFC 9745), dated (RFC 8594), counted, then removed.

One declaration is enough: `Endpoint(deprecated=Deprecation(…))` for an endpoint. For a query parameter or a field of a
body it is `metadata=Deprecation(…).metadata()` in the schema.

Uses are counted in memory, and a background task stores them. So a read does not write.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from threading import Lock
from typing import TYPE_CHECKING, Any

from marshmallow import Schema
from werkzeug.http import http_date

from models.tables.deprecated_use import note_use

if TYPE_CHECKING:
    from models.engine.database import Database

QUERY, BODY = "?", "#/"  # before the name of a part, in what is counted


@dataclass(frozen=True)
class Deprecation:
    """Deprecation since the day `since`: clients should use `successor` (a path), and must from the day `sunset` on."""

    since: date
    sunset: date
    successor: str

    @property
    def over(self) -> bool:
        """True if its last day has passed."""
        return datetime.now(UTC) >= _start(self.sunset)

    def metadata(self) -> dict[str, Any]:
        """Returns the metadata of a marshmallow field; `deprecated` goes to the OpenAPI description."""
        return {"deprecated": True, "deprecation": self}

    def headers(self, base: str = "") -> dict[str, str]:
        """Returns `Deprecation` (RFC 9745 section 2), `Sunset` (RFC 8594 section 3), `Link` (RFC 5829 section 3.3).

        `base` is the URL of the service, without a final slash.
        """
        return {"Deprecation": f"@{int(_start(self.since).timestamp())}", "Sunset": http_date(_start(self.sunset)),
                "Link": f'<{base}{self.successor}>; rel="successor-version"'}


class DeprecatedUses:
    """Uses of deprecated parts, by client. Counted by one process and not stored yet."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = Lock()
        self._waiting: Counter[tuple[str, str, str]] = Counter()

    def add(self, tenant_id: str, endpoint: str, client: str) -> None:
        """Counts one use."""
        with self._lock:
            self._waiting[tenant_id, endpoint, client] += 1

    def store(self) -> None:
        """Adds the counts to the table. If the database refuses them now, it gets them the next time.

        Each use is counted at most once: counts are not added again after a COMMIT without an answer.
        """
        with self._lock:
            uses, self._waiting = self._waiting, Counter()
        if not uses:
            return
        stored = False

        def work() -> None:
            nonlocal stored
            stored = False
            # All processes use the same order, so that they cannot deadlock.
            for use, times in sorted(uses.items()):
                note_use(*use, times)
            stored = True

        try:
            self._database.transact(work)
        except BaseException:
            if not stored:
                with self._lock:
                    self._waiting.update(uses)
            raise


def announced(query: Schema | None, body: Schema | None) -> tuple[tuple[str, str, Deprecation], ...]:
    """Returns the deprecated parts of a query and a body: `QUERY` or `BODY`, the loaded name, and the deprecation."""
    return tuple((mark, field.attribute or name, field.metadata["deprecation"])
                 for mark, schema in ((QUERY, query), (BODY, body)) if schema is not None
                 for name, field in schema.load_fields.items() if "deprecation" in field.metadata)


def _start(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)
