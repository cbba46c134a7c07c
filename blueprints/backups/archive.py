"""The archive of a backup: a compressed tar file. Its first member, the manifest, lists the other members.

It is read strictly. Its end is an empty member of gzip (RFC 1952 section 2.2), which tar ignores, with the SHA-256 of
all bytes before it. Each part has its own SHA-256, too. A member that the manifest does not name is refused. At most as
many bytes are read as the manifest lists.
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
LARGEST_TEXT = LARGEST_SNAPSHOT  # bytes of a part other than the database
MOST_PARTS = 10_000
MOST_NAMED = 3  # parts in a message
_MEMBER = re.compile(r"database|secret\.key|settings\.toml|policy\.last-good\.json|policies/[\w-][\w.-]*")
_LEVEL = 1  # level of compression; as fast as most disks
# The bytes before and after the digest in the last gzip member: a header with an extra field `GP`, no content.
_END = bytes.fromhex("1f8b080400000000 00ff 2400") + b"GP" + bytes.fromhex("2000"), bytes.fromhex("0300") + bytes(8)
_END_SIZE = len(_END[0]) + 32 + len(_END[1])
_BLOCK = 1 << 20  # bytes

DATABASE, KEYS = "database", "secret.key"  # names of parts


class BadArchive(Exception):
    """Error of a file that is not an archive of Gatepost, or that was changed. The message is a sentence."""


@dataclass(frozen=True)
class Part:
    """A member of the archive: its length in bytes, and its SHA-256 in hexadecimal digits."""

    bytes: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """The description of an archive's contents.

    made_at   time of the copy of the database
    version   version of Gatepost
    dialect   dialect of the database: `sqlite` or `postgres`
    contents  numbers of rows, migrations and newest seal of the database
    parts     name → part
    """

    made_at: str
    version: str
    dialect: str
    contents: Contents
    parts: Mapping[str, Part]

    @property
    def is_well_formed(self) -> bool:
        """True if each value in the manifest has the right type."""
        rows, migrations, head = self.contents
        return (isinstance(self.made_at, str) and isinstance(self.version, str) and self.dialect in DIALECTS
                and all(isinstance(number, int) for number in rows.values())
                and all(isinstance(name, str) for names in migrations.values() for name in names)
                and (head is None or isinstance(head, str)))

    def text(self) -> bytes:
        """Returns the manifest as JSON, as in the archive."""
        document = {"format": FORMAT, **asdict(self), "contents": self.contents._asdict()}
        return json.dumps(document, indent=1).encode()

    @classmethod
    def read(cls, text: bytes) -> Manifest:
        """Parses a manifest. Raises BadArchive."""
        try:
            document = json.loads(text)
            if document["format"] != FORMAT:
                raise BadArchive(f"The archive has the format {document['format']!r}, which a newer Gatepost has "
                                 "written.")
            parts = {str(name): Part(int(part["bytes"]), str(part["sha256"]))
                     for name, part in document["parts"].items()}
            if len(parts) > MOST_PARTS or not all(map(_MEMBER.fullmatch, parts)):
                raise BadArchive("The manifest of the archive names a file that no backup has.")
            if any(part.bytes < 0 or (name != DATABASE and part.bytes > LARGEST_TEXT) for name, part in parts.items()):
                raise BadArchive("The manifest of the archive names a file that is larger than any that a backup has.")
            manifest = cls(document["made_at"], document["version"], document["dialect"],
                           Contents(**document["contents"]), parts)
            if not manifest.is_well_formed:
                raise ValueError
            return manifest
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
            raise BadArchive("The manifest of the archive cannot be read.") from None


def parts_of(folder: Path) -> dict[str, Part]:
    """Returns the files in a folder and its subfolders as the parts of an archive, by relative path."""
    parts = {}
    for file in sorted(folder.rglob("*")):
        if file.is_file():
            with open(file, "rb") as content:
                digest = hashlib.file_digest(content, "sha256").hexdigest()
            parts[str(file.relative_to(folder))] = Part(file.stat().st_size, digest)
    return parts


def pack(folder: Path, manifest: Manifest, target: BinaryIO) -> None:
    """Writes an archive of the manifest's files in a folder. Raises OSError."""
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
    """Writes the parts of an archive to an empty folder, readable only by their owner. Returns the manifest.

    With `only`, just the part of that name is written; the others are still verified. Raises BadArchive, OSError.
    """
    with open(archive, "rb") as file:
        _check_end(file, archive)
        try:
            with gzip.GzipFile(fileobj=file) as packed:
                bounded = _Bounded(packed, _room(LARGEST_MANIFEST))
                with tarfile.open(fileobj=cast("IO[bytes]", bounded), mode="r|") as tar:
                    manifest = _manifest(tar)
                    bounded.remaining += sum(_room(part.bytes) for part in manifest.parts.values())
                    _unpack(tar, manifest, folder, only)
                # Read to the end, because gzip's checksum is there.
                while bounded.read(_BLOCK):
                    pass
        # For headers with invalid numbers, tarfile raises the errors of `int`.
        except (tarfile.TarError, zlib.error, EOFError, gzip.BadGzipFile, ValueError, LookupError, OverflowError
                ) as error:
            raise BadArchive(f"{archive} is not as it was written: {error}.") from error
    return manifest


class _Hashed:
    """A writer that also computes the SHA-256 of the written bytes."""

    def __init__(self, target: BinaryIO) -> None:
        self._target = target
        self.digest = hashlib.sha256()

    def write(self, block: bytes) -> int:
        self.digest.update(block)
        return self._target.write(block)

    def flush(self) -> None:
        self._target.flush()


class _Bounded:
    """A reader that raises BadArchive after `left` bytes."""

    def __init__(self, source: gzip.GzipFile, remaining: int) -> None:
        self._source, self.remaining = source, remaining

    def read(self, size: int) -> bytes:
        block = self._source.read(size)
        self.remaining -= len(block)
        if self.remaining < 0:
            raise BadArchive("The archive holds more than its manifest says.")
        return block


def _room(size: int) -> int:
    """Returns the most bytes that a member of this size takes in a tar file, headers and end of the file included."""
    return size + 4 * tarfile.RECORDSIZE


def _end(digest: bytes) -> bytes:
    return _END[0] + digest + _END[1]


def _check_end(file: BinaryIO, archive: Path) -> None:
    """Raises BadArchive unless the end of an archive has the digest of the bytes before it."""
    remaining = os.fstat(file.fileno()).st_size - _END_SIZE
    digest = hashlib.sha256()
    while remaining > 0 and (block := file.read(min(_BLOCK, remaining))):
        digest.update(block)
        remaining -= len(block)
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
        # A sparse member would unpack to more bytes than it has in the archive.
        if member.issparse() or member.size != manifest.parts[member.name].bytes:
            raise BadArchive(f"{member.name} in the archive has another size than its manifest says.")
        missing.remove(member.name)
        with _new_file(folder / member.name) if only in (None, member.name) else open(os.devnull, "wb") as file:
            part = _copy(_content(tar, member), file)
        if part != manifest.parts[member.name]:
            raise BadArchive(f"{member.name} in the archive is not as it was written.")
    if missing:
        rest = f" and {len(missing) - MOST_NAMED} more" if len(missing) > MOST_NAMED else ""
        raise BadArchive(f"The archive lacks {', '.join(sorted(missing)[:MOST_NAMED])}{rest}.")


def _new_file(place: Path) -> IO[bytes]:
    place.parent.mkdir(mode=0o700, exist_ok=True)
    return open(place, "xb", opener=_private)


def _member(name: str, size: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.size, member.mode = size, 0o600
    return member


def _content(tar: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes]:
    content = tar.extractfile(member)
    assert content is not None  # it is a regular file
    return content


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
    """Returns the SHA-256 of a file, in hexadecimal digits."""
    with open(file, "rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
