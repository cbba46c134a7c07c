"""The tutorial, followed like a reader: its files are written, its changes made, its commands typed, in order."""

from __future__ import annotations

import difflib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

from tests.docs.documents import matches
from tests.environments import borrowing
from tests.running import ROOT, Instance

TUTORIAL = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
PLUGIN = "gatepost-recipes"
SERVED = "URL="  # the first block that is typed beside a service
MOST_LINES = 100  # that the reader writes
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"`([\w/]+\.\w+)`[^`]*\Z")  # the last thing in code before a block


@dataclass(frozen=True)
class Block:
    """The reader's next step: `sh` is typed, `python` is a whole file, `diff` a change of a file."""

    kind: str
    text: str
    file: str
    shown: str | None  # what is printed
    at: int  # where it stands in the tutorial


def steps() -> Iterator[Block]:
    """Yields every block of the tutorial in order, except those of output."""
    file, end = "", 0
    for this, following in pairwise([*_BLOCK.finditer(TUTORIAL), None]):
        assert this is not None
        named = _FILE.search(TUTORIAL[end:this.start()])
        file, end = named[1] if named else file, this.end()
        if this[1] != "text":
            yield Block(this[1], this[2], file, following[2] if following and following[1] == "text" else None,
                        this.start())


STEPS = list(steps())
TYPED = [block for block in STEPS if block.kind == "sh"]


@dataclass
class Reader:
    """The folder in which the reader works, and the commands of their environment."""

    folder: Path
    environ: dict[str, str]

    def types(self, text: str) -> str:
        """Types a block and returns its output. A command in it may fail: some show an error."""
        done = subprocess.run(["bash", "-c", text], cwd=self.folder, env=self.environ, text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=180)
        return done.stdout

    def writes(self, block: Block) -> None:
        path = self.folder / PLUGIN / block.file
        path.write_text(block.text if block.kind == "python" else changed(path.read_text(encoding="utf-8"), block.text),
                        encoding="utf-8")


def changed(text: str, diff: str) -> str:
    """Returns the text after a change. The changed part must occur once."""
    lines = [line.ljust(1) for line in diff.splitlines()]
    assert all(line[0] in " +-" for line in lines), diff
    before, after = ("\n".join(line[1:] for line in lines if line[0] != sign) for sign in "+-")
    assert text.count(f"{before}\n") == 1, f"not there, or more than once:\n{before}"
    return text.replace(f"{before}\n", f"{after}\n" if after else "")


@dataclass(frozen=True)
class Done:
    """The output of each block of commands, the plugin as `plugin new` wrote it, and the final plugin."""

    reader: Reader
    printed: list[str]
    begun: Path
    plugin: Path


@pytest.fixture(scope="module")
def done(tmp_path_factory) -> Iterator[Done]:
    folder, environment = tmp_path_factory.mktemp("reader"), tmp_path_factory.mktemp("environment")
    python = borrowing(environment / "venv")
    for name in ("gatepost", "pytest", "pip"):
        (python.parent / name).write_text(f"#!/bin/sh\nexec '{python}' -m {name} \"$@\"\n", encoding="utf-8")
        (python.parent / name).chmod(0o755)
    (python.parent / "python3").exists() or (python.parent / "python3").symlink_to(python)
    quiet = {"PIP_NO_INDEX": "1", "PIP_NO_BUILD_ISOLATION": "0", "PYTEST_ADDOPTS": "-p no:cacheprovider -p no:xdist"}
    instance = Instance(folder / "instance", {**quiet, "PATH": f"{python.parent}:{os.environ['PATH']}"})
    reader, printed, begun = Reader(folder, instance.environ()), [], tmp_path_factory.mktemp("begun") / PLUGIN
    with ExitStack() as service:
        for block in STEPS:
            if block.kind != "sh":
                if not begun.exists():
                    shutil.copytree(folder / PLUGIN, begun)
                reader.writes(block)
                continue
            text = block.text
            if text.startswith(SERVED):
                password = re.search(r"Password +(\S+)", printed[0])
                assert password, printed[0]
                url = service.enter_context(instance.served(python=python)).url
                text = text.replace("http://127.0.0.1:8000", url).replace("the one that was printed", password[1])
            printed.append(reader.types(text))
        yield Done(reader, printed, begun, folder / PLUGIN)


@pytest.mark.slow
def test_every_command_prints_what_the_tutorial_says(done):
    assert [(block.text, block.shown, output) for block, output in zip(TYPED, done.printed, strict=True)
            if not matches(block.shown or "", output)] == []


@pytest.mark.slow
def test_the_line_of_the_collection_is_the_one_that_it_has_by_then(done):
    said = re.search(r"(\w+\.py):(\d+): Recipes can be sorted by", TUTORIAL)
    assert said
    path, = done.begun.rglob(said[1])
    text = path.read_text(encoding="utf-8")
    for block in STEPS:
        if block.kind != "sh" and block.at < said.start() and Path(block.file).name == said[1]:
            text = block.text if block.kind == "python" else changed(text, block.text)
    assert text.splitlines()[int(said[2]) - 1].startswith("class Recipes(")


def test_every_block_is_typed_or_written():
    assert [block.text for block in TYPED if block.shown is None] == [], "say what it prints"
    assert {block.kind for block in STEPS} == {"sh", "python", "diff"}
    assert [block.text.startswith(SERVED) for block in TYPED].count(True) == 1


@pytest.mark.slow
def test_the_reader_writes_fewer_lines_than_it_says(done):
    assert f"fewer than {MOST_LINES} lines" in " ".join(TUTORIAL.split())
    written = 0
    for path in done.plugin.rglob("*"):
        old, new = done.begun / path.relative_to(done.plugin), path
        if path.suffix not in (".py", ".csv", ".po") or {"build", "__pycache__"} & set(path.parts):
            continue
        before = old.read_text(encoding="utf-8").splitlines() if old.exists() else []
        lines = difflib.ndiff(before, new.read_text(encoding="utf-8").splitlines())
        written += sum(line.startswith("+ ") and not line[2:].isspace() and line != "+ " for line in lines)
    assert 50 < written < MOST_LINES


@pytest.mark.slow
def test_what_it_becomes_is_clean(done):
    for tool in (("ruff", "check", "--no-cache"), ("mypy", "--cache-dir", os.devnull)):
        found = subprocess.run([sys.executable, "-m", *tool], cwd=done.plugin, env={
            **done.reader.environ, "MYPYPATH": str(ROOT)}, text=True, capture_output=True, check=False, timeout=180)
        assert found.returncode == 0, found.stdout


@pytest.mark.slow
def test_what_is_forgotten_is_told_as_it_says(done):
    copy = done.reader.folder / "forgotten"
    shutil.copytree(done.plugin, copy)
    migration = copy / "gatepost_recipes" / "migrations" / "0001_recipes.py"
    index = '-    ddl.index(db, "gatepost_recipes", "minutes")\n'
    migration.write_text(changed(migration.read_text(encoding="utf-8"), index), encoding="utf-8")
    claimed = re.search(r"^```\n….*(: Recipes can be .*)…$", TUTORIAL, re.MULTILINE)
    said = done.reader.types("pip uninstall -qy gatepost-recipes; pytest -q -x forgotten")
    assert claimed and claimed[1] in said, said
