"""A soak test: every kind of load at once for minutes, with a watch on growth: `make soak`.

`python -m tests.incidents.soak --minutes 15` serves an instance on each database at the same time, by granian
(SQLite) and by waitress (Postgres), or the other way round with `--turned`. Clients read, search, write, log in,
refresh, export and import. Rules are edited and backups made. Each half minute it measures memory, descriptors and
threads of the processes, the disk, the log, sessions and unsealed audit events. It prints a row every ten minutes.

It fails on a refusal or an error other than 503 `overloaded`, on growth after the first third (`--minutes 120`: on a
process that gains more than 5 MiB in the second hour), on a broken audit log, and on a finding of `gatepost doctor`.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.databases import Server, running_server
from tests.incidents.load import SERVERS
from tests.running import GATEPOST, PASSWORD, Instance, Served

MEMORY = 1.3  # factor since the end of the first third
HOUR = 5 << 20  # bytes that a process may gain in the second hour
DESCRIPTORS = 40  # more than then
LOG = 64 << 20  # bytes of SQLite's log: the limit at which it is cut
LOOK = 30.0  # seconds between two measurements
ROW = 600.0  # seconds between two printed rows, at most
WORDS = ("shore", "harbour", "lamp", "winter", "glass", "letter")


@dataclass
class Sight:
    """A measurement of a server's processes: `resident` has the bytes of each by process id."""

    minutes: float
    answers: int
    resident: dict[int, int]
    descriptors: int
    threads: int
    disk: int
    metrics: dict[str, float]

    @property
    def memory(self) -> int:
        return sum(self.resident.values())

    def __str__(self) -> str:
        each = " + ".join(f"{memory / (1 << 20):.1f}" for memory in self.resident.values())
        log = int(self.metrics.get("gatepost_database_log_bytes", 0))
        return (f"{self.minutes:5.1f} min  answers {self.answers}  memory {each} MiB  descriptors {self.descriptors}  "
                f"threads {self.threads}  disk {self.disk >> 20} MiB  log {log >> 20} MiB  "
                f"sessions {self.metrics.get('gatepost_sessions', 0):.0f}  "
                f"unsealed {self.metrics.get('gatepost_audit_unsealed_rows', 0):.0f}")


@dataclass
class Soak:
    """One instance under all loads at once."""

    name: str
    instance: Instance
    served: Served
    answers: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    sights: list[Sight] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)
    began: float = field(default_factory=time.monotonic)

    def run(self, minutes: float) -> None:
        """Runs all clients for that time, and measures at intervals."""
        token = [self.served.log_in()]
        works: list[Callable[[int], None]] = [
            *[lambda number: self._read(token[0], number)] * 2, *[lambda number: self._write(token[0], number)] * 2,
            lambda number: self._log_in(token, number), lambda number: self._move(token[0], number)]
        threads = [threading.Thread(target=self._repeat, args=(work,)) for work in works]
        threads.append(threading.Thread(target=self._repeat, args=(self._administer,)))
        for thread in threads:
            thread.start()
        until, row = time.monotonic() + minutes * 60, time.monotonic()
        while time.monotonic() < until and not self.ended.wait(min(LOOK, minutes * 20)):
            self.sights.append(self.look())
            if time.monotonic() >= row:
                print(f"{self.name}: {self.sights[-1]}", flush=True)
                row += min(ROW, minutes * 60 / 8)
        self.ended.set()
        for thread in threads:
            thread.join()
        self.sights.append(self.look())
        print(f"{self.name}: {self.sights[-1]}", flush=True)

    def look(self) -> Sight:
        """Measures the processes now."""
        pids = [self.served.process.pid, *_children(self.served.process.pid)]
        resident = {pid: int(_status(pid, "VmRSS")) << 10 for pid in pids}
        descriptors = sum(len(os.listdir(f"/proc/{pid}/fd")) for pid in pids)
        status, text = self._ask("/metrics", METRICS)
        found = {} if status != 200 else {line.rpartition(" ")[0]: float(line.rpartition(" ")[2])
                                          for line in text.splitlines() if line and not line.startswith("#")}
        files = sum(path.stat().st_size for path in self.instance.folder.glob("*.db*"))
        disk = files or int(found.get("gatepost_database_bytes", 0))
        return Sight((time.monotonic() - self.began) / 60, sum(self.answers.values()), resident, descriptors,
                     sum(int(_status(pid, "Threads")) for pid in pids), disk, found)

    def faults(self) -> list[str]:
        """Returns the errors. Called once the server has stopped."""
        first, last = self.sights[len(self.sights) // 3], self.sights[-1]
        found = list(self.wrong[:5])
        if last.memory > MEMORY * first.memory:
            found.append(f"memory grew from {first.memory >> 20} to {last.memory >> 20} MiB")
        hour = next((sight for sight in self.sights if sight.minutes >= 60), last)
        found += [f"process {pid} grew by {(memory - hour.resident[pid]) / (1 << 20):.1f} MiB in the second hour"
                  for pid, memory in last.resident.items() if memory - hour.resident.get(pid, memory) > HOUR]
        if last.descriptors > first.descriptors + DESCRIPTORS:
            found.append(f"descriptors grew from {first.descriptors} to {last.descriptors}")
        if last.metrics.get("gatepost_database_log_bytes", 0) > LOG:
            found.append("the log of the database did not restart")
        if last.metrics.get("gatepost_audit_unsealed_seconds", 0) > 60:
            found.append("audit rows have no seal")
        for command in (["audit", "verify"], ["doctor"], ["restore", "--verify", str(self._newest_backup())]):
            done = _command(self.instance, *command)
            if done.returncode != 0:
                found.append(f"gatepost {' '.join(command[:2])}: {done.stdout[-400:]} {done.stderr[-400:]}")
        return found

    def _newest_backup(self) -> Path:
        return max((self.instance.folder / "backups").glob("*.tar.gz"))

    def _repeat(self, work: Callable[[int], None]) -> None:
        for number in itertools.count():
            if self.ended.is_set():
                return
            try:
                work(number)
            except Exception:
                self.wrong.append(traceback.format_exc(limit=3))
                time.sleep(1)

    def _call(self, method: str, path: str, body: Any = None, token: str | None = None, **headers: str) -> Any:
        status, answer = self.served.call(method, path, body, token, {
            name.replace("_", "-"): value for name, value in headers.items()})
        self.answers[f"{method} {status}"] += 1
        if status >= 400 and not (status == 503 and answer.get("code") == "overloaded"):
            self.wrong.append(f"{method} {path}: {status} {answer}")
        return answer

    def _read(self, token: str, number: int) -> None:
        page = self._call("GET", "/api/articles?limit=20", token=token)
        while page.get("next_cursor") and random.random() < 0.7:
            page = self._call("GET", f"/api/articles?limit=20&cursor={page['next_cursor']}", token=token)
        self._call("GET", f"/api/articles?q={random.choice(WORDS)}", token=token)
        self._call("GET", "/api/audit?limit=5" if number % 10 == 0 else "/api/health", token=token)

    def _write(self, token: str, number: int) -> None:
        slug = f"soak-{random.getrandbits(64):x}"
        body = {"title": f"A {random.choice(WORDS)}", "slug": slug, "body": " ".join(random.choices(WORDS, k=40))}
        made = self._call("POST", "/api/articles", body, token, Idempotency_Key=slug)
        if "id" not in made:
            return  # the service was overloaded, and said so
        path = f"/api/articles/{made['id']}"
        self._call("PATCH", path, {"title": "Another"}, token, If_Match='"1"')
        self._call("POST", f"{path}/publish", None, token)
        # Delete what was created: otherwise exports grow, and with them their memory.
        self._call("DELETE", path, None, token)

    def _log_in(self, token: list[str], number: int) -> None:
        pair = self._call("POST", "/api/login", {"email": "admin@example.org", "password": PASSWORD})
        if "access_token" not in pair:
            return
        token[0] = pair["access_token"]
        self._call("POST", "/api/token/refresh", {"refresh_token": pair["refresh_token"]})
        time.sleep(1)

    def _move(self, token: str, number: int) -> None:
        self._take("export", "/api/articles/export", token)
        if number % 10 == 0:
            rows = "".join(json.dumps({"title": f"Moved {number}", "slug": f"moved-{row}", "body": "Text."}) + "\n"
                           for row in range(200))
            self._take("import", "/api/articles/import?key=slug", token, rows.encode(), "application/x-ndjson")
        time.sleep(2)

    def _take(self, what: str, path: str, token: str, body: bytes | None = None, kind: str = "") -> None:
        status, text = self._ask(path, token, body, kind)
        self.answers[f"{what} {status}"] += 1
        if status >= 400 and '"overloaded"' not in text:
            self.wrong.append(f"{what}: {status} {text[:200]}")

    def _administer(self, number: int) -> None:
        rules = self.instance.folder / "policies" / "articles.csv"
        text = rules.read_text(encoding="utf-8").removesuffix("# end\n")
        rules.write_text(f"{text.partition('# soak')[0]}# soak {number}\n# end\n", encoding="utf-8")
        if number % 6 == 0:
            done = _command(self.instance, "backup")
            if done.returncode != 0:
                self.wrong.append(f"backup: {done.stderr}")
        self.ended.wait(10)

    def _ask(self, path: str, token: str, body: bytes | None = None, kind: str = "") -> tuple[int, str]:
        headers = {"Authorization": f"Bearer {token}", **({"Content-Type": kind} if kind else {})}
        try:
            request = urllib.request.Request(self.served.url + path, body, headers)
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()


METRICS = "what-prometheus-knows"


def made(folder: Path, server: Server | None) -> Instance:
    """An instance with some rows."""
    environment = {"GATEPOST_RATE_LIMITS": "off", "GATEPOST_METRICS_TOKEN": METRICS}
    if server is not None:
        server.execute("CREATE DATABASE soaked TEMPLATE template0")
        environment["GATEPOST_DATABASE_URL"] = server.url("soaked")
    instance = Instance(folder / "instance", environment).made()
    assert instance.run("demo", "--articles", "2000").returncode == 0
    return instance


def soak(name: str, instance: Instance, minutes: float, found: dict[str, list[str]]) -> None:
    """Soaks one instance, prints a table, and puts the errors into `found`."""
    with instance.served(*SERVERS[name]) as served:
        threading.Thread(target=lambda: _drain(served), daemon=True).start()
        database = "Postgres" if "GATEPOST_DATABASE_URL" in instance.environment else "SQLite"
        one = Soak(f"{database}, {name}", instance, served)
        one.run(minutes)
    print(f"\n{one.name}: {sum(one.answers.values())} answers: "
          f"{', '.join(f'{number}× {what}' for what, number in sorted(one.answers.items()))}")
    found[one.name] = one.faults()
    print(f"  {'; '.join(found[one.name]) or 'nothing is wrong'}", flush=True)


def _command(instance: Instance, *arguments: str) -> subprocess.CompletedProcess[str]:
    # In a separate process, because other threads run commands, too.
    return subprocess.run([*GATEPOST, *arguments], env=instance.environ(), capture_output=True, text=True, check=False)


def _drain(served: Served) -> None:
    for _ in served.process.stderr or ():
        pass


def _children(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task").iterdir()
    found = [int(child) for task in tasks for child in (task / "children").read_text().split()]
    return [*found, *(each for child in found for each in _children(child))]


def _status(pid: int, name: str) -> str:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return line.split()[1]
    return "0"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=15.0)
    parser.add_argument("--turned", action="store_true", help="waitress on SQLite, granian on Postgres")
    options = parser.parse_args()
    first, second = ("waitress", "granian") if options.turned else ("granian", "waitress")
    found: dict[str, list[str]] = {}
    with running_server() as server, tempfile.TemporaryDirectory(prefix="gatepost-soak-") as folder:
        instances = {first: made(Path(folder) / first, None), second: made(Path(folder) / second, server)}
        both = [threading.Thread(target=soak, args=(name, one, options.minutes, found))
                for name, one in instances.items()]
        for thread in both:
            thread.start()
        for thread in both:
            thread.join()
    sys.exit(len(found) < 2 or any(found.values()))


if __name__ == "__main__":
    main()
