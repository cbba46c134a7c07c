"""Where the time of one request goes, function by function: `make profile`.

Runs a page of 20 articles (or --path) in this process, without a server, as a guest of a scratch instance.
"""

from __future__ import annotations

import argparse
import cProfile
import os
import pstats
import tempfile
from collections.abc import Callable
from time import perf_counter

from flask import Flask
from werkzeug.test import EnvironBuilder

from app import create_app
from benchmarks.run import prepare


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--path", default="/api/articles?limit=20")
    parser.add_argument("--articles", type=int, default=20_000)
    parser.add_argument("--requests", type=int, default=2_000)
    parser.add_argument("--lines", type=int, default=40, help="of the profile")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gatepost-profile-") as folder:
        environment = {**os.environ, "GATEPOST_INSTANCE": f"{folder}/instance"}
        prepare(environment, options.articles)
        app = create_app({"instance": f"{folder}/instance", "rate_limits": "off"})
        ask = request(app, options.path)
        for _ in range(100):
            ask()
        start = perf_counter()
        for _ in range(options.requests):
            ask()
        microseconds = (perf_counter() - start) / options.requests * 1e6
        profile = cProfile.Profile()
        profile.enable()
        for _ in range(options.requests):
            ask()
        profile.disable()
        pstats.Stats(profile).sort_stats("tottime").print_stats(options.lines)
        print(f"{options.path}: {microseconds:.0f} µs a request without the profiler")
        app.extensions["gatepost"].database.close_all()


def request(app: Flask, path: str) -> Callable[[], bytes]:
    """A function that makes this request and returns the body of its answer."""
    environ = EnvironBuilder(path=path).get_environ()

    def ask() -> bytes:
        statuses: list[str] = []
        body = b"".join(app.wsgi_app(environ.copy(), lambda status, headers, error=None: statuses.append(status)))
        if not statuses[0].startswith("200"):
            raise SystemExit(f"{path}: {statuses[0]} {body.decode()}")
        return body

    return ask


if __name__ == "__main__":
    main()
