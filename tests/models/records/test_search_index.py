"""The full-text index on SQLite: complete for every way to store rows, and written once in each transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from models import ddl
from models.base import Rows, Table, new_id
from models.engine.connect import open_database
from models.engine.database import Database
from models.engine.errors import AlreadyExists
from models.engine.sqlite.writer_lock import WriterLock
from models.engine.waiting import Wait
from models.migrate import upgrade
from models.records import bulk, search
from models.tables import audit
from models.tables.article import Article
from models.tables.audit import Audit
from models.tables.comment import Comment
from models.tables.page import Page
from models.tables.product import Product
from models.tables.tenant import Tenant

Store = Callable[[Database, Rows[Article]], object]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Database]:
    database = open_database(f"sqlite:///{tmp_path}/gatepost.db", synchronous="normal")
    upgrade(database)
    with database.connected():
        yield database
    database.close_all()


def article(title: str, **values: object) -> Article:
    return Article(**{"title": title, "slug": new_id(), "body": f"All about {title}.", **values})


def pieces(database: Database) -> int:
    return database.query("SELECT count(DISTINCT segid) FROM articles_search_idx")[0][0]


def check_index(database: Database) -> None:
    # Raises if the index differs from the texts of the table.
    database.query("INSERT INTO articles_search (articles_search, rank) VALUES ('integrity-check', 1)")


def refused(rows: Rows[Article], taken: str) -> None:
    with pytest.raises(AlreadyExists):
        rows.insert(article("nothing", slug=taken))


def undone(database: Database, rows: Rows[Article], taken: str) -> None:
    with pytest.raises(AlreadyExists):
        database.attempt(lambda: [rows.insert(article("nothing", slug=slug)) for slug in (new_id(), taken)])


def changed(rows: Rows[Article]) -> None:
    row = rows.insert(article("before"))
    row.title, row.body = "owl", ""
    rows.save(row)


WAYS: dict[str, Store] = {
    "one row": lambda database, rows: rows.insert(article("owl")),
    "rows one by one": lambda database, rows: [rows.insert(article(title)) for title in ("lark", "owl", "wren")],
    "a load": lambda database, rows: bulk.insert(database, rows.tenant_id, [article("lark"), article("owl")]),
    "a load after a row": lambda database, rows: (
        rows.insert(article("lark")), bulk.insert(database, rows.tenant_id, [article("owl")])),
    "a row after one that was refused": lambda database, rows: (
        rows.insert(article("lark", slug="taken")), refused(rows, "taken"), rows.insert(article("owl"))),
    "a row after some that were undone": lambda database, rows: (
        rows.insert(article("lark", slug="taken")), undone(database, rows, "taken"), rows.insert(article("owl"))),
    "a row that was changed": lambda database, rows: changed(rows),
    "a row beside one that was removed": lambda database, rows: (
        rows.insert(article("owl")), rows.delete(rows.insert(article("nothing")))),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_index_holds_the_words_of_every_row(way: str, opened: Database) -> None:
    rows = Rows(Article, Tenant.add("birds").id)
    opened.transact(lambda: WAYS[way](opened, rows))
    check_index(opened)
    owl = search.words("owl", rows.tenant_id, "sqlite")
    found = rows.select(Article.title).where(search.matching(Article, "sqlite", owl)).tuples()
    assert list(found) == [("owl",)]
    nothing = search.words("nothing", rows.tenant_id, "sqlite")
    assert not rows.select().where(search.matching(Article, "sqlite", nothing)).count()


def test_what_one_transaction_stores_is_written_to_the_index_as_one_piece(opened: Database) -> None:
    rows = Rows(Article, Tenant.add("birds").id)
    opened.transact(lambda: [rows.insert(article(title)) for title in ("lark", "owl", "wren")])
    assert pieces(opened) == 1


def test_an_audit_event_between_two_rows_splits_no_piece(opened: Database) -> None:
    rows = Rows(Article, Tenant.add("birds").id)

    def store(title: str) -> None:
        rows.insert(article(title))
        audit.add(tenant_id=rows.tenant_id, principal=f"user:{new_id()}", role="user", action="create",
                  resource="article", result="allowed")

    opened.transact(lambda: [store(title) for title in ("lark", "owl", "wren")])
    assert pieces(opened) == 1
    assert Audit.select().count() == 3


def test_after_a_load_the_index_is_in_one_piece_and_whole(opened: Database) -> None:
    rows = Rows(Article, Tenant.add("birds").id)
    for title in ("lark", "owl", "wren"):
        opened.transact(partial(bulk.insert, opened, rows.tenant_id, [article(title)]))
    assert pieces(opened) == 3
    bulk.optimize(opened, Article)
    assert pieces(opened) == 1
    check_index(opened)
    opened.transact(lambda: rows.insert(article("owl")))
    owl = search.words("owl", rows.tenant_id, "sqlite")
    assert rows.select().where(search.matching(Article, "sqlite", owl)).count() == 2


def test_a_merge_ends_though_others_write_all_the_time(opened: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "MERGE_STEP", 20)
    rows, steps, merge = Rows(Article, Tenant.add("birds").id), [], search._merge_some
    for _ in range(3):
        birds = [article("lark", body=" ".join(new_id() for _ in range(200))) for _ in range(50)]
        opened.transact(partial(bulk.insert, opened, rows.tenant_id, birds))

    def beside_others(database: Database, index: str, pages: int) -> bool:
        steps.append(pages)
        rows.insert(article("owl"))
        return merge(database, index, pages)

    monkeypatch.setattr(search, "_merge_some", beside_others)
    bulk.optimize(opened, Article)
    assert 5 < len(steps) < 200
    assert pieces(opened) < 10
    check_index(opened)


def test_an_index_is_left_in_pieces_where_others_write_without_a_pause(opened: Database) -> None:
    rows = Rows(Article, Tenant.add("birds").id)
    for title in ("lark", "owl"):
        opened.transact(partial(bulk.insert, opened, rows.tenant_id, [article(title)]))
    opened.places.timeout, other = 0.05, WriterLock(opened.path)
    other.acquire(Wait(opened.places))
    bulk.optimize(opened, Article)
    other.release()
    assert pieces(opened) == 2


def how_pieces_are_removed(database: Database) -> str:
    """Returns the plan of the statement by which FTS5 removes merged segments, for writers."""
    with database.writing():
        plan = database.query("EXPLAIN QUERY PLAN DELETE FROM articles_search_data WHERE id >= ? AND id <= ?", [1, 2])
    return " ".join(step[3] for step in plan)


def test_pieces_of_an_index_are_found_by_key_though_it_was_empty_when_tables_were_counted(opened: Database) -> None:
    rows = Rows(Article, Tenant.add("birds").id)
    opened.analyze()
    assert how_pieces_are_removed(opened).startswith("SEARCH")
    opened.transact(lambda: [rows.insert(article("owl")) for _ in range(100)])
    opened.refresh_statistics()
    assert how_pieces_are_removed(opened).startswith("SEARCH")
    counted = {table for table, in opened.query("SELECT tbl FROM sqlite_stat1")}
    assert "articles" in counted
    assert not any(table.startswith("articles_search") for table in counted)


def test_an_upgrade_forgets_how_large_the_indexes_of_words_were(opened: Database) -> None:
    opened.transact(lambda: opened.query("INSERT INTO sqlite_stat1 VALUES ('articles_search_data', NULL, '2')"))
    opened.transact(lambda: opened.query("DELETE FROM migrations_gatepost WHERE name = '0009_word_statistics'"))
    upgrade(opened)
    assert not opened.query("SELECT 1 FROM sqlite_stat1 WHERE tbl = 'articles_search_data'")
    assert opened.query("SELECT 1 FROM sqlite_stat1 WHERE tbl = 'migrations_gatepost'")


@pytest.mark.parametrize("table", [Article, Comment, Page, Product], ids=lambda table: table.__name__)
def test_the_columns_that_are_indexed_are_those_that_the_table_names(table: type[Table], opened: Database) -> None:
    columns = opened.query("SELECT name FROM pragma_table_info(?)", [search.index_of(table)])
    assert tuple(name for name, in columns) == table.searched


@pytest.mark.parametrize("columns", [("title",), ("title", "body", "slug")])
def test_an_index_of_other_columns_than_are_searched_is_none(opened: Database, columns: tuple[str, ...]) -> None:
    assert search.is_current(opened, Article)
    opened.transact(lambda: ddl.searchable(opened, "articles", columns))
    assert not search.is_current(opened, Article)
