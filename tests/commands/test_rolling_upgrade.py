"""A node of an older version continues while a newer one migrates its database, if the migration allows it."""

from __future__ import annotations

import shutil

import pytest

from models import migrate
from models.engine.connect import open_database
from tests.databases import new_database
from tests.running import Instance

FUTURE = """
from models import ddl

ROLLING = {rolling}

def up(migrator, db):
    ddl.run(db, "ALTER TABLE categories ADD COLUMN colour TEXT", "CREATE INDEX colours ON categories (colour)")
"""


@pytest.fixture
def instance(dialect, request, tmp_path) -> Instance:
    environment = {} if dialect == "sqlite" else {
        "GATEPOST_DATABASE_URL": new_database(dialect, request, migrated=False)}
    return Instance(tmp_path / "instance", environment).made()


@pytest.fixture
def newer_code(instance, tmp_path):
    """Migrates the database of the instance like newer code."""
    def run(*, rolling):
        directory = tmp_path / "newer"
        shutil.copytree(migrate.SHIPPED["gatepost"], directory)
        (directory / "9999_future.py").write_text(FUTURE.format(rolling=rolling))
        database = open_database(instance.environment.get("GATEPOST_DATABASE_URL")
                                 or f"sqlite:///{instance.folder / 'gatepost.db'}", pool_size=4)
        assert migrate.upgrade(database, {"gatepost": directory}) == ("gatepost/9999_future",)
        database.close_all()

    return run


def test_a_node_of_an_older_version_serves_on_and_starts_again(instance, newer_code, tmp_path):
    def write(served, token, slug):
        body = {"name": slug, "slug": slug}
        return served.call("POST", "/api/categories", body, token)[0]

    with instance.answering() as served:
        token = served.log_in()
        newer_code(rolling=True)
        assert served.call("GET", "/api/health", token=token)[1]["checks"]["migrations"] == "ok"
        assert write(served, token, "while-it-served") == 201
    with instance.answering() as served:
        assert write(served, served.log_in(), "after-a-restart") == 201
        assert served.call("GET", "/api/health")[1]["status"] == "ok"
    for command, said in ((["migrate", "--check"], "Nothing to do.\n"), (["migrate"], "Nothing to do.\n")):
        done = instance.run(*command)
        assert (done.returncode, done.stdout) == (0, said)
    assert "ok    migrations   none are missing" in instance.run("doctor").stdout
    made = instance.run("backup", str(tmp_path / "made.tar.gz"))
    assert made.returncode == 0, made.stderr
    verified = instance.run("restore", "--verify", str(tmp_path / "made.tar.gz"))
    assert verified.returncode == 0, verified.stderr


def test_a_node_of_an_older_version_refuses_what_is_no_rolling_migration(instance, newer_code):
    with instance.answering() as served:
        newer_code(rolling=False)
        status, health = served.call("GET", "/api/health")
        assert (status, health["checks"]["migrations"]) == (503, "down")
    for command in (["serve", "--port", "0"], ["migrate"], ["user", "list"]):
        done = instance.run(*command)
        assert (done.returncode, "newer code, which has gatepost/9999_future" in done.stderr) == (1, True)
