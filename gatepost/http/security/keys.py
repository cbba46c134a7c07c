"""The secrets of one instance: a ring of random keys in one file, and a derived key for every purpose.

The file holds one key a line, the newest first: 32 random bytes as unpadded base64url, then the time since which it
signs; lines that begin with ``#`` are comments. What is signed uses the newest. A key that was replaced still
verifies for `OVERLAP`, longer than anything that it signed is valid; after that it only proves old audit seals.

A line that ends in ``prepared`` holds the key that will sign next, and the time at which it was made: it verifies
already, so that each of several nodes can be given it before one of them signs with it. It stands after the key that
signs, and a program that does not know the word refuses the file.
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
    """The key file is missing, readable by others, or holds a key that is too weak."""


@dataclass(frozen=True, slots=True)
class Master:
    """One generation: its bytes, and since when it signs (None where the file does not say).

    prepared  it verifies, and does not sign yet; `made` says when it was made
    """

    secret: bytes
    made: str | None = None
    prepared: bool = False


@dataclass(frozen=True, slots=True)
class Generation:
    """A master in its ring. `kid` names it in what it signed and tells nothing about the key.

    until  when it stops verifying; None for the one that signs, for a prepared one, and where the file does not say
           when it was replaced
    """

    kid: str
    master: Master
    until: str | None


class Keys:
    """A ring of master keys: the one that signs, the prepared one, the older ones. Purposes never share a key (HKDF,
    RFC 5869).

    followers  are called when the ring has changed
    guard      is asked before another ring is taken over
    """

    def __init__(self, masters: Sequence[bytes | Master], file: Path | None = None) -> None:
        self._file = file
        self._stamp: tuple[int, ...] = ()
        self.masters = _checked([each if isinstance(each, Master) else Master(each) for each in masters])
        self.followers: list[Callable[[], object]] = []
        self.guard: Callable[[Keys], object] = lambda ring: None
        self._derive = lru_cache(maxsize=256)(_derive)

    @classmethod
    def load(cls, file: Path) -> Keys:
        """Read the ring. Raises `KeyFileError`, naming the file and what to do about it."""
        masters, stamp = _read(file)
        keys = cls(masters, file)
        keys._stamp = stamp
        return keys

    def refresh(self) -> bool:
        """Take over the file when it has changed, and tell `followers`; whether it had.

        Costs one look at the file's status. Raises `KeyFileError` for a file that cannot be used, and what `guard`
        raises; the ring stays as it was.
        """
        if self._file is None or _stamp(self._file) == self._stamp:
            return False
        masters, stamp = _read(self._file)
        self.guard(Keys(masters))
        # One reference: a reader sees the ring as it was or as it is.
        self.masters, self._stamp = masters, stamp
        for follow in self.followers:
            follow()
        return True

    def derive(self, purpose: str, length: int = SIZE) -> bytes:
        """The key that signs for one purpose, such as ``"access token"``; `length` in bytes."""
        return self._derive(self.masters[0].secret, purpose, length)

    def ring(self, purpose: str, length: int = SIZE) -> list[tuple[str, bytes]]:
        """(kid, key) of every generation that verifies for one purpose; the first one signs."""
        moment = now()
        return [(each.kid, self._derive(each.master.secret, purpose, length))
                for each in self.generations() if each.until is None or moment < each.until]

    def secrets(self, purpose: str) -> list[bytes]:
        """The keys of `ring` without their names, for signatures that carry no kid."""
        return [key for _, key in self.ring(purpose)]

    def every(self, purpose: str) -> list[tuple[str, bytes]]:
        """(kid, key) of all generations for one purpose, for what must be provable for good; the first one signs."""
        return [(each.kid, self._derive(each.master.secret, purpose, SIZE)) for each in self.generations()]

    def generations(self) -> list[Generation]:
        """Every generation, in the order of `masters`."""
        found, replaced = [], None
        for master in self.masters:
            kid = self._derive(master.secret, "kid", 6).hex()
            if master.prepared:
                found.append(Generation(kid, master, None))
                continue
            found.append(Generation(kid, master, None if replaced is None else later(OVERLAP, replaced)))
            replaced = master.made
        return found


def create_key_file(file: Path) -> bool:
    """Make a ring of one random key, mode 0600. False when there is a file already, which stays as it is.

    The file appears whole or not at all: a stop in the middle leaves no truncated key.
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
    """The identifier of the prepared key; None if there is none."""
    known = zip(keys.masters, fingerprints(keys), strict=True)
    return next((fingerprint for master, fingerprint in known if master.prepared), None)


def rotate(file: Path) -> Keys:
    """Put a new key in front; the ring as it is then.

    Servers take it over as they run. Raises `KeyFileError`, OSError.
    """
    return _rewrite(file, lambda masters: (new_master(), *masters))


def prepare(file: Path) -> Keys:
    """Let the ring have a prepared key; the ring as it is then. One that has been prepared stays: other nodes may have
    it. Raises `KeyFileError`, OSError.
    """
    def change(masters: tuple[Master, ...]) -> Sequence[Master]:
        if any(master.prepared for master in masters):
            return masters
        return *masters, replace(new_master(), prepared=True)

    return _rewrite(file, change)


def promote(file: Path, prepared: Master) -> Keys:
    """Sign with this prepared key from now on, and no other; the ring as it is then. Nothing changes where it does.

    What it replaces verifies for `OVERLAP` from now on. Raises `KeyFileError`, OSError.
    """
    def change(masters: tuple[Master, ...]) -> Sequence[Master]:
        if masters[0].secret == prepared.secret:
            return masters
        if prepared not in masters:
            raise KeyFileError("The prepared key was taken out of the ring meanwhile.")
        return Master(prepared.secret, now()), *(master for master in masters if master != prepared)

    return _rewrite(file, change)


def forget_older(file: Path) -> Keys:
    """Drop all keys but the one that signs, so that nothing they signed is accepted any more, nor a prepared one that
    leaked with them; the ring as it is then.

    Raises `KeyFileError`, OSError.
    """
    return _rewrite(file, lambda masters: masters[:1])


def _rewrite(file: Path, change: Callable[[tuple[Master, ...]], Sequence[Master]]) -> Keys:
    directory = os.open(file.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        # Two changes at once must not lose the key of one.
        fcntl.flock(directory, fcntl.LOCK_EX)
        write(file, _text(_checked(change(Keys.load(file).masters))))
    finally:
        os.close(directory)
    return Keys.load(file)


def new_master() -> Master:
    """A new random key."""
    return Master(secrets.token_bytes(SIZE), now())


def _text(masters: Sequence[Master]) -> bytes:
    """The content of a key file."""
    words = ([encode(master.secret), master.made, _PREPARED if master.prepared else None] for master in masters)
    return (_HEADING + "".join(" ".join(filter(None, line)) + "\n" for line in words)).encode("ascii")


def _read(file: Path) -> tuple[tuple[Master, ...], tuple[int, ...]]:
    """The ring, and what the file looked like before it was read."""
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
        return _checked([_decode(line) for line in lines if line and not line.startswith("#")]), stamp
    except KeyFileError as error:
        raise KeyFileError(f"{file}: {error}") from None


def _stamp(file: Path) -> tuple[int, ...]:
    try:
        found = file.stat()
    except FileNotFoundError:
        return ()
    return found.st_mtime_ns, found.st_ino, found.st_size


def _checked(masters: Sequence[Master]) -> tuple[Master, ...]:
    """The masters of a ring, the one that signs first. Raises `KeyFileError`."""
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
    """Random bytes are never all printable and never repeat this much; a typed or copied key is or does."""
    if len(master) < SIZE:
        raise KeyFileError(f"a key has {len(master)} bytes; {SIZE} random ones are needed.")
    if all(32 <= byte < 127 for byte in master) or len(set(master)) < 16:
        raise KeyFileError("a key looks typed or copied from an example, not random.")


def _derive(master: bytes, purpose: str, length: int) -> bytes:
    from cryptography.hazmat.primitives.hashes import SHA256  # commands that derive no key do without it
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    return HKDF(SHA256(), length, salt=None, info=b"gatepost " + purpose.encode()).derive(master)
