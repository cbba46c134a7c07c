"""`GET /api/health` says ok only if the service works, and names the fault to operators."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import replace
from threading import Event, Thread
from types import SimpleNamespace

import pytest

from gatepost.health import checks
from gatepost.http.operations import write_probe
from models.base import later, new_id, now
from models.engine.errors import NoRoom, Unavailable
from models.tables import audit
from models.tables.backup import Backup
from models.tables.instance import Heartbeat, Instance
from models.tables.job import Job
from models.tables.tenant import Tenant
from tests.apps import Given, close, log_in, make_app, new_instance


@pytest.fixture(scope="module")
def whole(database_url, tmp_path_factory):
    """An app whose faults do not affect other modules."""
    app = make_app(new_instance(tmp_path_factory.mktemp("health") / "instance", database_url, "default"), database_url)
    yield app
    close(app)


@pytest.fixture
def served(whole, clock):
    """The app, without a recorded write."""
    services = whole.extensions["gatepost"]
    services.write_probe = write_probe.WriteProbe(services.database)
    return whole


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    """The clock of the health check, which stands still. Write probes have no time limit."""
    stands = SimpleNamespace(now=1000.0)
    monkeypatch.setattr(write_probe, "monotonic", lambda: stands.now)
    monkeypatch.setattr(write_probe, "PATIENCE", 60)
    return stands


@pytest.fixture
def database(served):
    database = served.extensions["gatepost"].database
    with database.connected():
        yield database


@pytest.fixture
def operator(served):
    return log_in(served, Given(served, "default").user(role="admin"))


def asked(served, caller=None):
    served.extensions["gatepost"].write_probe.doubt()
    answer = caller.get("/api/health") if caller else served.test_client().get("/api/health")
    return answer.status_code, answer.get_json()


# Each makes a fault, and returns a function that repairs it.
def other_keys(served, database):
    before = Instance.get_by_id(1).key_fingerprint
    Instance.update(key_fingerprint="0" * 32).execute()
    return lambda: Instance.update(key_fingerprint=before).execute()


def newer_schema(served, database):
    database.execute_sql("INSERT INTO migrations_gatepost (id, name, applied) VALUES (9999, '9999_x', '2030-01-01')")
    return lambda: database.execute_sql("DELETE FROM migrations_gatepost WHERE id = 9999")


def older_schema(served, database):
    database.execute_sql("UPDATE migrations_gatepost SET name = 'gone' WHERE name = '0024_tokens_held'")
    database.execute_sql("DELETE FROM migrations_gatepost WHERE name = 'gone'")
    return lambda: database.execute_sql(
        "INSERT INTO migrations_gatepost (id, name, applied) VALUES (9998, '0024_tokens_held', '2026-01-01')")


def broken_key_file(served, database):
    file = served.extensions["gatepost"].settings.secret_file
    before = file.read_bytes()
    file.write_bytes(b"no key")
    return lambda: file.write_bytes(before)


def job_that_nobody_runs(served, database):
    job = Job(kind="articles.export", run_at=later(-2 * 3600))
    job.stamp(Tenant.by_name("default").id, later(-2 * 3600))
    database.transact(lambda: job.save(force_insert=True))
    return lambda: Job.delete().where(Job.id == job.id).execute()


def failed_backup(served, database):
    services, id = served.extensions["gatepost"], new_id()
    Backup.insert(id=id, made_at=now(), place="", bytes=0, seconds=0, scheduled=True,
                  error="the disk of the backups is full").execute()
    before, services.settings = services.settings, replace(services.settings, backup_hours=24)

    def undo():
        services.settings = before
        Backup.delete().where(Backup.id == id).execute()

    return undo


def clock_that_was_ahead(served, database):
    tenant = Tenant.by_name("default").id

    def add(*times):
        database.transact(lambda: [audit.add(
            tenant_id=tenant, time=time, principal="operator", role="operator", action="x", resource="y",
            result="allowed") for time in times])

    # Writes after the clock was set back do not hide it, unless there are many.
    add(later(3600), now())
    return lambda: add(*[now()] * audit.NEWEST)


FAULTS: list[tuple[Callable, int, str, str, str]] = [
    (other_keys, 503, "keys", "down", "not those of this database"),
    (newer_schema, 503, "migrations", "down", "newer code, which has gatepost/9999_x"),
    (older_schema, 503, "migrations", "down", "gatepost migrate"),
    (broken_key_file, 200, "keys", "degraded", "a restart would fail"),
    (job_that_nobody_runs, 200, "jobs", "degraded", "no process runs jobs"),
    (failed_backup, 200, "backups", "degraded", "gatepost doctor says why"),
    (clock_that_was_ahead, 200, "clock", "degraded", "minutes behind the newest audit event"),
]


def test_a_fault_is_told_and_so_is_its_end(served, database, operator):
    for fault, status, check, state, sentence in FAULTS:
        assert asked(served)[1]["status"] == "ok", fault
        undo = fault(served, database)
        try:
            found = asked(served, operator)
            assert (found[0], found[1]["status"], found[1]["checks"][check]) == (status, state, state), fault
            finding, = found[1]["findings"]
            assert (finding["check"], finding["state"]) == (check, state) and sentence in finding["detail"], fault
            guest = asked(served)
            assert (guest[0], guest[1]["status"]) == (status, state), fault
            assert guest[1].keys() == {"status", "checks"} and len(guest[1]["checks"]) == 4
        finally:
            undo()
        assert asked(served, operator)[1]["findings"] == [], fault


def test_a_disk_that_fills_is_told_before_it_is_full(served, operator, monkeypatch):
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=100 << 20))
    details = [one["detail"] for one in asked(served, operator)[1]["findings"] if one["check"] == "disk"]
    assert details == ["100 MiB free; gatepost doctor says what is large"]


def test_a_write_that_fails_is_down_and_its_reason_is_for_operators(served, operator, monkeypatch):
    def full():
        raise Unavailable("database or disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(write_probe, "beat", full)
        status, found = asked(served, operator)
        assert (status, found["checks"]["database"]) == (503, "down")
        assert found["findings"][0]["detail"] == "nothing can be written: database or disk is full"
        assert "full" not in str(asked(served)[1])
    assert asked(served)[0] == 200  # at once, without waiting for the next check


def test_a_client_whose_write_has_failed_is_told_of_for_a_while(served, operator, clock):
    assert asked(served)[0] == 200
    probe = served.extensions["gatepost"].write_probe
    probe.doubt(refused=True)
    status, found = asked(served, operator)
    assert (status, found["checks"]["database"]) == (200, "degraded")
    assert "the write of a client has failed" in found["findings"][0]["detail"]
    clock.now += 11
    assert asked(served, operator)[1]["status"] == "ok"


def test_a_process_that_can_start_no_thread_says_that_it_cannot_write(served, operator, monkeypatch):
    class Refused(Thread):
        def start(self):
            raise RuntimeError("can't start new thread")

    assert asked(served)[0] == 200
    with monkeypatch.context() as patched:
        patched.setattr(write_probe, "Thread", Refused)
        status, found = asked(served, operator)
        assert (status, found["checks"]["database"]) == (503, "down")
        assert found["findings"][0]["detail"] == "nothing can be written: can't start new thread"
    assert asked(served)[0] == 200


def test_a_log_that_was_not_read_whole_is_told_until_it_is_moved_away(served, operator, database):
    if database.dialect != "sqlite":
        pytest.skip("Postgres keeps checksums of its own log, and stops")
    kept = database.path.with_name(f"{database.path.name}-wal.damaged")
    kept.touch()
    status, found = asked(served, operator)
    assert (status, found["checks"]["database"]) == (200, "degraded")
    assert "the last writes may be missing" in found["findings"][0]["detail"]
    kept.unlink()
    assert asked(served, operator)[1]["status"] == "ok"


@contextmanager
def stuck(monkeypatch):
    """Makes writes wait until the block ends."""
    go_on = Event()
    monkeypatch.setattr(write_probe, "PATIENCE", 0.05)
    monkeypatch.setattr(write_probe, "beat", go_on.wait)
    try:
        yield
    finally:
        go_on.set()


def test_a_write_that_waits_holds_no_answer_up_and_is_down_when_it_would_fail(served, operator, clock, monkeypatch):
    with stuck(monkeypatch):
        status, found = asked(served, operator)
        assert (status, found["checks"]["database"]) == (200, "degraded")
        clock.now += 4
        status, found = asked(served, operator)
        assert (status, found["checks"]["database"]) == (503, "down")
        assert "a write has been waiting for 4 s" in found["findings"][0]["detail"]


def test_one_write_stands_for_all_who_ask_within_five_seconds(served, database, clock):
    client = served.test_client()
    assert client.get("/api/health").status_code == 200
    before = Heartbeat.get_by_id(1).written_at
    threads = [Thread(target=lambda: served.test_client().get("/api/health")) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Heartbeat.get_by_id(1).written_at == before
    clock.now += 6
    assert client.get("/api/health").status_code == 200
    assert Heartbeat.get_by_id(1).written_at > before


def test_a_request_that_could_not_write_has_the_next_look_write_anew(served, operator, monkeypatch):
    services = served.extensions["gatepost"]
    assert asked(served)[0] == 200

    def gone(*_given, **_options):
        raise Unavailable("gone")

    with monkeypatch.context() as patched:
        patched.setattr(type(services.database), "transact", gone)
        refused = operator.post("/api/articles", {"title": "A", "slug": "a", "body": "A"})
        assert refused.status_code == 503
        assert served.test_client().get("/api/health").status_code == 503


def test_operators_see_the_ages_of_backups_and_of_the_newest_write(served, database, operator):
    id = new_id()
    Backup.insert(id=id, made_at=later(-7200), place="x", digest="d", bytes=1, seconds=1,
                  proved_at=later(-3600)).execute()
    found = asked(served, operator)[1]
    assert 7200 <= found["backups"]["made_seconds_ago"] < 7500 and 3600 <= found["backups"]["proved_seconds_ago"] < 3900
    assert found["written_seconds_ago"] == 0


def test_a_full_disk_is_said_to_clients_and_to_health(served, database, operator, monkeypatch):
    def full(*_given, **_options):
        raise NoRoom("the disk of the database is full")

    with monkeypatch.context() as patched:
        patched.setattr(type(database), "transact", full)
        refused = operator.post("/api/articles", {"title": "A", "slug": "a", "body": "A"})
    assert (refused.status_code, refused.get_json()["code"]) == (503, "unavailable")
    assert refused.get_json()["detail"] == "Nothing can be stored right now: the disk is full."
    # The write probe still succeeds.
    status, found = asked(served, operator)
    assert (status, found["checks"]["database"]) == (503, "down")
    assert [one["detail"] for one in found["findings"] if "the disk of the database is full" in one["detail"]]


def test_a_disk_without_room_for_a_row_is_down(served, operator, monkeypatch):
    monkeypatch.setattr(checks, "free", lambda folders: 60_000)
    status, found = asked(served, operator)
    sqlite = served.extensions["gatepost"].database.dialect == "sqlite"
    assert (status, found["checks"]["disk"]) == ((503, "down") if sqlite else (200, "degraded"))
