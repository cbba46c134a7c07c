"""`Lease`: keeps a job for this process while it runs the job."""

from __future__ import annotations

import logging
from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING

from models.engine.errors import RowError
from models.engine.waiting import uncounted
from models.tables import job_queue
from system.worker import Worker

if TYPE_CHECKING:
    from models.engine.database import Database
    from models.tables.job import Job

log = logging.getLogger("gatepost.jobs")


class Lease:
    """Renews the lease of one job each third of its time, in a thread of its own, until the block ends.

    lost      True if another process may have the job
    shutdown  True if this process stops
    """

    def __init__(self, database: Database, job: Job, seconds: float, stopping: Callable[[], bool]) -> None:
        self._database, self._job, self._seconds, self._stopping = database, job, seconds, stopping
        self._deadline = monotonic() + seconds
        self._lost = False
        self._worker = Worker("lease of a job", self._renew, seconds / 3)

    @property
    def lost(self) -> bool:
        return self._lost or monotonic() >= self._deadline

    @property
    def shutdown(self) -> bool:
        return self._stopping()

    def __enter__(self) -> Lease:
        self._worker.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._worker.stop()

    def _renew(self) -> None:
        began = monotonic()
        try:
            with uncounted():
                self._lost = not self._database.transact(lambda: job_queue.renew(self._job, self._seconds))
        except RowError as error:
            log.warning("the lease of job %s was not renewed: %s: %s", self._job.id, type(error).__name__, error)
        else:
            self._deadline = began + self._seconds
