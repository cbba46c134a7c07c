"""Bytes of audit rows that a seal signs.

A commitment covers the personal columns: HMAC-SHA-256 (RFC 2104) over them, keyed with the 16 random bytes of the row's
own `salt`. So a user can be erased: values and salt are deleted, and the commitment is kept in their place. The seal
still proves the row, and nobody can guess the values.

Format 1 is from before commitments: each row with its values in the clear. Format 2 is the present one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hmac import digest
from typing import Any, NamedTuple

import orjson

from models.engine.database import Database, current
from models.engine.prepared import Bind, Prepared, cache_sql, prepare
from models.tables.audit import Audit

FORMAT = 2
BATCH = 500  # rows of one seal at most; also of one deletion or erasure


class SealedRow(NamedTuple):
    """Columns of a row, as the database returns them: fourteen public ones, three personal ones, and their proof.

    number  the column `count`
    """

    seq: int
    id: str
    tenant_id: str
    time: str
    principal: str
    role: str
    action: str
    resource: str
    resource_id: str | None
    result: str
    reason: str | None
    rule: str | None
    policy_version: str | None
    number: int
    address: str | None
    request_id: str | None
    facts: str | None  # the stored text: the same value could be written in other ways
    salt: bytes | None
    commitment: str | None


# Position of each column of format 1.
_IN_THE_CLEAR = tuple(map(SealedRow._fields.index, (
    "seq", "id", "tenant_id", "time", "principal", "role", "action", "resource", "resource_id", "address", "result",
    "reason", "rule", "policy_version", "request_id", "number", "facts")))
_COLUMNS = [Audit.count if name == "number" else Audit._meta.fields[name] for name in SealedRow._fields]


def between(after: int, last: int, limit: int) -> list[SealedRow]:
    """Returns the rows with numbers in (after, upto], at most `limit` of them."""
    rows = _between(current).run(current, {"after": after, "upto": last, "limit": limit})
    return list(map(SealedRow._make, rows))


@cache_sql
def _between(database: Database) -> Prepared:
    return prepare(database, Audit.select(*_COLUMNS).where(
        Audit.seq > Bind("after"), Audit.seq <= Bind("upto")).order_by(Audit.seq).limit(Bind("limit")))


def content(previous: str, rows: Iterable[SealedRow], form: int = FORMAT) -> bytes:
    """Returns the bytes that the head of a seal signs: the head before it, and each row."""
    leaf = _in_the_clear if form == 1 else _committed
    # A damaged row may contain bytes: `str` turns them into something that differs from the sealed text.
    return b"\n".join((previous.encode(), *(orjson.dumps(leaf(row), default=str) for row in rows)))


def commitment(row: SealedRow) -> str:
    """Returns the proof of the personal columns of a row, which is kept after they are erased."""
    if row.commitment is not None:
        return row.commitment
    # An older process that still runs beside this one writes rows without a salt.
    return digest(row.salt or b"", orjson.dumps(row[14:17], default=str), "sha256").hex()


def is_erased(row: SealedRow) -> bool:
    """True if the personal columns of a row were erased."""
    return row.commitment is not None


def is_half_erased(row: SealedRow) -> bool:
    """True if a row is marked as erased but has personal values. No erasure leaves a row in this state."""
    return is_erased(row) and any(value is not None for value in (*row[14:17], row.salt))


def erase(seqs: Sequence[int]) -> int:
    """Erases the personal columns of these rows. Returns the number of rows that were not erased before. Needs a
    transaction.

    Their seals still prove them. The caller adds the audit event of the erasure.
    """
    return sum(map(_erase, sorted(set(seqs))))


def _erase(seq: int) -> int:
    rows = between(seq - 1, seq, 1)
    if not rows or is_erased(rows[0]):
        return 0
    empty = {Audit.address: None, Audit.request_id: None, Audit.facts: None, Audit.salt: None}
    return int(Audit.update({Audit.commitment: commitment(rows[0]), **empty}).where(Audit.seq == seq).execute())


def _in_the_clear(row: SealedRow) -> list[Any]:
    """Returns a row in format 1. Rows from before the column `facts` are signed without it."""
    values = [row[place] for place in _IN_THE_CLEAR]
    return values if row.facts is not None else values[:-1]


def _committed(row: SealedRow) -> tuple[Any, ...]:
    return (*row[:14], commitment(row))
