"""Archives that nobody of ours has written: tar headers and manifests by their grammar, with a right digest at the end.

What is read is what the manifest says, or BadArchive; nothing else is written, and nothing outside of the folder.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from blueprints.backups import archive
from blueprints.backups.archive import DATABASE, FORMAT, MANIFEST, BadArchive, unpack

BLOCK = 512
NAMES = [DATABASE, "secret.key", "settings.toml", "policies/articles.csv", "policies/../x", "../x", "/etc/x", "",
         "policies", "policies/", "manifest.json", "a" * 100, "policies/\u0130.csv", "policies/a\nb.csv"]
TYPES = [b"0", b"\0", b"1", b"2", b"3", b"5", b"6", b"7", b"S", b"L", b"K", b"x", b"g", b"X", b"V", b"\xff"]
SLOW = settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)

contents = st.binary(max_size=700)
names = st.sampled_from(NAMES).map(str.encode) | st.binary(max_size=100).map(lambda name: name.replace(b"\0", b""))
sizes = st.none() | st.binary(min_size=1, max_size=12) | st.integers(-2**63, 2**63 - 1).map(
    lambda size: b"\x80" + size.to_bytes(11, "big", signed=True)) | st.integers(0, 8**11 - 1).map(
    lambda size: b"%011o" % size)
records = st.dictionaries(
    st.sampled_from(["path", "size", "linkpath", "mtime", "uid", "hdrcharset", "GNU.sparse.major", "GNU.sparse.map",
                     "GNU.sparse.size", "GNU.sparse.name", "GNU.sparse.realsize", "comment"]),
    st.sampled_from(["0", "1", "-1", "1e9", "x", "0,1", "9" * 5000, "../x", "secret.key", DATABASE]), max_size=3)


def header(name: bytes, size: bytes, kind: bytes, *, checksum: bool = True, magic: bytes = b"ustar\00000") -> bytes:
    """A block of POSIX.1-1988 (ustar)."""
    block = bytearray(BLOCK)
    for place, field in ((0, name[:100]), (100, b"0000600\0"), (108, b"0000000\0" * 2), (124, size[:12]),
                         (136, b"00000000000\0"), (148, b" " * 8), (156, kind), (157, b"../../x"), (257, magic)):
        block[place:place + len(field)] = field
    block[148:156] = b"%06o\0 " % (sum(block) if checksum else 1)
    return bytes(block)


def padded(content: bytes) -> bytes:
    return content + bytes(-len(content) % BLOCK)


def pax(values: dict[str, str]) -> bytes:
    """Records of an extended header; their lengths are not always right."""
    return b"".join(b"%d %s=%s\n" % (len(name) + len(value) + 5, name.encode(), value.encode())
                    for name, value in values.items())


@st.composite
def members(draw: st.DrawFn) -> bytes:
    content, kind = draw(contents), draw(st.sampled_from(TYPES))
    before = b""
    if values := draw(records):
        text = pax(values)
        before = header(b"pax", b"%011o" % len(text), draw(st.sampled_from([b"x", b"g"]))) + padded(text)
    size = draw(sizes)
    return before + header(draw(names), b"%011o" % len(content) if size is None else size, kind,
                           checksum=draw(st.sampled_from([True] * 9 + [False])),
                           magic=draw(st.sampled_from([b"ustar\00000", b"ustar  \0", b""]))) + padded(content)


numbers = st.integers() | st.floats() | st.just(10**400) | st.text(max_size=5) | st.none() | st.booleans()
values = numbers | st.lists(numbers, max_size=2) | st.dictionaries(st.text(max_size=3), numbers, max_size=2)
parts = st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=9), st.fixed_dictionaries(
    {"bytes": st.integers(-1, 900) | numbers, "sha256": st.text(max_size=5) | values}) | values, max_size=4) | values
manifests = st.fixed_dictionaries({}, optional={
    "format": st.just(FORMAT) | values, "made_at": values, "version": values, "dialect": st.just("sqlite") | values,
    "contents": st.fixed_dictionaries({"rows": values, "migrations": values, "head": values}) | values,
    "parts": parts}) | values


def wrapped(place: Path, tar: bytes) -> Path:
    packed = gzip.compress(tar, 1, mtime=0)
    place.write_bytes(packed + archive._end(hashlib.sha256(packed).digest()))
    return place


def read(folder: Path, tar: bytes) -> dict[str, bytes] | None:
    """The files that were read; None where the archive was refused. Whatever happens, nothing lies beside them."""
    shutil.rmtree(folder, ignore_errors=True)
    inner = folder / "deep" / "inner"
    inner.mkdir(parents=True)
    try:
        unpack(wrapped(folder / "archive.tar.gz", tar), inner)
    except BadArchive as error:
        assert str(error) and len(str(error)) < 1000
        return None
    finally:
        assert {path.name for path in folder.iterdir()} == {"archive.tar.gz", "deep"}
        assert [path.name for path in (folder / "deep").iterdir()] == ["inner"]
        assert sum(path.stat().st_size for path in inner.rglob("*") if path.is_file()) <= 2 * len(tar)
    return {str(path.relative_to(inner)): path.read_bytes() for path in inner.rglob("*") if path.is_file()}


def manifest(files: dict[str, bytes], **changed: Any) -> bytes:
    said = {"format": FORMAT, "made_at": "2026-11-23T02:00:00.000000Z", "version": "0.1.0", "dialect": "sqlite",
            "contents": {"rows": {}, "migrations": {}, "head": None},
            "parts": {name: {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
                      for name, content in files.items()}}
    text = json.dumps(said | changed).encode()
    return header(MANIFEST.encode(), b"%011o" % len(text), b"0") + padded(text)


@SLOW
@given(some=st.lists(members(), max_size=4), end=st.binary(max_size=3 * BLOCK))
def test_members_of_every_kind_are_read_as_the_manifest_says_or_refused(
        tmp_path: Path, some: list[bytes], end: bytes) -> None:
    files = {"secret.key": b"secret", "settings.toml": b""}
    found = read(tmp_path / "x", manifest(files) + b"".join(some) + bytes(2 * BLOCK) + end)
    assert found is None or found == files


@SLOW
@given(said=manifests, some=st.lists(members(), max_size=2))
def test_a_manifest_of_any_shape_is_read_or_refused(tmp_path: Path, said: Any, some: list[bytes]) -> None:
    text = json.dumps(said).encode()
    first = header(MANIFEST.encode(), b"%011o" % len(text), b"0") + padded(text)
    read(tmp_path / "x", first + b"".join(some) + bytes(2 * BLOCK))


@SLOW
@given(st.binary(max_size=4 * BLOCK))
def test_other_bytes_are_refused(tmp_path: Path, tar: bytes) -> None:
    assert read(tmp_path / "x", tar) is None


def test_what_the_grammar_of_this_file_makes_can_be_read(tmp_path: Path) -> None:
    files = {DATABASE: b"rows", "secret.key": b"secret", "policies/articles.csv": b"# end\n"}
    tar = b"".join(header(name.encode(), b"%011o" % len(content), b"0") + padded(content)
                   for name, content in files.items())
    assert read(tmp_path / "x", manifest(files) + tar + bytes(2 * BLOCK)) == files


@pytest.mark.parametrize("changed", [{"dialect": "oracle"}, {"dialect": 5}, {"made_at": None}, {"version": []}])
def test_what_the_manifest_says_of_the_backup_has_a_form(tmp_path: Path, changed: dict[str, Any]) -> None:
    assert read(tmp_path / "x", manifest({}, **changed) + bytes(2 * BLOCK)) is None
