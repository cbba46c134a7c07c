"""Rows of a load become visible together, for every connection of every process (`models.tables.load`)."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import peewee as pw
import pytest

from models import ddl
from models.base import Rows
from models.engine.connect import open_database
from models.engine.database import Database
from models.engine.errors import AlreadyExists, Busy
from models.engine.prepared import prepare
from models.records import bulk, search
from models.tables import load
from models.tables.category import Category
from models.tables.job import enqueue
from models.tables.page import Page
from models.tables.product import Product
from models.tables.tenant import Tenant
from tests.databases import new_database
from tests.running import ROOT

AT_ONCE = 30  # rows of each load of these tests
_numbers = itertools.count()


@pytest.fixture(scope="module")
def url(request: pytest.FixtureRequest) -> str:
    return new_database("sqlite", request)


@pytest.fixture
def database(url: str) -> Iterator[Database]:
    opened = open_database(url, synchronous="normal", statement_timeout=30)
    yield opened
    opened.close_all()


@pytest.fixture
def tenant(database: Database) -> str:
    """The id of a tenant without rows."""
    name = f"tenant {next(_numbers)}"
    database.transact(lambda: Tenant.add(name))
    with database.connected():
        found = Tenant.by_name(name)
        assert found is not None
        return found.id


def product(**values: object) -> Product:
    number = next(_numbers)
    return Product(**{"name": f"Walnut {number}", "sku": f"{os.getpid()}-{number}", "price": 1, "currency": "EUR",
                      "stock": 1, "status": "active"} | values)


def add(database: Database, tenant: str, count: int) -> None:
    bulk.insert(database, tenant, [product() for _ in range(count)])


# The application's ways to read: each returns the number of the tenant's products.


def counted(database: Database, tenant: str) -> int:
    return int(Rows(Product, tenant).select().count())


def read_lazily(database: Database, tenant: str) -> int:
    return sum(1 for _ in Rows(Product, tenant).select().iterator())


def prepared(database: Database, tenant: str) -> int:
    return len(prepare(database, Rows(Product, tenant).select(Product.id)).run(database, {}))


def recalled(database: Database, tenant: str) -> int:
    return int(database.recall("SELECT count(*) FROM products WHERE tenant_id = ?", [tenant])[0][0])


def searched(database: Database, tenant: str) -> int:
    found = search.matching(Product, database.dialect, pw.Value(search.words("walnut", tenant, database.dialect)))
    return int(Rows(Product, tenant).select().where(found).count())


def in_a_write(database: Database, tenant: str) -> int:
    return database.transact(lambda: counted(database, tenant))


def in_a_group(database: Database, tenant: str) -> int:
    return database.transact(lambda: counted(database, tenant), grouped=True)


READS = (counted, read_lazily, prepared, recalled, searched, in_a_write, in_a_group)


def seen(database: Database, tenant: str) -> set[int]:
    """Returns the results of all ways to read, each on a connection that may have been used before."""
    def one(read: Callable[[Database, str], int]) -> int:
        with database.connected():
            return read(database, tenant)

    return {one(read) for read in READS}


def test_rows_are_hidden_until_the_load_is_closed(database, tenant):
    database.transact(lambda: add(database, tenant, 1))
    with load.opened(database, tenant, Product) as loading:
        for _ in range(3):
            loading.store(lambda: add(database, tenant, AT_ONCE))
            # All but its own transactions.
            assert {one for one in seen_elsewhere(database, tenant)} == {1}
        assert loading.store(lambda: counted(database, tenant)) == 1 + 3 * AT_ONCE
        database.transact(loading.close)
    assert seen(database, tenant) == {1 + 3 * AT_ONCE}


def seen_elsewhere(database: Database, tenant: str) -> set[int]:
    """Returns the results of another thread, because transactions of this thread are the load's."""
    found: set[int] = set()
    thread = threading.Thread(target=lambda: found.update(seen(database, tenant)))
    thread.start()
    thread.join()
    return found


@pytest.mark.parametrize("held", [False, True], ids=["a new connection", "a connection that is held"])
def test_a_load_that_fails_leaves_nothing(database, tenant, held):
    if held:
        database.connect()
    with pytest.raises(ZeroDivisionError), load.opened(database, tenant, Product) as loading:
        loading.store(lambda: add(database, tenant, AT_ONCE))
        assert seen_elsewhere(database, tenant) == {0}
        raise ZeroDivisionError
    assert seen(database, tenant) == {0}
    with database.connected():
        assert database.query("SELECT 1 FROM main.products WHERE tenant_id = ?", [tenant]) == []
        # The words are deleted from the index, too.
        database.transact(lambda: database.write(
            "INSERT INTO products_search (products_search, rank) VALUES ('integrity-check', 1)"))
    database.close()
    assert not list(Path(database.database).parent.glob("*.load-*"))


def test_a_batch_that_is_refused_is_undone_alone(database, tenant):
    with load.opened(database, tenant, Product) as loading:
        loading.store(lambda: Rows(Product, tenant).insert(product(sku="twice")))
        with pytest.raises(AlreadyExists):
            loading.store(lambda: Rows(Product, tenant).insert(product(sku="twice")))
        database.transact(loading.close)
    assert seen(database, tenant) == {1}


def test_writes_meanwhile_are_visible_at_once_and_stay_when_the_load_is_undone(database, tenant):
    others: list[int] = []

    def write() -> None:
        database.transact(lambda: add(database, tenant, 1), grouped=True)
        row = Product.select().where(Product.tenant_id == tenant).first
        with database.connected():
            found = row()
        found.name = f"Walnut {len(others)}, changed"
        database.transact(lambda: Rows(Product, tenant).save(found))
        others.extend(seen(database, tenant))

    with pytest.raises(ZeroDivisionError), load.opened(database, tenant, Product) as loading:
        for _ in range(3):
            loading.store(lambda: add(database, tenant, AT_ONCE))
            thread = threading.Thread(target=write)
            thread.start()
            thread.join()
        raise ZeroDivisionError
    assert others == [1, 2, 3]
    assert seen(database, tenant) == {3}


@pytest.mark.parametrize("undoes", ["the load itself", "another process"])
def test_rows_that_take_the_numbers_of_deleted_ones_are_undone_with_the_others(undoes, database, tenant):
    database.transact(lambda: add(database, tenant, 3))
    with pytest.raises(ZeroDivisionError), load.opened(database, tenant, Product) as opened:
        database.transact(lambda: Rows(Product, tenant).remove(status="active"))
        opened.store(lambda: add(database, tenant, AT_ONCE))
        if undoes == "another process":
            with database.connected():
                (tables,), = database.query("SELECT tables FROM loads WHERE number = ?", [opened.number])
            load.Load(database, opened.number, json.loads(tables)).undo()
        raise ZeroDivisionError
    with database.connected():
        assert counted(database, tenant) == 0


def test_rows_that_refer_to_each_other_are_undone(database, tenant):
    def category(**values: object) -> Category:
        number = next(_numbers)
        return Rows(Category, tenant).insert(Category(name=f"{number}", slug=f"category-{number}", **values))

    with pytest.raises(ZeroDivisionError), load.opened(database, tenant, Category) as loading:
        first = loading.store(category)
        second = loading.store(lambda: category(parent_id=first.id))

        def turn_over() -> None:
            # Now the older row refers to the newer one.
            Rows(Category, tenant).change({Category.parent_id: None}, Category.id == second.id)
            Rows(Category, tenant).change({Category.parent_id: second.id}, Category.id == first.id)

        loading.store(turn_over)
        raise ZeroDivisionError
    with database.connected():
        assert database.query("SELECT 1 FROM main.categories WHERE tenant_id = ?", [tenant]) == []


def test_jobs_of_a_load_are_hidden_with_its_rows(database, tenant):
    def jobs() -> int:
        with database.connected():
            return len(database.query("SELECT id FROM jobs WHERE tenant_id = ?", [tenant]))

    for closes in (False, True):
        with load.opened(database, tenant, Product) as loading:
            loading.store(lambda: enqueue(tenant, "notes.told", {}))
            assert jobs() == 0
            if closes:
                database.transact(loading.close)
        assert jobs() == closes


def test_one_load_of_a_table_at_a_time(database, tenant, monkeypatch):
    monkeypatch.setattr(load, "PATIENCE", 0.0)
    with load.opened(database, tenant, Product):
        with pytest.raises(Busy), load.opened(database, tenant, Product):
            pass
        with load.opened(database, tenant, Page):
            pass
    with load.opened(database, tenant, Product) as loading:
        database.transact(loading.close)


def test_a_table_without_the_column_cannot_be_loaded(database, tenant):
    class Shelf(Product):
        class Meta:
            table_name = "shelves"

    database.transact(lambda: database.execute_sql("CREATE TABLE shelves (id TEXT PRIMARY KEY) STRICT"))
    assert not load.can_load(database, Shelf)
    database.transact(lambda: ddl.loadable(database, "shelves"))
    assert load.can_load(database, Shelf)


def test_tables_are_migrated_while_a_load_is_open(database, tenant):
    with load.opened(database, tenant, Product) as loading:
        loading.store(lambda: add(database, tenant, AT_ONCE))
        assert seen_elsewhere(database, tenant) == {0}
        other = open_database(f"sqlite:///{database.database}", synchronous="normal")
        with other.migrating():
            other.execute_sql("ALTER TABLE products ADD COLUMN weight INTEGER")
            other.execute_sql("UPDATE products SET weight = 1")
        with other.connected():
            assert other.query("SELECT count(*) FROM products WHERE tenant_id = ?", [tenant]) == [(0,)]
        other.close_all()
        database.transact(loading.close)
    assert seen(database, tenant) == {AT_ONCE}


def test_a_copy_of_the_database_hides_the_load_and_another_process_undoes_it(database, tenant, tmp_path):
    with load.opened(database, tenant, Product) as loading:
        loading.store(lambda: add(database, tenant, AT_ONCE))
        with database.copied(str(tmp_path / "copy.db")):
            pass
        database.transact(loading.close)
    copy = open_database(f"sqlite:///{tmp_path / 'copy.db'}", synchronous="normal")
    assert seen(copy, tenant) == {0}
    assert load.undo_left(copy) == 1
    with copy.connected():
        assert copy.query("SELECT 1 FROM main.products WHERE tenant_id = ?", [tenant]) == []
    copy.close_all()
    assert load.undo_left(database) == 0
    assert seen(database, tenant) == {AT_ONCE}


# Several processes

READER = """
import sys, threading
from models.engine.connect import open_database
from tests.models.engine.sqlite.test_loads import AT_ONCE, READS
database, found = open_database(sys.argv[1], synchronous="normal"), set()
def read(reading):
    while not stop.is_set():
        with database.connected():
            found.add(reading(database, sys.argv[2]) % AT_ONCE)
stop = threading.Event()
threads = [threading.Thread(target=read, args=(one,)) for one in READS]
for thread in threads: thread.start()
print("reading", flush=True)
sys.stdin.read()
stop.set()
for thread in threads: thread.join()
print(sorted(found))
"""
LOADER = """
import sys
from models.engine.connect import open_database
from models.tables import load
from models.tables.product import Product
from tests.models.engine.sqlite.test_loads import AT_ONCE, add
database = open_database(sys.argv[1], synchronous="normal")
with load.opened(database, sys.argv[2], Product) as loading:
    loading.store(lambda: add(database, sys.argv[2], AT_ONCE))
    print("stored", flush=True)
    sys.stdin.read()
"""


def program(text: str, *arguments: str) -> subprocess.Popen[str]:
    """A running program that has printed its first line."""
    found = subprocess.Popen([sys.executable, "-c", text, *arguments], cwd=ROOT, text=True, stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE)
    assert found.stdout is not None
    assert found.stdout.readline()
    return found


@pytest.mark.slow
def test_no_reader_sees_a_part_of_a_load_whatever_becomes_of_it(url, database, tenant):
    elsewhere, found, stop = program(READER, url, tenant), set(), threading.Event()

    def read(reading: Callable[[Database, str], int]) -> None:
        while not stop.is_set():
            with database.connected():
                found.add(reading(database, tenant) % AT_ONCE)

    threads = [threading.Thread(target=read, args=(reading,)) for reading in READS]
    for thread in threads:
        thread.start()
    try:
        for number in range(6):
            with load.opened(database, tenant, Product) as loading:
                for _ in range(3):
                    loading.store(lambda: add(database, tenant, AT_ONCE // 3))
                if number % 2:
                    database.transact(loading.close)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
        said, _ = elsewhere.communicate()
    assert (found, json.loads(said)) == ({0}, [0])
    assert seen(database, tenant) == {3 * AT_ONCE}


@pytest.mark.slow
def test_the_load_of_a_killed_process_is_never_seen_and_is_undone(url, database, tenant):
    loader = program(LOADER, url, tenant)
    assert seen(database, tenant) == {0}
    assert load.undo_left(database) == 0  # it may go on
    loader.send_signal(signal.SIGKILL)
    loader.communicate()
    assert seen(database, tenant) == {0}
    assert load.undo_left(database) == 1
    with database.connected():
        assert database.query("SELECT 1 FROM main.products WHERE tenant_id = ?", [tenant]) == []
    assert seen(database, tenant) == {0}


@pytest.mark.slow
def test_the_next_load_of_a_table_undoes_that_of_a_killed_process(url, database, tenant):
    loader = program(LOADER, url, tenant)
    loader.kill()
    loader.communicate()
    with load.opened(database, tenant, Product) as loading:
        loading.store(lambda: add(database, tenant, 1))
        database.transact(loading.close)
    assert seen(database, tenant) == {1}
