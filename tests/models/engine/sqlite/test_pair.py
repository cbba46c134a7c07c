"""A database file beside the write-ahead log of another one: it is not opened, and running processes stop writing."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import apsw
import orjson
import pytest

from models.base import new_id
from models.engine.connect import open_database
from models.engine.errors import ForeignLog, Unavailable
from models.engine.sqlite import copies
from models.engine.sqlite.database import SqliteDatabase
from models.engine.sqlite.pair import freshen
from models.tables.tenant import Tenant
from tests.databases import new_database
from tests.samples import sampled


def opened(file: Path) -> SqliteDatabase:
    database = open_database(f"sqlite:///{file}", pool_size=4, synchronous="normal")
    assert isinstance(database, SqliteDatabase)
    return database


def write(database: SqliteDatabase, times: int = 1) -> None:
    for _ in range(times):
        database.transact(lambda: Tenant.add(new_id()))


def tenants(database: SqliteDatabase) -> int:
    with database.connected():
        assert database.query("PRAGMA integrity_check") == [("ok",)]
        return int(database.query("SELECT count(*) FROM tenants")[0][0])


def token(file: Path) -> int:
    return int.from_bytes(file.read_bytes()[60:64], "big")


@pytest.fixture
def running(request: pytest.FixtureRequest) -> Iterator[SqliteDatabase]:
    database = opened(Path(new_database("sqlite", request).removeprefix("sqlite:///")))
    write(database, 3)
    yield database
    database.close_all()


@pytest.fixture
def folder(running: SqliteDatabase, tmp_path: Path) -> Path:
    """The files of a killed process.

    `x.db` with log and sidecar has three tenants. `older.db` is an earlier copy of the file. `elsewhere` has the same
    files of another instance.
    """
    write(running, 40)
    with closing(apsw.Connection(str(running.path))) as source, \
            closing(apsw.Connection(str(tmp_path / "older.db"))) as target, \
            target.backup("main", source, "main") as step:
        step.step(-1)
    with running.connected():
        running._checkpoints._settle(*running._checkpoints._copy_under_a_token(running.connection()))
    write(running, 5)
    left_by_a_kill(running, tmp_path)
    with closing(apsw.Connection(str(running.path))) as source:
        copies.copy(source, str(tmp_path / "backup.db"))
        source.create_scalar_function("gatepost_words", lambda *_: "", 2, deterministic=True)
        source.execute("VACUUM INTO ?", (str(tmp_path / "vacuumed.db"),))
    (tmp_path / "elsewhere").mkdir()
    shutil.copy(tmp_path / "older.db", tmp_path / "elsewhere" / "x.db")
    with closing(apsw.Connection(str(tmp_path / "elsewhere" / "x.db"))) as conn:
        freshen(conn)
    other = opened(tmp_path / "elsewhere" / "x.db")
    write(other, 10)
    for suffix in ("", "-wal", ".pair"):
        shutil.copy(f"{other.path}{suffix}", tmp_path / "elsewhere" / f"other.db{suffix}")
    other.close_all()
    return tmp_path


def left_by_a_kill(database: SqliteDatabase, folder: Path) -> None:
    for suffix in ("", "-wal", ".pair"):
        shutil.copy(f"{database.path}{suffix}", folder / f"x.db{suffix}")


def put(name: str) -> Callable[[Path], object]:
    return lambda folder: shutil.copyfile(folder / name, folder / "x.db")


def moved(name: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).rename(folder / "x.db")


def both(folder: Path) -> None:
    shutil.copy(folder / "elsewhere" / "other.db", folder / "x.db")
    shutil.copy(folder / "elsewhere" / "other.db-wal", folder / "x.db-wal")


def without_its_log(folder: Path) -> None:
    put("backup.db")(folder)
    (folder / "x.db-wal").unlink()


def of_tokens_alone(folder: Path) -> None:
    sidecar = folder / "x.db.pair"
    salts, *marks = orjson.loads(sidecar.read_bytes())
    sidecar.write_bytes(orjson.dumps([salts, *(token for token, _ in marks)]))


# a change of the folder before the start, and True if file and log belong together
STARTS: dict[str, tuple[Callable[[Path], object], bool]] = {
    "nothing: the process was killed": (lambda folder: None, True),
    "a backup, with cp": (put("backup.db"), False),
    "a backup, with mv": (moved("backup.db"), False),
    "a copy from before the log, made by another program": (put("older.db"), False),
    "a late copy by VACUUM INTO, with cp": (put("vacuumed.db"), False),
    "a late copy by VACUUM INTO, with mv": (moved("vacuumed.db"), False),
    "the file of another instance": (put("elsewhere/other.db"), False),
    "an empty file": (lambda folder: os.truncate(folder / "x.db", 0), False),
    "half a header": (lambda folder: os.truncate(folder / "x.db", 50), False),
    "file and log together from elsewhere": (both, True),
    "a backup, and the log moved away": (without_its_log, True),
    "a log without a frame": (lambda folder: (put("backup.db")(folder), os.truncate(folder / "x.db-wal", 32)), True),
    "no sidecar: an older version wrote the file": (lambda folder: (folder / "x.db.pair").unlink(), True),
    "a sidecar of tokens alone: an older version wrote it": (of_tokens_alone, True),
    "a sidecar of tokens alone, and a backup": (
        lambda folder: (of_tokens_alone(folder), put("backup.db")(folder)), False),
}


@pytest.mark.parametrize("case", sampled(STARTS, 2))
def test_a_start_reads_from_a_pair_alone(folder: Path, case: str) -> None:
    change, fine = STARTS[case]
    change(folder)
    kept = {path.name: path.read_bytes() for path in folder.glob("x.db*")}
    database = opened(folder / "x.db")
    if fine:
        before = tenants(database)
        assert database.pair.fault() is None
        write(database)
        assert tenants(database) == before + 1
        database.close_all()
        assert tenants(opened(folder / "x.db")) == before + 1, "and it is one the next time"
        return
    with pytest.raises(ForeignLog, match=r"x.db is not the file that x.db-wal belongs to, and nothing was changed"):
        database.ping()
    with pytest.raises(ForeignLog):
        write(database)
    assert database.pair.fault() is not None
    database.close_all()
    assert {path.name: path.read_bytes() for path in folder.glob("x.db*")
            if not path.name.endswith(("-shm", "-lock", "-queue"))} == kept


def test_a_killed_process_leaves_everything(folder: Path, running: SqliteDatabase) -> None:
    assert tenants(opened(folder / "x.db")) == tenants(running)


@pytest.mark.parametrize("name", ["backup.db", "vacuumed.db"])
@pytest.mark.parametrize("by", [put, moved])
def test_a_running_process_writes_nothing_beside_a_file_that_was_put_in(
        folder: Path, running: SqliteDatabase, by: Callable[[str], Callable[[Path], object]], name: str) -> None:
    (folder / "x.db").unlink()
    by(name)(folder)
    log = Path(f"{running.path}-wal")
    with running.connected():  # it holds the file open
        before = log.read_bytes()
        if by is put:
            running.path.write_bytes((folder / "x.db").read_bytes())
            running.watch()  # like a service, each second
        else:
            (folder / "x.db").rename(running.path)
        for _ in range(2):
            with pytest.raises(ForeignLog):
                write(running)
    with pytest.raises(ForeignLog):
        running.ping()
    assert running.pair.fault() is not None
    running.close_all()
    assert log.read_bytes() == before, "what was answered is in the log still"


def test_a_running_process_goes_on_when_the_old_file_is_back(folder: Path, running: SqliteDatabase) -> None:
    before = tenants(running)
    away = running.path.rename(folder / "away.db")
    shutil.copy(folder / "backup.db", running.path)
    with pytest.raises(ForeignLog):
        running.ping()
    away.rename(running.path)
    write(running)
    assert tenants(running) == before + 1


def test_each_file_and_each_copy_has_a_token_of_its_own(folder: Path, running: SqliteDatabase) -> None:
    seen = {token(running.path), token(folder / "backup.db"), token(folder / "elsewhere" / "other.db")}
    assert len(seen) == 3 and 0 not in seen


def test_the_sidecar_is_readable_by_its_owner_alone(running: SqliteDatabase) -> None:
    assert os.stat(f"{running.path}.pair").st_mode & 0o777 == 0o600


def test_a_sidecar_that_says_nothing_is_said(folder: Path) -> None:
    (folder / "x.db.pair").write_bytes(b"{")
    with pytest.raises(Unavailable, match=r"x\.db\.pair is damaged: move it away if"):
        opened(folder / "x.db").ping()


@pytest.mark.parametrize("killed", ["before", "while it is copied", "after"])
def test_a_restore_leaves_a_pair_whenever_it_is_killed(folder: Path, running: SqliteDatabase, killed: str) -> None:
    staged = folder / "backup.db"
    with running.pair.adopting(copies.freshened(staged)):
        if killed == "while it is copied":
            with closing(apsw.Connection(str(running.path))) as live, closing(apsw.Connection(str(staged))) as fresh, \
                    live.backup("main", fresh, "main") as step:
                step.step(10)
                left_by_a_kill(running, folder)
        elif killed == "after":
            copies.overwrite(running.path, staged)
    if killed != "while it is copied":
        left_by_a_kill(running, folder)
    left = opened(folder / "x.db")
    write(left)
    tenants(left)
    left.close_all()


def test_a_change_of_the_schema_leaves_a_pair(folder: Path, running: SqliteDatabase) -> None:
    other = opened(running.path)
    write(other)
    running.transact(lambda: running.write("CREATE TABLE notes (id INTEGER PRIMARY KEY) STRICT"))
    # Copied without another token, as by an earlier copy.
    with running.connected():
        running.connection().wal_checkpoint()
    left_by_a_kill(running, folder)
    shutil.copy(running.path, folder / "x.db")
    for database in (running, other, opened(folder / "x.db")):
        before = tenants(database)
        write(database, 3)
        assert tenants(database) == before + 3
        database.close_all()


def test_other_processes_go_on_after_the_file_was_compacted(folder: Path, running: SqliteDatabase) -> None:
    other = opened(running.path)
    write(other)
    with other.connected():  # it holds the file open
        running.compact()
        write(other)
    left_by_a_kill(running, folder)
    shutil.copy(running.path, folder / "x.db")
    assert tenants(other) == tenants(running) == tenants(opened(folder / "x.db"))
    other.close_all()


def test_a_database_that_is_opened_again_notes_the_log_that_it_begins(folder: Path, running: SqliteDatabase) -> None:
    # Like a server that checks everything, closes it, and forks.
    running.close_all()
    write(running)
    running.close_all()
    assert not Path(f"{running.path}-wal").exists()
    running.transact(lambda: [Tenant.add(new_id()) for _ in range(500)])
    left_by_a_kill(running, folder)
    shutil.copy(folder / "older.db", folder / "x.db")
    with pytest.raises(ForeignLog):
        opened(folder / "x.db").ping()


def test_other_processes_go_on_after_a_restore(folder: Path, running: SqliteDatabase) -> None:
    other = opened(running.path)
    write(other)
    with running.scratch(str(folder / "backup.db")) as staged:
        running.take_over(staged, folder / "aside")
    write(other)
    assert tenants(other) == tenants(running)
    other.close_all()
