"""The waitress server: one process that takes connections, and that stops without losing a request.

Waitress by itself cancels what is queued when it is told to stop: that is mended here, and what it reads in
`waitress_parser`. In production nginx or Caddy stands in front.
"""

from __future__ import annotations

import logging
import signal
from collections.abc import Callable
from time import monotonic
from types import FrameType
from typing import Any
from wsgiref.types import WSGIApplication, WSGIEnvironment

from waitress import create_server, wasyncore
from waitress.channel import HTTPChannel
from waitress.server import BaseWSGIServer
from waitress.task import WSGITask

from .errors import REFUSAL, Problem
from .waitress_dispatcher import Dispatcher
from .waitress_parser import HEADERS, Parser

log = logging.getLogger("gatepost.serving")


class Request(Parser):
    """`told` is what the application's environment says besides."""

    told: dict[str, Any] = {}

    def turn_away(self, problem: Problem) -> None:
        """Have the application answer this, whatever was asked."""
        self.told = {REFUSAL: problem}


class Task(WSGITask):
    def get_environment(self) -> WSGIEnvironment:
        environ: WSGIEnvironment = super().get_environment()
        environ.update(self.request.told)
        return environ


class Channel(HTTPChannel):
    parser_class = Request
    task_class = Task

    @property
    def idle(self) -> bool:
        """Whether no handler runs or waits for this connection, and its last answer has left."""
        return not self.requests and not self.total_outbufs_len


def serve(app: WSGIApplication, *, host: str, port: int, threads: int, body_limit: int,
          drain_timeout: float, ready: Callable[[str, int], None]) -> None:
    """Serve until SIGTERM or SIGINT, then finish the requests under way; a second signal stops at once.

    body_limit     bytes above which waitress answers 413 itself; the application's own limits are lower
    drain_timeout  seconds that a stop waits for requests under way
    ready          called with host and port once connections are accepted

    Raises OSError when the address cannot be listened on.
    """
    sockets: dict[int, Any] = {}
    dispatcher = Dispatcher()
    dispatcher.set_thread_count(threads)
    try:
        create_server(
            app,
            map=sockets,
            _dispatcher=dispatcher,
            host=host,
            port=port,
            ident=None,
            asyncore_use_poll=True,
            backlog=1024,
            connection_limit=1000,
            channel_timeout=60,
            channel_request_lookahead=0,
            max_request_header_size=HEADERS,
            max_request_body_size=body_limit,
            expose_tracebacks=False,
            # the application reads these headers, and only as many proxies deep as the settings say
            clear_untrusted_proxy_headers=False,
        )
    except OSError:
        wasyncore.close_all(sockets)
        raise
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)
    listeners = [each for each in sockets.values() if isinstance(each, BaseWSGIServer)]
    for listener in listeners:
        listener.channel_class = Channel
    signals = _Signals(wake=listeners[0].pull_trigger)

    ready(listeners[0].effective_host, int(listeners[0].effective_port))
    while not signals.count:
        wasyncore.loop(timeout=1, use_poll=True, map=sockets, count=1)

    log.info("stopping")
    for listener in listeners:
        # not the listener's own close(), which closes the trigger that handlers still pull
        wasyncore.dispatcher.close(listener)
    deadline = monotonic() + drain_timeout
    while _drain(sockets) and monotonic() < deadline and signals.count < 2:
        wasyncore.loop(timeout=0.5, use_poll=True, map=sockets, count=1)
    listeners[0].task_dispatcher.shutdown(cancel_pending=True, timeout=1)
    wasyncore.close_all(sockets)
    signals.restore()


def _drain(sockets: dict[int, Any]) -> int:
    """Tell idle connections to close; how many connections are left."""
    channels = [each for each in sockets.values() if isinstance(each, Channel)]
    for channel in channels:
        if channel.idle:
            channel.close_when_flushed = True
    return len(channels)


class _Signals:
    """Counts the requests to stop. A handler does no more: it may run in the middle of anything."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self.count = 0
        self._wake = wake
        self._before = {each: signal.signal(each, self._stop) for each in (signal.SIGTERM, signal.SIGINT)}

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self.count += 1
        self._wake()

    def restore(self) -> None:
        for each, handler in self._before.items():
            signal.signal(each, handler)
