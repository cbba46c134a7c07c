"""Disks that are full, read-only or without write permission. These faults need root."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .fault import MODES_COUNT, Fault, Place

SMALL = 48 * 2**20  # bytes


@contextmanager
def small_disk(place: Place) -> Iterator[None]:
    """The instance is on a small disk of its own."""
    folder = place.folder
    kept = folder.with_name("kept")
    folder.rename(kept)
    folder.mkdir(0o700)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SMALL},mode=700", "tmpfs", folder], check=True)
    try:
        subprocess.run(["cp", "-a", f"{kept}/.", folder], check=True)
        yield
        subprocess.run(["cp", "-a", f"{folder}/.", kept], check=True)
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)
        folder.rmdir()
        kept.rename(folder)


@contextmanager
def full(place: Place) -> Iterator[None]:
    """Another program has filled the free part of the disk."""
    filler = place.folder / "filler"
    with filler.open("wb", buffering=0) as file:
        for size in (2**20, 2**12):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                continue
    try:
        yield
    finally:
        filler.unlink()


@contextmanager
def almost_full(place: Place) -> Iterator[None]:
    """The disk has room for a row of the health check, but not for an article."""
    with full(place):
        os.truncate(place.folder / "filler", (place.folder / "filler").stat().st_size - 40_000)
        yield


@contextmanager
def read_only(place: Place) -> Iterator[None]:
    """The disk is mounted for reading."""
    subprocess.run(["mount", "-o", "remount,ro", place.folder], check=True)
    try:
        yield
    finally:
        subprocess.run(["mount", "-o", "remount,rw", place.folder], check=True)


@contextmanager
def log_on_a_full_disk(place: Place) -> Iterator[None]:
    """The log is on a full disk."""
    with Path("/dev/full").open("wb") as log:
        place.errors = log
        yield


@contextmanager
def log_that_nobody_reads(place: Place) -> Iterator[None]:
    """The log is a full pipe whose reader does not read."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    try:
        while True:
            os.write(writing, b"x" * 4096)
    except BlockingIOError:
        os.set_blocking(writing, True)
    place.errors = writing
    try:
        yield
    finally:
        os.close(writing)
        os.close(reading)


@contextmanager
def no_temporary_files(place: Place) -> Iterator[None]:
    """The disk of temporary files is full."""
    folder = place.folder.with_name("temporary")
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k,nr_inodes=2", "tmpfs", folder], check=True)
    place.environment = {**place.environment, "TMPDIR": str(folder)}
    (folder / "x").write_bytes(b"x" * 4096)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


@contextmanager
def modes_count(place: Place) -> Iterator[None]:
    place.prefix = MODES_COUNT
    yield


def _mode(name: str, mode: int):
    @contextmanager
    def other_mode(place: Place) -> Iterator[None]:
        path = place.folder / name
        before = path.stat().st_mode & 0o7777
        path.chmod(mode)
        try:
            yield
        finally:
            path.chmod(before)

    return other_mode


@contextmanager
def nothing_yet(place: Place) -> Iterator[None]:
    """Changes nothing: the fault exists from the start."""
    yield


DISKS = (
    Fault("the disk is full", full, prepare=small_disk, check="database"),
    Fault("the disk is almost full", almost_full, prepare=small_disk, check="disk"),
    Fault("the disk is full at the start", full, prepare=small_disk, stopped=True, starts=True, check="database"),
    Fault("the disk is read-only", read_only, prepare=small_disk, stopped=True, starts=True, check="database"),
    Fault("the log is on a full disk", nothing_yet, prepare=log_on_a_full_disk, health="ok", check="", doctor=False),
    Fault("nobody reads the log", nothing_yet, prepare=log_that_nobody_reads, health="ok", check="", doctor=False),
    Fault("no room for temporary files", nothing_yet, prepare=no_temporary_files, health="ok", check="", doctor=False),
    Fault("the database has mode 400", _mode("gatepost.db", 0o400), prepare=modes_count, stopped=True, starts=True,
          check="database"),
    Fault("the folder has mode 500", _mode(".", 0o500), prepare=modes_count, stopped=True, starts=True,
          check="database"),
    Fault("the key file has mode 000", _mode("secret.key", 0), prepare=modes_count, health="degraded", check="keys"),
)
