"""Taking a backup: its parts are gathered in a folder beside the archive, which has its name when it is whole."""

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
    """Writes again and again until the block ends, to measure how long writers wait.

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


_OLD = ".gatepost-backup-"  # the first characters of the folder's name in versions that wrote no note about it
_LEFT = 24 * 3600  # seconds after which such a folder counts as left


class CannotBackUp(Exception):
    """No backup was made; the text is a sentence."""


@dataclass(frozen=True)
class Taken:
    """A backup that was taken.

    place    the archive; `digest` its SHA-256, `bytes` its length
    seconds  that it took; the longest wait of a writer meanwhile, None where that was not measured
    log      bytes of SQLite's log before, and the most meanwhile; None on Postgres
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
    """Take a backup of the instance to `place`, which must not be there; where a recipient is set, it is encrypted and
    has the suffix `.age`.

    probing  also measure how long writers wait
    lenient  leave out files that cannot be read, such as a key file that was lost
    inspect  is called with the archive before that is encrypted

    Raises CannotBackUp, CannotEncrypt, `RowError`, OSError; then nothing is left.
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
            held = _copy_database(database, parts / DATABASE)
        _copy_files(settings, parts, lenient=lenient)
        manifest = Manifest(made_at, version("gatepost"), database.dialect, held, parts_of(parts))
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


def note(taken: Taken) -> str:
    """Write down that a backup was taken by a command, inside a transaction; its id."""
    id = backups.begin()
    assert id is not None  # it is due, since no hours are given
    backups.note_made(id, str(taken.place), taken.digest, taken.bytes, taken.seconds)
    return id


def free_place(folder: Path, kind: str) -> Path:
    """A free name for a backup that is taken now: `gatepost-20261123T020000Z.tar.gz`."""
    while True:
        place = folder / f"{kind}-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}.tar.gz"
        if not (place.exists() or place.with_name(place.name + SUFFIX).exists()):
            return place
        time.sleep(0.1)


def _copy_database(database: Database, place: Path) -> Contents:
    with database.copied(str(place)) as copy:
        if (damage := copy.examine(float("inf"))) is not None:
            raise damage
        held = contents(copy)
    # What opening the copy has made beside it is empty by now.
    for beside in place.parent.glob(f"{place.name}?*"):
        beside.unlink()
    return held


def _copy_files(settings: Settings, parts: Path, *, lenient: bool) -> None:
    """Keys, settings and policies. A link is copied as what it leads to; what is no file of an administrator is not."""
    folder = parts / "policies"
    folder.mkdir(mode=0o700)
    rules = settings.policies.iterdir() if settings.policies.is_dir() else ()
    found = {settings.secret_file: parts / "secret.key", **{
        settings.instance / name: parts / name for name in ("settings.toml", LAST_GOOD)
        if (settings.instance / name).exists()}, **{
        place: folder / place.name for place in rules if place.is_file() and not place.name.startswith(".")}}
    for place, copy in found.items():
        try:
            copy.write_bytes(read_bytes(place, LARGEST_SNAPSHOT))
        except Unreadable as error:
            if not lenient:
                raise CannotBackUp(f"{place} cannot be copied: {error}.") from error


@contextmanager
def _gathering(instance: Path, parent: Path) -> Iterator[Path]:
    parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    for left in parent.glob(f"{_OLD}*"):
        if time.time() - left.stat().st_mtime > _LEFT:
            shutil.rmtree(left, ignore_errors=True)
    with noted(instance, parent) as folder:
        try:
            folder.mkdir(mode=0o700)
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _put(archive: Path, place: Path) -> None:
    """Give the archive its name, unless another file has that by now."""
    with open(archive, "rb") as file:
        os.fsync(file.fileno())
    try:
        link(archive, place)
    except FileExistsError:
        raise CannotBackUp(f"{place} is there already.") from None
