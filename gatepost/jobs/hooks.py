"""What a plugin has done for it as jobs: `@on` after a commit, `@every` by the clock.

Each is a function that takes a `Task`. It runs outside of the request and of the policy, in one tenant, and its rows in
the audit trail name it `system:<plugin>`.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Any

from models.engine.errors import AlreadyExists
from models.tables.audit import add
from models.tables.job import Job, enqueue
from models.tables.tenant import Tenant

from .task import Task, Work

if TYPE_CHECKING:
    from models.engine.database import Database

SHORTEST, LONGEST = 60, 366 * 24 * 3600  # seconds between two ticks


@dataclass(frozen=True, eq=False)
class Hook:
    """A function of a plugin that runs as a job.

    events  the events after which it runs: `payload` has the `event` and the `ids` of at most 1000 rows
    every   seconds from tick to tick, on the clock of UTC: `payload` has the `tick`; 0: not by the clock
    """

    handle: Work
    events: tuple[str, ...] = ()
    every: int = 0

    def __post_init__(self) -> None:
        try:
            inspect.signature(self.handle).bind(None)
        except TypeError:
            raise TypeError(f"{self.name} must take one argument, the task") from None

    def __call__(self, task: Task) -> Any:
        return self.handle(task)

    @property
    def name(self) -> str:
        """Of its jobs: the kind."""
        return f"{self.handle.__module__}.{self.handle.__qualname__}"

    def run(self, task: Task) -> Any:
        """Run one of its jobs."""
        task.trail = partial(self._record, task)  # also where the function itself calls `finish`
        # A function reads rows where it likes, not in transactions alone.
        with task.services.database.connected():
            return self.handle(task)

    def _record(self, task: Task) -> None:
        facts = {"job": task.kind, "event": task.payload.get("event"), "count": len(task.payload.get("ids", ()))}
        add(tenant_id=task.tenant_id, principal=f"system:{self.name.partition('.')[0]}", role="system", action="run",
            resource="job", resource_id=task.id, result="allowed", reason=task.kind,
            facts=json.dumps(facts, separators=(",", ":")))


def on(*events: str) -> Callable[[Work], Hook]:
    """Run a function as a job after each commit of one of these events, such as `articles.created`.

    There are `<collection>.created`, `.updated` and `.deleted`, and one for each action, `articles.publish`, which is
    an update, too. It runs at least once for each commit; a row may have changed again, or be gone, by then.
    """
    if not events:
        raise TypeError("on() needs the name of an event, such as articles.created")

    def mark(handle: Work) -> Hook:
        return Hook(handle, events=events)

    return mark


def every(*, minutes: int = 0, hours: int = 0, days: int = 0) -> Callable[[Work], Hook]:
    """Run a function as a job once for each tick, in each tenant; ticks that were missed are made up for by one."""
    seconds = ((days * 24 + hours) * 60 + minutes) * 60
    if not SHORTEST <= seconds <= LONGEST:
        raise ValueError("every() takes minutes, hours or days: together a minute at least, and a year at most")

    def mark(handle: Work) -> Hook:
        return Hook(handle, every=seconds)

    return mark


def hooks_of(modules: Iterable[ModuleType]) -> Iterator[Hook]:
    """The hooks that stand at the level of these modules, each once."""
    found = (one for module in modules for one in vars(module).values() if isinstance(one, Hook))
    yield from {id(one): one for one in found}.values()


class Clock:
    """Writes down the jobs of periodic hooks: one for each tick and tenant, whichever processes try."""

    def __init__(self, database: Database, hooks: Iterable[Hook]) -> None:
        self._database = database
        self._periodic = [hook for hook in hooks if hook.every]
        self._seen: dict[str, str] = {}

    def strike(self) -> None:
        """Write down the jobs of the ticks that have come, unless that was done."""
        for hook in self._periodic:
            tick = tick_of(hook.every, datetime.now(UTC))
            if self._seen.get(hook.name) != tick:
                with self._database.connected():
                    tenants = [tenant.id for tenant in Tenant.all() if not Job.has_tick(tenant.id, hook.name, tick)]
                for tenant in tenants:
                    self._write(tenant, hook, tick)
                self._seen[hook.name] = tick

    def _write(self, tenant_id: str, hook: Hook, tick: str) -> None:
        def work() -> None:
            enqueue(tenant_id, hook.name, {"tick": tick}, tick=tick)

        with suppress(AlreadyExists):  # another process was quicker
            self._database.transact(work)


def tick_of(seconds: int, moment: datetime) -> str:
    """The last tick that is not later than the moment (RFC 3339, UTC): ticks are counted from 1970."""
    return datetime.fromtimestamp(moment.timestamp() // seconds * seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
