"""A primary without its standby: a write is acknowledged only once the standby has it."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from tests.databases import Server
from tests.running import Instance, Served, wait_until

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def instance(own_server: Server, tmp_path_factory: pytest.TempPathFactory) -> Instance:
    own_server.execute("CREATE DATABASE served")
    url = f"{own_server.url('served')}?options=-c%20synchronous_commit%3Don"
    return Instance(tmp_path_factory.mktemp("standby") / "instance", {
        "GATEPOST_DATABASE_URL": url, "GATEPOST_STATEMENT_TIMEOUT": "1"}).made()


@pytest.fixture(scope="module")
def served(instance: Instance) -> Iterator[Served]:
    with instance.served() as served:
        yield served


def create(served: Served, token: str, slug: str) -> tuple[int, Any]:
    return served.call("POST", "/api/articles", {"title": "t", "slug": slug, "body": "b"}, token,
                       {"Idempotency-Key": slug})


def cancel(server: Server) -> int:
    """Ends the waits of all commits for a standby. Returns their number."""
    with psycopg.connect(server.url("postgres"), autocommit=True) as operator:
        return len(operator.execute(
            "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'").fetchall())


def test_writes_are_unavailable_and_reads_go_on(own_server: Server, served: Served) -> None:
    token = served.log_in()
    with own_server.lost_standby():
        assert create(served, token, "waits")[0] == 503
        wait_until(lambda: served.call("GET", "/api/articles", token=token)[0] == 200)
        # The first request claimed the key, and the server still waits for its commit.
        assert create(served, token, "waits")[0] in (409, 503)
    wait_until(lambda: create(served, token, "waits")[0] == 201)
    assert len(served.call("GET", "/api/articles?slug=waits", token=token)[1]["items"]) == 1


def test_a_cancelled_wait_is_no_acknowledgement_at_the_first_request_nor_at_its_repetition(
        own_server: Server, served: Served) -> None:
    token = served.log_in()
    with own_server.lost_standby(), ThreadPoolExecutor(1) as client:
        first = client.submit(create, served, token, "cancelled")
        wait_until(lambda: first.done() or cancel(own_server))
        assert first.result()[0] == 503
        wait_until(lambda: served.call("GET", "/api/articles", token=token)[0] == 200)
        wait_until(lambda: served.call("GET", "/api/articles?slug=cancelled", token=token)[1]["items"])
        # It is stored here, with its answer, but on no standby.
        assert create(served, token, "cancelled")[0] == 503
    wait_until(lambda: create(served, token, "cancelled")[0] == 201)
