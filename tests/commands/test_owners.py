"""Files that root creates by a command belong to the owner of the instance. These tests need root."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.running import Instance

OWNER, GROUP = 65534, 65533

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files for others")


@pytest.fixture
def instance(tmp_path) -> Instance:
    made = Instance(tmp_path / "instance").made()
    for place in [made.folder, *made.folder.rglob("*")]:
        os.chown(place, OWNER, GROUP)
    return made


def foreign(folder: Path) -> list[str]:
    return [str(place.relative_to(folder)) for place in folder.rglob("*")
            if (place.lstat().st_uid, place.lstat().st_gid) != (OWNER, GROUP)]


@pytest.mark.parametrize("command", [
    ["keys", "rotate"], ["keys", "rotate", "--forget"], ["backup"], ["user", "add", "ada@example.org"], ["migrate"],
    ["policy", "adopt", "--new"], ["doctor"], ["audit", "verify"], ["tenant", "add", "default"], ["compact", "--yes"],
], ids=" ".join)
def test_nothing_in_the_instance_becomes_roots(instance, command):
    instance.run(*command)
    assert foreign(instance.folder) == []


def test_what_is_written_elsewhere_stays_roots(instance, tmp_path):
    assert instance.run("backup", str(tmp_path / "a.tar.gz")).returncode == 0
    assert (tmp_path / "a.tar.gz").stat().st_uid == 0
    assert instance.run("restore", "--replace", "--yes", str(tmp_path / "a.tar.gz")).returncode == 0
    assert foreign(instance.folder) == []


def test_a_file_of_before_a_link_and_a_second_name_are_not_handed_over(instance, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("of root", encoding="utf-8")
    (instance.folder / "link").symlink_to(secret)
    os.link(secret, instance.folder / "second")
    (instance.folder / "folder").symlink_to(tmp_path)
    assert instance.run("keys", "rotate").returncode == 0
    assert secret.stat().st_uid == 0
    assert sorted(foreign(instance.folder)) == ["folder", "link", "second"]


def test_the_doctor_names_what_the_service_cannot_use(instance):
    os.chown(instance.folder / "secret.key", 0, 0)
    os.utime(instance.folder / "secret.key", (0, 0))
    done = instance.run("doctor")
    assert done.returncode == 1
    assert "secret.key do not belong to nobody, the owner of the folder; run chown -R nobody" in done.stdout


def test_an_instance_of_root_stays_roots(tmp_path):
    instance = Instance(tmp_path / "instance").made()
    assert {place.stat().st_uid for place in instance.folder.rglob("*")} == {0}
