"""Passwords: rules for new ones, hashes (Argon2id, RFC 9106), and a concurrency limit for hashing."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from threading import BoundedSemaphore
from typing import Any, TypeVar

from argon2 import PasswordHasher, Type
from argon2.exceptions import Argon2Error, InvalidHashError, VerificationError
from argon2.low_level import error_to_str, lib  # type: ignore[attr-defined]
from marshmallow import ValidationError

from ..operations import affinity
from ..protocol.messages import Message
from ..schemas.fields import Text

T = TypeVar("T")

SHORTEST = 8
LONGEST = 1024
SERVICE = "gatepost"
UNUSABLE = "!"  # stored for an account without a password: no login succeeds

_UNTIL = "|"  # in a stored password: between its hash and the time at which it ends
_WORD = re.compile(r"[^\W_]{3,}")  # shorter words are in passwords by chance

# The second recommendation of the OWASP Password Storage Cheat Sheet: 19 MiB, two passes, one lane.
_hasher = PasswordHasher(time_cost=2, memory_cost=19456, parallelism=1, type=Type.ID)

# Checked if there is no account. Made in advance with the same parameters, so that its first use takes no longer.
_DUMMY = ("$argon2id$v=19$m=19456,t=2,p=1$oikl0K005k1MP9UAl6/9hg$ZgB4fk"
          "OG9eEScD8GfyQGL6YkquUd5SDv4C6P/i1fdrk")

# More hashes than cores only slow each other down, and each needs 19 MiB of memory.
_CORES = os.cpu_count() or 1
_slots = BoundedSemaphore(_CORES)
PATIENCE = 2.0  # seconds that a caller waits until another hash is computed

# There are as many hashing threads as slots, because the C library keeps the 19 MiB for the next hash of the same
# thread: eight threads of a server would keep eight times as much.
_workers = ThreadPoolExecutor(_CORES, "hashing", initializer=affinity.roam)


def _after_fork() -> None:
    # Threads do not survive a fork, and the pool would wait for them forever.
    global _workers
    _workers = ThreadPoolExecutor(_CORES, "hashing", initializer=affinity.roam)


os.register_at_fork(after_in_child=_after_fork)

# A login that waits holds a thread of the server. If more logins wait, further ones are refused at once, so that
# other requests find threads.
_waiting = BoundedSemaphore(3 * _CORES)


class TooManyHashes(Exception):
    """Error if too many requests wait for a hash, or if one has waited for `PATIENCE` seconds (429)."""


class CannotHash(Exception):
    """Error if there is too little memory, or no thread, to compute a hash (503)."""


def objection(password: str, *context: str | None) -> Message | None:
    """Returns the reason to refuse this password, or None (NIST SP 800-63B, section 5.1.1.2).

    Checks the length, a list of common passwords, and the context: facts that an attacker knows of the account, such as
    its name and e-mail address. Without these words and the service's name, the password must still be long enough.
    """
    text = _normalised(password)
    if len(text) < SHORTEST:
        return Message("A password has at least {least} characters.", least=SHORTEST)
    if len(text) > LONGEST:
        return Message("A password has at most {most} characters.", most=LONGEST)
    if text.casefold() in common():
        return Message("This password is among the most common ones.")
    if len(_unguessed(text, context)) < SHORTEST:
        return Message("Without name, e-mail address and the name of the service, a password has at least {least} "
                       "characters.", least=SHORTEST)
    return None


def _unguessed(password: str, context: Iterable[str | None]) -> str:
    """Removes the words of its context from a password, the longest first."""
    words = {word for text in (SERVICE, *context) for word in _WORD.findall(_normalised(text or "").casefold())}
    remaining = password.casefold()
    for word in sorted(words, key=lambda word: (-len(word), word)):
        remaining = remaining.replace(word, "")
    return remaining


def hash_password(password: str) -> str:
    """Returns the text to store, including salt and parameters. Raises `TooManyHashes`, `CannotHash`."""
    return _in_turn(lambda: _hasher.hash(_normalised(password)))


def verify(password: str, stored: str | None) -> bool:
    """True if `password` matches the hash `stored`. Raises `TooManyHashes`, `CannotHash`.

    For None (no such user) and `UNUSABLE` it takes the same time and returns False.
    """
    is_usable = stored is not None and stored != UNUSABLE
    try:
        hashed = stored.partition(_UNTIL)[0] if stored is not None and is_usable else _DUMMY
        matches = _in_turn(lambda: _hasher.verify(hashed, _normalised(password)))
    except (VerificationError, InvalidHashError):  # another password, or a damaged hash
        return False
    return matches and is_usable


def outdated(stored: str) -> bool:
    """True if `stored` has other parameters, so that the next successful login should hash the password again."""
    return _hasher.check_needs_rehash(stored.partition(_UNTIL)[0])


def ending(stored: str, at: str) -> str:
    """Returns the text to store for a password that ends at a time."""
    return f"{stored}{_UNTIL}{at}"


def end_of(stored: str) -> str | None:
    """Returns the time at which a stored password ends; None: it does not end."""
    return stored.partition(_UNTIL)[2] or None


def until(stored: str, at: str) -> str:
    """Returns the end of a session that would last until `at`: earlier, if the stored password ends before."""
    return min(at, end_of(stored) or at)


@cache
def common() -> frozenset[str]:
    """Returns the most common passwords of sufficient length, case-folded."""
    text = files(__package__).joinpath("common_passwords.txt").read_text(encoding="utf-8")
    return frozenset(line for line in text.splitlines() if line and not line.startswith("#"))


def _normalised(password: str) -> str:
    """Normalizes a password: different keyboards then produce the same text (NFKC, as NIST SP 800-63B recommends)."""
    return unicodedata.normalize("NFKC", password)


# Errors of the library that are independent of the password.
_LACKS = frozenset(map(error_to_str, (lib.ARGON2_MEMORY_ALLOCATION_ERROR, lib.ARGON2_THREAD_FAIL)))


def _in_turn(work: Callable[[], T]) -> T:
    """Runs `work` in a hashing thread. Raises `TooManyHashes`, `CannotHash`, and the library's password errors."""
    with _slot():
        try:
            return _workers.submit(work).result()
        except MemoryError:
            raise CannotHash("out of memory") from None
        except RuntimeError as error:  # no thread can be started
            raise CannotHash(str(error)) from None
        except Argon2Error as error:
            if str(error) in _LACKS:
                raise CannotHash(str(error)) from None
            raise


@contextmanager
def _slot() -> Iterator[None]:
    if not _waiting.acquire(blocking=False):
        raise TooManyHashes
    try:
        if not _slots.acquire(timeout=PATIENCE):
            raise TooManyHashes
        try:
            yield
        finally:
            _slots.release()
    finally:
        _waiting.release()


class NewPassword(Text):
    """A new password. It is loaded as its Argon2id hash, so no plain password leaves the schema.

    The fields `name` and `email` beside it are its context.
    """

    def __init__(self, **kwargs: Any) -> None:
        # `objection` reports the length in its own words; this is for generated clients.
        described = {"minLength": SHORTEST, "example": "seven green lanterns", **kwargs.pop("metadata", {})}
        super().__init__(maximum=LONGEST, metadata=described, **kwargs)

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        plain = super()._deserialize(value, attr, data, **kwargs)
        context = [text for name in ("name", "email") if isinstance(text := (data or {}).get(name), str)]
        if (reason := objection(plain, *context)) is not None:
            raise ValidationError(reason)
        return hash_password(plain)
