"""Making of a backup: its parts are collected in a folder beside the archive, which gets its name when it is complete.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from time import monotonic
from types import TracebackType

from blueprints.backups.archive import DATABASE, Manifest, digest_of, pack, parts_of
from blueprints.backups.encryption import SUFFIX, encrypt
from gatepost.instance.leftovers import noted
from models.base import now
from models.contents import Contents, contents
from models.engine.database import Database
from models.engine.errors import RowError
from models.engine.waiting import uncounted
from models.tables import backup as backups
from models.tables.instance import beat
from policies.loading.files import Unreadable, read_bytes
from policies.loading.snapshot import LARGEST_SNAPSHOT, LAST_GOOD
from settings import Settings
from system.files import link, new_file
from system.worker import Worker

PAUSE = 0.05  # seconds between two writes


class Probe:
    """Writes repeatedly until the block ends, to measure how long writers wait.

    waits  seconds of the longest write; infinite if one failed
    log    bytes of SQLite's log: at the beginning, and the most since; None on Postgres
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._file = Path(f"{database.database}-wal") if database.dialect == "sqlite" else None
        self._worker = Worker("probe", self._write, PAUSE)
        self.waits = 0.0
        self.log = None if self._file is None else (self._length(), self._length())

    def __enter__(self) -> Probe:
        self._worker.wake()
        self._worker.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._worker.stop()

    def _write(self) -> None:
        began = monotonic()
        try:
            with uncounted():
                self._database.transact(beat)
        except RowError:
            self.waits = float("inf")
        self.waits = max(self.waits, monotonic() - began)
        if self.log is not None:
            self.log = self.log[0], max(self.log[1], self._length())

    def _length(self) -> int:
        with suppress(OSError):
            if self._file is not None:
                return self._file.stat().st_size
        return 0


_OLD = ".gatepost-backup-"  # prefix of the folder in versions that wrote no note about it
_LEFT = 24 * 3600  # seconds until such a folder counts as left over


class CannotBackUp(Exception):
    """Error if no backup was made. The message is a sentence."""


@dataclass(frozen=True)
class Taken:
    """A complete backup.

    place    the archive; `digest` is its SHA-256, `bytes` its length
    seconds  its duration
    waits    seconds of the longest wait of a writer during it; None if not measured
    log      bytes of SQLite's log: before, and the most during it; None on Postgres
    """

    place: Path
    digest: str
    bytes: int
    seconds: float
    waits: float | None
    log: tuple[int, int] | None
    manifest: Manifest


def take(settings: Settings, database: Database, place: Path, *, probing: bool = True, lenient: bool = False,
         inspect: Callable[[Path], None] | None = None) -> Taken:
    """Makes a backup of the instance at `place`, which must not exist. With a recipient, it is encrypted as `.age`.

    probing  also measure how long writers wait
    lenient  skip files that cannot be read, such as a lost key file
    inspect  is called with the archive before it is encrypted

    Raises CannotBackUp, CannotEncrypt, `RowError`, OSError; then no file remains.
    """
    began, made_at = monotonic(), now()
    if settings.backup_recipient and place.suffix != SUFFIX:
        place = place.with_name(place.name + SUFFIX)
    if place.exists() or place.is_symlink():
        raise CannotBackUp(f"{place} is there already.")
    with _gathering(settings.instance, place.parent) as folder:
        parts = folder / "parts"
        parts.mkdir(mode=0o700)
        with Probe(database) if probing else nullcontext() as probe:
            contents_of_copy = _copy_database(database, parts / DATABASE)
        _copy_files(settings, parts, lenient=lenient)
        manifest = Manifest(made_at, version("gatepost"), database.dialect, contents_of_copy, parts_of(parts))
        archive = folder / "archive"
        with new_file(archive) as file:
            pack(parts, manifest, file)
        if inspect is not None:
            inspect(archive)
        if settings.backup_recipient:
            plain, archive = archive, folder / f"archive{SUFFIX}"
            encrypt(plain, archive, settings.backup_recipient)
            archive.chmod(0o600)
        digest, size = digest_of(archive), archive.stat().st_size
        _put(archive, place)
    return Taken(place, digest, size, monotonic() - began, probe.waits if probe else None,
                 probe.log if probe else None, manifest)


def note(result: Taken) -> str:
    """Stores a backup of a command, in the current transaction. Returns its id."""
    id = backups.begin()
    assert id is not None  # without hours, it is always due
    backups.note_made(id, str(result.place), result.digest, result.bytes, result.seconds)
    return id


def free_place(folder: Path, kind: str) -> Path:
    """Returns a free path for a backup that is made now: `gatepost-20261123T020000Z.tar.gz`."""
    while True:
        place = folder / f"{kind}-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}.tar.gz"
        if not (place.exists() or place.with_name(place.name + SUFFIX).exists()):
            return place
        time.sleep(0.1)


def _copy_database(database: Database, place: Path) -> Contents:
    with database.copied(str(place)) as copy:
        if (damage := copy.examine(float("inf"))) is not None:
            raise damage
        result = contents(copy)
    # Opening the copy created files beside it, such as its log, which are empty now.
    for beside in place.parent.glob(f"{place.name}?*"):
        beside.unlink()
    return result


def _copy_files(settings: Settings, parts: Path, *, lenient: bool) -> None:
    """Copies keys, settings and policies. Copies the targets of links, and skips hidden files."""
    folder = parts / "policies"
    folder.mkdir(mode=0o700)
    rules = settings.policies.iterdir() if settings.policies.is_dir() else ()
    copies = {settings.secret_file: parts / "secret.key", **{
        settings.instance / name: parts / name for name in ("settings.toml", LAST_GOOD)
        if (settings.instance / name).exists()}, **{
        place: folder / place.name for place in rules if place.is_file() and not place.name.startswith(".")}}
    for place, copy in copies.items():
        try:
            copy.write_bytes(read_bytes(place, LARGEST_SNAPSHOT))
        except Unreadable as error:
            if not lenient:
                raise CannotBackUp(f"{place} cannot be copied: {error}.") from error


@contextmanager
def _gathering(instance: Path, parent: Path) -> Iterator[Path]:
    parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    for leftover in parent.glob(f"{_OLD}*"):
        if time.time() - leftover.stat().st_mtime > _LEFT:
            shutil.rmtree(leftover, ignore_errors=True)
    with noted(instance, parent) as folder:
        try:
            folder.mkdir(mode=0o700)
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _put(archive: Path, place: Path) -> None:
    """Gives the archive its name. Raises CannotBackUp if another file has the name in the meantime."""
    with open(archive, "rb") as file:
        os.fsync(file.fileno())
    try:
        link(archive, place)
    except FileExistsError:
        raise CannotBackUp(f"{place} is there already.") from None
