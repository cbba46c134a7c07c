"""The journal of a restore. With it, the next process completes or undoes an interrupted restore.

One step replaces the rows and also starts a new epoch. If the database has the new epoch, the step was taken, and keys
and policies are replaced too. If not, the prepared files are removed.
"""

from __future__ import annotations

import fcntl
import filecmp
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from time import monotonic, sleep

from models.engine.connect import open_database
from models.engine.errors import Damaged
from models.tables.instance import the_instance
from policies.loading.snapshot import LAST_GOOD
from settings import Settings
from system.files import sync, write

JOURNAL, LOCK = "restore.json", "restore.lock"  # in the folder of the instance
STAGED = ".gatepost-restore-"  # prefix of the folder in which a restore is prepared
PATIENCE = 30.0  # seconds that a start waits for a running restore


class UnderWay(Exception):
    """Error if a restore of the instance is running. The message is a sentence."""


@dataclass(frozen=True)
class Journal:
    """A restore that has begun.

    epoch   the epoch of the database once the rows are replaced
    staged  the folder in the instance with the restored keys, policies and settings
    aside   the folder in the instance for the replaced files
    fresh   true if there was no instance before
    """

    epoch: str
    staged: str
    aside: str
    fresh: bool


def write_down(instance: Path, journal: Journal) -> None:
    """Writes the journal: from now on, an interrupted restore is completed or undone. Raises OSError."""
    write(instance / JOURNAL, json.dumps(asdict(journal)).encode())


def settle(settings: Settings, patience: float = PATIENCE) -> str | None:
    """Completes or undoes an interrupted restore. Returns a sentence about it; None if there was nothing to do.

    Waits for a running restore. Raises UnderWay after `patience` seconds; `RowError`, OSError.
    """
    # Without a restore, nothing else runs.
    if not (settings.instance / JOURNAL).exists():
        return None
    with alone(settings.instance, patience):
        journal = _read_journal(settings.instance)
        if journal is None:
            return None
        if end(settings, journal):
            return "A restore that was broken off is completed."
        return "A restore that was broken off is undone; nothing had been exchanged."


def settle_meanwhile(settings: Settings) -> None:
    """Does the same in a serving process. A running restore is left alone."""
    with suppress(UnderWay):
        settle(settings, patience=0)


def remove_unbegun(instance: Path) -> None:
    """Removes the prepared files of restores that were killed before they wrote their journal.

    Never raises. A file that cannot be removed now is removed at a later start.
    """
    if any(instance.glob(f"{STAGED}*")):
        with suppress(UnderWay, OSError), alone(instance, patience=0):
            if not (instance / JOURNAL).exists():
                for folder in instance.glob(f"{STAGED}*"):
                    shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def alone(instance: Path, patience: float) -> Iterator[None]:
    """Locks the instance against other restores during the block. Raises UnderWay, OSError."""
    descriptor = os.open(instance / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    deadline = monotonic() + patience
    try:
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if monotonic() >= deadline:
                    raise UnderWay("A restore of this instance is under way.") from None
                sleep(0.1)
        yield
    finally:
        os.close(descriptor)


def end(settings: Settings, journal: Journal) -> bool:
    """Completes a restore whose rows were replaced and returns True; undoes any other and returns False.

    Raises `RowError` if the database cannot be read; then the journal stays for the next start.
    """
    replaced = (settings.instance / JOURNAL).exists() and _has_begun(settings, journal.epoch)
    (_complete if replaced else _undo)(settings.instance, journal)
    return replaced


def _complete(instance: Path, journal: Journal) -> None:
    """Replaces keys, policies and settings with the restored ones. Skips steps that are done already."""
    staged, aside = instance / journal.staged, instance / journal.aside
    if (staged / "policies").is_dir():
        if _have_same_files(staged / "policies", instance / "policies"):
            shutil.rmtree(instance / "policies")
        elif (instance / "policies").exists():
            aside.mkdir(mode=0o700, exist_ok=True)
            (instance / "policies").rename(aside / "policies")
        (staged / "policies").rename(instance / "policies")
    _exchange(staged / "secret.key", instance / "secret.key", aside)
    if not (staged / LAST_GOOD).exists():
        # With the old one, each missing rule file would count as a broken edit.
        (instance / LAST_GOOD).unlink(missing_ok=True)
    _exchange(staged / LAST_GOOD, instance / LAST_GOOD, None)
    # Keep the settings of this machine. Only a new instance gets the restored ones.
    if not (instance / "settings.toml").exists():
        _exchange(staged / "settings.toml", instance / "settings.toml", None)
    _end(instance, journal)


def _undo(instance: Path, journal: Journal) -> None:
    """Removes the prepared files."""
    _end(instance, journal)
    if journal.fresh:
        for file in [instance / LOCK, *instance.glob("gatepost.db.*")]:
            file.unlink(missing_ok=True)
        with suppress(OSError):
            instance.rmdir()


def _end(instance: Path, journal: Journal) -> None:
    shutil.rmtree(instance / journal.staged, ignore_errors=True)
    (instance / JOURNAL).unlink(missing_ok=True)
    sync(instance)


def _exchange(fresh: Path, place: Path, aside: Path | None) -> None:
    if not fresh.exists():
        return
    if aside is not None and place.exists() and place.read_bytes() != fresh.read_bytes():
        aside.mkdir(mode=0o700, exist_ok=True)
        with suppress(FileExistsError):  # kept by a run that was killed before it replaced the file
            os.link(place, aside / place.name)
    os.replace(fresh, place)


def _have_same_files(first: Path, second: Path) -> bool:
    """True if two folders hold the same files."""
    if not second.is_dir():
        return False
    names = {file.name for file in first.iterdir()}
    same, _, _ = filecmp.cmpfiles(first, second, names, shallow=False)
    return names == set(same) == {file.name for file in second.iterdir()}


def _read_journal(instance: Path) -> Journal | None:
    try:
        return Journal(**json.loads((instance / JOURNAL).read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None


def _has_begun(settings: Settings, epoch: str) -> bool:
    path = settings.database_url.removeprefix("sqlite:///")
    if path != settings.database_url and not Path(path).exists():
        return False
    database = open_database(settings.database_url, pool_size=4, statement_timeout=settings.statement_timeout)
    try:
        with database.connected():
            return database.table_exists("instance") and the_instance().epoch == epoch
    except Damaged:
        return False  # a damaged database was not replaced yet
    finally:
        database.close_all()
