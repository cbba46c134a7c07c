"""Files of jobs in chunks: the request body of an import, the file that an export has made.

Bodies are in the database. So are files of exports on Postgres. On SQLite those are in a separate database
(`Database.files`), which backups leave out. A job ends only after its file was committed there. A background task
deletes files of jobs that did not end well (`sweep`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import orjson
import peewee as pw

from models.engine.database import Database, current
from models.engine.errors import Erased
from models.records.columns import IdField
from models.records.ids import last_id
from models.records.rows import Rows
from models.records.table import Record
from models.records.times import DAY, later, now
from models.tables.erasure import has_begun
from models.tables.job import DONE, RUNNING, WAITING, Job
from models.tables.user import User

SIZE = 2**18  # bytes of a chunk; the last one of a file may be shorter
KEPT = DAY  # seconds for which a file is kept after its job has ended
UNCLAIMED = 3600  # seconds between the first chunk of a body and the creation of its job, at most
_FILES = (
    """
    CREATE TABLE job_chunks (
        id TEXT NOT NULL PRIMARY KEY,
        tenant_id TEXT NOT NULL,
        version INTEGER NOT NULL,
        created_at TEXT NOT NULL,
        updated_at TEXT NOT NULL,
        job_id TEXT NOT NULL,
        owner_id TEXT NOT NULL,
        number INTEGER NOT NULL,
        size INTEGER NOT NULL,
        data BLOB NOT NULL,
        CONSTRAINT job_chunks_number UNIQUE (tenant_id, job_id, number)
    ) STRICT
    """,
    "CREATE INDEX job_chunks_owner ON job_chunks (tenant_id, owner_id, job_id, size)",
)
EXPORT = ".export"  # suffix of the kind of an export
_KNOWN = 500  # recent jobs of a user whose file sizes predict those of the next ones


class JobChunk(Record):
    """The chunk `number` of a job's only file, counted from 0.

    job_id    no reference: the body of a request is stored before its job
    owner_id  the user whose quota it counts for
    size      bytes of `data`
    """

    job_id = IdField()
    owner_id = IdField()
    number = pw.IntegerField()
    size = pw.IntegerField()
    data = pw.BlobField()

    class Meta:
        table_name = "job_chunks"

    @classmethod
    def purge(cls, before: str, most: int) -> int:
        """Deletes up to `most` chunks of files whose job ended before that time, or that no job has or needs. Returns
        their number."""
        # Across tenants: a file that nobody can download any more is useless in any of them.
        lost = Job.id.is_null() & (cls.job_id < last_id(later(-UNCLAIMED)))
        taken_in = (Job.state == DONE) & Job.expires_at.is_null()
        chunks = cls.select(cls.id).join(Job, pw.JOIN.LEFT_OUTER, on=(Job.id == cls.job_id)).where(
            lost | taken_in | (Job.done_at < before)).limit(most)
        return int(cls.delete().where(cls.id.in_([row.id for row in chunks])).execute())


def make_files(database: Database) -> None:
    """Makes the database of files, unless it exists. Raises `Unavailable`."""
    database.files.make(*_FILES)


def hold_owner(tenant_id: str, owner_id: str) -> Counter[str]:
    """Returns the bytes of one owner's files, by job. Needs a transaction, or one of the database of files.

    No other transaction adds to them before that one ends.
    """
    if current.dialect == "postgres":
        # This lock lets others store rows that refer to the user.
        Rows(User, tenant_id).select(User.id).where(User.id == owner_id).for_update(
            "FOR NO KEY UPDATE").first()  # type: ignore[arg-type]
    _main, *file_databases = current.with_files()
    lengths = _lengths(tenant_id, owner_id)
    for files in file_databases:
        with files.connected():
            stored = _lengths(tenant_id, owner_id)
        # Files of deleted jobs do not count: `sweep` deletes them later.
        own_jobs = Rows(Job, tenant_id).select(Job.id).where(Job.owner_id == owner_id)
        existing = {job.id for batch in pw.chunked(stored, _KNOWN) for job in own_jobs.where(Job.id.in_(list(batch)))}
        lengths.update({job_id: size for job_id, size in stored.items() if job_id in existing})
    return lengths


def _lengths(tenant_id: str, owner_id: str) -> Counter[str]:
    sizes = Rows(JobChunk, tenant_id).select(JobChunk.job_id, pw.fn.SUM(JobChunk.size)).where(
        JobChunk.owner_id == owner_id).group_by(JobChunk.job_id)
    rows: list[tuple[str, int]] = list(sizes.tuples())  # type: ignore[arg-type]
    return Counter({job_id: int(size) for job_id, size in rows})


def claimed(tenant_id: str, owner_id: str, kind: str, request: str) -> int:
    """Returns the bytes of one owner's files after all exports that wait or run, and one more of this `kind` and
    `request` (`request_of`).

    An export of unknown size counts one byte. Needs a transaction, as `hold_owner` does.
    """
    stored = hold_owner(tenant_id, owner_id)
    jobs = Rows(Job, tenant_id).select(Job.id, Job.kind, Job.state, Job.payload).where(
        Job.owner_id == owner_id, Job.kind.endswith(EXPORT), Job.created_at > later(-KEPT)).order_by(
        Job.created_at.desc(), Job.id.desc()).limit(_KNOWN)
    lengths: dict[tuple[str, str], int] = {}
    begun: list[tuple[str, str, str]] = []
    for job in jobs:
        if job.state in (WAITING, RUNNING):
            begun.append((job.id, job.kind, request_of(job.payload)))
        elif "bytes" in job.payload:
            lengths.setdefault((job.kind, request_of(job.payload)), job.payload["bytes"])
    more = sum(max(0, lengths.get((kind, request_of_job), 1) - stored[id]) for id, kind, request_of_job in begun)
    return stored.total() + more + lengths.get((kind, request), 1)


def request_of(payload: Mapping[str, Any]) -> str:
    """Returns a text that is the same for two exports of one kind that make the same file."""
    return f"{payload.get('query')} {payload.get('headers', {}).get('Accept')}"


def add(tenant_id: str, job_id: str, owner_id: str, number: int, data: bytes, *, files: bool = False) -> None:
    """Stores one chunk. Needs a transaction; with `files`, uses the database of files and needs a transaction of that.

    Raises `AlreadyExists`, `InvalidReference`, `Unavailable`, `Erased` for an owner who is erased.
    """
    if has_begun(owner_id):
        raise Erased(owner_id)
    chunk = JobChunk(job_id=job_id, owner_id=owner_id, number=number, size=len(data), data=data)
    place = current.files if files else current
    with place.entered():
        Rows(JobChunk, tenant_id).insert(chunk)


def read(tenant_id: str, job_id: str, number: int) -> bytes | None:
    """Returns the bytes of one chunk in the current database; None if it is missing."""
    chunk = Rows(JobChunk, tenant_id).find_by(job_id=job_id, number=number)
    return None if chunk is None else bytes(chunk.data)


def holder(database: Database, tenant_id: str, job_id: str, size: int) -> Database | None:
    """Returns the database with the whole file of a job, of so many bytes; None if neither has it.

    Older versions had no database of files. Their files, also in their backups, are in the main one.
    """
    for place in reversed(database.with_files()):
        with place.connected():
            sizes = Rows(JobChunk, tenant_id).select(pw.fn.SUM(JobChunk.size)).where(JobChunk.job_id == job_id)
            if int(sizes.scalar() or 0) == size:
                return place
    return None


def drop(tenant_id: str, job_id: str, most: int, *, files: bool = False) -> int:
    """Deletes up to `most` chunks of one job and returns their number. With `files`, in the database of files and in a
    transaction of it."""
    place = current.files if files else current
    with place.entered():
        rows = Rows(JobChunk, tenant_id)
        chunks = rows.select(JobChunk.id).where(JobChunk.job_id == job_id).limit(most)
        return sum(rows.discard(id=row.id) for row in chunks)


def sweep(database: Database, most: int) -> int:
    """Deletes files in the database of files whose jobs are deleted, did not end well, or have expired. Works in steps
    of `most` chunks. Returns the number of chunks. Raises `Unavailable`."""
    # Across tenants: a file that nobody can download any more is useless in any of them.
    number = 0
    for files in database.with_files()[1:]:
        # Includes files that are just being stored.
        stored = files.transact(lambda: {row.job_id for row in JobChunk.select(JobChunk.job_id).distinct()})
        for batch in pw.chunked(sorted(stored), _KNOWN):
            with database.connected():
                is_needed = Job.state.in_([WAITING, RUNNING]) | ((Job.state == DONE) & (Job.expires_at > now()))
                needed = {job.id for job in Job.select(Job.id).where(Job.id.in_(list(batch)), is_needed)}
            for job_id in set(batch) - needed:
                while deleted := files.transact(lambda job_id=job_id: _delete(job_id, most)):  # type: ignore[misc]
                    number += deleted
    return number


def _delete(job_id: str, most: int) -> int:
    # Across tenants: ids of jobs are unique.
    ids = [row.id for row in JobChunk.select(JobChunk.id).where(JobChunk.job_id == job_id).limit(most)]
    return int(JobChunk.delete().where(JobChunk.id.in_(ids)).execute()) if ids else 0


def is_unclaimed(tenant_id: str, job_id: str) -> bool:
    """True if there is no such job."""
    return Rows(Job, tenant_id).find(job_id) is None


def publish(job: Job, rights: str, size: int) -> None:
    """Keeps the file of a job, of so many bytes, for `KEPT` seconds, for a caller with these `rights` (a digest). Call
    it in the job's last transaction."""
    _note(job, {"rights": rights, "bytes": size}, expires_at=later(KEPT))


def note_length(job: Job, size: int) -> None:
    """Notes that the file of a job would have had at least so many bytes."""
    _note(job, {"bytes": size})


def _note(job: Job, facts: dict[str, Any], **columns: Any) -> None:
    rows = Rows(Job, job.tenant_id)
    row = rows.find(job.id)
    if row is not None:
        row.payload = orjson.dumps({**job.payload, **facts}).decode()
        for name, value in columns.items():
            setattr(row, name, value)
        rows.save(row)


def is_over(expires_at: str) -> bool:
    """True if a file has expired."""
    return expires_at <= now()
