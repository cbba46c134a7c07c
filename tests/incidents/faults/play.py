"""Lets each fault happen to a service under load, and evaluates the effects: `make faults`.

A row for each fault and server has the answers to writes and reads during the fault, the output of the health check
and of `gatepost doctor`, the seconds from the end of the fault to the first successful write, and lost writes.

A row is red if

- an acknowledged write is lost, or the audit log or the database is damaged,
- an answer is a 5xx without a problem document, or a 5xx other than 503,
- health says ok although writes fail, or health or doctor do not name the fault,
- liveness fails, or the log contains a traceback,
- the service does not recover by itself.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from subprocess import TimeoutExpired
from time import monotonic, sleep

from models.engine.connect import open_database
from models.tables.article import Article
from tests.databases import Server, running_server
from tests.incidents.load import SERVERS
from tests.running import Instance

from .clients import Answer, Clients
from .disks import DISKS
from .fault import Fault, Place
from .files import FILES
from .instances import INSTANCES
from .machine import MACHINE
from .neighbours import NEIGHBOURS

FAULTS = (*DISKS, *FILES, *MACHINE, *INSTANCES, *NEIGHBOURS)
LASTS = 7.0  # seconds of a fault
MORE = 0.0  # seconds that a fault may last longer, until health names it
BACK = 40.0  # seconds within which a write succeeds again
LONGEST = 10.0  # seconds that an answer may take
TOLD = 3000  # characters of a traceback
STATEMENT = 2  # seconds: the setting `statement_timeout` here


@dataclass
class Row:
    """The effects of one fault on one server."""

    fault: Fault
    server: str
    start: str = ""
    seen: Counter[str] = field(default_factory=Counter)
    longest: float = 0.0
    health: str = ""
    doctor: list[str] = field(default_factory=list)
    back: float | None = None
    acknowledged: int = 0
    red: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        seen = ", ".join(f"{number}× {what}" for what, number in self.seen.most_common())
        back = "never" if self.back is None else f"{self.back:.1f} s"
        lines = [f"{self.fault.name} ({self.server}): {'RED' if self.red else 'good'}",
                 f"    clients  {seen or 'nothing is served'}; longest {self.longest:.1f} s; good again after {back}; "
                 f"{self.acknowledged} acknowledged"]
        if self.start:
            lines.append(f"    start    {self.start[:300]}")
        lines.append(f"    health   {self.health or 'no answer'}")
        lines += [f"    doctor   {line[:200]}" for line in self.doctor[:3]]
        return "\n".join([*lines, *(f"    RED      {why}" for why in self.red)])


def play(fault: Fault, place: Place) -> Row:
    """Lets a fault happen to the instance of `place`."""
    row = Row(fault, place.server)
    with ExitStack() as around:
        if fault.prepare is not None:
            around.enter_context(fault.prepare(place))
        around.callback(place.end, kill=True)
        row.start = place.start()
        if row.start:
            row.red.append("does not even start without the fault")
            return row
        clients = Clients(place)
        clients.log_in()
        with clients.asking():
            _until(lambda: len(clients.created) >= 10)
            _happen(fault, place, clients, row)
        try:
            place.end()
        except TimeoutExpired:
            row.red.append("the service does not stop")
        _check(fault, place, clients, row)
        row.red += _lost(fault, place, clients)
    return row


def _happen(fault: Fault, place: Place, clients: Clients, row: Row) -> None:
    """Lets the fault happen and end."""
    if fault.stopped or fault.killed:
        place.end(kill=fault.killed)
    with fault.happen(place):
        began = monotonic()
        if fault.stopped or fault.killed:
            row.start = place.start()
        row.doctor = place.doctor()
        sleep(max(0.0, began + LASTS - monotonic()))
        _until(lambda: not _check_reports(fault, _told(clients, began), row.doctor), MORE)
        ended = monotonic()
        if fault.restarted:
            place.end(kill=True)
        elif fault.starts and fault.health != "ok":
            place.end()
    if fault.restarted and (said := place.start()):
        row.red.append(f"does not start again after the fault: {said}")
        return
    if fault.stopped and place.process is None and (said := place.start()):
        row.red.append(f"does not start after the fault: {said}")
        return
    if fault.killed and place.process is None and (said := place.start()):
        row.red.append(f"does not start after the fault: {said}")
        return
    since = monotonic()
    _until(lambda: clients.succeeded_since(ended) is not None, BACK)
    good = clients.succeeded_since(ended)
    row.back = None if good is None else max(0.0, good - since)
    if good is not None:
        sleep(1)
    during = clients.between(began, ended, "write", "read")
    row.seen = Counter(f"{one.kind} {one.status or 'no answer'}{f' {one.said}' if one.said else ''}" for one in during)
    row.longest = max((one.ended - one.began for one in during), default=0.0)
    told = _told(clients, began, ended)
    row.health = "" if not told else f"{told[-1].said} ({', '.join(sorted(told[-1].checks)) or 'all is well'})"
    row.red += _check_reports(fault, told, row.doctor)
    if not (fault.unserved or row.start or fault.stopped or fault.killed):
        # Requests in progress when the service was stopped have no answer.
        bad = [one for one in clients.between(began, ended, "live")
               if one.status != 200 and (one.status != 0 or one.ended < ended)]
        if bad:
            row.red.append(f"liveness fails {len(bad)} times: {bad[0].status} {bad[0].said}")
    if row.back is None:
        row.red.append(f"no write succeeds within {BACK:.0f} s after the fault")


def _told(clients: Clients, began: float, ended: float = inf) -> list[Answer]:
    """Returns the answers of health between these moments."""
    return [one for one in clients.between(began, ended, "health") if one.said]


def _check_reports(fault: Fault, told: Sequence[Answer], doctor: Sequence[str]) -> list[str]:
    """Checks that health and doctor name the fault."""
    red = []
    # Each worker finds out for itself.
    last = told[-3:] if fault.health != "ok" else told[-1:]
    if fault.health and told and fault.health not in (one.said for one in last):
        red.append(f"health says {told[-1].said}, not {fault.health}")
    if fault.check and told and not any(fault.check in one.checks for one in last):
        red.append(f"health does not name {fault.check}")
    if fault.doctor and not doctor:
        red.append("doctor finds nothing")
    if not fault.doctor and fault.health == "ok" and doctor and not fault.postgres:
        red.append("doctor finds something that is none")
    return red


def _check(fault: Fault, place: Place, clients: Clients, row: Row) -> None:
    """Checks what must be true of every fault."""
    row.acknowledged = len(clients.created)
    row.red += clients.broken
    for one in clients.answers:
        if one.status >= 500 and (one.status != 503 or one.said == "no problem document"):
            row.red.append(f"{one.kind} is answered {one.status} {one.said}")
            break
        if one.status == 0 and not (fault.unserved or fault.stopped or fault.killed or fault.restarted):
            row.red.append(f"{one.kind} gets no answer")
            break
    if row.longest > LONGEST and not fault.unserved:
        row.red.append(f"an answer takes {row.longest:.1f} s")
    if lies := clients.lies():
        row.red.append(f"{lies[-1]} ({len(lies)} times)")
    logged = place.log.read_text(encoding="utf-8", errors="replace")
    if "Traceback" in logged:
        row.red.append(f"there is a traceback in the log: {logged[logged.index('Traceback'):][:TOLD]}")


def _lost(fault: Fault, place: Place, clients: Clients) -> list[str]:
    """Returns lost acknowledged writes, and other losses of the database."""
    url = place.instance.environment.get("GATEPOST_DATABASE_URL", f"sqlite:///{place.database}")
    database = open_database(url, pool_size=1, synchronous="normal", statement_timeout=30)
    try:
        with database.connected():
            kept = {row.slug for row in Article.select(Article.slug)}
        damage = database.examine(10)
    finally:
        database.close_all()
    found = [] if damage is None else [f"the database is not whole: {damage}"]
    if (lost := set(clients.created) - kept) and not fault.loses:
        found.append(f"{len(lost)} of {len(clients.created)} acknowledged writes are lost")
    done = place.instance.run("audit", "verify")
    if done.returncode != 0:
        found.append(f"the trail is not whole: {done.stdout[-300:]}{done.stderr[-300:]}")
    return found


def _until(holds: Callable[[], bool], seconds: float = 20.0) -> None:
    deadline = monotonic() + seconds
    while not holds() and monotonic() < deadline:
        sleep(0.02)


class Ground:
    """New instances, copied from one on each database. Postgres runs only if a fault needs it."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folder, self._stack = folder, stack
        self._postgres: Server | None = None
        self._templates: dict[bool, Instance] = {}
        self._number = 0

    @contextmanager
    def place(self, fault: Fault, server: str) -> Iterator[Place]:
        """Yields a place where the fault can happen, and deletes it at the end."""
        self._number += 1
        template = self._template(postgres=fault.postgres)
        here = self._folder / str(self._number)
        environment = dict(template.environment)
        shutil.copytree(template.folder, here / "instance", symlinks=True)
        postgres = self._postgres if fault.postgres else None
        if postgres is not None:
            name = f"fault_{self._number}"
            postgres.execute(f"CREATE DATABASE {name} TEMPLATE faultless")
            postgres.execute(f"ALTER DATABASE {name} SET synchronous_commit = on")
            environment["GATEPOST_DATABASE_URL"] = postgres.url(name)
        try:
            yield Place(Instance(here / "instance", environment), server, postgres)
        finally:
            shutil.rmtree(here, ignore_errors=True)

    def _template(self, *, postgres: bool) -> Instance:
        if postgres not in self._templates:
            environment = {"GATEPOST_RATE_LIMITS": "off", "GATEPOST_STATEMENT_TIMEOUT": str(STATEMENT)}
            if postgres:
                self._postgres = self._stack.enter_context(running_server())
                self._postgres.execute("CREATE DATABASE faultless TEMPLATE template0")
                environment["GATEPOST_DATABASE_URL"] = self._postgres.url("faultless")
            folder = self._folder / ("postgres" if postgres else "sqlite")
            made = Instance(folder, environment).made()
            assert made.run("demo", "--articles", "300").returncode == 0
            self._templates[postgres] = made
        return self._templates[postgres]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", default=[""], help="faults by the beginning of their names")
    parser.add_argument("--servers", nargs="*", choices=SERVERS, default=list(SERVERS))
    options = parser.parse_args()
    began, red, number = monotonic(), 0, 0
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gatepost-faults-")))
        ground = Ground(folder, stack)
        for fault in FAULTS:
            if not any(fault.name.startswith(begin) for begin in options.only):
                continue
            if fault.missing:
                print(f"{fault.name}: NOT TRIED, {fault.needs} is not installed", flush=True)
                continue
            for server in options.servers:
                if server in fault.servers:
                    with ground.place(fault, server) as place:
                        row = play(fault, place)
                    print(row, flush=True)
                    number, red = number + 1, red + bool(row.red)
    if not number:
        sys.exit(f"no fault has a name that begins with {' or '.join(options.only)}")
    print(f"{number} rows of {len(FAULTS)} faults, {red} of them red, in {(monotonic() - began) / 60:.0f} minutes")
    sys.exit(bool(red))


if __name__ == "__main__":
    main()
