"""Each realistic mistake is told where it was made, and no harmless edit is an error."""

from __future__ import annotations

from collections import Counter

import pytest

from policies.loading.loader import from_files
from policies.questions.changes import LESS
from policies.questions.diff import diff
from tests.policies.generated import FILES
from tests.policies.mistakes import catalogue
from tests.policies.mistakes.mistake import Mistake
from tests.policies.shipped_vocabulary import VOCABULARY


def _named(mistake: Mistake) -> str:
    return f"{mistake.class_}: {mistake.name}"


@pytest.mark.parametrize("mistake", catalogue.HARMFUL, ids=_named)
def test_a_mistake_is_told_at_its_own_line(mistake: Mistake) -> None:
    findings, file, line = mistake.findings()
    assert mistake.is_told(findings, file, line), (f"{file}:{line}", [str(one) for one in findings[:5]])


@pytest.mark.parametrize("mistake", catalogue.HARMLESS, ids=_named)
def test_a_harmless_edit_is_no_error(mistake: Mistake) -> None:
    findings, file, line = mistake.findings()
    assert [str(one) for one in findings if one.severity == "error"] == []
    assert mistake.expects is None or mistake.is_told(findings, file, line), [str(one) for one in findings]


@pytest.mark.parametrize("mistake", catalogue.SEMANTIC, ids=_named)
def test_a_line_that_means_something_else_is_told_at_its_own_line(mistake: Mistake) -> None:
    findings, file, line = mistake.findings()
    assert mistake.is_told(findings, file, line), (f"{file}:{line}", [str(one) for one in findings[:5]])


@pytest.mark.parametrize("mistake", catalogue.TAKEN_OUT, ids=_named)
def test_a_line_that_was_taken_out_is_told_by_the_difference(mistake: Mistake) -> None:
    """It stands nowhere any more; the difference names the place where it stood, and who loses what."""
    found = diff(from_files(FILES, VOCABULARY), mistake.policy()).all
    assert found
    assert {change.kind for change in found} == {LESS}
    assert {place.partition(":")[0] for change in found for place in change.gone} == {mistake.edit.file}


def test_the_catalogue_is_large_and_names_each_mistake_once() -> None:
    every = [*catalogue.HARMFUL, *catalogue.HARMLESS, *catalogue.SEMANTIC]
    assert [name for name, count in Counter(map(_named, every)).items() if count > 1] == []
    assert len(catalogue.HARMFUL) >= 100
    assert len(catalogue.HARMLESS) >= 30
    assert len(catalogue.SEMANTIC) >= 60
