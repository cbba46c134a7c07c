"""The keys of an instance: the file that they are read from, and the keys that are refused."""

from __future__ import annotations

import base64
import secrets

import pytest

from blueprints.http.security.base64url import encode
from blueprints.http.security.keys import KeyFileError, Keys, create_key_file


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
