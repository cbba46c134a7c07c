"""The program's version, and the commit or build of its files."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from gatepost.http.operations import program


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", "-C", str(folder), "-c", "user.name=x", "-c", "user.email=x@example.org", *words],
                          check=True, capture_output=True, text=True).stdout.strip()


@pytest.mark.skipif(shutil.which("git") is None, reason="NOT TESTED: git is not installed")
def test_a_checkout_is_known_by_its_commit_however_git_stores_it(tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    clone.mkdir()
    git(clone, "init", "--quiet", "--initial-branch", "main")
    git(clone, "commit", "--quiet", "--allow-empty", "--message", "x")
    commit = git(clone, "rev-parse", "HEAD")
    git(clone, "worktree", "add", "--quiet", str(tmp_path / "worktree"), "-b", "other")
    assert program._commit(clone / ".git") == commit
    assert program._commit(tmp_path / "worktree" / ".git") == commit
    git(clone, "pack-refs", "--all")
    assert program._commit(clone / ".git") == program._commit(tmp_path / "worktree" / ".git") == commit
    git(clone, "checkout", "--quiet", "--detach")
    assert program._commit(clone / ".git") == commit
    assert program._commit(tmp_path / "none" / ".git") is None


def test_what_an_installer_makes_is_no_part_of_the_build() -> None:
    record = "app.py,sha256=abc,12\npolicies/model.conf,sha256=d,3\n"
    made = "../../../bin/gatepost,sha256=zz,200\n__pycache__/app.cpython-311.pyc,,\n"
    assert program._files(record + made) == program._files(record)
    assert program._files(record) != program._files(record.replace("abc", "abd"))
