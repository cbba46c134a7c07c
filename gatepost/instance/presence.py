"""Heartbeat of this process: a row of `nodes`, written every few seconds, with its program, policy and keys."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from gatepost.http.operations import program
from gatepost.http.security.keys import Keys, fingerprints, prepared_fingerprint
from models.base import new_id, now
from models.engine.database import Database
from models.tables import node
from models.tables.node import Node
from policies.loading.watch import Watcher

EVERY = 5  # seconds between two heartbeats
_LONGEST_ERROR = 500  # characters
_VERSION = program.described()


class Presence:
    """The heartbeat row of one process. A forked process gets a new row."""

    def __init__(self, database: Database, instance: Path, policy: Watcher, keys: Keys) -> None:
        self._database, self._folder, self._policy, self._keys = database, str(instance), policy, keys
        self._process, self._id, self._started_at = 0, "", ""

    def report(self) -> None:
        """Writes the row. Raises `RowError`."""
        if self._process != os.getpid():
            self._process, self._id, self._started_at = os.getpid(), new_id(), now()
        policy, error = self._policy.current, self._policy.trouble
        row = Node(id=self._id, host=socket.gethostname(), folder=self._folder, pid=self._process, version=_VERSION,
                   policy_version=policy.version, policy_error=error and error[:_LONGEST_ERROR],
                   key_fingerprint=fingerprints(self._keys)[0],
                   prepared_fingerprint=prepared_fingerprint(self._keys), started_at=self._started_at)
        self._database.transact(lambda: node.report(row))

    def leave(self) -> None:
        """Deletes the row when this process stops. Raises `RowError`."""
        if self._process == os.getpid():
            self._process = 0
            self._database.transact(lambda: node.leave(self._id))
