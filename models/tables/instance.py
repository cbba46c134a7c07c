"""State of the whole instance, in one row, and the row of the write probe."""

from __future__ import annotations

import peewee as pw

from models.engine.database import Database
from models.records.columns import TimeField
from models.records.table import Table
from models.records.times import now


class Instance(Table):
    """The only row of the instance.

    epoch               changes with each restore; empty before the first one; part of cursors and entity tags
    key_fingerprint     identifies the key ring of the instance; null until a process has noted it
    restored_at         time of the last restore
    policy_in_database  True if the rules are in the database: then no node's files may become the policy in force
    rules               the rule set that the instance began with; null: the full one, which older instances have
    """

    id = pw.IntegerField(primary_key=True)
    epoch = pw.TextField()
    key_fingerprint = pw.TextField(null=True)
    restored_at = TimeField(null=True)
    policy_in_database = pw.BooleanField(default=False)
    rules = pw.TextField(null=True)

    class Meta:
        table_name = "instance"


class Heartbeat(Table):
    """The only row of the write probe; `written_at`: time of the last successful write."""

    id = pw.IntegerField(primary_key=True)
    written_at = TimeField(null=True)

    class Meta:
        table_name = "heartbeat"


def the_instance() -> Instance:
    """Returns the row of the instance, without the newest columns: an older backup does not have them."""
    # Across tenants: one instance contains all of them.
    columns = (Instance.id, Instance.epoch, Instance.key_fingerprint, Instance.restored_at)
    return Instance.select(*columns).get()


def policy_is_in_database() -> bool:
    """True if the rules are in the database."""
    # Across tenants, as above.
    return bool(Instance.select(Instance.policy_in_database).scalar())


def rule_set(database: Database) -> str | None:
    """Returns the rule set that the instance began with; None: the full one. Works before the migrations."""
    # Across tenants, as above.
    name = Instance._meta.table_name
    if not database.table_exists(name) or all(column.name != "rules" for column in database.get_columns(name)):
        return None
    chosen: str | None = Instance.select(Instance.rules).scalar()
    return chosen


def note_rule_set(rules: str) -> None:
    """Notes the rule set that the instance begins with. Needs a transaction."""
    # Across tenants, as above.
    Instance.update({Instance.rules: rules}).execute()


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
