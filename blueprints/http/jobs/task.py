"""`Task`: a job while it runs, as the function that does the work sees it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar

from models.base import Record, Rows

from ..request.call import Services

T = TypeVar("T")
R = TypeVar("R", bound=Record)


class Stopped(Exception):
    """The job is to end here: it was cancelled, its process stops, or another process has its lease."""


class Task(Protocol):
    """One attempt at a job.

    id        of the job, the same at each attempt: the idempotency key of effects outside of the database
    payload   what the job was written down with
    attempt   1 at the first
    """

    id: str
    tenant_id: str
    kind: str
    payload: Mapping[str, Any]
    attempt: int
    services: Services

    def rows(self, model: type[R]) -> Rows[R]:
        """The rows of a table that belong to the job's tenant."""

    def check(self) -> None:
        """Raises `Stopped` when the job is to end; to be called between batches."""

    def progress(self, rows: int) -> None:
        """Say how many rows are done; written down now and then."""

    def once(self, step: str, work: Callable[[], T]) -> T | None:
        """Run `work()` in a transaction that also notes that this step of the job is done; None when it was before.

        So its effect in the database happens once, at whatever moment a process dies. Raises `Stopped` when the lease
        is lost, and what `work` raises.
        """

    def finish(self, work: Callable[[], T]) -> T:
        """Run `work()` in the transaction that ends the job; what it returns is the job's result."""
