"""A log that SQLite cannot read to its end after a crash: SQLite does not report it, but Gatepost does."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from models.base import new_id
from models.engine.connect import open_database
from models.engine.database import Database
from models.engine.sqlite.recovery import written
from models.tables.tenant import Tenant
from tests.databases import new_database

ROWS = 12


def opened(file: Path) -> Database:
    return open_database(f"sqlite:///{file}", pool_size=4, synchronous="normal")


@pytest.fixture
def running(request: pytest.FixtureRequest) -> Iterator[Database]:
    database = opened(Path(new_database("sqlite", request).removeprefix("sqlite:///")))
    yield database
    database.close_all()


@pytest.fixture
def crashed(running: Database, tmp_path: Path) -> Path:
    """The files of a killed process: a file, and a log with the last rows."""
    for _ in range(ROWS):
        running.transact(lambda: Tenant.add(new_id()))
    for suffix in ("", "-wal", ".pair"):
        shutil.copy(f"{running.path}{suffix}", tmp_path / f"x.db{suffix}")
    return tmp_path / "x.db"


def other_bytes(file: Path, place: int) -> None:
    with file.open("r+b") as disk:
        disk.seek(place)
        found = disk.read(8)
        disk.seek(place)
        disk.write(bytes(each ^ 0xA5 for each in found))


def tenants(file: Path) -> tuple[int, str | None]:
    """Returns the number of tenants, and the reported loss."""
    database = opened(file)
    try:
        with database.connected():
            return int(database.query("SELECT count(*) FROM tenants")[0][0]), database.loss()
    finally:
        database.close_all()


def test_a_log_that_is_whole_is_read_and_nothing_is_said(crashed):
    log = Path(f"{crashed}-wal")
    found = written(log)
    assert found is not None and found.last == (log.stat().st_size - 32) // (24 + 4096)
    assert tenants(crashed) == (ROWS, None)
    assert not Path(f"{crashed}-wal.damaged").exists()


# Offsets in a frame's page and header, and in the header of the log.
@pytest.mark.parametrize("place", [32 + 5 * 4120 + 2000, 32 + 5 * 4120, 32 + 5 * 4120 + 10, 16, 2])
def test_damaged_bytes_of_a_log_are_told_until_the_operator_has_seen_to_them(crashed, place, caplog):
    log = Path(f"{crashed}-wal")
    other_bytes(log, place)
    before = log.read_bytes()
    number, loss = tenants(crashed)
    kept = Path(f"{crashed}-wal.damaged")
    assert number < ROWS and loss is not None and "move x.db-wal.damaged away" in loss
    assert "cannot be read" in caplog.text
    assert kept.read_bytes() == before and kept.stat().st_mode & 0o777 == 0o600
    assert tenants(crashed)[1] == loss, "another process, and a start later"
    kept.unlink()
    assert tenants(crashed) == (number, None)


def test_a_transaction_whose_process_was_killed_before_its_end_is_no_loss(crashed):
    log = Path(f"{crashed}-wal")
    os.truncate(log, log.stat().st_size - 4120 - 100)
    number, loss = tenants(crashed)
    assert number < ROWS and loss is None


def test_a_log_that_another_process_is_writing_is_no_loss(crashed, monkeypatch):
    # As if SQLite had read before the last transaction was published.
    from models.engine.sqlite import recovery

    database = opened(crashed)
    try:
        with database.connected():
            whole = recovery.written(Path(f"{crashed}-wal"))
            assert whole is not None
            assert not recovery.broken(Path(f"{crashed}-wal"), whole, whole.last - 2)
            assert not recovery.broken(Path(f"{crashed}-wal"), whole, 0)
    finally:
        database.close_all()
