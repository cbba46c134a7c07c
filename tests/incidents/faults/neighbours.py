"""A Postgres or Redis that does not answer, or answers wrongly."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from threading import Event, Thread
from time import sleep
from urllib.parse import urlsplit, urlunsplit

import psycopg

from tests.databases import free_port

from .fault import Fault, Place


def silent(place: Place):
    return place.postgres.silent()


def lost_standby(place: Place):
    return place.postgres.lost_standby()


def refusing(place: Place):
    return place.postgres.refusing(_url(place))


@contextmanager
def no_server(place: Place) -> Iterator[None]:
    """The server is killed, and started later."""
    place.postgres.stop()
    try:
        yield
    finally:
        place.postgres.start()


@contextmanager
def restarted(place: Place) -> Iterator[None]:
    """The server is killed and started at once."""
    place.postgres.stop()
    place.postgres.start()
    yield


@contextmanager
def read_only(place: Place) -> Iterator[None]:
    """The server refuses writes, like a standby."""
    name = urlsplit(_url(place)).path[1:]
    place.postgres.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    place.postgres.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")
    try:
        yield
    finally:
        with psycopg.connect(place.postgres.url("postgres"), autocommit=True) as connection:
            connection.execute(f"ALTER DATABASE {name} RESET default_transaction_read_only")
            connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,))


@contextmanager
def no_connections(place: Place) -> Iterator[None]:
    """Other programs have taken all connections, and those of the service were ended."""
    name = urlsplit(_url(place)).path[1:]
    with ExitStack() as stack, psycopg.connect(place.postgres.url("postgres"), autocommit=True) as operator:
        operator.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,))
        for _ in range(3):
            with suppress(psycopg.OperationalError):
                while True:
                    stack.enter_context(psycopg.connect(place.postgres.url("postgres")))
            operator.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,))
        yield


@contextmanager
def locked_table(place: Place) -> Iterator[None]:
    """Another session has locked the articles."""
    with psycopg.connect(_url(place)) as connection:
        connection.execute("LOCK TABLE articles IN ACCESS EXCLUSIVE MODE")
        yield


class Wire:
    """A proxy between the service and its database server. It can swallow everything that is sent."""

    def __init__(self, port: int) -> None:
        self._to, self._open = port, Event()
        self._open.set()
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        Thread(target=self._accept, daemon=True).start()

    @contextmanager
    def swallowing(self) -> Iterator[None]:
        self._open.clear()
        try:
            yield
        finally:
            self._open.set()

    def close(self) -> None:
        self._listening.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                one, _ = self._listening.accept()
                Thread(target=self._join, args=(one,), daemon=True).start()

    def _join(self, one: socket.socket) -> None:
        self._open.wait()
        with suppress(OSError):
            other = socket.create_connection(("127.0.0.1", self._to))
            Thread(target=self._carry, args=(other, one), daemon=True).start()
            self._carry(one, other)

    def _carry(self, one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while data := one.recv(65536):
                self._open.wait()
                other.sendall(data)
        for each in (one, other):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)


@contextmanager
def wire(place: Place) -> Iterator[None]:
    """The service reaches its database through a proxy that can be cut."""
    found = Wire(place.postgres.port)
    where = urlsplit(_url(place))
    place.environment = {**place.environment, "GATEPOST_DATABASE_URL": urlunsplit(
        where._replace(netloc=where.netloc.replace(str(place.postgres.port), str(found.port))))}
    place.beside["wire"] = found
    try:
        yield
    finally:
        found.close()


def black_hole(place: Place):
    return place.beside["wire"].swallowing()


@contextmanager
def redis(place: Place) -> Iterator[None]:
    """The rate limits are counted in Redis."""
    port = free_port()
    command = [shutil.which("redis-server") or "redis-server", "--port", str(port), "--save", "", "--bind", "127.0.0.1"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    place.beside["redis"] = process.pid
    place.environment = {**place.environment, "GATEPOST_REDIS_URL": f"redis://127.0.0.1:{port}/0",
                         "GATEPOST_RATE_LIMITS": "on"}
    for _ in range(100):
        with suppress(OSError):
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            break
        sleep(0.05)
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGCONT)
        process.kill()
        process.wait()


@contextmanager
def silent_redis(place: Place) -> Iterator[None]:
    os.kill(place.beside["redis"], signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(place.beside["redis"], signal.SIGCONT)


@contextmanager
def no_redis(place: Place) -> Iterator[None]:
    os.kill(place.beside["redis"], signal.SIGKILL)
    yield


def _url(place: Place) -> str:
    return place.instance.environment["GATEPOST_DATABASE_URL"]


NEIGHBOURS = (
    Fault("Postgres says nothing", silent, postgres=True),
    Fault("a black hole before Postgres", black_hole, prepare=wire, postgres=True),
    Fault("Postgres is gone", no_server, postgres=True),
    Fault("Postgres is restarted", restarted, health="degraded", doctor=False, postgres=True),
    Fault("Postgres lost its standby", lost_standby, postgres=True),
    Fault("Postgres is read-only", read_only, postgres=True),
    Fault("Postgres refuses the database", refusing, postgres=True),
    Fault("Postgres has no connection left", no_connections, postgres=True),
    Fault("a table of Postgres is locked", locked_table, health="degraded", doctor=False, postgres=True),
    Fault("Redis is gone", no_redis, prepare=redis, health="degraded", check="limits", doctor=False,
          needs="redis-server"),
    Fault("Redis says nothing", silent_redis, prepare=redis, health="degraded", check="limits", doctor=False,
          needs="redis-server"),
)
