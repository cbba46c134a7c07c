"""Files of jobs: stored and read in chunks, so that none is ever in memory as a whole."""

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
from .requests import Asked
from .task import Task

_AT_ONCE = 20  # chunks that one transaction deletes


def store(call: Call, asked: Asked) -> None:
    """Store the body of a request, in short transactions. Raises `Problem` when it is more than the quota leaves."""
    database, number = call.services.database, 0
    asked.body.seek(0)
    while data := asked.body.read(SIZE):
        add = partial(_add, call.services, call.tenant_id, asked.id, call.principal.id, number, data)
        # Where files have a database of their own: in turn with exports, which count for the quota, too.
        database.with_files()[-1].transact(partial(database.transact, add))
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
    """The file that a job makes, in the database of files. What an earlier attempt has left is deleted first.

    size  bytes that were written
    """

    def __init__(self, task: Task) -> None:
        self._task, self._waiting, self._number = task, bytearray(), 0
        self.size = 0
        job_chunk.make_files(task.services.database)
        self._drop()

    def write(self, data: bytes) -> None:
        """Add to the file. Raises `Problem` when it is more than the quota leaves, `Stopped` when the job is to end."""
        self._waiting += data
        self.size += len(data)
        while len(self._waiting) >= SIZE:
            self._store(bytes(self._waiting[:SIZE]))
            del self._waiting[:SIZE]

    def close(self) -> None:
        """Store what waits, so that all of it is committed. Raises as `write`, and `Unavailable` where a part of the
        file is gone: somebody has deleted the database of files."""
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
            # What there is of it is of no use, and the next one like it is refused at once.
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
    """The file of a job, of so many bytes. Raises `Problem` (`gone`) where it is not there as a whole, and in the midst
    of it where it ends early: it was deleted meanwhile."""
    place = job_chunk.holder(services.database, tenant_id, job_id, size)
    if place is None:
        raise gone()
    return _chunks(place, tenant_id, job_id, size)


def gone() -> Problem:
    """The refusal of a file that was there once."""
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


def received(body: IO[bytes], asked: Asked) -> None:
    """Take a body in, as a temporary file."""
    while data := body.read(2**16):
        asked.body.write(data)
        asked.size += len(data)


def require_room(call: Call, kind: str, payload: Mapping[str, Any]) -> None:
    """Raises `Problem` where an export would be more than the quota leaves, as far as that can be foreseen; in the
    transaction of its job."""
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
