"""Messages to the supervisor (sd_notify(3)): the service is ready, it stops, it is alive."""

from __future__ import annotations

import logging
import socket
from time import monotonic

log = logging.getLogger("gatepost.serving")


class Notifier:
    """Tells the supervisor, where there is one that wants to be told.

    address   its UNIX socket, `@` first for an abstract one; empty for none
    watchdog  seconds without a sign of life after which it ends the service; 0 for never
    """

    def __init__(self, address: str = "", watchdog: float = 0.0) -> None:
        self._address = "\0" + address[1:] if address.startswith("@") else address
        self._next = 0.0  # when the next sign of life is due (monotonic)
        # Half of it, as sd_watchdog_enabled(3) advises: one sign may be late.
        self.interval = watchdog / 2 if address else 0.0

    def ready(self, where: str) -> None:
        """Requests are answered from now on; `where` is a URL."""
        self._tell(f"READY=1\nSTATUS=Serving on {where}.")

    def stopping(self) -> None:
        """No new connection is accepted from now on."""
        self._tell("STOPPING=1\nSTATUS=Finishing the requests under way.")

    def alive(self) -> None:
        """A sign of life, when one is due."""
        if self.interval and (now := monotonic()) >= self._next:
            self._next = now + self.interval
            self._tell("WATCHDOG=1")

    def _tell(self, text: str) -> None:
        if not self._address:
            return
        # Opened for each message: nothing of it is left in workers that are forked.
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as connection:
            connection.setblocking(False)  # a supervisor that hangs must not take the service with it
            try:
                connection.sendto(text.encode(), self._address)
            except OSError as error:
                log.warning("The supervisor cannot be told %s: %s", text.split("\n")[0], error)
