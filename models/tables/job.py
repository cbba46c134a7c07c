"""Jobs: work that is stored in the transaction of its cause, and runs later, even after a crash."""

from __future__ import annotations

from typing import Any, NamedTuple

import orjson
import peewee as pw

from models.engine.database import Database
from models.records.columns import IdField, JsonField, ListField, TimeField
from models.records.rows import Rows, locked
from models.records.table import Record
from models.records.times import elapsed, now

MOST_ATTEMPTS = 5

WAITING, RUNNING, DONE, FAILED, CANCELLED = "waiting", "running", "done", "failed", "cancelled"
STATES = (WAITING, RUNNING, DONE, FAILED, CANCELLED)


class Job(Record):
    """One piece of work. The process that holds its lease runs it, until it is done, failed or cancelled.

    owner_id      the user who requested it; null for a job of the service or a plugin
    kind          name of the task that runs it, such as `articles.export`
    payload       JSON for the task
    scopes        of the token that requested it; null: not narrowed
    token_id      of that token, if it is a service token
    progress      number of rows done so far
    attempts      number of attempts so far, out of `max_attempts`
    run_at        earliest time of its start
    tick          of a periodic job: its scheduled time; unique for a kind in a tenant
    stopping      True if it was cancelled while it runs
    steps         names of the effects that were committed already
    lease         its holder, until `leased_until`: seconds of the lease's clock
    result        JSON: the outcome that its owner may see
    last_error    the last error, for operators
    expires_at    expiry of its file
    """

    owner_id = IdField(null=True)
    kind = pw.TextField()
    payload = JsonField(default="{}")
    scopes = ListField(null=True)
    token_id = IdField(null=True)
    state = pw.TextField(default=WAITING)
    progress = pw.IntegerField(default=0)
    attempts = pw.IntegerField(default=0)
    max_attempts = pw.IntegerField(default=MOST_ATTEMPTS)
    run_at = TimeField()
    tick = pw.TextField(null=True)
    stopping = pw.BooleanField(default=False)
    steps = ListField(default=list)
    lease = pw.TextField(null=True)
    leased_until = pw.DoubleField(null=True)
    result = JsonField(null=True)
    last_error = pw.TextField(null=True)
    expires_at = TimeField(null=True)
    done_at = TimeField(null=True)

    class Meta:
        table_name = "jobs"

    def stamp(self, tenant_id: str, at: str) -> None:
        super().stamp(tenant_id, at)
        self.run_at = self.run_at or at

    def begin_anew(self) -> None:
        """Resets the job, so that it waits as if it had never run. Committed steps stay."""
        self.state, self.attempts, self.progress = WAITING, 0, 0
        self.run_at, self.done_at, self.result = now(), None, None

    def call_off(self) -> bool:
        """Cancels a waiting job, or asks a running one to stop. Returns False, without a change, if it has ended."""
        if self.state == WAITING:
            self.state, self.done_at = CANCELLED, now()
        elif self.state == RUNNING:
            self.stopping = True
        else:
            return False
        return True

    @classmethod
    def by_id(cls, id: str, *, lock: bool = False) -> Job | None:
        """Returns a job. `lock`: no other transaction may change it before this one ends."""
        # Across tenants: for operators.
        query = cls.select().where(cls.id == id)
        return (locked(query) if lock else query).first()

    @classmethod
    def newest(cls, most: int, *, state: str | None = None, kind: str | None = None) -> list[Job]:
        """Returns the newest jobs, of this state or kind if given, without the columns that may be long: payload and
        result."""
        # Across tenants: for operators.
        columns = (cls.id, cls.state, cls.kind, cls.created_at, cls.attempts, cls.max_attempts, cls.last_error)
        query = cls.select(*columns).order_by(cls.created_at.desc(), cls.id.desc()).limit(most)
        for column, value in ((cls.state, state), (cls.kind, kind)):
            if value is not None:
                query = query.where(column == value)
        return list(query)

    @classmethod
    def has_tick(cls, tenant_id: str, kind: str, tick: str) -> bool:
        """True if there is a job of this kind for that tick."""
        return bool(Rows(cls, tenant_id).select(cls.id).where(cls.kind == kind, cls.tick == tick).exists())

    @property
    def notes_tick(self) -> bool:
        """True if this job has the last tick of its kind. Without its row, the tick would be scheduled again."""
        later = Rows(Job, self.tenant_id).select(Job.id).where(Job.kind == self.kind, Job.tick > self.tick)
        return self.tick is not None and not later.exists()

    @classmethod
    def purge(cls, before: str, most: int) -> int:
        # Across tenants: an old job is useless in any of them. The last one of its kind shows which tick is done.
        other = cls.alias()
        last = other.select(pw.fn.MAX(other.tick)).where(other.tenant_id == cls.tenant_id, other.kind == cls.kind)
        over = cls.select(cls.id).where(cls.done_at < before, cls.tick.is_null() | (cls.tick < last))
        return int(cls.delete().where(cls.id.in_(over.order_by(cls.done_at).limit(most))).execute())


def unfinished(tenant_id: str, owner_id: str) -> int:
    """Counts the jobs of one user that wait or run."""
    mine = Rows(Job, tenant_id).select(Job.id).where(Job.owner_id == owner_id, Job.state.in_([WAITING, RUNNING]))
    return int(mine.count())


class Backlog(NamedTuple):
    """Numbers of jobs, and the seconds for which the longest-waiting one has been due."""

    waiting: int
    running: int
    failed: int
    seconds: float


def backlog(database: Database) -> Backlog:
    """Returns the backlog of all tenants. Raises `Unavailable`, `TimedOut`."""
    with database.connected():
        return _backlog(now())


def _backlog(at: str) -> Backlog:
    # Across tenants: a process runs the jobs of all of them.
    states = Job.select(Job.state, pw.fn.COUNT(Job.id)).where(Job.state.in_([WAITING, RUNNING, FAILED]))
    counted: dict[str, int] = dict(list(states.group_by(Job.state).tuples()))  # type: ignore[arg-type]
    due = Job.select(pw.fn.MIN(Job.run_at)).where(Job.state == WAITING, Job.run_at <= at).scalar()
    waiting, running, failed = (counted.get(state, 0) for state in (WAITING, RUNNING, FAILED))
    return Backlog(waiting, running, failed, 0.0 if due is None else elapsed(due, at))


def enqueue(tenant_id: str, kind: str, payload: dict[str, Any], **columns: Any) -> Job:
    """Stores a job in the transaction of its cause. It starts after the commit.

    `columns` are others of `Job`. Raises `AlreadyExists` for a tick that the kind already has in this tenant.
    """
    job = Job(kind=kind, payload=orjson.dumps(payload).decode(), **columns)
    return Rows(Job, tenant_id).insert(job)
