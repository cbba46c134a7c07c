"""SQLite: files of exports are in a separate database, which backups do not include."""

from __future__ import annotations

import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from gatepost.commands import doctor_checks
from gatepost.health.check_result import State
from gatepost.http.operations import housekeeping
from gatepost.jobs import files
from gatepost.testing import Caller
from models.base import later, new_id, now
from models.engine.errors import Unavailable
from models.engine.waiting import Wait
from models.tables import job_chunk
from models.tables.job import Job
from models.tables.job_chunk import SIZE, JobChunk
from models.tables.sizes import measure
from tests.apps import close, make_app, new_instance
from tests.databases import new_database
from tests.jobs.exports import ASYNC, NDJSON, chunks, done, emptied, export, file, state
from tests.running import ROOT


@pytest.fixture(scope="module")
def database_url(request):
    return new_database("sqlite", request)


@pytest.fixture
def services(app, given):
    return emptied(app, given)


@pytest.fixture
def editor(as_user, services):
    return as_user("editor")


@pytest.fixture
def second_file(services):
    """The database of exported files."""
    return services.database.files


def pages(database):
    with database.connected():
        return database.query("PRAGMA page_count")[0][0]


def test_files_of_exports_lie_beside_the_database_and_bodies_of_imports_in_it(services, editor, second_file, given):
    done(services, editor)
    sent = editor.post("/api/articles/import", data=b"{}", headers={**NDJSON, **ASYNC})
    assert sent.status_code == 202
    assert chunks(second_file) > 1 and chunks(given.database) == 1
    assert second_file.path.name == f"{given.database.path.stem}.files{given.database.path.suffix}"
    assert stat.S_IMODE(second_file.path.stat().st_mode) == 0o600
    with given.database.connected():
        assert measure(given.database).files > 600_000
    services.jobs.run_due()


def test_a_backup_has_none_of_them_and_an_instance_of_it_says_that_they_are_gone(
        services, editor, second_file, instance_folder, given, tmp_path):
    id, _ = done(services, editor)
    copy = tmp_path / "copy" / "gatepost.db"
    copy.parent.mkdir()
    with given.database.copied(str(copy)) as copied:
        assert chunks(copied) == 0
    restored = make_app(new_instance(tmp_path / "instance", f"sqlite:///{copy}", keys=instance_folder / "secret.key"),
                        f"sqlite:///{copy}")
    try:
        there = Caller(restored.test_client(), editor.user, editor.token)
        assert there.get(f"/api/jobs/{id}").json["state"] == "done"
        assert (file(there, id).status_code, file(there, id).json["code"]) == (410, "gone")
        assert [path.name for path in copy.parent.glob("*.files.db")] == [], "none is made to look for it"
        again, size = done(restored.extensions["gatepost"], there)
        assert len(file(there, again).data) == size
    finally:
        close(restored)


def test_a_file_of_a_version_that_stored_it_in_the_database_is_sent_until_its_time_is_over(
        services, editor, second_file, given):
    id, _ = done(services, editor)
    whole = file(editor, id).data
    with second_file.connected():
        rows = list(JobChunk.select())
        second_file.transact(lambda: JobChunk.delete().execute())
    for row in rows:
        given.row(JobChunk(**{name: row.__data__[name] for name in ("job_id", "owner_id", "number", "size", "data")}))
    assert file(editor, id).data == whole


def test_the_second_file_holds_what_can_still_be_asked_for_and_shrinks_with_it(services, editor, second_file, given):
    kept, over, deleted, failed = (done(services, editor)[0] for _ in range(4))
    length = pages(second_file)

    def change(id, **values):
        given.database.transact(lambda: Job.update(**values).where(Job.id == id).execute())

    change(over, expires_at=later(-1))
    change(failed, state="failed")
    assert editor.delete(f"/api/jobs/{deleted}").status_code == 204
    housekeeping.delete_expired(given.database)
    with second_file.connected():
        assert {row.job_id for row in JobChunk.select(JobChunk.job_id)} == {kept}
    assert (file(editor, kept).status_code, file(editor, over).status_code) == (200, 410)
    assert pages(second_file) < length / 3


def test_items_lists_and_writes_do_not_open_the_second_file(services, editor, second_file, given, monkeypatch):
    row = given.article("draft", owner_id=editor.id)

    def opened(*_given):
        raise AssertionError("the second file was opened")

    monkeypatch.setattr(type(second_file), "_connect", opened)
    second_file.close_all()
    assert editor.get(f"/api/articles/{row.id}").status_code == 200
    assert editor.get("/api/articles").status_code == 200
    made = editor.post("/api/articles", {"title": "T", "slug": f"t-{new_id()}", "body": "B"})
    assert made.status_code == 201
    assert editor.call("PATCH", f"/api/articles/{row.id}", {"title": "U"},
                       {"If-Match": editor.get(f"/api/articles/{row.id}").headers["ETag"]}).status_code == 200


# Faults of the second file

def spoil(path):
    for suffix in ("-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)
    content = bytearray(path.read_bytes())
    content[100:] = b"\xff" * (len(content) - 100)
    path.write_bytes(content)


def remove(path):
    for suffix in ("", "-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)


@pytest.mark.parametrize(("harm", "status", "code", "doctor"), [
    (remove, 410, "gone", State.OK), (spoil, 503, "unavailable", State.DEGRADED)])
def test_without_the_second_file_the_rest_of_the_service_works(
        harm, status, code, doctor, services, editor, second_file, given):
    id, _ = done(services, editor)
    second_file.close_all()
    harm(second_file.path)
    try:
        assert (file(editor, id).status_code, file(editor, id).json["code"]) == (status, code)
        assert editor.get("/api/articles").status_code == 200
        assert editor.post("/api/articles", {"title": "T", "slug": f"t-{new_id()}", "body": "B"}).status_code == 201
        assert given.database.damage is None
        found = doctor_checks.files(given.database)
        assert found.state is doctor and (doctor is State.OK or second_file.path.name in found.detail)
    finally:
        second_file.close_all()
        for path in second_file.path.parent.glob(f"{second_file.path.name}*"):
            path.unlink()
    again, size = done(services, editor)
    assert len(file(editor, again).data) == size, "once it was moved away, a new one is made"


def test_a_log_of_the_second_file_that_is_deleted_stops_exports_alone_and_is_told(
        services, editor, second_file, given):
    done(services, editor)
    Path(f"{second_file.path}-wal").unlink()
    asked = export(editor)
    services.jobs.run_due()
    job = given.found(Job, asked.json["id"])
    assert (job.state, job.attempts) == ("waiting", 1)
    assert editor.post("/api/articles", {"title": "T", "slug": f"t-{new_id()}", "body": "B"}).status_code == 201
    assert given.database.fault() is None and given.database.loss() is None
    found = doctor_checks.files(given.database)
    assert found.state is State.DEGRADED and f"{second_file.path.name}-wal was deleted" in found.detail
    second_file.close_all()  # as with a restart
    for saved in second_file.path.parent.glob(f"{second_file.path.name}-wal.saved*"):
        saved.unlink()
    given.database.transact(lambda: Job.update(run_at=now()).where(Job.id == job.id).execute())
    services.jobs.run_due()
    assert file(editor, job.id).status_code == 200
    assert doctor_checks.files(given.database).state is State.OK


def test_an_export_whose_file_is_deleted_while_it_runs_is_begun_anew(services, editor, second_file, given, monkeypatch):
    asked = export(editor)
    removed = []

    def add(*values, kept=job_chunk.add, **options):
        kept(*values, **options)
        if not removed:
            removed.append(second_file.path)
            remove(second_file.path)

    monkeypatch.setattr(job_chunk, "add", add)
    services.jobs.run_due()
    job = given.found(Job, asked.json["id"])
    assert removed and (job.state, job.attempts) == ("waiting", 1)
    given.database.transact(lambda: Job.update(run_at=now()).where(Job.id == job.id).execute())
    services.jobs.run_due()
    assert file(editor, job.id).status_code == 200


def test_a_job_ends_only_after_its_whole_file_is_stored(services, editor, second_file, given, monkeypatch):
    monkeypatch.setattr(files.Output, "_store", lambda self, data: None)
    asked = export(editor)
    services.jobs.run_due()
    assert state(given, asked.json["id"])[0] == "waiting", "it is tried again"


def test_a_quota_that_cannot_be_counted_refuses_with_503(services, editor, second_file, given, monkeypatch):
    done(services, editor)

    def closed(*_given):
        raise Unavailable("gatepost.files.db cannot be written to")

    monkeypatch.setattr(type(second_file), "connect", closed)
    assert export(editor).status_code == 503
    assert editor.get("/api/articles").status_code == 200


def test_storing_a_file_takes_no_turn_of_other_writers(services, editor, second_file, given, monkeypatch):
    asked = export(editor)

    def store(self, data, kept=files.Output._store):
        with given.database.writer_lock.held(Wait(given.database.places)):
            kept(self, data)  # for whose turn it would wait in vain

    monkeypatch.setattr(files.Output, "_store", store)
    services.jobs.run_due()
    assert state(given, asked.json["id"])[0] == "done"


# Killed between the two files

DYING = """
import os, signal, sys
from pathlib import Path
from gatepost.jobs import files
from models.tables import job_chunk
from tests.apps import make_app

def die(*_given, **_options):
    os.kill(os.getpid(), signal.SIGKILL)

def dies_after(kept):
    def work(*given, **options):
        kept(*given, **options)
        die()
    return work

point = sys.argv[1]
if point == "the second file is made":
    job_chunk.make_files = dies_after(job_chunk.make_files)
elif point == "a chunk is stored and not committed":
    files._add = dies_after(files._add)
elif point == "a chunk is committed":
    files.Output._store = dies_after(files.Output._store)
elif point == "the file is whole":
    files.Output.close = dies_after(files.Output.close)
else:
    job_chunk.publish = die
make_app(Path(sys.argv[2]), sys.argv[3]).extensions["gatepost"].jobs.run_due()
"""


@pytest.mark.slow
@pytest.mark.parametrize("point", [
    "the second file is made", "a chunk is stored and not committed", "a chunk is committed",
    "the file is whole", "the job is about to end"])
def test_a_process_that_is_killed_between_the_two_files_leaves_a_job_that_is_made_anew(
        point, services, editor, second_file, given, instance_folder, database_url):
    whole = len(editor.get("/api/articles/export").data)
    asked = export(editor)
    second_file.close_all()
    killed = subprocess.run([sys.executable, "-c", DYING, point, str(instance_folder), database_url], cwd=ROOT,
                            capture_output=True, text=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    id = asked.json["id"]
    assert state(given, id)[0] == "running" and file(editor, id).status_code == 404
    given.database.transact(lambda: Job.update(leased_until=0.0).where(Job.id == id).execute())
    services.jobs.run_due()
    assert state(given, id)[0] == "done"
    assert len(file(editor, id).data) == whole
    assert chunks(second_file) == -(-whole // SIZE)
