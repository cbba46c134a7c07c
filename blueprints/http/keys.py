"""The secrets of one instance: a ring of random keys in one file, and a derived key for every purpose.

The file holds one key a line, 32 random bytes as unpadded base64url, the newest first; lines that begin
with ``#`` are comments. What is signed or encrypted uses the newest; what is verified may use any, so
that a key can be replaced while what it signed is still valid.
"""

from __future__ import annotations

import base64
import binascii
import os
import secrets
import stat
from functools import lru_cache
from pathlib import Path

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

SIZE = 32


class KeyFileError(Exception):
    """The key file is missing, readable by others, or holds a key that nobody should trust."""


class Keys:
    """A ring of master keys, the newest first. Purposes never share a key (HKDF, RFC 5869)."""

    def __init__(self, masters: list[bytes]) -> None:
        if not masters:
            raise KeyFileError("There is no key in the ring.")
        for master in masters:
            _refuse_weak(master)
        self._masters = tuple(masters)
        self._derive = lru_cache(maxsize=256)(_derive)

    @classmethod
    def load(cls, file: Path) -> Keys:
        """Read the ring. Raises `KeyFileError`, naming the file and what to do about it."""
        try:
            mode = stat.S_IMODE(file.stat().st_mode)
            lines = file.read_text(encoding="ascii").split("\n")
        except FileNotFoundError:
            raise KeyFileError(f"{file} is missing; `gatepost init` makes one.") from None
        except (OSError, UnicodeDecodeError) as error:
            raise KeyFileError(f"{file} cannot be read: {error}") from error
        if mode & 0o077:
            raise KeyFileError(f"{file} can be read by others (mode {mode:o}); run `chmod 600 {file}`.")
        try:
            return cls([_decode(line) for line in lines if line and not line.startswith("#")])
        except KeyFileError as error:
            raise KeyFileError(f"{file}: {error}") from None

    def derive(self, purpose: str, length: int = SIZE) -> bytes:
        """The newest key for one purpose, such as ``"access token"``; `length` in bytes."""
        return self._derive(self._masters[0], purpose, length)

    def signing(self, purpose: str = "access token") -> tuple[str, bytes]:
        """(kid, key) with which new tokens are signed."""
        return self.ring(purpose)[0]

    def verifying(self, kid: str | None, purpose: str = "access token") -> bytes | None:
        """The key of any generation that a token names in its header, or None."""
        return dict(self.ring(purpose)).get(kid) if isinstance(kid, str) else None

    def ring(self, purpose: str) -> list[tuple[str, bytes]]:
        """(kid, key) of every generation for one purpose, the newest first."""
        return [(self._derive(master, "kid", 6).hex(), self._derive(master, purpose, SIZE))
                for master in self._masters]  # fmt: skip


def create_key_file(file: Path) -> bool:
    """Make a ring of one random key, mode 0600. False when there is a file already, which stays as it is.

    The file appears whole or not at all: a stop in the middle leaves no truncated key.
    """
    fresh = file.with_name(f".{file.name}.{os.getpid()}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with open(descriptor, "w", encoding="ascii") as stream:
            stream.write("# The secrets of this instance. Newest first; keep it private, and back it up.\n")
            stream.write(encode(secrets.token_bytes(SIZE)) + "\n")
            stream.flush()
            os.fsync(stream.fileno())
        try:
            os.link(fresh, file)
        except FileExistsError:
            return False
        return True
    finally:
        fresh.unlink()


def encode(master: bytes) -> str:
    """A key as it stands in the file."""
    return base64.urlsafe_b64encode(master).rstrip(b"=").decode("ascii")


def _decode(line: str) -> bytes:
    try:
        return base64.b64decode(line + "=" * (-len(line) % 4), altchars=b"-_", validate=True)
    except binascii.Error:
        raise KeyFileError("a line is not base64url.") from None


def _refuse_weak(master: bytes) -> None:
    """Random bytes are never all printable and never repeat this much; what somebody typed or copied is."""
    if len(master) < SIZE:
        raise KeyFileError(f"a key has {len(master)} bytes; {SIZE} random ones are needed.")
    if all(32 <= byte < 127 for byte in master) or len(set(master)) < 16:
        raise KeyFileError("a key looks typed or copied from an example, not random.")


def _derive(master: bytes, purpose: str, length: int) -> bytes:
    return HKDF(SHA256(), length, salt=None, info=b"gatepost " + purpose.encode()).derive(master)
