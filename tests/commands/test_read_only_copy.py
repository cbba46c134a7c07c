"""A read-only copy of an instance, such as a snapshot: commands that only read work on it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from tests.incidents.faults.fault import MODES_COUNT
from tests.running import GATEPOST, PASSWORD, Instance

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


def run(instance: Instance, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*PREFIX, *GATEPOST, *words], env=instance.environ(), text=True, capture_output=True,
                          check=False, timeout=120)


def content(instance: Instance) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in instance.folder.rglob("*") if path.is_file()}


def test_what_only_reads_works_and_leaves_no_file(copy: Instance, tmp_path: Path) -> None:
    before = content(copy)
    listed = run(copy, "user", "list")
    assert listed.returncode == 0 and "admin@example.org" in listed.stdout
    verified = run(copy, "audit", "verify")
    assert verified.returncode == 0 and "events are proved" in verified.stdout, verified.stderr
    explained = run(copy, "policy", "explain", "--as", "admin@example.org", "article.view")
    assert explained.returncode == 0 and "admin.csv" in explained.stdout, explained.stderr
    exported = run(copy, "export", "articles", str(tmp_path / "articles.ndjson"))
    assert exported.returncode == 0 and '"slug":"a"' in (tmp_path / "articles.ndjson").read_text()
    doctor = run(copy, "doctor")
    found = [line.split()[1] for line in doctor.stdout.splitlines() if line.startswith("FAIL")]
    assert (doctor.returncode, found) == (1, ["writes"]), doctor.stdout + doctor.stderr
    assert content(copy) == before


@pytest.mark.parametrize("command", [("serve", "--port", "0"), ("worker",), ("migrate",),
                                     ("user", "add", "x@example.org", "--name", "X", "--password-file", "password.txt"),
                                     ("keys", "rotate"), ("compact",)], ids=" ".join)
def test_what_writes_says_that_it_cannot(copy: Instance, command: tuple[str, ...]) -> None:
    before = content(copy)
    words = [str(copy.folder / word) if word == "password.txt" else word for word in command]
    refused = run(copy, *words)
    assert refused.returncode == 1 and refused.stderr.startswith("Error: "), refused.stderr
    assert "cannot be written to" in refused.stderr or "ermission denied" in refused.stderr
    assert content(copy) == before
