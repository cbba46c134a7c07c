"""Connections to a Postgres server with a deadline for every wait, and a pool that knows when the server is silent.

A server is silent when it is stopped, when the network loses packets, or when it waits for a lost standby. Its
`statement_timeout` does not help then, nor does TCP: only the client can give up.
"""

from __future__ import annotations

from collections.abc import Callable
from select import POLLIN, poll
from threading import Condition
from time import monotonic
from typing import Any

import psycopg
from psycopg.abc import PQGen
from psycopg.errors import ConnectionTimeout, Diagnostic, ReadOnlySqlTransaction, _WaitTimeout
from psycopg.pq import TransactionStatus

from models.engine.errors import Unavailable
from models.engine.waiting import Places, Wait

LATER = 1.0  # seconds between two attempts to reach a server that does not answer
MOMENT = 1.0  # seconds that any number of threads may wait for a connection, or for news of a silent server


class Connection(psycopg.Connection[Any]):
    """Connection that closes itself when the server is silent for longer than `patience` seconds.

    Everything sent to the server passes through `wait`: statements, COMMIT, each piece of a COPY. So none waits for
    ever.

    silent     True if the server was silent for too long
    read_only  True if the server has refused a write because it takes none
    leave      makes the next connection try another server first, if the URL names several
    """

    patience: float | None = None
    silent = read_only = False
    _unconfirmed = False

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.leave: Callable[[], None] = _stay
        self.add_notice_handler(self._heed)

    def wait(self, gen: PQGen[Any], interval: float = 0.1, timeout: float | None = None) -> Any:
        try:
            answer = super().wait(gen, interval, self.patience if timeout is None else timeout)
        except _WaitTimeout:
            self.silent = True
            self._end()
            raise psycopg.OperationalError("the server was silent for too long") from None
        except ReadOnlySqlTransaction:
            self.read_only = True
            self.leave()
            raise
        if self._unconfirmed:
            self._end()
            raise psycopg.OperationalError("the server has stored this, and no standby has confirmed it")
        return answer

    def _heed(self, notice: Diagnostic) -> None:
        # COMMIT succeeds even where somebody cancels its wait for a standby. Only a warning says that the standby may
        # not have the data. The server translates its text, but not the name of the function.
        if notice.source_function == "SyncRepWaitForLSN":
            self._unconfirmed = True

    def _end(self) -> None:
        self.leave()
        # Closes without a word to the server: a ROLLBACK would wait as long again.
        self.pgconn.finish()

    def usable(self) -> bool:
        """True if the connection is open as far as this side knows. It does not ask the server: that costs a round
        trip."""
        if self.closed:
            return False
        # On an idle connection, the server sends only the message that it closes the connection.
        ready = poll()
        ready.register(self.fileno(), POLLIN)
        return not ready.poll(0)

    def tidy(self) -> bool:
        """Rolls back an open transaction. Returns True if the connection can be used again."""
        if self.read_only:
            return False
        status = self.pgconn.transaction_status
        if status in (TransactionStatus.INTRANS, TransactionStatus.INERROR):
            try:
                self.rollback()
            except psycopg.Error:
                return False
            status = self.pgconn.transaction_status
        return status == TransactionStatus.IDLE


def _stay() -> None:
    """Default of `leave`: there is no other server."""


class Pool:
    """Connections of one process, at most `size`. The connection used last is used next.

    No thread waits while another one connects. After the server was silent, the idle connections are closed. Then one
    thread at a time tries to connect, and all others are refused at once.

    connect  makes a connection
    places   limit of the threads that wait for a free connection, or connect
    """

    def __init__(self, connect: Callable[[], Connection], size: int, places: Places) -> None:
        self._connect, self._size, self._places = connect, size, places
        self._changed = Condition()
        self._idle: list[Connection] = []
        self._lent: set[Connection] = set()
        self._connecting = 0
        self._silent = False
        self._probing = False
        # Both are times of the monotonic clock, and count while the server is silent.
        self._try_from = 0.0  # earliest time of the next attempt to connect
        self._news_by = 0.0  # the other threads wait until then for the result of the attempt

    def take(self) -> Connection:
        """Returns a connection that is usable as far as this side knows. Raises what `connect` raises, `Unavailable`.
        """
        with self._changed:
            if not self._silent and (ready := self._ready()):
                return ready
        wait = Wait(self._places)
        try:
            ready = self._wait_for_one(wait)
            return ready or self._make(wait)
        finally:
            wait.end()

    def give_back(self, conn: Connection) -> None:
        """Keeps the connection for the next caller, or closes it if it cannot be used again."""
        tidy = conn.tidy()
        with self._changed:
            if conn.silent:
                self._fall_silent(pause=0.0)
            if conn.read_only:
                # The idle connections lead to the same server.
                self._drop_idle()
            if tidy and conn in self._lent and not self._silent:
                self._idle.append(conn)
            else:
                conn.close()
            self._lent.discard(conn)
            self._places.progress()
            self._changed.notify()

    def close(self) -> None:
        """Closes all connections, also those in use."""
        with self._changed:
            for conn in (*self._idle, *self._lent):
                conn.close()
            self._idle.clear()
            self._lent.clear()
            self._changed.notify_all()

    def _ready(self) -> Connection | None:
        while self._idle:
            conn = self._idle.pop()
            if conn.usable():
                self._lent.add(conn)
                return conn
            conn.close()
        return None

    def _wait_for_one(self, wait: Wait) -> Connection | None:
        """Returns a free connection, or None if this thread must make one."""
        with self._changed:
            while True:
                if self._silent:
                    if self._may_try():
                        break
                elif ready := self._ready():
                    return ready
                elif self._may_connect() and wait.acquire_place():
                    break
                else:
                    seconds = wait.limit()
                    # A thread that has just got a place may connect instead of waiting.
                    if not (wait.placed and self._may_connect()):
                        self._changed.wait(seconds)
            self._connecting += 1
            return None

    def _may_connect(self) -> bool:
        return len(self._lent) + self._connecting < self._size

    def _may_try(self) -> bool:
        """True if this thread is the one that tries to reach the server. Otherwise waits a moment for the thread that
        does.

        Raises `Unavailable` when that thread got no answer from the server.
        """
        now = monotonic()
        if not self._probing and now >= self._try_from:
            self._probing, self._news_by = True, now + MOMENT
            return True
        if not self._probing or now >= self._news_by:
            raise Unavailable("the server was silent a moment ago")
        self._changed.wait(self._news_by - now)
        return False

    def _make(self, wait: Wait) -> Connection:
        try:
            conn = self._connect()
        except BaseException as error:
            # Ends before the others wake up: one of them may take this place to connect.
            wait.end()
            with self._changed:
                self._connecting -= 1
                self._silent = self._probing = False
                if isinstance(error, ConnectionTimeout):
                    self._fall_silent(pause=LATER)
                self._changed.notify_all()
            raise
        wait.end()
        with self._changed:
            self._connecting -= 1
            self._silent = self._probing = False
            self._lent.add(conn)
            self._places.progress()
            self._changed.notify_all()
        return conn

    def _drop_idle(self) -> None:
        while self._idle:
            self._idle.pop().close()

    def _fall_silent(self, *, pause: float) -> None:
        self._drop_idle()
        if not self._silent:
            self._silent, self._try_from = True, monotonic() + pause
