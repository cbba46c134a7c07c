"""The contenders of `make bench`: a server that can be started, and the requests to send to it.

Every contender answers the same workloads from the same rows: articles, nine tenths of them published, and a caller
who may see published articles and their own, and owns five drafts.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from benchmarks.load import Request, ask

ADMIN, EMAIL, PASSWORD = "admin@example.org", "bench@example.org", "a long walk along the shore"
JSON = {"Content-Type": "application/json"}
DRAFTS = 5
LOGINS = os.cpu_count() or 1  # concurrent logins: they keep the cores hashing, and none waits until it is refused
FIRST_PAGE = "/api/articles?limit=20"


class Contender(Protocol):
    """One server with its rows."""

    name: str

    def start(self) -> float:
        """Starts the server. Returns the seconds until it answers."""

    def requests(self) -> Mapping[str, Request]:
        """Returns workload → request, without the workloads that the contender does not support."""

    @property
    def url(self) -> str: ...

    def export(self) -> tuple[int, float] | None:
        """Reads all articles in one answer. Returns their number and the seconds; None if there is no such endpoint."""

    def memory(self) -> list[float]:
        """Resident memory of each of its processes, in MiB: of the one that was started, then of its workers."""

    def stop(self) -> None: ...


def gatepost(*arguments: str) -> list[str]:
    """The command line of a `gatepost` command in this checkout."""
    return [sys.executable, "-c", "from gatepost_start.command import cli; cli()", *arguments]


def serve(*, workers: int = 0) -> list[str]:
    """The command line of the server: waitress, or granian with this number of workers."""
    return gatepost("serve", "--host", "127.0.0.1", "--port", "0", *(["--workers", str(workers)] if workers else []))


@dataclass
class Gatepost:
    """Gatepost behind one of its servers, on an instance of its own."""

    name: str
    instance: Path
    articles: int
    command: Sequence[str]
    settings: Mapping[str, str] = field(default_factory=dict)
    url: str = ""
    _process: subprocess.Popen[str] | None = None

    def start(self) -> float:
        began = time.perf_counter()
        # A process session of its own: its workers count for memory, and end with it.
        self._process = subprocess.Popen(
            self.command, env=self._environment(), stdout=subprocess.PIPE, text=True, start_new_session=True)
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        found = re.search(r"http://[^\s/]+", line)
        if found is None:
            sys.exit(f"{self.name} did not start: {line}")
        self.url = found.group()
        wait_for(f"{self.url}/api/health")
        return time.perf_counter() - began

    def requests(self) -> Mapping[str, Request]:
        token = self._post("/api/login", {"email": EMAIL, "password": PASSWORD})["access_token"]
        bearer = {"Authorization": f"Bearer {token}"}
        drafts = [self._post("/api/articles", {"title": f"Draft {n}", "slug": f"draft-{time.time_ns()}", "body": "…"},
                             bearer) for n in range(DRAFTS)]
        listed = ask(self.url, Request("/api/articles?limit=20&status=published", bearer))[2]["items"]
        item = f"/api/articles/{listed[7]['id']}"
        tag = ask(self.url, Request(item, bearer))[1]["ETag"]
        own = [f"/api/articles/{draft['id']}" for draft in drafts]
        return {
            "item": Request(item, bearer),
            "page of 20": Request(FIRST_PAGE, bearer),
            "page + default total": Request("/api/articles?page=1&page_size=20", bearer),
            "page + exact total": Request("/api/articles?page=1&page_size=20", {**bearer, "Prefer": "count=exact"}),
            "deep page": Request(f"{FIRST_PAGE}&cursor={self._cursor(bearer)}", bearer),
            # Every caller who may see an article at all sees all published ones, here and under the peer's rule.
            # A caller who sees five rows requests drafts: a tenth of the table, and five are the caller's.
            "five rows": Request(f"{FIRST_PAGE}&status=draft", bearer),
            "filtered page": Request(f"{FIRST_PAGE}&language=en", bearer),
            "page + expand": Request(f"{FIRST_PAGE}&expand=owner", bearer),
            "create": Request("/api/articles", {**bearer, **JSON}, "POST",
                              '{"title": "A title", "slug": "made-{n}", "body": "Some words."}'),
            # Several rows, because on Postgres the writers of one row wait for each other.
            "update": Request(own[0], {**bearer, **JSON}, "PATCH", '{"title": "Title {n}"}', also=own[1:]),
            "304": Request(item, {**bearer, "If-None-Match": tag}),
            # Last, because so many logins end the session of the others (`user_sessions`).
            "login": Request("/api/login", JSON, "POST", json_text({"email": EMAIL, "password": PASSWORD}), LOGINS),
        }

    def export(self) -> tuple[int, float]:
        token = self._post("/api/login", {"email": ADMIN, "password": PASSWORD})["access_token"]
        asked = urllib.request.Request(f"{self.url}/api/articles/export", headers={
            "Authorization": f"Bearer {token}", "Accept": "application/x-ndjson"})
        began = time.perf_counter()
        with urllib.request.urlopen(asked) as answer:
            rows = sum(chunk.count(b"\n") for chunk in iter(lambda: answer.read(1 << 16), b""))
        return rows, time.perf_counter() - began

    def memory(self) -> list[float]:
        return [] if self._process is None else resident(self._process.pid)

    def stop(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            self._process.wait(timeout=60)

    def _environment(self) -> dict[str, str]:
        # Like for like: PocketBase does not wait for the disk at every commit either.
        return {**os.environ, "GATEPOST_INSTANCE": str(self.instance), "GATEPOST_RATE_LIMITS": "off",
                "GATEPOST_SYNCHRONOUS": "normal", "GATEPOST_LOG_LEVEL": "warning",
                "GATEPOST_METRICS_TOKEN": "counted-as-in-earnest",
                "GATEPOST_ACCESS_TOKEN_MINUTES": "1440",  # longer than any benchmark
                **self.settings}

    def _post(self, path: str, body: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Any:
        return ask(self.url, Request(path, {**JSON, **(headers or {})}, "POST", json_text(body)))[2]

    def _cursor(self, headers: Mapping[str, str]) -> str:
        """The cursor of the deep page, reached as a client would: page by page."""
        cursor, seen = "", 0
        while seen < deep(self.articles):
            more = f"&cursor={cursor}" if cursor else ""
            page = ask(self.url, Request(f"/api/articles?limit=100&fields=id{more}", headers))[2]
            cursor, seen = page["next_cursor"], seen + len(page["items"])
        return cursor


def deep(articles: int) -> int:
    """The row at which the deep page begins: 160 000 of 200 000."""
    return articles * 4 // 5


def make_instance(folder: Path, articles: int, settings: Mapping[str, str] | None = None) -> Path:
    """A Gatepost instance with that many articles and the caller of the benchmark."""
    environment = {**os.environ, "GATEPOST_INSTANCE": str(folder), **(settings or {})}

    def run(*arguments: str, text: str = "") -> None:
        subprocess.run(gatepost(*arguments), env=environment, input=text, text=True, check=True,
                       stdout=subprocess.DEVNULL)

    run("init", "--no-demo", "--admin-email", ADMIN, "--admin-password-file", "-", text=PASSWORD)
    run("demo", "--articles", str(articles))
    run("user", "add", EMAIL, "--role", "user", "--tenant", "default", "--password-file", "-", text=PASSWORD)
    return folder


def copy_instance(source: Path, target: Path) -> Path:
    """Returns a copy of the instance for another server."""
    shutil.copytree(source, target)
    return target


def wait_for(url: str, seconds: float = 60) -> None:
    """Waits until the URL answers. Ends the benchmark if it does not."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            ask(url, Request(""))
            return
        except OSError:
            time.sleep(0.01)
    sys.exit(f"{url} does not answer")


def resident(leader: int) -> list[float]:
    """MiB of memory that each process of a session keeps resident: the leader's, then the others' by size."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if os.getsid(int(entry.name)) == leader:
                    pages = int((entry / "statm").read_text().split()[1])
                    found[int(entry.name)] = pages * os.sysconf("SC_PAGE_SIZE") / 2**20
            except (ProcessLookupError, FileNotFoundError):
                continue
    return [found.pop(leader), *sorted(found.values(), reverse=True)]


def json_text(body: Mapping[str, Any]) -> str:
    import json

    return json.dumps(body)
