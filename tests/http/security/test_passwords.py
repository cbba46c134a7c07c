"""Passwords: accepted ones, their hashes, and the limit of concurrent hashes."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest
from argon2.exceptions import HashingError, VerificationError

from gatepost.http.security import passwords
from gatepost.http.security.passwords import (
    UNUSABLE,
    CannotHash,
    TooManyHashes,
    hash_password,
    objection,
    outdated,
    verify,
)

pytestmark = pytest.mark.usefixtures("real_passwords")
GOOD = "a long walk along the shore"


@pytest.mark.parametrize("password", [GOOD, "xk7-plum", "ÄÖÜäöü12", "🔑" * 8, " spaces count ", "x" * 1024])
def test_accepted(password):
    assert objection(password) is None


@pytest.mark.parametrize(
    ("password", "said"),
    [
        ("", "at least 8"),
        ("seven77", "at least 8"),
        ("x" * 1025, "at most 1024"),
        ("password", "most common"),
        ("PASSWORD", "most common"),
        ("Password123", "most common"),
        ("12345678", "most common"),
        ("ｐａｓｓｗｏｒｄ", "most common"),
    ],
)
def test_not_accepted(password, said):
    assert said in objection(password)


@pytest.mark.parametrize(
    ("password", "accepted"),
    [
        ("gatepost2026!", False),
        ("GatePost-GatePost", False),
        ("ada.lovelace1815", False),
        ("Lovelace!Ada!1815", False),
        ("ＬＯＶＥＬＡＣＥ-1815", False),
        ("analytical1815", False),
        ("engine.example7", False),
        ("ada walks along the shore", True),
        ("the analytical engine of 1837", True),
        ("gatekeeper-1815", True),
    ],
)
def test_name_address_and_service_add_nothing_to_a_password(password, accepted):
    said = objection(password, "Ada Lovelace", "analytical@engine.example", None)
    assert accepted == (said is None)
    assert accepted or "Without name" in said


@pytest.mark.parametrize("known", ["", "ab", "a b c", "😀"])
def test_words_of_two_letters_are_in_passwords_by_chance(known):
    assert objection("abcabcde-a", known) is None


def test_every_listed_password_would_otherwise_be_accepted():
    assert len(passwords.common()) > 3000
    assert all(len(each) >= passwords.SHORTEST and each == each.casefold() for each in passwords.common())


def test_what_is_kept_is_argon2id_with_the_parameters_of_the_design():
    kept = hash_password(GOOD)
    assert kept.startswith("$argon2id$v=19$m=19456,t=2,p=1$")
    assert kept != hash_password(GOOD), "each with a salt of its own"
    assert not outdated(kept)
    assert outdated("$argon2id$v=19$m=8,t=1,p=1$c2FsdHNhbHQ$aGFzaGhhc2hoYXNoaGFzaA")


@pytest.mark.parametrize(
    ("password", "hashed", "right"),
    [(GOOD, GOOD, True), (GOOD + " ", GOOD, False), ("café au lait", "cafe\u0301 au lait", True)],
)
def test_the_password_that_was_hashed_is_right_and_no_other(password, hashed, right):
    assert verify(password, hash_password(hashed)) is right


@pytest.mark.parametrize(
    ("password", "kept"),
    [
        (GOOD, None),
        (GOOD, UNUSABLE),
        (GOOD, ""),
        (GOOD, "$argon2id$damaged"),
        ("no account has this password", None),
        ("no account has this password", UNUSABLE),
    ],
)
def test_where_no_hash_is_kept_no_password_is_right(password, kept):
    assert verify(password, kept) is False


def test_with_every_slot_taken_no_password_is_hashed(monkeypatch):
    monkeypatch.setattr(passwords, "_slots", threading.BoundedSemaphore(1))
    monkeypatch.setattr(passwords, "PATIENCE", 0.01)
    with passwords._slot():
        with pytest.raises(TooManyHashes):
            verify(GOOD, None)
        with pytest.raises(TooManyHashes):
            hash_password(GOOD)
    assert verify(GOOD, None) is False, "a slot that was given back can be taken again"


STARVED = """
import resource
from pathlib import Path
from gatepost.http.security.passwords import _DUMMY, CannotHash, hash_password, verify
# Before anything is hashed: a thread keeps the memory of its last hash for the next one.
pages = int(Path("/proc/self/statm").read_text().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (8 << 20),) * 2)
for work in (lambda: verify("a long walk", _DUMMY), lambda: verify("x", None), lambda: hash_password("a long walk")):
    try:
        print(work())
    except CannotHash:
        print("cannot hash")
"""


@pytest.mark.slow
def test_without_memory_a_password_is_neither_right_nor_wrong():
    done = subprocess.run([sys.executable, "-c", STARVED], capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines() == ["cannot hash"] * 3, done.stderr


class Failing:
    """A hasher that fails because a resource is missing."""

    def __init__(self, error):
        self.error = error

    def hash(self, password):
        raise self.error

    def verify(self, kept, password):
        raise self.error


@pytest.mark.parametrize("error", [VerificationError("Memory allocation error"), HashingError("Threading failure"),
                                   MemoryError(), RuntimeError("can't start new thread")], ids=repr)
def test_what_is_missing_says_nothing_of_the_password(monkeypatch, error):
    monkeypatch.setattr(passwords, "_hasher", Failing(error))
    with pytest.raises(CannotHash):
        verify(GOOD, None)
    with pytest.raises(CannotHash):
        hash_password(GOOD)


@pytest.mark.parametrize("text", ["Decoding failed", "Some of encoded parameters are too long or too short"])
def test_a_kept_hash_that_is_damaged_belongs_to_no_password(monkeypatch, text):
    monkeypatch.setattr(passwords, "_hasher", Failing(VerificationError(text)))
    assert verify(GOOD, "$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHQ$aGFzaA") is False
