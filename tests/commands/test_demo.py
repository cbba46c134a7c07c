"""`gatepost demo`: realistic articles on both databases."""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing

import pytest

from blueprints.demo import samples
from models.base import Rows
from models.engine.connect import open_database
from models.tables.article import Article
from models.tables.tenant import Tenant


@pytest.fixture(scope="module")
def articles(instance):
    """The articles of `gatepost demo --articles 2000`, in order of creation."""
    done = instance.run("demo", "--articles", "2000")
    assert done.returncode == 0, done.stderr
    url = instance.environment.get("GATEPOST_DATABASE_URL", f"sqlite:///{instance.folder / 'gatepost.db'}")
    database = open_database(url, pool_size=1)
    with database.connected():
        tenant = Tenant.by_name("default")
        yield list(Rows(Article, tenant.id).select().order_by(Article.created_at))
    database.close_all()


def test_there_are_as_many_as_asked_for_nine_tenths_published(articles):
    states = Counter(article.status for article in articles)
    assert states.total() == 2000
    assert states["published"] == 1800
    assert set(states) == {"published", "draft", "in_review", "approved", "archived"}


def test_authors_categories_and_lengths_are_mixed(articles):
    assert len({article.owner_id for article in articles}) >= 10
    assert len({article.department for article in articles}) >= 4
    assert len({article.category_id for article in articles} - {None}) >= 8
    lengths = sorted(len(article.body) for article in articles)
    assert lengths[0] * 20 < lengths[-1]


def test_they_are_spread_over_two_years_and_none_is_in_the_future(articles):
    first, last = articles[0].created_at, articles[-1].created_at
    assert int(last[:4]) - int(first[:4]) in (1, 2)
    assert len({article.created_at[:7] for article in articles}) >= 24


def test_published_articles_have_a_time_and_the_others_none(articles):
    assert all((article.published_at is not None) == (article.status == "published") for article in articles)


def test_slugs_are_unique_and_a_second_run_adds_more(instance, articles):
    assert len({article.slug for article in articles}) == 2000
    assert instance.run("demo", "--articles", "10").returncode == 0


def test_what_was_loaded_is_one_piece_of_the_index_of_words(instance, articles):
    if "GATEPOST_DATABASE_URL" in instance.environment:
        pytest.skip("an index of SQLite's")
    assert instance.run("demo", "--articles", "10").returncode == 0
    with closing(sqlite3.connect(instance.folder / "gatepost.db")) as database:
        assert database.execute("SELECT count(DISTINCT segid) FROM articles_search_idx").fetchone() == (1,)


def test_a_load_has_room_for_the_indexes_where_it_writes(given, monkeypatch):
    database, rooms = given.database, []
    if database.dialect != "sqlite":
        pytest.skip("a setting of the server")

    def look(*_load):
        rooms.append(database.query("PRAGMA cache_size")[0][0])

    monkeypatch.setattr(samples, "load", look)
    with database.connected():
        assert sum(samples.fill(database, given.tenant_id, 10)) == 10
    assert rooms == [-256000] * 2, "of the articles, and of their marks"
