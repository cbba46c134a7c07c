"""Limits of the machine, its clock, and processes that stand still or die."""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from .fault import Fault, Place

FAKETIME = next(iter(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1")), Path("libfaketimeMT.so.1"))


@contextmanager
def _limited(place: Place, kind: int, limit) -> Iterator[None]:
    """Each process may have no more than `limit` of it says."""
    before = [(pid, resource.prlimit(pid, kind)) for pid in place.processes()]
    for pid, (_, hard) in before:
        resource.prlimit(pid, kind, (limit(pid), hard))
    try:
        yield
    finally:
        for pid, limits in before:
            with suppress(ProcessLookupError):
                resource.prlimit(pid, kind, limits)


def no_descriptors(place: Place):
    # Numbers are given out from the lowest that is free; the next one that is needed is too high.
    return _limited(place, resource.RLIMIT_NOFILE, lambda pid: len(os.listdir(f"/proc/{pid}/fd")))


def no_memory(place: Place):
    return _limited(place, resource.RLIMIT_AS, lambda pid: (
        int(Path(f"/proc/{pid}/statm").read_text().split()[0]) * resource.getpagesize() + 2 * 2**20))


@contextmanager
def stopped_process(place: Place) -> Iterator[None]:
    """A process that serves stands still."""
    pid = place.processes()[0]
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


@contextmanager
def killed_worker(place: Place) -> Iterator[None]:
    """A worker is killed, and the server that began it goes on."""
    os.kill(place.processes()[0], signal.SIGKILL)
    yield


@contextmanager
def nothing_yet(place: Place) -> Iterator[None]:
    """What is wrong is so from the start."""
    yield


@contextmanager
def cut_in_two(place: Place) -> Iterator[None]:
    """The service is restarted while it is asked."""
    place.end()
    assert place.start() == ""
    yield


@contextmanager
def movable_clock(place: Place) -> Iterator[None]:
    """The clock of the service can be moved: libfaketime reads by how much, again and again."""
    moved = place.folder.with_name("clock")
    moved.write_text("+0s")
    place.environment = {**place.environment, "LD_PRELOAD": str(FAKETIME), "FAKETIME_TIMESTAMP_FILE": str(moved),
                         "FAKETIME_CACHE_DURATION": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
    yield


def _clock(hours: int):
    @contextmanager
    def moved(place: Place) -> Iterator[None]:
        file = place.folder.with_name("clock")
        file.write_text(f"{hours * 3600:+d}s")
        try:
            yield
        finally:
            file.write_text("+0s")

    return moved


def _by_clock(hours: int, **expected) -> Fault:
    return Fault(f"the clock goes by {hours:+d} hours", _clock(hours), prepare=movable_clock, needs="faketime",
                 **expected)


MACHINE = (
    Fault("no descriptors are left", no_descriptors, health="", check="", doctor=False, unserved=True),
    Fault("no memory is left", no_memory, health="ok", check="", doctor=False, unserved=True),
    Fault("a process stands still", stopped_process, health="", check="", doctor=False, unserved=True),
    Fault("a worker is killed", killed_worker, health="ok", check="", doctor=False, unserved=True,
          servers=("granian",)),
    Fault("a restart", cut_in_two, health="ok", check="", doctor=False, unserved=True),
    _by_clock(3, health="ok", check="", doctor=False),
    _by_clock(-3, health="degraded", check="clock"),
    _by_clock(26, health="ok", check="", doctor=False),
    _by_clock(-26, health="degraded", check="clock"),
)
