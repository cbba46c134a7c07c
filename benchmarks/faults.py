"""What clients notice of faults around a server: `make faults`.

`--before COMMIT` tries that commit, too, and shows both. Clients ask every 50 ms for the liveness probe (with a token),
for a page and for a write while the fault lasts.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from time import sleep

from benchmarks.hostile.faults import FAULTS, Fault
from benchmarks.hostile.honest import Honest, asking
from benchmarks.hostile.incidents import INCIDENTS
from benchmarks.hostile.server import JSON, ROOT, SERVERS, Checkout, checked_out, end
from tests.databases import Server, running_server

LIVE = 0.1  # seconds that 99 % of the answers to the liveness probe may take
STATEMENT = 2.0  # seconds: the setting `statement_timeout` here
# What a request may take at most: a statement and its grace, a free connection, a new connection; then some room.
DEADLINE = {True: STATEMENT + 1 + 2 + 3 + 0.5, False: 5 + 0.5}


@dataclass(frozen=True)
class Seen:
    """What clients saw while a fault lasted: seconds, and how the requests were answered."""

    live: float
    page: float
    longest: float
    answers: Counter[int]
    stop: float
    live_answers: Counter[int]

    def good(self, fault: Fault) -> bool:
        return self.live < LIVE and set(self.live_answers) == {200} and self.longest < DEADLINE[fault.postgres]

    def __str__(self) -> str:
        said = ", ".join(f"{number}× {status or 'none'}" for status, number in self.answers.most_common())
        return (f"{self.live * 1000:>6.0f} ms {self.page * 1000:>6.0f} ms {self.longest:>7.1f} s {self.stop:>6.1f} s  "
                f"{said}")


def observe(checkout: Checkout, server: str, fault: Fault, postgres: Server | None, seconds: float) -> Seen:
    """Let it happen to one server; what clients saw meanwhile, and how long the server took to stop during it."""
    with checkout.served(server) as served:
        bearer = {"Authorization": f"Bearer {served.token()}"}
        live = Honest(served.port, "/api/health/live", bearer)
        page = Honest(served.port, "/api/articles?limit=1", bearer)
        write = Honest(served.port, "/api/articles", {**bearer, **JSON}, "POST",
                       '{"title": "A fault", "slug": "a-fault", "body": "Words."}')
        with fault.happen(checkout, postgres):
            with asking(live, page, write):
                sleep(seconds)
            stop = end(served.process, patience=40)
        waits = live.waits + page.waits + write.waits
        return Seen(live.quantile(0.99), page.quantile(0.99), max(waits), Counter(page.statuses + write.statuses), stop,
                    Counter(live.statuses))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--before", metavar="COMMIT", help="try this commit, too")
    parser.add_argument("--seconds", type=float, default=8.0, help="of each fault")
    parser.add_argument("--only", nargs="*", default=[*FAULTS, *INCIDENTS], help="by the beginning of their names")
    parser.add_argument("--servers", nargs="*", choices=SERVERS, default=list(SERVERS))
    options = parser.parse_args()

    def chosen(name: str) -> bool:
        return any(name.startswith(begin) for begin in options.only)

    good = True
    with checked_out(options.before) as old:
        folders = {"before": old} if options.before else {}
        folders["now"] = ROOT
        faults = [fault for name, fault in FAULTS.items() if chosen(name)]
        if faults:
            print(f"{'':30} {'':8} {'':6} {'live':>9} {'page':>9} {'longest':>9} {'stop':>8}  pages and writes")
        for fault in faults:
            good &= run(fault, folders, options.servers, options.seconds)
        for name, incident in INCIDENTS.items():
            if chosen(name):
                for version, folder in folders.items():
                    with instance(folder, None) as checkout:
                        print(f"{name:30} {'':8} {version:6} {incident(checkout)}", flush=True)
    sys.exit(not good)


def run(fault: Fault, folders: dict[str, Path], servers: Sequence[str], seconds: float) -> bool:
    """Print the rows of one fault; whether it is good in this checkout."""
    good = True
    with running_server() if fault.postgres else nullcontext() as postgres:
        for server in servers:
            for version, folder in folders.items():
                with instance(folder, postgres) as checkout:
                    seen = observe(checkout, server, fault, postgres, seconds)
                verdict = "" if version == "before" or seen.good(fault) else "  <- not good"
                good = good and not verdict
                print(f"{fault.name:30} {server:8} {version:6} {seen}{verdict}", flush=True)
    return good


@contextmanager
def instance(folder: Path, postgres: Server | None) -> Iterator[Checkout]:
    """A fresh instance, made by the code in `folder`, on SQLite or on a database of its own."""
    with tempfile.TemporaryDirectory(prefix="gatepost-faults-") as place:
        settings = {"GATEPOST_RATE_LIMITS": "off", "GATEPOST_STATEMENT_TIMEOUT": str(STATEMENT)}
        if postgres is not None:
            name = f"fault_{Path(place).name[-8:].lower()}"
            postgres.execute(f"CREATE DATABASE {name} TEMPLATE template0")
            # A session waits for the standby only if it waits for its own commit.
            postgres.execute(f"ALTER DATABASE {name} SET synchronous_commit = on")
            settings["GATEPOST_DATABASE_URL"] = postgres.url(name)
        checkout = Checkout(folder, Path(place) / "instance", settings)
        checkout.make(100)
        yield checkout


if __name__ == "__main__":
    main()
