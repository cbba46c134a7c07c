"""`gatepost` with jobs whose process kills itself (SIGKILL) at a point of their life, for `benchmarks.job_kills`.

Each job has three effects: a row of contact messages by each of two steps, and one by its end. The environment says how
it goes:

    DYING_SEED   seed, with the process id, of the random point and the number of jobs before it; empty: it does not die
    DYING_POINT  always this point
    DYING_LOG    a file that gets a line with the point of each kill
"""

from __future__ import annotations

import os
import random
import signal
import time
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from app import create_app
from gatepost.jobs import runner
from gatepost.jobs.hooks import on
from gatepost.jobs.runner import Runner
from gatepost.jobs.task import Task
from gatepost_start.command import cli
from models.tables import job_queue
from models.tables.contact import ContactMessage

POINTS = ("after the claim", "in mid effect", "after the effect", "while renewing")
LEASE = 0.9  # seconds
STEPS = ("first", "second", "end")


class Death:
    """The moment when this process kills itself: after some jobs, at a point."""

    def __init__(self) -> None:
        self._process = 0

    def at(self, point: str) -> None:
        """Called at each point."""
        if not os.environ.get("DYING_SEED"):
            return
        if self._process != os.getpid():  # also after a fork
            self._process = os.getpid()
            chance = random.Random(f"{os.environ['DYING_SEED']} {self._process}")
            self._point = os.environ.get("DYING_POINT") or chance.choice(POINTS)
            self._left = chance.randint(1, 1 if os.environ.get("DYING_POINT") else 8)
        if point == "after the claim":
            self._left -= 1
        if self._left <= 0 and point == self._point:
            with Path(os.environ["DYING_LOG"]).open("a", encoding="utf-8") as log:
                log.write(f"{point}\n")
            os.kill(os.getpid(), signal.SIGKILL)

    @property
    def waits(self) -> bool:
        """True if a job must last until its lease is renewed."""
        return bool(os.environ.get("DYING_SEED")) and self._left <= 0 and self._point == "while renewing"


death = Death()


def effect(task: Task, step: str) -> None:
    task.rows(ContactMessage).insert(ContactMessage(
        name="job", email="job@example.org", subject=f"{task.payload['number']} {step}", body="done"))
    death.at("in mid effect")


@on("articles.created")  # written down by the campaign itself
def work(task: Task) -> None:
    for step in STEPS[:2]:
        task.once(step, partial(effect, task, step))
    if death.waits:
        time.sleep(LEASE)
    death.at("after the effect")
    task.finish(partial(effect, task, STEPS[2]))


@on("articles.updated")
def fail(task: Task) -> None:
    raise TimeoutError("no answer")


def plugin() -> ModuleType:
    """A module with these hooks."""
    made = ModuleType("dying")
    made.__file__ = __file__
    vars(made).update(work=work, fail=fail)
    return made


def patch() -> None:
    """Makes this process die at the points of a job, with short leases and short pauses between attempts."""
    kept: Any = Runner.__init__
    kept.__kwdefaults__["seconds"] = LEASE
    runner.SOONEST, runner.POLL = 0.02, 0.1
    claim, renew = Runner._claim, job_queue.renew

    def claims(self: Runner) -> Any:
        job = claim(self)
        if job is not None:
            death.at("after the claim")
        return job

    def renews(*given: Any) -> bool:
        held = renew(*given)
        death.at("while renewing")
        return held

    Runner._claim, job_queue.renew = claims, renews  # type: ignore[method-assign]


def main() -> None:
    """A `gatepost` command with the plugin."""
    dying = plugin()
    patch()
    cli(obj=lambda config=None, **options: create_app(config, [dying], **options))
