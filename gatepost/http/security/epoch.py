"""The epoch of an instance: what its rows say anew after a restore, though their ids and versions are those of before.

It is a part of cursors and of entity tags, so that none of an earlier epoch is taken for one of this. Before the first
restore it is the empty text, and they look as if there were none.
"""

from __future__ import annotations

from collections.abc import Callable

from models.engine.database import Database
from models.tables.instance import the_instance


class Epoch:
    """The epoch as this process knows it.

    followers  are called when another process has restored a backup meanwhile: they drop what they know of its rows
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self.value = self._stored()
        self.followers: list[Callable[[], object]] = []

    def refresh(self) -> bool:
        """Look whether there is a new epoch, and tell `followers`; whether there is. Raises `RowError`."""
        found = self._stored()
        if found == self.value:
            return False
        self.value = found
        for follow in self.followers:
            follow()
        return True

    def _stored(self) -> str:
        with self._database.connected():
            return the_instance().epoch
