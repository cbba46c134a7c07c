"""Files of jobs, in pieces: the body that an import was sent, the file that an export has made."""

from __future__ import annotations

import orjson
import peewee as pw

from models.engine.database import current
from models.engine.errors import Erased
from models.records.columns import IdField
from models.records.ids import last_id
from models.records.rows import Rows
from models.records.table import Record
from models.records.times import DAY, later, now
from models.tables.erasure import has_begun
from models.tables.job import DONE, Job
from models.tables.user import User

SIZE = 2**18  # bytes of a chunk; the last one of a file may be shorter
KEPT = DAY  # seconds for which a file is kept once its job has ended
UNCLAIMED = 3600  # seconds that a job may take to be written down after the first chunk of its body


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


def hold_owner(tenant_id: str, owner_id: str) -> int:
    """Bytes of all chunks of one owner, to which no other transaction adds before this one ends."""
    if current.dialect == "postgres":
        # Rows that refer to the user can be stored meanwhile.
        Rows(User, tenant_id).select(User.id).where(User.id == owner_id).for_update(
            "FOR NO KEY UPDATE").first()  # type: ignore[arg-type]
    sizes = Rows(JobChunk, tenant_id).select(pw.fn.SUM(JobChunk.size)).where(JobChunk.owner_id == owner_id)
    return int(sizes.scalar() or 0)


def add(tenant_id: str, job_id: str, owner_id: str, number: int, data: bytes) -> None:
    """Store one chunk. Raises `AlreadyExists`, `InvalidReference`, `Erased` for an owner who is erased."""
    if has_begun(owner_id):
        raise Erased(owner_id)
    Rows(JobChunk, tenant_id).insert(
        JobChunk(job_id=job_id, owner_id=owner_id, number=number, size=len(data), data=data))


def read(tenant_id: str, job_id: str, number: int) -> bytes | None:
    """The bytes of one chunk; None: it is not there."""
    found = Rows(JobChunk, tenant_id).find_by(job_id=job_id, number=number)
    return None if found is None else bytes(found.data)


def drop(tenant_id: str, job_id: str, most: int) -> int:
    """Delete up to `most` chunks of one job; how many."""
    rows = Rows(JobChunk, tenant_id)
    found = rows.select(JobChunk.id).where(JobChunk.job_id == job_id).limit(most)
    return sum(rows.discard(id=row.id) for row in found)


def is_unclaimed(tenant_id: str, job_id: str) -> bool:
    """Whether there is no such job."""
    return Rows(Job, tenant_id).find(job_id) is None


def publish(job: Job, rights: str) -> None:
    """Keep the file of a job for a while, for a caller with these `rights` (a digest); in its last transaction."""
    rows = Rows(Job, job.tenant_id)
    kept = rows.find(job.id)
    if kept is not None:
        kept.payload = orjson.dumps({**job.payload, "rights": rights}).decode()
        kept.expires_at = later(KEPT)
        rows.save(kept)


def is_over(expires_at: str) -> bool:
    """Whether a file is no longer kept."""
    return expires_at <= now()
