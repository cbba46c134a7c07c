"""Kills processes that run jobs, at every point of a job's life, and counts jobs lost and effects done twice:
`make bench-jobs`, or `python -m benchmarks.job_kills --kills 200 --jobs 1000 --seed 1 --server waitress`.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from random import Random

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.hostile import dying  # noqa: E402
from models.base import Rows  # noqa: E402
from models.engine.connect import open_database  # noqa: E402
from models.engine.database import Database  # noqa: E402
from models.tables.contact import ContactMessage  # noqa: E402
from models.tables.job import Job, enqueue  # noqa: E402
from models.tables.tenant import Tenant  # noqa: E402
from tests.databases import find_programs, running_server  # noqa: E402 - the tests' own server
from tests.running import Instance  # noqa: E402

# The arguments of each process. The processes of one instance run beside each other.
SERVERS: dict[str, tuple[tuple[str, ...], ...]] = {
    "waitress": (("serve", "--port", "0"),),
    "granian": (("serve", "--port", "0", "--workers", "2"),),
    "worker": (("worker",),),
    "postgres": (("serve", "--port", "0"), ("serve", "--port", "0")),
}
FAILING = 5  # jobs beside the others that fail each time
GIVEN_UP = 900.0  # seconds


@dataclass(frozen=True)
class Outcome:
    """Kills by point, jobs by state, effects not done exactly once, failing jobs by state and attempts."""

    kills: Counter[str]
    states: Counter[str]
    wrong: dict[str, int]
    failing: Counter[tuple[str, int]]

    def good(self, jobs: int) -> bool:
        return (self.states == {"done": jobs} and not self.wrong
                and self.failing == {("failed", 5): FAILING})


def campaign(instance: Instance, database: Database, commands: Sequence[Sequence[str]], *, jobs: int, kills: int,
             seed: int, each_point: bool = False) -> Outcome:
    """Runs `jobs` jobs in processes that kill themselves, `kills` times, and at last in processes that stay alive.

    `each_point`: take the points in turn, not at random.
    """
    log = instance.folder / "kills.log"
    log.touch()
    chance, points = Random(seed), cycle(dying.POINTS if each_point else [""])
    database.transact(lambda: _write_down(jobs))
    began = time.monotonic()
    while _killed(log).total() < kills and _left(database) and time.monotonic() - began < GIVEN_UP:
        deadly = {"DYING_SEED": str(chance.random()), "DYING_POINT": next(points), "DYING_LOG": str(log)}
        with _running(instance, commands, **deadly) as processes:
            while all(one.poll() is None for one in processes) and _left(database) and _killed(log).total() < kills:
                time.sleep(0.02)
    with _running(instance, commands):
        while _left(database) and time.monotonic() - began < GIVEN_UP:
            time.sleep(0.05)
    return _outcome(database, log, jobs)


def _write_down(jobs: int) -> None:
    tenant = Tenant.by_name("default")
    assert tenant is not None
    for number in range(jobs):
        enqueue(tenant.id, dying.work.name, {"number": number}, max_attempts=1000)
    for number in range(FAILING):
        enqueue(tenant.id, dying.fail.name, {"number": number})


@contextmanager
def _running(instance: Instance, commands: Sequence[Sequence[str]], **environment: str
             ) -> Iterator[list[subprocess.Popen[str]]]:
    environ = {**instance.environ(), **environment}
    python = [sys.executable, "-c", "from benchmarks.hostile.dying import main; main()"]
    with ExitStack() as stack:
        found = []
        for command in commands:
            process = subprocess.Popen([*python, *command], env=environ, cwd=ROOT, text=True, start_new_session=True,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            stack.callback(_end, process)
            found.append(process)
        yield found


def _end(process: subprocess.Popen[str]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, 9)
    process.wait()


def _killed(log: Path) -> Counter[str]:
    return Counter(log.read_text("utf-8").splitlines())


def _left(database: Database) -> bool:
    with database.connected():
        return Job.select().where(Job.state.in_(["waiting", "running"])).exists()


def _outcome(database: Database, log: Path, jobs: int) -> Outcome:
    with database.connected():
        tenant = Tenant.by_name("default")
        assert tenant is not None
        rows = Rows(Job, tenant.id)
        states = Counter(job.state for job in rows.select().where(Job.kind == dying.work.name))
        failing = Counter((job.state, job.attempts) for job in rows.select().where(Job.kind == dying.fail.name))
        done = Counter(row.subject for row in Rows(ContactMessage, tenant.id).select())
    expected = {f"{number} {step}" for number in range(jobs) for step in dying.STEPS}
    wrong = {name: done[name] for name in expected | set(done) if done[name] != 1}
    return Outcome(_killed(log), states, wrong, failing)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--server", choices=SERVERS, action="append", help="all but `worker` unless given")
    parser.add_argument("--jobs", type=int, default=1000)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    bad = False
    for name in asked.server or ("waitress", "granian", "postgres"):
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gatepost-jobs-")))
            url = f"sqlite:///{folder / 'instance' / 'gatepost.db'}"
            if name == "postgres":
                if find_programs() is None:
                    print("postgres: its programs are not installed")
                    continue
                server = stack.enter_context(running_server())
                server.execute("CREATE DATABASE jobs")
                url = server.url("jobs")
            instance = Instance(folder / "instance", {"GATEPOST_DATABASE_URL": url}).made()
            database = open_database(url, pool_size=4)
            stack.callback(database.close_all)
            began = time.monotonic()
            found = campaign(instance, database, SERVERS[name], jobs=asked.jobs, kills=asked.kills, seed=asked.seed)
            good = found.good(asked.jobs)
            bad |= not good
            print(f"{name}: {found.kills.total()} kills {dict(found.kills)}, jobs {dict(found.states)}, "
                  f"effects not done once: {len(found.wrong)}, failing jobs {dict(found.failing)}; seed {asked.seed}, "
                  f"{time.monotonic() - began:.0f} s: {'good' if good else 'WRONG'}", flush=True)
    sys.exit(bad)


if __name__ == "__main__":
    main()
