"""Processes that serve this database, and their state. A node is an instance folder on a host.

A process writes its row every few seconds and deletes it when it stops. The row of a killed process gets old.
"""

from __future__ import annotations

import time

import peewee as pw

from models.engine.database import Database, current
from models.engine.lease_clock import moment
from models.records.columns import IdField, TimeField
from models.records.table import Table, whole

ALIVE = 20.0  # seconds without a write of its row after which a process counts as ended
_FORGOTTEN = 86_400.0  # seconds after which the row of a killed process is deleted


class Node(Table):
    """A process of a node.

    host, folder     place of its instance
    version          of the program
    policy_version   in force there; `policy_error`: why a newer one is not
    key_fingerprint  of the key in its ring that signs; `prepared_fingerprint`: of the next signing key
    clock_ahead      seconds by which its clock is ahead of the server's; None on SQLite, whose processes share one
    epoch, seen      time of the last write of this row, by the clock of leases
    """

    id = IdField(primary_key=True)
    host = pw.TextField()
    folder = pw.TextField()
    pid = pw.IntegerField()
    version = pw.TextField()
    policy_version = pw.TextField()
    policy_error = pw.TextField(null=True)
    key_fingerprint = pw.TextField()
    prepared_fingerprint = pw.TextField(null=True)
    clock_ahead = pw.DoubleField(null=True)
    started_at = TimeField()
    epoch = pw.TextField()
    seen = pw.DoubleField()

    class Meta:
        table_name = "nodes"


def report(row: Node) -> None:
    """Writes the row of a process, with the time and the lead of its clock. Needs a transaction."""
    start = time.time()
    at = moment(current)
    row.epoch, row.seen = at.epoch, at.seconds
    if current.dialect == "postgres":
        # The server answered between the two times.
        row.clock_ahead = (start + time.time()) / 2 - at.seconds
    values = whole(row)
    Node.insert(values).on_conflict(conflict_target=[Node.id], update=values).execute()
    old = (Node.epoch == at.epoch) & (Node.seen < at.seconds - _FORGOTTEN)
    # Processes of another boot of this machine have ended.
    Node.delete().where(old | (Node.epoch != at.epoch)).execute()


def leave(id: str) -> None:
    """Deletes the row of a process that stops. Needs a transaction."""
    Node.delete().where(Node.id == id).execute()


def alive(database: Database) -> list[Node]:
    """Returns the rows of running processes, by host, folder and age. The caller holds a connection."""
    at = moment(database)
    return list(Node.select().where(Node.epoch == at.epoch, Node.seen > at.seconds - ALIVE)
                .order_by(Node.host, Node.folder, Node.started_at, Node.pid))


def places(rows: list[Node]) -> list[tuple[str, str]]:
    """Returns the nodes of these processes as (host, folder), each once."""
    return list(dict.fromkeys((row.host, row.folder) for row in rows))
