"""Who is told how long threads wait for the database, and how its log is copied: metrics, where there are any."""

from __future__ import annotations

from typing import Protocol


class Observer(Protocol):
    """Is told of what takes long, by the threads that meet it. None of this may raise or wait."""

    def waited(self, seconds: float) -> None:
        """A thread had to wait: for its turn to write (SQLite), for a connection (Postgres)."""

    def refused(self) -> None:
        """A thread was refused: there were too many, or its time was over."""

    def copied(self, seconds: float, *, held_back: bool) -> None:
        """SQLite's log was copied into its file; `held_back`: a long read still needs much of it."""


class Unobserved:
    """Tells nobody."""

    def waited(self, seconds: float) -> None:
        pass

    def refused(self) -> None:
        pass

    def copied(self, seconds: float, *, held_back: bool) -> None:
        pass
