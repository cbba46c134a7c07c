"""A database whose bytes were changed on the disk: answers are 503, never 500, and the log says so."""

from __future__ import annotations

import logging
import os
import random
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import apsw
import psycopg
import pytest
from flask import Flask

from app import create_app
from gatepost.http.pipeline import responses
from gatepost.testing import log_in
from models.base import Rows
from models.engine.connect import open_database
from models.engine.errors import Damaged
from models.tables.article import Article
from models.tables.user import User
from tests.incidents.damage import flipped, spot_of_log
from tests.running import Instance

UNAVAILABLE = (503, "unavailable")


@pytest.fixture(scope="module")
def undamaged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Instance(tmp_path_factory.mktemp("undamaged") / "instance").made().folder


@pytest.fixture
def instance(undamaged: Path, tmp_path: Path) -> Instance:
    return Instance(Path(shutil.copytree(undamaged, tmp_path / "instance")))


@contextmanager
def serving(instance: Instance) -> Iterator[tuple[Flask, User]]:
    """The app of an instance in this process, without background tasks, and its administrator."""
    app = create_app({"instance": str(instance.folder), "rate_limits": "off"})
    services = app.extensions["gatepost"]
    services.ensure_running = lambda: None
    with services.database.connected():
        administrator = User.by_email("admin@example.org")
    try:
        yield app, administrator
    finally:
        services.database.close_all()


def file_of(instance: Instance) -> Path:
    return instance.folder / "gatepost.db"


def with_articles(app: Flask, number: int) -> str:
    """Stores `number` articles. Returns the id of the last."""
    services = app.extensions["gatepost"]
    made = []

    def work() -> None:
        made[:] = [Rows(Article, services.guest_tenant).insert(Article(
            title=f"Article {n} on the shore", slug=f"article-{n}", body="Words. " * 30, status="published"))
            for n in range(number)]

    services.database.transact(work)
    return made[-1].id


def outcome(answer) -> tuple[int, str]:
    return answer.status_code, answer.get_json()["code"]


def spoil(instance: Instance, column: str, value: object, table: str = "articles") -> None:
    """Puts an invalid value into a column, without the checks of the database."""
    with closing(apsw.Connection(str(file_of(instance)))) as lax:
        lax.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
        kept = lax.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (table,)).get
        loose = re.sub(r"(?<!IS )NOT NULL|\bSTRICT\s*$", "", kept)
        lax.execute("PRAGMA writable_schema = ON")
        lax.execute("DELETE FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = ?", (table,))
        lax.execute("UPDATE sqlite_schema SET sql = ? WHERE name = ?", (re.sub(r"\bTEXT\b", "BLOB", loose), table))
    with closing(apsw.Connection(str(file_of(instance)))) as lax:
        lax.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
        lax.execute("PRAGMA ignore_check_constraints = ON")
        lax.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = (SELECT max(rowid) FROM {table})", (value,))
        lax.execute("PRAGMA writable_schema = ON")
        lax.execute("UPDATE sqlite_schema SET sql = ? WHERE name = ?", (kept, table))


NOT_UTF8 = "CAST(x'4865ff6c6c6f' AS TEXT)"


def unreadable(instance: Instance, table: str, column: str) -> None:
    """Puts text that is not UTF-8 into the newest row, like a flipped bit on the disk."""
    with closing(apsw.Connection(str(file_of(instance)))) as other:
        for trigger in ("keeps_rows", "search_update"):
            with suppress(apsw.SQLError):
                other.execute(f"DROP TRIGGER {table}_{trigger}")
        other.execute(f"UPDATE {table} SET {column} = {NOT_UTF8} WHERE rowid = (SELECT max(rowid) FROM {table})")


def test_text_that_is_not_utf8_is_said_once_and_health_is_down(instance, caplog):
    with serving(instance) as (app, administrator):
        id = with_articles(app, 3)
        assert app.test_client().get("/api/health").status_code == 200
        unreadable(instance, "articles", "body")
        caller = log_in(app, administrator)
        with caplog.at_level(logging.ERROR):
            for path in ("/api/articles", f"/api/articles/{id}", "/api/articles/export") * 2:
                assert outcome(caller.get(path)) == UNAVAILABLE, path
        assert int(caller.get("/api/articles").headers["Retry-After"]) >= 30
        [said] = caplog.messages
        assert said.startswith("the database is damaged: ") and said.endswith("; restore a backup")
        health = app.test_client().get("/api/health")
        assert (health.status_code, health.get_json()["checks"]["database"]) == (503, "down")
        assert caller.get("/api/comments").status_code == 200, "what can be read is read"


def test_a_list_that_is_no_json_is_damage(instance):
    with serving(instance) as (app, administrator):
        spoil(instance, "groups", "[", table="users")
        assert outcome(log_in(app, administrator).get("/api/users")) == UNAVAILABLE


@pytest.mark.parametrize("column", ["title", "id", "created_at", "status"])
def test_a_value_of_a_kind_that_its_column_cannot_hold_is_damage(instance, column, caplog):
    with serving(instance) as (app, administrator):
        with_articles(app, 3)
        spoil(instance, column, b"\xff")
        assert outcome(log_in(app, administrator).get("/api/articles")) == UNAVAILABLE
        assert f"articles.{column}" in caplog.text


def test_an_error_of_our_own_stays_one_while_the_database_is_whole(instance, monkeypatch):
    with serving(instance) as (app, administrator):
        monkeypatch.setattr(responses, "respond", None)
        assert outcome(log_in(app, administrator).get("/api/articles")) == (500, "internal_error")


def test_damage_is_looked_for_once_a_minute_at_most(instance, monkeypatch):
    with serving(instance) as (app, _):
        database = app.extensions["gatepost"].database
        looks = []
        monkeypatch.setattr(type(database), "examine", lambda self, seconds=1.0: looks.append(seconds))
        assert [database.suspect() for _ in range(5)] == [None] * 5
        assert len(looks) == 1


def test_damage_is_forgotten_when_no_query_finds_it_any_more(instance, monkeypatch):
    with serving(instance) as (app, _):
        database = app.extensions["gatepost"].database
        database.note(Damaged("a page"))
        assert database.damage is not None
        monkeypatch.setattr("models.engine.database.REMEMBERED", 0.0)
        assert database.damage is None


@pytest.mark.parametrize("column", ["title", "language"])  # a column with an index, whose own text then is wrong too
def test_a_part_of_the_schema_that_went_is_no_mistake_of_ours(instance, column):
    with serving(instance) as (app, administrator):
        caller = log_in(app, administrator)
        with closing(apsw.Connection(str(file_of(instance)))) as other:
            other.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
            other.execute("PRAGMA writable_schema = ON")
            other.execute("UPDATE sqlite_schema SET sql = replace(sql, ?, 'lost') WHERE name = 'articles'", (column,))
        app.extensions["gatepost"].database.close_all()
        assert outcome(caller.get("/api/articles")) == UNAVAILABLE


@pytest.mark.slow
@pytest.mark.parametrize("place", ["log", "file"])
def test_wherever_bytes_change_no_answer_is_a_500_and_no_command_ends_in_a_traceback(instance, place):
    """A bounded sample of `make faults`: sixteen random places of each file, six bytes at a time."""
    chance, seen = random.Random(f"17 {place}"), Counter()
    with serving(instance) as (app, administrator):
        id = with_articles(app, 150)
        caller = log_in(app, administrator)
        file = Path(f"{file_of(instance)}-wal") if place == "log" else file_of(instance)
        with closing(apsw.Connection(str(file_of(instance)))) as holder:  # so that the log stays
            holder.execute("SELECT count(*) FROM articles").fetchall()
            holder.execute("PRAGMA wal_checkpoint(TRUNCATE)" if place == "file" else "VACUUM").fetchall()
            with file.open("r+b", buffering=0) as disk:
                size = os.fstat(disk.fileno()).st_size
                for trial in range(16):
                    app.extensions["gatepost"].database.close_all()
                    spots = [spot_of_log(size, chance) if place == "log" else chance.randrange(size) for _ in range(6)]
                    with flipped(disk.fileno(), spots, chance):
                        for path in ("/api/articles", f"/api/articles/{id}", "/api/articles/export", "/api/audit",
                                     "/api/users", "/api/health", "/api/articles?q=shore"):
                            seen[caller.get(path).status_code] += 1
                        if trial % 8 == 0:
                            for command in (["audit", "verify"], ["export", "articles"], ["doctor"]):
                                done = instance.run(*command)  # raises exceptions that the command does not catch
                                assert done.returncode in (0, 1)
    assert set(seen) <= {200, 404, 401, 503} and seen[503] >= 10, seen


# Commands


@pytest.fixture(scope="module")
def undamaged_with_an_article(undamaged: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an instance whose administrator has created an article."""
    instance = Instance(Path(shutil.copytree(undamaged, tmp_path_factory.mktemp("article") / "instance")))
    with serving(instance) as (app, administrator):
        log_in(app, administrator).post("/api/articles", {"title": "T", "slug": "t", "body": "B"})
    return instance.folder


@pytest.fixture
def instance_with_an_article(undamaged_with_an_article: Path, tmp_path: Path) -> Instance:
    return Instance(Path(shutil.copytree(undamaged_with_an_article, tmp_path / "instance")))


def test_a_damaged_trail_is_a_finding_that_says_where(instance):
    with serving(instance) as (app, administrator):
        for number in range(3):
            log_in(app, administrator).post("/api/articles", {"title": "T", "slug": f"t-{number}", "body": "B"})
    assert instance.run("audit", "verify").returncode == 0
    unreadable(instance, "audit", "reason")
    done = instance.run("audit", "verify")
    assert done.returncode == 1
    assert re.search(r"FAIL  rows 1 to \d+ cannot be read: the database is damaged: .*; restore a backup", done.stdout)
    assert "are too new to have a seal" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("column", ["rows", "previous", "last_seq"])
def test_a_damaged_seal_is_a_finding(instance_with_an_article, column):
    instance = instance_with_an_article
    assert instance.run("audit", "verify").returncode == 0
    spoil(instance, column, None if column == "previous" else b"x", table="audit_seals")
    done = instance.run("audit", "verify")
    assert done.returncode == 1
    assert "damaged" in done.stdout + done.stderr or "cannot be read" in done.stdout


@pytest.mark.parametrize(("table", "column", "commands"), [
    ("articles", "body", ["export articles"]), ("users", "name", ["user list"]), ("users", "email", ["user list"]),
    ("audit", "reason", ["audit tail", "audit export"])])
def test_a_command_ends_with_a_sentence(instance_with_an_article, table, column, commands):
    unreadable(instance_with_an_article, table, column)
    for command in commands:
        done = instance_with_an_article.run(*command.split())
        assert done.returncode == 1
        assert "Error: the database is damaged: " in done.stderr and "restore a backup" in done.stderr


@pytest.mark.slow
def test_the_doctor_finds_what_no_request_has_read(instance):
    assert instance.run("doctor").returncode == 0
    spoil(instance, "name", b"\xff", table="tenants")
    done = instance.run("doctor")
    assert done.returncode == 1 and "non-TEXT value in tenants.name" in done.stdout


def test_postgres_says_itself_that_it_is_damaged():
    database = open_database("postgresql://nowhere/x")
    found = database.translate(psycopg.errors.DataCorrupted("invalid page in block 7"))
    assert isinstance(found, Damaged) and "invalid page in block 7" in str(found)
