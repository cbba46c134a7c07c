"""A test of timing leaks: the time of a search must not reveal rows that its caller may not see: `make bench-search`.

A guest searches articles for words, over HTTP without the network. There are three questions, each with samples taken
in turn:

- nothing is found, and another tenant has the word in none, one, 500 or all of its articles;
- a small tenant's words are found, in a database of its own and beside a huge tenant;
- nothing is found, and drafts of the same tenant have the word, none to 5,000 of them.

Prints Markdown: medians in microseconds, and how far they are from the first.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from time import perf_counter
from typing import Any

from flask import Flask

from app import create_app
from benchmarks.contenders import make_instance
from benchmarks.pages import COLUMNS, load
from benchmarks.profile import Ask, request
from models.base import later, new_id
from models.engine.connect import open_database
from models.tables.tenant import Tenant

START = "2026-01-01T00:00:00.000000Z"
SMALL = 1000  # published articles of the searched tenant
DRAFTS = 5000
KINDS = 5  # words for each number of articles: where one lies in the index is chance
VOCABULARY = ["".join(random.Random(number).choices("abcdefghijklmnoprstuw", k=3 + number % 8)) + "y"
              for number in range(4000)]
Rows = Iterator[tuple[object, ...]]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.search", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=50_000, help="articles of the other tenant (50000)")
    parser.add_argument("--seconds", type=float, default=10, help="how long each question is asked (10)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gatepost-bench-") as directory, servers(Path(directory)) as urls:
        for dialect, (alone, beside) in urls.items():
            folder = Path(directory) / dialect
            apart, both = opened(folder / "alone", alone, 0), opened(folder / "beside", beside, options.rows)
            try:
                print(f"\n{dialect}\n")
                for title, asked in questions(apart, both, options.rows).items():
                    show(title, medians(asked, options.seconds))
            finally:
                for app in (apart, both):
                    app.extensions["gatepost"].stop()


@contextmanager
def servers(directory: Path) -> Iterator[dict[str, tuple[str, str]]]:
    """Yields the URLs of two empty databases of each kind. Reports it if Postgres is missing, and leaves it out."""
    from tests.databases import find_programs, running_server

    found = {"sqlite": (f"sqlite:///{directory / 'alone.db'}", f"sqlite:///{directory / 'beside.db'}")}
    if find_programs() is None:
        print("*** NOT MEASURED ON POSTGRES: no initdb and postgres on this machine ***", file=sys.stderr)
        yield found
        return
    with running_server() as server:
        for name in ("alone", "beside"):
            server.execute(f"CREATE DATABASE {name}")
        yield {**found, "postgres": (server.url("alone"), server.url("beside"))}


def opened(instance: Path, url: str, others: int) -> Flask:
    """The service with a small tenant, and another one of `others` articles."""
    make_instance(instance, 1, {"GATEPOST_DATABASE_URL": url})
    database = open_database(url, synchronous="normal", statement_timeout=600)
    with database.connected():
        load(database, small(Tenant.by_name("default").id))
        if others:
            load(database, huge(Tenant.add("huge").id, others))
    database.close_all()
    return create_app({"instance": instance, "database_url": url, "rate_limits": "off", "synchronous": "normal"})


def words(kind: str, number: int) -> list[str]:
    """The words that `number` articles of a kind have: each of them has all of these."""
    return [f"{''.join(random.Random(f'{kind} {number} {one}').choices('bcdfghjk', k=9))}x" for one in range(KINDS)]


def small(tenant: str) -> Rows:
    """Yields the articles of the searched tenant. The newest are drafts."""
    for number in range(SMALL):
        also = words("small", SMALL) + (words("small", 5) if number % (SMALL // 5) == 0 else [])
        yield article(tenant, number, "published", also)
    for number in range(DRAFTS):
        yield article(tenant, SMALL + number, "draft", had("draft", number, (1, 500, DRAFTS)))


def huge(tenant: str, rows: int) -> Rows:
    for number in range(rows):
        yield article(tenant, number, "published", had("other", number, (1, 500, rows)))


def had(kind: str, number: int, counts: Sequence[int]) -> list[str]:
    """The words of the article of this number, where each word of `counts` is had by as many articles."""
    return [word for count in counts if number < count for word in words(kind, count)]


def article(tenant: str, number: int, status: str, also: Sequence[str]) -> tuple[object, ...]:
    chance, time = random.Random(number), later(number, START)
    row: dict[str, Any] = {
        "id": new_id(), "tenant_id": tenant, "version": 1, "created_at": time, "updated_at": time, "language": "en",
        "title": f"Title {number}", "slug": f"slug-{number}", "status": status, "published_at": time,
        "body": " ".join((*chance.choices(VOCABULARY, k=60), *also))}
    return tuple(row.get(column.name) for column in COLUMNS)


def questions(alone: Flask, beside: Flask, rows: int) -> dict[str, dict[str, list[Ask]]]:
    """Returns the requests of each question: title → variant → requests that are taken in turn."""
    def asks(app: Flask, kind: str, number: int) -> list[Ask]:
        return [request(app, f"/api/articles?q={word}&fields=title") for word in words(kind, number)]

    return {
        "nothing found; articles of another tenant that have the word": {
            f"{number:,}": asks(beside, "other", number) for number in (0, 1, 500, rows)},
        **{f"{what} found": {where: asks(app, "small", number)
                             for where, app in (("alone", alone), ("beside a huge tenant", beside))}
           for what, number in (("nothing", 0), ("5 articles", 5), (f"{SMALL:,} articles", SMALL))},
        # The most expensive one runs separately, because it leaves the processor's caches cold.
        **{f"nothing found; {most:,} drafts of the same tenant have the word": {
            f"{number:,}": asks(beside, "draft", number) for number in (0, most)} for most in (1, 500, DRAFTS)},
    }


def medians(asked: Mapping[str, Sequence[Ask]], seconds: float) -> dict[str, float]:
    """Returns the median microseconds of each. All run in turn, so that a disturbance affects all."""
    taken: dict[str, list[float]] = {name: [] for name in asked}
    turns = {name: cycle(asks) for name, asks in asked.items()}
    for asks in asked.values():
        for ask in (*asks, *asks):
            ask()
    deadline = perf_counter() + seconds
    while perf_counter() < deadline:
        for name, turn in turns.items():
            ask = next(turn)
            started = perf_counter()
            ask()
            taken[name].append(perf_counter() - started)
    return {name: statistics.median(times) * 1e6 for name, times in taken.items()}


def show(title: str, found: Mapping[str, float]) -> None:
    """A Markdown table of one question."""
    first = next(iter(found.values()))
    print(f"| {title} | µs | difference |\n| ---: | ---: | ---: |")
    for name, cost in found.items():
        print(f"| {name} | {cost:,.0f} | {cost - first:+,.0f} µs, {100 * (cost / first - 1):+.1f} % |")
    print(flush=True)


if __name__ == "__main__":
    main()
