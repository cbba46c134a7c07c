"""Time limits of tests with a silent server: short only while it is silent, so that a busy machine fails no test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from models.engine.postgres.database import PostgresDatabase

LONG = 60.0  # seconds: longer than any statement of these tests on any machine
SHORT = 2.0  # seconds


def hurry(database: PostgresDatabase, seconds: float = SHORT) -> None:
    """Makes the database treat a server as silent after `seconds`, on existing connections too."""
    database._patience = seconds
    pool = database._pool
    for conn in (*pool._idle, *pool._lent):
        conn.patience = seconds


@contextmanager
def hurried(database: PostgresDatabase) -> Iterator[None]:
    """Gives up on a silent server soon in this block, and after a minute outside of it."""
    hurry(database)
    try:
        yield
    finally:
        hurry(database, LONG)
