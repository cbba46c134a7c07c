"""Migrations: each directory has its own history, one process runs at a time, and a backup comes first."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import peewee as pw
import pytest
from playhouse.migrations import MigrationError

from models import ddl, migrate
from models.base import Rows, later, new_id, now
from models.engine.connect import open_database
from models.engine.database import Database
from models.engine.errors import InvalidReference
from models.records.mailboxes import normalize
from models.tables.contact import ContactMessage
from models.tables.session import Session
from models.tables.share import Share
from models.tables.tenant import Tenant
from models.tables.user import User
from tests.databases import new_database
from tests.running import ROOT

UPGRADE = """
import sys
from models import migrate
from models.engine.connect import open_database
database = open_database(sys.argv[1], pool_size=1, synchronous="normal", statement_timeout=30)
print(len(migrate.upgrade(database)))
database.close_all()
"""
PLUGIN = """
from models import ddl

def up(migrator, db):
    ddl.run(db, "CREATE TABLE {table} (id {{id}} NOT NULL PRIMARY KEY) {{strict}}")
"""


@pytest.fixture(params=["sqlite", "postgres"])
def empty_url(request: pytest.FixtureRequest) -> str:
    return new_database(request.param, request, migrated=False)


@pytest.fixture
def empty(empty_url: str) -> Iterator[Database]:
    database = open_database(empty_url, pool_size=2, synchronous="normal", statement_timeout=10)
    yield database
    database.close_all()


def plugin(directory: Path, *names: str, text: str | None = None) -> Path:
    directory.mkdir(exist_ok=True)
    for name in names:
        (directory / f"{name}.py").write_text(text or PLUGIN.format(table=f"{directory.name}_{name[5:]}"))
    return directory


@pytest.mark.both_databases
def test_all_shipped_migrations_are_applied_once_and_in_order(empty: Database) -> None:
    empty.create()
    shipped = sorted(f"gatepost/{path.stem}" for path in migrate.SHIPPED["gatepost"].glob("0*.py"))
    assert migrate.pending(empty) == shipped
    assert migrate.upgrade(empty) == tuple(shipped)
    assert migrate.pending(empty) == []
    assert migrate.upgrade(empty) == ()


def test_a_plugin_with_the_same_file_name_has_its_own_history(empty: Database, tmp_path: Path) -> None:
    both = {name: plugin(tmp_path / name, "0001_things") for name in ("first", "second")}
    assert migrate.upgrade(empty, both) == ("first/0001_things", "second/0001_things")
    with empty.connected():
        assert {"first_things", "second_things"} <= set(empty.get_tables())


@pytest.mark.both_databases
def test_a_migration_that_fails_leaves_the_database_at_the_one_before(
        empty: Database, tmp_path: Path) -> None:
    directory = plugin(tmp_path / "shop", "0001_things")
    plugin(directory, "0002_broken", text=PLUGIN.format(table="half_done") + "    raise KeyError('stop')\n")
    with pytest.raises(MigrationError):
        migrate.upgrade(empty, {"shop": directory})
    assert migrate.pending(empty, {"shop": directory}) == ["shop/0002_broken"]
    with empty.connected():
        assert "shop_things" in empty.get_tables() and "half_done" not in empty.get_tables()


@pytest.mark.slow
def test_two_processes_that_upgrade_at_once_do_it_once(empty_url: str) -> None:
    command = [sys.executable, "-c", UPGRADE, empty_url]
    processes = [subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                 for _ in range(3)]
    outputs = [process.communicate(timeout=120) for process in processes]
    assert [errors for _, errors in outputs] == [""] * 3
    applied = sorted(int(output) for output, _ in outputs)
    assert applied == [0, 0, len(list(migrate.SHIPPED["gatepost"].glob("0*.py")))]


def test_a_backup_is_asked_for_before_a_database_changes_that_holds_something(empty: Database, tmp_path: Path) -> None:
    asked: list[list[str]] = []
    everything = {**migrate.SHIPPED, "shop": plugin(tmp_path / "shop", "0001_things")}

    def upgrade() -> tuple[str, ...]:
        return migrate.upgrade(empty, everything if asked else migrate.SHIPPED,
                               before=lambda: asked.append(migrate.pending(empty, everything)))

    upgrade()
    assert asked == []  # there was nothing to lose
    asked.append([])
    assert upgrade() == ("shop/0001_things",)
    assert asked == [[], ["shop/0001_things"]]
    assert upgrade() == ()
    assert len(asked) == 2


def test_nothing_is_changed_where_the_backup_cannot_be_made(empty: Database, tmp_path: Path) -> None:
    migrate.upgrade(empty)
    everything = {**migrate.SHIPPED, "shop": plugin(tmp_path / "shop", "0001_things")}

    def fail() -> None:
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="full"):
        migrate.upgrade(empty, everything, before=fail)
    assert migrate.pending(empty, everything) == ["shop/0001_things"]


@pytest.mark.parametrize("name", ["", "Shop", "shop; DROP TABLE users", "shop-2", "1shop", "x" * 60])
def test_a_name_that_could_not_be_a_table_is_refused(name: str, empty: Database, tmp_path: Path) -> None:
    with pytest.raises(MigrationError):
        migrate.upgrade(empty, {name: plugin(tmp_path / "shop", "0001_things")})


def test_a_directory_that_is_missing_is_refused(empty: Database, tmp_path: Path) -> None:
    with pytest.raises(MigrationError, match="no such directory"):
        migrate.upgrade(empty, {"shop": tmp_path / "absent"})


@pytest.mark.parametrize(("text", "sentence"), [
    ("from models import ddl\n\ndef up(migrator, db):\n    ddl.run(db, 'CREATE TABLE x (made {tiem})')\n",
     r":4: .* has a word in braces that is none \('tiem'\); known are \{id\}"),
    ("from models import ddl\n\ndef up(migrator, db):\n    ddl.run(db, 'CREATE TABEL x')\n", ":4: .*TABEL"),
    ("from models import ddl\n\ndef up(migrator, db):\n    ddl.table(db, 'tenants', 'x {key}', owned=False)\n",
     ":4: .* which lacks the column"),
    ("def up(migrator, db):\n    return 1 / 0\n", ":2: ZeroDivisionError: division by zero$"),
    ("import nowhere_to_be_found\n", ":1: ModuleNotFoundError: No module named 'nowhere_to_be_found'$"),
    ("\ndef\n", ":2: SyntaxError: "),
])
def test_what_a_migration_of_a_plugin_raises_is_a_sentence_with_its_file_and_line(
        empty: Database, tmp_path: Path, text: str, sentence: str) -> None:
    folder = plugin(tmp_path / "shop", "0001_wrong", text=text)
    with pytest.raises(MigrationError, match=rf"^{re.escape(str(folder / '0001_wrong.py'))}{sentence}"):
        migrate.upgrade(empty, {**migrate.SHIPPED, "shop": folder})
    assert migrate.pending(empty, {"shop": folder}) == ["shop/0001_wrong"]


@pytest.mark.parametrize(("names", "sentence"), [
    (["0001_a", "extra"], r"extra\.py: no number, so that nothing would run it; a migration is called like 0002_extra"),
    (["0001_a", "0002_b", "0002_c"], r"0002_c\.py: 0002_b\.py has the same number; give the one that was not released"),
    (["1_a", "0001_b"], r"1_a\.py: 0001_b\.py has the same number"),
    (["0001a"], r"0001a\.py: no number"),
])
def test_files_that_would_not_run_in_a_certain_order_are_told(tmp_path: Path, names: list[str], sentence: str) -> None:
    assert re.search(sentence, migrate.misnamed(plugin(tmp_path / "shop", *names)) or "")


def test_a_number_for_each_file_is_in_order(tmp_path: Path) -> None:
    assert migrate.misnamed(plugin(tmp_path / "shop", "__init__", "_words", "0001_a", "0003_b")) is None
    assert all(migrate.misnamed(folder) is None for folder in migrate.SHIPPED.values())


def test_foreign_keys_are_enforced_again_after_an_upgrade(tmp_path: Path) -> None:
    database = open_database(f"sqlite:///{tmp_path}/x.db", pool_size=1)
    migrate.upgrade(database)
    with database.connected():
        assert database.query("PRAGMA foreign_keys") == [(1,)]
    database.close_all()


@pytest.fixture
def sessions_of_before(empty: Database, tmp_path: Path) -> Iterator[tuple[str, str, str]]:
    """Yields the revocation time and the id of a session, and the id of an active one, in a database of 0.1."""
    before, revoked = tmp_path / "before", later(-60)
    shutil.copytree(migrate.SHIPPED["gatepost"], before)
    for file in before.glob("0*.py"):
        if file.name >= "0008":
            file.unlink()
    migrate.upgrade(empty, {"gatepost": before})
    with empty.connected():
        def rows() -> list[str]:
            tenant = Tenant.add("default").id
            user = new_id()
            account = {"id": user, "tenant_id": tenant, "version": 1, "created_at": later(-90),
                       "updated_at": later(-90), "owner_id": user, "name": "Ada", "email": "ada@example.org",
                       "password_hash": "-",
                       "role": "user", "groups": "[]", "active": True, "token_version": 1}
            marks = ", ".join(["?" if empty.dialect == "sqlite" else "%s"] * len(account))
            empty.execute_sql(f"INSERT INTO users ({', '.join(account)}) VALUES ({marks})", [*account.values()])
            made = []
            for at in (revoked, None):
                values = {"id": new_id(), "tenant_id": tenant, "version": 1, "created_at": later(-90),
                          "updated_at": later(-90), "user_id": user, "family": new_id(), "token_hash": new_id(),
                          "expires_at": later(600), "absolute_expires_at": later(900), "revoked_at": at}
                marks = ", ".join(["?" if empty.dialect == "sqlite" else "%s"] * len(values))
                empty.execute_sql(f"INSERT INTO sessions ({', '.join(values)}) VALUES ({marks})", [*values.values()])
                made.append(values["id"])
            return made

        ended, live = empty.transact(rows)
    migrate.upgrade(empty)
    with empty.connected():
        yield revoked, ended, live


@pytest.mark.both_databases
def test_a_session_that_was_revoked_before_the_upgrade_ends_when_it_was_revoked(
        sessions_of_before: tuple[str, str, str]) -> None:
    """Before, a revoked session carried the end of its idle time, a week later."""
    revoked, ended, live = sessions_of_before
    assert Session.by_id(ended).expires_at == revoked
    assert Session.by_id(live).expires_at > later(300)


@pytest.mark.both_databases
def test_a_session_of_before_lives_on_and_was_last_used_when_it_was_opened_from_an_unknown_address(
        sessions_of_before: tuple[str, str, str]) -> None:
    _, _, live = sessions_of_before
    session = Session.by_id(live)
    assert User.by_id(session.owner_id).email == "ada@example.org"
    assert (session.last_used_at, session.address, session.device) == (session.created_at, None, None)


@pytest.mark.parametrize(("waiting", "sentence"), [
    (["a/0001_x"], "1 migration is missing. Run: gatepost migrate"),
    (["a/0001_x", "a/0002_y"], "2 migrations are missing. Run: gatepost migrate")])
def test_how_many_migrations_are_missing_is_said_in_english(waiting, sentence):
    assert migrate.missing(waiting) == sentence


@pytest.mark.both_databases
def test_what_was_shared_before_is_the_owner_s_and_stays(empty: Database, tmp_path: Path) -> None:
    before = tmp_path / "before"
    before.mkdir()
    for file in sorted(migrate.SHIPPED["gatepost"].glob("00*.py")):
        if file.stem < "0014":
            shutil.copy(file, before)
    migrate.upgrade(empty, {"gatepost": before})
    with empty.connected():
        tenant = empty.transact(lambda: Tenant.add("somewhere"))
        rows = Rows(Share, tenant.id)
        old = {"id": new_id(), "tenant_id": tenant.id, "version": 1, "created_at": later(0), "updated_at": later(0),
               "resource": "article", "object_id": new_id(), "grantee": "role:user", "right": "manage"}
        empty.transact(lambda: Share.insert(old).execute())
    assert "gatepost/0014_granted_by" in migrate.upgrade(empty)
    with empty.connected():
        [found] = rows.select()
        assert found.__data__ == {**old, "granted_by": None}
        with pytest.raises(InvalidReference):
            empty.transact(lambda: rows.insert(Share(**{**old, "id": new_id(), "grantee": "group:g"},
                                                     granted_by=new_id())))


# (stored before, stored now)
ADDRESSES = (
    ("ada@example.org", "ada@example.org"),
    ("noor@xn--mnchen-3ya.de", "noor@münchen.de"),
    ("rene\u0301@straße.de", "ren\u00e9@straße.de"),
    ("ｉｄａ@example.org", "ida@example.org"),
    ("Bo@Example.org", "bo@example.org"),
    # one mailbox, and two of its spellings with an account each
    ("max@xn--mnchen-3ya.de", "max@xn--mnchen-3ya.de"), ("max@münchen.de", "max@münchen.de"),
    ("ｅva@münchen.de", "ｅva@münchen.de"), ("eva@xn--mnchen-3ya.de", "eva@xn--mnchen-3ya.de"),
    # impossible
    ("a@b..org", "a@b..org"), (".A@b.org", ".A@b.org"), ('"q q"@b.org', '"q q"@b.org'), ("", ""),
)


@pytest.fixture
def addresses_of_before(empty: Database, tmp_path: Path) -> dict[str, str]:
    """Address → id of the users with `ADDRESSES` before the migration, each with a message."""
    before = tmp_path / "before"
    before.mkdir()
    for file in sorted(migrate.SHIPPED["gatepost"].glob("00*.py")):
        if file.stem < "0032":
            shutil.copy(file, before)
    migrate.upgrade(empty, {"gatepost": before})
    ids = {}
    with empty.connected():
        tenant = empty.transact(lambda: Tenant.add("somewhere")).id
        for number, (stored, _) in enumerate(ADDRESSES):
            def rows(number: int = number, stored: str = stored) -> str:
                user = User(name="N", email=f"{number}@example.com", password_hash="-")
                user.stamp(tenant, now())
                User.insert(user.__data__).execute()  # without the columns of later migrations
                message = Rows(ContactMessage, tenant).insert(ContactMessage(
                    name="N", email=f"{number}@example.com", subject="S", body="B"))
                for row in (user, message):
                    raw = {type(row).email: pw.Value(stored, converter=False)}
                    type(row).update(raw).where(type(row).id == row.id).execute()
                return user.id
            ids[stored] = empty.transact(rows)
    return ids


def stored_addresses(database: Database, table: type[User] | type[ContactMessage]) -> dict[str, tuple[str, int]]:
    with database.connected():
        return {row.id: (row.email, row.version) for row in table.select(table.id, table.email, table.version)}


@pytest.mark.both_databases
def test_addresses_become_one_spelling_and_accounts_of_one_mailbox_stay(
        empty: Database, addresses_of_before: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ddl, "_AT_ONCE", 3)
    assert "gatepost/0032_mailboxes" in migrate.upgrade(empty)
    users, messages = (stored_addresses(empty, table) for table in (User, ContactMessage))
    assert users == {addresses_of_before[stored]: (now, 1 + (stored != now)) for stored, now in ADDRESSES}
    # No message conflicts with another one.
    assert sorted(email for email, _ in messages.values()) == sorted(normalize(one) or one for one, _ in ADDRESSES)
    with empty.connected():
        empty.transact(lambda: ddl.mailboxes(empty, "users", "email", unique=True))
    assert stored_addresses(empty, User) == users, "a second run changes nothing"


@pytest.mark.both_databases
def test_a_migration_of_addresses_that_is_killed_starts_again(
        empty: Database, addresses_of_before: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    before = stored_addresses(empty, User)
    with monkeypatch.context() as killed:
        left = iter(range(3))
        execute = type(empty).execute_sql

        def dying(self: Database, sql: str, *more: object) -> object:
            if sql.startswith("UPDATE users"):
                next(left)
            return execute(self, sql, *more)

        killed.setattr(type(empty), "execute_sql", dying)
        with pytest.raises(StopIteration):
            migrate.upgrade(empty)
    assert stored_addresses(empty, User) == before
    migrate.upgrade(empty)
    users = stored_addresses(empty, User)
    assert {stored: users[id][0] for stored, id in addresses_of_before.items()} == dict(ADDRESSES)


@pytest.mark.both_databases
def test_what_is_wrong_with_addresses_is_found(empty: Database, addresses_of_before: dict[str, str]) -> None:
    migrate.upgrade(empty)
    with empty.connected():
        wrong = {email for _, email in User.misspelled()}
        assert User.by_mailboxes(["max@münchen.de", "eva@münchen.de"]) == {
            "max@münchen.de": addresses_of_before["max@münchen.de"]}
    assert wrong == {"max@xn--mnchen-3ya.de", "ｅva@münchen.de", "eva@xn--mnchen-3ya.de", "a@b..org", ".A@b.org",
                     '"q q"@b.org', ""}
