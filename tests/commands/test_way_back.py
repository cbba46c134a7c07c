"""The way back to 0.1 by hand (docs/running/upgrades.md) restores the database, the rules and the keys."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import psycopg
import pytest

from tests.commands.test_upgrade import as_0_1_left_it
from tests.databases import Server
from tests.running import Instance
from tests.version_0_1 import ON_POSTGRES, ON_SQLITE, go_back


def migrated(instance: Instance) -> Instance:
    done = instance.run("migrate")
    assert done.returncode == 0, done.stderr
    # The current state differs from that of 0.1.
    assert instance.run("policy", "adopt", "invariants").returncode == 0
    return instance


def test_on_sqlite_the_file_is_as_0_1_left_it(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    instance = as_0_1_left_it("sqlite", request, tmp_path / "instance")
    before = dump_of(shutil.copy(instance.folder / "gatepost.db", tmp_path / "before.db"))
    go_back(migrated(instance), ON_SQLITE)
    assert [file.name for file in instance.folder.glob("gatepost.db*") if "writer" not in file.name] == ["gatepost.db"]
    assert dump_of(instance.folder / "gatepost.db") == before


@pytest.mark.both_databases
@pytest.mark.skipif(shutil.which("pg_restore") is None, reason="NOT TESTED: pg_restore is not installed")
def test_on_postgres_a_database_beside_the_newer_one_is(
        request: pytest.FixtureRequest, postgres_server: Server, tmp_path: Path) -> None:
    instance = as_0_1_left_it("postgres", request, tmp_path / "instance")
    before = rows_of(instance.environment["GATEPOST_DATABASE_URL"])
    url = postgres_server.url("gatepost_before")
    try:
        with psycopg.connect(url.replace("gatepost_before", "postgres")) as known:
            server = {"PGHOST": known.info.host, "PGPORT": str(known.info.port), "PGUSER": known.info.user}
        go_back(migrated(instance), ON_POSTGRES, **server)
        assert rows_of(url) == before
    finally:
        postgres_server.execute("DROP DATABASE IF EXISTS gatepost_before")


def dump_of(file: Path) -> list[tuple[str, list[tuple[object, ...]]]]:
    """Returns the rows of each table, without the shadow tables of a full-text index."""
    with sqlite3.connect(file) as connection:
        names = [name for (name,) in connection.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE '%search%' ORDER BY name")]
        return [(name, sorted(connection.execute(f"SELECT * FROM {name}"), key=repr)) for name in names]


def rows_of(url: str) -> list[tuple[str, list[tuple[object, ...]]]]:
    with psycopg.connect(url) as connection:
        names = [name for (name,) in connection.execute(
            "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename")]
        return [(name, sorted(connection.execute(f"SELECT * FROM {name}"), key=repr)) for name in names]
