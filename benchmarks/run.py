"""Requests a second of the whole service under waitress: `make bench`.

Makes a scratch instance with generated articles, serves it on a free port of the loopback address with limits
off, and asks `wrk` (one thread, sixteen connections, on the same machine). Prints the medians of three runs.
Set GATEPOST_DATABASE_URL to an empty Postgres database to measure that instead.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

GATEPOST = [sys.executable, "-c", "from app import cli; cli()"]
EMAIL, PASSWORD = "bench@example.org", "a long walk along the shore"
SCRIPTS = Path(__file__).parent
RUNS = 3
_RATE = re.compile(r"Requests/sec:\s+([\d.]+)")
_LATENCY = re.compile(r"99%\s+([\d.]+\w+)")
_REFUSED = re.compile(r"Non-2xx or 3xx responses: (\d+)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--articles", type=int, default=200_000)
    parser.add_argument("--seconds", type=int, default=5, help="of each of the three runs")
    parser.add_argument("--threads", default="8", help="of the server")
    options = parser.parse_args()
    if shutil.which("wrk") is None:
        sys.exit("wrk is missing, so nothing was measured (Debian: apt install wrk).")
    with tempfile.TemporaryDirectory(prefix="gatepost-bench-") as folder:
        environment = {
            **os.environ,
            "GATEPOST_INSTANCE": f"{folder}/instance",
            "GATEPOST_RATE_LIMITS": "off",
            "GATEPOST_THREADS": options.threads,
            "GATEPOST_LOG_LEVEL": "warning",
        }
        prepare(environment, options.articles)
        with served(environment) as url:
            report(url, options.articles, options.seconds)


def prepare(environment: Mapping[str, str], articles: int) -> None:
    """An instance with an administrator and that many articles."""
    command = ["init", "--no-demo", "--admin-email", EMAIL, "--admin-password-file", "-"]
    subprocess.run(
        [*GATEPOST, *command], env=environment, input=PASSWORD, text=True, check=True, stdout=subprocess.DEVNULL
    )
    subprocess.run([*GATEPOST, "demo", "--articles", str(articles)], env=environment, check=True)


@contextmanager
def served(environment: Mapping[str, str]) -> Iterator[str]:
    """The URL of a running server."""
    command = [*GATEPOST, "serve", "--host", "127.0.0.1", "--port", "0"]
    server = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        line = server.stdout.readline()
        found = re.search(r"http://\S+", line)
        if found is None:
            sys.exit(f"the server did not start: {line}")
        yield found.group()
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(timeout=60)


def report(url: str, articles: int, seconds: int) -> None:
    """Measure every kind of request and print one table."""
    token = call(f"{url}/api/login", {"email": EMAIL, "password": PASSWORD})["access_token"]
    bearer = {"Authorization": f"Bearer {token}"}
    first = call(f"{url}/api/articles?limit=20", headers=bearer)
    id = first["items"][0]["id"]
    deep = f"/api/articles?limit=20&cursor={cursor_at(url, bearer, articles // 2)}"
    rows = [
        ("item", f"/api/articles/{id}", bearer, None),
        ("item, guest", published(url), {}, None),
        ("page of 20", "/api/articles?limit=20", bearer, None),
        ("page of 20, guest", "/api/articles?limit=20", {}, None),
        (f"page of 20, row {articles // 2}", deep, bearer, None),
        ("create", "/api/articles", bearer, SCRIPTS / "create.lua"),
    ]
    print(f"{articles} articles, waitress, wrk -t1 -c16, median of {RUNS} × {seconds} s\n")
    print(f"{'':28}{'requests/s':>12}{'p99':>12}")
    for name, path, headers, script in rows:
        runs = [wrk(url + path, headers, script, seconds) for _ in range(RUNS)]
        rate = statistics.median(rate for rate, _ in runs)
        latency = sorted(runs)[RUNS // 2][1]
        print(f"{name:28}{rate:>12,.0f}{latency:>12}")


def cursor_at(url: str, headers: Mapping[str, str], row: int) -> str:
    """The cursor of about that row, reached as a client would: page by page, the largest that are allowed."""
    cursor, seen = None, 0
    while seen < row:
        page = call(
            f"{url}/api/articles?limit=200&fields=id" + (f"&cursor={cursor}" if cursor else ""), headers=headers
        )
        cursor, seen = page["next_cursor"], seen + len(page["items"])
        if cursor is None:
            break
    return cursor or ""


def published(url: str) -> str:
    """The path of an article that guests may read."""
    return f"/api/articles/{call(f'{url}/api/articles?limit=1')['items'][0]['id']}"


def call(url: str, body: Any = None, headers: Mapping[str, str] | None = None) -> Any:
    """One request and its JSON answer."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json", **(headers or {})})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def wrk(url: str, headers: Mapping[str, str], script: Path | None, seconds: int) -> tuple[float, str]:
    """Requests a second and the 99th percentile. Refused requests do not count as served: they end the run."""
    command = ["wrk", "-t1", "-c16", f"-d{seconds}s", "--latency"]
    for name, value in headers.items():
        command += ["-H", f"{name}: {value}"]
    if script is not None:
        command += ["-s", str(script)]
    output = subprocess.run([*command, url], capture_output=True, text=True, check=True).stdout
    if refused := _REFUSED.search(output):
        sys.exit(f"{url}: {refused.group(1)} answers were not 2xx; this measures nothing.\n{output}")
    return float(_RATE.search(output).group(1)), _LATENCY.search(output).group(1)


if __name__ == "__main__":
    main()
