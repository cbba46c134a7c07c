"""Faults around a server: a database that is silent, a lock that is held, a policy file that is none.

Each fault is a context manager: it holds while the block runs, and is gone afterwards.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass

from tests.databases import Server

from .server import Checkout

Happen = Callable[[Checkout, Server | None], AbstractContextManager[None]]


@dataclass(frozen=True)
class Fault:
    """`postgres`: it happens to a Postgres server, else to an instance on SQLite."""

    name: str
    happen: Happen
    postgres: bool = False


@contextmanager
def silent_postgres(checkout: Checkout, server: Server | None) -> Iterator[None]:
    """Postgres and all its processes stand still; the kernel still acknowledges what is sent to them."""
    assert server is not None
    with server.silent():
        yield


@contextmanager
def lost_standby(checkout: Checkout, server: Server | None) -> Iterator[None]:
    """Every COMMIT waits for a synchronous standby that is not there; `statement_timeout` does not end that."""
    assert server is not None
    with server.lost_standby():
        yield


@contextmanager
def held_writer_lock(checkout: Checkout, server: Server | None) -> Iterator[None]:
    """Another process of the instance holds the turn to write to SQLite."""
    place = os.open(f"{checkout.instance / 'gatepost.db'}.writer-lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(place, fcntl.LOCK_EX)
        yield
    finally:
        os.close(place)


@contextmanager
def policy_fifo(checkout: Checkout, server: Server | None) -> Iterator[None]:
    """A FIFO without a writer has the name of a policy file."""
    place = checkout.instance / "policies" / "pipes.csv"
    os.mkfifo(place)
    try:
        yield
    finally:
        # A reader that waits for a writer is let go.
        with suppress(OSError):
            os.close(os.open(place, os.O_WRONLY | os.O_NONBLOCK))
        place.unlink()


@contextmanager
def database_gone(checkout: Checkout, server: Server | None) -> Iterator[None]:
    """The file of the database has another name."""
    file = checkout.instance / "gatepost.db"
    away = file.rename(file.with_name("elsewhere.db"))
    try:
        yield
    finally:
        away.rename(file)


FAULTS: Mapping[str, Fault] = {one.name: one for one in (
    Fault("Postgres is stopped", silent_postgres, postgres=True),
    Fault("Postgres lost its standby", lost_standby, postgres=True),
    Fault("the turn to write is held", held_writer_lock),
    Fault("the SQLite file is gone", database_gone),
    Fault("a FIFO among the policy files", policy_fifo),
)}
