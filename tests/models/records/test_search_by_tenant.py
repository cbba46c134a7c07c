"""Each tenant's words are indexed separately on both databases. Searches do not reveal other tenants' words."""

from __future__ import annotations

import shutil
import sys
import unicodedata
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import apsw
import pytest

from models.base import Rows, new_id, now
from models.engine.connect import open_database
from models.engine.database import Database
from models.engine.words import fold, mark, of_tenant, split, vector
from models.migrate import SHIPPED, upgrade
from models.records import bulk, search
from models.tables.article import Article
from models.tables.tenant import Tenant
from tests.databases import new_database

pytestmark = pytest.mark.both_databases

SELECTORS = range(0xFE00, 0xFE10)
COUNTS = (0, 1, 600)


def characters() -> Iterator[str]:
    """All characters that have a category and a use."""
    known = map(chr, range(1, sys.maxunicode + 1))
    return (one for one in known if unicodedata.category(one) not in ("Cn", "Co", "Cs"))


@cache
def in_words() -> list[str]:
    return [one for one in characters() if split(one)]


def article(title: str, **values: object) -> Article:
    return Article(**{"title": title, "slug": new_id(), "body": "", **values})


def found(database: Database, tenant_id: str, query: str) -> list[str]:
    rows = Rows(Article, tenant_id).select(Article.title).where(
        search.matching(Article, database.dialect, search.words(query, tenant_id, database.dialect)))
    return sorted(title for title, in rows.tuples())


def test_a_character_is_in_a_word_or_between_words_as_its_category_says() -> None:
    letters = set(in_words())
    # Characters of Unicode 3.2 that have not changed since: the same in every Python.
    settled = [one for one in characters() if unicodedata.ucd_3_2_0.category(one) == unicodedata.category(one)]
    wrong = [hex(ord(one)) for one in settled
             if (one in letters) != (unicodedata.category(one)[0] in "LM" or unicodedata.category(one) == "Nd")]
    assert wrong == [hex(code) for code in SELECTORS]


def test_a_text_with_characters_beyond_latin_is_split_as_one_without() -> None:
    plain = "It's m²: well-kept_and\u00a0x@y.org, 3.14"
    assert split(plain) == ["it", "s", "m", "well", "kept", "and", "x", "y", "org", "3", "14"]
    assert split(f"{plain}…") == split(f"{plain} 🪑") == split(plain)


def test_the_mark_is_six_letters_that_differ_by_tenant() -> None:
    marks = {mark(f"{new_id()[:-6]}{number * 167_000:06x}") for number in range(100)}
    assert len(marks) == 100
    assert all(len(one) == 6 and one.isascii() and one.isalpha() and one.islower() for one in marks)


def test_the_index_takes_each_word_of_a_text_for_one_term(opened: Database) -> None:
    words = [f"a{one}z" for one in in_words()]
    texts = [" ".join(words[start:start + 20_000]) for start in range(0, len(words), 20_000)]
    with opened.connected():
        if opened.dialect == "sqlite":
            tenant = Tenant.add("terms").id
            opened.transact(lambda: bulk.insert(opened, tenant, [article("all", body=text) for text in texts]))
            opened.query("CREATE VIRTUAL TABLE temp.terms USING fts5vocab(main, articles_search, row)")
            terms = [term for term, in opened.query("SELECT term FROM temp.terms WHERE term GLOB ?",
                                                    [f"{mark(tenant)}*z"])]
        else:
            terms = [term for text in texts for term, in opened.query(
                "SELECT unnest(tsvector_to_array(CAST(%s AS tsvector)))", [vector([text], "abcdef")])]
    assert {term[6:] for term in terms} == {fold(word) for word in words}


def test_tenants_find_their_own_rows_by_words_that_all_have(opened: Database) -> None:
    with opened.connected():
        tenants = [Tenant.add(name).id for name in ("owls", "larks")]
        for number, tenant in enumerate(tenants):
            opened.transact(lambda tenant=tenant, number=number: Rows(Article, tenant).insert(  # type: ignore[misc]
                article(f"A bird {number}", body="All about a bird.")))
        assert [found(opened, tenant, "BIRD about") for tenant in tenants] == [["A bird 0"], ["A bird 1"]]
        assert [found(opened, tenant, '"about a bird"') for tenant in tenants] == [["A bird 0"], ["A bird 1"]]
        assert found(opened, tenants[0], f"{mark(tenants[1])}bird") == []


def work_of(database: Database, tenant_id: str, query: str) -> object:
    """Returns the work of a search without results: the number of pages read, on Postgres the plan."""
    words = search.words(query, tenant_id, database.dialect)
    if database.dialect == "postgres":
        text, values = Rows(Article, tenant_id).select(Article.id).where(search.matching(
            Article, "postgres", words)).order_by(Article.created_at).limit(20).sql()
        plan = database.query(f"EXPLAIN (ANALYZE, BUFFERS, COSTS, TIMING OFF, SUMMARY OFF) {text}", values)
        return [line.replace(words, "…") for line, in plan
                if "Planning" not in line]
    conn = database.connection()
    before = conn.status(apsw.SQLITE_DBSTATUS_CACHE_HIT)[0] + conn.status(apsw.SQLITE_DBSTATUS_CACHE_MISS)[0]
    assert search.is_rare(database, Article, words)
    assert found(database, tenant_id, query) == []
    return conn.status(apsw.SQLITE_DBSTATUS_CACHE_HIT)[0] + conn.status(apsw.SQLITE_DBSTATUS_CACHE_MISS)[0] - before


def test_finding_nothing_is_the_same_work_however_often_others_use_the_word(opened: Database) -> None:
    with opened.connected():
        asking, other = Tenant.add("small").id, Tenant.add("huge").id
        words = {count: f"word{chr(97 + number)}" for number, count in enumerate(COUNTS)}
        opened.transact(lambda: bulk.insert(opened, asking, [article(f"own {number}") for number in range(50)]))
        opened.transact(lambda: bulk.insert(opened, other, [
            article(f"other {number}", body=" ".join(word for count, word in words.items() if number < count))
            for number in range(max(COUNTS))]))
        bulk.optimize(opened, Article)
        for word in words.values():
            work_of(opened, asking, word)  # the first reader cleans up new rows
        works = [work_of(opened, asking, word) for word in words.values()]
        assert works == works[:1] * len(COUNTS)
        assert len(found(opened, other, words[600])) == 600
        rare = {(tenant, count): search.is_rare(opened, Article, search.words(word, tenant, opened.dialect))
                for tenant in (asking, other) for count, word in words.items()}
        assert [key for key, is_rare in rare.items() if not is_rare] == [(other, 600)]


def test_for_the_few_rows_that_hold_a_word_no_index_of_the_tenant_is_read(opened: Database) -> None:
    if opened.dialect == "sqlite":
        pytest.skip("its plans are tried through the API")
    with opened.connected():
        tenant = new_id()
        rows = Rows(Article, tenant)
        asked = search.matching(Article, "postgres", search.words("bird", tenant, opened.dialect))
        for other in ("seqscan", "bitmapscan"):
            opened.execute_sql(f"SET enable_{other} = off")
        try:
            plans = ["\n".join(line for line, in opened.query(f"EXPLAIN {text}", values)) for text, values in (
                Article.select(Article.id).where(mine, asked).sql() for mine in (rows.mine, rows.sought("postgres")))]
        finally:
            opened.execute_sql("RESET ALL")
        assert ["Index Cond: (tenant_id" in plan for plan in plans] == [True, False], plans


@pytest.fixture(params=["sqlite", "postgres"])
def older(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """A database in which all tenants share the index, with one article of each of two tenants."""
    database = open_database(new_database(request.param, request, migrated=False), pool_size=2, synchronous="normal",
                             statement_timeout=30)
    before = tmp_path / "before"
    before.mkdir()
    for file in sorted(SHIPPED["gatepost"].glob("0*.py")):
        if file.name < "0011":
            shutil.copy(file, before)
    upgrade(database, {"gatepost": before})
    with database.connected():
        made = now()
        for name in ("owls", "larks"):
            tenant = new_id()
            values = {"id": new_id(), "tenant_id": tenant, "version": 1, "created_at": made, "updated_at": made,
                      "title": f"Of {name}", "slug": name, "body": "All about a bird.", "language": "en",
                      "status": "draft"}
            Tenant.insert(id=tenant, name=name, created_at=made).execute()
            Article.insert(values).execute()
            if database.dialect == "sqlite":
                database.query("INSERT INTO articles_search (rowid, title, body) "
                               "SELECT rowid, title, body FROM articles WHERE id = ?", [values["id"]])
        yield database
    database.close_all()


def test_an_upgrade_indexes_the_words_of_every_tenant_anew(older: Database) -> None:
    assert not search.is_current(older, Article)
    upgrade(older)
    assert search.is_current(older, Article)
    tenants = {tenant.name: tenant.id for tenant in Tenant.select()}
    assert {name: found(older, id, "bird") for name, id in tenants.items()} == {
        "owls": ["Of owls"], "larks": ["Of larks"]}
    older.transact(lambda: Rows(Article, tenants["owls"]).insert(article("A bird")))
    assert found(older, tenants["owls"], "bird") == ["A bird", "Of owls"]
    if older.dialect == "sqlite":
        older.query("INSERT INTO articles_search (articles_search, rank) VALUES ('integrity-check', 1)")


@pytest.fixture
def file(tmp_path: Path) -> Iterator[Database]:
    database = open_database(f"sqlite:///{tmp_path}/gatepost.db", synchronous="normal")
    upgrade(database)
    with database.connected():
        yield database
    database.close_all()


def test_another_program_can_change_what_is_not_indexed_and_harms_no_index(file: Database) -> None:
    tenant = Tenant.add("birds").id
    row = file.transact(lambda: Rows(Article, tenant).insert(article("owl")))
    shell = apsw.Connection(str(file.path))
    for statement in ("UPDATE articles SET title = 'wren'", "UPDATE articles SET tenant_id = id",
                      "DELETE FROM articles"):
        with pytest.raises(apsw.SQLError, match="no such function: gatepost_words"):
            shell.execute(statement)
    shell.execute("UPDATE articles SET status = 'published'")
    assert shell.execute("SELECT status FROM articles WHERE id = ?", [row.id]).get == "published"
    shell.close()
    assert found(file, tenant, "owl") == ["owl"]


def test_an_index_can_be_made_anew_from_the_rows(file: Database) -> None:
    tenant = Tenant.add("birds").id
    file.transact(lambda: Rows(Article, tenant).insert(article("owl")))
    file.query("INSERT INTO articles_search (articles_search) VALUES ('delete-all')")
    assert found(file, tenant, "owl") == []
    with pytest.raises(Exception, match="malformed|corrupt"):
        file.query("INSERT INTO articles_search (articles_search, rank) VALUES ('integrity-check', 1)")
    file.query("INSERT INTO articles_search (articles_search) VALUES ('rebuild')")
    file.query("INSERT INTO articles_search (articles_search, rank) VALUES ('integrity-check', 1)")
    assert found(file, tenant, "owl") == ["owl"]


def test_a_column_without_a_value_has_no_words() -> None:
    assert of_tenant(new_id(), None) is None
    assert of_tenant(new_id(), "…") == ""
