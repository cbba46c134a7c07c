"""The keys of an instance: their file, and refused keys."""

from __future__ import annotations

import base64
import hashlib
import secrets

import pytest

from gatepost.http.security.base64url import encode
from gatepost.http.security.keys import (
    OVERLAP,
    KeyFileError,
    Keys,
    Master,
    create_key_file,
    fingerprints,
    forget_older,
    new_master,
    prepare,
    prepared_fingerprint,
    promote,
    rotate,
)
from models.base import later

# The same in every process of the tests, and used only here.
KEY, OTHER, THIRD = (encode(hashlib.sha256(name).digest()) for name in (b"one", b"two", b"three"))
MADE = "2026-01-02T03:04:05.000000Z"


@pytest.fixture
def file(tmp_path):
    return tmp_path / "secret.key"


def write(file, *masters: bytes) -> None:
    file.write_text("\n".join(map(encode, masters)), encoding="ascii")
    file.chmod(0o600)


def test_a_new_file_holds_one_key_and_is_private(file):
    assert create_key_file(file)
    assert file.stat().st_mode & 0o777 == 0o600
    assert len(Keys.load(file).ring("access token")) == 1
    assert [each.name for each in file.parent.iterdir()] == ["secret.key"]


def test_a_file_that_is_there_is_never_replaced(file):
    create_key_file(file)
    before = file.read_bytes()
    assert not create_key_file(file)
    assert file.read_bytes() == before


def test_each_purpose_has_a_key_of_its_own(file):
    create_key_file(file)
    keys = Keys.load(file)
    assert keys.derive("cursor") == Keys.load(file).derive("cursor"), "the same after a restart"
    assert keys.derive("cursor") != keys.derive("access token")
    assert len(keys.derive("cursor", 48)) == 48


def test_the_newest_key_signs_and_the_older_ones_still_verify(file):
    old, new = secrets.token_bytes(32), secrets.token_bytes(32)
    write(file, old)
    before = Keys.load(file)
    write(file, new, old)
    after = Keys.load(file)
    [signed] = before.ring("access token")
    newest, *others = after.ring("access token")
    assert others == [signed]
    assert newest != signed


@pytest.mark.parametrize(
    ("case", "text", "said"),
    [
        ("short", encode(bytes(range(200, 216))), "16 bytes"),
        ("typed", encode(b"change-me-to-a-long-random-value"), "typed or copied"),
        ("zeros", encode(bytes(32)), "typed or copied"),
        ("hex of ASCII", base64.b64encode(b"0123456789abcdef0123456789abcdef").decode(), "typed or copied"),
        ("not base64", "correct horse battery staple", "not base64url"),
        ("empty", "", "no key"),
        ("only a comment", "# nothing here", "no key"),
        ("only a prepared key", f"{KEY} {MADE} prepared", "no key in the ring that signs"),
        ("two prepared keys", f"{KEY}\n{OTHER} prepared\n{THIRD} {MADE} prepared", "several keys are prepared"),
        ("an unknown word", f"{KEY} {MADE} retired", "the time behind it is not RFC 3339"),
        ("a word behind the mark", f"{KEY} {MADE} prepared never", "the time behind it is not RFC 3339"),
        ("a blank line", f"{KEY}\n  \n", "0 bytes"),
    ],
)
def test_a_weak_or_broken_key_is_refused_with_its_files_name(file, case, text, said):
    file.write_text(text, encoding="ascii")
    file.chmod(0o600)
    with pytest.raises(KeyFileError) as raised:
        Keys.load(file)
    assert said in str(raised.value)
    assert str(file) in str(raised.value)
    assert len(text) < 5 or text not in str(raised.value)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o660, 0o666])
def test_a_file_that_others_can_read_is_refused(file, mode):
    create_key_file(file)
    file.chmod(mode)
    with pytest.raises(KeyFileError, match="chmod 600"):
        Keys.load(file)


def test_a_missing_file_is_said_to_be_missing(file):
    with pytest.raises(KeyFileError, match="gatepost init"):
        Keys.load(file)


def test_a_file_without_times_and_one_with_them_are_read_as_before(file):
    file.write_text(f"# kept\n{KEY}=  {later(0)} \n{OTHER}\n", encoding="ascii")
    file.chmod(0o600)
    assert [(encode(each.secret), each.prepared) for each in Keys.load(file).masters] == [(KEY, False), (OTHER, False)]


def test_a_prepared_key_verifies_and_does_not_sign(file):
    create_key_file(file)
    before = Keys.load(file)
    after = prepare(file)
    assert file.stat().st_mode & 0o777 == 0o600
    assert [each.prepared for each in after.masters] == [False, True]
    assert after.derive("cursor") == before.derive("cursor")
    [signs], [first, prepared] = before.ring("access token"), after.ring("access token")
    assert first == signs != prepared
    assert after.every("refresh token")[0] == before.every("refresh token")[0]
    assert prepared_fingerprint(before) is None and prepared_fingerprint(after) == fingerprints(after)[1]


def test_a_key_that_is_prepared_already_stays(file):
    create_key_file(file)
    assert prepare(file).masters == prepare(file).masters == Keys.load(file).masters


@pytest.mark.parametrize("first", [0, 1, 2])
def test_wherever_the_prepared_key_stands_in_the_file_it_does_not_sign(file, first):
    lines = [f"{KEY} {later(0)}", f"{OTHER} {later(-9)}"]
    lines.insert(first, f"{THIRD} {later(0)} prepared")
    file.write_text("\n".join(lines), encoding="ascii")
    file.chmod(0o600)
    assert [encode(each.secret) for each in Keys.load(file).masters] == [KEY, THIRD, OTHER]


def stored(file, *masters):
    file.write_text("".join(f"{encode(each.secret)} {each.made}{' prepared' * each.prepared}\n" for each in masters))
    file.chmod(0o600)


def test_what_a_prepared_key_replaces_verifies_for_the_overlap_from_then_on(file):
    old = Master(new_master().secret, later(-10 * OVERLAP))
    new = Master(new_master().secret, later(-3 * OVERLAP), prepared=True)
    stored(file, old, new)
    assert [each.until for each in Keys.load(file).generations()] == [None, None]
    ring = promote(file, new)
    assert [each.secret for each in ring.masters] == [new.secret, old.secret]
    signing, replaced = ring.generations()
    assert signing.master.made > later(-60) and not signing.master.prepared and signing.until is None
    assert later(OVERLAP - 60) < replaced.until <= later(OVERLAP)
    assert len(ring.ring("cursor")) == 2, "though the new key was made long ago"


def test_a_prepared_key_does_not_prolong_what_was_replaced_before(file):
    oldest, old = Master(new_master().secret, later(-9 * OVERLAP)), Master(new_master().secret, later(-OVERLAP - 60))
    stored(file, old, oldest)
    assert len(Keys.load(file).ring("cursor")) == 1
    assert len(prepare(file).ring("cursor")) == 2, "the one that signs, and the prepared one"


def test_a_key_is_promoted_once(file):
    create_key_file(file)
    prepared = prepare(file).masters[1]
    assert promote(file, prepared).masters == promote(file, prepared).masters


def test_a_prepared_key_that_was_forgotten_meanwhile_is_not_promoted(file):
    create_key_file(file)
    prepared = prepare(file).masters[1]
    kept = forget_older(file).masters
    with pytest.raises(KeyFileError, match="taken out of the ring"):
        promote(file, prepared)
    assert Keys.load(file).masters == kept and len(kept) == 1


def test_a_rotation_for_a_leak_signs_with_a_key_that_was_not_in_the_file(file):
    create_key_file(file)
    before = [each.secret for each in prepare(file).masters]
    assert [each.secret for each in rotate(file).masters][1:] == [before[1], before[0]]
    [kept] = forget_older(file).masters
    assert kept.secret not in before
