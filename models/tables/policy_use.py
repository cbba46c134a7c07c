"""Counts of the uses of each policy rule by day, and the processes that counted them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import peewee as pw

from models.records.columns import IdField, TimeField
from models.records.rows import expire
from models.records.table import Table
from models.records.times import DAY, now

KEPT = 400 * DAY  # seconds for which counts are kept: a query can cover a year, with rules that are used once a year


class PolicyUse(Table):
    """Number of times that a rule settled a permission on one day.

    line   digest of the rule's text
    day    in UTC: `2026-11-23`
    """

    line = pw.TextField()
    permission = pw.TextField()
    day = pw.TextField()
    count = pw.BigIntegerField()

    class Meta:
        table_name = "policy_uses"
        primary_key = pw.CompositeKey("line", "permission", "day")


class PolicyCounter(Table):
    """A process that counts uses since `since`. Counts up to `stored_at` are stored; `ended`: also the rest, at its
    end."""

    id = IdField(primary_key=True)
    since = TimeField()
    stored_at = TimeField()
    ended = pw.BooleanField()

    class Meta:
        table_name = "policy_counters"


class Used(NamedTuple):
    """Number of uses of one rule and permission, and the day of the last one."""

    times: int
    last: str


class Counted(NamedTuple):
    """Period in which a process has counted, and whether it ended in good order."""

    since: str
    until: str
    ended: bool


def note_uses(process: str, since: str, uses: Mapping[tuple[str, str], int], *, ended: bool) -> None:
    """Adds (line, permission) → uses to the counts of today, and records that the process has stored them. Needs a
    transaction."""
    # Across tenants: they share one policy.
    at = now()
    # All processes use the same order, so that two cannot deadlock.
    rows = [{"line": line, "permission": permission, "day": at[:10], "count": count}
            for (line, permission), count in sorted(uses.items())]
    for batch in pw.chunked(rows, _AT_ONCE):
        PolicyUse.insert_many(batch).on_conflict(
            conflict_target=(PolicyUse.line, PolicyUse.permission, PolicyUse.day),
            update={PolicyUse.count: PolicyUse.count + pw.EXCLUDED.count}).execute()
    PolicyCounter.insert(id=process, since=since, stored_at=at, ended=ended).on_conflict(
        conflict_target=(PolicyCounter.id,), update={PolicyCounter.stored_at: at, PolicyCounter.ended: ended}).execute()


def used_since(day: str) -> dict[tuple[str, str], Used]:
    """Returns (line, permission) → its uses from that day on."""
    # Across tenants, as above.
    query: Any = (PolicyUse.select(PolicyUse.line, PolicyUse.permission, pw.fn.SUM(PolicyUse.count),
                                   pw.fn.MAX(PolicyUse.day))
                  .where(PolicyUse.day >= day).group_by(PolicyUse.line, PolicyUse.permission))
    return {(line, permission): Used(int(count), last) for line, permission, count, last in query.tuples()}


def counted_since(time: str) -> list[Counted]:
    """Returns the processes that have stored counts since that time, by their start."""
    # Across tenants, as above.
    query: Any = (PolicyCounter.select(PolicyCounter.since, PolicyCounter.stored_at, PolicyCounter.ended)
                  .where(PolicyCounter.stored_at >= time).order_by(PolicyCounter.since))
    return [Counted(since, until, bool(ended)) for since, until, ended in query.tuples()]


def purge(before: str, most: int) -> int:
    """Deletes the counts of days before that time, and up to `most` processes that counted last before it. Returns the
    number of these processes."""
    # Across tenants, as above. Called each hour, so there is at most one more day.
    PolicyUse.delete().where(PolicyUse.day < before[:10]).execute()
    return expire(PolicyCounter.stored_at, before, most)


_AT_ONCE = 500  # rows of one statement
