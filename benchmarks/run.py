"""Requests a second of the whole service, beside its peers when asked: `make bench`, `make bench PEERS=1 POSTGRES=1`.

Authentication, policy, tracing, metrics and audit are on; rate limits are off, and no commit waits for the
disk. Every contender has the same articles and the same caller, who may see what is published or their own. `wrk`
asks them turn by turn, so that a noisy machine is noisy for all. Prints medians, and their ratios to a reference: the
last contender of a table, or what is named. More options go through make as BENCH_ARGS="--seconds 5 --plot".
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from benchmarks import bars
from benchmarks.contenders import LOGINS, Contender, Gatepost, copy_instance, deep, make_instance, serve
from benchmarks.load import Measure, measure, require_wrk
from benchmarks.long_policy import lengthen
from benchmarks.pocketbase import PocketBase, install

RUNS = 3
PICTURE = Path(__file__).with_name("speed.svg")
LONG_POLICY = ("item", "page of 20")  # its workload: no other one evaluates the policy more often
Workloads = Mapping[str, Measure]
Medians = Mapping[str, float]


def main() -> None:
    options = _options()
    require_wrk()
    print(f"{options.articles:,} articles, deep page from row {deep(options.articles):,}; medians of {RUNS} × "
          f"{options.seconds} s of wrk -t1 -c16, logins -c{LOGINS}", flush=True)
    with tempfile.TemporaryDirectory(prefix="gatepost-bench-") as folder:
        medians = on_sqlite(Path(folder), options)
        if options.postgres:
            on_postgres(Path(folder), options)
    if options.plot:
        below = f"{options.articles:,} articles; deep page: from row {deep(options.articles):,}"
        PICTURE.write_text(bars.draw("Requests a second", below, medians), encoding="utf-8")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--articles", type=int, default=200_000, metavar="N", help="how many there are (200000)")
    parser.add_argument("--seconds", type=int, default=2, metavar="N", help=f"of each of the {RUNS} runs (2)")
    parser.add_argument("--only", action="append", metavar="WORKLOAD",
                        help="of the first column, without the export; may be repeated")
    parser.add_argument("--policy-lines", type=int, default=5_000, metavar="N",
                        help="of the policy that is held against the shipped one (5000); 0 leaves that out")
    parser.add_argument("--peers", action="store_true", help="also PocketBase, installed into a scratch environment")
    parser.add_argument("--postgres", action="store_true",
                        help="also on a Postgres started for the run, beside the page's statement without the service")
    parser.add_argument("--plot", action="store_true", help=f"also draw benchmarks/{PICTURE.name}")
    return parser.parse_args()


def on_sqlite(folder: Path, options: argparse.Namespace) -> Mapping[str, Medians]:
    """The main table, and the one of the long policy; the medians of the main one, by workload and contender."""
    first = make_instance(folder / "first", options.articles)

    def server(name: str, command: Sequence[str]) -> Gatepost:
        return Gatepost(name, copy_instance(first, folder / name.replace(" ", "-")), options.articles, command)

    contenders: list[Contender] = [
        server("waitress ×1", serve()), server("granian ×1", serve(workers=1)),
        server("granian ×2", serve(workers=2))]
    if options.peers:
        peer = PocketBase(install(folder / "peer"), folder / "peer-data", first / "gatepost.db")
        peer.prepare()
        contenders.append(peer)
    names = [one.name for one in contenders]
    with running(contenders) as startup:
        asked = {one.name: workloads(one, options.only) for one in contenders}
        medians = table("requests/s", asked, options.seconds, dict.fromkeys(names[:-1], names[-1]))
        about(contenders, startup, export=not options.only)
    only = [name for name in LONG_POLICY if name in (options.only or LONG_POLICY)]
    if options.policy_lines and only:
        # Both are new, so that writes to the others make no difference.
        short, long = server("as shipped", serve(workers=2)), server("long policy", serve(workers=2))
        long.name = f"{lengthen(long.instance / 'policies', options.policy_lines):,} lines"
        with running([long, short]):
            asked = {one.name: workloads(one, only) for one in (long, short)}
            table("policy, granian ×2", asked, options.seconds, {long.name: short.name})
    return medians


def on_postgres(folder: Path, options: argparse.Namespace) -> None:
    """The table of Postgres, where the reference is the page's own statement, run by psycopg and nothing else."""
    # It imports the tests' Postgres server, and pytest with it.
    from benchmarks import postgres

    workers = (1, 2)
    with postgres.prepared(folder, options.articles, workers) as servers, running(servers) as startup:
        with ExitStack() as open_pools:
            asked: dict[str, Workloads] = {one.name: workloads(one, options.only) for one in servers}
            references = {}
            for one, number in zip(servers, workers, strict=True):
                references[one.name] = f"psycopg ×{number}"
                asked[f"psycopg ×{number}"] = {
                    "page of 20": open_pools.enter_context(postgres.bare(one, number))}
            table("on Postgres", asked, options.seconds, references)
        about(servers, startup, export=not options.only)


def workloads(contender: Contender, only: Sequence[str] | None) -> Workloads:
    """Returns the workloads of a running contender, all or those named."""
    requests = contender.requests()
    return {name: partial(measure, contender.url, requests[name]) for name in only or requests if name in requests}


@contextmanager
def running(contenders: Sequence[Contender]) -> Iterator[Mapping[str, float]]:
    """Starts all contenders at once, and yields the start time of each. An idle server costs the others nothing."""
    # The instances were just copied. Without this, the first measured commits wait for the disk.
    os.sync()
    started = {}
    try:
        for one in contenders:
            started[one.name] = one.start()
        yield started
    finally:
        for one in contenders:
            one.stop()


def table(title: str, asked: Mapping[str, Workloads], seconds: int, references: Mapping[str, str],
          ) -> dict[str, Medians]:
    """Prints a line for each workload of the first contender. Returns the medians by workload and contender.

    `references`: contender → the contender to which its ratios refer.
    """
    _print(f"\n{title}", asked)
    found: dict[str, Medians] = {}
    for workload in next(iter(asked.values())):
        rates: dict[str, list[float]] = {name: [] for name, several in asked.items() if workload in several}
        for _ in range(RUNS):
            for name, measured in rates.items():
                measured.append(asked[name][workload](seconds))
        found[workload] = {name: statistics.median(measured) for name, measured in rates.items()}
        _print(workload, (_cell(found[workload], name, references.get(name, "")) for name in asked))
    return found


def about(contenders: Sequence[Contender], startup: Mapping[str, float], *, export: bool) -> None:
    """Prints more lines: all articles in one answer, and the memory of each contender after the run."""
    if export:
        exported = [[result for _ in range(RUNS) if (result := one.export()) is not None] for one in contenders]
        _print("export, rows/s", (f"{statistics.median(rows / taken for rows, taken in several):,.0f}" if several
                                  else "–" for several in exported))
    memory = [one.memory() for one in contenders]
    # A parent of workers does not serve requests itself.
    _print("MiB of a worker", (f"{max(workers or [first]):.0f}" for first, *workers in memory))
    _print("MiB of their parent", (f"{first:.0f}" if workers else "–" for first, *workers in memory))
    _print("start, s", (f"{startup[one.name]:.2f}" for one in contenders))


def _print(title: str, cells: Iterator[str] | Mapping[str, object]) -> None:
    print(f"{title:24}" + "".join(f"{cell:>20}" for cell in cells), flush=True)


def _cell(medians: Medians, name: str, reference: str) -> str:
    if name not in medians:
        return "–"
    ratio = f" ({medians[name] / medians[reference]:.2f}×)" if medians.get(reference) else ""
    return f"{bars.rate(medians[name])}{ratio}"


if __name__ == "__main__":
    main()
