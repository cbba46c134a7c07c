"""A Postgres that stops answering, under a server and under commands."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.databases import Server, running_server
from tests.running import Instance, Served, wait_until

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def postgres() -> Iterator[Server]:
    with running_server() as server:
        yield server


@pytest.fixture(scope="module")
def instance(postgres: Server, tmp_path_factory: pytest.TempPathFactory) -> Instance:
    postgres.execute("CREATE DATABASE gatepost")
    url = f"{postgres.url('gatepost')}?connect_timeout=2"
    return Instance(tmp_path_factory.mktemp("silent") / "instance", {
        "GATEPOST_DATABASE_URL": url, "GATEPOST_STATEMENT_TIMEOUT": "1"}).made()


def answered_again(server: Served) -> None:
    wait_until(lambda: server.call("GET", "/api/articles")[0] == 200)


def test_requests_are_refused_while_the_database_is_silent_and_answered_once_it_speaks(
        postgres: Server, instance: Instance) -> None:
    with instance.served() as server:
        token = server.log_in()
        body = {"title": "t", "slug": "silent", "body": "b"}
        assert server.call("GET", "/api/articles", token=token)[0] == 200
        with postgres.silent(), ThreadPoolExecutor(12) as clients:
            reads = clients.map(lambda _: server.call("GET", "/api/articles", token=token), range(18))
            writes = clients.map(lambda _: server.call("POST", "/api/articles", body, token), range(18))
            answers = [*reads, *writes]
            assert {status for status, _ in answers} == {503}
            assert {answer["code"] for _, answer in answers} <= {"unavailable", "overloaded"}
            assert server.call("GET", "/api/health/live")[0] == 200
            assert server.call("GET", "/api/health")[1]["checks"]["database"] == "down"
        answered_again(server)
        assert server.call("POST", "/api/articles", body, token)[0] == 201


def test_a_stop_ends_though_the_database_is_silent(postgres: Server, instance: Instance) -> None:
    with instance.served() as server:
        answered_again(server)
        # A value that the stop wants to store.
        assert server.call("DELETE", "/api/articles/01930000-0000-7000-8000-000000000000")[0] == 401
        with postgres.silent():
            server.process.send_signal(signal.SIGTERM)
            assert server.process.wait(60) == 0


@pytest.mark.parametrize(("command", "code"), [
    ("serve --port 0", 1), ("doctor", 1), ("user list", 1),
    ("policy explain --as admin@example.org article.view", 2)])
def test_a_command_says_that_the_database_is_silent(
        postgres: Server, instance: Instance, command: str, code: int) -> None:
    with postgres.silent():
        done = instance.run(*command.split())
    assert done.returncode == code, done.stdout
    assert "the database server does not answer" in done.stdout + done.stderr
