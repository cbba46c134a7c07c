"""The ledger of policies: each one that was in force, since when, by what, and its files."""

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

SHORTEST = 8  # characters of a version that name it
START, FILES, COMMAND, HTTP, REVERT, ACCEPT = "start", "files", "command", "http", "revert", "accept"
OPERATOR, SYSTEM = "operator", "system"
_TICK = 0.001  # seconds by which a policy is in force after the one before it


class PolicyVersion(Table):
    """A policy that came into force. The same policy may come back: then it has several rows.

    seq         the order in which rows were stored; `applied_at` is when the policy came into force
    version     the digest of its files
    cause       `start`, `files` (they were edited), `command`, `http`, `revert` or `accept`
    author      `operator`, `user:<id>`, or `system` where nobody said who it was
    late        whether the database could not be written when the policy came into force
    files       name → text
    packaged    names of those files that came with a plugin's package
    cases       the text of tests.yaml that it passed, where the rules are in the database; null: it had none
    changes     what it allows that the one before did not, and the reverse; null until that is known
    origin      of a change over HTTP, what its audit event is to tell of the request; null once it was told
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
    """The files of one node are no policy of an instance whose rules are in the database."""


class PolicyHistory(Table):
    """The ledger as each tenant reads it in pages: the same for all, and read only. `by` is the author."""

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
    """Add a row, inside a transaction, unless the one before or after it in time is of the same version, or it is there
    already: of several processes that see the same change one adds it. Whether it was added.

    Raises Stray for what would be the newest row where the rules are in the database: all nodes would use it.
    """
    _lock()
    after = PolicyVersion.select(PolicyVersion.version).where(PolicyVersion.applied_at > row.applied_at).order_by(
        PolicyVersion.applied_at, PolicyVersion.seq)
    neighbours = (_before(row.applied_at, None, PolicyVersion.version).first(), after.first())
    if any(one is not None and one.version == row.version for one in neighbours):
        return False
    if PolicyVersion.select(PolicyVersion.seq).where(PolicyVersion.id == row.id).exists():
        return False
    if neighbours[1] is None and policy_is_in_database():
        raise Stray
    row.save(force_insert=True)
    return True


def take_over() -> None:
    """Note that the rules are in the database from now on, inside a transaction: no row of files is added any more."""
    _lock()
    note_policy_in_database(True)


def append_after(row: PolicyVersion, holds: Callable[[PolicyVersion | None], bool]) -> bool:
    """Add a row as the newest, inside a transaction, if `holds` says so of the newest before it; whether it was added.

    Its time is put off where the clock of another node, which has added that one, is ahead. The rules are in the
    database from then on.
    """
    _lock()
    before = newest()
    if not holds(before):
        return False
    if before is not None:
        row.applied_at = max(row.applied_at, later(_TICK, before.applied_at))
    row.save(force_insert=True)
    note_policy_in_database(True)
    return True


def newest_id() -> str | None:
    """The id of the row of the policy that came into force last."""
    found = listed(PolicyVersion.id).first()
    return None if found is None else str(found.id)


def newest() -> PolicyVersion | None:
    """The policy that came into force last."""
    found: PolicyVersion | None = listed().first()
    return found


def newest_version() -> str | None:
    """The version of the policy that came into force last."""
    found = listed(PolicyVersion.version).first()
    return None if found is None else str(found.version)


def listed(*columns: pw.Node) -> pw.ModelSelect[PolicyVersion]:
    """A query over the whole ledger, the newest first."""
    return PolicyVersion.select(*columns).order_by(PolicyVersion.applied_at.desc(), PolicyVersion.seq.desc())


def predecessor(row: PolicyVersion) -> PolicyVersion | None:
    """The row before another one in time."""
    found: PolicyVersion | None = _before(row.applied_at, row.seq).first()
    return found


def named(version: str) -> PolicyVersion | None:
    """The newest row of a version, which may be shortened to its first `SHORTEST` characters; None without one."""
    if len(version) < SHORTEST or not version.isalnum():
        return None
    found: PolicyVersion | None = listed().where(PolicyVersion.version.startswith(version)).first()
    return found


def untold() -> Iterator[int]:
    """The numbers of rows whose changes are not known yet, the oldest first."""
    query = PolicyVersion.select(PolicyVersion.seq).where(PolicyVersion.changes.is_null()).order_by(PolicyVersion.seq)
    found: Any = query.tuples()
    yield from [seq for seq, in found]


def packaged(most: int) -> Iterator[tuple[int, list[str]]]:
    """The numbers of the newest `most` rows, and which of their files came with packages of plugins; where some did."""
    found: Any = listed(PolicyVersion.seq, PolicyVersion.packaged).limit(most)
    yield from [(row.seq, row.packaged) for row in found if row.packaged]


def by_number(seq: int) -> PolicyVersion | None:
    """One row."""
    found: PolicyVersion | None = PolicyVersion.get_or_none(PolicyVersion.seq == seq)
    return found


def tell(seq: int, changes: str) -> bool:
    """Fill in what a row has changed, as JSON, and drop its origin, unless that is known; whether it was not."""
    query = PolicyVersion.update({PolicyVersion.changes: changes, PolicyVersion.origin: None})
    return bool(query.where(PolicyVersion.seq == seq, PolicyVersion.changes.is_null()).execute())


def purge(most: int) -> int:
    """Delete up to `most` rows that were replaced before the retention of the audit trail begins; how many."""
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
    """The rows before a moment, or before the row `seq` of that moment, the newest first."""
    earlier = PolicyVersion.applied_at <= moment if seq is None else (
        (PolicyVersion.applied_at < moment) | ((PolicyVersion.applied_at == moment) & (PolicyVersion.seq < seq)))
    return listed(*columns).where(earlier)
