"""`gatepost move`: an instance moves from SQLite to Postgres completely, or stays."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from threading import Event, Thread

import psycopg
import pytest

from gatepost.commands.context import migrations
from gatepost.http.auditing.writer import sealer
from gatepost.http.security.keys import Keys
from models import moving
from models.base import Rows
from models.contents import contents
from models.engine.errors import Unavailable
from models.engine.postgres import filling
from models.engine.postgres.database import PostgresDatabase
from models.engine.sqlite import database as sqlite_database
from models.migrate import upgrade
from models.tables import seals
from models.tables.article import Article
from models.tables.job import Job, enqueue
from models.tables.load import opened as opened_load
from models.tables.tenant import Tenant
from tests.databases import Server, new_database
from tests.plugin_apps import installed, write_sample
from tests.running import PASSWORD, ROOT, Instance

ARTICLE = {"title": "Brought along", "slug": "brought-along", "body": "An ordinary lighthouse."}
NOT_MOVED = (*moving.STAYS, *moving.OF_THE_SCHEMA)
ADMIN = "admin@example.org"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with an installed plugin and its table."""
    folder = tmp_path_factory.mktemp("site")
    write_sample(folder)
    with installed(folder, "sample_notes"):
        yield folder


@pytest.fixture(scope="module")
def whole(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Instance:
    """An instance with rows of every kind. Tests copy it."""
    made = Instance(tmp_path_factory.mktemp("whole") / "instance", {"PYTHONPATH": f"{ROOT}:{site}"})
    assert made.run("init", "--admin-email", ADMIN, "--admin-password-file", "-", input=PASSWORD).returncode == 0
    with made.answering() as served:
        token = served.log_in()
        status, article = served.call("POST", "/api/articles", ARTICLE, token, {"Idempotency-Key": "once"})
        assert status == 201, article
        assert served.call("PUT", f"/api/articles/{article['id']}/shares",
                           {"grantee": "role:editor", "right": "write"}, token)[0] in (200, 201)
        assert served.call("POST", "/api/notes", {"text": "Milk", "pinned": True}, token)[0] == 201
        assert served.call("GET", "/api/users")[0] == 401  # which the audit log has, too
    rules = made.folder / "policies" / "products.csv"
    rules.write_text(rules.read_text().replace("# end", "p, guest, product.view, always, allow\n# end"))
    assert made.run("policy", "apply", str(made.folder / "policies"), "--yes", "--note", "open").returncode == 0
    with made.database() as database:
        database.transact(_add_jobs)
        seals.seal(database, sealer(Keys.load(made.folder / "secret.key")))
    return made


def _add_jobs() -> None:
    tenant = Tenant.by_name("default").id
    for state in ("waiting", "running", "done"):
        job = enqueue(tenant, "notes.digest", {"ids": [1]})
        job.state = state
        Rows(Job, tenant).save(job)


@pytest.fixture
def source(whole: Instance, tmp_path: Path) -> Instance:
    return whole.copied(tmp_path / "instance")


@pytest.fixture(scope="module")
def owner(postgres_server: Server) -> str:
    """A user of Postgres without superuser rights."""
    postgres_server.execute("CREATE ROLE mover LOGIN")
    return "mover"


@pytest.fixture
def new_url(owner: str, postgres_server: Server, request: pytest.FixtureRequest) -> Callable[[], str]:
    """Creates empty Postgres databases, and returns the URL of each."""
    def make() -> str:
        made = new_database("postgres", request, migrated=False)
        postgres_server.execute(f"ALTER DATABASE {made.rpartition('/')[2]} OWNER TO {owner}")
        return made.replace("gatepost@", f"{owner}@")

    return make


@pytest.fixture
def url(new_url: Callable[[], str]) -> str:
    """The URL of an empty Postgres database."""
    return new_url()


def on_postgres(source: Instance, url: str) -> Instance:
    return Instance(source.folder, {**source.environment, "GATEPOST_DATABASE_URL": url})


def rows_of(instance: Instance, *without: str) -> dict[str, set[tuple]]:
    """All rows by table, each as pairs of a column and its value."""
    with instance.database() as database:
        sqlite, found = database.dialect == "sqlite", {}
        for table in contents(database).rows:
            if table not in without and not table.startswith("migrations_"):
                names = ([name for name, in database.query("SELECT name FROM pragma_table_info(?)", [table])] if sqlite
                         else [name for name, made in filling.columns(database)[table].items() if not made])
                names = sorted(set(names) - {"load", "search"})
                found[table] = {tuple(zip(names, map(plain, row), strict=True)) for row in database.query(
                    f"""SELECT {", ".join(f'"{name}"' for name in names)} FROM "{table}" """)}
        return found


def plain(value: object) -> object:
    return int(value) if isinstance(value, bool) else bytes(value) if isinstance(value, memoryview) else value


def moved(source: Instance, url: str, *options: str) -> str:
    done = source.run("move", "--to", url, "--yes", *options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def refused(source: Instance, url: str, *options: str) -> str:
    """Checks that a move is refused and the SQLite database still accepts writes. Returns the message."""
    done = source.run("move", "--to", url, "--yes", *options)
    assert done.returncode == 1, done.stdout
    assert source.run("tenant", "add", f"after-{os.urandom(4).hex()}").returncode == 0
    return done.stderr


def token_of(source: Instance) -> str:
    """A service token of the administrator."""
    said = source.run("token", "add", ADMIN, "--scope", "read:articles", "--scope", "write:articles").stdout
    return said.partition("Token: ")[2].split()[0]


def test_everything_is_there_and_is_the_same(source, url, tmp_path):
    heads = tmp_path / "heads"
    heads.write_text(source.run("audit", "export", "--heads").stdout)
    with source.database() as database:
        explained, = database.query("SELECT id FROM audit WHERE resource = 'article' AND action = 'create'")[0]
    why = source.run("policy", "explain", "--audit", explained, "--json").stdout
    assert json.loads(why)
    secret = token_of(source)
    before = rows_of(source, *NOT_MOVED)

    said = moved(source, url)
    there = on_postgres(source, url)
    after = rows_of(there, *NOT_MOVED)
    assert before.keys() == after.keys()
    changed = {table: [dict(row) for row in after[table] - before[table]] for table in before
               if before[table] != after[table]}
    assert changed.keys() == {"audit", "jobs", "sessions"}
    assert [row["revoked_at"] is None for row in changed["sessions"]] == [False]
    assert {(row["state"], row["last_error"]) for row in changed["jobs"]} == {
        ("failed", "the instance was moved to another database")}
    # The move is recorded, with the next number.
    assert before["audit"] < after["audit"]
    assert [(row["action"], row["seq"]) for row in changed["audit"]] == [("move", len(after["audit"]))]
    assert f'database_url = "{url}"' in said
    assert "1 sessions have ended" in said and "2 unfinished jobs have failed" in said

    verified = there.run("audit", "verify", "--heads", str(heads))
    assert verified.returncode == 0, verified.stdout + verified.stderr
    assert there.run("policy", "explain", "--audit", explained, "--json").stdout == why
    assert there.run("doctor").returncode == 0
    with there.answering() as served:
        token = served.log_in()
        assert served.call("GET", "/api/articles?q=lighthouse+ordinary", token=secret)[1]["items"][0]["slug"] == (
            ARTICLE["slug"])
        for path in ("articles", "notes", "orders", "users", "audit"):
            status, page = served.call("GET", f"/api/{path}?limit=100", token=token)
            assert (status, len(page["items"]) > 0) == (200, True), path
        # Triggers and sequences continue.
        assert served.call("POST", "/api/articles", {**ARTICLE, "slug": "the-next"}, token)[0] == 201
    for statement in ("DELETE FROM audit", "UPDATE policy_versions SET note = 'x'", "DELETE FROM tenants",
                      "INSERT INTO shares SELECT * FROM shares"):
        with psycopg.connect(url) as connection, pytest.raises(psycopg.Error):
            connection.execute(statement)


@pytest.mark.slow
def test_constraints_indexes_and_triggers_are_those_of_a_new_database(source, url, new_url):
    def schema(url: str) -> list[tuple]:
        with psycopg.connect(url) as connection:
            return [connection.execute(query).fetchall() for query in (
                "SELECT conrelid::regclass::text, conname, contype, pg_get_constraintdef(oid) FROM pg_constraint "
                "WHERE connamespace = 'public'::regnamespace ORDER BY 1, 2",
                "SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1",
                "SELECT tgrelid::regclass::text, tgname, tgenabled FROM pg_trigger WHERE NOT tgisinternal "
                "ORDER BY 1, 2",
            )]

    fresh = new_url()
    with on_postgres(source, fresh).database() as empty:
        upgrade(empty, migrations())
    moved(source, url)
    assert schema(url) == schema(fresh)


@pytest.mark.slow
def test_a_request_that_is_repeated_after_the_move_takes_effect_once(source, url):
    """A token stays valid, and with it the kept answers for its keys, entity tags and cursors."""
    secret = token_of(source)
    article, key = {**ARTICLE, "slug": "sent-twice"}, {"Idempotency-Key": "twice"}
    with source.answering() as served:
        first = served.exchange("POST", "/api/articles", article, secret, key)
        listed = "/api/articles?limit=3&sort=title"
        after = f"{listed}&cursor={served.call('GET', listed, token=secret)[1]['next_cursor']}"
        following = served.call("GET", after, token=secret)[1]
    moved(source, url)
    with on_postgres(source, url).answering() as served:
        second = served.exchange("POST", "/api/articles", article, secret, key)
        assert served.call("GET", after, token=secret)[1]["items"] == following["items"] != []
    assert first[0] == second[0] == 201
    assert first[1] == second[1] and first[2]["ETag"] == second[2]["ETag"]


def test_writes_meanwhile_and_afterwards_are_503_and_reads_go_on(source, url, monkeypatch):
    monkeypatch.setattr(sqlite_database, "BUSY_TIMEOUT", 0.2)
    compare, begun, go_on, said = moving._compare, Event(), Event(), []

    def waiting(*given):
        begun.set()
        assert go_on.wait(60)
        return compare(*given)

    monkeypatch.setattr(moving, "_compare", waiting)
    with source.answering() as served:
        token = served.log_in()

        def answers() -> list[int]:
            return [served.call("GET", "/api/articles", token=token)[0],
                    served.call("POST", "/api/articles", {**ARTICLE, "slug": "meanwhile"}, token)[0],
                    served.call("POST", "/api/login", {"email": ADMIN, "password": PASSWORD})[0]]

        mover = Thread(target=lambda: said.append(moved(source, url)))
        mover.start()
        try:
            assert begun.wait(60)
            during = answers()
        finally:
            go_on.set()
            mover.join()
        assert said
        status, problem = served.call("POST", "/api/articles", {**ARTICLE, "slug": "afterwards"}, token)
        assert (during, answers()) == ([200, 503, 503], [200, 503, 503])
        # A client does not learn the new URL.
        assert (status, problem["code"]) == (503, "unavailable") and "127.0.0.1" not in json.dumps(problem)
        assert served.call("GET", "/api/health")[1]["checks"]["database"] == "down"
    with on_postgres(source, url).database():
        slugs = {article.slug for article in Article.select()}
    assert ARTICLE["slug"] in slugs and slugs.isdisjoint({"meanwhile", "afterwards"})


@pytest.mark.slow
def test_the_old_database_says_where_it_was_moved_until_that_is_undone(source, url):
    moved(source, url)
    place = url.partition("@")[2]
    for command in (("doctor",), ("serve", "--port", "0"), ("user", "list"), ("tenant", "add", "x"),
                    ("move", "--to", url, "--yes")):
        done = source.run(*command)
        assert done.returncode == 1, command
        assert f"this instance was moved to {place}, and takes no writes here any more" in done.stdout + done.stderr
    with (closing(sqlite3.connect(source.folder / "gatepost.db")) as other,
          pytest.raises(sqlite3.IntegrityError, match="this instance was moved to")):
        other.execute("DELETE FROM shares")
    assert source.run("move", "--undo", "--yes").returncode == 0
    assert source.run("tenant", "add", "x").returncode == 0
    assert source.run("doctor").returncode == 0
    again = source.run("move", "--undo", "--yes")
    assert (again.returncode, again.stderr) == (1, "Error: This instance was not moved.\n")


def test_what_cannot_be_moved_to_is_refused_by_a_sentence(source, url, new_url, request, postgres_server):
    filled, foreign, newer = new_database("postgres", request), new_url(), new_database("postgres", request)
    postgres_server.execute("CREATE DATABASE bytewise TEMPLATE template0 ENCODING 'SQL_ASCII' LOCALE 'C'")
    with on_postgres(source, filled).database() as database:
        database.transact(lambda: Tenant.add("theirs"))
    later = "INSERT INTO migrations_gatepost (name, applied) VALUES ('9999_later', now())"
    for place, statement in ((foreign, "CREATE TABLE theirs (id integer)"), (newer, later)):
        with psycopg.connect(place) as connection:
            connection.execute(statement)
    cases = {
        "sqlite:////tmp/x.db": "--to is no URL of Postgres",
        "postgresql://x:hunter2%zz@localhost/x": "--to cannot be read as a URL",
        "postgresql://x:hunter2@127.0.0.1:1/x": "refused",
        postgres_server.url("bytewise"): "does not store text as UTF-8",
        filled: "holds an instance already",
        foreign: "holds tables of another program, such as theirs",
        newer: "was migrated by newer code, which has gatepost/9999_later",
    }
    wrong = {target: said for target, part in cases.items() if part not in (said := refused(source, target))
             or "hunter2" in said}
    assert wrong == {}
    for again in (filled, url):
        done = on_postgres(source, filled).run("move", "--to", again, "--yes")
        assert (done.returncode, done.stderr) == (
            1, "Error: This instance is on Postgres already: database_url says so.\n")
    assert source.run("move").returncode == source.run("move", "--to", url, "--undo").returncode == 2


@pytest.mark.slow
def test_the_password_is_not_printed(source, url):
    said = moved(source, url.replace("mover@", "mover:hunter2@"))
    assert "hunter2" not in said and 'database_url = "postgresql://mover:********@' in said


def change(source: Instance, *statements: str) -> None:
    with source.database() as database:
        database.query("PRAGMA foreign_keys = OFF")
        for statement in statements:
            database.query(statement)


def test_rows_that_postgres_does_not_take_are_named_and_nothing_is_moved(source, url):
    """NUL is found before the copy starts. Other values that Postgres refuses are found at their row."""
    change(source, "UPDATE articles SET title = 'a' || char(0) WHERE slug = 'brought-along'",
           "UPDATE users SET department = char(0) WHERE email = 'admin@example.org'")
    with source.database() as database:
        article, = database.query("SELECT id FROM articles WHERE slug = 'brought-along'")[0]
        user, = database.query("SELECT id FROM users WHERE email = 'admin@example.org'")[0]
    said = refused(source, url)
    assert f"articles {article}" in said and f"users {user}" in said

    change(source, "UPDATE articles SET title = 'a', version = 1 << 40 WHERE slug = 'brought-along'",
           "UPDATE users SET department = NULL")
    assert f"the row of articles whose id is {article}: value" in refused(source, url)
    change(source, "UPDATE articles SET version = 1", "UPDATE articles SET owner_id = id WHERE slug = 'brought-along'")
    assert "A row refers to another that is not there. articles: Key (tenant_id, owner_id)=" in refused(source, url)
    change(source, f"UPDATE articles SET owner_id = '{user}' WHERE slug = 'brought-along'")
    moved(source, url)


@pytest.mark.slow
def test_an_import_under_way_is_waited_for(source, url):
    with source.database() as database:
        tenant = Tenant.by_name("default").id
        with opened_load(database, tenant, Article):
            assert "An import is under way" in refused(source, url)
    moved(source, url)


@pytest.mark.slow
def test_rows_of_a_plugin_that_is_not_installed_stay_behind_only_if_that_is_said(source, url):
    change(source, "CREATE TABLE parcels (id TEXT NOT NULL PRIMARY KEY) STRICT", "INSERT INTO parcels VALUES ('x')")
    assert "No plugin that is installed knows these tables: parcels" in refused(source, url)
    moved(source, url, "--leave-unknown")


@pytest.mark.slow
def test_an_audit_log_that_is_not_whole_is_moved_as_it_is(source, url):
    change(source, "DROP TRIGGER audit_keeps_rows", "UPDATE audit SET role = 'user' WHERE seq = 1")
    before = source.run("audit", "verify")
    assert before.returncode == 1
    moved(source, url)
    after = on_postgres(source, url).run("audit", "verify")
    assert (after.returncode, after.stdout.splitlines()[0]) == (1, before.stdout.splitlines()[0])


@pytest.mark.slow
def test_a_difference_ends_the_move(source, url, monkeypatch):
    fill = PostgresDatabase.fill
    monkeypatch.setattr(PostgresDatabase, "fill", lambda self, table, columns, rows: fill(
        self, table, columns, list(rows)[1:] if table == "shares" else rows))
    assert "Postgres has 0 rows of shares instead of 1." in refused(source, url)
    monkeypatch.setattr(PostgresDatabase, "fill", lambda self, table, columns, rows: fill(
        self, table, columns, [(*row[:4], "somebody", *row[5:]) for row in rows] if table == "audit" else rows))
    assert "The audit log is not the same in Postgres" in refused(source, url)
    monkeypatch.undo()
    moved(source, url)


# Code that makes a process die at one moment of the move.
KILLED = {
    "after the migrations": "moving.move = die",
    "while a table is copied": "PostgresDatabase.fill = lambda self, *given: (fill(self, *given), die())",
    "before the comparison": "moving._compare = die",
    "before SQLite is closed": "moving.moved.close = die",
    "before the commit": "PostgresDatabase.commit = lambda self: die() if moving_rows else commit(self)",
    "after the commit": "PostgresDatabase.analyze = lambda self: die() if moving_rows else None",
}
DYING = """
import os, signal, sys
from models import moving
from models.engine.postgres.database import PostgresDatabase
moving_rows = []
def die(*given, **named):
    os.kill(os.getpid(), signal.SIGKILL)
fill, commit, copied = PostgresDatabase.fill, PostgresDatabase.commit, moving._copied
moving._copied = lambda *given: (moving_rows.append(True), copied(*given))[1]
{first}
from gatepost_start.command import cli
cli()
"""


@pytest.mark.slow
@pytest.mark.parametrize("moment", KILLED)
def test_a_move_that_is_killed_has_happened_or_is_begun_anew(moment, source, url):
    before = rows_of(source, *NOT_MOVED, "audit", "jobs", "sessions")
    done = subprocess.run([sys.executable, "-c", DYING.format(first=KILLED[moment]), "move", "--to", url, "--yes"],
                          env=source.environ(), capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    # Both databases never accept writes, and no write is lost: SQLite is closed before Postgres has any row.
    closed = source.run("tenant", "add", "x").returncode != 0
    assert closed == (moment in ("before the commit", "after the commit"))
    if moment == "after the commit":
        said = source.run("move", "--to", url, "--yes")
        assert said.returncode == 1 and "this instance was moved to" in said.stderr
    else:
        before = rows_of(source, *NOT_MOVED, "audit", "jobs", "sessions")
        moved(source, url)
    assert rows_of(on_postgres(source, url), *NOT_MOVED, "audit", "jobs", "sessions") == before


@pytest.mark.slow
def test_a_commit_that_the_server_refuses_leaves_everything_as_it_was(source, url, monkeypatch):
    commit, copied, copying = PostgresDatabase.commit, moving._copied, []
    monkeypatch.setattr(moving, "_copied", lambda *given: (copying.append(True), copied(*given))[1])

    def fails(self):
        if copying:
            raise Unavailable("the server refuses it")
        commit(self)

    monkeypatch.setattr(PostgresDatabase, "commit", fails)
    assert "the server refuses it" in refused(source, url)
    monkeypatch.undo()
    moved(source, url)


@pytest.mark.slow
def test_a_lost_connection_leaves_everything_as_it_was(source, url, monkeypatch, postgres_server):
    fill = PostgresDatabase.fill

    def loses(self, table, columns, rows):
        if table == "orders":
            pid, = self.query("SELECT pg_backend_pid()")[0]
            postgres_server.execute(f"SELECT pg_terminate_backend({pid})")
        return fill(self, table, columns, rows)

    monkeypatch.setattr(PostgresDatabase, "fill", loses)
    assert "terminat" in refused(source, url)
    monkeypatch.undo()
    moved(source, url)


@pytest.mark.slow
def test_a_commit_whose_answer_is_lost_has_moved_everything(source, url, monkeypatch):
    commit, copied, copying = PostgresDatabase.commit, moving._copied, []
    monkeypatch.setattr(moving, "_copied", lambda *given: (copying.append(True), copied(*given))[1])

    def loses(self):
        commit(self)
        if copying:
            self._state.conn.close()
            raise Unavailable("the server was silent for too long")

    monkeypatch.setattr(PostgresDatabase, "commit", loses)
    before = rows_of(source, *NOT_MOVED, "audit", "jobs", "sessions")
    done = source.run("move", "--to", url, "--yes")
    monkeypatch.undo()
    assert done.returncode == 1 and "the server was silent" in done.stderr
    again = source.run("move", "--to", url, "--yes")
    assert again.returncode == 1 and "this instance was moved to" in again.stderr
    assert source.run("tenant", "add", "x").returncode == 1
    assert rows_of(on_postgres(source, url), *NOT_MOVED, "audit", "jobs", "sessions") == before


@pytest.mark.slow
def test_a_restore_of_an_older_backup_goes_on_from_the_closed_file(source, url, tmp_path):
    archive = tmp_path / "before.tar.gz"
    assert source.run("backup", str(archive)).returncode == 0
    moved(source, url)
    done = source.run("restore", "--replace", "--yes", str(archive))
    assert done.returncode == 0, done.stderr
    assert source.run("tenant", "add", "x").returncode == 0


@pytest.mark.slow
def test_one_that_was_moved_is_not_moved_elsewhere(source, new_url):
    first, second = new_url(), new_url()
    moved(source, first)
    done = source.run("move", "--to", second, "--yes")
    assert done.returncode == 1 and f"this instance was moved to {first.partition('@')[2]}" in done.stderr
