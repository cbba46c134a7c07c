"""Faults whose result is one sentence: what one client was answered, or how long a start took."""

from __future__ import annotations

import resource
import subprocess
import sys
import urllib.error
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep

from benchmarks.contenders import json_text
from benchmarks.load import Request, ask

from .attacks import ATTACKER, connect
from .server import ADMIN, JSON, PASSWORD, Checkout, Served

DAMAGE = Path(__file__).with_name("damage.py")


def log_in(served: Served, password: str = PASSWORD) -> int:
    """The status of a login of the administrator."""
    try:
        body = json_text({"email": ADMIN, "password": password})
        return ask(served.url, Request("/api/login", JSON, "POST", body))[0]
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def guessed_from_elsewhere(checkout: Checkout) -> str:
    """Wrong passwords come from another network; then the administrator logs in, who has done so before."""
    limited = Checkout(checkout.folder, checkout.instance)
    with limited.served("waitress") as served:
        first = log_in(served)
        body = json_text({"email": ADMIN, "password": "wrong"}).encode()
        for _ in range(15):
            with suppress(OSError), connect(served.port) as attacker:
                attacker.sendall(b"POST /api/login HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                                 b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
                while attacker.recv(4096):
                    pass
        return f"login {first}, after 15 wrong passwords from {ATTACKER} {log_in(served)}"


def no_memory_for_passwords(checkout: Checkout) -> str:
    """Argon2 cannot have its 19 MiB; then it can again."""
    with checkout.served("waitress") as served:
        size = int(Path(f"/proc/{served.process.pid}/statm").read_text().split()[0]) * resource.getpagesize()
        limits = resource.prlimit(served.process.pid, resource.RLIMIT_AS)
        resource.prlimit(served.process.pid, resource.RLIMIT_AS, (size + 8 * 2**20, limits[1]))
        statuses = [log_in(served) for _ in range(12)]
        resource.prlimit(served.process.pid, resource.RLIMIT_AS, limits)
        return f"right password {statuses[0]}, for the twelfth time {statuses[-1]}, with memory {log_in(served)}"


def from_waitress_to_granian(checkout: Checkout) -> str:
    """One server stops under requests; how soon the other can have its port."""
    with checkout.served("waitress") as served:
        port = served.port
        for _ in range(20):
            with suppress(OSError):
                ask(served.url, Request("/api/health/live"))
    began = monotonic()
    while monotonic() - began < 90:
        process = subprocess.Popen(
            checkout.command("serve", "--port", str(port), "--workers", "1"), cwd=checkout.folder,
            env=checkout.environ(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert process.stdout is not None
        started, waited = process.stdout.readline(), monotonic() - began
        process.terminate()
        process.communicate()
        if started:
            return f"serves after {waited:.1f} s"
        sleep(1)
    return "does not serve within 90 s"


def damaged_log(checkout: Checkout) -> str:
    """Bytes of SQLite's log are flipped under a running app."""
    done = subprocess.run([sys.executable, str(DAMAGE), str(checkout.instance), ADMIN, PASSWORD], cwd=checkout.folder,
                          env=checkout.environ(), capture_output=True, text=True, check=False)
    return done.stdout.strip() or done.stderr[-300:]


INCIDENTS: Mapping[str, Callable[[Checkout], str]] = {
    "passwords are guessed": guessed_from_elsewhere,
    "no memory for passwords": no_memory_for_passwords,
    "from waitress to granian": from_waitress_to_granian,
    "bytes flipped in the log": damaged_log,
}
