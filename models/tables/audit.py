"""Audit log: rows that are added and never changed, and the seals that chain them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from os import urandom
from typing import Any
from uuid import UUID

import peewee as pw

from models.engine.database import Database, current
from models.engine.errors import Erased
from models.engine.prepared import Bind, Prepared, cache_sql, prepare
from models.records import bulk
from models.records.columns import IdField, JsonField, TimeField, reader
from models.records.ids import is_id, new_id
from models.records.table import Table, whole
from models.records.times import now
from models.tables.erasure import Erasure, begun_among

SALT = 16  # bytes
ORIGINS = 100  # logins of one principal that show its known addresses
NEWEST = 1000  # rows among which the latest time is searched


class Audit(Table):
    """An audit event: one action of a principal, or `count` refusals of one source within a minute.

    seq         order in which rows were written; the API shows `id`
    rule        file and line that decided
    facts       JSON object with further facts, or null: the attempted `{"email"}`, `{"fields"}`, `{"filters",
                "count"}`, and the values that the policy decided by (docs/policy/facts.md)
    salt        16 random bytes: the key of the row's commitment (`models.tables.sealed_rows`)
    commitment  proof of the personal columns after they were erased; null until then
    """

    seq = pw.BigAutoField()
    id = IdField()
    tenant_id = IdField()
    time = TimeField()
    principal = pw.TextField()
    role = pw.TextField()
    action = pw.TextField()
    resource = pw.TextField()
    resource_id = IdField(null=True)
    address = pw.TextField(null=True)
    result = pw.TextField()
    reason = pw.TextField(null=True)
    rule = pw.TextField(null=True)
    policy_version = pw.TextField(null=True)
    request_id = pw.TextField(null=True)
    count = pw.IntegerField(default=1)
    facts = JsonField(null=True)
    salt = pw.BlobField(null=True, default=partial(urandom, SALT))
    commitment = pw.TextField(null=True)

    class Meta:
        table_name = "audit"


class Seal(Table):
    """A batch of audit rows, chained to the seal before it: `head` is an HMAC of `previous` and the rows.

    form       format of the signed bytes (`models.tables.sealed_rows`)
    committed  in a seal of form 1: a second HMAC, of `head` and the rows in form 2. It proves the rows after one was
               erased. Null if the rows were deleted already, or did not match the seal.
    """

    seq = pw.BigAutoField()
    first_seq = pw.BigIntegerField()
    last_seq = pw.BigIntegerField()
    rows = pw.IntegerField()
    previous = pw.TextField()
    head = pw.TextField()
    created_at = TimeField()
    form = pw.IntegerField(default=2)
    committed = pw.TextField(null=True)

    class Meta:
        table_name = "audit_seals"


class Retention(Table):
    """The only row: audit rows older than `before` may be deleted. Triggers refuse any other deletion.

    `models.tables.seals` deletes them.
    """

    id = pw.IntegerField(primary_key=True)
    before = TimeField()

    class Meta:
        table_name = "audit_retention"


def add(**values: Any) -> None:
    """Adds one audit row with these columns, including `tenant_id`. It must be fast: every write calls it.

    Other columns are null, except id, time, salt and a count of 1. Raises `Erased` if the principal is a user who is
    erased, or is being erased: the transaction, with all its writes, is then undone.
    """
    row = {**_EMPTY, "id": new_id(), "time": now(), "salt": urandom(SALT), **values}
    if not _adding(current).write(current, {**row, _PERSON: _person(row["principal"])}):
        raise Erased(row["principal"])


def newest_time() -> str | None:
    """Returns the latest time of the last `NEWEST` written rows, None without rows. The database is connected.

    The last row alone is not enough: after a clock was set back, later rows have earlier times.
    """
    # Across tenants: one clock for all of them.
    last = Audit.select(Audit.time).order_by(Audit.seq.desc()).limit(NEWEST).alias("last")
    latest = Audit.select(pw.fn.MAX(last.c.time)).from_(last).scalar()
    return None if latest is None else str(latest)


def unsealed() -> tuple[int, str | None]:
    """Returns the number of rows written since the newest seal, and the time of the oldest. The database is connected.
    """
    # Across tenants: they share one chain.
    sealed = Seal.select(Seal.last_seq).order_by(Seal.last_seq.desc()).limit(1).scalar() or 0
    oldest = Audit.select(Audit.seq, Audit.time).where(Audit.seq > sealed).order_by(Audit.seq).first()
    if oldest is None:
        return 0, None
    newest = Audit.select(Audit.seq).order_by(Audit.seq.desc()).limit(1).scalar()
    return int(newest - oldest.seq + 1), str(oldest.time)


def append(rows: Iterable[Audit]) -> int:
    """Adds audit rows, each with its own `tenant_id`, and fills in missing ids and times. Returns their number."""
    values = [whole(_stamped(row)) for row in _bare(list(rows))]
    if values:
        bulk.load(current, Audit, tuple(values[0]), [tuple(row.values()) for row in values])
    return len(values)


def append_missing(rows: Iterable[Audit]) -> None:
    """Adds those of the rows that are missing, by id.

    If another transaction is adding one of them, this waits until that transaction ends.
    """
    for batch in pw.chunked([whole(row) for row in _bare(list(rows))], _AT_ONCE):
        Audit.insert_many(batch).on_conflict(action="nothing", conflict_target=(Audit.id,)).execute()


def of_tenant(tenant_id: str, *columns: pw.Node) -> pw.ModelSelect[Audit]:
    """Returns a query over one tenant's audit rows."""
    return Audit.select(*columns).where(Audit.tenant_id == tenant_id)


def origins(tenant_id: str, principal: str, since: str) -> set[str]:
    """Returns the addresses of a principal's last `ORIGINS` logins since then.

    Reads an index of logins only. So the time it takes does not reveal the principal's other actions, or whether the
    principal exists.
    """
    # Constants in the statement itself: SQLite uses the index only if it sees that they equal those of the index.
    login = [column == pw.SQL(value) for column, value in (
        (Audit.resource, "'session'"), (Audit.action, "'create'"), (Audit.result, "'allowed'"))]
    rows: Any = (of_tenant(tenant_id, Audit.address).where(Audit.principal == principal, Audit.time >= since, *login)
                 .order_by(Audit.time.desc()).limit(ORIGINS))
    return {address for address, in rows.tuples() if address is not None}


def told_since(tenant_id: str, since: str, names: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yields these columns (including `time` and `id`) of one tenant's rows from a time on, the oldest first.

    Reads a few rows at a time by an index, so that no read is long. Raises Damaged.
    """
    columns = [Audit._meta.fields[name] for name in names]
    later = (Audit.time >= Bind("time"), (Audit.time > Bind("time")) | (Audit.id > Bind("id")))
    query = of_tenant(tenant_id, *columns).where(*later).order_by(Audit.time, Audit.id).limit(_READ_AT_ONCE)
    statement, read, last = prepare(current, query), reader(columns), {"time": since, "id": _BEFORE_ALL}
    while rows := list(map(read, statement.run(current, last))):
        yield from rows
        if len(rows) < _READ_AT_ONCE:
            return
        last = rows[-1]


def of_all() -> pw.ModelSelect[Audit]:
    """Returns a query over every tenant's audit rows."""
    # Across tenants: the operator is responsible for all of them.
    return Audit.select()


@cache_sql
def _adding(database: Database) -> Prepared:
    # One statement that also checks the erasures, because every write calls it.
    erased = Erasure.select(pw.SQL("1")).where(Erasure.user_id == Bind(_PERSON))
    values: dict[str, pw.Node] = {name: Bind(name) for name in _EMPTY}
    if database.dialect == "sqlite":
        # For INSERT … SELECT, SQLite sets a savepoint, at which FTS5 writes the words of the transaction so far. So a
        # row without a principal is refused instead.
        values["principal"] = pw.Case(None, [(pw.fn.EXISTS(erased), None)], Bind("principal"))
        return prepare(database, Audit.insert(values).on_conflict_ignore())
    row = pw.Select(columns=list(values.values())).where(~pw.fn.EXISTS(erased))
    return prepare(database, Audit.insert_from(row, [Audit._meta.fields[name] for name in values]))


def _person(principal: str) -> str | None:
    """Returns the id of a principal that is a user; None for any other."""
    id = principal.removeprefix("user:")
    return id if id != principal and is_id(id) else None


def _bare(rows: list[Audit]) -> list[Audit]:
    """Removes personal data from rows that waited in memory, if their user was erased meanwhile."""
    about = {id for row in rows for id in (_person(row.principal), row.resource_id) if id is not None}
    erased = begun_among(about) if about else set()
    for row in rows if erased else ():
        if _person(row.principal) in erased or (row.resource == "session" and row.resource_id in erased):
            row.address = row.request_id = row.facts = None
        elif row.resource_id in erased:
            row.facts = None
    return rows


def _stamped(row: Audit) -> Audit:
    row.id = row.id or new_id()
    row.time = row.time or now()
    return row


_READ_AT_ONCE = 1000  # rows
_BEFORE_ALL = str(UUID(int=0))  # an id
_AT_ONCE = 500  # rows of one statement: a database accepts some ten thousand values
_EMPTY = whole(Audit())
_PERSON = "person"
