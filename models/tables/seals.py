"""Seals: committed audit rows, chained in batches, so that none can be changed or taken out unnoticed.

A seal covers every row after the seal before it, and its head is an HMAC over that seal's head and the rows. Who
signs is not known here: `sign` turns bytes into a head, `prove` says whether a head is of these bytes. Chaining
single rows would make writers wait for one another; a batch every few seconds costs them nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson
import peewee as pw

from models.engine.database import Database, current
from models.engine.errors import AlreadyExists, Damaged, TimedOut
from models.records.times import now
from models.tables.audit import Audit, Retention, Seal

BATCH = 500  # rows of a seal at most; also of one deletion
PATIENCE = 200  # milliseconds for which sealing may hold up writers on Postgres
_COLUMNS = (Audit.seq, Audit.id, Audit.tenant_id, Audit.time, Audit.principal, Audit.role, Audit.action,
            Audit.resource, Audit.resource_id, Audit.address, Audit.result, Audit.reason, Audit.rule,
            Audit.policy_version, Audit.request_id, Audit.count,
            pw.SQL("facts").alias("written"))  # the text itself: what it says might be written in other ways

_SEAL = {"seq": int, "last_seq": int, "rows": int, "previous": str, "head": str, "created_at": str}

Sign = Callable[[bytes], str]
Prove = Callable[[bytes, str], bool]


@dataclass
class Verdict:
    """What `verify` found. The trail is whole when there are no `findings`.

    sealed    rows that their seals prove
    unsealed  rows that are too new to have a seal
    retired   seals whose rows were deleted after their time
    """

    sealed: int = 0
    unsealed: int = 0
    retired: int = 0
    findings: list[str] = field(default_factory=list)


def seal(database: Database, sign: Sign) -> int:
    """Seal every committed row that has no seal yet; how many. Of several processes at once, one does it."""
    with database.connected():
        last = _last()
        sealed, after, head = 0, last.last_seq if last else 0, last.head if last else ""
        if _newest() <= after:
            return 0
        upto = _settled(database)
        while rows := _rows(after, upto, BATCH):
            seqs = [row[0] for row in rows]
            made = {Seal.first_seq: seqs[0], Seal.last_seq: seqs[-1], Seal.rows: len(rows), Seal.previous: head,
                    Seal.head: sign(_content(head, rows)), Seal.created_at: now()}
            try:
                database.transact(lambda made=made: Seal.insert(made).execute())  # type: ignore[misc]
            except AlreadyExists:
                break
            sealed, after, head = sealed + len(rows), seqs[-1], made[Seal.head]
        return sealed


def verify(database: Database, prove: Prove, known: Mapping[int, str] | None = None) -> Verdict:
    """Walk the whole chain. `known`: heads by number that were exported earlier and must still be there."""
    verdict, exported, after, head = Verdict(), dict(known or {}), 0, ""
    with database.connected():
        allowed = Retention.select(Retention.before).scalar() or ""
        for one in _readable(verdict):
            if one.previous != head:
                verdict.findings.append(f"seal {one.seq} does not continue the seal before it")
            if exported.pop(one.seq, one.head) != one.head:
                verdict.findings.append(f"seal {one.seq} is not the one that was exported")
            try:
                rows = _rows(after, one.last_seq, one.rows + 1)
            except (Damaged, ValueError) as damage:
                verdict.findings.append(f"rows {after + 1} to {one.last_seq} cannot be read: {damage}")
                after, head = one.last_seq, one.head
                continue
            if not rows and one.created_at < allowed:
                verdict.retired += 1
            elif len(rows) != one.rows:
                verdict.findings.append(f"rows {after + 1} to {one.last_seq}: {len(rows)} instead of {one.rows}")
            elif not prove(_content(one.previous, rows), one.head):
                verdict.findings.append(f"rows {after + 1} to {one.last_seq} are not those that were sealed")
            else:
                verdict.sealed += one.rows
            after, head = one.last_seq, one.head
        try:
            verdict.unsealed = Audit.select().where(Audit.seq > after).count()
        except Damaged as damage:
            verdict.findings.append(f"the rows after {after} cannot be read: {damage}")
    verdict.findings += [f"seal {number}, which was exported, is gone" for number in sorted(exported)]
    return verdict


def _readable(verdict: Verdict) -> Iterator[Seal]:
    """The seals in order, as far as they can be read; one that cannot is a finding, and those after it are not read."""
    last = 0
    try:
        for one in heads():
            if [type(getattr(one, name)) for name in _SEAL] != list(_SEAL.values()):
                raise Damaged("not a seal")
            yield one
            last = one.seq
    except (Damaged, ValueError) as error:
        verdict.findings.append(f"the seal after {last} cannot be read: {error}")


def heads() -> Iterator[Seal]:
    """Every seal in order: kept elsewhere, its head proves that the end of the trail was not cut off."""
    yield from Seal.select().order_by(Seal.seq).iterator()


def retire(database: Database, before: str) -> int:
    """Delete what was sealed before that time, in all tenants, a small transaction for each seal; how many rows.

    The newest seal's rows stay, so that numbers are never used twice.
    """
    with database.connected():
        oldest, last = Audit.select(Audit.seq).order_by(Audit.seq).limit(1).scalar(), _last()
        if oldest is None or last is None:
            return 0
        due = Seal.select().where(Seal.last_seq >= oldest, Seal.seq < last.seq, Seal.created_at < before)
        spans = [(one.first_seq, one.last_seq) for one in due.order_by(Seal.seq)]
        if spans:
            moved = Retention.update({Retention.before: before}).where(Retention.before < before)
            database.transact(moved.execute)
        return sum(database.transact(Audit.delete().where(Audit.seq.between(*span)).execute) for span in spans)


def _last() -> Seal | None:
    found: Seal | None = Seal.select().order_by(Seal.seq.desc()).first()
    return found


def _newest() -> int:
    """The number of the newest audit row, 0 without one."""
    return int(Audit.select(Audit.seq).order_by(Audit.seq.desc()).limit(1).scalar() or 0)


def _settled(database: Database) -> int:
    """The newest number below which no other row can turn up any more; 0 when that cannot be told now.

    On Postgres a number is taken before its row is committed, so for a moment no writer may be between the two.
    """
    def without_writers() -> int:
        current.execute_sql(f"SET LOCAL lock_timeout = {PATIENCE}")
        current.execute_sql("LOCK TABLE audit IN SHARE MODE")
        return _newest()

    if database.dialect == "sqlite":
        return _newest()
    try:
        return database.transact(without_writers)
    except TimedOut:
        return 0


def _rows(after: int, upto: int, limit: int) -> list[tuple[Any, ...]]:
    query = Audit.select(*_COLUMNS).where(Audit.seq > after, Audit.seq <= upto).order_by(Audit.seq).limit(limit)
    found: Any = query.tuples()
    return list(found)


def _content(previous: str, rows: list[tuple[Any, ...]]) -> bytes:
    # A damaged row may hold bytes: as anything else than what was sealed.
    return b"\n".join((previous.encode(), *(orjson.dumps(_sealed(row), default=str) for row in rows)))


def _sealed(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """What a seal proves of a row. Rows of before the column `facts` have none, and are proved without it."""
    return row if row[-1] is not None else row[:-1]
