"""Requests are counted by minute, each once, despite database failures and with any number of threads."""

from __future__ import annotations

from collections import Counter
from threading import Thread
from types import SimpleNamespace

import pytest

from blueprints.activity import counts as activity
from blueprints.activity.counts import BOUNDS, Activity, quantile, this_minute
from gatepost.http.operations.housekeeping import delete_expired
from gatepost.http.protocol.problems import Problem
from models.base import DAY, later
from models.engine.connect import open_database
from models.engine.errors import Unavailable
from models.tables.activity import ANSWERED, FAILED, LIMITED, REFUSED, counted_since, note_requests
from tests.apps import Given, close, log_in, make_app, new_instance
from tests.databases import new_database

LONG_AGO = "2000-01-01T00:00:00.000000Z"
EPOCH = "1970-01-01T00:00:00.000000Z"
OUTSIDE = 2_000_000_000.0  # seconds since the epoch, in 2033: the app itself counts nothing in that minute


@pytest.fixture
def app(request, tmp_path):
    url = new_database("sqlite", request)
    made = make_app(new_instance(tmp_path / "instance", url, "default"), url)
    yield made
    close(made)


@pytest.fixture
def given(app):
    return Given(app, "default")


@pytest.fixture(params=["sqlite", "postgres"])
def database(request):
    """A database without an app, which would count its own requests."""
    opened = open_database(new_database(request.param, request), pool_size=4, synchronous="normal")
    yield opened
    opened.close_all()


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still at the time set by a test."""
    set_to = SimpleNamespace(seconds=OUTSIDE)
    monkeypatch.setattr(activity, "time", lambda: set_to.seconds)
    return set_to


def stored(database, since=LONG_AGO):
    """(outcome, within) → how many."""
    found = Counter()
    with database.connected():
        for _, outcome, within, count in counted_since(since):
            found[outcome, within] += count
    return found


@pytest.fixture
def outcomes(app):
    """The outcomes of this app's requests, counted in addition to the app's own counts."""
    seen = []
    app.departures.append(activity.counting(SimpleNamespace(
        count=lambda outcome, seconds: seen.append((outcome, seconds)))))
    yield seen
    app.departures.pop()


def test_a_request_is_answered_refused_limited_or_failed(app, given, outcomes, monkeypatch):
    user, guest = log_in(app, given.user()), app.test_client()
    mine = given.article("draft", owner_id=user.id)
    public = given.article()
    services = app.extensions["gatepost"]

    def away(*_given, **_options):
        raise Unavailable("away")

    def limited(*_given):
        raise Problem("rate_limited")

    asked = [
        (ANSWERED, 200, lambda: user.get(f"/api/articles/{public.id}")),
        (ANSWERED, 201, lambda: user.post("/api/articles", {"title": "T", "slug": "t", "body": "B"})),
        (ANSWERED, 400, lambda: guest.get("/api/articles?limit=x")),
        (ANSWERED, 404, lambda: guest.get("/api/there-is-no-such-path")),
        (ANSWERED, 204, lambda: guest.options("/api/articles")),
        (REFUSED, 401, lambda: guest.get("/api/profile")),
        (REFUSED, 401, lambda: guest.get("/api/articles", headers={"Authorization": "Bearer nonsense"})),
        (REFUSED, 403, lambda: user.get("/api/audit")),
        (REFUSED, 404, lambda: guest.get(f"/api/articles/{mine.id}")),
    ]
    for outcome, status, ask in asked:
        assert ask().status_code == status
        (found, seconds), = outcomes
        assert found == outcome and 0 < seconds < 60
        outcomes.clear()
    with monkeypatch.context() as patched:
        patched.setattr("gatepost.http.pipeline.limiting.spend_by_address", limited)
        assert guest.get("/api/articles").status_code == 429
    with monkeypatch.context() as patched:
        patched.setattr(type(services.database), "transact", away)
        assert user.post("/api/articles", {"title": "T", "slug": "u", "body": "B"}).status_code == 503
    assert [outcome for outcome, _ in outcomes] == [LIMITED, FAILED]


def test_probes_and_pages_are_not_counted(app, outcomes):
    for path in ("/api/health", "/api/health/live", "/api/v1/health", "/docs", "/docs/errors", "/docs/page.css",
                 "/metrics", "/console", "/console/running"):
        app.test_client().get(path)
        assert outcomes == [], path


def test_many_threads_count_every_request(database, clock):
    counts = Activity(database)
    threads = [Thread(target=lambda: [counts.count(ANSWERED, 0.003) for _ in range(2000)]) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    counts.store()
    assert stored(database)[ANSWERED, 5000] == 16_000


@pytest.mark.both_databases
def test_what_several_processes_count_adds_up(database, clock):
    one, other = Activity(database), Activity(database)
    for counts, times in ((one, 2), (other, 3), (one, 4)):
        for _ in range(times):
            counts.count(REFUSED, 0.0001)
        counts.count(FAILED, 120.0)
        counts.store()
    assert stored(database) == {(REFUSED, 500): 9, (FAILED, 60_000_000): 3}
    with database.connected():
        assert {minute for minute, *_ in counted_since(LONG_AGO)} == {"2033-05-18T03:33:00.000000Z"}


def test_nothing_is_lost_and_nothing_counted_twice_while_the_database_is_away(database, clock, monkeypatch):
    counts = Activity(database)

    def away(work):
        raise Unavailable("away")

    def silent(work):
        transact(work)
        raise Unavailable("the COMMIT was not answered")

    counts.count(ANSWERED, 0.003)
    transact = database.transact
    for broken in (away, away):
        with monkeypatch.context() as patched, pytest.raises(Unavailable):
            patched.setattr(database, "transact", broken)
            counts.store()
        counts.count(ANSWERED, 0.003)
        clock.seconds += 60
    counts.store()
    assert stored(database) == {(ANSWERED, 5000): 3}
    counts.count(ANSWERED, 0.003)
    with monkeypatch.context() as patched, pytest.raises(Unavailable):
        patched.setattr(database, "transact", silent)
        counts.store()
    counts.store()
    assert stored(database) == {(ANSWERED, 5000): 4}


def test_what_waits_for_a_database_that_stays_away_is_bounded(database, clock, monkeypatch):
    counts = Activity(database)

    def away(work):
        raise Unavailable("away")

    monkeypatch.setattr(database, "transact", away)
    for minute in range(2 * 24 * 60):
        clock.seconds += 60
        counts.count(ANSWERED, 0.003)
        if minute % 60 == 59:
            with pytest.raises(Unavailable):
                counts.store()
    assert len(counts._waiting) == 24 * 60 + 1, "no more than the database would keep"
    monkeypatch.undo()
    monkeypatch.setattr(activity, "time", lambda: clock.seconds)
    counts.count(REFUSED, 0.003)
    counts.store()
    assert stored(database) == {(ANSWERED, 5000): 24 * 60 + 1, (REFUSED, 5000): 1}, "the newest are there"
    with database.connected():
        assert max(minute for minute, *_ in counted_since(LONG_AGO)) == later(clock.seconds // 60 * 60, EPOCH)


def test_the_chore_stores_every_ten_seconds_and_when_the_process_stops(app):
    tasks = {task.name: task for task in app.extensions["gatepost"].background._tasks}
    task = tasks["storing request counts"]
    assert task.every == 10 and task.last is not None
    for _ in range(3):
        assert app.test_client().get("/api/articles").status_code == 200
    app.extensions["gatepost"].stop()
    assert stored(app.extensions["gatepost"].database).total() == 3


@pytest.mark.both_databases
def test_a_day_later_counts_are_deleted(database):
    note = {(later(-DAY - 120, this_minute()), ANSWERED, 500): 1, (later(-DAY + 120, this_minute()), ANSWERED, 500): 2}
    database.transact(lambda: note_requests(note))
    delete_expired(database)
    assert stored(database) == {(ANSWERED, 500): 2}


@pytest.mark.both_databases
def test_the_counts_of_some_minutes_are_found_by_an_index(database):
    sql = "SELECT minute, outcome, within, count FROM activity WHERE minute >= '2026-01-01T00:00:00.000000Z'"
    with database.connected():
        if database.dialect == "sqlite":
            assert "SEARCH" in str(database.query(f"EXPLAIN QUERY PLAN {sql}"))
        else:
            database.execute_sql("SET enable_seqscan = off")
            assert "Index Cond" in str(database.query(f"EXPLAIN {sql}"))
            database.execute_sql("RESET enable_seqscan")


@pytest.mark.parametrize(("counts", "share", "milliseconds"), [
    ({}, 0.5, None),
    ({1000: 0}, 0.5, None),
    ({1000: 10}, 0.5, 0.75),
    ({1000: 10}, 1.0, 1.0),
    ({500: 4}, 0.5, 0.25),
    ({500: 90, 10_000: 10}, 0.5, 0.2778),
    ({500: 90, 10_000: 10}, 0.95, 7.5),
    ({500: 1, 60_000_000: 99}, 0.95, 57_449.5),
    ({700: 2}, 0.5, 0.6),  # a bucket of another version of the program
])
def test_a_quantile_lies_in_its_bucket_as_if_requests_were_spread_evenly(counts, share, milliseconds):
    found = quantile(counts, share)
    assert found == (milliseconds if milliseconds is None else pytest.approx(milliseconds, rel=1e-3))


def test_a_request_is_in_the_smallest_bucket_that_it_fits(database, clock):
    expected = {0.0: 500, 0.0005: 500, 0.000501: 1000, 0.0031: 5000, 9.99: 10_000_000, 60.0: 60_000_000,
                3600.0: 60_000_000}
    counts = Activity(database)
    for seconds in expected:
        counts.count(ANSWERED, seconds)
    counts.store()
    assert stored(database) == Counter((ANSWERED, within) for within in expected.values())
    assert set(expected.values()) <= set(BOUNDS)
