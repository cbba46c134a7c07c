"""Rolling migrations: code without them continues to serve beside newer code that has applied them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from playhouse.migrations import MigrationError

from models import migrate
from models.engine.connect import open_database
from models.engine.database import Database
from tests.databases import new_database
from tests.running import ROOT

UPGRADE = """
import sys
from pathlib import Path
from models import migrate
from models.engine.connect import open_database
database = open_database(sys.argv[1], pool_size=1, synchronous="normal", statement_timeout=30)
print(len(migrate.upgrade(database, {**migrate.SHIPPED, "shop": Path(sys.argv[2])})))
database.close_all()
"""
TABLE = """
from models import ddl

{says}

def up(migrator, db):
    ddl.run(db, "CREATE TABLE shop_{name} (id {{id}} NOT NULL PRIMARY KEY) {{strict}}")
{more}"""


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest) -> str:
    return new_database(request.param, request, migrated=False)


@pytest.fixture
def database(url: str) -> Iterator[Database]:
    database = open_database(url, pool_size=2, synchronous="normal", statement_timeout=10)
    yield database
    database.close_all()


def code(folder: Path, **files: str) -> Mapping[str, Path]:
    """The migrations of one version of the code: the shipped ones, and those of a plugin."""
    folder.mkdir()
    (folder / "0001_begin.py").write_text(TABLE.format(says="", name="begin", more=""))
    for name, says in files.items():
        (folder / f"{name[1:]}.py").write_text(TABLE.format(says=says, name=name[6:], more=""))
    return {**migrate.SHIPPED, "shop": folder}


@pytest.fixture
def older(database: Database, tmp_path: Path) -> Mapping[str, Path]:
    """An older version of the code that has migrated the database."""
    found = code(tmp_path / "older")
    migrate.upgrade(database, found)
    return found


@pytest.mark.parametrize(("files", "obstacle"), [
    ({"_0002_a": "ROLLING = True"}, None),
    ({"_0002_a": "ROLLING = True", "_0003_b": "ROLLING = True"}, None),
    ({"_0002_a": ""}, "shop/0002_a"),
    ({"_0002_a": "ROLLING = False"}, "shop/0002_a"),
    ({"_0002_a": "ROLLING = True", "_0003_b": ""}, "shop/0003_b"),
    ({"_0002_a": "", "_0003_b": "ROLLING = True"}, "shop/0002_a"),
])
def test_older_code_goes_on_beside_rolling_migrations_alone(
        database: Database, older: Mapping[str, Path], tmp_path: Path, files: dict[str, str],
        obstacle: str | None) -> None:
    newer = code(tmp_path / "newer", **files)
    waiting = migrate.pending(database, newer)
    assert migrate.rolling(waiting, newer) == {name for name in waiting if "True" in files["_" + name[5:]]}
    assert migrate.upgrade(database, newer) == tuple(f"shop/{name[1:]}" for name in files)
    assert migrate.obstacle(database, newer) is None
    said = migrate.obstacle(database, older)
    if obstacle is None:
        assert said is None
        assert migrate.upgrade(database, older) == (), "older code has nothing to do"
    else:
        assert said is not None and f"newer code, which has {obstacle}." in said
        with pytest.raises(MigrationError, match=f"newer code, which has {obstacle}"):
            migrate.upgrade(database, older)


def test_a_code_that_lacks_a_migration_applies_none_of_its_own(
        database: Database, older: Mapping[str, Path], tmp_path: Path) -> None:
    migrate.upgrade(database, code(tmp_path / "newer", _0002_a="ROLLING = True"))
    other = code(tmp_path / "other", _0003_b="ROLLING = True")
    with pytest.raises(MigrationError, match="newer code, which has shop/0002_a"):
        migrate.upgrade(database, other)
    said = migrate.obstacle(database, other)
    assert said is not None and "newer code, which has shop/0002_a" in said
    with database.connected():
        assert "shop_b" not in database.get_tables()


@pytest.mark.both_databases
def test_a_rolling_migration_that_is_stopped_leaves_no_mark(
        database: Database, older: Mapping[str, Path], tmp_path: Path) -> None:
    newer = code(tmp_path / "newer", _0002_a="ROLLING = True")
    file = newer["shop"] / "0003_b.py"
    file.write_text(TABLE.format(says="ROLLING = True", name="b", more="    raise KeyError('stop')\n"))
    with pytest.raises(MigrationError, match="0003_b.py:8: KeyError"):
        migrate.upgrade(database, newer)
    assert marks(database) == [("shop", "0002_a")]
    assert migrate.pending(database, newer) == ["shop/0003_b"]
    assert migrate.obstacle(database, older) is None
    # Its next version may have a migration that is not rolling.
    file.write_text(TABLE.format(says="", name="b", more=""))
    migrate.upgrade(database, newer)
    assert marks(database) == [("shop", "0002_a")]
    said = migrate.obstacle(database, older)
    assert said is not None and "shop/0003_b" in said


@pytest.mark.both_databases
def test_a_mark_is_in_the_transaction_of_its_migration(
        database: Database, older: Mapping[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    newer = code(tmp_path / "newer", _0002_a="ROLLING = True")
    kept = migrate._note

    def note_and_stop(*given: object) -> None:
        kept(*given)  # type: ignore[arg-type]
        raise KeyboardInterrupt

    monkeypatch.setattr(migrate, "_note", note_and_stop)
    with pytest.raises(KeyboardInterrupt):
        migrate.upgrade(database, newer)
    assert marks(database) == []
    assert migrate.pending(database, newer) == ["shop/0002_a"]
    with database.connected():
        assert "shop_a" not in database.get_tables()


@pytest.mark.slow
def test_two_processes_that_upgrade_at_once_mark_it_once(
        url: str, database: Database, older: Mapping[str, Path], tmp_path: Path) -> None:
    newer = code(tmp_path / "newer", _0002_a="ROLLING = True")
    command = [sys.executable, "-c", UPGRADE, url, str(newer["shop"])]
    processes = [subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert sorted(int(process.communicate(timeout=60)[0]) for process in processes) == [0, 0, 1]
    assert marks(database) == [("shop", "0002_a")]
    assert migrate.obstacle(database, older) is None


def test_a_database_that_cannot_keep_marks_refuses_older_code(database: Database, tmp_path: Path) -> None:
    shop = {"shop": code(tmp_path / "older")["shop"]}
    migrate.upgrade(database, shop)
    newer = {"shop": code(tmp_path / "newer", _0002_a="ROLLING = True")["shop"]}
    assert migrate.upgrade(database, newer) == ("shop/0002_a",)
    said = migrate.obstacle(database, shop)
    assert said is not None and "shop/0002_a" in said


@pytest.mark.parametrize("says", ["ROLLING = 'yes'", "ROLLING = 1", "ROLLING = None"])
def test_a_mark_that_says_neither_is_refused(
        database: Database, older: Mapping[str, Path], tmp_path: Path, says: str) -> None:
    newer = code(tmp_path / "newer", _0002_a=says)
    with pytest.raises(MigrationError, match="ROLLING is True or False"):
        migrate.rolling(migrate.pending(database, newer), newer)
    with pytest.raises(MigrationError, match="ROLLING is True or False"):
        migrate.upgrade(database, newer)
    assert migrate.pending(database, newer) == ["shop/0002_a"]


def test_no_shipped_migration_of_before_is_rolling(database: Database) -> None:
    database.create()
    waiting = migrate.pending(database)
    assert [name for name in migrate.rolling(waiting) if name <= "gatepost/0027_rolling_migrations"] == []


def marks(database: Database) -> list[tuple[str, str]]:
    """Those of the plugin."""
    with database.connected():
        return database.query("SELECT history, migration FROM rolling_migrations WHERE history = 'shop'")
