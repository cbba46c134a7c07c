"""A slow or missing database: the client learns the reason and when to try again. The process continues."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
from flask import Flask

from gatepost.http.operations import write_probe
from gatepost.http.pipeline import stages
from gatepost.http.pipeline.application import NotReady
from tests.apps import close, make_app, new_instance
from tests.databases import Server, new_database
from tests.running import wait_until

pytestmark = pytest.mark.both_databases

FOREVER = {"sqlite": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n",
           "postgres": "SELECT pg_sleep(60)"}


@pytest.fixture(scope="module")
def app(instance_folder: Path, database_url: str) -> Iterator[Flask]:
    made = make_app(instance_folder, database_url, statement_timeout=0.2)
    yield made
    close(made)


def check_503(answer, code: str) -> None:
    assert (answer.status_code, answer.get_json()["code"]) == (503, code)
    assert answer.mimetype == "application/problem+json"
    assert int(answer.headers["Retry-After"]) >= 1


def test_a_statement_that_takes_too_long_is_stopped(app, client, monkeypatch):
    database = app.extensions["gatepost"].database
    monkeypatch.setattr(stages, "_announce", lambda call, announced: database.query(FOREVER[database.dialect]))
    check_503(client.get("/api/ping"), "timeout")
    monkeypatch.undo()
    assert client.get("/api/ping").status_code == 200, "the connection can be used again"


@contextmanager
def moved(file: Path) -> Iterator[None]:
    away = file.rename(file.with_suffix(".away"))
    try:
        yield
    finally:
        away.rename(file)


@pytest.fixture
def gone(request: pytest.FixtureRequest, database_url: str) -> AbstractContextManager[None]:
    """Makes the database unreachable during the block."""
    if database_url.startswith("sqlite"):
        return moved(Path(database_url.removeprefix("sqlite:///")))
    server: Server = request.getfixturevalue("postgres_server")
    return server.refusing(database_url)


def test_a_database_that_is_gone_is_said_and_found_again(app, client, as_role, gone, monkeypatch):
    admin = as_role("admin")
    assert client.get("/api/articles").status_code == 200
    with gone:
        check_503(client.get("/api/articles"), "unavailable")
        check_503(admin.post("/api/articles", {"title": "x", "slug": "x", "body": "x"}), "unavailable")
        health = client.get("/api/health")
        assert (health.status_code, health.get_json()["status"]) == (503, "down")
        assert health.get_json()["checks"]["database"] == "down"
        # The database cannot identify the caller now, so the answer is that for a guest.
        told = admin.get("/api/health")
        assert (told.status_code, told.get_json()) == (503, health.get_json())
        for token in (admin.token, "made up", "gp_made_up"):
            live = client.get("/api/health/live", headers={"Authorization": f"Bearer {token}"})
            assert (live.status_code, live.get_json()) == (200, {"status": "ok"})
        assert client.get("/api/health/live").status_code == 200
    assert client.get("/api/articles").status_code == 200
    assert admin.post("/api/articles", {"title": "x", "slug": "found-again", "body": "x"}).status_code == 201
    assert client.get("/api/health").get_json()["checks"]["database"] == "degraded", "a write has failed just now"
    real = write_probe.monotonic
    monkeypatch.setattr(write_probe, "monotonic", lambda: real() + 11)
    assert client.get("/api/health").get_json()["status"] == "ok"


def test_a_pool_without_a_free_connection_is_unavailable_for_a_moment(app, client, monkeypatch):
    from models.engine.errors import Unavailable

    def none_free() -> None:
        raise Unavailable("no free database connection")

    monkeypatch.setattr(app.extensions["gatepost"].database, "connected", none_free)
    check_503(client.get("/api/articles"), "unavailable")


def test_an_app_that_cannot_start_leaves_no_connection_open(
        request: pytest.FixtureRequest, postgres_server: Server, tmp_path: Path) -> None:
    url = new_database("postgres", request, migrated=False)
    folder = new_instance(tmp_path / "instance", new_database("postgres", request))
    name = urlsplit(url).path.removeprefix("/")
    with pytest.raises(NotReady):
        make_app(folder, url)
    with psycopg.connect(postgres_server.url("postgres"), autocommit=True) as connection:
        wait_until(lambda: not connection.execute(
            "SELECT 1 FROM pg_stat_activity WHERE datname = %s", (name,)).fetchone())
