"""`Task`: a running job, the argument of the function that does its work."""

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

NOTED = 1.0  # seconds between two checks for a cancellation, and between two writes of the progress


class Cause(Enum):
    """The reason to end a job before its work is done."""

    CANCELLED = "it was cancelled"
    SHUTDOWN = "its process stops"
    LOST = "another process has its lease"


class Stopped(Exception):
    """Signal that the job must end here. Do not catch it; open transactions are rolled back."""

    def __init__(self, cause: Cause) -> None:
        super().__init__(cause.value)
        self.cause = cause


class Task:
    """One attempt at a job.

    id        id of the job, the same at each attempt: use it as idempotency key of effects outside of the database
    payload   the stored arguments of the job
    attempt   number of the attempt, from 1
    job       its row when it was claimed
    rows_done the last value of `progress`
    finished  true once `finish` is committed
    record_end  writes the audit event of the job, in the transaction that ends it
    """

    def __init__(self, services: Services, job: Job, lease: Lease) -> None:
        self.services, self.job = services, job
        self.id, self.tenant_id, self.kind, self.attempt = job.id, job.tenant_id, job.kind, job.attempts
        self.payload: Mapping[str, Any] = job.payload
        self.rows_done = 0
        self.finished = False
        self.record_end: Callable[[], None] | None = None
        self._lease = lease
        self._steps = list(job.steps)
        self._looked = self._noted = monotonic()

    def rows(self, model: type[R]) -> Rows[R]:
        """Returns access to the rows of a table in the job's tenant."""
        return Rows(model, self.tenant_id)

    def check(self) -> None:
        """Raises `Stopped` if the job must end. Call it between batches."""
        if self._lease.lost:
            raise Stopped(Cause.LOST)
        if self._lease.shutdown:
            raise Stopped(Cause.SHUTDOWN)
        if monotonic() - self._looked < NOTED:
            return
        self._looked = monotonic()
        with self.services.database.connected():
            cancelled = job_queue.asked_to_stop(self.job)
        if cancelled is not False:
            raise Stopped(Cause.LOST if cancelled is None else Cause.CANCELLED)

    def progress(self, rows: int) -> None:
        """Sets the number of rows done. Outside of transactions, it is stored at most once a second."""
        self.rows_done = rows
        database = self.services.database
        if monotonic() - self._noted < NOTED or database.in_transaction():
            return
        self._noted = monotonic()
        database.transact(lambda: job_queue.note_progress(self.job, rows))

    def once(self, step: str, work: Callable[[], T]) -> T | None:
        """Runs `work()` in a transaction that also stores that this step is done. Returns None if it was done before.

        So its effect in the database happens once, even if a process dies. Raises `Stopped` if the lease is lost, and
        the errors of `work`.
        """
        if step in self._steps:
            return None
        steps = [*self._steps, step]

        def effect() -> T:
            result = work()
            # Last, because on Postgres this locks the job's row, and the lease must be renewable until then.
            self._hold(job_queue.note_step(self.job, steps))
            return result

        result = self.services.database.transact(effect)
        self._steps = steps
        return result

    def keep(self, work: Callable[[], T]) -> T:
        """Runs `work()` in a transaction that is rolled back if the lease is lost. A retry may run it again.

        Raises `Stopped` if the lease is lost, and the errors of `work`.
        """
        def effect() -> T:
            result = work()
            self._hold(job_queue.note_progress(self.job, self.rows_done))
            return result

        return self.services.database.transact(effect)

    def keep_file(self, work: Callable[[], T]) -> T:
        """Runs `work()` like `keep`, but in a transaction of the database of files.

        It only reads the main database. A process that takes over the job waits for this transaction before it changes
        the database of files.
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
        """Runs `work()` in the transaction that ends the job. Its JSON-ready value is the job's result.

        Raises `Stopped` if the lease is lost, and the errors of `work`.
        """
        def effect() -> T:
            result = work()
            if self.record_end is not None:
                self.record_end()
            self._hold(job_queue.finish(self.job, self.rows_done, result))
            return result

        result = self.services.database.transact(effect)
        self.finished = True
        return result

    def _hold(self, has_lease: bool) -> None:
        if not has_lease:
            raise Stopped(Cause.LOST)


Work = Callable[[Task], Any]
"""The function that runs the jobs of one kind, called without a transaction and a connection. It returns a JSON-ready
result for the job's owner, or None. A `Problem` with status 4xx ends the job; after any other error it is retried."""
