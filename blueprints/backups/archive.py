"""The archive of a backup: a compressed tar file whose first member, the manifest, says what the others are.

It is read strictly. Its end, an empty member of gzip (RFC 1952 section 2.2) that tar passes over, holds the SHA-256 of
all bytes before it, each part has one of its own, and what the manifest does not name is refused. No more of it is read
than the manifest says that there is.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
import tarfile
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from io import BytesIO
from pathlib import Path
from typing import IO, BinaryIO, cast

from models.contents import Contents
from policies.loading.snapshot import LARGEST_SNAPSHOT

DIALECTS = ("sqlite", "postgres")
FORMAT = 1
MANIFEST = "manifest.json"
LARGEST_MANIFEST = 4 << 20  # bytes
LARGEST_TEXT = LARGEST_SNAPSHOT  # bytes of a part that is no database
MOST_PARTS = 10_000
MOST_NAMED = 3  # parts, in a sentence
_MEMBER = re.compile(r"database|secret\.key|settings\.toml|policy\.last-good\.json|policies/[\w-][\w.-]*")
_LEVEL = 1  # of compression: as quick as most disks
# The last member of gzip around its digest: a header with an extra field `GP`, no content.
_END = bytes.fromhex("1f8b080400000000 00ff 2400") + b"GP" + bytes.fromhex("2000"), bytes.fromhex("0300") + bytes(8)
_END_SIZE = len(_END[0]) + 32 + len(_END[1])
_BLOCK = 1 << 20  # bytes

DATABASE, KEYS = "database", "secret.key"  # names of parts


class BadArchive(Exception):
    """A file is not an archive of ours, or not as it was written; the text is a sentence."""


@dataclass(frozen=True)
class Part:
    """A member of the archive: its length in bytes, and its SHA-256 in hexadecimal digits."""

    bytes: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """What an archive says of itself.

    made_at   when the copy of the database was taken
    version   of Gatepost
    dialect   of the database: `sqlite` or `postgres`
    contents  what the database held
    parts     name → part
    """

    made_at: str
    version: str
    dialect: str
    contents: Contents
    parts: Mapping[str, Part]

    @property
    def is_well_formed(self) -> bool:
        """True if each value in the manifest has the type that it should have."""
        rows, migrations, head = self.contents
        return (isinstance(self.made_at, str) and isinstance(self.version, str) and self.dialect in DIALECTS
                and all(isinstance(number, int) for number in rows.values())
                and all(isinstance(name, str) for names in migrations.values() for name in names)
                and (head is None or isinstance(head, str)))

    def text(self) -> bytes:
        """The manifest as it stands in the archive."""
        said = {"format": FORMAT, **asdict(self), "contents": self.contents._asdict()}
        return json.dumps(said, indent=1).encode()

    @classmethod
    def read(cls, text: bytes) -> Manifest:
        """Raises BadArchive."""
        try:
            said = json.loads(text)
            if said["format"] != FORMAT:
                raise BadArchive(f"The archive has the format {said['format']!r}, which a newer Gatepost has written.")
            parts = {str(name): Part(int(part["bytes"]), str(part["sha256"])) for name, part in said["parts"].items()}
            if len(parts) > MOST_PARTS or not all(map(_MEMBER.fullmatch, parts)):
                raise BadArchive("The manifest of the archive names a file that no backup has.")
            if any(part.bytes < 0 or (name != DATABASE and part.bytes > LARGEST_TEXT) for name, part in parts.items()):
                raise BadArchive("The manifest of the archive names a file that is larger than any that a backup has.")
            found = cls(said["made_at"], said["version"], said["dialect"], Contents(**said["contents"]), parts)
            if not found.is_well_formed:
                raise ValueError
            return found
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
            raise BadArchive("The manifest of the archive cannot be read.") from None


def parts_of(folder: Path) -> dict[str, Part]:
    """The files below a folder as the parts of an archive."""
    found = {}
    for file in sorted(folder.rglob("*")):
        if file.is_file():
            with open(file, "rb") as content:
                digest = hashlib.file_digest(content, "sha256").hexdigest()
            found[str(file.relative_to(folder))] = Part(file.stat().st_size, digest)
    return found


def pack(folder: Path, manifest: Manifest, target: BinaryIO) -> None:
    """Write an archive of the files below a folder. Raises OSError."""
    hashed = _Hashed(target)
    with (gzip.GzipFile(filename="", fileobj=hashed, mode="wb", compresslevel=_LEVEL, mtime=0) as packed,
          tarfile.open(fileobj=packed, mode="w|") as tar):
        text = manifest.text()
        tar.addfile(_member(MANIFEST, len(text)), BytesIO(text))
        for name, part in manifest.parts.items():
            with open(folder / name, "rb") as content:
                tar.addfile(_member(name, part.bytes), content)
    target.write(_end(hashed.digest.digest()))


def unpack(archive: Path, folder: Path, only: str | None = None) -> Manifest:
    """Write the parts of an archive into an empty folder, each readable by its owner alone; what the archive says.

    With `only`, the part of that name alone is written, and the others are compared all the same.

    Raises BadArchive, OSError.
    """
    with open(archive, "rb") as file:
        _check_end(file, archive)
        try:
            with gzip.GzipFile(fileobj=file) as packed:
                bounded = _Bounded(packed, _room(LARGEST_MANIFEST))
                with tarfile.open(fileobj=cast("IO[bytes]", bounded), mode="r|") as tar:
                    manifest = _manifest(tar)
                    bounded.left += sum(_room(part.bytes) for part in manifest.parts.values())
                    _unpack(tar, manifest, folder, only)
                # To the end: only there is the checksum.
                while bounded.read(_BLOCK):
                    pass
        # Of headers with numbers that are none, tarfile raises what `int` does.
        except (tarfile.TarError, zlib.error, EOFError, gzip.BadGzipFile, ValueError, LookupError, OverflowError
                ) as error:
            raise BadArchive(f"{archive} is not as it was written: {error}.") from error
    return manifest


class _Hashed:
    """What is written to a file, and its digest."""

    def __init__(self, target: BinaryIO) -> None:
        self._target = target
        self.digest = hashlib.sha256()

    def write(self, block: bytes) -> int:
        self.digest.update(block)
        return self._target.write(block)

    def flush(self) -> None:
        self._target.flush()


class _Bounded:
    """Reads a file, of which there may be so many bytes more. Raises BadArchive beyond."""

    def __init__(self, source: gzip.GzipFile, left: int) -> None:
        self._source, self.left = source, left

    def read(self, size: int) -> bytes:
        block = self._source.read(size)
        self.left -= len(block)
        if self.left < 0:
            raise BadArchive("The archive holds more than its manifest says.")
        return block


def _room(size: int) -> int:
    """The most bytes that a member of so many takes in a tar file, with its headers and the end of the file."""
    return size + 4 * tarfile.RECORDSIZE


def _end(digest: bytes) -> bytes:
    return _END[0] + digest + _END[1]


def _check_end(file: BinaryIO, archive: Path) -> None:
    """Raises BadArchive unless the end of an archive has the digest of what is before it."""
    left = os.fstat(file.fileno()).st_size - _END_SIZE
    digest = hashlib.sha256()
    while left > 0 and (block := file.read(min(_BLOCK, left))):
        digest.update(block)
        left -= len(block)
    end = file.read()
    if end != _end(digest.digest()):
        raise BadArchive(f"{archive} is not as it was written." if end.startswith(_END[0]) else
                         f"{archive} is not a backup of Gatepost, or not all of one.")
    file.seek(0)


def _manifest(tar: tarfile.TarFile) -> Manifest:
    first = tar.next()
    if first is None or first.name != MANIFEST or not first.isreg() or first.size > LARGEST_MANIFEST:
        raise BadArchive("The archive does not begin with a manifest.")
    return Manifest.read(_content(tar, first).read())


def _unpack(tar: tarfile.TarFile, manifest: Manifest, folder: Path, only: str | None) -> None:
    missing = set(manifest.parts)
    while (member := tar.next()) is not None:
        if member.name not in missing or not member.isreg():
            raise BadArchive(f"The archive holds {member.name[:100]!r}, which its manifest does not name.")
        # Of a sparse member a few bytes stand for many.
        if member.issparse() or member.size != manifest.parts[member.name].bytes:
            raise BadArchive(f"{member.name} in the archive has another size than its manifest says.")
        missing.remove(member.name)
        with _written(folder / member.name) if only in (None, member.name) else open(os.devnull, "wb") as file:
            written = _copy(_content(tar, member), file)
        if written != manifest.parts[member.name]:
            raise BadArchive(f"{member.name} in the archive is not as it was written.")
    if missing:
        more = f" and {len(missing) - MOST_NAMED} more" if len(missing) > MOST_NAMED else ""
        raise BadArchive(f"The archive lacks {', '.join(sorted(missing)[:MOST_NAMED])}{more}.")


def _written(place: Path) -> IO[bytes]:
    place.parent.mkdir(mode=0o700, exist_ok=True)
    return open(place, "xb", opener=_private)


def _member(name: str, size: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.size, member.mode = size, 0o600
    return member


def _content(tar: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes]:
    found = tar.extractfile(member)
    assert found is not None  # it is a regular file
    return found


def _copy(source: IO[bytes], target: IO[bytes]) -> Part:
    digest, size = hashlib.sha256(), 0
    while block := source.read(_BLOCK):
        digest.update(block)
        target.write(block)
        size += len(block)
    return Part(size, digest.hexdigest())


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CLOEXEC, 0o600)


def digest_of(file: Path) -> str:
    """The SHA-256 of a file, in hexadecimal digits."""
    with open(file, "rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
