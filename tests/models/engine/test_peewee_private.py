"""The private parts of peewee that `models` relies on."""

from __future__ import annotations

import inspect
import threading

import peewee as pw
from playhouse.apsw_ext import APSWDatabase

from models.tables.tenant import Tenant


def test_peewee_still_has_what_our_connections_and_rows_are_made_of() -> None:
    sentence = "peewee has changed {}. Look at {} before setup.cfg lets it in"
    state = pw.SqliteDatabase("unused.db", autoconnect=False)._state
    connections = sentence.format("how a thread keeps its connection", "connect, close and writing in models/engine")
    assert isinstance(state, threading.local) and state.closed and state.conn is None, connections
    connection = object()
    state.set_connection(connection)
    assert state.conn is connection and not state.closed, connections
    state.reset()
    assert state.conn is None and state.closed, connections

    statements = sentence.format("how it runs a statement", "Database._execute_cursor in models/engine/database.py")
    assert list(inspect.signature(pw.Database._execute_cursor).parameters)[:3] == ["self", "sql", "params"], statements
    assert "self._execute_cursor(" in inspect.getsource(pw.Database.execute_sql), statements

    opening = sentence.format("how it connects", "SqliteDatabase._connect in models/engine/sqlite/database.py")
    assert list(inspect.signature(APSWDatabase._add_conn_hooks).parameters) == ["self", "conn"], opening
    assert "self._set_pragmas(conn)" in inspect.getsource(pw.SqliteDatabase._add_conn_hooks), opening
    for dialect in (APSWDatabase, pw.PostgresqlDatabase):
        assert list(inspect.signature(dialect._connect).parameters) == ["self"], opening

    proxy = sentence.format("its proxy of a database", "_Current in models/engine/database.py")
    assert "obj" in pw.DatabaseProxy.__slots__ and issubclass(pw.DatabaseProxy, pw.Proxy), proxy

    rows = sentence.format("what a row notes about itself", "Rows in models/records/rows.py")
    read = Tenant(__no_default__=True)
    assert (read.__data__, read._dirty) == ({}, set()), rows
    read.name = "new"
    assert (read.__data__, read._dirty) == ({"name": "new"}, {"name"}), rows
