"""The granian server: several processes that listen on one port.

The first process serves nothing. It makes the app, but holds no connection and no thread when it forks the workers. It
starts another when one of them ends unasked, and hands on the signals: SIGTERM to finish, SIGHUP to look at settings
and policy. When it is killed itself, the workers finish. In each of these processes a thread takes the signals
(`signals`).
"""

from __future__ import annotations

import logging
import os
import signal
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from threading import Thread
from time import monotonic, sleep
from typing import Any

from flask import Flask
from granian._granian import SocketHolder
from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings
from granian.log import LogLevels
from granian.server import mp
from granian.server.mp import MPServer

from ...http.operations.affinity import OneCore
from ...http.operations.slots import most_waiting
from .. import signals
from ..activation import GRACE
from ..answering import answers
from ..notify import Notifier
from .board import Board
from .bodies import BodyPlaces
from .calls import Calls, threads_for
from .listeners import connected, stop_accepting
from .transfers import Transfers

log = logging.getLogger("gatepost.serving")

CONNECTIONS = 1024  # that one worker holds; more wait in the kernel's queue
HEADERS = 65_536  # bytes of a request before its body
HEADERS_TIMEOUT = 10_000  # milliseconds in which they have to come
ORPHANS = 2.0  # seconds that the workers of a server that was killed may need to let go of the port
LATE = 2.0  # seconds after its last sign of life that a worker is taken for dead by the watchdog
LOOK = 0.02  # seconds between two looks at workers that start, and at connections that end


class Worker:
    """How one worker stands to the others (`calls.Standing`)."""

    def __init__(self, board: Board, number: int, port: int) -> None:
        self._board, self._number, self._port = board, number, port
        self._accepts = True

    @property
    def stopping(self) -> bool:
        return self._board.stopping

    def look(self) -> None:
        if self._accepts and self.stopping:
            stop_accepting(self._port)
            self._accepts = False
        self._board.sign(self._number, self._accepts)


class Server(MPServer):
    """Says when it accepts connections, and tells its workers to `reload` instead of replacing them.

    A stop accepts no more connections. For `GRACE` those that are open are kept, and told to close with the answer to
    their next request: a request that a client has just sent is answered, and its next one goes to the next process.

    reload    called in every process that gets SIGHUP, the first one too; it must not block
    board     what the workers say
    held      a listening socket for each worker; none where each binds one of its own
    notifier  is told when the service stops, and that every worker is alive: its threads turn. A database that is away
              does not count.
    """

    pid: Any  # of the first process, once it serves
    _shd: Any  # what the next worker listens on

    def __init__(self, ready: Callable[[str, int], None], reload: Callable[[], None], board: Board,
                 held: Sequence[socket.socket], notifier: Notifier, **options: Any) -> None:
        super().__init__("gatepost", interface=Interfaces.WSGI, **options)
        self._ready, self._look_anew, self._board, self._held, self._notifier = ready, reload, board, held, notifier

    # A worker inherits both handlers. `signals` calls them.

    def signal_handler_interrupt(self, *args: Any, **kwargs: Any) -> None:
        if os.getpid() != self.pid:
            os._exit(0)
        if not self._board.stopping:
            self._board.stop()
            self._notifier.stopping()
            end = monotonic() + GRACE
            while (self._board.accepts() or connected(self.bind_port)) and monotonic() < end:
                sleep(LOOK)
        super().signal_handler_interrupt()  # type: ignore[no-untyped-call]

    def signal_handler_reload(self, *args: Any, **kwargs: Any) -> None:
        self._look_anew()
        if os.getpid() == self.pid:
            for worker in self.wrks:
                with suppress(ProcessLookupError):
                    os.kill(worker.inner.pid, signal.SIGHUP)

    def _spawn_workers(self, spawn_target: Any, target_loader: Any) -> None:
        super()._spawn_workers(spawn_target, target_loader)  # type: ignore[no-untyped-call]
        signals.handle()
        while any(worker.is_alive() for worker in self.wrks) and not self.interrupt_signal:
            if self._board.began() and answers(self.bind_addr, self.bind_port):
                self._ready(self.bind_addr, self.bind_port)
                if self._notifier.interval:
                    Thread(target=self._watch, name="watchdog", daemon=True).start()
                return
            sleep(LOOK)

    def _watch(self) -> None:
        while True:
            if self._board.alive(within=LATE):
                self._notifier.alive()
            sleep(min(LATE, self._notifier.interval) / 4)

    def _init_shared_socket(self) -> None:
        if not self._held:
            super()._init_shared_socket()  # type: ignore[no-untyped-call]
            return
        self._ssp = self._sso = None

    def _spawn_worker(self, idx: int, target: Any, callback_loader: Any) -> Any:  # type: ignore[override]
        if self._held:
            self._shd = SocketHolder(self._held[idx].fileno(), False, self.backlog)  # type: ignore[call-arg]
        return super()._spawn_worker(idx, target, callback_loader)


def serve(app: Flask, *, begin: Callable[[], None], end: Callable[[], None], host: str, port: int, workers: int,
          threads: int, drain_timeout: float, one_core: bool, trusted_proxies: int,
          ready: Callable[[str, int], None], reload: Callable[[], None], held: Sequence[socket.socket] = (),
          notifier: Notifier) -> None:
    """Serve until SIGTERM or SIGINT, then let the workers finish what they have begun.

    app              stopped: each worker goes on with a copy of it
    begin            called in the main thread of each worker before it serves; `end`, after it has served
    threads          requests that one worker handles at a time
    drain_timeout    seconds after which a worker that does not finish is killed
    one_core         each worker runs its requests on a core of its own
    trusted_proxies  how many proxies deep the client's address is looked for
    ready            called with host and port once requests are answered
    reload           called in every process that gets SIGHUP; it must not block
    held             a listening socket for each worker, to serve instead of `host` and `port`
    notifier         is told when the service stops, and that every worker is alive

    Raises OSError when the address cannot be listened on, SystemExit when the workers cannot be kept alive.
    """
    orphaned, owned = os.pipe()
    first = os.getpid()
    board = Board(workers)

    def load() -> Flask:
        # Only the first process holds this end now: reading the other one ends when that process does.
        os.close(owned)
        signals.handle()
        Thread(target=_finish_with, args=(orphaned,), name="orphan", daemon=True).start()
        begin()
        return app

    with nullcontext(port) if held else _reserved(host, port) as free:
        def work(number: int, *arguments: Any) -> None:
            if one_core:
                app.wsgi_app = OneCore(app.wsgi_app, first + number)  # type: ignore[method-assign]
            bodies = BodyPlaces(most_waiting(threads), trusted_proxies)
            worker = Worker(board, number - 1, free)
            calls = Calls(app, threads, bodies, Transfers(free), worker)
            calls.watch()
            # What granian makes of an application is not an option. This process is a worker's own.
            mp._wsgi_call_wrap = lambda *_: calls  # type: ignore[attr-defined]
            worker.look()
            try:
                MPServer._spawn_wsgi_worker(number, *arguments)
            finally:
                end()

        signals.hold()
        Server(
            ready, reload, board, held, notifier,
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
