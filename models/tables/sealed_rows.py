"""What a seal proves of the rows of the audit trail: the bytes that are signed.

The personal columns are covered by a commitment alone: HMAC-SHA-256 (RFC 2104) over them, keyed with the 16 random
bytes of the row's own `salt`. So a person can be erased: value and salt go, the commitment is kept in their place, the
seal still proves the row, and nobody can try which value it was.

Format 1 is that of seals before there were commitments: each row with its values in the clear. Format 2 is today's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hmac import digest
from typing import Any

import orjson
import peewee as pw

from models.tables.audit import Audit

FORMAT = 2
PERSONAL = ("address", "request_id", "facts")
BATCH = 500  # rows of one seal at most; also of one deletion or erasure
_OF_FORMAT_1 = ("seq", "id", "tenant_id", "time", "principal", "role", "action", "resource", "resource_id", "address",
                "result", "reason", "rule", "policy_version", "request_id", "count", "facts")
_PUBLIC = tuple(name for name in _OF_FORMAT_1 if name not in PERSONAL)
_NAMES = (*_OF_FORMAT_1, "salt", "commitment")
# The text of facts itself: what it says might be written in other ways.
_COLUMNS = [pw.SQL("facts").alias("written") if name == "facts" else Audit._meta.fields[name] for name in _NAMES]

SealedRow = dict[str, Any]
"""A row by column name, with its facts as text."""


def between(after: int, upto: int, limit: int) -> list[SealedRow]:
    """The rows with numbers in (after, upto], at most `limit` of them."""
    query = Audit.select(*_COLUMNS).where(Audit.seq > after, Audit.seq <= upto).order_by(Audit.seq).limit(limit)
    found: Any = query.tuples()
    return [dict(zip(_NAMES, row, strict=True)) for row in found]


def content(previous: str, rows: Iterable[SealedRow], form: int = FORMAT) -> bytes:
    """What the head of a seal signs: the head before it, and each row."""
    leaf = _in_the_clear if form == 1 else _committed
    # A damaged row may hold bytes: as anything else than what was sealed.
    return b"\n".join((previous.encode(), *(orjson.dumps(leaf(row), default=str) for row in rows)))


def commitment(row: SealedRow) -> str:
    """What proves the personal columns of a row; where they were erased, what is kept of them."""
    kept: str | None = row["commitment"]
    if kept is not None:
        return kept
    # An older process that still runs beside this one gives its rows no salt.
    return digest(row["salt"] or b"", orjson.dumps([row[name] for name in PERSONAL], default=str), "sha256").hex()


def is_erased(row: SealedRow) -> bool:
    """Whether the personal columns of a row were erased."""
    return row["commitment"] is not None


def is_half_erased(row: SealedRow) -> bool:
    """Whether a row that counts as erased has values all the same: no erasure leaves it so."""
    return is_erased(row) and any(row[name] is not None for name in (*PERSONAL, "salt"))


def erase(seqs: Sequence[int]) -> int:
    """Erase the personal columns of these rows, inside a transaction; how many had not been erased.

    Their seals still prove them. What an erasure says of itself is a row that the caller adds.
    """
    return sum(_erase(some) for some in pw.chunked(sorted(set(seqs)), BATCH))


def _erase(seqs: Sequence[int]) -> int:
    found: Any = Audit.select(*_COLUMNS).where(Audit.seq.in_(list(seqs)), Audit.commitment.is_null()).tuples()
    rows: Iterator[SealedRow] = (dict(zip(_NAMES, row, strict=True)) for row in found)
    kept = [(commitment(row), row["seq"]) for row in rows]
    gone = dict.fromkeys((*PERSONAL, "salt"))
    for proof, seq in kept:
        Audit.update({Audit.commitment: proof, **{Audit._meta.fields[name]: value for name, value in gone.items()}},
                     ).where(Audit.seq == seq).execute()
    return len(kept)


def _in_the_clear(row: SealedRow) -> list[Any]:
    """A row as format 1 has it. Rows of before the column `facts` have none, and are proved without it."""
    values = [row[name] for name in _OF_FORMAT_1]
    return values if row["facts"] is not None else values[:-1]


def _committed(row: SealedRow) -> list[Any]:
    return [*(row[name] for name in _PUBLIC), commitment(row)]
