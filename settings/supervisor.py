"""Environment variables of a supervisor such as systemd for the process that it starts.

sd_listen_fds(3): sockets that it keeps open while the service restarts. sd_notify(3): the address for the message that
the service is ready. sd_watchdog_enabled(3): the interval of messages that the service is alive.
"""

from __future__ import annotations

import os
from collections.abc import MutableMapping
from dataclasses import dataclass

from settings.sources import SettingError

FIRST_SOCKET = 3  # descriptor of the first socket
SOCKET_NAME = "http"  # the name of each socket, if the supervisor gives names (FileDescriptorName=)
MOST_SOCKETS = 1024
_TAKEN = ("LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "LISTEN_PIDFDID", "NOTIFY_SOCKET", "WATCHDOG_PID",
          "WATCHDOG_USEC")


@dataclass(frozen=True)
class Supervisor:
    """The requests and sockets of the supervisor that started this process.

    sockets   descriptors of its sockets, not checked yet
    notify    the UNIX socket for messages to it; an abstract socket begins with `@`; "": none
    watchdog  seconds without a message after which it kills the service; 0: never
    """

    sockets: tuple[int, ...] = ()
    notify: str = ""
    watchdog: float = 0.0


def take_supervisor(environ: MutableMapping[str, str] = os.environ) -> Supervisor:
    """Reads the supervisor's variables and removes them from the environment, so that child processes do not use them.

    Raises SettingError for an invalid value.
    """
    variables = {name: environ.pop(name) for name in _TAKEN if name in environ}
    notify = variables.get("NOTIFY_SOCKET", "")
    if notify and not (notify.startswith(("/", "@")) and len(notify) > 1):
        raise SettingError(f"NOTIFY_SOCKET: {notify!r} is neither a path nor an abstract socket (@name).")
    return Supervisor(_sockets(variables), notify, _watchdog(variables))


def _sockets(variables: MutableMapping[str, str]) -> tuple[int, ...]:
    if not ("LISTEN_FDS" in variables and _for_us(variables, "LISTEN_PID")):
        return ()
    count = _number(variables, "LISTEN_FDS", MOST_SOCKETS)
    names = variables["LISTEN_FDNAMES"].split(":") if variables.get("LISTEN_FDNAMES") else [SOCKET_NAME] * count
    if names != [SOCKET_NAME] * count:
        raise SettingError(f"LISTEN_FDNAMES: {count} sockets are given, with the names {', '.join(names)}; each has to "
                           f"be named {SOCKET_NAME} (FileDescriptorName={SOCKET_NAME} in the socket unit).")
    return tuple(range(FIRST_SOCKET, FIRST_SOCKET + count))


def _watchdog(variables: MutableMapping[str, str]) -> float:
    if "WATCHDOG_USEC" not in variables or ("WATCHDOG_PID" in variables and not _for_us(variables, "WATCHDOG_PID")):
        return 0.0
    return _number(variables, "WATCHDOG_USEC", 2**63) / 1_000_000


def _for_us(variables: MutableMapping[str, str], name: str) -> bool:
    """True if the variable has the id of this process. Otherwise the variables were inherited by mistake."""
    return name in variables and _number(variables, name, 2**31) == os.getpid()


def _number(variables: MutableMapping[str, str], name: str, most: int) -> int:
    text = variables[name]
    if not (text.isascii() and text.isdigit() and len(text) < 20 and 0 < int(text) <= most):
        raise SettingError(f"{name}: {text!r} is not allowed: a number from 1 to {most}.")
    return int(text)
