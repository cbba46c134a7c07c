"""The default rules of redocly and spectral, all enabled, find nothing in either document."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.clients.conftest import DOCUMENTS
from tests.clients.tools import node

every_document = pytest.mark.parametrize("name", DOCUMENTS)


def by_redocly(document: Path, folder: Path) -> list[str]:
    """Returns the findings of redocly's default rules, `recommended`, as sentences."""
    done = node("redocly", "lint", document, "--format=json", "--max-problems=100000", cwd=folder)
    found = json.loads(done.stdout[done.stdout.index("{"):])
    assert found["totals"]["ignored"] == 0
    return [f"{problem['ruleId']}: {problem['message']} ({problem['location'][0].get('pointer')})"
            for problem in found["problems"]]


def by_spectral(document: Path, folder: Path) -> list[str]:
    """Returns the findings of spectral's rules `spectral:oas`, as sentences. It has no default rules."""
    rules = folder / "rules.yaml"
    rules.write_text('extends: ["spectral:oas"]\n', encoding="utf-8")
    done = node("spectral", "lint", "--ruleset", rules, "--format", "json", "--quiet", document, cwd=folder)
    found = json.loads(done.stdout[done.stdout.index("["):done.stdout.rindex("]") + 1])
    return [f"{problem['code']}: {problem['message']} ({'/'.join(map(str, problem['path']))})" for problem in found]


LINTERS = pytest.mark.parametrize("linter", [by_redocly, by_spectral])


@every_document
@LINTERS
def test_a_linter_finds_no_error_and_no_warning(documents, tmp_path, name, linter):
    assert linter(documents[name], tmp_path) == []


@every_document
@LINTERS
def test_a_linter_finds_an_operation_without_a_name(documents, tmp_path, name, linter):
    document = json.loads(documents[name].read_text(encoding="utf-8"))
    del document["paths"]["/api/articles"]["get"]["operationId"]
    broken = tmp_path / "broken.json"
    broken.write_text(json.dumps(document), encoding="utf-8")
    assert [found for found in linter(broken, tmp_path) if found.startswith("operation-operationId: ")]
