"""The database: connections, transactions, time limits, and failures."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import apsw
import pytest

from models.base import new_id
from models.engine.connect import open_database
from models.engine.database import Database, current
from models.engine.errors import AlreadyExists, InUse, RowError, TimedOut, Unavailable
from models.engine.sqlite.connection import check_version
from models.engine.sqlite.database import SqliteDatabase
from models.tables.tenant import Tenant
from tests.databases import Server, new_database, running_server

OPTIONS = {"pool_size": 2, "synchronous": "normal", "statement_timeout": 10.0}
FOREVER = {
    "sqlite": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT sum(i) FROM n",
    "postgres": "SELECT pg_sleep(60)",
}


@pytest.mark.parametrize("version", ["3.7.0", "3.40.1", "3.44.5", "3.45.0", "3.50.6", "3.51.0", "3.51.2"])
def test_a_sqlite_that_can_lose_committed_writes_is_refused(version: str) -> None:
    with pytest.raises(RuntimeError, match="can lose committed writes"):
        check_version(version)


@pytest.mark.parametrize("version", ["3.44.6", "3.50.7", "3.51.3", "3.54.1", "4.0.0"])
def test_a_sqlite_with_the_fix_is_accepted(version: str) -> None:
    check_version(version)


@pytest.mark.parametrize("url", [
    "", "gatepost.db", "sqlite://", "sqlite:///", "sqlite:///:memory:", "sqlite:///x.db?mode=ro", "mysql://x/y",
    "postgresql://h/x?nonsense=1"])
def test_a_url_that_names_no_database_is_refused(url: str) -> None:
    with pytest.raises(ValueError):
        open_database(url, **OPTIONS)


def test_sqlite_connections_are_set_up_for_safety(tmp_path: Path) -> None:
    wanted = {"journal_mode": "wal", "foreign_keys": 1, "recursive_triggers": 1, "synchronous": 2,
              "busy_timeout": 5000}
    database = open_database(f"sqlite:///{tmp_path}/a.db", **{**OPTIONS, "synchronous": "full"})
    database.create()
    with database.connected():
        found = {name: database.query(f"PRAGMA {name}")[0][0] for name in wanted}
    assert found == wanted
    assert (tmp_path / "a.db").stat().st_mode & 0o777 == 0o600
    database.close_all()


def test_sqlite_compiles_a_join_once_whatever_values_are_bound(tmp_path: Path) -> None:
    import apsw

    database = open_database(f"sqlite:///{tmp_path}/a.db", **OPTIONS)
    database.create()
    compiled = []

    def authorize(operation: int, *_about: object) -> int:
        compiled.append(operation)
        return apsw.SQLITE_OK

    with database.connected():
        database.query("CREATE TABLE one (id TEXT PRIMARY KEY, other TEXT)")
        database.query("CREATE TABLE two (id TEXT PRIMARY KEY)")
        database.connection().authorizer = authorize
        for value in ("a", "b", "c"):
            database.query("SELECT two.id FROM one INNER JOIN two ON two.id = one.other WHERE one.id = ?", [value])
    database.close_all()
    assert compiled.count(apsw.SQLITE_SELECT) == 1


@pytest.mark.both_databases
def test_the_tables_follow_the_database_that_was_entered_last(
        database: Database, request: pytest.FixtureRequest) -> None:
    other = open_database(new_database(database.dialect, request), **OPTIONS)
    name = f"here {new_id()}"
    Tenant.add(name)
    with other.connected():
        assert Tenant.by_name(name) is None
        assert current.obj is other
    assert current.obj is database
    assert Tenant.by_name(name) is not None
    other.close_all()


def test_without_a_database_entered_a_query_is_an_error() -> None:
    with pytest.raises(AttributeError):
        Tenant.all()


@pytest.mark.both_databases
def test_entering_again_holds_the_same_connection(opened: Database) -> None:
    with opened.connected():
        first = opened.connection()
        with opened.connected():
            assert opened.connection() is first
        assert opened.connection() is first
    assert opened.is_closed()


@pytest.mark.both_databases
def test_a_connection_is_used_again(database_url: str) -> None:
    database = open_database(database_url, **OPTIONS)
    seen = []
    for _ in range(3):
        with database.connected():
            seen.append(database.connection())
    assert len({id(one) for one in seen}) == 1
    database.close_all()


def test_a_connection_that_was_left_in_a_transaction_is_not_used_again(request: pytest.FixtureRequest) -> None:
    database = open_database(new_database("sqlite", request), **OPTIONS)
    with database.connected():
        database.query("BEGIN IMMEDIATE")
        Tenant.add(f"never {new_id()}")
    with database.connected():
        assert database.connection().getautocommit()
        assert not [tenant for tenant in Tenant.all() if tenant.name.startswith("never")]
    database.close_all()


def test_two_at_once_have_a_connection_each_and_the_one_used_last_is_used_again(
        request: pytest.FixtureRequest) -> None:
    database, seen = open_database(new_database("sqlite", request), **OPTIONS), []

    def enter() -> None:
        with database.connected():
            seen.append(database.connection())

    with database.connected():
        mine = database.connection()
        thread = threading.Thread(target=enter)
        thread.start()
        thread.join()
    enter()
    assert seen[0] is not mine
    assert seen[1] is mine
    database.close_all()
    assert database.path not in {one.resolve() for one in Path("/proc/self/fd").iterdir()}


@pytest.mark.both_databases
def test_a_transaction_that_fails_leaves_nothing_behind(database: Database) -> None:
    name = f"never {new_id()}"

    def work() -> None:
        Tenant.add(name)
        raise KeyError("stop")

    with pytest.raises(KeyError):
        database.transact(work)
    assert Tenant.by_name(name) is None
    assert not database.in_transaction()


@pytest.mark.both_databases
def test_a_transaction_within_another_belongs_to_it(database: Database) -> None:
    name = f"never {new_id()}"

    def work() -> None:
        database.transact(lambda: Tenant.add(name))
        raise KeyError("stop")

    with pytest.raises(KeyError):
        database.transact(work)
    assert Tenant.by_name(name) is None


@pytest.mark.both_databases
def test_an_attempt_that_fails_leaves_the_rest_of_its_transaction(database: Database) -> None:
    first, second = f"first {new_id()}", f"second {new_id()}"

    def work() -> None:
        Tenant.add(first)
        with pytest.raises(AlreadyExists):
            database.attempt(lambda: [Tenant.add(second), Tenant.add(first)])
        Tenant.add(f"third {first}")

    database.transact(work)
    assert Tenant.by_name(first) and Tenant.by_name(f"third {first}") and not Tenant.by_name(second)


def test_an_attempt_that_takes_its_transaction_with_it_is_unavailable(tmp_path: Path) -> None:
    # SQLite rolls back everything when it interrupts a writing statement, and loses the savepoint.
    database = open_database(f"sqlite:///{tmp_path / 'x.db'}", **{**OPTIONS, "statement_timeout": 0.2})
    database.create()
    with database.connected():
        database.query("CREATE TABLE sums (number)")
        with pytest.raises(Unavailable):
            database.transact(lambda: database.attempt(
                lambda: database.write(f"INSERT INTO sums {FOREVER['sqlite']}")))
        assert database.transact(lambda: database.write("INSERT INTO sums VALUES (1)")) == 1
    database.close_all()


def test_a_transaction_that_was_given_up_is_never_taken_for_committed(tmp_path: Path) -> None:
    database = open_database(f"sqlite:///{tmp_path / 'x.db'}", **{**OPTIONS, "statement_timeout": 0.2})
    database.create()

    def careless() -> None:
        database.write("INSERT INTO sums VALUES (1)")
        with pytest.raises(TimedOut):
            database.write(f"INSERT INTO sums {FOREVER['sqlite']}")

    with database.connected():
        database.query("CREATE TABLE sums (number)")
        with pytest.raises(Unavailable):
            database.transact(careless)
    database.close_all()


@pytest.mark.both_databases
def test_a_transaction_returns_what_its_work_returns(opened: Database) -> None:
    assert opened.transact(lambda: Tenant.add(f"made {new_id()}").name).startswith("made")


@pytest.mark.both_databases
def test_a_statement_that_takes_too_long_is_stopped_and_the_connection_goes_on(database_url: str) -> None:
    database = open_database(database_url, **{**OPTIONS, "statement_timeout": 0.5})
    with database.connected():
        with pytest.raises(TimedOut):
            database.query(FOREVER[database.dialect])
        with pytest.raises(TimedOut):
            database.execute_sql(FOREVER[database.dialect]).fetchall()
        assert database.query("SELECT 1") == [(1,)]
    database.close_all()


def test_when_all_connections_are_taken_the_next_caller_is_refused(request: pytest.FixtureRequest) -> None:
    database = open_database(new_database("postgres", request), **{**OPTIONS, "pool_size": 1}, pool_wait=0.05)
    failures: list[BaseException] = []

    def ask() -> None:
        try:
            database.ping()
        except RowError as error:
            failures.append(error)

    with database.connected():
        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()
    assert [type(error) for error in failures] == [Unavailable]
    database.ping()
    database.close_all()


def test_a_caller_waits_for_the_connection_that_another_gives_back(request: pytest.FixtureRequest) -> None:
    database = open_database(new_database("postgres", request), **{**OPTIONS, "pool_size": 1}, pool_wait=30)
    holds, release, answered = threading.Event(), threading.Event(), []

    def hold() -> None:
        with database.connected():
            holds.set()
            release.wait(30)

    def ask() -> None:
        database.ping()
        answered.append(True)

    threads = [threading.Thread(target=hold), threading.Thread(target=ask)]
    threads[0].start()
    holds.wait(30)
    threads[1].start()
    release.set()
    for thread in threads:
        thread.join(30)
    assert answered == [True]
    database.close_all()


def test_a_sqlite_file_that_vanished_is_unavailable_and_never_comes_back_empty(
        request: pytest.FixtureRequest) -> None:
    url = new_database("sqlite", request)
    database = open_database(url, **OPTIONS)
    assert isinstance(database, SqliteDatabase)
    database.ping()
    away = database.path.with_suffix(".away")
    os.rename(database.path, away)
    with pytest.raises(Unavailable):
        database.ping()
    assert not database.path.exists()
    os.rename(away, database.path)
    with database.connected():
        Tenant.all()
    database.close_all()


def test_no_connection_stays_open_to_a_sqlite_file_that_was_replaced(request: pytest.FixtureRequest) -> None:
    database = open_database(new_database("sqlite", request), **OPTIONS)
    assert isinstance(database, SqliteDatabase)
    together = threading.Barrier(3)

    def hold(_number: int) -> object:
        with database.connected():
            together.wait(30)
            return database.connection()

    with ThreadPoolExecutor(3) as threads:
        before = set(threads.map(hold, range(3)))
    copy = database.path.with_suffix(".copy")
    with database.copied(str(copy)):
        pass
    for journal in database.path.parent.glob(f"{database.path.name}-*"):
        journal.unlink()
    os.replace(copy, database.path)
    name = f"after {new_id()}"
    with database.connected():
        Tenant.add(name)
    for connection in before:
        with pytest.raises(apsw.ConnectionClosedError):
            connection.getautocommit()
    with database.connected():
        assert Tenant.by_name(name) is not None
    database.close_all()


def test_a_file_that_is_no_database_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "x.db").write_bytes(b"certainly not a database" * 100)
    with pytest.raises(Unavailable):
        open_database(f"sqlite:///{tmp_path}/x.db", **OPTIONS).ping()


def test_a_postgres_that_does_not_answer_is_unavailable(postgres_server: Server) -> None:
    with pytest.raises(Unavailable):
        open_database("postgresql://gatepost@127.0.0.1:9/x", **OPTIONS).ping()
    with pytest.raises(Unavailable):
        open_database(postgres_server.url("absent"), **OPTIONS).ping()


@pytest.mark.slow
def test_a_postgres_that_restarts_is_unavailable_meanwhile_and_served_again_after() -> None:
    with running_server() as server:
        database = open_database(server.url("postgres"), **OPTIONS)
        database.ping()
        with database.connected():
            server.stop()
            with pytest.raises(Unavailable):
                database.query("SELECT 1")
        with pytest.raises(Unavailable):
            database.ping()
        server.start()
        database.ping()
        with database.connected():
            server.stop()
            server.start()
        database.ping()
        database.close_all()


def test_a_copy_is_consistent_and_can_be_looked_at(opened: Database, tmp_path: Path) -> None:
    name = opened.transact(lambda: Tenant.add(f"kept {new_id()}").name)
    with opened.copied(str(tmp_path / "copy")):
        assert Tenant.by_name(name) is not None
        later = f"later {new_id()}"
        with ThreadPoolExecutor(1) as thread:
            thread.submit(opened.transact, lambda: Tenant.add(later)).result(10)
        assert Tenant.by_name(later) is None
    with opened.connected():
        assert Tenant.by_name(later) is not None
    with opened.scratch(str(tmp_path / "copy")) as scratch, scratch.connected():
        assert (Tenant.by_name(name) is not None, Tenant.by_name(later)) == (True, None)
    with pytest.raises(FileExistsError), opened.copied(str(tmp_path / "copy")):
        pass


@pytest.mark.parametrize("dialect", ["sqlite", "postgres"])
def test_a_scratch_database_takes_the_place_of_another_one(
        dialect: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    database = open_database(new_database(dialect, request), **OPTIONS)
    names = [f"{word} {new_id()}" for word in ("before", "after")]
    database.transact(lambda: Tenant.add(names[0]))
    with database.copied(str(tmp_path / "copy")):
        pass
    database.transact(lambda: Tenant.add(names[1]))
    with database.scratch(str(tmp_path / "copy")) as scratch:
        database.take_over(scratch, tmp_path / "aside")
    with database.connected():
        assert [Tenant.by_name(name) is not None for name in names] == [True, False]
    database.close_all()


def test_a_postgres_database_that_others_use_is_not_taken_over(
        postgres_server: Server, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = new_database("postgres", request)
    database, other = open_database(url, **OPTIONS), open_database(url, **OPTIONS)
    other.ping()
    with database.copied(str(tmp_path / "copy")):
        pass
    with database.scratch(str(tmp_path / "copy")) as scratch, pytest.raises(InUse):
        monkeypatch.setattr("models.engine.postgres.database.LEAVING", 0.2)
        database.take_over(scratch, tmp_path / "aside")
    monkeypatch.undo()
    other.ping()
    # A connection that closes while the other waits does not use the database.
    threading.Timer(0.3, other.close_all).start()
    with database.scratch(str(tmp_path / "copy")) as scratch:
        database.take_over(scratch, tmp_path / "aside")
    database.close_all()
