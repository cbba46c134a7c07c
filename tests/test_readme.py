"""Every command of the README is run as it stands, and what it is said to print is what it prints."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from configparser import ConfigParser

import pytest

from settings import DECLARED
from tests.running import PASSWORD, ROOT, Instance

README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
END = "--- end of block {} ---"


def blocks() -> list[tuple[str, str | None]]:
    """(commands, what they print or None) of every block of commands, in order."""
    found = BLOCK.findall(README)
    following = [*found[1:], ("", "")]
    return [
        (text, after if kind_after == "text" else None)
        for (kind, text), (kind_after, after) in zip(found, following, strict=True)
        if kind == "sh"
    ]


# What `make` does needs a network and a terminal of its own; that its targets exist is tested below.
TYPED = [(text, said) for text, said in blocks() if not text.startswith("make ")]


def matches(said: str, printed: str) -> bool:
    """Whether every line of `said` is a line of `printed`; … stands for anything."""
    lines = printed.splitlines()
    patterns = [".*".join(map(re.escape, line.split("…"))) for line in said.splitlines() if line]
    return all(any(re.fullmatch(pattern, line) for line in lines) for pattern in patterns)


@pytest.fixture(scope="module")
def printed(tmp_path_factory) -> list[str]:
    """What each block printed: all of them typed into one shell, beside an instance that is being served."""
    folder = tmp_path_factory.mktemp("readme")
    instance = Instance(folder / "instance")
    done = instance.run("init", "--admin-password-file", "-", input=PASSWORD)
    assert done.returncode == 0, done.stderr
    command = folder / ".venv" / "bin" / "gatepost"
    command.parent.mkdir(parents=True)
    command.write_text(f"#!/bin/sh\nexec '{sys.executable}' -c 'from app import cli; cli()' \"$@\"\n")
    command.chmod(0o755)
    with instance.served() as service:
        script = "set -eu\n" + "".join(f"{text}\necho; echo '{END.format(i)}'\n" for i, (text, _) in enumerate(TYPED))
        script = script.replace("http://127.0.0.1:8000", service.url).replace("the one that was printed", PASSWORD)
        environment = {**os.environ, **instance.environ()}
        shell = subprocess.run(["bash", "-c", script], cwd=folder, env=environment, text=True, capture_output=True,
                               timeout=120, check=False)  # fmt: skip
    assert shell.returncode == 0, shell.stdout + shell.stderr
    return re.split("|".join(map(re.escape, (END.format(i) for i in range(len(TYPED))))), shell.stdout)


@pytest.mark.parametrize("number", [i for i, (_, said) in enumerate(TYPED) if said])
def test_a_command_prints_what_the_readme_says(printed, number):
    said = TYPED[number][1]
    assert matches(said, printed[number]), f"expected {said}\nprinted {printed[number]}"


def test_there_are_commands_to_try():
    assert len([said for _, said in TYPED if said]) >= 3


@pytest.mark.parametrize("target", sorted(set(re.findall(r"[`\n]make ([a-z-]+)", README))))
def test_every_make_target_that_is_named_exists(target):
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.search(rf"^{target}:", makefile, re.MULTILINE)


@pytest.mark.parametrize("path", sorted(set(re.findall(r"\]\(((?!http)[^)]+)\)", README))))
def test_every_link_leads_to_a_file(path):
    assert (ROOT / path).exists()


def test_every_setting_that_is_named_exists():
    named = {name.lower() for name in re.findall(r"GATEPOST_([A-Z_]+[A-Z])", README)}
    assert named
    assert named <= set(DECLARED)


def dependencies() -> list[str]:
    declared = ConfigParser()
    declared.read(ROOT / "setup.cfg")
    lists = [declared["options"]["install_requires"], *declared["options.extras_require"].values()]
    return sorted({re.match(r"[\w-]+", line)[0] for text in lists for line in text.split("\n") if line})


@pytest.mark.parametrize("name", dependencies())
def test_every_dependency_has_its_reason(name):
    table = README.partition("## Dependencies")[2].partition("\n## ")[0]
    reasons = [row.split("|")[1] for row in table.splitlines() if row.startswith("| ")]
    assert any(re.search(rf"\b{re.escape(name)}\b", row, re.IGNORECASE) for row in reasons)
