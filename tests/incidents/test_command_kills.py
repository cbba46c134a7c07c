"""The next command removes what killed processes left, and nothing of a running process.

A sample of `python -m tests.incidents.command_kills`: the whole campaign kills hundreds of times.
"""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gatepost.instance import leftovers
from models.scratch import SCRATCH
from settings import Settings
from system.files import FRESH
from tests.incidents.backup_kills import run
from tests.incidents.command_kills import kill_command, placed


@pytest.mark.slow
@pytest.mark.parametrize(("name", "parts"), [
    ("backup", (20, 75)), ("restore --verify", (50, 95)), ("policy apply", (20, 75)), ("policy check FILE", (50, 95)),
    ("user export", (50, 95))])
def test_the_next_command_removes_what_a_killed_one_has_left(name, parts, tmp_path):
    with placed(tmp_path, None) as place:
        place.prepare()
        steps, _ = run(place.instance, list(place.commands()[name]))
        assert steps
        assert {part: kill_command(place, name, step=max(1, steps * part // 100)) for part in parts} == {
            part: [] for part in parts}


@pytest.fixture
def settings(tmp_path, monkeypatch) -> Settings:
    """Settings of an instance. The folder of temporary files is one of this test."""
    folder = tmp_path / "instance"
    (folder / "policies").mkdir(parents=True)
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    return Settings.load(overrides={"instance": folder})


def test_what_has_no_lock_is_removed_with_all_that_it_holds(settings, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "rules.csv").touch()
    (settings.policies / "linked.csv").symlink_to(tmp_path / "elsewhere" / "rules.csv")
    left = [tmp_path / "tmp" / f"{SCRATCH}a", settings.instance / f"{SCRATCH}b", settings.policies / f"{FRESH}c",
            tmp_path / "elsewhere" / f"{FRESH}d", settings.instance / ".gatepost-restore-e"]
    for place in left:
        (place if FRESH not in place.name else place.parent).mkdir(exist_ok=True)
        (place if FRESH in place.name else place / "secret.key").write_text("a key")
    leftovers.remove(settings)
    assert [place for place in left if place.exists()] == []
    assert (tmp_path / "elsewhere" / "rules.csv").exists()


def test_what_a_note_names_is_removed_and_nothing_else(settings, tmp_path):
    noted, other = tmp_path / f"{leftovers.NOTED}a", tmp_path / "mine"
    for folder in (noted, other):
        folder.mkdir()
        (folder / "secret.key").write_text("a key")
    linked = tmp_path / f"{leftovers.NOTED}link"
    linked.symlink_to(other)
    for number, named in enumerate([noted, other, linked, tmp_path / f"{leftovers.NOTED}gone"]):
        (settings.instance / f"{leftovers.NOTE}{number}").write_text(str(named))
    leftovers.remove(settings)
    assert not noted.exists() and (other / "secret.key").exists()
    assert list(settings.instance.glob(f"{leftovers.NOTE}*")) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_what_belongs_to_another_user_stays(settings, tmp_path):
    strange = tmp_path / "tmp" / f"{SCRATCH}a"
    strange.mkdir()
    os.chown(strange, 12345, 12345)
    leftovers.remove(settings)
    assert strange.exists()


HOLDING = """
import json, sys, time
from pathlib import Path
from gatepost.instance.leftovers import noted
from models.scratch import scratch
from system.files import fresh_file
instance, beside = map(Path, sys.argv[1:])
with (scratch() as one, scratch(instance) as two, fresh_file(instance / "policies" / "a.csv") as three,
      noted(instance, beside) as four):
    four.mkdir()
    print(json.dumps(list(map(str, (one, two, three.path, four)))), flush=True)
    time.sleep(600)
"""


def test_nothing_of_a_process_that_lives_is_removed(settings, tmp_path):
    beside = tmp_path / "beside"
    beside.mkdir()
    with subprocess.Popen([sys.executable, "-c", HOLDING, settings.instance, beside], text=True,
                          stdout=subprocess.PIPE, env={**os.environ, "TMPDIR": str(tmp_path / "tmp")}) as process:
        assert process.stdout is not None
        places = [Path(place) for place in json.loads(process.stdout.readline())]
        leftovers.remove(settings)
        assert all(place.exists() for place in places)
        process.kill()
        process.wait()
    leftovers.remove(settings)
    assert not any(place.exists() for place in places)


def test_a_restore_that_is_being_prepared_is_left_alone(settings):
    staged = settings.instance / ".gatepost-restore-x"
    staged.mkdir()
    descriptor = os.open(settings.instance / "restore.lock", os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    leftovers.remove(settings)
    assert staged.exists()
    os.close(descriptor)
    leftovers.remove(settings)
    assert not staged.exists()
