"""The granian server: several processes that listen on one port, behind a proxy.

The first process serves no requests. It makes the app, but holds no connection when it forks the workers. If a worker
ends unexpectedly, granian starts another. SIGTERM stops the service; SIGHUP reloads settings and policy in every
process. If the first process is killed, the workers stop. In each process a thread handles the signals (`handle`).
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

CONNECTIONS = 1024  # connections of one worker; further ones wait in the kernel's queue
HEADERS = 65_536  # bytes of a request before its body
HEADERS_TIMEOUT = 10_000  # milliseconds in which they must arrive
ORPHANS = 2.0  # seconds that the workers of a killed server may need to release the port
LATE = 2.0  # seconds after its last heartbeat for which a worker counts as alive
NEXT = 0.02  # seconds between two checks of starting workers, and of ending connections


def serve(app: Flask, *, begin: Callable[[], None], end: Callable[[], None], host: str, port: int, workers: int,
          threads: int, drain_timeout: float, one_core: bool, ready: Callable[[str, int], None],
          reload: Callable[[], None], held: Sequence[socket.socket] = (), notifier: Notifier) -> None:
    """Serves until SIGTERM or SIGINT. Then the workers finish their current requests.

    A stop accepts no new connections. Open connections stay for `GRACE`, and close after the answer to their next
    request. So a request that a client has just sent is answered, and its next one goes to the next process.

    app              its services are stopped; each worker uses a copy
    begin            called in the main thread of each worker before it serves; `end` after it has served
    threads          requests that one worker handles at a time
    drain_timeout    seconds after which a worker that does not finish is killed
    one_core         each worker runs its requests on its own core
    ready            called with host and port when requests are answered
    reload           called in every process that gets SIGHUP; it must not block
    held             a listening socket for each worker, to serve instead of `host` and `port`
    notifier         gets the messages that the service stops, and that every worker is alive, even without a database
    Raises OSError if it cannot listen on the address, SystemExit if the workers cannot be kept alive.
    """
    orphaned, owned = os.pipe()
    first = os.getpid()
    board = Board(workers)

    with nullcontext(port) if held else _reserved(host, port) as free:
        def work(number: int, name: str, loader: object, listener: object, *options: Any) -> None:
            """Serves in a worker, the first of which has the number 1."""
            os.setpgid(0, 0)  # Ctrl-C in a terminal signals a whole group, but only the first process ends the workers

            def load() -> Application:
                # Now only the first process holds this end. When it ends, reading the other end returns.
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
                # No option of granian passes a socket to a worker. This and the call below are private to granian.
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
            """Replaces the signal handlers that granian has set. Every worker inherits them."""
            finish: Any = signal.getsignal(signal.SIGTERM)

            def stop(*_: object) -> None:
                if os.getpid() != first:
                    os._exit(0)  # a worker that does not serve yet
                if not board.stopping:
                    board.stop()
                    notifier.stopping()
                    deadline = monotonic() + GRACE
                    while (board.accepts() or connected(free)) and monotonic() < deadline:
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
    """Records that this worker is alive. Stops accepting connections when the service stops."""
    accepts = True
    while True:
        if accepts and board.stopping:
            stop_accepting(port)
            accepts = False
        board.sign(worker, accepts)
        sleep(LOOK)


def _watch(board: Board, notifier: Notifier, host: str, port: int, ready: Callable[[str, int], None]) -> None:
    """Reports once that requests are answered, and then repeatedly that every worker is alive."""
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
    """Reserves a port without a listener while workers start and end.

    The workers share it by SO_REUSEPORT. Without the reservation, a second server could share it as well.
    """
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    with socket.socket(family, kind, protocol) as keeper:
        # Allows the port while connections of an earlier server are in TIME_WAIT, but not while there is a listener.
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
        # From now on the workers may bind it too, but no program without SO_REUSEPORT.
        keeper.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        keeper.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 0)
        yield int(keeper.getsockname()[1])


_HANDLED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def hold() -> None:
    """Blocks SIGTERM, SIGINT and SIGHUP in this thread, and in every thread and process that it starts."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _HANDLED)


def handle() -> None:
    """Calls signal handlers in a thread of this process, first for blocked signals that are pending.

    Python drops a signal that arrives between a fork and the first line of the new process. It also calls handlers in
    the middle of the main thread, which may hold a lock that the handler needs. Each signal must already have a
    handler, and every thread must have started after `hold`.
    """
    Thread(target=_handle, name="signals", daemon=True).start()


def _handle() -> None:
    while True:
        number = signal.sigwait(_HANDLED)
        handler = signal.getsignal(number)
        if callable(handler):
            handler(number, None)


_STATE = struct.Struct("=d?7x")  # time of the worker's last heartbeat (monotonic; 0: none yet), True if it accepts
_START = 8  # bytes before the state of the first worker


class Board:
    """Memory that all processes share: the stop flag, and the heartbeat of each worker. Made before the fork.

    Each value has one writer, and is read atomically: 8 bytes at a multiple of 8, or one byte.
    """

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._shared = mmap(-1, _START + workers * _STATE.size)

    @property
    def stopping(self) -> bool:
        """True if no new connections are accepted, and each connection closes after its next answer."""
        return self._shared[0] != 0

    def stop(self) -> None:
        self._shared[0] = 1

    def began(self) -> bool:
        """True if every worker has started."""
        return all(last_sign for last_sign, _ in self._states())

    def alive(self, within: float) -> bool:
        """True if every worker was alive in the last `within` seconds."""
        return all(monotonic() - last_sign < within for last_sign, _ in self._states())

    def accepts(self) -> bool:
        """True if a worker accepts connections."""
        return any(accepts for _, accepts in self._states())

    def sign(self, worker: int, accepts: bool) -> None:
        """Writes the heartbeat of a worker (the first one is 0). `accepts` is True if it accepts connections."""
        _STATE.pack_into(self._shared, _START + worker * _STATE.size, monotonic(), accepts)

    def _states(self) -> Iterator[tuple[float, bool]]:
        for worker in range(self._workers):
            yield _STATE.unpack_from(self._shared, _START + worker * _STATE.size)


_ESTABLISHED = "01"


def stop_accepting(port: int) -> None:
    """Stops accepting connections to the port in this process, and keeps the open ones.

    granian cannot do this: when it stops, it also closes accepted connections that it has not read. So an unused
    listening socket takes over the descriptor of each socket that listens on the port. If a supervisor holds the
    socket, connections that were not accepted wait for the next process.
    """
    with socket.socket(socket.AF_UNIX) as nobody:
        nobody.bind("")  # a name that the kernel chooses
        nobody.listen()
        nobody.setblocking(False)
        with suppress(FileNotFoundError):
            for descriptor in map(int, os.listdir("/proc/self/fd")):
                with suppress(OSError):  # it was closed, or is no socket
                    if _listens(descriptor, port):
                        os.dup2(nobody.fileno(), descriptor, inheritable=False)


def connected(port: int) -> bool:
    """True if an accepted connection to this port of the machine exists, or if the kernel does not show connections."""
    tables = [Path("/proc/self/net/tcp"), Path("/proc/self/net/tcp6")]
    is_readable = False
    for table in tables:
        with suppress(OSError):
            for line in table.read_text("ascii").splitlines()[1:]:
                _, local, _, state, _, _, _, _, _, inode, *_ = line.split()
                # A connection has no inode before it is accepted.
                if state == _ESTABLISHED and inode != "0" and int(local.rpartition(":")[2], 16) == port:
                    return True
            is_readable = True
    return not is_readable


def _listens(descriptor: int, port: int) -> bool:
    """True if a descriptor listens on the port. Raises OSError for one that was closed or is no socket."""
    # Checked first, because closing even a copy of a file's descriptor ends the locks of SQLite on the file (fcntl(2),
    # Advisory record locking). Then another process would believe that it is the last one, and delete the log.
    if not stat.S_ISSOCK(os.fstat(descriptor).st_mode):
        return False
    with socket.socket(fileno=os.dup(descriptor)) as candidate:
        if candidate.family not in (socket.AF_INET, socket.AF_INET6) or candidate.type != socket.SOCK_STREAM:
            return False
        accepts = candidate.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN) != 0
        return accepts and candidate.getsockname()[1] == port
