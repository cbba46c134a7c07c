"""Epoch of an instance, which changes with each restore: restored rows may have the same ids and versions as before.

Cursors and entity tags contain it, so that those of an earlier epoch are not valid. Before the first restore it is
empty.
"""

from __future__ import annotations

from collections.abc import Callable

from models.engine.database import Database
from models.tables.instance import the_instance


class Epoch:
    """Epoch as this process knows it.

    followers  functions that drop caches of rows; called after another process has restored a backup
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self.value = self._read()
        self.followers: list[Callable[[], object]] = []

    def refresh(self) -> bool:
        """Checks for a new epoch, calls `followers`, and returns True if there is one. Raises `RowError`."""
        epoch = self._read()
        if epoch == self.value:
            return False
        self.value = epoch
        for follow in self.followers:
            follow()
        return True

    def _read(self) -> str:
        with self._database.connected():
            return the_instance().epoch
