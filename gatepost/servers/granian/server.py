"""The granian server: several processes that listen on one port, behind a proxy.

The first process serves nothing. It makes the app, but holds no connection when it forks the workers. granian starts
another when one of them ends unasked. SIGTERM finishes, SIGHUP looks at settings and policy in every process. When the
first process is killed, the workers finish. In each of these processes a thread takes the signals (`signals`).
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from threading import Thread
from time import monotonic, sleep
from typing import Any

from flask import Flask
from granian import Granian
from granian._granian import SocketHolder
from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings
from granian.log import LogLevels

from ...http.operations.affinity import OneCore
from ..activation import GRACE
from ..admission import LOOK
from ..answering import answers
from ..notify import Notifier
from . import signals
from .application import Application, threads_for
from .board import Board
from .listeners import connected, stop_accepting

CONNECTIONS = 1024  # that one worker holds; more wait in the kernel's queue
HEADERS = 65_536  # bytes of a request before its body
HEADERS_TIMEOUT = 10_000  # milliseconds in which they have to come
ORPHANS = 2.0  # seconds that the workers of a server that was killed may need to let go of the port
LATE = 2.0  # seconds after its last sign of life that a worker is taken for dead by the watchdog
NEXT = 0.02  # seconds between two looks at workers that start, and at connections that end


def serve(app: Flask, *, begin: Callable[[], None], end: Callable[[], None], host: str, port: int, workers: int,
          threads: int, drain_timeout: float, one_core: bool, ready: Callable[[str, int], None],
          reload: Callable[[], None], held: Sequence[socket.socket] = (), notifier: Notifier) -> None:
    """Serve until SIGTERM or SIGINT, then let the workers finish what they have begun.

    A stop accepts no more connections. For `GRACE` those that are open are kept, and told to close with the answer to
    their next request: a request that a client has just sent is answered, and its next one goes to the next process.

    app              stopped: each worker goes on with a copy of it
    begin            called in the main thread of each worker before it serves; `end`, after it has served
    threads          requests that one worker handles at a time
    drain_timeout    seconds after which a worker that does not finish is killed
    one_core         each worker runs its requests on a core of its own
    ready            called with host and port once requests are answered
    reload           called in every process that gets SIGHUP; it must not block
    held             a listening socket for each worker, to serve instead of `host` and `port`
    notifier         is told when the service stops, and that every worker is alive; a database that is away does not
                     count

    Raises OSError when the address cannot be listened on, SystemExit when the workers cannot be kept alive.
    """
    orphaned, owned = os.pipe()
    first = os.getpid()
    board = Board(workers)

    with nullcontext(port) if held else _reserved(host, port) as free:
        def work(number: int, name: str, loader: object, listener: object, *options: Any) -> None:
            """Serves in a worker, the first of which has the number 1."""
            def load() -> Application:
                # Only the first process holds this end now: reading the other one ends when that process does.
                os.close(owned)
                signal.signal(signal.SIGHUP, lambda *_: reload())
                signals.handle()
                Thread(target=_finish_with, args=(orphaned,), name="orphan", daemon=True).start()
                begin()
                if one_core:
                    app.wsgi_app = OneCore(app.wsgi_app, first + number)  # type: ignore[method-assign]
                Thread(target=_sign, args=(board, number - 1, free), name="board", daemon=True).start()
                return Application(app, threads, lambda: board.stopping)

            if held:
                # What is handed over to a worker is not an option: this and the call below are private to granian.
                mine = SocketHolder(held[number - 1].fileno(), False, CONNECTIONS)  # type: ignore[call-arg]
                listener = (None, mine), None
            try:
                Granian._spawn_wsgi_worker(number, name, load, listener, *options)
            finally:
                end()

        signals.hold()
        server = Granian(
            "gatepost",
            interface=Interfaces.WSGI,
            address=host,
            port=0 if held else free,
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
        )

        @server.on_startup
        def start() -> None:
            """Replaces the handlers of signals, which granian has set by now and every worker inherits."""
            finish: Any = signal.getsignal(signal.SIGTERM)

            def stop(*_: object) -> None:
                if os.getpid() != first:
                    os._exit(0)  # a worker that does not serve yet
                if not board.stopping:
                    board.stop()
                    notifier.stopping()
                    last = monotonic() + GRACE
                    while (board.accepts() or connected(free)) and monotonic() < last:
                        sleep(NEXT)
                finish()

            def look(*_: object) -> None:
                reload()
                for worker in multiprocessing.active_children():
                    with suppress(ProcessLookupError):
                        os.kill(worker.pid or first, signal.SIGHUP)

            for each in (signal.SIGTERM, signal.SIGINT):
                signal.signal(each, stop)
            signal.signal(signal.SIGHUP, look)
            signals.handle()
            Thread(target=_watch, args=(board, notifier, host, free, ready), name="watch", daemon=True).start()

        server.serve(spawn_target=work, target_loader=lambda: app, wrap_loader=False)


def _sign(board: Board, worker: int, port: int) -> None:
    """Says that this worker is alive, and accepts no more connections once the service stops."""
    accepts = True
    while True:
        if accepts and board.stopping:
            stop_accepting(port)
            accepts = False
        board.sign(worker, accepts)
        sleep(LOOK)


def _watch(board: Board, notifier: Notifier, host: str, port: int, ready: Callable[[str, int], None]) -> None:
    """Says once that requests are answered, and from then on that every worker is alive."""
    while not (board.began() and answers(host, port)):
        sleep(NEXT)
    ready(host, port)
    while notifier.interval:
        if board.alive(within=LATE):
            notifier.alive()
        sleep(min(LATE, notifier.interval) / 4)


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
