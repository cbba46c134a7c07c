"""A URL with several Postgres servers: the choice of a server, and the error if there is none."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from models.base import new_id
from models.engine.connect import open_database
from models.engine.errors import Unavailable
from models.engine.postgres import connection, copies
from models.engine.postgres.database import PostgresDatabase
from models.engine.postgres.hosts import Hosts
from models.tables.tenant import Tenant
from tests.databases import Server, free_port, prepare, running_server
from tests.models.engine.postgres.patience import LONG, hurried, hurry
from tests.running import wait_until


@pytest.fixture(scope="module")
def pair() -> Iterator[tuple[Server, Server]]:
    """Two servers, each with its own database `gatepost`."""
    with running_server() as one, running_server() as other:
        for server in (one, other):
            server.execute("CREATE DATABASE gatepost")
            prepare(server.url("gatepost"))
        yield one, other


@contextmanager
def opened(*ports: int, more: str = "") -> Iterator[PostgresDatabase]:
    places = ",".join(f"127.0.0.1:{port}" for port in ports)
    database = open_database(f"postgresql://gatepost@{places}/gatepost?connect_timeout=5{more}", pool_size=4,
                             statement_timeout=LONG)
    assert isinstance(database, PostgresDatabase)
    try:
        yield database
    finally:
        database.close_all()


@contextmanager
def taking_no_writes(server: Server) -> Iterator[None]:
    """Makes this server read-only, as an operator does who wants writes to go to the other one."""
    server.configure("ALTER SYSTEM SET default_transaction_read_only = on")
    try:
        yield
    finally:
        server.configure("ALTER SYSTEM SET default_transaction_read_only = off")


@pytest.fixture
def silent() -> Iterator[socket.socket]:
    """A socket that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        yield listening


def port_of(database: PostgresDatabase) -> int:
    with database.connected():
        return int(database.query("SELECT current_setting('port')")[0][0])


@pytest.mark.slow
def test_the_first_server_that_takes_writes_is_connected_to(pair):
    one, other = pair
    with opened(free_port(), one.port, other.port) as database:
        assert port_of(database) == one.port
    with taking_no_writes(one), opened(one.port, other.port) as database:
        assert port_of(database) == other.port


@pytest.mark.slow
def test_a_server_that_takes_no_writes_is_good_enough_where_the_url_says_so(pair):
    one, other = pair
    with taking_no_writes(one), opened(one.port, other.port, more="&target_session_attrs=any") as database:
        assert port_of(database) == one.port


@pytest.mark.slow
def test_a_silent_server_delays_the_first_connection_alone(pair, silent):
    _, other = pair
    with opened(silent.getsockname()[1], other.port) as database:
        assert port_of(database) == other.port
        silent.accept()[0].close()
        database._connect().close()
        with pytest.raises(BlockingIOError):
            silent.accept()


@pytest.mark.slow
def test_one_silent_server_among_refusals_is_silence(pair, silent, monkeypatch):
    """Then only one thread tries, and no other request waits for a connection."""
    one, _ = pair
    monkeypatch.setattr(connection, "LATER", 60)
    with taking_no_writes(one), opened(silent.getsockname()[1], one.port) as database:
        with pytest.raises(Unavailable, match="does not answer"):
            database.ping()
        silent.accept()[0].close()
        with pytest.raises(Unavailable, match="a moment ago"):
            database.ping()
        with pytest.raises(BlockingIOError):
            silent.accept()  # it has not connected


@pytest.mark.slow
def test_each_refusal_is_told_with_its_server(pair):
    one, _ = pair
    gone = free_port()
    with taking_no_writes(one), opened(gone, one.port) as database:
        with pytest.raises(Unavailable) as raised:
            database.ping()
        assert f"127.0.0.1:{gone}: " in str(raised.value) and f"127.0.0.1:{one.port}: " in str(raised.value)


@pytest.mark.slow
def test_connections_to_a_server_that_begins_to_refuse_writes_are_given_up_at_the_first_write(pair):
    one, other = pair
    with opened(one.port, other.port) as database:
        assert port_of(database) == one.port
        with taking_no_writes(one):
            with pytest.raises(Unavailable):
                wait_until(lambda: database.transact(lambda: Tenant.add(new_id())) and False)
            name = database.transact(lambda: Tenant.add(new_id())).name
            assert port_of(database) == other.port
        with database.connected():
            assert Tenant.by_name(name) is not None


@pytest.mark.slow
def test_a_server_that_falls_silent_is_left_for_the_next(pair):
    one, other = pair
    with opened(one.port, other.port) as database:
        assert port_of(database) == one.port
        with one.silent():
            with hurried(database), pytest.raises(Unavailable):
                database.ping()
            wait_until(lambda: _answers(database))
            assert port_of(database) == other.port
        # Nor is it used again: it may be the old primary.
        assert port_of(database) == other.port


@pytest.mark.slow
def test_a_server_whose_commits_hang_is_left_for_the_next(pair):
    one, other = pair
    with opened(one.port, other.port, more="&options=-c%20synchronous_commit%3Don") as database, one.lost_standby():
        with pytest.raises(Unavailable):
            database.transact(lambda: (Tenant.add(new_id()), hurry(database)))
        hurry(database, LONG)
        wait_until(lambda: _answers(database))
        assert port_of(database) == other.port
        assert database.transact(lambda: Tenant.add(new_id()))


def _answers(database: PostgresDatabase) -> bool:
    try:
        database.ping()
        return True
    except Unavailable:
        return False


@pytest.mark.slow
def test_a_copy_is_made_by_and_put_back_to_the_server_that_is_connected_to(pair, tmp_path):
    one, other = pair
    with opened(one.port, other.port) as database:
        with taking_no_writes(one):
            assert port_of(database) == other.port
            name = database.transact(lambda: Tenant.add(new_id())).name
            # The other server accepts writes again and comes first, but lacks these rows.
        with database.copied(str(tmp_path / "copy")) as copied:
            assert copied.query("SELECT 1") == [(1,)]
        with database.scratch(str(tmp_path / "copy")) as staged:
            assert port_of(staged) == other.port
            with staged.connected():
                assert Tenant.by_name(name) is not None
            database.close_all()


@pytest.mark.parametrize(("given", "places"), [
    ({"host": "db"}, [{}]),
    ({}, [{}]),
    ({"host": "a,b"}, [{"host": "a"}, {"host": "b"}]),
    ({"host": "a,b", "port": "1"}, [{"host": "a", "port": "1"}, {"host": "b", "port": "1"}]),
    ({"host": "a,b", "port": "1,2"}, [{"host": "a", "port": "1"}, {"host": "b", "port": "2"}]),
    ({"hostaddr": "::1,::2", "port": "1,2"}, [{"hostaddr": "::1", "port": "1"}, {"hostaddr": "::2", "port": "2"}]),
])
def test_lists_of_libpq_are_read(given, places):
    each = Hosts(given).each
    wanted = {"target_session_attrs": "read-write"} if len(places) > 1 else {}
    assert each == [place | wanted for place in places]


@pytest.mark.parametrize("query", ["host=a,b&port=1,2,3", "host=a,b&hostaddr=::1"])
def test_lists_that_do_not_fit_are_refused_before_anything_is_tried(query):
    with pytest.raises(ValueError, match="names"):
        open_database(f"postgresql:///gatepost?{query}")


@pytest.mark.parametrize(("url", "other"), [
    ("postgresql://u@a:1,b:2/name", "postgresql://u@a:1,b:2/x"),
    ("postgresql://u@a:1,[::1]:2/name?dbname=y&connect_timeout=2", "postgresql://u@a:1,[::1]:2/x?connect_timeout=2"),
    ("postgresql:///name?host=/run/a,/run/b", "postgresql:///x?host=/run/a,/run/b"),
    ("postgresql://u@a", "postgresql://u@a/x"),
])
def test_another_database_of_the_same_servers(url, other):
    assert copies.url_of(url, "x") == other


def test_one_server_of_those_that_a_url_names():
    url = "postgresql://u@a:1,b:2/name?port=3&connect_timeout=2"
    assert copies.at(url, "/run/b", 2) == (
        "postgresql://u@a:1,b:2/name?connect_timeout=2&host=%2Frun%2Fb&port=2")
