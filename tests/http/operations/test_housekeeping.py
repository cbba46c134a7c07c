"""Background jobs for the database: statistics of the query planner, and the deletion of expired rows."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from gatepost.http.operations.housekeeping import end_retention
from models.base import Rows, later, new_id, now
from models.records import bulk
from models.tables import load
from models.tables.article import Article
from models.tables.category import Category
from models.tables.contact import ContactMessage
from models.tables.idempotency import IdempotencyKey


@pytest.fixture
def jobs(app):
    """The jobs of a serving process by their names."""
    return {job.name: job for job in app.extensions["gatepost"].background._tasks}


@pytest.mark.both_databases
def test_expired_keys_go_within_a_minute_in_as_many_batches_as_it_takes(given, jobs):
    with given.database.connected():
        keys = Rows(IdempotencyKey, given.tenant_id)
        given.database.transact(lambda: bulk.insert(given.database, given.tenant_id, [
            IdempotencyKey(principal="guest", credential="c", method="POST", path="/", key=f"{number}", fingerprint="f",
                           expires_at=later(60 if number < 5 else -60)) for number in range(1005)]))
        job = jobs["deleting expired rows"]
        assert job.every <= 60
        job.attempt()
        assert {key.key for key in keys.select()} == {"0", "1", "2", "3", "4"}
        assert keys.select().where(IdempotencyKey.expires_at <= now()).count() == 0


def test_contact_messages_go_after_as_many_days_as_the_setting_says(app, given):
    settings, database = app.extensions["gatepost"].settings, given.database
    with database.connected():
        database.transact(lambda: bulk.insert(database, given.tenant_id, [
            ContactMessage(name="N", email="n@x.org", subject=f"{days}", body="b", created_at=later(-days * 86_400))
            for days in (*range(9, 700), 8, 6)]))
        messages = Rows(ContactMessage, given.tenant_id)
        assert end_retention(replace(settings, contact_days=0), database) == 0
        assert end_retention(replace(settings, contact_days=700), database) == 0
        assert end_retention(replace(settings, contact_days=7), database) == 692
        assert [message.subject for message in messages.select()] == ["6"]


def test_the_planner_learns_that_a_table_has_grown(given, jobs):
    database, at = given.database, now()
    if database.dialect != "sqlite":
        pytest.skip("Postgres has an autovacuum of its own")

    def counted():
        return {table: int(entry.split()[0]) for table, entry in database.query(
            "SELECT tbl, stat FROM sqlite_stat1 WHERE idx = 'categories_name'")}.get("categories", 0)

    job = jobs["refreshing the statistics of tables"]
    with database.connected():
        job.attempt()
        before = counted()
        database.transact(lambda: bulk.insert(database, given.tenant_id, [
            Category(id=new_id(), name=f"Name {number}", slug=f"grown-{number}", created_at=at)
            for number in range(2000)]))
        job.attempt()
        assert counted() > before + 1000
        assert not database.refresh_statistics()


def test_only_a_table_that_has_grown_is_counted_again(given, jobs):
    database, at = given.database, now()
    if database.dialect != "sqlite":
        pytest.skip("Postgres has an autovacuum of its own")
    with database.connected():
        database.analyze()
        database.transact(lambda: database.query("INSERT INTO sqlite_stat1 VALUES ('users', 'users_email', '7 7')"))
        database.transact(lambda: bulk.insert(database, given.tenant_id, [
            Category(id=new_id(), name=f"Name {number}", slug=f"again-{number}", created_at=at)
            for number in range(25_000)]))
        schema = database.query("PRAGMA schema_version")
    # During an import, writers already wait often enough.
    with load.opened(database, given.tenant_id, Article):
        assert not database.refresh_statistics()
    with database.connected():
        jobs["refreshing the statistics of tables"].attempt()
        # Otherwise other connections would continue with old statistics.
        assert database.query("PRAGMA schema_version") != schema
        found = dict(database.query("SELECT idx, stat FROM sqlite_stat1"))
    assert found["users_email"].startswith("7 7")
    assert int(found["categories_name"].split()[0]) >= 25_000


@pytest.mark.both_databases
def test_a_busy_writer_is_waited_for_and_no_error(given, jobs):
    database, held, done = given.database, threading.Event(), threading.Event()

    def hold():
        with database.connected():
            database.transact(lambda: held.set() or done.wait(30))

    if database.dialect == "sqlite":
        database.places.timeout = 0.2
    writer = threading.Thread(target=hold)
    writer.start()
    try:
        held.wait(30)
        with database.connected():
            database.analyze()
        for name in ("deleting expired rows", "refreshing the statistics of tables"):
            jobs[name].attempt()
            assert not jobs[name].failing
    finally:
        done.set()
        writer.join()


def test_warnings_about_the_policy_are_found_before_anybody_asks(as_user, jobs, monkeypatch):
    job = jobs["looking for warnings about the policy"]
    assert job.every <= 5
    job.attempt()
    monkeypatch.setattr("policies.lint.warnings._Linter", None)
    assert as_user("admin").get("/api/admin/policy").json["warnings"] is not None
