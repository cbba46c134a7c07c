"""Messages to the supervisor (sd_notify(3)): the service is ready, it stops, it is alive."""

from __future__ import annotations

import logging
import socket
from time import monotonic

log = logging.getLogger("gatepost.serving")


class Notifier:
    """Sender of messages to the supervisor, if there is one.

    address   UNIX socket of the supervisor, with `@` first for an abstract one; empty: no supervisor
    watchdog  seconds without a sign of life after which it ends the service; 0: never
    """

    def __init__(self, address: str = "", watchdog: float = 0.0) -> None:
        self._address = "\0" + address[1:] if address.startswith("@") else address
        self._next = 0.0  # when the next sign of life is due (monotonic)
        # Half of it, as sd_watchdog_enabled(3) advises: one sign may be late.
        self.interval = watchdog / 2 if address else 0.0

    def ready(self, where: str) -> None:
        """Reports that the service answers requests; `where` is its URL."""
        self._tell(f"READY=1\nSTATUS=Serving on {where}.")

    def stopping(self) -> None:
        """Reports that the service accepts no new connections."""
        self._tell("STOPPING=1\nSTATUS=Finishing the requests under way.")

    def alive(self) -> None:
        """Sends a sign of life if one is due."""
        if self.interval and (now := monotonic()) >= self._next:
            self._next = now + self.interval
            self._tell("WATCHDOG=1")

    def _tell(self, text: str) -> None:
        if not self._address:
            return
        # Opened for each message, so that forked workers do not inherit it.
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as connection:
            connection.setblocking(False)  # a supervisor that hangs must not block the service
            try:
                connection.sendto(text.encode(), self._address)
            except OSError as error:
                log.warning("The supervisor cannot be told %s: %s", text.split("\n")[0], error)
