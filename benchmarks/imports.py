"""An import of hundreds of thousands of rows beside writers and readers: `make bench-imports`.

Twelve clients create articles (or comments, `--writers comments`) one after the other while a file of articles is
imported over HTTP; two clients read. It fails where a writer is refused or waits for two seconds, or where a reader
sees some of the rows and not all. Set GATEPOST_DATABASE_URL to an empty Postgres database to measure that instead.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from threading import Event, Thread
from time import perf_counter
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from tests.running import Instance, Served

LONGEST = 2.0  # seconds that a writer may wait
READ_BY = 2
LOOKED_FOR = 4  # rows of the import
SETTINGS = {"GATEPOST_RATE_LIMITS": "off", "GATEPOST_IMPORT_LIMIT": str(2**30), "GATEPOST_OWNER_ROWS": "0",
            "GATEPOST_THREADS": "32"}


class Seen(NamedTuple):
    """The results of an import.

    imported  rows that it created
    answers   answers to writers by status
    longest   the writers' longest wait in seconds
    found     numbers of the searched rows that readers saw at a time
    """

    imported: int
    answers: Counter[int]
    longest: float
    found: Counter[int]

    def good(self, rows: int) -> bool:
        return self.imported == rows and set(self.answers) == {201} and set(self.found) <= {0, LOOKED_FOR}


class Client:
    """One connection with a token. Records the status and the wait of each answer."""

    def __init__(self, served: Served, token: str) -> None:
        where = urlsplit(served.url)
        self._connection = http.client.HTTPConnection(str(where.hostname), where.port, timeout=3600)
        self._token = token
        self.waits: list[float] = []
        self.longest = (0.0, 0.0)  # and when it ended
        self.statuses: Counter[int] = Counter()

    def call(self, method: str, path: str, body: bytes | None = None, media_type: str = "application/json") -> Any:
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": media_type}
        began = perf_counter()
        self._connection.request(method, path, body, headers)
        answer = self._connection.getresponse()
        content = answer.read()
        self.waits.append(perf_counter() - began)
        self.longest = max(self.longest, (self.waits[-1], perf_counter()))
        self.statuses[answer.status] += 1
        return json.loads(content)

    def close(self) -> None:
        self._connection.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=783_000)
    parser.add_argument("--clients", type=int, default=12, help="that write meanwhile")
    parser.add_argument("--writers", choices=("articles", "comments"), default="articles")
    parser.add_argument("--serve", nargs="*", default=[], help="more arguments of gatepost serve")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gatepost-imports-") as folder:
        inherited = {name: os.environ[name] for name in ("GATEPOST_DATABASE_URL",) if name in os.environ}
        instance = Instance(Path(folder) / "instance", {**SETTINGS, **inherited}).made()
        with instance.served(*options.serve) as served:
            seen = measure(served, options.rows, options.clients, options.writers)
    sys.exit(not (seen.good(options.rows) and seen.longest < LONGEST))


def measure(served: Served, rows: int, clients: int, written: str = "articles") -> Seen:
    """Imports `rows` rows while clients write and read. Prints and returns the results."""
    token = served.log_in()
    writers, readers = ([Client(served, token) for _ in range(count)] for count in (clients, READ_BY))
    ends, seen = Event(), [Counter[int]() for _ in readers]
    about = served.call("POST", "/api/articles", article("about", 0), token)[1]["id"]

    def write(client: Client, number: int) -> None:
        count = 0
        while not ends.is_set():
            count += 1
            body = (article(f"writer-{number}", count) if written == "articles" else
                    {"article_id": about, "body": "Words of a writer."})
            client.call("POST", f"/api/{written}", json.dumps(body).encode())

    some = ",".join(f"loaded-{rows * number // LOOKED_FOR}" for number in range(LOOKED_FOR))

    def read(client: Client, found: Counter[int]) -> None:
        while not ends.is_set():
            found[len(client.call("GET", f"/api/articles?slug__in={some}")["items"])] += 1

    running = [*(started(write, client, number) for number, client in enumerate(writers)),
               *(started(read, client, found) for client, found in zip(readers, seen, strict=True))]
    with closing(Client(served, token)) as importer:
        # Short lines: waitress reads 64 MiB from one address.
        body = b"\n".join(json.dumps(article("loaded", number)).encode() for number in range(rows))
        began = perf_counter()
        outcome = importer.call("POST", "/api/articles/import", body, "application/x-ndjson")
        seconds = importer.waits[0]
    ends.set()
    for thread in running:
        thread.join()
    for client in (*writers, *readers):
        client.close()
    found = sum(seen, Counter[int]())
    waits = sorted(wait for client in writers for wait in client.waits)
    answers = sum((client.statuses for client in writers), Counter[int]())
    when = max(client.longest for client in writers)[1] - began
    reads = sorted(wait for client in readers for wait in client.waits)
    print(f"{outcome.get('imported', outcome)} rows in {seconds:.1f} s, {rows / seconds:,.0f} a second")
    print(f"{clients} writers of {written}: {dict(answers)}, {shown(waits)} ({when:.1f} s after the import began)")
    print(f"{READ_BY} readers: found {dict(found)} of {LOOKED_FOR} rows; {shown(reads)}", flush=True)
    return Seen(outcome.get("imported", 0), answers, waits[-1], found)


def started(work: Callable[..., None], *arguments: Any) -> Thread:
    thread = Thread(target=work, args=arguments)
    thread.start()
    return thread


def article(name: str, number: int) -> dict[str, Any]:
    return {"title": f"{name} {number}", "slug": f"{name}-{number}", "body": "Some words."}


def shown(waits: list[float]) -> str:
    """Median, 99th percentile and longest of some sorted seconds."""
    quantiles = (waits[len(waits) // 2], waits[len(waits) * 99 // 100], waits[-1])
    return "p50 {:.0f} ms, p99 {:.0f} ms, longest {:.0f} ms".format(*(wait * 1000 for wait in quantiles))


if __name__ == "__main__":
    main()
