"""Wrong keys, schema, rules and files of an instance."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gatepost.http.security.keys import create_key_file
from models.engine.connect import open_database
from tests.incidents.backup_kills import run
from tests.running import Instance, wait_until
from tests.version_0_1 import ON_SQLITE, go_back, sqlite_of_0_1

from .disks import modes_count
from .fault import MODES_COUNT, Fault, Place


@contextmanager
def other_keys(place: Place) -> Iterator[None]:
    """The key file is that of another instance."""
    file = place.folder / "secret.key"
    kept = file.rename(place.folder.with_name("secret.key"))
    create_key_file(file)
    try:
        yield
    finally:
        kept.replace(file)


@contextmanager
def no_key_file(place: Place) -> Iterator[None]:
    file = place.folder / "secret.key"
    kept = file.rename(place.folder.with_name("secret.key"))
    try:
        yield
    finally:
        kept.replace(file)


@contextmanager
def rotated_keys(place: Place) -> Iterator[None]:
    assert place.instance.run("keys", "rotate").returncode == 0
    yield


@contextmanager
def keys_from_a_backup(place: Place) -> Iterator[None]:
    """The key file is missing, and an operator restores it from the backup of the last rotation."""
    archive, = place.folder.glob("backups/after-rotation-*")
    with no_key_file(place):
        yield
        assert place.instance.run("restore", "--only-keys", str(archive)).returncode == 0


@contextmanager
def backup_of_another(place: Place) -> Iterator[None]:
    """An operator restores a backup of another instance by mistake."""
    other, archive = Instance(place.folder.with_name("other")).initialised(), place.folder.with_name("other.tar.gz")
    assert other.run("backup", str(archive)).returncode == 0
    assert "--name" in place.instance.run("restore", "--replace", "--yes", str(archive)).stderr
    yield


@contextmanager
def way_back(place: Place) -> Iterator[None]:
    """An operator upgrades an instance of version 0.1 on this machine, and goes back to it by hand."""
    folder = place.folder.with_name("older")
    folder.mkdir()
    older = sqlite_of_0_1(folder)
    before = (folder / "gatepost.db").read_bytes()
    assert older.run("migrate").returncode == 0
    assert (folder / "gatepost.db").read_bytes() != before
    go_back(older, ON_SQLITE)
    with sqlite3.connect(folder / "gatepost.db") as now, sqlite3.connect(":memory:") as then:
        then.deserialize(before)
        for query in ("SELECT * FROM users ORDER BY id", "SELECT name FROM migrations_gatepost ORDER BY id"):
            assert now.execute(query).fetchall() == then.execute(query).fetchall()
    yield


@contextmanager
def read_only_copy(place: Place) -> Iterator[None]:
    """An operator opens a read-only copy that was made after a crash."""
    folder = place.folder.with_name("copy")
    shutil.copytree(place.folder, folder)
    for path in (*folder.rglob("*"), folder):
        path.chmod(path.stat().st_mode & 0o555)
    copy = Place(Instance(folder, dict(place.instance.environment)), place.server, prefix=MODES_COUNT)
    for words in (("audit", "verify"), ("user", "list"), ("policy", "explain", "--as", "admin", "article.view")):
        done = copy.command(*words)
        assert done.returncode == 0, done.stderr
    assert [line.split()[0] for line in copy.doctor()] == ["writes"]
    yield


def _stored(store: Callable[[object], None], undo: Callable[[object], None]):
    @contextmanager
    def stored(place: Place) -> Iterator[None]:
        url = place.instance.environment.get("GATEPOST_DATABASE_URL", f"sqlite:///{place.database}")
        database = open_database(url, pool_size=1, synchronous="normal", statement_timeout=10)
        try:
            with database.connected():
                database.transact(lambda: store(database))
            yield
            with database.connected():
                database.transact(lambda: undo(database))
        finally:
            database.close_all()

    return stored


newer_schema = _stored(
    lambda database: database.execute_sql(
        "INSERT INTO migrations_gatepost (id, name, applied) VALUES (9999, '9999_newer', '2030-01-01')"),
    lambda database: database.execute_sql("DELETE FROM migrations_gatepost WHERE id = 9999"))


@contextmanager
def backups_that_cannot_be_sent(place: Place) -> Iterator[None]:
    """The schedule makes a backup at the start, and the operator's command fails; another one is made by hand."""
    place.environment = {**place.environment, "GATEPOST_BACKUP_HOURS": "24", "GATEPOST_BACKUP_PROVE": "off",
                         "GATEPOST_BACKUP_COMMAND": "false"}
    yield


@contextmanager
def a_backup_by_hand(place: Place) -> Iterator[None]:
    wait_until(lambda: any(line.startswith("backups") for line in place.doctor()))
    assert place.instance.run("backup", str(place.folder.with_name("by-hand.tar.gz"))).returncode == 0
    yield


@contextmanager
def killed_backup(place: Place) -> Iterator[None]:
    """A backup was killed while the service was stopped: the start removes its parts, which include the keys."""
    beside = place.folder.with_name("beside")
    beside.mkdir()
    steps, _ = run(place.instance, ["backup", str(beside / "whole.tar.gz")])
    run(place.instance, ["backup", str(beside / "killed.tar.gz")], step=steps // 2)
    assert any(beside.glob(".gatepost-*/parts/secret.key"))
    yield
    left = [file.name for file in beside.iterdir()]
    assert left == ["whole.tar.gz"], left
    shutil.rmtree(beside)


def _file(name: str, text: str | None):
    @contextmanager
    def changed(place: Place) -> Iterator[None]:
        file = place.folder / "policies" / name
        kept = file.read_bytes() if file.exists() else None
        if text is None:
            file.unlink()
        else:
            file.write_text(text, encoding="utf-8")
        try:
            yield
        finally:
            if kept is None:
                file.unlink()
            else:
                file.write_bytes(kept)

    return changed


@contextmanager
def pipe_among_policies(place: Place) -> Iterator[None]:
    """A FIFO without a writer has the name of a rule file."""
    file = place.folder / "policies" / "pipe.csv"
    os.mkfifo(file)
    try:
        yield
    finally:
        file.unlink()


@contextmanager
def no_policies(place: Place) -> Iterator[None]:
    """The folder of the rules is missing."""
    folder = place.folder / "policies"
    kept = folder.rename(place.folder / "elsewhere")
    try:
        yield
    finally:
        kept.rename(folder)


@contextmanager
def files_of_another(place: Place) -> Iterator[None]:
    """Another system user owns some of the files."""
    file = place.folder / "policies" / "articles.csv"
    os.chown(file, 12345, 12345)
    file.chmod(0o600)
    try:
        yield
    finally:
        os.chown(file, 0, 0)


INSTANCES = (
    Fault("other keys", other_keys, health="degraded", check="keys"),
    Fault("other keys at the start", other_keys, stopped=True, check="keys"),
    Fault("no key file", no_key_file, health="degraded", check="keys"),
    Fault("the keys come out of a backup", keys_from_a_backup, prepare=rotated_keys, health="degraded",
          check="keys"),
    Fault("a backup of another instance", backup_of_another, health="ok", check="", doctor=False),
    Fault("an upgrade is undone by hand", way_back, health="ok", check="", doctor=False),
    Fault("a copy is read-only", read_only_copy, killed=True, starts=True, health="ok", check="", doctor=False,
          needs="setpriv"),
    Fault("a newer schema", newer_schema, check="migrations"),
    Fault("a newer schema at the start", newer_schema, stopped=True, check="migrations"),
    Fault("a killed backup has left its parts", killed_backup, stopped=True, starts=True, health="ok", check="",
          doctor=False),
    Fault("a broken rule", _file("articles.csv", "p, editor, article.view, alwys, allow\n"), health="degraded",
          check="policy"),
    Fault("a rule file is gone", _file("roles.csv", None), health="degraded", check="policy"),
    Fault("a rule file is gone at the start", _file("comments.csv", None), stopped=True, starts=True, health="degraded",
          check="policy"),
    Fault("a pipe among the rules", pipe_among_policies, health="degraded", check="policy"),
    Fault("the folder of the rules is gone", no_policies, health="degraded", check="policy"),
    Fault("files of another user", files_of_another, prepare=modes_count, health="degraded", check="policy"),
    Fault("a backup went wrong, another was made by hand", a_backup_by_hand, prepare=backups_that_cannot_be_sent,
          health="degraded", check="backups"),
)
