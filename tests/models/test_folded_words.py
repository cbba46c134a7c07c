"""Migration 0031: it rebuilds each full-text index, a plugin's too, with folded words, completely or not at all."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import peewee as pw
import pytest

from models import ddl, migrate
from models.base import Owned, Rows, new_id
from models.engine.connect import open_database
from models.engine.database import Database
from models.records import search
from models.tables.article import Article
from models.tables.tenant import Tenant
from tests.databases import NO_LETTERS, new_database
from tests.running import ROOT

pytestmark = pytest.mark.both_databases

MIGRATION = "gatepost/0031_folded_words"
ROWS = 25
# The former index of `ddl.searchable`. The characters that end a word do not matter here.
BEFORE_SQLITE = """
    DROP TRIGGER {table}_search_update; DROP TRIGGER {table}_search_delete;
    DROP TABLE {table}_search; DROP VIEW {table}_words;
    CREATE VIEW {table}_words AS SELECT rowid AS number, {words} FROM {table};
    CREATE VIRTUAL TABLE {table}_search USING fts5(
        {columns}, content='{table}_words', content_rowid='number', columnsize=0,
        tokenize="unicode61 remove_diacritics 0 categories 'L* M* N* P* S* Cf Cn Co Cs'");
    INSERT INTO {table}_search ({table}_search) VALUES ('rebuild');
    CREATE TRIGGER {table}_search_update AFTER UPDATE OF tenant_id, {columns} ON {table} BEGIN
        INSERT INTO {table}_search ({table}_search, rowid, {columns}) VALUES ('delete', OLD.rowid, {old});
        INSERT INTO {table}_search (rowid, {columns}) VALUES (NEW.rowid, {new});
    END;
    CREATE TRIGGER {table}_search_delete AFTER DELETE ON {table} BEGIN
        INSERT INTO {table}_search ({table}_search, rowid, {columns}) VALUES ('delete', OLD.rowid, {old});
    END;
"""
BEFORE_POSTGRES = """
    ALTER TABLE {table} DROP COLUMN search, ADD COLUMN search tsvector GENERATED ALWAYS AS (
        to_tsvector('simple', replace(
            ' ' || btrim(regexp_replace(({text}) COLLATE "C", '[ ]+', ' ', 'g')),
            ' ', ' ' || translate(right(tenant_id::text, 6), '0123456789', 'ghijklmnop')))) STORED;
    CREATE INDEX {table}_search ON {table} USING gin (search);
"""
UPGRADE = """
import os, signal, sys
from models import migrate
from models.engine.connect import open_database
def report(done, whole):
    os.kill(os.getpid(), signal.SIGKILL)
database = open_database(sys.argv[1], pool_size=1, synchronous="normal", statement_timeout=30)
migrate.upgrade(database, report=report)
"""


class Shelf(Owned):
    """A table of a plugin, with a column that SQL quotes."""

    text = pw.TextField()
    order = pw.TextField(null=True)
    searched = ("text", "order")

    class Meta:
        table_name = "shelves"


@pytest.fixture(params=["sqlite", "postgres", "postgres C"])
def url(request: pytest.FixtureRequest) -> str:
    return new_database(request.param.split()[0], request, migrated=False,
                        locale=NO_LETTERS if " " in request.param else "")


@pytest.fixture
def older(url: str, tmp_path: Path) -> Iterator[Database]:
    """A database before the migration, with articles and a plugin's table."""
    database = open_database(url, pool_size=2, synchronous="normal", statement_timeout=30)
    migrate.upgrade(database, code_before(tmp_path))
    with database.connected():
        tenant = Tenant.add("birds").id
        ddl.table(database, "shelves", "text TEXT NOT NULL", '"order" TEXT')
        ddl.searchable(database, "shelves", ("text", '"order"'))
        rows, shelves = Rows(Article, tenant), Rows(Shelf, tenant)
        for number in range(ROWS):
            rows.insert(Article(title=f"Über {number}", slug=new_id(), body="ΟΔΟΣ"))
        shelves.insert(Shelf(text="STRASSE", order="Äpfel"))
        make_old(database, "articles", "title", "body")
        make_old(database, "shelves", "text", '"order"')
        yield database
    database.close_all()


def code_before(folder: Path) -> Mapping[str, Path]:
    before = folder / "before"
    before.mkdir()
    for file in migrate.SHIPPED["gatepost"].glob("0*.py"):
        if file.name < "0031":
            shutil.copy(file, before)
    return {"gatepost": before}


def make_old(database: Database, table: str, *columns: str) -> None:
    def each(form: str) -> str:
        return ", ".join(form.format(column) for column in columns)

    names = {"table": table, "columns": ", ".join(columns), "words": each("gatepost_words(tenant_id, {0}) AS {0}"),
             "old": each("gatepost_words(OLD.tenant_id, OLD.{0})"),
             "new": each("gatepost_words(NEW.tenant_id, NEW.{0})"),
             "text": " || ' ' || ".join(f"coalesce({column}, '')" for column in columns)}
    if database.dialect == "sqlite":
        database.connection().execute(BEFORE_SQLITE.format(**names))
    else:
        database.execute_sql(BEFORE_POSTGRES.format(**names))


def titles(database: Database, query: str) -> int:
    tenant = Tenant.by_name("birds")
    assert tenant is not None
    return Rows(Article, tenant.id).select().where(search.matching(
        Article, database.dialect, search.words(query, tenant.id, database.dialect))).count()


def test_each_index_is_made_anew(older: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not search.is_current(older, Article)
    assert not search.is_current(older, Shelf)
    monkeypatch.setattr(ddl, "_AT_ONCE", 10)
    told: list[tuple[int, int]] = []
    assert MIGRATION in migrate.upgrade(older, report=lambda done, whole: told.append((done, whole)))
    assert told == [(10, ROWS), (20, ROWS), (ROWS, ROWS), (1, 1)]
    for model in (Article, Shelf):
        assert search.is_current(older, model)
        assert not search.has_lost_words(older, model)
    assert titles(older, "über οδος") == titles(older, "ÜBER οδοσ") == ROWS
    tenant = Tenant.by_name("birds")
    assert tenant is not None
    assert Rows(Shelf, tenant.id).select().where(search.matching(Shelf, older.dialect, search.words(
        "straße ÄPFEL", tenant.id, older.dialect))).count() == 1
    older.transact(lambda: Rows(Article, tenant.id).insert(Article(title="ÜBER", slug=new_id(), body="οδος")))
    assert titles(older, "über οδος") == ROWS + 1


def test_a_database_that_has_such_indexes_already_keeps_its_rows(url: str) -> None:
    database = open_database(url, pool_size=1, synchronous="normal", statement_timeout=30)
    migrate.upgrade(database)
    with database.connected():
        tenant = Tenant.add("birds").id
        Rows(Article, tenant).insert(Article(title="Über", slug=new_id(), body=""))
        ddl.searchable(database, "articles", ("title", "body"))
        assert titles(database, "ÜBER") == 1
    database.close_all()


def test_one_that_is_killed_has_changed_nothing_and_is_run_again(older: Database, url: str) -> None:
    older.close()
    killed = subprocess.run([sys.executable, "-c", UPGRADE, url], cwd=ROOT, check=False, timeout=60)
    assert killed.returncode == -9
    older.connect()
    assert migrate.pending(older)[0] == MIGRATION
    assert not search.is_current(older, Article)
    migrate.upgrade(older)
    assert search.is_current(older, Article)
    assert titles(older, "über οδος") == ROWS


def test_older_nodes_must_stop_since_nobody_would_find_what_they_write(older: Database, tmp_path: Path) -> None:
    assert MIGRATION not in migrate.rolling(migrate.pending(older))
    migrate.upgrade(older)
    said = migrate.obstacle(older, {"gatepost": tmp_path / "before"})
    assert said is not None and "newer code" in said
