"""The job runner: a thread in each process that takes jobs from the queue and runs them, one at a time.

A commit of its own process wakes it. Otherwise one process of a machine looks into the queue each second. That process
holds a lock file, and releases it while it runs a job.
"""

from __future__ import annotations

import fcntl
import logging
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import uniform
from secrets import token_hex
from typing import Any

from models.base import later
from models.engine.errors import Contended, RowError, TimedOut, Unavailable
from models.tables import job_queue
from models.tables.job import Job
from system.worker import Worker

from ..http.operations.background import BackgroundTask
from ..http.pipeline.errors import translate
from ..http.protocol.problems import CATALOGUE, Problem
from ..http.request.call import Services
from .hooks import Clock
from .lease import Lease
from .task import Cause, Stopped, Task, Work

log = logging.getLogger("gatepost.jobs")

LEASE = 30.0  # seconds until another process takes over the job of a dead process
POLL = 1.0  # seconds between two polls of the queue, and of the lock file
SOONEST, LATEST = 5.0, 3600.0  # seconds until a retry: after the first attempt, and at most
MOST_ERROR = 500  # characters of a stored error


class Runner:
    """Runs the jobs of one process. A job that fails does not stop it.

    kinds    functions that run the jobs, by kind
    clock    creates the jobs of periodic hooks
    seconds  duration of a lease; it is renewed each third
    """

    def __init__(self, services: Services, kinds: Mapping[str, Work], clock: Clock | None = None, *,
                 seconds: float = LEASE) -> None:
        self.kinds = kinds
        self._services, self._clock, self._seconds = services, clock, seconds
        self._lock_file = services.settings.instance / "jobs.lock"
        self._worker = Worker("jobs", self._run_or_wait, POLL)
        self._run_task = BackgroundTask("taking jobs from the queue", POLL, self.run_due)
        self._polls, self._pause = False, ExitStack()

    def start(self) -> None:
        """Starts the thread that runs jobs in this process. A second call does nothing."""
        self._worker.start()

    def stop(self) -> None:
        """Stops the thread. A second call does nothing.

        The current job returns to the queue at its next `check`. Otherwise another process takes it over after its
        lease has expired.
        """
        self._worker.stop(self._services.settings.drain_timeout)
        self._pause.close()

    def wake(self) -> None:
        """Reads the queue at once, because a job was committed."""
        self._worker.wake()

    def run_due(self) -> int:
        """Runs every job that is due, including those of periodic hooks. Returns their number."""
        if self._clock is not None:
            self._clock.strike()
        number = 0
        while not self._worker.stopping and (job := self._claim()) is not None:
            self._attempt(job)
            number += 1
        return number

    def _run_or_wait(self) -> None:
        """Runs jobs after a commit of this process, or if this process holds the lock. Then tries to take the lock."""
        self._pause.close()
        if self._worker.woken or self._polls:
            self._run_task.attempt()
        if not self._worker.stopping:
            self._polls = self._pause.enter_context(_only_one(self._lock_file))

    def _claim(self) -> Job | None:
        database = self._services.database
        # Read first, so that an empty queue takes no lock for writing.
        with database.connected():
            if not job_queue.has_due(database):
                return None
        holder = f"{os.getpid()}-{token_hex(8)}"
        return database.transact(lambda: job_queue.claim(database, holder, self._seconds))

    def _attempt(self, job: Job) -> None:
        """Runs a job and stores its outcome. If that fails, its lease expires and the job is retried."""
        try:
            if job.stopping:
                self._commit(lambda: job_queue.cancel(job, 0))
            elif (refusal := self._refusal(job)) is not None:
                self._fail(job, 0, *refusal)
            else:
                with Lease(self._services.database, job, self._seconds, lambda: self._worker.stopping) as lease:
                    self._work(Task(self._services, job, lease))
        except RowError as error:
            log.error("the outcome of job %s (%s) could not be stored: %s: %s",
                      job.id, job.kind, type(error).__name__, error)

    def _refusal(self, job: Job) -> tuple[Any, str] | None:
        """Returns the reason why a job cannot start, for its owner and for operators; None if it can."""
        if job.kind not in self.kinds:
            return document(Problem("gone", "Nothing runs jobs of this kind any more.")), "no such kind"
        if job.attempts > job.max_attempts:
            return (document(Problem("unavailable", "The process that ran it ended each time.")),
                    job.last_error or "its process died")
        return None

    def _work(self, task: Task) -> None:
        job = task.job
        try:
            result = self.kinds[job.kind](task)
            if not task.finished:
                task.finish(lambda: result)
        except Stopped as stopped:
            self._handle_stop(task, stopped.cause)
        except (Exception, SystemExit) as error:  # sys.exit() in a plugin would silently end the thread
            if task.finished:
                log.exception("job %s (%s) failed after it was finished", job.id, job.kind, exc_info=error)
            else:
                self._handle_error(task, error)

    def _handle_stop(self, task: Task, cause: Cause) -> None:
        job = task.job
        if cause is Cause.CANCELLED:
            self._commit(lambda: job_queue.cancel(job, task.rows_done))
        elif cause is Cause.SHUTDOWN:
            self._commit(lambda: job_queue.give_back(job))
        else:
            log.warning("another process has taken over job %s (%s)", job.id, job.kind)

    def _handle_error(self, task: Task, error: Exception | SystemExit) -> None:
        job, problem = task.job, problem_of(error)
        text = storable(f"{problem.code}: {problem.detail}" if isinstance(error, Problem) else
                        f"{type(error).__name__}: {error}")[:MOST_ERROR]
        if problem.status < 500:
            self._fail(job, task.rows_done, document(problem), text)
        elif job.attempts >= job.max_attempts:
            self._fail(job, task.rows_done, document(problem), text)
            log.error("job %s (%s) has failed after %s attempts", job.id, job.kind, job.attempts, exc_info=error)
        else:
            wait = back_off(job.attempts)
            self._commit(lambda: job_queue.put_off(job, later(wait), text))
            log.warning("job %s (%s) will be retried in %.0f seconds: %s", job.id, job.kind, wait, text)

    def _fail(self, job: Job, progress: int, result: Any, error: str) -> None:
        self._commit(lambda: job_queue.fail(job, progress, result, error))

    def _commit(self, change: Callable[[], bool]) -> None:
        self._services.database.transact(change)


def back_off(attempt: int) -> float:
    """Returns the seconds until the next attempt: four times as many after each, varied by up to half."""
    # The variation keeps two jobs that failed together from running together again.
    return min(LATEST, SOONEST * 4 ** (attempt - 1) * uniform(0.5, 1.5))


def problem_of(error: Exception | SystemExit) -> Problem:
    """Returns the part of an error that the job's owner may see: nothing of an unexpected error."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, Unavailable | TimedOut | Contended):
        return Problem("unavailable", "The database cannot be reached right now.")
    if isinstance(error, RowError):
        return translate(error)
    return Problem("internal_error", "Report the id of the job to the operator.")


def document(problem: Problem) -> dict[str, Any]:
    """Returns a problem as the result of a job: RFC 9457 without the members about a request."""
    status, title = CATALOGUE[problem.code]
    detail = storable(problem.detail or f"{title}.")
    return {"status": status, "code": problem.code, "title": title, "detail": detail,
            "errors": [{name: storable(value) if isinstance(value, str) else value
                        for name, value in vars(fault).items() if value is not None} for fault in problem.faults]}


def storable(text: str) -> str:
    """Returns the text with escapes for characters that a database refuses: NUL (Postgres), lone surrogates."""
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00")


@contextmanager
def _only_one(file: Path) -> Iterator[bool]:
    """Tries to lock a file for the block. Yields True in one process of all that try."""
    try:
        # Opened each time, because a forked child would share the lock of an open descriptor.
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        # Without a folder for the lock, each process polls.
        yield True
        return
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(descriptor)
