"""Files of jobs, in pieces: the body that an import was sent, the file that an export has made.

Bodies lie in the database. So do files of exports on Postgres; on SQLite they lie in a database of their own
(`Database.files`), which backups leave out. A job ends only after its file was committed there; a file whose job has
not ended well is deleted by a chore (`sweep`).
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
KEPT = DAY  # seconds for which a file is kept once its job has ended
UNCLAIMED = 3600  # seconds that a job may take to be written down after the first chunk of its body
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
EXPORT = ".export"  # how the kind of an export ends
_KNOWN = 500  # jobs of a user whose files say how long the next ones will be


class JobChunk(Record):
    """The chunk `number` of the one file that a job has, counted from 0.

    job_id    no reference: the body of a request is there before its job
    owner_id  whose quota it counts for
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
        """Delete up to `most` chunks of files that ended before that time, or that no job has or needs; how many."""
        # Across tenants: what nobody can ask for any more is of no use in any of them.
        lost = Job.id.is_null() & (cls.job_id < last_id(later(-UNCLAIMED)))
        taken_in = (Job.state == DONE) & Job.expires_at.is_null()
        found = cls.select(cls.id).join(Job, pw.JOIN.LEFT_OUTER, on=(Job.id == cls.job_id)).where(
            lost | taken_in | (Job.done_at < before)).limit(most)
        return int(cls.delete().where(cls.id.in_([row.id for row in found])).execute())


def make_files(database: Database) -> None:
    """Make the database of files, unless it is there. Raises `Unavailable`."""
    database.files.make(*_FILES)


def hold_owner(tenant_id: str, owner_id: str) -> Counter[str]:
    """Bytes of the files of one owner, by job; in a transaction, or in one of the database of files: no other adds to
    them before that ends."""
    if current.dialect == "postgres":
        # Rows that refer to the user can be stored meanwhile.
        Rows(User, tenant_id).select(User.id).where(User.id == owner_id).for_update(
            "FOR NO KEY UPDATE").first()  # type: ignore[arg-type]
    _main, *others = current.with_files()
    held = _lengths(tenant_id, owner_id)
    for files in others:
        with files.connected():
            kept = _lengths(tenant_id, owner_id)
        # Those of jobs that were deleted are only still to be swept.
        there = Rows(Job, tenant_id).select(Job.id).where(Job.owner_id == owner_id)
        known = {job.id for some in pw.chunked(kept, _KNOWN) for job in there.where(Job.id.in_(list(some)))}
        held.update({job_id: size for job_id, size in kept.items() if job_id in known})
    return held


def _lengths(tenant_id: str, owner_id: str) -> Counter[str]:
    sizes = Rows(JobChunk, tenant_id).select(JobChunk.job_id, pw.fn.SUM(JobChunk.size)).where(
        JobChunk.owner_id == owner_id).group_by(JobChunk.job_id)
    rows: list[tuple[str, int]] = list(sizes.tuples())  # type: ignore[arg-type]
    return Counter({job_id: int(size) for job_id, size in rows})


def claimed(tenant_id: str, owner_id: str, kind: str, request: str) -> int:
    """Bytes that files of one owner have, and will have when all exports that wait or run are done and one more of this
    `kind` and `request` (`request_of`). Of an export that nobody can foresee, one byte is counted. In a transaction, as
    `hold_owner`."""
    held = hold_owner(tenant_id, owner_id)
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
    more = sum(max(0, lengths.get((kind, asked), 1) - held[id]) for id, kind, asked in begun)
    return held.total() + more + lengths.get((kind, request), 1)


def request_of(payload: Mapping[str, Any]) -> str:
    """What two exports of one kind that make the same file have in common."""
    return f"{payload.get('query')} {payload.get('headers', {}).get('Accept')}"


def add(tenant_id: str, job_id: str, owner_id: str, number: int, data: bytes, *, files: bool = False) -> None:
    """Store one chunk, in a transaction; with `files` in the database of files, in a transaction of it.

    Raises `AlreadyExists`, `InvalidReference`, `Unavailable`, `Erased` for an owner who is erased.
    """
    if has_begun(owner_id):
        raise Erased(owner_id)
    chunk = JobChunk(job_id=job_id, owner_id=owner_id, number=number, size=len(data), data=data)
    place = current.files if files else current
    with place.entered():
        Rows(JobChunk, tenant_id).insert(chunk)


def read(tenant_id: str, job_id: str, number: int) -> bytes | None:
    """The bytes of one chunk in the current database; None: it is not there."""
    found = Rows(JobChunk, tenant_id).find_by(job_id=job_id, number=number)
    return None if found is None else bytes(found.data)


def holder(database: Database, tenant_id: str, job_id: str, size: int) -> Database | None:
    """The database that holds the whole file of a job, of so many bytes; None: none does. Files of a version that knew
    no database of files, and of its backups, are where they were."""
    for place in reversed(database.with_files()):
        with place.connected():
            sizes = Rows(JobChunk, tenant_id).select(pw.fn.SUM(JobChunk.size)).where(JobChunk.job_id == job_id)
            if int(sizes.scalar() or 0) == size:
                return place
    return None


def drop(tenant_id: str, job_id: str, most: int, *, files: bool = False) -> int:
    """Delete up to `most` chunks of one job, with `files` in the database of files, in a transaction of it; how many.
    """
    place = current.files if files else current
    with place.entered():
        rows = Rows(JobChunk, tenant_id)
        found = rows.select(JobChunk.id).where(JobChunk.job_id == job_id).limit(most)
        return sum(rows.discard(id=row.id) for row in found)


def sweep(database: Database, most: int) -> int:
    """Delete what the database of files holds of jobs that are gone, have not ended well, or whose time is over, some
    chunks at a time; how many. Raises `Unavailable`."""
    # Across tenants: what nobody can ask for any more is of no use in any of them.
    gone = 0
    for files in database.with_files()[1:]:
        # What is just being stored, too.
        stored = files.transact(lambda: {row.job_id for row in JobChunk.select(JobChunk.job_id).distinct()})
        for some in pw.chunked(sorted(stored), _KNOWN):
            with database.connected():
                kept = Job.state.in_([WAITING, RUNNING]) | ((Job.state == DONE) & (Job.expires_at > now()))
                needed = {job.id for job in Job.select(Job.id).where(Job.id.in_(list(some)), kept)}
            for job_id in set(some) - needed:
                while few := files.transact(lambda job_id=job_id: _delete(job_id, most)):  # type: ignore[misc]
                    gone += few
    return gone


def _delete(job_id: str, most: int) -> int:
    # Across tenants: no two jobs have one id.
    found = [row.id for row in JobChunk.select(JobChunk.id).where(JobChunk.job_id == job_id).limit(most)]
    return int(JobChunk.delete().where(JobChunk.id.in_(found)).execute()) if found else 0


def is_unclaimed(tenant_id: str, job_id: str) -> bool:
    """Whether there is no such job."""
    return Rows(Job, tenant_id).find(job_id) is None


def publish(job: Job, rights: str, size: int) -> None:
    """Keep the file of a job, of so many bytes, for a while, for a caller with these `rights` (a digest); in its last
    transaction."""
    _note(job, {"rights": rights, "bytes": size}, expires_at=later(KEPT))


def note_length(job: Job, size: int) -> None:
    """Note that the file of a job would have had so many bytes at least."""
    _note(job, {"bytes": size})


def _note(job: Job, said: dict[str, Any], **columns: Any) -> None:
    rows = Rows(Job, job.tenant_id)
    row = rows.find(job.id)
    if row is not None:
        row.payload = orjson.dumps({**job.payload, **said}).decode()
        for name, value in columns.items():
            setattr(row, name, value)
        rows.save(row)


def is_over(expires_at: str) -> bool:
    """Whether a file is no longer kept."""
    return expires_at <= now()
