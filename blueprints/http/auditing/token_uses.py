"""When each service token was last used: noted in memory, so that no request writes for its own sake, and stored by the
`Trail` together with refusals."""

from __future__ import annotations

from threading import Lock

from models.base import later, now

MOST = 1000  # service tokens of which is remembered when their use was noted
NOTED_EVERY = 60.0  # seconds between two notes that a service token is in use


class TokenUses:
    """The uses that one process has noted and not stored yet. Every method may be called by any thread."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._waiting: dict[str, str] = {}
        self._noted: dict[str, str] = {}

    def note(self, token_id: str, last_used_at: str | None) -> None:
        """Note that a service token is in use, unless that was noted within `NOTED_EVERY`."""
        moment = now()
        recently = max(last_used_at or "", self._noted.get(token_id, ""))
        if recently and recently > later(-NOTED_EVERY, moment):
            return
        with self._lock:
            if len(self._noted) > MOST:
                self._noted.clear()
            self._noted[token_id] = self._waiting[token_id] = moment

    def take(self) -> dict[str, str]:
        """Id of a token → when it was used, of all uses that wait."""
        with self._lock:
            taken, self._waiting = self._waiting, {}
        return taken

    def put_back(self, taken: dict[str, str]) -> None:
        """Keep what could not be stored for the next time."""
        with self._lock:
            self._waiting = taken | self._waiting
