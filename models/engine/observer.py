"""Interface for measurements: how long threads wait for the database, and how long checkpoints of its log take."""

from __future__ import annotations

from typing import Protocol


class Observer(Protocol):
    """Receives measurements from the threads that make them. Its methods must neither raise nor wait."""

    def waited(self, seconds: float) -> None:
        """Records that a thread waited: for its turn to write (SQLite) or for a connection (Postgres)."""

    def refused(self) -> None:
        """Records that a thread was refused: too many were waiting, or its deadline passed."""

    def copied(self, seconds: float, *, held_back: bool) -> None:
        """Records a checkpoint of SQLite's log; `held_back`: a long read still needs much of the log."""


class Unobserved:
    """Ignores all measurements."""

    def waited(self, seconds: float) -> None:
        pass

    def refused(self) -> None:
        pass

    def copied(self, seconds: float, *, held_back: bool) -> None:
        pass
