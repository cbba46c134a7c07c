"""Cores of the threads of a server.

Only one thread of an interpreter runs Python at a time. Handing the interpreter's lock to a thread that sleeps on
another core takes longer than most requests; on the same core it is a context switch. So all threads of a process that
answer requests keep to one core. A thread that releases the lock for long, to hash a password, may use every core
while it does so.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from threading import local
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

# Cores of this process; a container may have fewer than the machine. Known only on Linux.
_CORES = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


def keep(number: int) -> None:
    """Binds the current thread, and threads that it starts, to one core, chosen by the number of the process."""
    if _CORES:
        _choose({_CORES[number % len(_CORES)]})


def roam(process: int = 0) -> None:
    """Lets the current thread use every core again, or a process that it has just started."""
    if _CORES:
        _choose(_CORES, process)


def _choose(cores: Iterable[int], process: int = 0) -> None:
    # A sandbox may refuse this, and a container may have lost a core. Then requests are only slower.
    with suppress(OSError):
        os.sched_setaffinity(process, cores)


class OneCore:
    """WSGI middleware that binds each thread to one core, for servers that start their own threads."""

    def __init__(self, application: WSGIApplication, number: int) -> None:
        self._application, self._number = application, number
        self._thread = local()

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if not hasattr(self._thread, "bound"):
            self._thread.bound = True
            keep(self._number)
        return self._application(environ, start_response)
