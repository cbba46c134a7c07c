"""Secrets of one instance: a ring of random keys in one file, and a derived key for every purpose.

The file has one key a line, the newest first: 32 random bytes as unpadded base64url, then the time since which it
signs. Lines that begin with ``#`` are comments. The newest key signs. A replaced key still verifies for `OVERLAP`,
longer than any signature is valid; after that it only proves old audit seals.

A line that ends in ``prepared`` has the key that will sign next, and the time at which it was made. It already
verifies, so that every node can get it before one of them signs with it. It comes after the key that signs. A program
that does not know the word refuses the file.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from models.base import later, now, parse_time
from system.files import fresh_file, write

from .base64url import decode, encode

SIZE = 32
OVERLAP = 25 * 60 * 60  # seconds; cursors and the longest access tokens live for a day
FROM_A_BACKUP = ("Take the key file out of a backup that was made since the last gatepost keys rotate: "
                 "gatepost restore --only-keys FILE.")
_PREPARED = "prepared"
_HEADING = "# The secrets of this instance. Newest first; keep it private, and back it up.\n"


class KeyFileError(Exception):
    """Error of a key file that is missing, readable by others, or has a weak key."""


@dataclass(frozen=True, slots=True)
class Master:
    """Master key of one generation: its bytes, and the time since which it signs (None if the file does not have it).

    prepared  it verifies, and does not sign yet; `made` is the time of its creation
    """

    secret: bytes
    made: str | None = None
    prepared: bool = False


@dataclass(frozen=True, slots=True)
class Generation:
    """Master key in its ring. `kid` names it in signatures and reveals nothing about the key.

    until  end of its validity; None for the signing key, a prepared key, and a key without a time of replacement
    """

    kid: str
    master: Master
    until: str | None


class Keys:
    """Ring of master keys: the signing key, the prepared key, older keys. Purposes never share a key (HKDF, RFC 5869).

    followers  functions that are called after a change of the ring
    guard      function that checks another ring before it is used
    """

    def __init__(self, masters: Sequence[bytes | Master], file: Path | None = None) -> None:
        self._file = file
        self._stamp: tuple[int, ...] = ()
        self.masters = _check_ring([each if isinstance(each, Master) else Master(each) for each in masters])
        self.followers: list[Callable[[], object]] = []
        self.guard: Callable[[Keys], object] = lambda ring: None
        self._derive = lru_cache(maxsize=256)(_derive)

    @classmethod
    def load(cls, file: Path) -> Keys:
        """Reads the ring. Raises `KeyFileError` with the file and the remedy."""
        masters, stamp = _read(file)
        keys = cls(masters, file)
        keys._stamp = stamp
        return keys

    def refresh(self) -> bool:
        """Reads the file again if it has changed, calls `followers`, and returns True after a change.

        Costs one `stat` of the file. Raises `KeyFileError` for an unusable file, and the exceptions of `guard`; then
        the ring does not change.
        """
        if self._file is None or _stamp(self._file) == self._stamp:
            return False
        masters, stamp = _read(self._file)
        self.guard(Keys(masters))
        # One reference, so that a reader sees either the old or the new ring.
        self.masters, self._stamp = masters, stamp
        for follow in self.followers:
            follow()
        return True

    def derive(self, purpose: str, length: int = SIZE) -> bytes:
        """Returns the key that signs for one purpose, such as ``"access token"``; `length` in bytes."""
        return self._derive(self.masters[0].secret, purpose, length)

    def ring(self, purpose: str, length: int = SIZE) -> list[tuple[str, bytes]]:
        """Returns (kid, key) of every generation that verifies for one purpose; the first one signs."""
        moment = now()
        return [(each.kid, self._derive(each.master.secret, purpose, length))
                for each in self.generations() if each.until is None or moment < each.until]

    def secrets(self, purpose: str) -> list[bytes]:
        """Returns the keys of `ring` without their names, for signatures without a kid."""
        return [key for _, key in self.ring(purpose)]

    def every(self, purpose: str) -> list[tuple[str, bytes]]:
        """Returns (kid, key) of all generations for one purpose, for permanent proofs; the first one signs."""
        return [(each.kid, self._derive(each.master.secret, purpose, SIZE)) for each in self.generations()]

    def generations(self) -> list[Generation]:
        """Returns every generation, in the order of `masters`."""
        result, replaced = [], None
        for master in self.masters:
            kid = self._derive(master.secret, "kid", 6).hex()
            if master.prepared:
                result.append(Generation(kid, master, None))
                continue
            result.append(Generation(kid, master, None if replaced is None else later(OVERLAP, replaced)))
            replaced = master.made
        return result


def create_key_file(file: Path) -> bool:
    """Creates a ring of one random key, mode 0600. Returns False if the file exists, and does not change it.

    The file appears as a whole: an interruption leaves no truncated key.
    """
    with fresh_file(file) as fresh:
        fresh.file.write(_text([new_master()]))
        try:
            fresh.link()
        except FileExistsError:
            return False
        return True


def fingerprints(keys: Keys) -> list[str]:
    """Identifiers of the generations, which reveal nothing of the keys. The first one signs."""
    return [key.hex()[:32] for _, key in keys.every("fingerprint")]


def prepared_fingerprint(keys: Keys) -> str | None:
    """Returns the identifier of the prepared key; None if there is none."""
    pairs = zip(keys.masters, fingerprints(keys), strict=True)
    return next((fingerprint for master, fingerprint in pairs if master.prepared), None)


def rotate(file: Path) -> Keys:
    """Puts a new key in front, and returns the new ring.

    Running servers read it. Raises `KeyFileError`, OSError.
    """
    return _rewrite(file, lambda masters: (new_master(), *masters))


def prepare(file: Path) -> Keys:
    """Adds a prepared key to the ring, and returns the new ring. An existing one stays, because other nodes may have
    it. Raises `KeyFileError`, OSError.
    """
    def change(masters: tuple[Master, ...]) -> Sequence[Master]:
        if any(master.prepared for master in masters):
            return masters
        return *masters, replace(new_master(), prepared=True)

    return _rewrite(file, change)


def promote(file: Path, prepared: Master) -> Keys:
    """Makes this prepared key the signing key, and returns the new ring. Changes nothing if it already signs.

    The replaced key verifies for `OVERLAP` from now on. Raises `KeyFileError`, OSError.
    """
    def change(masters: tuple[Master, ...]) -> Sequence[Master]:
        if masters[0].secret == prepared.secret:
            return masters
        if prepared not in masters:
            raise KeyFileError("The prepared key was taken out of the ring meanwhile.")
        return Master(prepared.secret, now()), *(master for master in masters if master != prepared)

    return _rewrite(file, change)


def forget_older(file: Path) -> Keys:
    """Drops all keys except the signing key, and returns the new ring.

    Signatures of the others become invalid. A prepared key may have leaked with them, so it is dropped as well.

    Raises `KeyFileError`, OSError.
    """
    return _rewrite(file, lambda masters: masters[:1])


def _rewrite(file: Path, change: Callable[[tuple[Master, ...]], Sequence[Master]]) -> Keys:
    directory = os.open(file.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        # Two simultaneous changes must not lose the key of one.
        fcntl.flock(directory, fcntl.LOCK_EX)
        write(file, _text(_check_ring(change(Keys.load(file).masters))))
    finally:
        os.close(directory)
    return Keys.load(file)


def new_master() -> Master:
    """Returns a new random key."""
    return Master(secrets.token_bytes(SIZE), now())


def _text(masters: Sequence[Master]) -> bytes:
    """Returns the content of a key file."""
    words = ([encode(master.secret), master.made, _PREPARED if master.prepared else None] for master in masters)
    return (_HEADING + "".join(" ".join(filter(None, line)) + "\n" for line in words)).encode("ascii")


def _read(file: Path) -> tuple[tuple[Master, ...], tuple[int, ...]]:
    """Returns the ring, and the status of the file before it was read."""
    try:
        stamp = _stamp(file)
        mode = stat.S_IMODE(file.stat().st_mode)
        lines = file.read_text(encoding="ascii").split("\n")
    except FileNotFoundError:
        raise KeyFileError(f"{file} is missing. {FROM_A_BACKUP} A new instance gets one by gatepost init.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise KeyFileError(f"{file} cannot be read: {error}") from error
    if mode & 0o077:
        raise KeyFileError(f"{file} can be read by others (mode {mode:o}); run `chmod 600 {file}`.")
    try:
        return _check_ring([_decode(line) for line in lines if line and not line.startswith("#")]), stamp
    except KeyFileError as error:
        raise KeyFileError(f"{file}: {error}") from None


def _stamp(file: Path) -> tuple[int, ...]:
    try:
        status = file.stat()
    except FileNotFoundError:
        return ()
    return status.st_mtime_ns, status.st_ino, status.st_size


def _check_ring(masters: Sequence[Master]) -> tuple[Master, ...]:
    """Returns the master keys of a ring, the signing key first. Raises `KeyFileError`."""
    signing, prepared = [each for each in masters if not each.prepared], [each for each in masters if each.prepared]
    if not signing:
        raise KeyFileError("There is no key in the ring that signs.")
    if len(prepared) > 1:
        raise KeyFileError("several keys are prepared; one can be.")
    for master in masters:
        _refuse_weak(master.secret)
    return signing[0], *prepared, *signing[1:]


def _decode(line: str) -> Master:
    text, *words = line.split() or [""]
    prepared = words[-1:] == [_PREPARED]
    made = " ".join(words[:-1] if prepared else words)
    try:
        return Master(decode(text.rstrip("=")), parse_time(made) if made else None, prepared)
    except ValueError:
        raise KeyFileError("a line is not base64url, or the time behind it is not RFC 3339.") from None


def _refuse_weak(master: bytes) -> None:
    """Refuses keys that are not random: all printable, or with many repeated bytes. Raises `KeyFileError`."""
    if len(master) < SIZE:
        raise KeyFileError(f"a key has {len(master)} bytes; {SIZE} random ones are needed.")
    if all(32 <= byte < 127 for byte in master) or len(set(master)) < 16:
        raise KeyFileError("a key looks typed or copied from an example, not random.")


def _derive(master: bytes, purpose: str, length: int) -> bytes:
    from cryptography.hazmat.primitives.hashes import SHA256  # commands that derive no key do without it
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    return HKDF(SHA256(), length, salt=None, info=b"gatepost " + purpose.encode()).derive(master)
