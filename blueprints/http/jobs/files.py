"""Files of jobs: stored and read in chunks, so that none is ever in memory as a whole."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import suppress
from typing import IO, Any

from models.engine.errors import RowError
from models.tables import job_chunk
from models.tables.job_chunk import SIZE

from ..protocol.messages import Message
from ..protocol.problems import Problem
from ..request.call import Call, Services
from .requests import Asked
from .task import Task

_AT_ONCE = 20  # chunks that one transaction deletes


def store(call: Call, asked: Asked) -> None:
    """Store the body of a request, in short transactions. Raises `Problem` when it is more than the quota leaves."""
    asked.body.seek(0)
    number = 0
    while data := asked.body.read(SIZE):
        call.services.database.transact(
            lambda number=number, data=data: _add(  # type: ignore[misc]
                call.services, call.tenant_id, asked.id, call.principal.id, number, data))
        number += 1


def drop_unclaimed(call: Call, asked: Asked) -> None:
    """Delete what was stored for a job that was not written down."""
    def some() -> int:
        # Where a COMMIT was not answered, the job may be there.
        unclaimed = job_chunk.is_unclaimed(call.tenant_id, asked.id)
        return job_chunk.drop(call.tenant_id, asked.id, _AT_ONCE) if unclaimed else 0

    # What cannot be deleted now is deleted by a chore.
    with suppress(RowError):
        while call.services.database.transact(some):
            pass


def drop_body(task: Task) -> None:
    """Delete what a request has sent, once it is of no use."""
    with suppress(RowError):
        while task.services.database.transact(lambda: job_chunk.drop(task.tenant_id, task.id, _AT_ONCE)):
            pass


class Body(io.RawIOBase):
    """What a request has sent, as it was stored. Raises `Problem` (`gone`) when it is not there as a whole."""

    def __init__(self, task: Task) -> None:
        self._task, self._left = task, int(task.payload["size"])
        self._number, self._data = 0, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._data and self._left:
            with self._task.services.database.connected():
                found = job_chunk.read(self._task.tenant_id, self._task.id, self._number)
            if found is None:
                raise Problem("gone", "What was sent is no longer kept. Send it again.")
            self._data, self._number, self._left = found, self._number + 1, self._left - len(found)
        size = min(len(buffer), len(self._data))
        buffer[:size], self._data = self._data[:size], self._data[size:]
        return size


class Output:
    """The file that a job makes. What an earlier attempt has left is deleted first.

    size  bytes that were written
    """

    def __init__(self, task: Task) -> None:
        self._task, self._waiting, self._number = task, bytearray(), 0
        self.size = 0
        while task.keep(lambda: job_chunk.drop(task.tenant_id, task.id, _AT_ONCE)):
            task.check()

    def write(self, data: bytes) -> None:
        """Add to the file. Raises `Problem` when it is more than the quota leaves, `Stopped` when the job is to end."""
        self._waiting += data
        self.size += len(data)
        while len(self._waiting) >= SIZE:
            self._store(bytes(self._waiting[:SIZE]))
            del self._waiting[:SIZE]

    def close(self) -> None:
        """Store what waits."""
        if self._waiting:
            self._store(bytes(self._waiting))
            self._waiting.clear()

    def _store(self, data: bytes) -> None:
        task = self._task
        task.keep(lambda: _add(task.services, task.tenant_id, task.id, task.job.owner_id, self._number, data))
        self._number += 1
        task.check()


def chunks(services: Services, tenant_id: str, job_id: str, size: int) -> Iterator[bytes]:
    """The file of a job, of so many bytes. Raises `Problem` (`gone`) where it ends early: it was deleted meanwhile."""
    number = 0
    while size > 0:
        with services.database.connected():
            data = job_chunk.read(tenant_id, job_id, number)
        if not data:
            raise Problem("gone")
        number, size = number + 1, size - len(data)
        yield data


def received(body: IO[bytes], asked: Asked) -> None:
    """Take a body in, as a temporary file."""
    while data := body.read(2**16):
        asked.body.write(data)
        asked.size += len(data)


def _add(services: Services, tenant_id: str, job_id: str, owner_id: str | None, number: int, data: bytes) -> None:
    quota = services.settings.job_quota
    owner = owner_id or ""
    if job_chunk.hold_owner(tenant_id, owner) + len(data) > quota:
        raise Problem("conflict", Message("Files of your jobs may have {number} bytes together. They are deleted a day "
                                          "after their jobs have ended.", number=quota))
    job_chunk.add(tenant_id, job_id, owner, number, data)
