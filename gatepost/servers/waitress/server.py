"""The waitress server: one process that accepts connections, and stops without losing a request.

Waitress by itself cancels queued requests when it stops, and clients can block it. This module fixes the first;
`listener`, `channel`, `bodies` and `parser` fix the second. In production nginx or Caddy is in front of it.
"""

from __future__ import annotations

import logging
import select
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from threading import Event, Thread
from time import monotonic, sleep
from types import FrameType
from typing import Any
from wsgiref.types import WSGIApplication

from waitress import wasyncore
from waitress.adjustments import Adjustments

from gatepost.servers.activation import GRACE
from gatepost.servers.answering import answers
from gatepost.servers.notify import Notifier
from gatepost.servers.waitress.bodies import BodyBudget
from gatepost.servers.waitress.dispatcher import Dispatcher
from gatepost.servers.waitress.listener import Listener, channels, connections_allowed
from gatepost.servers.waitress.parser import HEADERS


def turn(sockets: dict[int, Any], timeout: float) -> None:
    """Waits for events on the sockets, `timeout` seconds at most, and handles them.

    sockets  by descriptor

    An event reaches only the connection for which it was requested. `wasyncore.loop` compares only descriptors. If a
    connection is closed and another is accepted in the same turn, the new one may get the same descriptor, and would be
    closed at once.
    """
    pollster, registered = select.poll(), {}
    for descriptor, each in list(sockets.items()):
        flags = select.POLLIN | select.POLLPRI if each.readable() else 0
        if not each.accepting and each.writable():
            flags |= select.POLLOUT
        if flags and sockets.get(descriptor) is each:  # `readable` of the listener may close slow connections
            pollster.register(descriptor, flags)
            registered[descriptor] = each
    for descriptor, flags in pollster.poll(int(timeout * 1000)):
        each = registered[descriptor]
        if sockets.get(descriptor) is each:
            wasyncore.readwrite(each, flags)


log = logging.getLogger("gatepost.serving")

TURN = 0.5  # seconds that the loop waits for an event


def serve(app: WSGIApplication, *, host: str, port: int, threads: int, body_limit: int, import_limit: int,
          trusted_proxies: int, drain_timeout: float, ready: Callable[[str, int], None],
          held: Sequence[socket.socket] = (), notifier: Notifier) -> None:
    """Serves until SIGTERM or SIGINT, then finishes current requests. A second signal stops at once.

    A stop accepts no new connections. Open connections stay for `GRACE`, and close after the answer to their next
    request. So a request that a client has just sent is answered, and its next one goes to the next process.

    body_limit       most bytes of a body that is read; a larger one is refused unread
    import_limit     the same for an import, after the application has accepted its head
    trusted_proxies  number of proxies in front, whose X-Forwarded-For has the client's address
    drain_timeout    seconds for which a stop waits for current requests
    ready            called with host and port when requests are answered
    held             listening sockets to serve instead of `host` and `port`
    notifier         gets the messages that the service stops, and that it is alive: this loop runs, and the spare
                     thread is free. An unavailable database does not matter.
    Raises OSError if it cannot listen on the address.
    """
    sockets: dict[int, Any] = {}
    bodies = BodyBudget(limit=body_limit, import_limit=import_limit, trusted_proxies=trusted_proxies)
    dispatcher = Dispatcher(threads)
    listeners = listen(app, sockets, dispatcher, host=host, port=port, connections=connections_allowed(threads),
                       bodies=bodies, held=held)
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)
    signals = _Signals(wake=listeners[0].pull_trigger)

    address = listeners[0].address
    answered, announced = Event(), False
    Thread(target=_ask, args=(address, answered, signals), name="first request", daemon=True).start()
    while not signals.count:
        turn(sockets, TURN)
        if not announced and answered.is_set():
            ready(*address)
            announced = True
        if announced and dispatcher.turns():
            notifier.alive()

    log.info("stopping")
    notifier.stopping()
    for listener in listeners:
        # not the listener's own close(), which closes the trigger that handlers still pull
        wasyncore.dispatcher.close(listener)
        listener.stopping = True
    grace = monotonic() + GRACE
    while channels(sockets) and monotonic() < grace and signals.count < 2:
        turn(sockets, GRACE / 10)
    deadline = monotonic() + drain_timeout
    while _drain(sockets) and monotonic() < deadline and signals.count < 2:
        turn(sockets, TURN)
        notifier.alive()
    dispatcher.shutdown(timeout=1)
    wasyncore.close_all(sockets)
    signals.restore()


def _ask(address: tuple[str, int], answered: Event, signals: _Signals) -> None:
    """Sends requests until one is answered, and then wakes the loop."""
    while not signals.count:
        if answers(*address):
            answered.set()
            signals.wake()
            return
        sleep(TURN / 10)


def listen(app: WSGIApplication, sockets: dict[int, Any], dispatcher: Dispatcher, *, host: str, port: int,
           connections: int, bodies: BodyBudget, held: Sequence[socket.socket] = ()) -> list[Listener]:
    """Returns the listeners of an address, or of held sockets.

    sockets     the map for `turn`
    dispatcher  the threads that answer

    Raises OSError when the address cannot be listened on.
    """
    adjustments = Adjustments(
        host=host,
        port=port,
        ident=None,
        backlog=1024,
        channel_request_lookahead=0,
        max_request_header_size=HEADERS,
        max_request_body_size=sys.maxsize,  # `BodyBudget` decides
        expose_tracebacks=False,
        # the application reads these headers, and only as many proxies deep as the settings say
        clear_untrusted_proxy_headers=False,
    )
    try:
        # A bound socket needs no `bind`.
        return [Listener(app, sockets, True, own, dispatcher=dispatcher, adj=adjustments, sockinfo=address,
                         bind_socket=own is None, bodies=bodies, connections=connections)
                for own, address in _addresses(held, adjustments)]
    except OSError:
        wasyncore.close_all(sockets)
        raise


def _addresses(held: Sequence[socket.socket], adjustments: Adjustments) -> list[tuple[socket.socket | None, Any]]:
    """Returns existing sockets, or None, each with the result of `getaddrinfo` for its address."""
    if held:
        return [(each, (each.family, each.type, each.proto, each.getsockname())) for each in held]
    return [(None, address) for address in adjustments.listen]


def _drain(sockets: dict[int, Any]) -> int:
    """Closes idle connections and those of slow clients, and returns the number of the others.

    A connection that has just become idle stays for `GRACE`: its client may have sent the next request already.
    """
    connections, now = channels(sockets), monotonic()
    for channel in connections:
        channel.watch(now)
        if channel.idle_for(now) >= GRACE:
            channel.close_when_flushed = True
    return len(connections)


class _Signals:
    """Counter of the signals to stop. A handler only counts, because it may run in the middle of anything."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self.count = 0
        self.wake = wake
        self._old_handlers = {each: signal.signal(each, self._stop) for each in (signal.SIGTERM, signal.SIGINT)}

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self.count += 1
        self.wake()

    def restore(self) -> None:
        for each, handler in self._old_handlers.items():
            signal.signal(each, handler)
