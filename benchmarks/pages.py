"""The cost of one page of articles at row 1 and at row 1 000 000, by caller, beside OFFSET: `make bench-pages`.

Each number is the median time in which the service answers a page of 20 whole rows: token, policy, statement, JSON and
headers, without the network. There are three callers: the first sees all rows, the second published rows (nine tenths)
and their own, the third five rows of the million. OFFSET is the bare statement. Depth counts from the start of the
walk; the deepest page is the last full one. Prints Markdown; --plot draws.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import Any

from flask import Flask

from app import create_app
from benchmarks.contenders import EMAIL, PASSWORD, gatepost
from benchmarks.plot import Line, Panel, draw
from benchmarks.profile import request
from gatepost.http.security.cursors import fingerprint
from models.base import later, new_id
from models.engine.database import Database
from models.engine.prepared import Bind, prepare
from models.paging import Key, Position, SortOrder, sort_order
from models.records import bulk
from models.tables.article import Article
from models.tables.tenant import Tenant
from models.tables.user import User

SIZE = 20
BATCH = 20_000  # rows stored in one transaction
DEPTHS = (1, 10_000, 160_000, 1_000_000)
START = "2026-01-01T00:00:00.000000Z"
NEWEST_FIRST = sort_order(Key(Article.created_at, descending=True))
COLUMNS = tuple(Article._meta.sorted_fields)
# Caller → role and rules. No article is approved, so only the caller's own five match; no planner knows that.
CALLERS: Mapping[str, tuple[str, str]] = {
    "all": ("developer", "always"),
    "published or own": ("user", "published own"),
    "five rows": ("support", "approved own"),
}
OFFSET = "OFFSET"
# Medians of one database, in microseconds: (caller, way) → depth → cost.
Costs = dict[tuple[str, str], dict[int, float]]


@dataclass(frozen=True)
class World:
    """The callers in the filled database, and the position before each depth from either side."""

    tenant: str
    users: Mapping[str, str]
    positions: Mapping[tuple[str, int], Position | None]


def main() -> None:
    options = _options()
    measured: dict[str, Costs] = {}
    with tempfile.TemporaryDirectory(prefix="gatepost-bench-") as directory:
        for url in _databases(options.postgres, Path(directory)):
            app = make_app(Path(directory) / url.partition(":")[0], url)
            try:
                measured[url.partition(":")[0]] = measure(app, filled(app, options.rows), options.seconds)
            finally:
                app.extensions["gatepost"].stop()
    for dialect, costs in measured.items():
        print(f"\n{dialect}, {options.rows:,} rows, microseconds a page\n\n{table(costs)}")
    if options.plot:
        options.plot.write_text(picture(measured), encoding="utf-8")
        print(f"\n{options.plot} written")


def make_app(instance: Path, url: str) -> Flask:
    """The service on a new instance whose policy gives each role of `CALLERS` its articles, and nothing else."""
    environment = {**os.environ, "GATEPOST_INSTANCE": str(instance), "GATEPOST_DATABASE_URL": url}
    for arguments in (("init", "--no-demo", "--admin-email", "admin@example.org", "--admin-password-file", "-"),
                      *(("user", "add", f"{role}-{EMAIL}", "--role", role, "--tenant", "default",
                         "--password-file", "-") for role, _ in CALLERS.values())):
        subprocess.run(gatepost(*arguments), env=environment, input=PASSWORD, text=True, check=True,
                       stdout=subprocess.DEVNULL)
    rules = [f"p, {role}, article.view, {condition}, allow\n"
             for role, conditions in CALLERS.values() for condition in conditions.split()]
    (instance / "policies" / "articles.csv").write_text("".join((*rules, "# end\n")), encoding="utf-8")
    roles = instance / "policies" / "roles.csv"
    # No caller of this benchmark inherits what another one sees.
    roles.write_text(re.sub(r"g, (support|developer), *user", r"g, \1, guest", roles.read_text("utf-8")), "utf-8")
    return create_app({"instance": instance, "database_url": url, "rate_limits": "off", "synchronous": "normal",
                       "statement_timeout": 600})


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pages", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000, help="how many articles there are (1000000)")
    parser.add_argument("--seconds", type=float, default=5, help="how long each caller's pages are read (5)")
    parser.add_argument("--postgres", metavar="URL", default=os.environ.get("GATEPOST_BENCH_POSTGRES"),
                        help="an empty database of yours; without it, a server is started for the run")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="also draw a picture (SVG)")
    return parser.parse_args()


def _databases(postgres: str | None, directory: Path) -> Iterator[str]:
    """Yields the URLs of an empty database of each kind. Reports it if Postgres is missing, and leaves it out."""
    yield f"sqlite:///{directory / 'pages.db'}"
    if postgres:
        yield postgres
        return
    from tests.databases import find_programs, running_server

    if find_programs() is None:
        print("*** NOT MEASURED ON POSTGRES: no initdb and postgres on this machine ***", file=sys.stderr)
        return
    with running_server() as server:
        server.execute("CREATE DATABASE pages")
        yield server.url("pages")


def filled(app: Flask, rows: int) -> World:
    """Fills the empty database of `app`, and prints the duration."""
    database: Database = app.extensions["gatepost"].database
    with database.connected():
        started = perf_counter()
        world = fill(database, rows)
        print(f"{database.dialect}: filled in {perf_counter() - started:.0f} s", file=sys.stderr)
    return world


def measure(app: Flask, world: World, seconds: float) -> Costs:
    """Measures the pages of every caller, and OFFSET."""
    database: Database = app.extensions["gatepost"].database
    costs: Costs = {}
    for caller in CALLERS:
        for (way, depth), cost in medians(dict(pages(app, world, caller)), seconds).items():
            costs.setdefault((caller, way), {})[depth] = cost
    with database.connected():
        for (way, depth), cost in medians(dict(offsets(database, world)), seconds).items():
            costs.setdefault(("all", way), {})[depth] = cost
    return costs


def fill(database: Database, rows: int) -> World:
    """Fill the default tenant with `rows` articles, three to a second: a tenth by one author, five by a reader."""
    tenant = Tenant.by_name("default").id
    users = {caller: User.by_email(f"{role}-{EMAIL}").id for caller, (role, _) in CALLERS.items()}
    chance, few = random.Random(5), {rows * part // 6 for part in range(1, 6)}

    def articles() -> Iterator[tuple[object, ...]]:
        for number in range(rows):
            time = later(number // 3, START) if number % 3 == 0 else time  # noqa: F821 - of the row before
            owner = users["five rows"] if number in few else (
                users["published or own"] if chance.random() < 0.1 else users["all"])
            status = "draft" if number in few or chance.random() < 0.1 else "published"
            row = {"id": new_id(), "tenant_id": tenant, "owner_id": owner, "version": 1, "created_at": time,
                   "updated_at": time, "title": f"Title {chance.randrange(rows)}", "slug": f"slug-{number}",
                   "body": "A short text about nothing in particular. " * 5, "language": "en", "status": status,
                   "published_at": None if status == "draft" else time}
            yield tuple(row.get(column.name) for column in COLUMNS)

    load(database, articles())
    edges = {"forward": NEWEST_FIRST, "backward": sort_order(Key(Article.created_at))}
    return World(tenant, users, {
        (way, depth): _position(tenant, edge, depth)
        for way, edge in edges.items() for depth in (min(depth, rows - SIZE) for depth in DEPTHS)})


def load(database: Database, articles: Iterator[tuple[object, ...]]) -> None:
    """Stores many rows in the fastest way."""
    names = [column.name for column in COLUMNS]

    def store(batch: list[tuple[object, ...]]) -> None:
        bulk.ample_cache(database)
        bulk.load(database, Article, names, batch)

    while batch := list(islice(articles, BATCH)):
        database.transact(partial(store, batch))
    if database.dialect == "postgres":
        database.execute_sql("VACUUM articles")
    bulk.optimize(database, Article)


def _position(tenant: str, edge: SortOrder, depth: int) -> Position | None:
    """Returns the position before the row at `depth`, so that a page begins there."""
    if depth == 1:
        return None
    ordering = [key.column.desc() if key.descending else key.column.asc() for key in edge.keys]
    query = Article.select(*edge.columns).where(Article.tenant_id == tenant).order_by(*ordering)
    # Not `get`: it would replace the offset with its own.
    found: Position = next(iter(query.offset(depth - 2).limit(1).tuples()))
    return found


def pages(app: Flask, world: World, caller: str) -> Iterator[tuple[tuple[str, int], Callable[[], Any]]]:
    """Yields the functions that request each page as one caller, by way and depth."""
    token = app.test_client().post("/api/login", json={
        "email": f"{CALLERS[caller][0]}-{EMAIL}", "password": PASSWORD}).get_json()["access_token"]
    cursors = app.extensions["gatepost"].cursors
    question = fingerprint(filters={}, sort="-created_at", q=None, tenant=world.tenant)
    for (way, depth), position in world.positions.items():
        path = f"/api/articles?limit={SIZE}"
        if position is not None:
            cursor = cursors.write("articles", question, position)
            path += f"&{'after' if way == 'forward' else 'before'}={cursor}"
        elif way == "backward":
            continue  # a backward walk needs a start position
        yield (way, depth), request(app, path, token)


def offsets(database: Database, world: World) -> Iterator[tuple[tuple[str, int], Callable[[], Any]]]:
    """The statement that skips rows instead of seeking them, by depth."""
    query = Article.select(*COLUMNS).where(Article.tenant_id == Bind("tenant")).order_by(
        Article.created_at.desc(), Article.id.desc()).limit(SIZE + 1).offset(Bind("offset"))
    raw = prepare(database, query)
    for way, depth in world.positions:
        if way == "forward":
            yield (OFFSET, depth), lambda skipped=depth - 1: raw.run(
                database, {"tenant": world.tenant, "offset": skipped})


def medians(reads: Mapping[tuple[str, int], Callable[[], object]], seconds: float,
            ) -> dict[tuple[str, int], float]:
    """Returns the median microseconds of each read. All are read in turn, so that a disturbance affects all."""
    taken: dict[tuple[str, int], list[float]] = {key: [] for key in reads}
    deadline = perf_counter() + seconds
    while perf_counter() < deadline:
        for key, read in reads.items():
            # A slow read is repeated less often than the fast ones, so that it does not use their time.
            if sum(taken[key]) > seconds / len(reads) and len(taken[key]) >= 3:
                continue
            started = perf_counter()
            read()
            taken[key].append(perf_counter() - started)
    return {key: statistics.median(times) * 1e6 for key, times in taken.items()}


def table(costs: Costs) -> str:
    """The costs of one database as a Markdown table, a line per depth, and how far they are from flat."""
    depths = sorted(next(iter(costs.values())))
    heads = [f"{caller} {way}" if way != OFFSET else way for caller, way in costs]
    lines = [["row", *heads], ["---:"] * (len(heads) + 1)]
    lines += [[f"{depth:,}", *(f"{line[depth]:,.0f}" if depth in line else "" for line in costs.values())]
              for depth in depths]
    lines += [["dearest ÷ cheapest", *(f"{max(line.values()) / min(line.values()):.2f}" for line in costs.values())]]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def picture(measured: Mapping[str, Costs]) -> str:
    """All costs as one SVG, a panel per database."""
    return draw("One page of 20 out of a million rows", "row at which the page begins", "microseconds", [
        Panel(dialect, [Line(way if way == OFFSET else f"{caller}, {way}", sorted(line.items()), way == "backward")
                        for (caller, way), line in costs.items()])
        for dialect, costs in measured.items()])


if __name__ == "__main__":
    main()
