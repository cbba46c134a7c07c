"""`gatepost compact` frees disk space, and repairs the index of searches."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from models.engine.connect import open_database
from models.records.search import index_of
from models.tables import job_chunk
from models.tables.article import Article
from tests.databases import new_database
from tests.running import Instance


@pytest.fixture
def instance(dialect, request, tmp_path) -> Instance:
    environment = {} if dialect == "sqlite" else {
        "GATEPOST_DATABASE_URL": new_database(dialect, request, migrated=False)}
    return Instance(tmp_path / "instance", environment).made()


def opened(instance):
    return open_database(instance.environment.get("GATEPOST_DATABASE_URL")
                         or f"sqlite:///{instance.folder / 'gatepost.db'}", pool_size=4)


def filled(instance):
    """An instance from which many articles were deleted."""
    assert instance.run("demo", "--articles", "3000").returncode == 0
    database = opened(instance)
    with database.connected():
        database.transact(lambda: database.execute_sql("DELETE FROM articles WHERE title > 'C'"))
    database.close_all()


def test_a_file_becomes_as_small_as_its_rows_while_it_is_served(instance, dialect):
    filled(instance)
    before = instance.run("doctor").stdout
    with instance.answering() as served:
        token = served.log_in()
        done = instance.run("compact", "--yes")
        assert done.returncode == 0, done.stderr
        assert served.call("GET", "/api/articles?q=shop", token=token)[0] == 200
        assert served.call("POST", "/api/articles", {"title": "T", "slug": "t", "body": "B"}, token)[0] == 201
    if dialect == "sqlite":
        sizes = [float(word) for word in done.stdout.replace(",", "").split() if word.replace(".", "").isdecimal()]
        assert "Writers waited for" in done.stdout and sizes[2] < sizes[1] / 1.2
    assert instance.run("doctor").returncode == 0 and "FAIL" not in before


def test_a_file_that_is_full_of_rows_stays_as_it_is(tmp_path):
    instance = Instance(tmp_path / "instance").made()
    done = instance.run("compact")
    assert done.returncode == 0 and "the file stays as it is" in done.stdout


def test_files_of_exports_are_compacted_too(tmp_path):
    instance = Instance(tmp_path / "instance").made()
    database = opened(instance)
    job_chunk.make_files(database)
    database.close_all()
    assert "Files of exports: " in instance.run("compact").stdout
    assert "files of exports 0.0 MiB" in instance.run("doctor").stdout


def test_it_asks_first_and_needs_room(tmp_path, monkeypatch):
    instance = Instance(tmp_path / "instance").made()
    filled(instance)
    before = (instance.folder / "gatepost.db").stat().st_size
    assert instance.run("compact", input="n\n").returncode == 1
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=before))
    done = instance.run("compact", "--yes")
    assert done.returncode == 1 and "are needed" in done.stderr
    assert (instance.folder / "gatepost.db").stat().st_size >= before


@pytest.mark.both_databases
def test_words_that_were_lost_are_found_by_the_doctor_and_indexed_anew(instance, dialect):
    assert instance.run("demo", "--articles", "5").returncode == 0
    index = index_of(Article)
    lose = (f"INSERT INTO {index} ({index}) VALUES ('delete-all')" if dialect == "sqlite" else
            "UPDATE articles SET title = 'By another program'")
    database = opened(instance)
    with database.connected():
        database.transact(lambda: database.write(lose))
    database.close_all()
    done = instance.run("doctor")
    assert done.returncode == 1
    assert "searches do not find all articles; run gatepost compact to rebuild the indexes" in done.stdout
    assert "their words are indexed again" in instance.run("compact").stdout
    assert instance.run("doctor").returncode == 0
