"""The time of one request, stage by stage and function by function: `make profile`.

Requests a page of 20 articles (or --path) in this process, without a server, as a guest of a temporary instance.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import re
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

from flask import Flask
from werkzeug.test import EnvironBuilder

from app import create_app
from benchmarks.contenders import make_instance

_STAGE = re.compile(r"(\w+);dur=([\d.]+)")
Ask = Callable[[], tuple[dict[str, str], bytes]]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--path", default="/api/articles?limit=20")
    parser.add_argument("--articles", type=int, default=20_000)
    parser.add_argument("--requests", type=int, default=2_000)
    parser.add_argument("--lines", type=int, default=30, help="of the profile")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gatepost-profile-") as folder:
        instance = make_instance(Path(folder) / "instance", options.articles)
        app = create_app({"instance": instance, "rate_limits": "off", "server_timing": "on"})
        ask = request(app, options.path)
        for _ in range(100):
            ask()
        print(f"{options.path}, medians of {options.requests} requests, microseconds\n")
        stages(ask, options.requests)
        functions(ask, options.requests, options.lines)
        app.extensions["gatepost"].stop()


def stages(ask: Ask, requests: int) -> None:
    """Prints the time of each stage of the pipeline, and the rest for Flask, routing and the answer."""
    totals: list[float] = []
    spent: dict[str, list[float]] = {}
    for _ in range(requests):
        start = perf_counter()
        headers, _ = ask()
        totals.append((perf_counter() - start) * 1e6)
        for stage, milliseconds in _STAGE.findall(headers["Server-Timing"]):
            spent.setdefault(stage, []).append(float(milliseconds) * 1000)
    medians = {stage: statistics.median(found) for stage, found in spent.items()}
    for stage, median in medians.items():
        print(f"  {stage:20}{median:8.1f}")
    total = statistics.median(totals)
    print(f"  {'the rest':20}{total - sum(medians.values()):8.1f}\n  {'together':20}{total:8.1f}\n")


def functions(ask: Ask, requests: int, lines: int) -> None:
    """The functions that take most of it, by Python's own profiler."""
    profile = cProfile.Profile()
    profile.enable()
    for _ in range(requests):
        ask()
    profile.disable()
    pstats.Stats(profile).sort_stats("tottime").print_stats(lines)


def request(app: Flask, path: str, token: str | None = None) -> Ask:
    """A function that makes this request, with an access token or as a guest, and returns headers and body."""
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    environ = EnvironBuilder(path=path.partition("?")[0], query_string=path.partition("?")[2],
                             headers=headers).get_environ()

    def ask() -> tuple[dict[str, str], bytes]:
        answers: list[tuple[str, dict[str, str]]] = []
        body = b"".join(app.wsgi_app(environ.copy(), lambda status, headers, error=None: answers.append(
            (status, dict(headers)))))
        status, headers = answers[0]
        if not status.startswith("200"):
            raise SystemExit(f"{path}: {status} {body.decode()}")
        return headers, body

    return ask


if __name__ == "__main__":
    main()
