"""Files that appear as a whole: with their owner and permissions, beside links and other files, and after errors."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from pathlib import Path

import pytest

from system import files
from system.files import FRESH, fresh_file, link, locked_file, new_file, write


def mode(place: Path) -> int:
    return stat.S_IMODE(place.stat().st_mode)


def test_a_file_is_replaced_whole_and_private(tmp_path: Path) -> None:
    place = tmp_path / "a"
    place.write_bytes(b"old")
    place.chmod(0o644)
    with place.open("rb") as reader:
        write(place, b"new")
        assert reader.read() == b"old"
    assert place.read_bytes() == b"new" and mode(place) == 0o600
    assert os.listdir(tmp_path) == ["a"]


def test_the_permissions_are_those_that_were_given_less_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write(tmp_path / "a", b"", 0o666)
    finally:
        os.umask(before)
    assert mode(tmp_path / "a") == 0o640


@pytest.mark.parametrize("uid", [os.getuid(), pytest.param(12345, marks=pytest.mark.skipif(
    os.geteuid() != 0, reason="only root can give files away"))])
def test_a_file_like_another_has_its_owner_and_permissions(tmp_path: Path, uid: int) -> None:
    place = tmp_path / "a"
    place.write_bytes(b"old")
    place.chmod(0o664)
    os.chown(place, uid, -1)
    write(place, b"new", like=place.stat())
    assert (place.read_bytes(), mode(place), place.stat().st_uid) == (b"new", 0o664, uid)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_as_root_it_belongs_to_the_owner_that_was_named(tmp_path: Path) -> None:
    os.chown(tmp_path, 12345, 12345)
    with fresh_file(tmp_path / "a", owner=tmp_path) as fresh:
        fresh.replace()
    assert ((tmp_path / "a").stat().st_uid, mode(tmp_path / "a")) == (12345, 0o600)


def test_an_error_leaves_what_was_there_and_no_temporary_file(tmp_path: Path) -> None:
    place = tmp_path / "a"
    place.write_bytes(b"old")
    with pytest.raises(ZeroDivisionError), fresh_file(place) as fresh:
        fresh.file.write(b"new")
        raise ZeroDivisionError
    assert place.read_bytes() == b"old" and os.listdir(tmp_path) == ["a"]


def test_a_full_disk_leaves_what_was_there_and_no_temporary_file(tmp_path: Path, monkeypatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    place = tmp_path / "a"
    place.write_bytes(b"old")
    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write(place, b"new")
    assert place.read_bytes() == b"old" and os.listdir(tmp_path) == ["a"]


def test_a_link_in_the_place_is_replaced_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(b"other")
    (tmp_path / "a").symlink_to("other")
    write(tmp_path / "a", b"new")
    assert not (tmp_path / "a").is_symlink() and (tmp_path / "other").read_bytes() == b"other"


def test_a_new_file_follows_no_link_and_replaces_nothing(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("other")
    with pytest.raises(FileExistsError):
        new_file(tmp_path / "a")
    assert not (tmp_path / "other").exists()


def test_a_file_of_a_killed_process_makes_room_for_one_of_the_same_name(tmp_path: Path) -> None:
    (tmp_path / "a.new").write_bytes(b"of a killed process")
    with fresh_file(tmp_path / "a", path=tmp_path / "a.new") as fresh:
        fresh.file.write(b"new")
        fresh.replace()
    assert (tmp_path / "a").read_bytes() == b"new" and os.listdir(tmp_path) == ["a"]


@pytest.mark.parametrize("links", [True, False], ids=["links", "no links"])
def test_a_file_takes_a_free_name_alone(tmp_path: Path, monkeypatch, links: bool) -> None:
    def refused(*_: object) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    if not links:
        monkeypatch.setattr(files.os, "link", refused)
    with fresh_file(tmp_path / "a") as fresh:
        fresh.file.write(b"first")
        fresh.link()
    (tmp_path / "b").write_bytes(b"second")
    with pytest.raises(FileExistsError):
        link(tmp_path / "b", tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == b"first"
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]


def test_a_temporary_file_is_locked_while_it_is_written(tmp_path: Path) -> None:
    with fresh_file(tmp_path / "a") as fresh:
        assert fresh.path.name.startswith(FRESH)
        with fresh.path.open("rb") as other, pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_file_that_was_removed_before_it_was_locked_is_made_again(tmp_path: Path, monkeypatch) -> None:
    removed = []

    def late(file: object, operation: int) -> None:
        if not removed:
            removed.extend(tmp_path.iterdir())
            removed[0].unlink()

    monkeypatch.setattr(files.fcntl, "flock", late)
    path, file = locked_file(tmp_path, FRESH)
    file.close()
    assert path.exists() and path != removed[0]


def test_a_file_system_that_cannot_sync_folders_is_no_error(tmp_path: Path, monkeypatch) -> None:
    sync = os.fsync

    def only_files(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        sync(descriptor)

    monkeypatch.setattr(files.os, "fsync", only_files)
    write(tmp_path / "a", b"new")
    assert (tmp_path / "a").read_bytes() == b"new"
