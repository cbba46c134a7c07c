"""`Lease`: that this process runs a job, said again and again for as long as it does."""

from __future__ import annotations

import logging
from threading import Event, Thread
from time import monotonic
from typing import TYPE_CHECKING

from models.engine.errors import RowError
from models.engine.waiting import uncounted
from models.tables import job_queue

if TYPE_CHECKING:
    from models.engine.database import Database
    from models.tables.job import Job

log = logging.getLogger("gatepost.jobs")


class Lease:
    """Renews the lease of one job each third of its time, in a thread of its own, until it is left as a context.

    lost      whether another process may have the job by now
    shutdown  whether this process is to stop
    """

    def __init__(self, database: Database, job: Job, seconds: float, stopping: Event) -> None:
        self._database, self._job, self._seconds, self._stopping = database, job, seconds, stopping
        self._until = monotonic() + seconds
        self._taken = False
        self._left = Event()
        self._keeper = Thread(target=self._keep, name="lease of a job", daemon=True)

    @property
    def lost(self) -> bool:
        return self._taken or monotonic() >= self._until

    @property
    def shutdown(self) -> bool:
        return self._stopping.is_set()

    def __enter__(self) -> Lease:
        self._keeper.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._left.set()
        self._keeper.join()

    def _keep(self) -> None:
        while not self._left.wait(self._seconds / 3):
            began = monotonic()
            try:
                with uncounted():
                    held = self._database.transact(lambda: job_queue.renew(self._job, self._seconds))
            except RowError as error:
                log.warning("the lease of job %s was not renewed: %s: %s", self._job.id, type(error).__name__, error)
                continue
            if not held:
                self._taken = True
                return
            self._until = began + self._seconds
