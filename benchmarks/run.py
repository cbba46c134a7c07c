"""Requests a second of the whole service, beside its peers when asked: `make bench`, `make bench PEERS=1`.

Authentication, policy, tracing, metrics and audit are on; rate limits are off. Every contender has the same articles
and the same caller, who may see what is published or their own. `wrk` asks them turn by turn, so that a noisy machine
is noisy for all. Prints medians and their ratios to the last contender.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks import bars
from benchmarks.contenders import Contender, Gatepost, copy_instance, gatepost, make_instance
from benchmarks.load import Request, measure, require_wrk
from benchmarks.pocketbase import PocketBase, install

RUNS = 3
PICTURE = Path(__file__).with_name("speed.svg")
Medians = Mapping[str, float]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--articles", type=int, default=200_000)
    parser.add_argument("--seconds", type=int, default=3, help="of each of the three runs")
    parser.add_argument("--peers", action="store_true", help="also PocketBase, installed into a scratch environment")
    parser.add_argument("--only", action="append", metavar="WORKLOAD", help="may be repeated")
    parser.add_argument("--plot", action="store_true", help=f"also draw {PICTURE.name} beside this file")
    options = parser.parse_args()
    require_wrk()
    with tempfile.TemporaryDirectory(prefix="gatepost-bench-") as folder:
        contenders = prepare(Path(folder), options.articles, peers=options.peers)
        with running(contenders) as startup:
            requests = {one.name: one.requests() for one in contenders}
            workloads = options.only or list(requests[contenders[0].name])
            print(f"{options.articles} articles, wrk -t1 -c16, medians of {RUNS} × {options.seconds} s\n", flush=True)
            medians = table(contenders, requests, workloads, options.seconds)
            exported(contenders)
            print()
            for one in contenders:
                processes = " + ".join(f"{size:.0f}" for size in one.memory())
                print(f"{one.name}: answers {startup[one.name]:.2f} s after its start; processes of {processes} MiB")
        if options.plot:
            names = [one.name for one in contenders]
            PICTURE.write_text(bars.draw(f"Requests a second, {options.articles:,} articles", names, medians))


def prepare(folder: Path, articles: int, *, peers: bool) -> list[Contender]:
    """Every contender with its rows; the peer that ratios refer to comes last."""
    first = make_instance(folder / "waitress", articles)

    def server(name: str, command: Sequence[str]) -> Gatepost:
        return Gatepost(name, copy_instance(first, folder / name.replace(" ", "-")), articles, command)

    serve = gatepost("serve", "--host", "127.0.0.1", "--port", "0")
    contenders: list[Contender] = [
        server("waitress ×1", serve), server("granian ×1", [*serve, "--workers", "1"]),
        server("granian ×2", [*serve, "--workers", "2"])]
    if peers:
        peer = PocketBase(install(folder / "peer"), folder / "peer-data", first / "gatepost.db")
        peer.prepare()
        contenders.append(peer)
    return contenders


@contextmanager
def running(contenders: Sequence[Contender]) -> Iterator[Mapping[str, float]]:
    """All of them at once, and how long each took to start: an idle server costs the others nothing."""
    started = {}
    try:
        for one in contenders:
            started[one.name] = one.start()
        yield started
    finally:
        for one in contenders:
            one.stop()


def table(contenders: Sequence[Contender], requests: Mapping[str, Mapping[str, Request]], workloads: Sequence[str],
          seconds: int) -> dict[str, Medians]:
    """One line per workload, as soon as it is measured; the medians by workload and contender."""
    names = [one.name for one in contenders]
    print(f"{'requests/s':24}" + "".join(f"{name:>20}" for name in names), flush=True)
    found: dict[str, Medians] = {}
    for workload in workloads:
        rates: dict[str, list[float]] = {name: [] for name in names}
        for _ in range(RUNS):
            for one in contenders:
                if workload in requests[one.name]:
                    rates[one.name].append(measure(one.url, requests[one.name][workload], seconds))
        found[workload] = {name: statistics.median(several) for name, several in rates.items() if several}
        print(f"{workload:24}" + "".join(_cell(found[workload], name, names[-1]) for name in names), flush=True)
    return found


def exported(contenders: Sequence[Contender]) -> None:
    """One more line: all articles in one answer, in rows a second."""
    line = f"{'export, rows/s':24}"
    for one in contenders:
        several = [result for _ in range(RUNS) if (result := one.export()) is not None]
        line += f"{statistics.median(rows / taken for rows, taken in several):20,.0f}" if several else f"{'–':>20}"
    print(line, flush=True)


def _cell(medians: Mapping[str, float], name: str, reference: str) -> str:
    if name not in medians:
        return f"{'–':>20}"
    ratio = f" ({medians[name] / medians[reference]:.2f}×)" if name != reference and medians.get(reference) else ""
    return f"{bars.rate(medians[name])}{ratio}".rjust(20)


if __name__ == "__main__":
    main()
