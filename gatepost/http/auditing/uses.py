"""When each service token, or session of the console, was last used: noted in memory, so that no request writes for its
own sake, and stored by the `Trail` together with refusals."""

from __future__ import annotations

from threading import Lock
from typing import NamedTuple

from models.base import later, now

MOST = 1000  # credentials of which is remembered when their use was noted
NOTED_EVERY = 60.0  # seconds between two notes that a credential is in use


class Use(NamedTuple):
    """When a credential was used; `until`: how long it then lasts, of one that ends when it is not used."""

    at: str
    until: str = ""


class Uses:
    """The uses that one process has noted and not stored yet. Every method may be called by any thread."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._waiting: dict[str, Use] = {}
        self._noted: dict[str, str] = {}

    def note(self, id: str, last_used_at: str | None, until: str = "") -> None:
        """Note that a credential is in use, unless that was noted within `NOTED_EVERY`."""
        moment = now()
        recently = max(last_used_at or "", self._noted.get(id, ""))
        if recently and recently > later(-NOTED_EVERY, moment):
            return
        with self._lock:
            if len(self._noted) > MOST:
                self._noted.clear()
            self._noted[id], self._waiting[id] = moment, Use(moment, until)

    def take(self) -> dict[str, Use]:
        """Id → its use, of all uses that wait."""
        with self._lock:
            taken, self._waiting = self._waiting, {}
        return taken

    def put_back(self, taken: dict[str, Use]) -> None:
        """Keep what could not be stored for the next time."""
        with self._lock:
            self._waiting = taken | self._waiting
