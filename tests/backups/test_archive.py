"""An archive is read as it was written, or not at all."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import random
import subprocess
import tarfile
from pathlib import Path

import pytest

from blueprints.backups.archive import DATABASE, FORMAT, BadArchive, Manifest, Part, pack, parts_of, unpack
from models.contents import Contents
from tests.samples import sampled

HELD = Contents({"users": 2}, {"gatepost": ["0001_accounts"]}, "head")
FILES = {DATABASE: bytes(range(256)) * 64, "secret.key": b"secret", "policies/articles.csv": b"p, user, article.view\n"}


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    parts = tmp_path / "parts"
    for name, content in FILES.items():
        (parts / name).parent.mkdir(parents=True, exist_ok=True)
        (parts / name).write_bytes(content)
    place = tmp_path / "archive.tar.gz"
    with open(place, "wb") as file:
        pack(parts, Manifest("2026-11-23T02:00:00.000000Z", "0.1.0", "sqlite", HELD, parts_of(parts)), file)
    return place


def read(archive: Path) -> Manifest:
    folder = archive.parent / "read"
    folder.mkdir(exist_ok=True)
    for file in sorted(folder.rglob("*"), reverse=True):
        file.rmdir() if file.is_dir() else file.unlink()
    return unpack(archive, folder)


def test_what_is_written_is_read_back(archive):
    manifest = read(archive)
    assert (manifest.contents, manifest.dialect, set(manifest.parts)) == (HELD, "sqlite", set(FILES))
    folder = archive.parent / "read"
    assert {name: (folder / name).read_bytes() for name in FILES} == FILES
    assert all((folder / name).stat().st_mode & 0o777 == 0o600 for name in FILES)


def test_an_administrator_can_unpack_it_by_tar(archive, tmp_path):
    done = subprocess.run(["tar", "-xzf", archive, "-C", tmp_path], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert {name: (tmp_path / name).read_bytes() for name in FILES} == FILES


def test_every_flipped_bit_is_noticed(archive):
    whole = archive.read_bytes()
    at_random = random.Random(25).sample(range(12, len(whole)), 150)
    for place in [*range(12), *at_random, len(whole) - 1]:
        archive.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << place % 8]) + whole[place + 1:])
        with pytest.raises(BadArchive):
            read(archive)


@pytest.mark.parametrize("left", [0, 1, 10, 100, 0.5, -9, -1])
def test_a_file_that_breaks_off_is_refused(archive, left):
    whole = archive.read_bytes()
    archive.write_bytes(whole[:int(len(whole) * left) if isinstance(left, float) else left])
    with pytest.raises(BadArchive):
        read(archive)


def test_a_file_that_goes_on_is_refused(archive):
    archive.write_bytes(archive.read_bytes() + b"more")
    with pytest.raises(BadArchive):
        read(archive)


def packed(tmp_path, members, **manifest):
    said = {"format": FORMAT, "made_at": "2026-11-23T02:00:00.000000Z", "version": "0.1.0", "dialect": "sqlite",
            "contents": HELD._asdict(), "parts": {}, **manifest}
    place = tmp_path / "hostile.tar.gz"
    with gzip.GzipFile(place, "wb", compresslevel=1, mtime=0) as file, tarfile.open(fileobj=file, mode="w|") as tar:
        for member, content in [("manifest.json", json.dumps(said).encode()), *members]:
            known = member if isinstance(member, tarfile.TarInfo) else tarfile.TarInfo(member)
            known.size = len(content)
            tar.addfile(known, io.BytesIO(content))
    place.write_bytes(place.read_bytes() + END[0] + hashlib.sha256(place.read_bytes()).digest() + END[1])
    return place


def link(name, target):
    member = tarfile.TarInfo(name)
    member.type, member.linkname = tarfile.SYMTYPE, target
    return member


def sparse(name, size):
    """A sparse member: one byte stands for all `size` bytes, by GNU's headers of pax."""
    member = tarfile.TarInfo(name)
    member.pax_headers = {"GNU.sparse.map": "0,1", "GNU.sparse.size": str(size), "GNU.sparse.name": name,
                          "GNU.sparse.numblocks": "1"}
    return member


def long(name, size):
    member = tarfile.TarInfo(name)
    member.pax_headers = {"comment": "x" * size}
    return member


END = bytes.fromhex("1f8b080400000000 00ff 2400 4750 2000"), bytes.fromhex("0300 00000000 00000000")
PART = {"bytes": 1, "sha256": "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"}  # of `x`


HOSTILE = {
    "a part that the manifest does not name": ([("secret.key", b"x")], {}),
    "a path out of the folder": ([("../escaped", b"x")], {"parts": {"../escaped": PART}}),
    "a longer path out of it": ([("policies/../../escaped", b"x")], {"parts": {"policies/../../escaped": PART}}),
    "an absolute path": ([("/etc/escaped", b"x")], {"parts": {"/etc/escaped": PART}}),
    "a hidden file": ([("policies/.hidden", b"x")], {"parts": {"policies/.hidden": PART}}),
    "a folder of its own": ([("policies/sub/a.csv", b"x")], {"parts": {"policies/sub/a.csv": PART}}),
    "a link": ([(link("secret.key", "/etc/passwd"), b"")], {"parts": {"secret.key": {**PART, "bytes": 0}}}),
    "a part twice": ([("secret.key", b"x"), ("secret.key", b"x")], {"parts": {"secret.key": PART}}),
    "another part": ([("secret.key", b"y")], {"parts": {"secret.key": PART}}),
    "a longer part": ([("secret.key", b"xx")], {"parts": {"secret.key": PART}}),
    "a part that is much longer": (
        [("secret.key", bytes(32 << 20))], {"parts": {"secret.key": {**PART, "bytes": 10}}}),
    "a sparse part": ([(sparse("database", 1 << 40), b"x")], {"parts": {"database": PART}}),
    "a sparse part that says so": (
        [(sparse("database", 1 << 40), b"x")], {"parts": {"database": {**PART, "bytes": 1 << 40}}}),
    "a long header": ([(long("database", 9 << 20), b"x")], {"parts": {"database": PART}}),
    "policy files of many mebibytes": (
        [("policies/a.csv", b"")], {"parts": {"policies/a.csv": {**PART, "bytes": 400 << 20}}}),
    "a part of less than nothing": ([("database", b"")], {"parts": {"database": {**PART, "bytes": -1}}}),
    "a part without end": ([("database", b"")], {"parts": {"database": {**PART, "bytes": float("inf")}}}),
    "more parts than any backup has": ([], {"parts": {f"policies/a{n}.csv": PART for n in range(20_000)}}),
    "no part": ([], {"parts": {"secret.key": PART}}),
    "a list of parts": ([], {"parts": []}),
    "a part that is a text": ([], {"parts": {"secret.key": "x"}}),
    "not all contents": ([], {"contents": {"rows": {}}}),
    "no contents": ([], {"contents": None}),
    "a newer format": ([], {"format": 2}),
    "no format": ([], {"format": None}),
}


@pytest.mark.parametrize("what", sampled(HOSTILE, 2))
def test_an_archive_that_we_would_not_write_is_refused(tmp_path, what):
    members, manifest = HOSTILE[what]
    with pytest.raises(BadArchive):
        read(packed(tmp_path, members, **manifest))
    assert not (tmp_path / "escaped").exists()
    assert sum(file.stat().st_blocks * 512 for file in (tmp_path / "read").rglob("*")) < 1 << 20


def test_a_few_of_many_parts_that_are_missing_are_named(tmp_path):
    names = [f"policies/a{number}.csv" for number in range(5_000)]
    with pytest.raises(BadArchive, match=r"lacks policies/a0.csv, policies/a1.csv, policies/a10.csv and 4997 more"):
        read(packed(tmp_path, [], parts=dict.fromkeys(names, PART)))


def test_the_test_above_would_notice_an_archive_that_is_taken(tmp_path):
    assert read(packed(tmp_path, [("secret.key", b"x")], parts={"secret.key": PART})).parts == {
        "secret.key": Part(1, PART["sha256"])}


@pytest.mark.parametrize(
    "content",
    [b"", b"no archive", gzip.compress(b"no tar", mtime=0), gzip.compress(b"", mtime=0)],
    ids=["nothing", "text", "gzip of text", "gzip of nothing"],
)
def test_a_file_that_is_none_is_refused(tmp_path, content):
    place = tmp_path / "none"
    place.write_bytes(content)
    with pytest.raises(BadArchive):
        read(place)


@pytest.mark.parametrize("text", [
    b"", b"[]", b"{}", b"\xff", b'{"format": 1}', b'{"format": 1, "parts": 3}', b"[" * 200_000])
def test_a_manifest_that_says_something_else_is_refused(text):
    with pytest.raises(BadArchive):
        Manifest.read(text)
