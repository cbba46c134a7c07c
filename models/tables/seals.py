"""Seals: committed audit rows, chained in batches, so that a change or deletion of any row is detected.

A seal covers every row after the seal before it. Its head is an HMAC over that seal's head and the rows. The signer is
not known here (`Sealer`). Chaining single rows would make writers wait for each other; a batch every few seconds costs
them nothing.

Seals are deleted with their rows after the retention, except the newest of them: the remaining chain begins with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from typing import Any

from models.engine.database import Database, current
from models.engine.errors import AlreadyExists, Damaged, TimedOut
from models.engine.sealer import Sealer
from models.records.times import now
from models.tables import sealed_rows
from models.tables.audit import Audit, Retention, Seal
from models.tables.sealed_rows import BATCH, SealedRow

PATIENCE = 200  # milliseconds for which sealing may block writers on Postgres
_SEAL: Mapping[str, tuple[type, ...]] = {
    "seq": (int,), "last_seq": (int,), "rows": (int,), "previous": (str,), "head": (str,), "created_at": (str,),
    "form": (int,), "committed": (str, type(None))}


@dataclass(frozen=True, slots=True)
class Proof:
    """Proof of one row: creation time and head of its seal; `proved`: the rows of the seal are unchanged."""

    created_at: str
    head: str
    proved: bool


@dataclass
class Verdict:
    """Result of `verify`. Without `findings`, the audit log is complete and unchanged.

    sealed    number of rows that their seals prove
    erased    number of those whose personal columns were erased
    unsealed  number of rows that are too new to have a seal
    retired   number of seals whose rows were deleted after their retention
    older     number of exported heads whose seals were deleted after their retention
    """

    sealed: int = 0
    erased: int = 0
    unsealed: int = 0
    retired: int = 0
    older: int = 0
    findings: list[str] = field(default_factory=list)


def seal(database: Database, sealer: Sealer) -> int:
    """Seals every committed row that has no seal yet. Returns their number. If several processes try at once, one does
    it."""
    with database.connected():
        last = _last()
        sealed, after, head = 0, last.last_seq if last else 0, last.head if last else ""
        if _newest() <= after:
            return 0
        settled = _settled(database)
        while rows := sealed_rows.between(after, settled, BATCH):
            values: dict[Any, Any] = {
                Seal.first_seq: rows[0].seq, Seal.last_seq: rows[-1].seq, Seal.rows: len(rows), Seal.previous: head,
                Seal.head: sealer.sign(sealed_rows.content(head, rows)), Seal.created_at: now(),
                Seal.form: sealed_rows.FORMAT}
            try:
                database.transact(lambda values=values: Seal.insert(values).execute())  # type: ignore[misc]
            except AlreadyExists:
                break
            sealed, after, head = sealed + len(rows), values[Seal.last_seq], values[Seal.head]
        return sealed


def verify(database: Database, sealer: Sealer, known: Mapping[int, str] | None = None) -> Verdict:
    """Checks the whole chain. `known`: exported heads by number, whose seals must still exist."""
    verdict, exported, last = Verdict(), dict(known or {}), None
    with database.connected():
        allowed = Retention.select(Retention.before).scalar() or ""
        for seal in _readable(verdict):
            if last is None:
                after = _end_of_previous(seal)
                retired_numbers = [number for number in exported if number < seal.seq]
            else:
                after = last.last_seq
            if exported.pop(seal.seq, seal.head) != seal.head:
                verdict.findings.append(f"seal {seal.seq} is not the one that was exported")
            retired = _judge(seal, after, sealer, allowed, verdict)
            if last is None and retired:
                # The seals before it were deleted after their retention.
                verdict.older = sum(exported.pop(number) is not None for number in retired_numbers)
            elif seal.previous != (last.head if last else ""):
                verdict.findings.append(f"seal {seal.seq} does not continue the seal before it")
            last = seal
        try:
            verdict.unsealed = Audit.select().where(Audit.seq > (last.last_seq if last else 0)).count()
        except Damaged as damage:
            verdict.findings.append(f"the rows after {last.last_seq if last else 0} cannot be read: {damage}")
    verdict.findings += [f"seal {number}, which was exported, is gone" for number in sorted(exported)]
    return verdict


def proof_of(id: str, sealer: Sealer) -> Proof | None:
    """Returns the proof of a row, given by id; None while the row is too new to have a seal.

    Reads at most `BATCH` rows. Only a check of the whole chain shows that no later seal is missing.
    """
    number = Audit.select(Audit.seq).where(Audit.id == id)
    seal = Seal.select().where(Seal.last_seq >= number).order_by(Seal.last_seq).first()
    if seal is None:
        return None
    last = Seal.select().where(Seal.seq < seal.seq).order_by(Seal.seq.desc()).first()
    verdict = Verdict()
    _judge(seal, last.last_seq if last else _end_of_previous(seal), sealer, "", verdict)
    return Proof(seal.created_at, seal.head, not verdict.findings and (last is None or seal.previous == last.head))


def _end_of_previous(oldest: Seal) -> int:
    """Returns the number of the row after which the oldest remaining seal begins."""
    return int(oldest.first_seq) - 1 if oldest.previous else 0


def _judge(seal: Seal, after: int, sealer: Sealer, allowed: str, verdict: Verdict) -> bool:
    """Checks one seal and adds the result to the verdict. Returns True if its rows were deleted after their retention.
    """
    span = f"rows {after + 1} to {seal.last_seq}"
    try:
        rows = sealed_rows.between(after, seal.last_seq, seal.rows + 1)
    except (Damaged, ValueError) as damage:
        verdict.findings.append(f"{span} cannot be read: {damage}")
        return False
    if not rows and seal.created_at < allowed:
        verdict.retired += 1
        return True
    if len(rows) != seal.rows:
        verdict.findings.append(f"{span}: {len(rows)} instead of {seal.rows}")
    elif not _is_proved(seal, rows, sealer):
        verdict.findings.append(f"{span} are not those that were sealed")
    else:
        verdict.sealed += seal.rows
        verdict.erased += sum(map(sealed_rows.is_erased, rows))
    return False


def _is_proved(seal: Seal, rows: list[SealedRow], sealer: Sealer) -> bool:
    if any(map(sealed_rows.is_half_erased, rows)):
        return False
    if seal.form == 1 and any(map(sealed_rows.is_erased, rows)):
        # The clear text that the old head signs was erased.
        return seal.committed is not None and sealer.prove(sealed_rows.content(seal.head, rows), seal.committed)
    return sealer.prove(sealed_rows.content(seal.previous, rows, seal.form), seal.head)


def _readable(verdict: Verdict) -> Iterator[Seal]:
    """Yields the seals in order. The first unreadable seal is added as a finding and ends the iteration."""
    last = 0
    try:
        for seal in heads():
            if not all(isinstance(getattr(seal, name), types) for name, types in _SEAL.items()):
                raise Damaged("not a seal")
            yield seal
            last = seal.seq
    except (Damaged, ValueError) as error:
        verdict.findings.append(f"the seal after {last} cannot be read: {error}")


def heads() -> Iterator[Seal]:
    """Yields every seal in order. A head that is kept elsewhere proves that the end of the audit log was not cut off.
    """
    yield from Seal.select().order_by(Seal.seq).iterator()


def retire(database: Database, before: str) -> int:
    """Deletes rows that were sealed before that time, in all tenants, in one small transaction for each seal. Returns
    the number of rows.

    Keeps the rows of the newest seal, so that no number is used twice. Of the seals without rows, keeps the newest.
    """
    with database.connected():
        oldest, last = Audit.select(Audit.seq).order_by(Audit.seq).limit(1).scalar(), _last()
        if oldest is None or last is None:
            return 0
        due = Seal.select().where(Seal.last_seq >= oldest, Seal.seq < last.seq, Seal.created_at < before)
        spans = [(seal.first_seq, seal.last_seq) for seal in due.order_by(Seal.seq)]
        if spans:
            moved = Retention.update({Retention.before: before}).where(Retention.before < before)
            database.transact(moved.execute)
        number = sum(database.transact(Audit.delete().where(Audit.seq.between(*span)).execute) for span in spans)
        database.transact(_forget_seals)
        return number


def _forget_seals() -> None:
    first = Audit.select(Audit.seq).order_by(Audit.seq).limit(1).scalar()
    bare = Seal.select(Seal.seq).where(Seal.last_seq < first).order_by(Seal.seq.desc())
    if (newest := bare.limit(1).scalar()) is not None:
        Seal.delete().where(Seal.seq < newest).execute()


def newest_head() -> str | None:
    """Returns the head of the newest seal, None without a seal. The database is connected."""
    last = _last()
    return None if last is None else last.head


def has_seal_of(kids: Iterable[str]) -> bool:
    """True if a key with one of these names (`kid`) has signed a seal. The database is connected."""
    signed = reduce(or_, (Seal.head.startswith(f"{kid}:") for kid in kids))
    return bool(Seal.select().where(signed).exists())


def _last() -> Seal | None:
    seal: Seal | None = Seal.select().order_by(Seal.seq.desc()).first()
    return seal


def _newest() -> int:
    """Returns the number of the newest audit row, 0 without rows."""
    return int(Audit.select(Audit.seq).order_by(Audit.seq.desc()).limit(1).scalar() or 0)


def _settled(database: Database) -> int:
    """Returns the newest number below which no other row can appear any more; 0 if that is not known now.

    On Postgres a row gets its number before it is committed, so this waits for a moment without writers.
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
