"""Hooks: functions of plugins that run as jobs, after a commit (`@on`) or by the clock (`@every`).

Each takes a `Task`. It runs outside of the request, without access rules, in one tenant. Its audit events have the
principal `system:<plugin>`.
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

    events  it runs after these events; `payload` has the `event` and the `ids` of at most 1000 rows
    every   seconds between two ticks, counted in UTC; `payload` has the `tick`; 0: it does not run by the clock
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
        """The kind of its jobs: module and name of the function."""
        return f"{self.handle.__module__}.{self.handle.__qualname__}"

    def run(self, task: Task) -> Any:
        """Runs one of its jobs. Returns the value of the function."""
        task.record_end = partial(self._record, task)  # set before, because the function itself may call `finish`
        # The function may also read rows outside of transactions.
        with task.services.database.connected():
            return self.handle(task)

    def _record(self, task: Task) -> None:
        facts = {"job": task.kind, "event": task.payload.get("event"), "count": len(task.payload.get("ids", ()))}
        add(tenant_id=task.tenant_id, principal=f"system:{self.name.partition('.')[0]}", role="system", action="run",
            resource="job", resource_id=task.id, result="allowed", reason=task.kind,
            facts=json.dumps(facts, separators=(",", ":")))


def on(*events: str) -> Callable[[Work], Hook]:
    """Declares a function that runs as a job after each commit of one of these events, such as `articles.created`.

    The events are `<collection>.created`, `.updated`, `.deleted`, and one for each action, such as `articles.publish`.
    An action is also an update. The function runs at least once for each commit. When it runs, the row may have changed
    again or be deleted. Raises TypeError without events.
    """
    if not events:
        raise TypeError("on() needs the name of an event, such as articles.created")

    def mark(handle: Work) -> Hook:
        return Hook(handle, events=events)

    return mark


def every(*, minutes: int = 0, hours: int = 0, days: int = 0) -> Callable[[Work], Hook]:
    """Declares a function that runs as a job once for each tick, in each tenant. Several missed ticks make one job.

    Raises ValueError for a period under a minute or over 366 days.
    """
    seconds = ((days * 24 + hours) * 60 + minutes) * 60
    if not SHORTEST <= seconds <= LONGEST:
        raise ValueError("every() takes minutes, hours or days: together a minute at least, and a year at most")

    def mark(handle: Work) -> Hook:
        return Hook(handle, every=seconds)

    return mark


def hooks_of(modules: Iterable[ModuleType]) -> Iterator[Hook]:
    """Yields the hooks that are variables of these modules, each once."""
    hooks = (value for module in modules for value in vars(module).values() if isinstance(value, Hook))
    yield from {id(hook): hook for hook in hooks}.values()


class Clock:
    """Creates the jobs of periodic hooks: one for each tick and tenant, even if several processes try."""

    def __init__(self, database: Database, hooks: Iterable[Hook]) -> None:
        self._database = database
        self._periodic = [hook for hook in hooks if hook.every]
        self._last_ticks: dict[str, str] = {}

    def strike(self) -> None:
        """Creates the jobs of the current ticks unless they exist."""
        for hook in self._periodic:
            tick = tick_of(hook.every, datetime.now(UTC))
            if self._last_ticks.get(hook.name) != tick:
                with self._database.connected():
                    tenants = [tenant.id for tenant in Tenant.all() if not Job.has_tick(tenant.id, hook.name, tick)]
                for tenant in tenants:
                    self._write(tenant, hook, tick)
                self._last_ticks[hook.name] = tick

    def _write(self, tenant_id: str, hook: Hook, tick: str) -> None:
        def work() -> None:
            enqueue(tenant_id, hook.name, {"tick": tick}, tick=tick)

        with suppress(AlreadyExists):  # another process created it
            self._database.transact(work)


def tick_of(seconds: int, moment: datetime) -> str:
    """Returns the last tick up to the moment, as RFC 3339 in UTC. Ticks are counted from 1970, every `seconds`."""
    return datetime.fromtimestamp(moment.timestamp() // seconds * seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
