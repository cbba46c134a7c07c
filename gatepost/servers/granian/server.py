"""The granian server: several processes that listen on one port, behind a proxy.

The first process serves nothing. It makes the app, but holds no connection when it forks the workers. granian starts
another when one of them ends unasked. SIGTERM finishes, SIGHUP looks at settings and policy in every process. When the
first process is killed, the workers finish. In each of these processes a thread takes the signals (`handle`).
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import stat
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from mmap import mmap
from pathlib import Path
from threading import Thread
from time import monotonic, sleep
from typing import Any

from flask import Flask
from granian import Granian
from granian._granian import SocketHolder
from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings
from granian.log import LogLevels

from gatepost.http.operations.affinity import OneCore
from gatepost.servers.activation import GRACE
from gatepost.servers.admission import LOOK
from gatepost.servers.answering import answers
from gatepost.servers.granian.application import Application, threads_for
from gatepost.servers.notify import Notifier

CONNECTIONS = 1024  # that one worker holds; more wait in the kernel's queue
HEADERS = 65_536  # bytes of a request before its body
HEADERS_TIMEOUT = 10_000  # milliseconds in which they have to come
ORPHANS = 2.0  # seconds that the workers of a server that was killed may need to let go of the port
LATE = 2.0  # seconds after its last sign of life that a worker is taken for dead by the watchdog
NEXT = 0.02  # seconds between two looks at workers that start, and at connections that end


def serve(app: Flask, *, begin: Callable[[], None], end: Callable[[], None], host: str, port: int, workers: int,
          threads: int, drain_timeout: float, one_core: bool, ready: Callable[[str, int], None],
          reload: Callable[[], None], held: Sequence[socket.socket] = (), notifier: Notifier) -> None:
    """Serves until SIGTERM or SIGINT, then lets the workers finish what they have begun.

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
            os.setpgid(0, 0)  # Ctrl-C in a terminal signals a whole group: only the first process ends the workers

            def load() -> Application:
                # Only the first process holds this end now: reading the other one ends when that process does.
                os.close(owned)
                signal.signal(signal.SIGHUP, lambda *_: reload())
                handle()
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

        hold()
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
            handle()
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


_HANDLED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def hold() -> None:
    """Makes SIGTERM, SIGINT and SIGHUP wait, in this thread and in every thread and process that it starts."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _HANDLED)


def handle() -> None:
    """Calls the handlers of signals in a thread of this process; first for those that wait.

    By itself Python drops a signal that reaches a process between its fork and its first line, and calls a handler in
    the middle of whatever the first thread does, which may hold the very lock that the handler takes. Each signal must
    have a handler by now, and every thread must have started after `hold`.
    """
    Thread(target=_handle, name="signals", daemon=True).start()


def _handle() -> None:
    while True:
        number = signal.sigwait(_HANDLED)
        handler = signal.getsignal(number)
        if callable(handler):
            handler(number, None)


_STATE = struct.Struct("=d?7x")  # when the worker was last alive (monotonic, 0: not yet), whether it accepts
_START = 8  # bytes before the first worker's


class Board:
    """Memory that all processes share: the service stops or not, and when each worker was last alive.

    It is made before the fork.

    Each value has one writer, and is read whole: 8 bytes at a multiple of 8, or one.
    """

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._shared = mmap(-1, _START + workers * _STATE.size)

    @property
    def stopping(self) -> bool:
        """True once no more connections are accepted, and each one ends with its next answer."""
        return self._shared[0] != 0

    def stop(self) -> None:
        self._shared[0] = 1

    def began(self) -> bool:
        """Returns whether every worker has started."""
        return all(seen for seen, _ in self._states())

    def alive(self, within: float) -> bool:
        """Returns whether every worker was alive in the last `within` seconds."""
        return all(monotonic() - seen < within for seen, _ in self._states())

    def accepts(self) -> bool:
        """Returns whether a worker accepts connections."""
        return any(accepts for _, accepts in self._states())

    def sign(self, worker: int, accepts: bool) -> None:
        """Notes that a worker is alive now, and whether it accepts connections; the first one is 0."""
        _STATE.pack_into(self._shared, _START + worker * _STATE.size, monotonic(), accepts)

    def _states(self) -> Iterator[tuple[float, bool]]:
        for worker in range(self._workers):
            yield _STATE.unpack_from(self._shared, _START + worker * _STATE.size)


_ESTABLISHED = "01"


def stop_accepting(port: int) -> None:
    """Ends the acceptance of connections to the port in this process, and keeps those that it has.

    granian cannot: when it stops, it also closes the connections that it has accepted and not read. So another
    listening socket, which no client knows, takes the descriptor of each that listens on the port. Connections that
    were not accepted wait for the next process where a supervisor holds the socket.
    """
    with socket.socket(socket.AF_UNIX) as nobody:
        nobody.bind("")  # a name that the kernel chooses
        nobody.listen()
        nobody.setblocking(False)
        with suppress(FileNotFoundError):
            for descriptor in map(int, os.listdir("/proc/self/fd")):
                with suppress(OSError):  # it is gone by now, or no socket
                    if _listens(descriptor, port):
                        os.dup2(nobody.fileno(), descriptor, inheritable=False)


def connected(port: int) -> bool:
    """Returns whether a connection to this port of the machine was accepted; True where the kernel does not tell."""
    tables = [Path("/proc/self/net/tcp"), Path("/proc/self/net/tcp6")]
    known = False
    for table in tables:
        with suppress(OSError):
            for line in table.read_text("ascii").splitlines()[1:]:
                _, local, _, state, _, _, _, _, _, inode, *_ = line.split()
                # A connection has no inode before it is accepted.
                if state == _ESTABLISHED and inode != "0" and int(local.rpartition(":")[2], 16) == port:
                    return True
            known = True
    return not known


def _listens(descriptor: int, port: int) -> bool:
    """Returns whether a descriptor listens on the port. Raises OSError for one that was closed or is no socket."""
    # Of a file not even a copy may be closed: that ends the locks of SQLite on it (fcntl(2), Advisory record locking),
    # and another process takes itself for the last and deletes the log.
    if not stat.S_ISSOCK(os.fstat(descriptor).st_mode):
        return False
    with socket.socket(fileno=os.dup(descriptor)) as found:
        if found.family not in (socket.AF_INET, socket.AF_INET6) or found.type != socket.SOCK_STREAM:
            return False
        accepts = found.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN) != 0
        return accepts and found.getsockname()[1] == port
