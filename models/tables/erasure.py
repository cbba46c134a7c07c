"""Erasures: ids of users who were erased, or are being erased, and the times. No other personal data."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import peewee as pw

from models.engine.database import Database, current
from models.engine.prepared import Bind, Prepared, cache_sql, prepare
from models.records.columns import IdField, TimeField
from models.records.table import Table
from models.records.times import now

_BATCH = 500  # ids in one statement


class Erasure(Table):
    """Erasure of the user `user_id`, which is a pseudonym from then on.

    begun_at   time from which nothing more is stored in the user's name
    erased_at  time when the user's rows were erased; null while that is under way
    heir_id    the user who received the rows that were handed over; null: they stayed
    """

    user_id = IdField(primary_key=True)
    begun_at = TimeField()
    erased_at = TimeField(null=True)
    heir_id = IdField(null=True)

    class Meta:
        table_name = "erasures"


def begin(user_id: str, heir_id: str | None) -> None:
    """Records that an erasure begins, or begins again. Needs a transaction."""
    Erasure.insert(user_id=user_id, begun_at=now(), heir_id=heir_id).on_conflict(
        conflict_target=(Erasure.user_id,), update={Erasure.heir_id: heir_id}).execute()


def end(user_id: str, at: str) -> None:
    """Records that the rows of a user are erased, in the transaction that erases them."""
    Erasure.update({Erasure.erased_at: at}).where(Erasure.user_id == user_id, Erasure.erased_at.is_null()).execute()


def note(erasures: Iterable[Erasure]) -> None:
    """Records erasures of another database. Needs a transaction. Known erasures stay unchanged."""
    for entry in erasures:
        Erasure.insert(user_id=entry.user_id, begun_at=entry.begun_at, heir_id=entry.heir_id).on_conflict(
            action="nothing", conflict_target=(Erasure.user_id,)).execute()


def has_begun(user_id: str) -> bool:
    """True if the user is erased, or is being erased."""
    return bool(_begun(current).run(current, {"user": user_id}))


@cache_sql
def _begun(database: Database) -> Prepared:
    return prepare(database, Erasure.select(pw.SQL("1")).where(Erasure.user_id == Bind("user")))


def begun_among(ids: Collection[str]) -> set[str]:
    """Returns the users among `ids` who are erased, or are being erased."""
    return {row.user_id for batch in pw.chunked(sorted(ids), _BATCH)
            for row in Erasure.select(Erasure.user_id).where(Erasure.user_id.in_(batch))}


def erasures(database: Database) -> list[Erasure]:
    """Returns all erasures, in the order in which they began; none for an older database without the table."""
    with database.connected():
        if not database.table_exists("erasures"):
            return []
        return list(Erasure.select().order_by(Erasure.begun_at, Erasure.user_id))


def unfinished() -> list[str]:
    """Returns the ids of users whose erasure has begun and not ended."""
    return [row.user_id for row in Erasure.select(Erasure.user_id).where(Erasure.erased_at.is_null())]
