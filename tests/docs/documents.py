"""Markdown as a reader uses it: functions to type its commands and follow its links."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.running import PASSWORD, ROOT, Instance

DOCUMENTS = sorted(
    [*ROOT.glob("*.md"), ROOT / "policies" / "README.md", *(ROOT / "docs").rglob("*.md"),
     *(ROOT / "clients").glob("*/README.md")])
EXTENDING = [ROOT / "docs" / "plugins.md", *sorted((ROOT / "docs" / "plugins").glob("*.md"))]
_FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_END = "--- end of block {} ---"


def named(path: Path) -> str:
    """Returns the path of a document in the repository, for the ids of tests."""
    return str(path.relative_to(ROOT))


def prose(text: str) -> str:
    """Returns the document without its fenced blocks."""
    return _FENCED.sub("", text)


def blocks(text: str) -> list[tuple[str, str | None]]:
    """Returns (commands, output or None) of every `sh` block in order. A `text` block after it is its output."""
    found = _FENCED.findall(text)
    following = [*found, ("", "")][1:]
    return [(commands, after if kind_after == "text" else None)
            for (kind, commands), (kind_after, after) in zip(found, following, strict=True) if kind == "sh"]


def example(words: str) -> str:
    """Returns the block of Python with these words in the pages about plugins, of which there is one."""
    text, = (text for path in EXTENDING for kind, text in _FENCED.findall(path.read_text(encoding="utf-8"))
             if kind == "python" and words in text)
    return text


def matches(said: str, printed: str) -> bool:
    """True if every line of `said` is a line of `printed`. … stands for any text."""
    lines = printed.splitlines()
    patterns = [".*".join(map(re.escape, line.split("…"))) for line in said.splitlines() if line]
    return all(any(re.fullmatch(pattern, line) for line in lines) for pattern in patterns)


def typed(commands: list[str], folder: Path) -> list[str]:
    """Types all blocks into one shell in `folder`, beside a server of `./instance`. Returns the output of each.

    `gatepost` and `python3` are those of this environment. Raises AssertionError when a command fails.
    """
    instance = Instance(folder / "instance")
    done = instance.run("init", "--admin-password-file", "-", input=PASSWORD)
    assert done.returncode == 0, done.stderr
    installed = folder / ".venv" / "bin"
    installed.mkdir(parents=True)
    for name, arguments in (("gatepost", "-c 'from gatepost_start.command import cli; cli()'"), ("python3", "")):
        (installed / name).write_text(f"#!/bin/sh\nexec '{sys.executable}' {arguments} \"$@\"\n", encoding="utf-8")
        (installed / name).chmod(0o755)
    with instance.served() as service:
        script = "set -eu\n" + "".join(f"{text}\necho; echo '{_END.format(i)}'\n" for i, text in enumerate(commands))
        script = script.replace("http://127.0.0.1:8000", service.url).replace("the one that was printed", PASSWORD)
        environment = {**os.environ, **instance.environ(), "PATH": f"{installed}:{os.environ['PATH']}"}
        shell = subprocess.run(["bash", "-c", script], cwd=folder, env=environment, text=True, capture_output=True,
                               timeout=300, check=False)
    assert shell.returncode == 0, shell.stdout + shell.stderr
    return re.split("|".join(re.escape(_END.format(i)) for i in range(len(commands))), shell.stdout)


def anchors(text: str) -> set[str]:
    """Returns the anchors of a document: those of its headings, as GitHub makes them, and every `<a id="…">`."""
    headings: dict[str, int] = {}
    for heading in re.findall(r"^#{1,6} (.+)$", prose(text), re.MULTILINE):
        anchor = anchor_of(heading)
        headings[anchor] = headings.get(anchor, -1) + 1
        if headings[anchor]:
            headings[f"{anchor}-{headings[anchor]}"] = 0
    return {*headings, *re.findall(r'<a id="([^"]+)">', prose(text))}


def anchor_of(heading: str) -> str:
    """Returns the anchor that GitHub makes of a heading."""
    plain = re.sub(r"\[([^]]*)\]\([^)]*\)|<[^>]*>", r"\1", heading)
    return re.sub(r"[^\w\- ]", "", plain.lower()).strip().replace(" ", "-")


def links(text: str) -> Iterator[str]:
    """Yields the targets of the document's relative links and pictures, with anchors."""
    for target in re.findall(r"\]\(([^)\s]+)\)|(?:src|srcset)=\"([^\"]+)\"", prose(text)):
        link = target[0] or target[1]
        if not re.match(r"[a-z]+:", link):
            yield link
