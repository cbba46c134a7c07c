"""Concurrent writers in threads and processes: no row is lost and no writer refused, also after kill -9."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from models.base import Rows, new_id
from models.engine.connect import open_database
from models.engine.database import Database
from models.engine.errors import Busy, Contended, Unavailable
from models.engine.sqlite.writer_lock import WriterLock
from models.engine.waiting import Places, Wait
from models.tables.article import Article
from models.tables.product import Product, return_stock, take_stock
from models.tables.tenant import Tenant
from tests.databases import new_database
from tests.running import ROOT

pytestmark = pytest.mark.both_databases


def together(count: int, work: Callable[[int], object]) -> list[BaseException]:
    """Runs `work(0)` … `work(count - 1)` in threads that start together. Returns their exceptions."""
    barrier, failures = threading.Barrier(count), []

    def run(number: int) -> None:
        barrier.wait()
        try:
            work(number)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return failures


class Where(NamedTuple):
    """A database, and True if its writers may share a transaction."""

    url: str
    group_commit: bool = True


@pytest.fixture(scope="module", params=[("sqlite", True), ("sqlite", False), ("postgres", True)],
                ids=["sqlite", "sqlite without group commit", "postgres"])
def where(request: pytest.FixtureRequest) -> Where:
    dialect, group_commit = request.param
    return Where(new_database(dialect, request), group_commit)


@pytest.fixture(scope="module")
def opened(where: Where) -> Iterator[Database]:
    database = open_database(where.url, pool_size=20, synchronous="normal", group_commit=where.group_commit)
    yield database
    database.close_all()


def writer(where: Where, threads: int, rows: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.models.engine.writer", where.url, str(threads), str(rows),
         *([] if where.group_commit else ["alone"])], cwd=ROOT, stdout=subprocess.PIPE, text=True)


def tenants(url: str) -> set[str]:
    database = open_database(url, pool_size=1, synchronous="normal", statement_timeout=30)
    with database.connected():
        names = {tenant.name for tenant in Tenant.all()}
        if database.dialect == "sqlite":
            assert database.query("PRAGMA integrity_check") == [("ok",)]
    database.close_all()
    return names


@pytest.fixture
def tenant(opened: Database) -> str:
    return opened.transact(lambda: Tenant.add(f"tenant {new_id()}").id)


@pytest.mark.parametrize("grouped", [False, True])
def test_sixteen_threads_lose_no_increment(opened: Database, tenant: str, grouped: bool) -> None:
    rows = Rows(Product, tenant)
    product = opened.transact(lambda: rows.insert(Product(name="P", sku=new_id(), price=1, currency="EUR")))

    def increment(_number: int) -> None:
        for _ in range(10):
            def work() -> None:
                row = rows.find(product.id, lock=True)
                row.stock += 1
                rows.save(row)
            opened.transact(work, grouped=grouped)

    assert together(16, increment) == []
    with opened.connected():
        found = rows.find(product.id)
    assert (found.stock, found.version) == (160, 161)


@pytest.mark.slow
def test_two_processes_of_sixteen_threads_lose_no_row(where: Where) -> None:
    processes = [writer(where, 16, 15) for _ in range(2)]
    written = [process.communicate(timeout=60)[0].split() for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    assert [len(names) for names in written] == [240, 240]
    assert set(written[0] + written[1]) <= tenants(where.url)


@pytest.mark.slow
@pytest.mark.parametrize("group_commit", [True, False])
def test_after_kill_9_what_was_committed_is_there_and_others_can_write(
        request: pytest.FixtureRequest, group_commit: bool) -> None:
    where = Where(new_database("sqlite", request), group_commit)
    process = writer(where, 8, 1_000_000)
    assert process.stdout is not None
    written = [process.stdout.readline().strip() for _ in range(100)]
    process.kill()
    written += process.stdout.read().split("\n")[:-1]
    process.wait()
    process.stdout.close()
    assert set(written) <= tenants(where.url)
    survivor = writer(where, 1, 1)
    assert len(survivor.communicate(timeout=60)[0].split()) == 1 and survivor.returncode == 0


def test_the_last_piece_is_taken_once(opened: Database, tenant: str) -> None:
    rows = Rows(Product, tenant)
    product = opened.transact(
        lambda: rows.insert(Product(name="P", sku=new_id(), price=1, currency="EUR", stock=1)))
    short: list[list[str]] = []

    def order(_number: int) -> None:
        short.append(opened.transact(lambda: take_stock(tenant, {product.id: 1})))

    assert together(16, order) == []
    assert sorted(short) == [[]] + [[product.id]] * 15


def test_two_writers_that_take_the_same_products_in_another_order_both_end(opened: Database, tenant: str) -> None:
    rows = Rows(Product, tenant)
    ids = [opened.transact(lambda: rows.insert(
        Product(name="P", sku=new_id(), price=1, currency="EUR", stock=100))).id for _ in range(4)]

    def trade(number: int) -> None:
        wanted = dict.fromkeys(ids if number % 2 else reversed(ids), 2)
        for _ in range(5):
            assert opened.transact(lambda: take_stock(tenant, wanted)) == []
            opened.transact(lambda: return_stock(tenant, wanted))

    assert together(8, trade) == []
    with opened.connected():
        assert [row.stock for row in rows.find_all(ids)] == [100] * 4


def test_a_deadlock_is_resolved_by_doing_the_work_once_more(request: pytest.FixtureRequest) -> None:
    # On Postgres only: one writer at a time cannot deadlock.
    opened = open_database(new_database("postgres", request), pool_size=2, statement_timeout=30)
    rows = Rows(Article, opened.transact(lambda: Tenant.add("tenant").id))
    ids = [opened.transact(lambda slug=slug: rows.insert(Article(title="T", slug=slug, body="B"))).id
           for slug in ("one", "two")]
    met = threading.Barrier(2)
    runs: list[int] = []

    def cross(number: int) -> None:
        def work() -> None:
            first_time = number not in runs
            runs.append(number)
            rows.change({Article.title: f"by {number}"}, Article.id == ids[number])
            if first_time:
                met.wait()
            rows.change({Article.title: f"by {number}"}, Article.id == ids[1 - number])
        opened.transact(work)

    assert together(2, cross) == []
    assert sorted(runs) in ([0, 0, 1], [0, 1, 1])
    with opened.connected():
        assert len({row.title for row in rows.find_all(ids)}) == 1
    opened.close_all()


def test_work_that_is_in_the_way_twice_is_unavailable(opened: Database) -> None:
    runs = []

    def work() -> None:
        runs.append(1)
        raise Contended("again")

    with pytest.raises(Unavailable):
        opened.transact(work)
    assert len(runs) == 2


def late() -> Busy:
    return Busy("too late")


def wait(seconds: float) -> Wait:
    return Wait(Places(None, moment=0.01, timeout=seconds, late=late))


def test_a_writer_that_waits_too_long_gets_busy_and_the_lock_stays_usable(tmp_path: Path) -> None:
    first, second = WriterLock(tmp_path / "x.db"), WriterLock(tmp_path / "x.db")
    first.acquire(wait(30))
    for _ in range(2):
        with pytest.raises(Busy):
            second.acquire(wait(0.02))
    first.release()
    second.acquire(wait(30))
    failures = together(1, lambda _: second.acquire(wait(0.02)))
    assert [type(error) for error in failures] == [Busy]
    second.release()
    second.acquire(wait(30))
    second.release()


def test_a_lock_whose_directory_is_gone_is_unavailable(tmp_path: Path) -> None:
    with pytest.raises(Unavailable):
        WriterLock(tmp_path / "absent" / "x.db").acquire(wait(1))
