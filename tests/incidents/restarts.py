"""Restarts under load, behind sockets that a supervisor holds: `python -m tests.incidents.restarts` (`make restarts`).

The parent holds the sockets as systemd does, and starts `gatepost serve` repeatedly while clients read and write. No
request may fail, and no acknowledged write may be lost.
"""

from __future__ import annotations

import argparse
import http.client
import itertools
import json
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, sleep

from tests.incidents.load import SERVERS, kept
from tests.running import GATEPOST, Instance, Served

SOCKETS = {"waitress": 1, "granian": 2}
KEPT, ONCE = 4, 4  # clients that keep their connection, and that make one for each request
BETWEEN = 0.5  # seconds of load between two restarts of the campaign

# As in sd_listen_fds(3): the sockets from descriptor 3 on, and the process that receives them.
HAND_OVER = """
import fcntl, os, sys
for number, moved in enumerate([fcntl.fcntl(int(each), fcntl.F_DUPFD, 100) for each in sys.argv[1].split(",")]):
    os.dup2(moved, 3 + number)
os.environ["LISTEN_PID"] = str(os.getpid())
os.execv(sys.argv[2], sys.argv[2:])
"""


@contextmanager
def held(count: int) -> Iterator[list[socket.socket]]:
    """Yields `count` sockets that listen on one port of the loopback address."""
    with ExitStack() as stack:
        first = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=1024, reuse_port=True))
        others = [stack.enter_context(socket.create_server(first.getsockname(), backlog=1024, reuse_port=True))
                  for _ in range(count - 1)]
        yield [first, *others]


def start(instance: Instance, sockets: list[socket.socket], *arguments: str,
          **environment: str) -> subprocess.Popen[str]:
    """Starts `gatepost serve` with these sockets, as a supervisor does."""
    numbers = [each.fileno() for each in sockets]
    told = {"LISTEN_FDS": str(len(numbers)), "LISTEN_FDNAMES": ":".join(["http"] * len(numbers)), **environment}
    return subprocess.Popen(
        [sys.executable, "-c", HAND_OVER, ",".join(map(str, numbers)), *GATEPOST, "serve", *arguments],
        env=instance.environ() | told, pass_fds=numbers, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


@contextmanager
def serving(instance: Instance, sockets: list[socket.socket], *arguments: str, **environment: str) -> Iterator[Served]:
    """A server that has reported that it is ready. It is stopped at the end, as by a supervisor."""
    process = start(instance, sockets, *arguments, **environment)
    try:
        line = process.stdout.readline() and process.stdout.readline()  # the first line names the console
        found = re.search(r"http://[^\s;]+", line)
        assert found, line + process.stderr.read()
        yield Served(found.group(), process)
    finally:
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=60)
        assert process.returncode == 0, said


@dataclass
class Clients:
    """`with Clients(…) as clients:` sends requests during the block; half of them write.

    name      prefix of their articles' slugs
    longest   seconds of the slowest answer
    failures  what went wrong, each with its request
    created   slugs that were acknowledged
    """

    address: tuple[str, int]
    token: str
    name: str
    requests: int = 0
    longest: float = 0.0
    failures: list[str] = field(default_factory=list)
    created: list[str] = field(default_factory=list)

    def __enter__(self) -> Clients:
        self._stop, self._lock = threading.Event(), threading.Lock()
        self._threads = [threading.Thread(target=self._ask_on, args=(number, number < KEPT))
                         for number in range(KEPT + ONCE)]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _ask_on(self, client: int, keep: bool) -> None:
        connection = http.client.HTTPConnection(*self.address, timeout=60)
        with closing(connection):
            for number in itertools.count():
                if self._stop.is_set():
                    return
                slug = f"{self.name}-{client}-{number}" if number % 2 else ""
                begun = monotonic()
                try:
                    status = self._ask(connection, slug)
                    wrong = "" if status == (201 if slug else 200) else f"answered {status}"
                except (OSError, http.client.HTTPException) as error:
                    wrong = repr(error)
                    connection.close()
                with self._lock:
                    self.requests += 1
                    self.longest = max(self.longest, monotonic() - begun)
                    if wrong:
                        self.failures.append(f"{'kept' if keep else 'new'} {'POST' if slug else 'GET'}: {wrong}")
                    elif slug:
                        self.created.append(slug)
                if not keep:
                    connection.close()

    def _ask(self, connection: http.client.HTTPConnection, slug: str) -> int:
        if slug:
            headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json",
                       "Idempotency-Key": slug}
            body = json.dumps({"title": "Load", "slug": slug, "body": "text"})
            connection.request("POST", "/api/articles", body, headers)
        else:
            connection.request("GET", "/api/articles?limit=1")
        answer = connection.getresponse()
        answer.read()
        return answer.status


def restart(instance: Instance, server: str, times: int, between: float = BETWEEN) -> Clients:
    """Restarts the server `times` times under load. Returns its clients, with lost writes as failures."""
    with held(SOCKETS[server]) as sockets, ExitStack() as running:
        service = running.enter_context(serving(instance, sockets, *SERVERS[server]))
        token = service.log_in()
        with Clients(sockets[0].getsockname(), token, server) as clients:
            for _ in range(times):
                sleep(between)
                running.close()
                service = running.enter_context(serving(instance, sockets, *SERVERS[server]))
            sleep(between)
        lost = set(clients.created) - kept(service, token, server)
        clients.failures += [f"lost: {slug}" for slug in sorted(lost)]
    return clients


def made(folder: Path) -> Instance:
    return Instance(folder, {"GATEPOST_RATE_LIMITS": "off", "GATEPOST_OWNER_ROWS": "1000000"}).made()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=20, help="restarts of each server")
    times, failed = parser.parse_args().times, 0
    for server in SERVERS:
        with tempfile.TemporaryDirectory() as folder:
            seen = restart(made(Path(folder) / "instance"), server, times)
        print(f"{server}: {times} restarts, {seen.requests} requests, {len(seen.failures)} failed, "
              f"longest answer {seen.longest:.2f} s", *seen.failures[:20], sep="\n  ", flush=True)
        failed += len(seen.failures)
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
