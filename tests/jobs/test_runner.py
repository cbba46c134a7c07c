"""Jobs run when they are due, in one process at a time, and end as done, failed or cancelled after any error."""

from __future__ import annotations

import threading

import pytest

from gatepost.http.protocol.problems import Problem
from gatepost.jobs import lease
from gatepost.jobs import runner as running
from gatepost.jobs.lease import Lease
from gatepost.jobs.runner import Runner, back_off
from gatepost.jobs.task import Cause, Stopped, Task
from models.base import Rows, later
from models.engine.errors import AlreadyExists, Unavailable
from models.tables import job_queue
from models.tables.category import Category
from models.tables.job import Job, enqueue

FAR = 1e15  # seconds


@pytest.fixture
def jobs(app, given):
    """A runner of this module's app with an empty queue, and the functions of its kinds."""
    given.database.transact(lambda: Job.delete().execute())
    return Jobs(app.extensions["gatepost"], given)


class Jobs:
    def __init__(self, services, given):
        self.services, self.given, self.kinds = services, given, {}

    def runner(self, **options):
        return Runner(self.services, self.kinds, **options)

    def kind(self, work, name="test.work"):
        self.kinds[name] = work

    def add(self, kind="test.work", **columns):
        return self.given.database.transact(lambda: enqueue(self.given.tenant_id, kind, {"n": 1}, **columns)).id

    def job(self, id):
        return self.given.found(Job, id)

    def run(self, work, **columns):
        """Runs a due job of this kind, and returns it."""
        self.kind(work)
        id = self.add(**columns)
        self.runner().run_due()
        return self.job(id)

    def due_now(self, id):
        def work():
            Job.update(run_at=later(-1)).where(Job.id == id).execute()

        self.given.database.transact(work)

    def leased(self, id, *, until=0.0, boot=None):
        """A job that another process has begun. Its lease has expired unless `until` is far away."""
        def work():
            epoch = boot or job_queue.moment(self.given.database).epoch
            Job.update(state="running", attempts=1, lease=f"{epoch}/other", leased_until=until).where(
                Job.id == id).execute()

        self.given.database.transact(work)

    def category(self, slug):
        Rows(Category, self.given.tenant_id).insert(Category(name=slug, slug=slug))

    def categories(self, slug):
        with self.given.database.connected():
            return Rows(Category, self.given.tenant_id).select().where(Category.slug == slug).count()


def test_a_plugin_that_ends_its_process_ends_its_attempt_alone(jobs):
    def work(task):
        raise SystemExit(3)

    job = jobs.run(work)
    assert (job.state, job.last_error) == ("waiting", "SystemExit: 3")


def test_a_job_is_done_with_what_its_kind_returns(jobs):
    seen = []
    job = jobs.run(lambda task: seen.append((task.payload, task.attempt, task.tenant_id)) or {"rows": 3})
    assert seen == [({"n": 1}, 1, jobs.given.tenant_id)]
    assert (job.state, job.result, job.attempts, job.lease) == ("done", {"rows": 3}, 1, None)
    assert job.done_at is not None


def test_no_transaction_and_no_connection_is_held_while_a_job_works(jobs):
    database, held = jobs.given.database, []
    job = jobs.run(lambda task: held.append((database.is_closed(), database.in_transaction())))
    assert (job.state, held) == ("done", [(True, False)])


def test_a_job_is_not_begun_before_its_time(jobs):
    job = jobs.run(lambda task: None, run_at=later(60))
    assert (job.state, job.attempts) == ("waiting", 0)


def refused(text):
    return Problem("conflict", text)


def raising(error):
    def work(task):
        raise error
    return work


@pytest.mark.parametrize(("error", "code"), [
    (Problem("forbidden", "Not you."), "forbidden"),
    (AlreadyExists(("slug",)), "already_exists"),
], ids=["a problem of the caller's", "a row that is refused"])
def test_a_refusal_ends_a_job_at_once_and_its_owner_is_told(error, code, jobs):
    job = jobs.run(raising(error))
    assert (job.state, job.attempts, job.result["code"]) == ("failed", 1, code)
    assert 400 <= job.result["status"] < 500


@pytest.mark.both_databases
@pytest.mark.parametrize("text", ["a\0b", "a\ud800b"], ids=["NUL", "a lone surrogate"])
@pytest.mark.parametrize(("error", "state"), [(RuntimeError, "waiting"), (refused, "failed")])
def test_what_went_wrong_is_written_down_though_no_database_stores_its_text(error, state, text, jobs):
    job = jobs.run(raising(error(text)))
    assert (job.state, job.lease) == (state, None)
    assert "a\\" in job.last_error, "escaped"


@pytest.mark.parametrize(("error", "code"), [
    (ZeroDivisionError("the password is hunter2"), "internal_error"),
    (Unavailable("no server at 10.0.0.1"), "unavailable"),
    (Problem("overloaded"), "overloaded"),
], ids=["a mistake", "no database", "a problem of the server's"])
def test_what_goes_wrong_is_tried_five_times_later_each_time_and_then_fails(error, code, jobs):
    jobs.kind(raising(error))
    id, runner = jobs.add(), jobs.runner()
    for attempt in range(1, 5):
        runner.run_due()
        job = jobs.job(id)
        assert (job.state, job.attempts, job.result) == ("waiting", attempt, None)
        assert job.run_at > later(1), "not at once"
        assert (error.code if isinstance(error, Problem) else type(error).__name__) in job.last_error
        jobs.due_now(id)
    runner.run_due()
    job = jobs.job(id)
    assert (job.state, job.attempts, job.result["code"]) == ("failed", 5, code)
    assert "hunter2" not in str(job.result) and "10.0.0.1" not in str(job.result), "that is for operators"


@pytest.mark.parametrize(("attempt", "least", "most"), [(1, 2.5, 7.5), (2, 10, 30), (4, 160, 480), (9, 3600, 3600)])
def test_the_wait_grows_fourfold_up_to_an_hour_and_is_never_the_same(attempt, least, most):
    waits = {back_off(attempt) for _ in range(50)}
    assert least <= min(waits) <= max(waits) <= most
    assert len(waits) > 1 or least == most


def test_a_kind_that_is_gone_fails_its_jobs_with_a_sentence(jobs):
    id = jobs.add("gone.plugin")
    jobs.runner().run_due()
    assert (jobs.job(id).state, jobs.job(id).result["code"]) == ("failed", "gone")


@pytest.mark.both_databases
@pytest.mark.parametrize("lease", [{"until": 0.0}, {"until": FAR, "boot": "another boot"}],
                         ids=["it ran out", "the machine was restarted"])
def test_a_job_whose_process_died_is_taken_over(lease, jobs):
    jobs.kind(lambda task: task.attempt)
    id = jobs.add()
    jobs.leased(id, **lease)
    jobs.runner().run_due()
    assert (jobs.job(id).state, jobs.job(id).result) == ("done", 2)


def test_a_job_that_kills_its_process_each_time_fails_at_last(jobs):
    jobs.kind(lambda task: None)
    id = jobs.add(max_attempts=1)
    jobs.leased(id)
    jobs.runner().run_due()
    assert (jobs.job(id).state, jobs.job(id).result["code"]) == ("failed", "unavailable")


def test_an_effect_happens_once_though_the_job_is_run_again(jobs):
    def work(task):
        task.once("category", lambda: jobs.category("once"))
        if task.attempt == 1:
            raise ZeroDivisionError

    job = jobs.run(work)
    assert (job.state, jobs.categories("once")) == ("waiting", 1)
    jobs.due_now(job.id)
    jobs.runner().run_due()
    assert (jobs.job(job.id).state, jobs.categories("once")) == ("done", 1)


@pytest.mark.both_databases
def test_the_last_effect_and_the_end_of_the_job_are_one_transaction(jobs):
    def work(task):
        def effect():
            jobs.category("half")
            if task.attempt == 1:
                raise ZeroDivisionError
            return {"imported": 1}

        task.finish(effect)

    job = jobs.run(work)
    assert (job.state, jobs.categories("half")) == ("waiting", 0)
    jobs.due_now(job.id)
    jobs.runner().run_due()
    assert (jobs.job(job.id).state, jobs.job(job.id).result, jobs.categories("half")) == ("done", {"imported": 1}, 1)


@pytest.mark.both_databases
@pytest.mark.parametrize("way", ["once", "finish"])
def test_who_has_lost_the_lease_changes_nothing(way, jobs):
    def work(task):
        jobs.leased(task.id, until=FAR)

        def effect():
            jobs.category(f"lost-{way}")

        task.once("late", effect) if way == "once" else task.finish(effect)

    job = jobs.run(work)
    assert (job.state, job.lease, jobs.categories(f"lost-{way}")) == ("running", job.lease, 0)
    assert job.lease.endswith("/other")


def test_a_running_job_that_is_cancelled_ends_between_batches(jobs, monkeypatch):
    monkeypatch.setattr("gatepost.jobs.task.NOTED", 0)

    def work(task):
        for batch in range(1, 10):
            task.progress(batch)
            if batch == 3:
                jobs.given.database.transact(lambda: Job.update(stopping=True).where(Job.id == task.id).execute())
            task.check()

    job = jobs.run(work)
    assert (job.state, job.progress, job.result) == ("cancelled", 3, None)


def test_a_job_that_was_cancelled_while_nobody_ran_it_is_not_begun_again(jobs):
    jobs.kind(raising(AssertionError("begun")))
    id = jobs.add()
    jobs.leased(id)
    jobs.given.database.transact(lambda: Job.update(stopping=True).where(Job.id == id).execute())
    jobs.runner().run_due()
    assert jobs.job(id).state == "cancelled"


def test_a_job_that_was_asked_to_stop_is_not_tried_again_when_it_goes_wrong(jobs):
    def work(task):
        jobs.given.database.transact(lambda: Job.update(stopping=True).where(Job.id == task.id).execute())
        raise ZeroDivisionError

    job = jobs.run(work)
    assert (job.state, job.stopping, job.lease) == ("cancelled", False, None)
    assert job.done_at and job.last_error == "ZeroDivisionError: "


def test_a_process_that_stops_gives_its_job_back_uncounted(jobs):
    begun, runner = threading.Event(), None

    def work(task):
        begun.set()
        while True:
            task.check()

    jobs.kind(work)
    id, runner = jobs.add(), jobs.runner()
    runner.start()
    runner.wake()
    assert begun.wait(60)
    runner.stop()
    assert (jobs.job(id).state, jobs.job(id).attempts, jobs.job(id).lease) == ("waiting", 0, None)


def test_a_commit_wakes_the_runner_that_does_not_poll(jobs, monkeypatch):
    monkeypatch.setattr(running, "POLL", 3600)
    done = threading.Event()
    jobs.kind(lambda task: done.set())
    runner = jobs.runner()
    runner.start()
    try:
        jobs.add()
        runner.wake()
        assert done.wait(60)
    finally:
        runner.stop()


def test_a_job_of_another_process_is_found_by_the_one_that_polls(jobs, monkeypatch):
    monkeypatch.setattr(running, "POLL", 0.01)
    done = threading.Event()
    jobs.kind(lambda task: done.set())
    first, second = jobs.runner(), jobs.runner()
    for runner in (first, second):
        runner.start()
    try:
        jobs.add()
        assert done.wait(60)
    finally:
        for runner in (first, second):
            runner.stop()


def test_the_runner_goes_on_when_the_database_was_away(jobs, monkeypatch, caplog):
    monkeypatch.setattr(running, "POLL", 0.01)
    caplog.set_level("INFO", "gatepost.background")
    done, away, claim = threading.Event(), [Unavailable("away")] * 3, job_queue.has_due

    def has_due(database):
        if away and database is jobs.given.database:  # not the one of another test's app, which may still run
            raise away.pop()
        return claim(database)

    monkeypatch.setattr(job_queue, "has_due", has_due)
    jobs.kind(lambda task: done.set())
    jobs.add()
    runner = jobs.runner()
    runner.start()
    assert done.wait(60)
    runner.stop()
    assert [record.levelname for record in caplog.records if "queue" in record.getMessage()] == ["ERROR", "INFO"]


def test_a_lease_is_renewed_for_as_long_as_the_job_runs(jobs, monkeypatch):
    renewed, renew = threading.Event(), job_queue.renew

    def work(task):
        assert renewed.wait(60)
        task.check()

    monkeypatch.setattr(job_queue, "renew", lambda job, seconds: (renew(job, seconds) and renewed.set()) or True)
    jobs.kind(work)
    id = jobs.add()
    monkeypatch.setattr(lease, "monotonic", lambda: 0.0)  # the lease does not expire, even if it is renewed late
    jobs.runner(seconds=0.3).run_due()
    assert jobs.job(id).state == "done"


def test_a_lease_that_cannot_be_renewed_counts_as_lost_once_it_has_run_out(jobs, monkeypatch):
    def away(job, seconds):
        raise Unavailable("away")

    monkeypatch.setattr(job_queue, "renew", away)
    jobs.kind(lambda task: None)
    jobs.add()
    job = jobs.given.database.transact(lambda: job_queue.claim(jobs.given.database, "me", 0.01))
    with Lease(jobs.given.database, job, 0.01, lambda: False) as short:
        threading.Event().wait(0.05)
        with pytest.raises(Stopped) as stopped:
            Task(jobs.services, job, short).check()
    assert stopped.value.cause is Cause.LOST
