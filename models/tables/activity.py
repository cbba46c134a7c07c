"""Counts of responses in each minute, by outcome and duration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import peewee as pw

from models.records.columns import TimeField
from models.records.table import Table
from models.records.times import DAY

KEPT = DAY  # seconds for which counts are kept
ANSWERED, REFUSED, LIMITED, FAILED = "answered", "refused", "limited", "failed"

Key = tuple[str, str, int]
"""The start of a minute, an outcome, and the microseconds that a request took at most."""


class ActivityCount(Table):
    """Count of similar requests of all tenants and processes.

    minute   start of the minute
    outcome  `answered`, `refused` (401, 403, or 404 for an object), `limited` (429) or `failed` (500 and above)
    within   upper limit of their duration in microseconds; the next smaller bucket is their lower limit
    """

    minute = TimeField()
    outcome = pw.TextField()
    within = pw.BigIntegerField()
    count = pw.BigIntegerField()

    class Meta:
        table_name = "activity"
        primary_key = pw.CompositeKey("minute", "outcome", "within")


def note_requests(counts: Mapping[Key, int]) -> None:
    """Adds these counts to the stored ones of all processes. Needs a transaction."""
    # Across tenants: the service handles requests of all of them. All processes use the same order, so that two cannot
    # deadlock.
    rows = [{"minute": minute, "outcome": outcome, "within": within, "count": count}
            for (minute, outcome, within), count in sorted(counts.items())]
    for batch in pw.chunked(rows, _AT_ONCE):
        ActivityCount.insert_many(batch).on_conflict(
            conflict_target=(ActivityCount.minute, ActivityCount.outcome, ActivityCount.within),
            update={ActivityCount.count: ActivityCount.count + pw.EXCLUDED.count}).execute()


def counted_since(minute: str) -> list[tuple[str, str, int, int]]:
    """Returns (minute, outcome, within, count) of this minute and all later ones."""
    # Across tenants, as above.
    query: Any = (ActivityCount.select(ActivityCount.minute, ActivityCount.outcome, ActivityCount.within,
                                       ActivityCount.count)
                  .where(ActivityCount.minute >= minute))
    return list(query.tuples())


def purge(before: str) -> int:
    """Deletes the counts of minutes that began before that time. Returns their number."""
    # Across tenants, as above. Called each minute, so there are few rows to delete.
    return int(ActivityCount.delete().where(ActivityCount.minute < before).execute())


_AT_ONCE = 500  # rows of one statement
