"""Files of jobs: stored and read in chunks, so that no whole file is in memory."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import IO, Any

from models.engine.database import Database
from models.engine.errors import RowError, Unavailable
from models.tables import job_chunk
from models.tables.job_chunk import SIZE

from ..http.protocol.messages import Message
from ..http.protocol.problems import Problem
from ..http.request.call import Call, Services
from .requests import PendingJob
from .task import Task

_AT_ONCE = 20  # chunks that one transaction deletes


def store(call: Call, pending: PendingJob) -> None:
    """Stores the body of a request in short transactions. Raises `Problem` if it exceeds the user's quota."""
    database, number = call.services.database, 0
    pending.body.seek(0)
    while data := pending.body.read(SIZE):
        add = partial(_add, call.services, call.tenant_id, pending.id, call.principal.id, number, data)
        # The outer transaction waits for exports: they count for the quota, too, but have their own database on SQLite.
        database.with_files()[-1].transact(partial(database.transact, add))
        number += 1


def drop_unclaimed(call: Call, pending: PendingJob) -> None:
    """Deletes the body that was stored for a job if the job itself was not stored."""
    def some() -> int:
        # After a COMMIT without an answer, the job may exist.
        unclaimed = job_chunk.is_unclaimed(call.tenant_id, pending.id)
        return job_chunk.drop(call.tenant_id, pending.id, _AT_ONCE) if unclaimed else 0

    # A background task deletes what cannot be deleted now.
    with suppress(RowError):
        while call.services.database.transact(some):
            pass


def drop_body(task: Task) -> None:
    """Deletes the body of a request after its job is done."""
    with suppress(RowError):
        while task.services.database.transact(lambda: job_chunk.drop(task.tenant_id, task.id, _AT_ONCE)):
            pass


class Body(io.RawIOBase):
    """The stored body of a request, as a raw stream. Reading raises `Problem` (`gone`) if a part is missing."""

    def __init__(self, task: Task) -> None:
        self._task, self._remaining = task, int(task.payload["size"])
        self._number, self._data = 0, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._data and self._remaining:
            with self._task.services.database.connected():
                chunk = job_chunk.read(self._task.tenant_id, self._task.id, self._number)
            if chunk is None:
                raise Problem("gone", "What was sent is no longer kept. Send it again.")
            self._data, self._number, self._remaining = chunk, self._number + 1, self._remaining - len(chunk)
        size = min(len(buffer), len(self._data))
        buffer[:size], self._data = self._data[:size], self._data[size:]
        return size


class Output:
    """The file that a job writes, in the database of files. The file of an earlier attempt is deleted first.

    size  bytes written so far
    """

    def __init__(self, task: Task) -> None:
        self._task, self._waiting, self._number = task, bytearray(), 0
        self.size = 0
        job_chunk.make_files(task.services.database)
        self._drop()

    def write(self, data: bytes) -> None:
        """Appends to the file. Raises `Problem` if it exceeds the user's quota, `Stopped` if the job must end."""
        self._waiting += data
        self.size += len(data)
        while len(self._waiting) >= SIZE:
            self._store(bytes(self._waiting[:SIZE]))
            del self._waiting[:SIZE]

    def close(self) -> None:
        """Commits the rest of the file.

        Raises the errors of `write`, and `Unavailable` if a part is missing because the database of files was deleted.
        """
        if self._waiting:
            self._store(bytes(self._waiting))
            self._waiting.clear()
        task = self._task
        if job_chunk.holder(task.services.database, task.tenant_id, task.id, self.size) is None:
            raise Unavailable("a part of the file is gone")

    def _store(self, data: bytes) -> None:
        task = self._task
        try:
            task.keep_file(lambda: _add(task.services, task.tenant_id, task.id, task.job.owner_id, self._number, data,
                                        files=True))
        except Problem:
            # Part of a file is useless. The noted length lets `require_room` refuse the same export at once.
            self._drop()
            task.keep(lambda: job_chunk.note_length(task.job, self.size))
            raise
        self._number += 1
        task.check()

    def _drop(self) -> None:
        task = self._task
        for keep, files in ((task.keep, False), (task.keep_file, True)):
            while keep(lambda files=files: job_chunk.drop(  # type: ignore[misc]
                    task.tenant_id, task.id, _AT_ONCE, files=files)):
                task.check()


def chunks(services: Services, tenant_id: str, job_id: str, size: int) -> Iterator[bytes]:
    """Returns the chunks of a job's file of `size` bytes.

    Raises `Problem` (`gone`) if a part is missing, and during the iteration if the file is deleted in the meantime.
    """
    place = job_chunk.holder(services.database, tenant_id, job_id, size)
    if place is None:
        raise gone()
    return _chunks(place, tenant_id, job_id, size)


def gone() -> Problem:
    """Returns the problem for a deleted file."""
    return Problem("gone", "This file is no longer kept. Ask for a new export.")


def _chunks(place: Database, tenant_id: str, job_id: str, size: int) -> Iterator[bytes]:
    number = 0
    while size > 0:
        with place.connected():
            data = job_chunk.read(tenant_id, job_id, number)
        if not data:
            raise Problem("gone")
        number, size = number + 1, size - len(data)
        yield data


def received(body: IO[bytes], pending: PendingJob) -> None:
    """Copies a body to the temporary file of `pending`."""
    while data := body.read(2**16):
        pending.body.write(data)
        pending.size += len(data)


def require_room(call: Call, kind: str, payload: Mapping[str, Any]) -> None:
    """Raises `Problem` if an export would probably exceed the user's quota. Called in the transaction of its job."""
    quota, owner = call.services.settings.job_quota, call.principal.id or ""
    if job_chunk.claimed(call.tenant_id, owner, kind, job_chunk.request_of(payload)) > quota:
        raise _full(quota)


def _add(services: Services, tenant_id: str, job_id: str, owner_id: str | None, number: int, data: bytes, *,
         files: bool = False) -> None:
    quota = services.settings.job_quota
    owner = owner_id or ""
    if job_chunk.hold_owner(tenant_id, owner).total() + len(data) > quota:
        raise _full(quota)
    job_chunk.add(tenant_id, job_id, owner, number, data, files=files)


def _full(quota: int) -> Problem:
    return Problem("conflict", Message(
        "Files of your jobs may have {number} bytes together. Delete a job with its file, or wait: they are deleted a "
        "day after their jobs have ended.", number=quota))
