"""A read-only copy of an instance, such as a snapshot: commands that only read work on it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.incidents.faults.fault import MODES_COUNT
from tests.running import PASSWORD, Done, Instance

pytestmark = [pytest.mark.slow, pytest.mark.skipif(
    os.geteuid() == 0 and shutil.which("setpriv") is None, reason="NOT TESTED: root can write everywhere")]
PREFIX = MODES_COUNT if os.geteuid() == 0 else ()


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Instance:
    """An instance whose service was killed, so that its log has rows that the file lacks."""
    made = Instance(tmp_path_factory.mktemp("used") / "instance").made()
    (made.folder / "password.txt").write_text(PASSWORD)
    with made.served() as service:
        token = service.log_in()
        assert service.call("POST", "/api/articles", {"title": "A", "slug": "a", "body": "A"}, token)[0] == 201
        service.process.send_signal(signal.SIGKILL)
        service.process.wait()
    assert Path(f"{made.folder / 'gatepost.db'}-wal").stat().st_size
    return made


@pytest.fixture(params=["killed", "stopped"])
def copy(used: Instance, request: pytest.FixtureRequest, tmp_path: Path) -> Instance:
    """A copy: `killed` has its log; `stopped` has the log copied into the file."""
    there = used.copied(tmp_path / "copy")
    if request.param == "stopped":
        assert there.run("user", "list").returncode == 0
    for path in (*there.folder.rglob("*"), there.folder):
        path.chmod(path.stat().st_mode & 0o555)
    return there


# Runs each command of the list on its input.
COMMANDS = """
import json, sys
from click.testing import CliRunner
from gatepost_start.command import cli
done = [CliRunner().invoke(cli, words, catch_exceptions=False) for words in json.load(sys.stdin)]
print(json.dumps([[one.exit_code, one.stdout, one.stderr] for one in done]))
"""


def run(instance: Instance, *commands: tuple[str, ...]) -> list[Done]:
    """Runs the commands one after the other in one process, as a user whom the modes of files hold."""
    process = subprocess.run([*PREFIX, sys.executable, "-c", COMMANDS], env=instance.environ(), text=True,
                             input=json.dumps(commands), capture_output=True, check=False, timeout=120)
    assert process.returncode == 0, process.stderr
    return [Done(*one) for one in json.loads(process.stdout)]


def content(instance: Instance) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in instance.folder.rglob("*") if path.is_file()}


def test_what_only_reads_works_and_leaves_no_file(copy: Instance, tmp_path: Path) -> None:
    before = content(copy)
    listed, verified, explained, exported, doctor = run(
        copy, ("user", "list"), ("audit", "verify"),
        ("policy", "explain", "--as", "admin@example.org", "article.view"),
        ("export", "articles", str(tmp_path / "articles.ndjson")), ("doctor",))
    assert listed.returncode == 0 and "admin@example.org" in listed.stdout
    assert verified.returncode == 0 and "events are proved" in verified.stdout, verified.stderr
    assert explained.returncode == 0 and "admin.csv" in explained.stdout, explained.stderr
    assert exported.returncode == 0 and '"slug":"a"' in (tmp_path / "articles.ndjson").read_text()
    found = [line.split()[1] for line in doctor.stdout.splitlines() if line.startswith("FAIL")]
    assert (doctor.returncode, found) == (1, ["writes"]), doctor.stdout + doctor.stderr
    assert content(copy) == before


def test_what_writes_says_that_it_cannot(copy: Instance) -> None:
    before = content(copy)
    commands = (("serve", "--port", "0"), ("worker",), ("migrate",), ("keys", "rotate"), ("compact",),
                ("user", "add", "x@example.org", "--name", "X", "--password-file", str(copy.folder / "password.txt")))
    for command, refused in zip(commands, run(copy, *commands), strict=True):
        assert refused.returncode == 1 and refused.stderr.startswith("Error: "), (command, refused)
        assert "cannot be written to" in refused.stderr or "ermission denied" in refused.stderr, (command, refused)
    assert content(copy) == before
