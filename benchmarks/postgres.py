"""Gatepost on Postgres, and its page's statement run bare through psycopg, for `make bench POSTGRES=1`.

A server is started for the run with Debian's programs. It waits for no disk (fsync and synchronous_commit are off), as
SQLite and PocketBase do not here.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter

import psycopg

from app import create_app
from benchmarks.contenders import EMAIL, FIRST_PAGE, PASSWORD, Gatepost, copy_instance, make_instance, serve
from benchmarks.load import Measure
from models.engine.connect import open_database
from tests.databases import Server, find_programs, running_server

Statement = tuple[str, Sequence[object]]


@contextmanager
def prepared(folder: Path, articles: int, workers: Sequence[int]) -> Iterator[list[Gatepost]]:
    """A server for each number of workers, not yet started, each on a database of its own with the same rows."""
    if find_programs() is None:
        sys.exit("Postgres was not measured: there is no initdb on this machine (Debian: apt install postgresql).")
    with running_server() as server:
        found = [Gatepost(f"granian ×{number}", folder / f"postgres-{number}", articles, serve(workers=number),
                          {"GATEPOST_DATABASE_URL": server.url(f"workers_{number}")}) for number in workers]
        _fill(server, found[0])
        for other, number in zip(found[1:], workers[1:], strict=True):
            server.execute(f"CREATE DATABASE workers_{number} TEMPLATE workers_{workers[0]}")
            copy_instance(found[0].instance, other.instance)
        yield found


def _fill(server: Server, first: Gatepost) -> None:
    url = first.settings["GATEPOST_DATABASE_URL"]
    server.execute(f"CREATE DATABASE {url.rpartition('/')[2]}")
    make_instance(first.instance, first.articles, first.settings)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")  # or the server does, in the middle of a measurement


def page_statement(instance: Path, url: str) -> Statement:
    """Returns the service's statement for the first page of the benchmark's caller: SQL and parameters."""
    app = create_app({"instance": instance, "database_url": url, "rate_limits": "off"})
    services, client = app.extensions["gatepost"], app.test_client()
    token = client.post("/api/login", json={"email": EMAIL, "password": PASSWORD}).get_json()["access_token"]
    ran: list[Statement] = []
    query = services.database.query

    def noted(sql: str, parameters: Sequence[object] = ()) -> list[tuple[object, ...]]:
        ran.append((sql, parameters))
        found: list[tuple[object, ...]] = query(sql, parameters)
        return found

    services.database.query = noted
    client.get(FIRST_PAGE, headers={"Authorization": f"Bearer {token}"})
    services.stop()
    statement, = [one for one in ran if '"articles"' in one[0]]
    return statement


@contextmanager
def bare(server: Gatepost, workers: int) -> Iterator[Measure]:
    """Yields a measure of pages a second: each of `workers` processes only reads the same page."""
    url = server.settings["GATEPOST_DATABASE_URL"]
    statement = page_statement(server.instance, url)
    with get_context("spawn").Pool(workers) as pool:
        def rate(seconds: float) -> float:
            return sum(pool.starmap(read_pages, [(url, statement, seconds)] * workers, chunksize=1))

        rate(1)  # a worker imports this module when its first work arrives, and the others do not wait for it
        yield rate


def read_pages(url: str, statement: Statement, seconds: float) -> float:
    """Pages a second of one connection, opened as the service opens its own: values arrive in the same shape."""
    with closing(open_database(url, pool_size=1)) as database, database.connected():
        connection, (sql, parameters) = database.connection(), statement
        pages, started = 0, perf_counter()
        while perf_counter() < started + seconds:
            connection.execute(sql, parameters, prepare=True).fetchall()
            pages += 1
        return pages / (perf_counter() - started)
