"""The granian server: several processes that listen on one port.

The first process serves nothing. It makes the app, but holds no connection and no thread when it forks the workers. It
starts another when one of them ends unasked, and hands on the signals: SIGTERM to finish, SIGHUP to look at the policy.
When it is killed itself, the workers finish. In each of these processes a thread takes the signals (`signals`).
"""

from __future__ import annotations

import logging
import os
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Thread
from time import monotonic, sleep
from typing import Any

from flask import Flask
from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings
from granian.log import LogLevels
from granian.server import mp
from granian.server.mp import MPServer

from ...operations.affinity import OneCore
from ...operations.slots import most_waiting
from .. import signals
from .bodies import BodyPlaces
from .calls import Calls, threads_for
from .transfers import Transfers

log = logging.getLogger("gatepost.serving")

CONNECTIONS = 1024  # that one worker holds; more wait in the kernel's queue
HEADERS = 65_536  # bytes of a request before its body
HEADERS_TIMEOUT = 10_000  # milliseconds in which they have to come
ORPHANS = 2.0  # seconds that the workers of a server that was killed may need to let go of the port


class Server(MPServer):
    """Says when it accepts connections, and tells its workers to look at the policy instead of replacing them."""

    pid: Any  # of the first process, once it serves

    def __init__(self, ready: Callable[[str, int], None], **options: Any) -> None:
        super().__init__("gatepost", interface=Interfaces.WSGI, **options)
        self._ready = ready

    # A worker inherits both handlers, until its app is made and has others. `signals` calls them.

    def signal_handler_interrupt(self, *args: Any, **kwargs: Any) -> None:
        if os.getpid() != self.pid:
            os._exit(0)
        super().signal_handler_interrupt()  # type: ignore[no-untyped-call]

    def signal_handler_reload(self, *args: Any, **kwargs: Any) -> None:
        if os.getpid() == self.pid:
            for worker in self.wrks:
                with suppress(ProcessLookupError):
                    os.kill(worker.inner.pid, signal.SIGHUP)

    def _spawn_workers(self, spawn_target: Any, target_loader: Any) -> None:
        super()._spawn_workers(spawn_target, target_loader)  # type: ignore[no-untyped-call]
        signals.handle()
        while any(worker.is_alive() for worker in self.wrks) and not self.interrupt_signal:
            try:
                socket.create_connection((self.bind_addr, self.bind_port), timeout=1).close()
            except OSError:
                sleep(0.02)
            else:
                self._ready(self.bind_addr, self.bind_port)
                return


def serve(app: Flask, *, begin: Callable[[], None], end: Callable[[], None], host: str, port: int, workers: int,
          threads: int, drain_timeout: float, one_core: bool, trusted_proxies: int,
          ready: Callable[[str, int], None]) -> None:
    """Serve until SIGTERM or SIGINT, then let the workers finish what they have begun.

    app              stopped: each worker goes on with a copy of it
    begin            called in the main thread of each worker before it serves; `end`, after it has served
    threads          requests that one worker handles at a time
    drain_timeout    seconds after which a worker that does not finish is killed
    one_core         each worker runs its requests on a core of its own
    trusted_proxies  how many proxies deep the client's address is looked for
    ready            called with host and port once connections are accepted

    Raises OSError when the address cannot be listened on, SystemExit when the workers cannot be kept alive.
    """
    orphaned, held = os.pipe()
    first = os.getpid()

    def load() -> Flask:
        # Only the first process holds this end now: reading the other one ends when that process does.
        os.close(held)
        signals.handle()
        Thread(target=_finish_with, args=(orphaned,), name="orphan", daemon=True).start()
        begin()
        return app

    with _reserved(host, port) as free:
        def work(number: int, *arguments: Any) -> None:
            if one_core:
                app.wsgi_app = OneCore(app.wsgi_app, first + number)  # type: ignore[method-assign]
            bodies = BodyPlaces(most_waiting(threads), trusted_proxies)
            calls = Calls(app, threads, bodies, Transfers(free))
            calls.watch()
            # What granian makes of an application is not an option. This process is a worker's own.
            mp._wsgi_call_wrap = lambda *_: calls  # type: ignore[attr-defined]
            try:
                MPServer._spawn_wsgi_worker(number, *arguments)
            finally:
                end()

        signals.hold()
        Server(
            ready,
            address=host,
            port=free,
            workers=workers,
            blocking_threads=threads_for(threads),
            backlog=CONNECTIONS,
            backpressure=CONNECTIONS,
            http=HTTPModes.http1,
            http1_settings=HTTP1Settings(header_read_timeout=HEADERS_TIMEOUT, max_buffer_size=HEADERS),
            websockets=False,
            log_level=LogLevels.error,
            respawn_failed_workers=True,
            workers_kill_timeout=max(1, int(drain_timeout)),
        ).serve(spawn_target=work, target_loader=load, wrap_loader=False)


def _finish_with(pipe: int) -> None:
    os.read(pipe, 1)
    os.kill(os.getpid(), signal.SIGTERM)


@contextmanager
def _reserved(host: str, port: int) -> Iterator[int]:
    """A port without a listener, kept for us while the workers come and go.

    The workers share it by SO_REUSEPORT, which would also let a second server in unseen.
    """
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    with socket.socket(family, kind, protocol) as keeper:
        # Connections of a server before us that are still in TIME_WAIT do not count, as long as there is no listener.
        keeper.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        deadline = monotonic() + ORPHANS
        while True:
            try:
                keeper.bind(address)
                break
            except OSError:
                if monotonic() > deadline:
                    raise
                sleep(0.05)
        # From now on the workers may bind it too, and no other program that does not ask to share it.
        keeper.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        keeper.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 0)
        yield int(keeper.getsockname()[1])
