"""Policy history: each policy that was in force, since when, by whom, and its files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import peewee as pw

from models.engine.database import current
from models.records.columns import IdField, JsonField, TimeField
from models.records.table import Table
from models.records.times import later
from models.tables.audit import Retention
from models.tables.instance import note_policy_in_database, policy_is_in_database

SHORTEST = 8  # shortest prefix of a version that names it, in characters
START, FILES, COMMAND, HTTP, REVERT, ACCEPT = "start", "files", "command", "http", "revert", "accept"
OPERATOR, SYSTEM = "operator", "system"
_TICK = 0.001  # seconds by which a policy follows the one before it, at least


class PolicyVersion(Table):
    """A policy that came into force. The same policy may come back: then it has several rows.

    seq         order in which rows were stored; `applied_at` is the time when the policy came into force
    version     digest of its files
    cause       `start`, `files` (they were edited), `command`, `http`, `revert` or `accept`
    author      `operator`, `user:<id>`, or `system` if nobody is known
    late        True if the database could not be written when the policy came into force
    files       name → text
    packaged    names of those files that came with a plugin's package
    cases       text of the tests.yaml that it passed, if the rules are in the database; null: it had none
    changes     permissions that it added and removed; null until that is known
    origin      facts of the request behind a change over HTTP, for its audit event; null once that is written
    """

    seq = pw.BigAutoField()
    id = IdField()
    version = pw.TextField()
    applied_at = TimeField()
    cause = pw.TextField()
    author = pw.TextField()
    note = pw.TextField(null=True)
    late = pw.BooleanField()
    files = JsonField()
    packaged = JsonField()
    cases = pw.TextField(null=True)
    changes = JsonField(null=True)
    origin = JsonField(null=True)

    class Meta:
        table_name = "policy_versions"


class Stray(Exception):
    """The files of one node cannot be the policy of an instance whose rules are in the database."""


class PolicyHistory(Table):
    """Policy history as each tenant reads it in pages: the same for all, and read-only. `by` is the author."""

    id = IdField(primary_key=True)
    tenant_id = IdField()
    version = pw.TextField()
    applied_at = TimeField()
    cause = pw.TextField()
    by = pw.TextField()
    note = pw.TextField(null=True)
    late = pw.BooleanField()
    changes = JsonField(null=True)

    class Meta:
        table_name = "policy_history"


def append(row: PolicyVersion) -> bool:
    """Adds a row and returns True, unless it is stored already or a neighbour in time has the same version. Needs a
    transaction.

    So if several processes see the same change, only one adds it. Raises Stray for a newest row if the rules are in the
    database, because all nodes would use it.
    """
    _lock()
    after = PolicyVersion.select(PolicyVersion.version).where(PolicyVersion.applied_at > row.applied_at).order_by(
        PolicyVersion.applied_at, PolicyVersion.seq)
    neighbours = (_before(row.applied_at, None, PolicyVersion.version).first(), after.first())
    if any(neighbour is not None and neighbour.version == row.version for neighbour in neighbours):
        return False
    if PolicyVersion.select(PolicyVersion.seq).where(PolicyVersion.id == row.id).exists():
        return False
    if neighbours[1] is None and policy_is_in_database():
        raise Stray
    row.save(force_insert=True)
    return True


def take_over() -> None:
    """Notes that the rules are in the database from now on. Needs a transaction. After that, no row of files is added.
    """
    _lock()
    note_policy_in_database(True)


def append_after(row: PolicyVersion, holds: Callable[[PolicyVersion | None], bool]) -> bool:
    """Adds a row as the newest if `holds` accepts the present newest. Returns True if it was added. Needs a
    transaction.

    If the clock of the node that added the present newest is ahead, the time of the new row is moved after it. From
    then on the rules are in the database.
    """
    _lock()
    present = newest()
    if not holds(present):
        return False
    if present is not None:
        row.applied_at = max(row.applied_at, later(_TICK, present.applied_at))
    row.save(force_insert=True)
    note_policy_in_database(True)
    return True


def newest_id() -> str | None:
    """Returns the id of the latest row."""
    row = listed(PolicyVersion.id).first()
    return None if row is None else str(row.id)


def newest() -> PolicyVersion | None:
    """Returns the latest row."""
    row: PolicyVersion | None = listed().first()
    return row


def newest_version() -> str | None:
    """Returns the version of the latest row."""
    row = listed(PolicyVersion.version).first()
    return None if row is None else str(row.version)


def listed(*columns: pw.Node) -> pw.ModelSelect[PolicyVersion]:
    """Returns a query over the whole policy history, the newest first."""
    return PolicyVersion.select(*columns).order_by(PolicyVersion.applied_at.desc(), PolicyVersion.seq.desc())


def predecessor(row: PolicyVersion) -> PolicyVersion | None:
    """Returns the row before this one in time."""
    row_before: PolicyVersion | None = _before(row.applied_at, row.seq).first()
    return row_before


def named(version: str) -> PolicyVersion | None:
    """Returns the newest row of a version, given in full or by its first `SHORTEST` or more characters; None if there
    is none."""
    if len(version) < SHORTEST or not version.isalnum():
        return None
    row: PolicyVersion | None = listed().where(PolicyVersion.version.startswith(version)).first()
    return row


def unreported() -> Iterator[int]:
    """Yields the numbers of rows whose changes are not known yet, the oldest first."""
    query = PolicyVersion.select(PolicyVersion.seq).where(PolicyVersion.changes.is_null()).order_by(PolicyVersion.seq)
    rows: Any = query.tuples()
    yield from [seq for seq, in rows]


def packaged(most: int) -> Iterator[tuple[int, list[str]]]:
    """Yields number and packaged files of the rows with files of plugin packages, among the newest `most` rows."""
    rows: Any = listed(PolicyVersion.seq, PolicyVersion.packaged).limit(most)
    yield from [(row.seq, row.packaged) for row in rows if row.packaged]


def by_number(seq: int) -> PolicyVersion | None:
    """Returns the row with this number, or None."""
    row: PolicyVersion | None = PolicyVersion.get_or_none(PolicyVersion.seq == seq)
    return row


def tell(seq: int, changes: str) -> bool:
    """Stores the changes of a row as JSON, and deletes its origin. Returns False if the changes were known already."""
    query = PolicyVersion.update({PolicyVersion.changes: changes, PolicyVersion.origin: None})
    return bool(query.where(PolicyVersion.seq == seq, PolicyVersion.changes.is_null()).execute())


def purge(most: int) -> int:
    """Deletes up to `most` rows that were replaced before the retention of the audit log begins. Returns their number.
    """
    before = Retention.select(Retention.before).scalar()
    last = listed(PolicyVersion.seq, PolicyVersion.applied_at).where(PolicyVersion.applied_at < before).first()
    if last is None:
        return 0
    old: Any = PolicyVersion.select(PolicyVersion.seq).where(PolicyVersion.applied_at < last.applied_at).limit(most)
    return int(PolicyVersion.delete().where(PolicyVersion.seq.in_([seq for seq, in old.tuples()])).execute())


def _lock() -> None:
    if current.dialect == "postgres":
        current.execute_sql("LOCK TABLE policy_versions IN EXCLUSIVE MODE")


def _before(moment: str, seq: int | None, *columns: pw.Node) -> pw.ModelSelect[PolicyVersion]:
    """Returns a query for the rows before a time, or before the row `seq` of that time, the newest first."""
    earlier = PolicyVersion.applied_at <= moment if seq is None else (
        (PolicyVersion.applied_at < moment) | ((PolicyVersion.applied_at == moment) & (PolicyVersion.seq < seq)))
    return listed(*columns).where(earlier)
