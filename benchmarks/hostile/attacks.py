"""The attacks of a client. Each lasts the given number of seconds, and then closes everything that it opened."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import get_context
from threading import Thread
from time import monotonic, sleep

from .server import ADMIN, EDITORS, GUARDED, Served

ATTACKER = "127.0.0.2"  # another address than the honest client's
Tokens = Sequence[str]
Send = Callable[[int, float, Tokens], None]
"""The attack itself: on this port, for so many seconds, with these access tokens."""


@dataclass(frozen=True)
class Attack:
    """An attack.

    needs        number of editors' accounts that it needs, or `admin` for the administrator's
    servers      servers that it makes sense against
    descriptors  limit of the server's open files
    """

    name: str
    send: Send
    needs: int = 0
    admin: bool = False
    servers: Sequence[str] = GUARDED
    descriptors: int | None = None

    def tokens(self, served: Served) -> list[str]:
        """The access tokens of the accounts that it needs."""
        return [served.token(email) for email in ((ADMIN,) if self.admin else EDITORS[:self.needs])]

    @contextmanager
    def running(self, served: Served, seconds: float) -> Iterator[None]:
        """Attack from a process of its own while the block runs."""
        arguments = served.port, seconds, self.tokens(served)
        attacker = get_context("fork").Process(target=self.send, args=arguments, daemon=True)
        attacker.start()
        try:
            yield
        finally:
            attacker.join(timeout=seconds + 5)
            if attacker.is_alive():
                attacker.kill()
                attacker.join()


def connect(port: int, *, receive: int | None = None) -> socket.socket:
    """A connection from the attacker's address; `receive` bytes of buffer for what it does not read."""
    made = socket.socket()
    if receive is not None:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive)
    made.bind((ATTACKER, 0))
    made.settimeout(1)
    made.connect(("127.0.0.1", port))
    return made


def again(port: int, seconds: float, data: bytes, pause: float = 0.2) -> None:
    """Send the same bytes on one connection after the other."""
    end = monotonic() + seconds
    while monotonic() < end:
        with suppress(OSError), connect(port) as client:
            client.sendall(data)
            client.recv(4096)
        sleep(pause)


def together(clients: int, port: int, seconds: float, data: bytes) -> None:
    """Sends the data from `clients` clients at once."""
    threads = [Thread(target=again, args=(port, seconds, data), daemon=True) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def blanks(port: int, seconds: float, tokens: Tokens) -> None:
    again(port, seconds, b"GET / HTTP/1.1\r\nHost: x\r\nX:" + b" " * 63_000 + b"x\r\n\r\n")


def tabs(port: int, seconds: float, tokens: Tokens) -> None:
    lines = b"".join(b"X-%d:%sx\r\n" % (number, b"\t" * 4000) for number in range(15))
    again(port, seconds, b"GET / HTTP/1.1\r\nHost: x\r\n" + lines + b"\r\n")


def folded(port: int, seconds: float, tokens: Tokens) -> None:
    again(port, seconds, b"GET / HTTP/1.1\r\nHost: x\r\nX:\r\n" + b"  \r\n" * 15_000 + b" y\r\n\r\n")


def endless_chunk_size(port: int, seconds: float, tokens: Tokens) -> None:
    end = monotonic() + seconds
    while monotonic() < end:
        with suppress(OSError), connect(port) as client:
            client.sendall(b"POST /api/articles HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
            while monotonic() < end:
                client.sendall(b"0" * 65_536)
        sleep(0.1)


def unread_pipelines(port: int, seconds: float, tokens: Tokens) -> None:
    asked = b"GET /docs/rapidoc-min.js HTTP/1.1\r\nHost: x\r\n\r\n" * 24
    _hold(port, seconds, [asked] * 8)


def unread_exports(port: int, seconds: float, tokens: Tokens) -> None:
    asked = b"GET /api/articles/export HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n"
    _hold(port, seconds, [asked % token.encode() for token in tokens] * 4)


def _hold(port: int, seconds: float, requests: Sequence[bytes]) -> None:
    """Sends requests and never reads. Connects again if the server has closed the connection."""
    end = monotonic() + seconds
    held: dict[int, socket.socket] = {}
    with ExitStack() as stack:
        while monotonic() < end:
            for number, request in enumerate(requests):
                if number in held and not _gone(held[number]):
                    continue
                with suppress(OSError):
                    held[number] = stack.enter_context(connect(port, receive=4096))
                    held[number].sendall(request)
            sleep(0.5)


def _gone(client: socket.socket) -> bool:
    """True if the server has closed a connection that the attacker does not read from: sending fails, too."""
    try:
        client.send(b"")
        return bool(client.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR))
    except OSError:
        return True


def large_bodies(port: int, seconds: float, tokens: Tokens) -> None:
    """Twenty anonymous connections, 32 MiB each, a byte short of complete."""
    size, end = 32 * 2**20, monotonic() + seconds
    head = b"POST /api/articles HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n" \
           b"Content-Length: %d\r\n\r\n" % size
    with ExitStack() as stack:
        clients = []
        for _ in range(20):
            with suppress(OSError):
                clients.append(stack.enter_context(connect(port)))
                clients[-1].sendall(head)
                clients[-1].setblocking(False)
        left = dict.fromkeys(clients, size - 1)
        while monotonic() < end:
            for client in clients:
                if left[client] > 0:
                    with suppress(OSError):
                        left[client] -= client.send(b"x" * min(65_536, left[client]))
            sleep(0.001)


def large_forms(port: int, seconds: float, tokens: Tokens) -> None:
    """Sixteen anonymous clients that log in to the console by forms of just below a megabyte, 350 000 fields each."""
    form = b"a=&" * (2**20 // 3)
    head = b"POST /console/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\n" \
           b"Origin: http://x\r\nContent-Length: %d\r\n\r\n" % len(form)
    together(16, port, seconds, head + form)


def trials(port: int, seconds: float, tokens: Tokens) -> None:
    """Eight clients of a user who may see the rules try a change of them repeatedly."""
    body = b'{"files": {"mine.csv": "p, support, order.approve, always, allow\\n# end"}}'
    head = b"POST /api/admin/policy/try HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n" \
           b"Authorization: Bearer %s\r\nContent-Length: %d\r\n\r\n" % (tokens[0].encode(), len(body))
    together(8, port, seconds, head + body)


def dripping_bodies(port: int, seconds: float, tokens: Tokens) -> None:
    head = b"POST /api/articles HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n" \
           b"Authorization: Bearer %s\r\n\r\n"
    end = monotonic() + seconds
    with ExitStack() as stack:
        clients = []
        for number in range(30):
            with suppress(OSError):
                clients.append(stack.enter_context(connect(port)))
                clients[-1].sendall(head % tokens[number % len(tokens)].encode())
        while monotonic() < end:
            for client in clients:
                with suppress(OSError):
                    client.send(b"x")
            sleep(0.5)


def bad_lines(port: int, seconds: float, tokens: Tokens) -> None:
    """One import of 2 MB in which no line is valid."""
    body = b'{"title": 1}\n' * (2_000_000 // 13)
    head = b"POST /api/articles/import?on_error=skip HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-ndjson\r\n" \
           b"Authorization: Bearer %s\r\nContent-Length: %d\r\n\r\n" % (tokens[0].encode(), len(body))
    with suppress(OSError), connect(port) as client:
        client.settimeout(60)
        client.sendall(head + body)
        client.recv(4096)


def many_connections(port: int, seconds: float, tokens: Tokens) -> None:
    end = monotonic() + seconds
    with ExitStack() as stack:
        for _ in range(200):
            with suppress(OSError):
                stack.enter_context(connect(port))
        sleep(max(0.0, end - monotonic()))


ATTACKS: Mapping[str, Attack] = {one.name: one for one in (
    Attack("one header of 63 000 blanks", blanks),
    Attack("15 headers of 4 000 tabs", tabs),
    Attack("15 000 folded lines", folded),
    Attack("a chunk size without end", endless_chunk_size),
    Attack("8 × 24 answers of 1 MB, unread", unread_pipelines),
    Attack("40 exports of ten editors, unread", unread_exports, needs=10),
    Attack("20 bodies of 32 MiB, anonymous", large_bodies),
    Attack("16 clients, forms of 1 MB", large_forms),
    Attack("8 clients that try rules", trials, admin=True),
    Attack("30 bodies that drip", dripping_bodies, needs=10),
    Attack("an import of 2 MB of bad lines", bad_lines, needs=1),
    Attack("200 connections, 120 descriptors", many_connections, servers=("waitress",), descriptors=120),
)}
