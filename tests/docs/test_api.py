"""Every command of docs/api.md and what follows it is run as it stands, and is answered what the page shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from tests.docs import typed
from tests.docs.documents import anchor_of
from tests.docs.reference import FILE
from tests.docs.typed import Typed
from tests.running import PASSWORD, ROOT, Instance

DOCS = ROOT / "docs"
FIRST = "api.md"
MOST_WORDS = 1_500  # of the first page
REFERENCE = ("conventions", "writing", "retries", "errors", "lists", "files", "shares", "sessions", "administration")
# Each page continues in the shell of those before it.
PAGES = {name: (DOCS / name).read_text(encoding="utf-8")
         for name in (FIRST, *(f"api/{name}.md" for name in REFERENCE), "authzen.md")}
BLOCKS = [block for text in PAGES.values() for block in typed.blocks(text)]
CHAPTERS = [(page, chapter) for page, text in PAGES.items() for chapter in re.findall(r"^## (.+)$", text, re.MULTILINE)]
WITHOUT_A_REQUEST = {"What the API never does", "Reference"}  # chapters of the first page


@pytest.fixture(scope="module")
def printed(tmp_path_factory) -> list[str]:
    """The output of each block. All are typed into one shell, beside a running server."""
    folder = tmp_path_factory.mktemp("api")
    instance = Instance(folder / "instance", {"GATEPOST_METRICS_TOKEN": "let-prometheus-in"})
    done = instance.run("init", "--admin-password-file", "-", input=PASSWORD)
    assert done.returncode == 0, done.stderr
    with instance.served() as service:
        script = typed.script(BLOCKS).replace("http://127.0.0.1:8000", service.url).replace(
            "the one that was printed", PASSWORD)
        environment = {**os.environ, **instance.environ(), "PATH": f"{_command(folder)}:{os.environ['PATH']}"}
        shell = subprocess.run(["bash", "-c", script], cwd=folder, env=environment, text=True, capture_output=True,
                               timeout=300, check=False)
    assert shell.returncode == 0, shell.stdout[-2000:] + shell.stderr
    return typed.printed(shell.stdout, BLOCKS)


def _command(folder):
    """A folder with the command `gatepost`."""
    command = folder / "bin" / "gatepost"
    command.parent.mkdir()
    command.write_text("#!/bin/sh\n"
                       f"exec '{sys.executable}' -c 'from gatepost_start.command import cli; cli()' \"$@\"\n")
    command.chmod(0o755)
    return command.parent


@pytest.mark.slow
def test_every_request_is_answered_what_the_document_shows(printed):
    shown = [(block, output) for block, output in zip(BLOCKS, printed, strict=True) if block.shown]
    assert shown
    assert [(block.commands, wrong, output) for block, output in shown
            if (wrong := typed.differences(block, output))] == []


def test_every_page_shows_a_request_and_its_answer():
    chapters = {chapter: PAGES[FIRST].partition(f"\n## {chapter}\n")[2].partition("\n## ")[0]
                for page, chapter in CHAPTERS if page == FIRST}
    texts = {**PAGES, **{name: text for name, text in chapters.items() if name not in WITHOUT_A_REQUEST}}
    assert chapters.keys() > WITHOUT_A_REQUEST
    assert [name for name, text in texts.items()
            if not any("curl" in block.commands and block.shown for block in typed.blocks(text))] == []


def test_every_page_about_the_api_is_run():
    assert {f"api/{path.name}" for path in (DOCS / "api").glob("*.md")} < PAGES.keys()


def test_a_newcomer_reads_the_first_page_to_its_end():
    assert len(PAGES[FIRST].split()) <= MOST_WORDS


def test_every_error_code_that_is_named_exists():
    listed = set(re.findall(r"^\| `(\w+)` \| \d{3} \|", FILE.read_text(encoding="utf-8"), re.MULTILINE))
    names = {code for text in PAGES.values() for code in re.findall(r"\b[45]\d\d `(\w+)`", text)}
    assert names
    assert names <= listed


def test_every_chapter_has_its_place_in_the_contents():
    assert [(page, chapter) for page, chapter in CHAPTERS
            if f"(#{anchor_of(chapter)})" not in PAGES[page].partition("\n## ")[0]] == []


# What holds the answers is held itself: it finds what differs, and takes … for what is left out.

@pytest.mark.parametrize(("kind", "shown", "output"), [
    ("json", '{"a": 1, "b": [{"c": "x…z"}, …], …}', '{"a":1,"b":[{"c":"xyz"},2],"d":null}'),
    ("json", '{"a": …}', '{"a":{"b":1}}'),
    ("http", "HTTP/1.1 200 OK\nETag: \"…\"\n\n…", 'HTTP/1.1 200 OK\r\nEtag: "1"\r\nVary: *\r\n\r\nwords'),
    ("http", 'HTTP/1.1 204 NO CONTENT\n', "HTTP/1.1 204 NO CONTENT\r\nDate: now\r\n\r\n"),
    ("text", "one … three\n", "zero\none two three\n"),
])
def test_an_answer_as_it_is_shown_is_taken(kind, shown, output):
    assert typed.differences(Typed("", kind, shown), output) == []


@pytest.mark.parametrize(("kind", "shown", "output"), [
    ("json", '{"a": 1}', '{"a":2}'),
    ("json", '{"a": 1}', '{"a":true}'),
    ("json", '{"a": 1}', '{"a":1,"b":2}'),
    ("json", '{"a": 1, "b": 2, …}', '{"a":1,"c":2}'),
    ("json", "[1]", "[1,2]"),
    ("json", "[1, 2, …]", "[1]"),
    ("json", '{"a": "x…"}', '{"a":"yx"}'),
    ("http", "HTTP/1.1 200 OK\n\n…", "HTTP/1.1 404 NOT FOUND\r\n\r\n{}"),
    ("http", "HTTP/1.1 200 OK\nETag: \"…\"\n\n…", "HTTP/1.1 200 OK\r\n\r\n{}"),
    ("http", 'HTTP/1.1 200 OK\n\n{"a": 1}', 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{"a":2}'),
    ("text", "one\n", "two\n"),
])
def test_another_answer_is_noticed(kind, shown, output):
    assert typed.differences(Typed("", kind, shown), output) != []
