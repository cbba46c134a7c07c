"""Postgres through psycopg 3: connections in UTC, statements with a time limit, values in the same form as SQLite's."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from time import monotonic, sleep
from typing import Any

import peewee as pw
import psycopg
from psycopg.adapt import AdaptersMap, Loader
from psycopg.conninfo import conninfo_to_dict
from psycopg.sql import SQL, Identifier, Literal

from models.engine.database import Database, Parameters, driver_error
from models.engine.errors import (
    AlreadyExists,
    Contended,
    Damaged,
    InUse,
    InvalidReference,
    InvalidValue,
    NoRoom,
    NotTaken,
    RowError,
    StillReferenced,
    TimedOut,
    Unavailable,
)
from models.engine.observer import Observer
from models.engine.postgres import copies
from models.engine.postgres.connection import MOMENT, Connection, Pool
from models.engine.postgres.hosts import Hosts
from models.engine.waiting import Places

CONNECT_TIMEOUT = 3  # seconds
GRACE = 1.0  # seconds beyond the server's own time limit, after which the server counts as silent
MIGRATION_LOCK = 0x67617465  # any constant works, as long as all processes use the same
# The server translates the words of the detail, but not its "(columns)=(values)".
_KEY = re.compile(r"\((.+?)\)=\(")


class _Text(Loader):
    """Loads a uuid as canonical lower-case text, the form that the server sends."""

    def load(self, data: Any) -> str:
        return bytes(data).decode("ascii")


class _Time(Loader):
    """Loads a timestamptz as RFC 3339 UTC of fixed width; the server sends `2026-11-21 08:39:30.1+00`."""

    def load(self, data: Any) -> str:
        text = bytes(data).decode("ascii")
        return f"{text[:10]}T{text[11:19]}.{text[20:-3]:0<6}Z"


def _adapters() -> AdaptersMap:
    adapters = AdaptersMap(psycopg.adapters)
    adapters.register_loader("uuid", _Text)
    adapters.register_loader("timestamptz", _Time)
    return adapters


# Whether the database's locale folds the case of ASCII and of other letters, and the name of the locale.
_LOCALE = """
    SELECT 'I' ILIKE 'i', 'Ä' ILIKE 'ä' AND 'Ж' ILIKE 'ж',
           coalesce(to_jsonb(pg_database) ->> 'daticulocale', to_jsonb(pg_database) ->> 'datlocale', datctype)
    FROM pg_database WHERE datname = current_database()
"""
_OTHERS = """
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
"""
LEAVING = 2.0  # seconds for which a closed connection may still be listed: its process on the server ends later
LOCK_WAIT = 10_000  # milliseconds for which `rewrite` waits for users of a table
_OLD_SNAPSHOTS = """
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_xmin IS NOT NULL
"""


class PostgresDatabase(Database, pw.PostgresqlDatabase):
    """One Postgres database. Call `open_database` to make one."""

    dialect = "postgres"
    proof = "SELECT 1"

    def __init__(self, url: str, *, pool_size: int, statement_timeout: float, pool_wait: float,
                 waiting: int | None) -> None:
        try:
            parameters = conninfo_to_dict(url)
        except psycopg.Error as error:
            raise ValueError(f"the Postgres URL cannot be read: {error}") from None
        self._hosts = Hosts(parameters)
        # `_Time` relies on the time zone and the date style, and `Connection` on warnings. The server's settings must
        # not change them.
        options = (f"{parameters.get('options') or ''} -c timezone=UTC -c datestyle=ISO -c client_min_messages=warning "
                   f"-c statement_timeout={int(statement_timeout * 1000)}")
        self._patience = statement_timeout + GRACE
        self._places = Places(waiting, moment=MOMENT, timeout=pool_wait, late=_none_free)
        self._pool = Pool(self._connect, pool_size, self._places)
        super().__init__(
            url, autoconnect=False, prefer_psycopg3=True, options=options.strip(), context=_adapters(),
            connect_timeout=int(parameters.get("connect_timeout") or CONNECT_TIMEOUT))

    @contextmanager
    def migrating(self) -> Iterator[None]:
        with self.connected(), self._unhurried():
            self.execute_sql("SELECT pg_advisory_lock(%s)", (MIGRATION_LOCK,))
            try:
                yield
            finally:
                if not self._state.conn.closed:
                    self.execute_sql("SELECT pg_advisory_unlock(%s)", (MIGRATION_LOCK,))

    @contextmanager
    def copied(self, target: str) -> Iterator[Database]:
        with self.connected(), self._unhurried():
            self.execute_sql("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            try:
                self.execute_sql("SET LOCAL idle_in_transaction_session_timeout = 0")
                snapshot = self.query("SELECT pg_export_snapshot()")[0][0]
                copies.dump(self._connected_url(), target, snapshot)
                yield self
            finally:
                if not self._state.conn.closed:
                    self.execute_sql("ROLLBACK")

    @contextmanager
    def scratch(self, copy: str) -> Iterator[Database]:
        name = copies.scratch_name(token_hex(4))
        url = copies.url_of(self._make_scratch(name), name)
        staged = type(self)(url, pool_size=4, statement_timeout=self._patience - GRACE, pool_wait=CONNECT_TIMEOUT,
                            waiting=None)
        try:
            copies.load(url, copy)
            yield staged
        finally:
            staged.close_all()
            with self.connected(), self._unhurried():
                self._drop(name)

    def take_over(self, staged: Database, aside: Path, *, keep: bool = False) -> None:
        staged.close_all()
        self.close_all()
        with self.connected(), self._unhurried():
            deadline = monotonic() + LEAVING
            while (others := self.query(_OTHERS)[0][0]) and monotonic() < deadline:
                sleep(LEAVING / 20)
            url = self._connected_url()
        if others:
            raise InUse(f"{others} other connections to the database are open: stop Gatepost on every machine first")
        self.close_all()
        copies.replace(url, staged.database)

    def confirm(self) -> None:
        # A commit waits for the standby only if it writes something. Then the standby also has everything before it.
        self.query("SELECT pg_logical_emit_message(true, 'gatepost', '')")

    def observe(self, observer: Observer) -> None:
        self._places.observer = observer

    def compact(self) -> None:
        with self.connected(), self._unhurried():
            self.execute_sql("VACUUM (ANALYZE)")

    def rewrite(self, tables: Sequence[str]) -> None:
        with self.connected(), self._unhurried():
            if self.query(_OLD_SNAPSHOTS)[0][0]:
                # VACUUM FULL would copy the deleted rows that the transaction may still see.
                raise InUse("a transaction of before is still open")
            self.execute_sql(f"SET lock_timeout = {LOCK_WAIT}")
            try:
                for table in tables:
                    self.execute_sql(f'VACUUM (FULL, ANALYZE) "{table}"')
                # pg_statistic has samples of every column. Only the database's owner may vacuum it; others get a
                # warning.
                self.execute_sql("VACUUM (FULL) pg_statistic")
            finally:
                if not self._state.conn.closed:
                    self.execute_sql("RESET lock_timeout")

    def analyze(self) -> None:
        with self.connected(), self._unhurried():
            self.execute_sql("ANALYZE")

    def refresh_statistics(self) -> bool:
        return False  # the server's autovacuum does this

    def query(self, sql: str, params: Parameters = ()) -> list[tuple[Any, ...]]:
        try:
            return self._state.conn.execute(sql, params).fetchall()
        except Exception as error:
            self.fail(error, sql)

    def write(self, sql: str, params: Parameters = ()) -> int:
        try:
            return int(self._state.conn.execute(sql, params).rowcount)
        except Exception as error:
            self.fail(error, sql)

    def locale_fault(self) -> str | None:
        knows_ascii, knows_others, locale = self.query(_LOCALE)[0]
        if knows_ascii and knows_others:
            return None
        missed = ("takes i and I for different letters" if not knows_ascii
                  else "ignores the case of ASCII letters alone in long texts")
        return (f"its locale is {locale}, so that `contains` {missed}; a database keeps its locale: make another one "
                "with LC_CTYPE 'C.UTF-8', and restore a backup there")

    @property
    def place(self) -> str:
        """Host, port and name of the database that this thread is connected to."""
        info = self._state.conn.info
        return f"{info.host}:{info.port}/{info.dbname}"

    def fill(self, table: str, columns: Sequence[str], rows: Iterable[Parameters]) -> int:
        """Stores rows in a table by COPY and returns their number. Needs a transaction.

        Raises `NotTaken` for a row that cannot be stored, and what `rows` raises.
        """
        statement = SQL("COPY {} ({}) FROM STDIN").format(Identifier(table), SQL(", ").join(map(Identifier, columns)))
        number = 0
        try:
            with self._state.conn.cursor() as cursor, cursor.copy(statement) as copy:
                for row in rows:
                    copy.write_row(row)
                    number += 1
        except psycopg.Error as error:
            if isinstance(error, psycopg.DataError) and error.sqlstate is None:  # of the driver, not of the server
                raise NotTaken(str(error), number + 1) from error
            if (error.sqlstate or "")[:2] not in ("22", "23", "54"):  # data, integrity, limits
                self.fail(error, "COPY")
            # The server translates the words of the context, but not its numbers.
            place = re.search(r"\d+", (error.diag.context or "").removeprefix(f"COPY {table}, "))
            raise NotTaken(error.diag.message_primary or "", int(place.group()) if place else None) from error
        return number

    def translate(self, error: BaseException, sql: str = "") -> RowError | None:
        cause = driver_error(error)
        if isinstance(cause, OverflowError | UnicodeEncodeError | psycopg.DataError
                      | psycopg.errors.CheckViolation):
            return InvalidValue(str(cause))
        if not isinstance(cause, psycopg.Error):
            return None
        if isinstance(cause, psycopg.errors.ConnectionTimeout):
            return Unavailable("the database server does not answer")
        state = cause.sqlstate or ""
        if state == "23505":
            return AlreadyExists(_columns(cause.diag.message_detail or ""))
        if state in ("23503", "23001"):
            return StillReferenced() if sql.startswith("DELETE") else InvalidReference()
        if state in ("40001", "40P01"):
            return Contended(str(cause))
        if state in ("57014", "55P03"):  # query_canceled, lock_not_available
            return TimedOut(str(cause))
        if state[:3] == "XX0":  # data_corrupted, index_corrupted
            return Damaged(str(cause))
        if state == "25006":  # read_only_sql_transaction: the server is a standby, or became one
            return Unavailable(str(cause))
        if state == "53100":  # disk_full
            return NoRoom("the disk of the database is full")
        # Without a state the connection itself failed. 08: connection, 28: credentials, 53: resources, 57: shutdown,
        # 58: system, 3D: no such database.
        if isinstance(cause, psycopg.OperationalError | psycopg.InterfaceError) and (
                not state or state[:2] in ("08", "28", "53", "57", "58", "3D")):
            return Unavailable(str(cause))
        return None

    def rollback(self) -> None:
        # The transaction ended with its connection, and the error behind that was raised already.
        if not self._state.conn.closed:
            super().rollback()

    def close_all(self) -> None:
        self.close()
        self._pool.close()

    def _connect(self) -> Connection:
        conn = self._hosts.connect(
            lambda place: Connection.connect(self.database, autocommit=True, **{**self.connect_params, **place}))
        conn.patience = self._patience
        return conn

    def _connected_url(self) -> str:
        """Returns the URL of the server that this thread is connected to, for an external program."""
        if not self._hosts.several:
            return self.database
        info = self._state.conn.info
        return copies.at(self.database, info.host, info.port)

    def _make_scratch(self, name: str) -> str:
        """Creates that database and returns the URL of its server. Raises `Unavailable`."""
        create = SQL("CREATE DATABASE {} TEMPLATE template0 ENCODING {} LC_COLLATE {} LC_CTYPE {}")
        with self.connected(), self._unhurried():
            self._drop_left()
            like = self.query("SELECT pg_encoding_to_char(encoding), datcollate, datctype FROM pg_database "
                              "WHERE datname = current_database()")[0]
            try:
                self.execute_sql(create.format(Identifier(name), *map(Literal, like)).as_string())
            except Exception as error:
                raise _no_scratch(driver_error(error)) from error
            return self._connected_url()

    def _drop_left(self) -> None:
        for name, in self.query("SELECT datname FROM pg_database WHERE datname LIKE %s", [f"{copies.SCRATCH}%"]):
            if copies.is_left(name):
                with suppress(Exception):  # it may belong to another user
                    self._drop(name)

    def _drop(self, name: str) -> None:
        self.execute_sql(SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(Identifier(name)).as_string())

    @contextmanager
    def _unhurried(self) -> Iterator[None]:
        """Lifts the time limit of statements on this thread's connection."""
        conn = self._state.conn
        self.execute_sql("SET statement_timeout = 0")
        conn.patience = None
        try:
            yield
        finally:
            if not conn.closed:
                conn.patience = self._patience
                self.execute_sql("RESET statement_timeout")


def _no_scratch(error: BaseException) -> Unavailable:
    if isinstance(error, psycopg.errors.InsufficientPrivilege):
        return Unavailable("the database's user may not create databases, and a restore needs a scratch one; a "
                           "superuser allows it: ALTER ROLE … CREATEDB")
    return Unavailable(str(error))


def _none_free() -> Unavailable:
    return Unavailable("no free database connection")


def _columns(detail: str) -> tuple[str, ...]:
    match = _KEY.search(detail)
    names = match.group(1).split(", ") if match else []
    return tuple(name.strip('"') for name in names if name != "tenant_id")
