"""Limits of the machine, its clock, and processes that hang or die."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.incidents.load import SERVERS

from .fault import Fault, Place

# Only the wall clock: libfaketime also moves the monotonic clock, and with it waits that have a deadline.
CLOCK = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static long moved(void) {
    long seconds = 0;
    FILE *file = fopen(getenv("MOVED_CLOCK"), "r");
    if (file == NULL) return 0;
    if (fscanf(file, "%ld", &seconds) != 1) seconds = 0;
    fclose(file);
    return seconds;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(clock, now);
    if (result == 0 && clock == CLOCK_REALTIME) now->tv_sec += moved();
    return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec found;
    int result = clock_gettime(CLOCK_REALTIME, &found);
    now->tv_sec = found.tv_sec;
    now->tv_usec = found.tv_nsec / 1000;
    return result;
}

time_t time(time_t *where) {
    struct timespec found;
    clock_gettime(CLOCK_REALTIME, &found);
    if (where) *where = found.tv_sec;
    return found.tv_sec;
}
"""


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
    """A serving process is stopped."""
    pid = place.processes()[0]
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


@contextmanager
def killed_worker(place: Place) -> Iterator[None]:
    """A worker is killed, and its parent continues."""
    os.kill(place.processes()[0], signal.SIGKILL)
    yield


@contextmanager
def nothing_yet(place: Place) -> Iterator[None]:
    """Changes nothing: the fault exists from the start."""
    yield


@contextmanager
def cut_in_two(place: Place) -> Iterator[None]:
    """The service is restarted under requests."""
    place.end()
    assert place.start() == ""
    yield


@contextmanager
def other_server(place: Place) -> Iterator[None]:
    """The other server takes the port of a server that was stopped under requests."""
    own = place.server
    place.end()
    place.server = next(name for name in SERVERS if name != own)
    assert place.start() == ""
    try:
        yield
    finally:
        place.server = own


@contextmanager
def movable_clock(place: Place) -> Iterator[None]:
    """The clock of the service can be moved."""
    moved, source, library = (place.folder.with_name(name) for name in ("clock", "clock.c", "clock.so"))
    moved.write_text("0")
    source.write_text(CLOCK)
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    place.environment = {**place.environment, "LD_PRELOAD": str(library), "MOVED_CLOCK": str(moved)}
    yield


def _clock(hours: int):
    @contextmanager
    def moved(place: Place) -> Iterator[None]:
        file = place.folder.with_name("clock")
        file.write_text(str(hours * 3600))
        try:
            yield
        finally:
            file.write_text("0")

    return moved


def _by_clock(hours: int, **expected) -> Fault:
    return Fault(f"the clock goes by {hours:+d} hours", _clock(hours), prepare=movable_clock, needs="gcc",
                 **expected)


MACHINE = (
    Fault("no descriptors are left", no_descriptors, health="", check="", doctor=False, unserved=True),
    # If no thread can start, the write probe cannot run: then health says down.
    Fault("no memory is left", no_memory, health="", check="", doctor=False, unserved=True),
    Fault("a process stands still", stopped_process, health="", check="", doctor=False, unserved=True),
    Fault("a worker is killed", killed_worker, health="ok", check="", doctor=False, unserved=True,
          servers=("granian",)),
    Fault("a restart", cut_in_two, health="ok", check="", doctor=False, unserved=True),
    Fault("the other server takes the port", other_server, health="ok", check="", doctor=False, unserved=True),
    _by_clock(3, health="ok", check="", doctor=False),
    _by_clock(-3, health="degraded", check="clock"),
    _by_clock(26, health="ok", check="", doctor=False),
    _by_clock(-26, health="degraded", check="clock"),
)
