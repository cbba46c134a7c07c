"""Our cursors contain a cursor of apsw: apsw miscounts the references to subclasses of its own."""

from __future__ import annotations

import sys
from contextlib import suppress
from threading import Thread

import apsw
import pytest

from models.engine.connect import open_database
from models.engine.sqlite import connection
from tests.databases import new_database


@pytest.fixture
def database(request):
    opened = open_database(new_database("sqlite", request), pool_size=2, synchronous="normal", statement_timeout=10)
    with opened.connected():
        yield opened
    opened.close_all()


def test_cursors_that_are_freed_while_another_thread_uses_their_connection_leave_their_class_alone(database):
    conn, before = database._state.conn, sys.getrefcount(connection.Cursor)
    assert conn.cursor_factory is apsw.Cursor
    assert not issubclass(connection.Cursor, apsw.Cursor)

    def work():
        for _ in range(2000):
            with suppress(apsw.ThreadingViolationError):
                connection.Cursor(conn.cursor()).execute("SELECT 1 UNION SELECT 2").fetchone()

    threads = [Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sys.getrefcount(connection.Cursor) >= before, "no reference was given back that nobody held"


def test_rows_are_read_one_by_one_and_all_together(database):
    cursor = database.cursor()
    cursor.execute("SELECT 1 UNION SELECT 2")
    assert cursor.fetchone() == (1,) and list(cursor) == [(2,)]
