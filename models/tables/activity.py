"""How many requests the service has answered in each minute, by what became of them and how long they took."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import peewee as pw

from models.records.columns import TimeField
from models.records.table import Table
from models.records.times import DAY

KEPT = DAY  # seconds for which counts stay
ANSWERED, REFUSED, LIMITED, FAILED = "answered", "refused", "limited", "failed"

Key = tuple[str, str, int]
"""The start of a minute, an outcome, and the microseconds that a request took at most."""


class ActivityCount(Table):
    """Requests of all tenants and processes that are alike.

    minute   when it began
    outcome  `answered`, `refused` (401, 403, or 404 for an object), `limited` (429) or `failed` (500 and above)
    within   the microseconds that each took at most, and more than those of the next smaller bucket
    """

    minute = TimeField()
    outcome = pw.TextField()
    within = pw.BigIntegerField()
    count = pw.BigIntegerField()

    class Meta:
        table_name = "activity"
        primary_key = pw.CompositeKey("minute", "outcome", "within")


def note_requests(counts: Mapping[Key, int]) -> None:
    """Add these numbers of requests to those that other processes have stored, inside a transaction."""
    # Across tenants: the service is busy with all of them.
    # In one order everywhere, so that two processes cannot wait for each other in a circle.
    rows = [{"minute": minute, "outcome": outcome, "within": within, "count": count}
            for (minute, outcome, within), count in sorted(counts.items())]
    for some in pw.chunked(rows, _AT_ONCE):
        ActivityCount.insert_many(some).on_conflict(
            conflict_target=(ActivityCount.minute, ActivityCount.outcome, ActivityCount.within),
            update={ActivityCount.count: ActivityCount.count + pw.EXCLUDED.count}).execute()


def counted_since(minute: str) -> list[tuple[str, str, int, int]]:
    """(minute, outcome, within, count) of this minute and all later ones."""
    # Across tenants, as above.
    query: Any = (ActivityCount.select(ActivityCount.minute, ActivityCount.outcome, ActivityCount.within,
                                       ActivityCount.count)
                  .where(ActivityCount.minute >= minute))
    return list(query.tuples())


def purge(before: str) -> int:
    """Delete the counts of the minutes that began before that time; how many."""
    # Across tenants, as above. A minute later there are few more.
    return int(ActivityCount.delete().where(ActivityCount.minute < before).execute())


_AT_ONCE = 500  # rows of one statement
