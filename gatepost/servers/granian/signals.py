"""Signals of a process that has threads: a thread waits for them and calls their handlers.

By itself Python drops a signal that reaches a process between its fork and its first line, and calls a handler in the
middle of whatever the first thread does, which may hold the very lock that the handler takes.
"""

from __future__ import annotations

import signal
from threading import Thread

_HANDLED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def hold() -> None:
    """Let SIGTERM, SIGINT and SIGHUP wait, in this thread and in every thread and process that it starts."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _HANDLED)


def handle() -> None:
    """Call the handler that each has at the time, in a thread of this process; first for those that wait.

    Each must have one by now, and every thread must have come after `hold`.
    """
    Thread(target=_handle, name="signals", daemon=True).start()


def _handle() -> None:
    while True:
        number = signal.sigwait(_HANDLED)
        handler = signal.getsignal(number)
        if callable(handler):
            handler(number, None)
