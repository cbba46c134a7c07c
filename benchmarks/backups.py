"""A backup under eight writers, and its restore: `make bench-backup`.

Prints for each database and server the duration of the backup, the longest answer to a writer before and during the
backup, and the contents of the restored instance. Checks that no acknowledged write is lost.
"""

from __future__ import annotations

import argparse
import http.client
import subprocess
import sys
import tempfile
import time
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from tests.databases import Server, running_server
from tests.incidents.load import SERVERS, Load, kept
from tests.running import GATEPOST, Instance

WRITERS = 8


@dataclass
class Timed(Load):
    """Writers that record the time and the duration of each answer in seconds."""

    waits: list[tuple[float, float]] = field(default_factory=list)

    def _create(self, connection: http.client.HTTPConnection, slug: str) -> None:
        began = time.monotonic()
        super()._create(connection, slug)
        self.waits.append((began, time.monotonic() - began))

    def between(self, start: float, end: float) -> list[float]:
        """Returns the seconds of the writes that were active in that period."""
        return [took for began, took in self.waits if began + took > start and began < end]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--articles", type=int, default=50_000)
    parser.add_argument("--servers", nargs="*", choices=SERVERS, default=list(SERVERS))
    options = parser.parse_args()
    good = True
    for postgres in (False, True):
        with running_server() if postgres else nullcontext() as server:
            for name in options.servers:
                with tempfile.TemporaryDirectory(prefix="gatepost-backup-") as folder:
                    good &= run(Path(folder), name, server, options.articles)
    sys.exit(not good)


def run(folder: Path, name: str, server: Server | None, articles: int) -> bool:
    """Backs up, restores and compares. Returns True if nothing is lost."""
    settings = {"GATEPOST_RATE_LIMITS": "off", **_database(server, f"made_{name}")}
    instance = Instance(folder / "instance", settings).made()
    assert instance.run("demo", "--articles", str(articles)).returncode == 0
    archive = folder / "a.tar.gz"
    with instance.served(*SERVERS[name]) as service, Timed(service, service.log_in(), clients=WRITERS) as load:
        time.sleep(5)
        before, started = set(load.created), time.monotonic()
        done = subprocess.run([*GATEPOST, "backup", str(archive)], env=instance.environ(), capture_output=True,
                              text=True, check=True)
        ended = time.monotonic()
        time.sleep(1)
    quiet, busy = load.between(0, started), load.between(started, ended)
    print(f"{'Postgres' if server else 'SQLite'}, {name}, {articles} articles, {WRITERS} writers: the command took "
          f"{ended - started:.1f} s; answers to writers before p50 {median(quiet) * 1000:.1f} ms, longest "
          f"{max(quiet) * 1000:.0f} ms; meanwhile p50 {median(busy) * 1000:.1f} ms, longest {max(busy) * 1000:.0f} ms; "
          f"other statuses {sorted(set(load.others))}")
    for line in done.stdout.splitlines()[:3]:
        print(f"    {line}")
    other = Instance(folder / "other", _database(server, f"restored_{name}"))
    began = time.monotonic()
    restored = other.run("restore", str(archive))
    assert restored.returncode == 0, restored.stderr
    took = time.monotonic() - began
    with other.served() as service:
        found = kept(service, service.log_in(), "load")
    lost, whole = before - found, other.run("audit", "verify").returncode == 0
    print(f"    restored in {took:.1f} s: {len(found)} of {len(load.created)} acknowledged rows, {len(lost)} of the "
          f"{len(before)} from before the backup are lost, audit log {'whole' if whole else 'BROKEN'}, login 200",
          flush=True)
    return not lost and whole and found <= set(load.created)


def _database(server: Server | None, name: str) -> dict[str, str]:
    if server is None:
        return {}
    server.execute(f"CREATE DATABASE {name} TEMPLATE template0")
    return {"GATEPOST_DATABASE_URL": server.url(name)}


if __name__ == "__main__":
    main()
