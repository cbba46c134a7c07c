"""Rows a second of an export and of an import, and the memory that they cost the server: `make bench-export`.

The export is read over HTTP from a server with a million articles, beside a plain Python loop that does no more than
read the same rows and write them as JSON. The import has three bad lines: once all of it is refused, once they are left
out. Set GATEPOST_DATABASE_URL to an empty Postgres database to measure that instead; then without the plain loop.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import apsw

from benchmarks.contenders import PASSWORD, gatepost, make_instance

ALLOWED = 50  # MiB by which the server may grow
COLUMNS = ("id", "tenant_id", "version", "created_at", "updated_at", "owner_id", "department", "title", "slug", "body",
           "language", "category_id", "status", "published_at")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--articles", type=int, default=1_000_000)
    parser.add_argument("--lines", type=int, default=100_000, help="of the import")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gatepost-bench-") as folder:
        instance = make_instance(Path(folder) / "instance", options.articles)
        print(f"{options.articles} articles\n\n{'':34}{'rows/s':>12}{'seconds':>10}{'grew by':>12}", flush=True)
        if "GATEPOST_DATABASE_URL" not in os.environ:
            show("plain Python loop, json", options.articles, plain_loop(instance / "gatepost.db"))
        with served(instance) as server:
            for name, type in (("export, NDJSON", "application/x-ndjson"), ("export, CSV", "text/csv")):
                peak = Peak(server.process.pid)
                seconds = server.export(type)
                show(name, options.articles, seconds, peak.growth())
            body = lines(options.lines)
            for name, query in (("import, three bad lines", ""), ("import, leaving them out", "?on_error=skip")):
                peak = Peak(server.process.pid)
                began = perf_counter()
                answer = server.post(f"/api/articles/import{query}", body, "application/x-ndjson")
                show(name, options.lines, perf_counter() - began, peak.growth())
                bad = [(fault.get("meta") or fault)["line"] for fault in answer["errors"]]
                print(f"  {answer.get('detail') or answer.get('imported')}, lines {sorted(set(bad))}", flush=True)


def plain_loop(database: Path) -> float:
    """Seconds for reading every article in the export's order and writing it as JSON, and nothing else."""
    connection = apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READONLY)
    tenant, = connection.execute("SELECT id FROM tenants WHERE name = 'default'").fetchone()
    began = perf_counter()
    with open(os.devnull, "w", encoding="utf-8") as out:
        for row in connection.execute(
                f"SELECT {', '.join(COLUMNS)} FROM articles WHERE tenant_id = ? ORDER BY created_at DESC, id DESC",
                (tenant,)):
            out.write(json.dumps(dict(zip(COLUMNS, row, strict=True))) + "\n")
    return perf_counter() - began


def lines(count: int) -> bytes:
    """New articles as NDJSON, three of them bad: no JSON, no title, a slug for the second time."""
    rows = [json.dumps({"title": f"Imported {number}", "slug": f"imported-{number}", "body": "Some words. " * 8})
            for number in range(count)]
    rows[count // 10], rows[count // 2], rows[-1] = "{", json.dumps({"slug": "x", "body": "b"}), rows[-2]
    return "\n".join(rows).encode()


def show(name: str, rows: int, seconds: float, growth: float | None = None) -> None:
    grown = "" if growth is None else f"{growth:,.1f} MiB"
    print(f"{name:34}{rows / seconds:>12,.0f}{seconds:>10.1f}{grown:>12}", flush=True)
    if growth is not None and name.startswith("export") and growth > ALLOWED:
        raise SystemExit(f"{name}: the server grew by more than {ALLOWED} MiB")


class Peak:
    """The growth of a process's resident memory from now on (Linux)."""

    def __init__(self, process: int) -> None:
        self._folder = Path("/proc") / str(process)
        (self._folder / "clear_refs").write_text("5")  # reset the peak
        self._before = self._read("VmRSS")

    def growth(self) -> float:
        """MiB between the memory of then and the peak since."""
        return self._read("VmHWM") - self._before

    def _read(self, name: str) -> float:
        found = re.search(rf"^{name}:\s+(\d+) kB", (self._folder / "status").read_text(), re.MULTILINE)
        assert found is not None
        return int(found[1]) / 1024


@dataclass
class Server:
    process: subprocess.Popen[str]
    port: int
    token: str = ""

    def export(self, type: str) -> float:
        """Seconds until the last byte has been read."""
        began, connection = perf_counter(), http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
        connection.request("GET", "/api/articles/export", headers={"Accept": type, **self._bearer()})
        answer = connection.getresponse()
        assert answer.status == 200, answer.read()
        while answer.read(2**20):
            pass
        connection.close()
        return perf_counter() - began

    def post(self, path: str, body: bytes, type: str) -> dict:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
        connection.request("POST", path, body, {"Content-Type": type, **self._bearer()})
        answer = json.loads(connection.getresponse().read())
        connection.close()
        return answer

    def _bearer(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}


@contextmanager
def served(instance: Path) -> Iterator[Server]:
    """A server on a free port, with its administrator logged in."""
    environment = {**os.environ, "GATEPOST_INSTANCE": str(instance), "GATEPOST_RATE_LIMITS": "off"}
    process = subprocess.Popen(gatepost("serve", "--port", "0"), env=environment, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        port = re.search(r":(\d+) ", process.stdout.readline() + process.stdout.readline())
        assert port is not None
        server = Server(process, int(port[1]))
        login = json.dumps({"email": "admin@example.org", "password": PASSWORD}).encode()
        server.token = server.post("/api/login", login, "application/json")["access_token"]
        yield server
    finally:
        process.terminate()
        process.wait(timeout=60)


if __name__ == "__main__":
    main()
