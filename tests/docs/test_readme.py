"""Every command of the README runs unchanged, and prints the shown output."""

from __future__ import annotations

import pytest

from tests.docs.documents import blocks, matches, typed
from tests.running import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
LONGEST = 130

# What `make` does needs a network and a terminal of its own, and test_documents looks for its targets; test_wheel
# installs the wheel.
TYPED = [(text, said) for text, said in blocks(README) if not text.startswith(("make ", "pip "))]


@pytest.fixture(scope="module")
def printed(tmp_path_factory) -> list[str]:
    """The output of each block. All are typed into one shell, beside a running server."""
    return typed([text for text, _ in TYPED], tmp_path_factory.mktemp("readme"))


@pytest.mark.slow
def test_every_command_prints_what_the_readme_says(printed):
    assert [(text, said, output) for (text, said), output in zip(TYPED, printed, strict=False)
            if said and not matches(said, output)] == []


def test_there_are_commands_to_try():
    assert len([said for _, said in TYPED if said]) >= 3


def test_a_newcomer_reads_it_to_its_end():
    assert len(README.splitlines()) <= LONGEST


def test_the_policy_line_that_it_explains_is_shipped():
    line = README.partition("```csv\n")[2].partition("\n```")[0]
    shipped = (ROOT / "policies" / "articles.csv").read_text(encoding="utf-8")
    assert line.replace(" ", "") in shipped.replace(" ", "").splitlines()
