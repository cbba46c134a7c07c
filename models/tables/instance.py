"""State of the whole instance, in one row, and the row of the write probe."""

from __future__ import annotations

import peewee as pw

from models.records.columns import TimeField
from models.records.table import Table
from models.records.times import now


class Instance(Table):
    """The only row of the instance.

    epoch               changes with each restore; empty before the first one; part of cursors and entity tags
    key_fingerprint     identifies the key ring of the instance; null until a process has noted it
    restored_at         time of the last restore
    policy_in_database  True if the rules are in the database: then no node's files may become the policy in force
    """

    id = pw.IntegerField(primary_key=True)
    epoch = pw.TextField()
    key_fingerprint = pw.TextField(null=True)
    restored_at = TimeField(null=True)
    policy_in_database = pw.BooleanField(default=False)

    class Meta:
        table_name = "instance"


class Heartbeat(Table):
    """The only row of the write probe; `written_at`: time of the last successful write."""

    id = pw.IntegerField(primary_key=True)
    written_at = TimeField(null=True)

    class Meta:
        table_name = "heartbeat"


def the_instance() -> Instance:
    """Returns the row of the instance, without the newest column: an older backup does not have it."""
    # Across tenants: one instance contains all of them.
    columns = (Instance.id, Instance.epoch, Instance.key_fingerprint, Instance.restored_at)
    return Instance.select(*columns).get()


def policy_is_in_database() -> bool:
    """True if the rules are in the database."""
    # Across tenants, as above.
    return bool(Instance.select(Instance.policy_in_database).scalar())


def note_fingerprint(fingerprint: str) -> None:
    """Notes the fingerprint of the key ring. Needs a transaction."""
    # Across tenants, as above.
    Instance.update({Instance.key_fingerprint: fingerprint}).execute()


def note_policy_in_database(stored: bool) -> None:
    """Notes whether the rules are in the database. Needs a transaction."""
    # Across tenants, as above.
    Instance.update({Instance.policy_in_database: stored}).execute()


def beat() -> str:
    """Writes the row of the write probe, and returns the time. Needs a transaction."""
    # Across tenants, as above.
    at = now()
    Heartbeat.update({Heartbeat.written_at: at}).execute()
    return at
