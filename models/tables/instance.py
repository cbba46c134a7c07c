"""What is true of the instance as a whole, whatever tenants it has: one row; and the row that health writes."""

from __future__ import annotations

import peewee as pw

from models.records.columns import TimeField
from models.records.table import Table
from models.records.times import now


class Instance(Table):
    """The one row of the instance.

    epoch               what a restore makes anew, the empty text before the first one: part of cursors and entity tags
    key_fingerprint     by which the key ring of the instance is known again; null until a process has noted it
    restored_at         when it was last restored
    policy_in_database  whether its rules are in the database: then no node's files may be noted as the policy in force
    """

    id = pw.IntegerField(primary_key=True)
    epoch = pw.TextField()
    key_fingerprint = pw.TextField(null=True)
    restored_at = TimeField(null=True)
    policy_in_database = pw.BooleanField(default=False)

    class Meta:
        table_name = "instance"


class Heartbeat(Table):
    """The one row that is written to learn whether writes are possible; `written_at`: when that was last done."""

    id = pw.IntegerField(primary_key=True)
    written_at = TimeField(null=True)

    class Meta:
        table_name = "heartbeat"


def the_instance() -> Instance:
    """The row of the instance, without what only the newest migration has added: a backup of before is asked, too."""
    # Across tenants: one instance has them all.
    known = (Instance.id, Instance.epoch, Instance.key_fingerprint, Instance.restored_at)
    return Instance.select(*known).get()


def policy_is_in_database() -> bool:
    """Whether the rules are in the database."""
    # Across tenants, as above.
    return bool(Instance.select(Instance.policy_in_database).scalar())


def note_fingerprint(fingerprint: str) -> None:
    """Note by what the key ring is known again, inside a transaction."""
    # Across tenants, as above.
    Instance.update({Instance.key_fingerprint: fingerprint}).execute()


def note_policy_in_database(stored: bool) -> None:
    """Note whether the rules are in the database, inside a transaction."""
    # Across tenants, as above.
    Instance.update({Instance.policy_in_database: stored}).execute()


def beat() -> str:
    """Write the row of the heartbeat, inside a transaction; when."""
    # Across tenants, as above.
    at = now()
    Heartbeat.update({Heartbeat.written_at: at}).execute()
    return at
