"""`Task`: a job while it runs, as the function that does the work sees it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

from models.base import Record, Rows
from models.tables import job_queue

from ..http.request.call import Services

if TYPE_CHECKING:
    from models.tables.job import Job

    from .lease import Lease

T = TypeVar("T")
R = TypeVar("R", bound=Record)

NOTED = 1.0  # seconds between two looks at whether the job was cancelled, and two notes of its progress


class Cause(Enum):
    """Why a job ends before its work is done."""

    CANCELLED = "it was cancelled"
    SHUTDOWN = "its process stops"
    LOST = "another process has its lease"


class Stopped(Exception):
    """The job is to end here. What was not committed is to be undone, and nothing is to be caught."""

    def __init__(self, cause: Cause) -> None:
        super().__init__(cause.value)
        self.cause = cause


class Task:
    """One attempt at a job.

    id        of the job, the same at each attempt: the idempotency key of effects outside of the database
    payload   what the job was written down with
    attempt   1 at the first
    job       its row as it was claimed
    rows_done what `progress` said last
    finished  whether `finish` was committed
    trail     writes what the audit trail says of the job, in the transaction that ends it
    """

    def __init__(self, services: Services, job: Job, lease: Lease) -> None:
        self.services, self.job = services, job
        self.id, self.tenant_id, self.kind, self.attempt = job.id, job.tenant_id, job.kind, job.attempts
        self.payload: Mapping[str, Any] = job.payload
        self.rows_done = 0
        self.finished = False
        self.trail: Callable[[], None] | None = None
        self._lease = lease
        self._steps = list(job.steps)
        self._looked = self._noted = monotonic()

    def rows(self, model: type[R]) -> Rows[R]:
        """The rows of a table that belong to the job's tenant."""
        return Rows(model, self.tenant_id)

    def check(self) -> None:
        """Raises `Stopped` when the job is to end; to be called between batches."""
        if self._lease.lost:
            raise Stopped(Cause.LOST)
        if self._lease.shutdown:
            raise Stopped(Cause.SHUTDOWN)
        if monotonic() - self._looked < NOTED:
            return
        self._looked = monotonic()
        with self.services.database.connected():
            asked = job_queue.asked_to_stop(self.job)
        if asked is not False:
            raise Stopped(Cause.LOST if asked is None else Cause.CANCELLED)

    def progress(self, rows: int) -> None:
        """Say how many rows are done. Outside of transactions it is written down, now and then."""
        self.rows_done = rows
        database = self.services.database
        if monotonic() - self._noted < NOTED or database.in_transaction():
            return
        self._noted = monotonic()
        database.transact(lambda: job_queue.note_progress(self.job, rows))

    def once(self, step: str, work: Callable[[], T]) -> T | None:
        """Run `work()` in a transaction that also notes that this step of the job is done; None when it was before.

        So its effect in the database happens once, at whatever moment a process dies. Raises `Stopped` when the lease
        is lost, and what `work` raises.
        """
        if step in self._steps:
            return None
        steps = [*self._steps, step]

        def effect() -> T:
            result = work()
            # Last of all: until here, on Postgres, the lease can be renewed beside it.
            self._hold(job_queue.note_step(self.job, steps))
            return result

        result = self.services.database.transact(effect)
        self._steps = steps
        return result

    def keep(self, work: Callable[[], T]) -> T:
        """Run `work()` in a transaction that is undone unless the lease is still held: for what can be done again.

        Raises `Stopped` when the lease is lost, and what `work` raises.
        """
        def effect() -> T:
            result = work()
            self._hold(job_queue.note_progress(self.job, self.rows_done))
            return result

        return self.services.database.transact(effect)

    def keep_file(self, work: Callable[[], T]) -> T:
        """`keep`, for work that changes the database of files. It reads the first one without its turn to write.

        Another process that takes the job waits for the turn of the database of files before it changes anything there.
        """
        database = self.services.database
        if database.files is database:
            return self.keep(work)

        def effect() -> T:
            with database.connected():
                result = work()
                self._hold(job_queue.asked_to_stop(self.job) is not None)
            return result

        return database.files.transact(effect)

    def finish(self, work: Callable[[], T]) -> T:
        """Run `work()` in the transaction that ends the job; what it returns, JSON-ready, is the job's result.

        Raises `Stopped` when the lease is lost, and what `work` raises.
        """
        def effect() -> T:
            result = work()
            if self.trail is not None:
                self.trail()
            self._hold(job_queue.finish(self.job, self.rows_done, result))
            return result

        result = self.services.database.transact(effect)
        self.finished = True
        return result

    def _hold(self, held: bool) -> None:
        if not held:
            raise Stopped(Cause.LOST)


Work = Callable[[Task], Any]
"""What runs the jobs of one kind, outside of any transaction and without a connection. It returns what the job's owner
may know, JSON-ready, or None. A `Problem` of the client's side (4xx) ends the job; all else is tried again."""
