"""How often each line of the policy was used, by day, and which processes counted it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import peewee as pw

from models.records.columns import IdField, TimeField
from models.records.rows import expire
from models.records.table import Table
from models.records.times import DAY, now

KEPT = 400 * DAY  # seconds for which counts stay: a year can be asked for, and what is used once a year is in it


class PolicyUse(Table):
    """How often a line settled a permission on one day.

    line   the digest of what the line says
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
    """A process that counts uses: from when, until when what it counted is stored, and whether it stored the rest when
    it ended."""

    id = IdField(primary_key=True)
    since = TimeField()
    stored_at = TimeField()
    ended = pw.BooleanField()

    class Meta:
        table_name = "policy_counters"


class Used(NamedTuple):
    """What was counted of one line and permission: how often, and on which day last."""

    times: int
    last: str


class Counted(NamedTuple):
    """From when to when a process has counted, and whether it ended in good order."""

    since: str
    until: str
    ended: bool


def note_uses(process: str, since: str, uses: Mapping[tuple[str, str], int], *, ended: bool) -> None:
    """Add (line, permission) → uses to those of today, inside a transaction, and say that the process has stored them.
    """
    # Across tenants: they have one policy.
    at = now()
    # In one order everywhere, so that two processes cannot wait for each other in a circle.
    rows = [{"line": line, "permission": permission, "day": at[:10], "count": count}
            for (line, permission), count in sorted(uses.items())]
    for some in pw.chunked(rows, _AT_ONCE):
        PolicyUse.insert_many(some).on_conflict(
            conflict_target=(PolicyUse.line, PolicyUse.permission, PolicyUse.day),
            update={PolicyUse.count: PolicyUse.count + pw.EXCLUDED.count}).execute()
    PolicyCounter.insert(id=process, since=since, stored_at=at, ended=ended).on_conflict(
        conflict_target=(PolicyCounter.id,), update={PolicyCounter.stored_at: at, PolicyCounter.ended: ended}).execute()


def used_since(day: str) -> dict[tuple[str, str], Used]:
    """(line, permission) → its uses from that day on."""
    # Across tenants, as above.
    query: Any = (PolicyUse.select(PolicyUse.line, PolicyUse.permission, pw.fn.SUM(PolicyUse.count),
                                   pw.fn.MAX(PolicyUse.day))
                  .where(PolicyUse.day >= day).group_by(PolicyUse.line, PolicyUse.permission))
    return {(line, permission): Used(int(count), last) for line, permission, count, last in query.tuples()}


def counted_since(time: str) -> list[Counted]:
    """The processes that have stored what they counted since that time, in the order in which they began."""
    # Across tenants, as above.
    query: Any = (PolicyCounter.select(PolicyCounter.since, PolicyCounter.stored_at, PolicyCounter.ended)
                  .where(PolicyCounter.stored_at >= time).order_by(PolicyCounter.since))
    return [Counted(since, until, bool(ended)) for since, until, ended in query.tuples()]


def purge(before: str, most: int) -> int:
    """Delete the counts of the days before that time, and up to `most` processes that counted last before it; how many
    of these."""
    # Across tenants, as above. An hour later there is at most one more day.
    PolicyUse.delete().where(PolicyUse.day < before[:10]).execute()
    return expire(PolicyCounter.stored_at, before, most)


_AT_ONCE = 500  # rows of one statement
