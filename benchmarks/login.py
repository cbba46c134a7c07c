"""The cost of a login, and its effect on other requests: `make bench-login`.

Medians of failing logins and of `POST /api/password-resets`, for addresses with an account and without one, which a
stranger could compare; logins a second; memory and other requests while a hundred log in at once; and a writer beside a
flood of refusals from another address, with the limits as they are shipped and without. Set GATEPOST_DATABASE_URL to an
empty Postgres database to measure that instead.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from threading import Event
from time import perf_counter, sleep
from typing import Any

from benchmarks.contenders import EMAIL, PASSWORD, gatepost, make_instance, serve
from tests.mail.post_office import PostOffice, post_office

FLOODER = "127.0.0.2"  # another address than the writer's
WRITES = 1000  # from one address: fewer than its limit
DISABLED, UNKNOWN = "disabled@example.org", "nobody@example.org"
ADDRESSES = {EMAIL: "account", UNKNOWN: "no account", DISABLED: "disabled account"}
NEXT = 5  # requests after a password reset that are measured together
MAILED = 60  # seconds within which all messages must come


class Client:
    """One connection that stays open, as a browser's does."""

    def __init__(self, port: int, address: str = "127.0.0.1") -> None:
        self._port = port
        self._headers = {"Content-Type": "application/json"}
        self.move(address)

    def move(self, address: str) -> None:
        """Continues from another address."""
        self._connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60, source_address=(address, 0))

    def request(self, method: str, path: str, body: Any = None) -> int:
        return self.answer(method, path, body)[0]

    def answer(self, method: str, path: str, body: Any = None) -> tuple[int, bytes]:
        """Returns the status and the body of an answer."""
        self._connection.request(method, path, None if body is None else json.dumps(body), self._headers)
        answer = self._connection.getresponse()
        return answer.status, answer.read()

    def log_in(self, email: str = EMAIL, password: str = PASSWORD) -> int:
        return self.request("POST", "/api/login", {"email": email, "password": password})

    def become(self) -> Client:
        """Returns the client with a token of its own."""
        self._connection.request("POST", "/api/login", json.dumps({"email": EMAIL, "password": PASSWORD}),
                                 self._headers)
        self._headers["Authorization"] = f"Bearer {json.load(self._connection.getresponse())['access_token']}"
        return self


@contextmanager
def serving(workers: int, **settings: str) -> Iterator[tuple[int, int]]:
    """Port and process id of a server on a scratch instance with two accounts and some articles."""
    with tempfile.TemporaryDirectory(prefix="gatepost-bench-") as folder:
        environment = {**os.environ, "GATEPOST_INSTANCE": f"{folder}/instance", "GATEPOST_LOG_LEVEL": "warning",
                       **settings}
        make_instance(Path(folder) / "instance", 1000)
        for arguments in (("add", DISABLED, "--password-file", "-"), ("disable", DISABLED)):
            subprocess.run(gatepost("user", *arguments), env=environment, text=True, check=True, input=PASSWORD,
                           stdout=subprocess.DEVNULL)
        server = subprocess.Popen(serve(workers=workers), env=environment, stdout=subprocess.PIPE, text=True)
        try:
            port = re.search(r":(\d+) ", server.stdout.readline() + server.stdout.readline())
            if port is None:
                sys.exit("the server did not start")
            yield int(port.group(1)), server.pid
        finally:
            server.terminate()
            server.wait(timeout=60)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=100, help="of each kind of failing login and of password reset")
    parser.add_argument("--strangers", action="store_true", help="measure only what a stranger could compare")
    parser.add_argument("--seconds", type=float, default=5.0, help="of each measured stretch")
    parser.add_argument("--workers", type=int, default=0, help="measure granian with so many processes, not waitress")
    options = parser.parse_args()
    with post_office() as office, serving(
            options.workers, GATEPOST_RATE_LIMITS="off", GATEPOST_PUBLIC_URL="https://api.example.org",
            GATEPOST_MAIL_FROM="gate@example.org", GATEPOST_SMTP_URL=f"smtp+plain://127.0.0.1:{office.port}",
    ) as (port, _):
        failures(port, options.rounds)
        resets(port, options.rounds, office)
    if options.strangers:
        return
    with serving(options.workers, GATEPOST_RATE_LIMITS="off") as (port, process):
        throughput(port, options.seconds)
        crowd(port, process)
        flood(port, options.seconds, "no limits")
    # The one writer stands for many accounts, so the limit of one account is lifted.
    with serving(options.workers, GATEPOST_PRINCIPAL_UNITS=str(10**9)) as (port, _):
        flood(port, options.seconds, "each address limited as shipped")


def failures(port: int, rounds: int) -> None:
    """Measures failing logins: with an account, without one, and with one that is disabled."""
    client = Client(port)

    def log_in(email: str) -> list[float]:
        start = perf_counter()
        status, body = client.answer("POST", "/api/login", {"email": email, "password": "wrong"})
        elapsed = perf_counter() - start
        assert status == 401 and json.loads(body)["code"] == "invalid_credentials", body
        return [elapsed]

    times = in_turns(rounds, log_in)
    show(f"failing logins, medians of {rounds}, one client", {"answer": [times[email][0] for email in ADDRESSES]})


def resets(port: int, rounds: int, office: PostOffice) -> None:
    """Measures password resets, and the requests after each of them: jobs that send messages must not slow them."""
    client, bodies = Client(port), set[bytes]()

    def reset(email: str) -> list[float]:
        start = perf_counter()
        status, body = client.answer("POST", "/api/password-resets", {"email": email})
        elapsed = [perf_counter() - start]
        assert status == 202, body
        bodies.add(body)
        start = perf_counter()
        for _ in range(NEXT):
            assert client.request("GET", "/api/ping") == 200
        return [*elapsed, perf_counter() - start]

    times = in_turns(rounds, reset)
    assert len(bodies) == 1, bodies
    end = perf_counter() + MAILED
    while len(office.messages) < rounds and perf_counter() < end:
        sleep(0.1)
    sleep(1)  # no further message may come
    assert len(office.messages) == rounds, "every request for an account sends a message, and no other one does"
    show(f"password resets, medians of {rounds}, one client", {
        "answer": [times[email][0] for email in ADDRESSES],
        f"next {NEXT} requests": [times[email][1] for email in ADDRESSES]})


def in_turns(rounds: int, measure: Callable[[str], list[float]]) -> dict[str, list[list[float]]]:
    """Returns the times of each address, by what was measured. A disturbance affects all addresses alike."""
    found: dict[str, list[list[float]]] = {email: [] for email in ADDRESSES}
    for _ in range(rounds):
        for email in random.sample(list(ADDRESSES), len(ADDRESSES)):
            found[email].append(measure(email))
    return {email: [list(each) for each in zip(*times, strict=True)] for email, times in found.items()}


def show(title: str, measured: Mapping[str, list[list[float]]]) -> None:
    """Prints the medians of each address, and their ratio to those of an address without an account."""
    print(title)
    print(f"  {'':20}" + "".join(f"{name:>26}" for name in measured))
    medians = {name: [statistics.median(times) * 1000 for times in each] for name, each in measured.items()}
    none = list(ADDRESSES).index(UNKNOWN)
    for index, account in enumerate(ADDRESSES.values()):
        print(f"  {account:20}" + "".join(
            f"{each[index]:12.2f} ms  {each[index] / each[none]:6.3f} ×" for each in medians.values()))
    print()


def throughput(port: int, seconds: float) -> None:
    """Successful logins a second of four clients."""
    end = perf_counter() + seconds

    def run(_: int) -> Counter[int]:
        client, statuses = Client(port), Counter[int]()
        while perf_counter() < end:
            statuses[client.log_in()] += 1
        return statuses

    with ThreadPoolExecutor(4) as threads:
        statuses = sum(threads.map(run, range(4)), Counter())
    print(f"logins, four clients: {statuses[200] / seconds:.0f} a second; turned away: {statuses[429]}\n")


def crowd(port: int, process: int) -> None:
    """Measures a hundred concurrent logins, and their effect on other requests."""
    client = Client(port).become()
    before, over, waits = memory(process), Event(), []

    def reads() -> None:
        while not over.is_set():
            start = perf_counter()
            assert client.request("GET", "/api/articles") == 200
            waits.append((perf_counter() - start) * 1000)
            sleep(0.005)

    with ThreadPoolExecutor(101) as threads:
        reading = threads.submit(reads)
        statuses = Counter(threads.map(lambda _: Client(port).log_in(), range(100)))
        over.set()
        reading.result()
    print("a hundred logins at once:")
    print(f"  logged in {statuses[200]}, turned away with 429 {statuses[429]}")
    print(f"  memory {before:.0f} MiB before, {memory(process):.0f} MiB at most")
    print(f"  {len(waits)} pages read meanwhile, median {statistics.median(waits):.1f} ms, "
          f"longest {max(waits):.0f} ms\n")


def memory(process: int) -> float:
    """Returns the peak memory of the process in MiB."""
    status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    return int(re.search(r"VmHWM:\s+(\d+)", status).group(1)) / 1024


def flood(port: int, seconds: float, limits: str, refusals: int = 10_000) -> None:
    """Measures a client's writes a second alone, and while another address is refused ten thousand times."""
    client, context = Client(port).become(), get_context("spawn")
    alone = writes(client, lambda elapsed: elapsed > seconds)
    flooder = context.Process(target=refuse, args=(port, refusals))
    flooder.start()
    start = perf_counter()
    beside = writes(client, lambda elapsed: not flooder.is_alive())
    rate = refusals / (perf_counter() - start)
    print(f"a writer, {limits}: {alone:.0f} writes a second alone, {beside:.0f} beside {refusals} refusals "
          f"({rate:.0f} a second): {(1 - beside / alone) * 100:.0f} % fewer")


def writes(client: Client, enough: Callable[[float], bool]) -> float:
    count, start = 0, perf_counter()
    while not enough(perf_counter() - start):
        if count % WRITES == 0:
            client.move(f"127.0.1.{random.randrange(1, 255)}")
        assert client.request("PATCH", "/api/profile", {"name": f"N{count}"}) == 200
        count += 1
    return count / (perf_counter() - start)


def refuse(port: int, refusals: int) -> None:
    client = Client(port, FLOODER)
    for _ in range(refusals):
        assert client.request("GET", "/api/profile") in (401, 429)


if __name__ == "__main__":
    main()
