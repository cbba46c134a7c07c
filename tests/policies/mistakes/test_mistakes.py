"""Each realistic mistake is reported at its own place, and no harmless edit is an error."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

import pytest

from policies import Finding
from policies.loading.loader import from_files
from policies.questions.changes import LESS
from policies.questions.diff import diff
from tests.policies.generated import FILES
from tests.policies.mistakes import catalogue
from tests.policies.mistakes.mistake import Mistake
from tests.policies.shipped_vocabulary import VOCABULARY
from tests.samples import parts


def _named(mistake: Mistake) -> str:
    return f"{mistake.class_}: {mistake.name}"


def _unreported(
    mistakes: Iterable[Mistake], once: Callable[[Finding, str, int], bool] = lambda found, file, line: False
) -> dict[str, list[str]]:
    """Returns the mistakes without the expected finding at its place, with their findings.

    Also those with more than one finding for which `once` is true.
    """
    faults = {}
    for mistake in mistakes:
        findings, file, line = mistake.findings()
        alike = [found for found in findings if once(found, file, line)]
        if not mistake.is_told(findings, file, line) or len(alike) > 1:
            faults[f"{_named(mistake)}, {file}:{line}"] = [str(finding) for finding in findings[:5]]
    return faults


@pytest.mark.parametrize("mistakes", parts(catalogue.IN_MATCHERS, 2))
def test_a_mistake_of_model_conf_or_of_a_name_is_told_at_its_own_line(mistakes: list[Mistake]) -> None:
    assert _unreported(mistakes) == {}


@pytest.mark.parametrize("mistakes", parts(catalogue.IN_LINES, 4))
def test_a_mistake_of_a_line_is_told_there_and_once(mistakes: list[Mistake]) -> None:
    assert _unreported(mistakes, once=lambda found, file, line: (found.file, found.line) == (file, line)) == {}


@pytest.mark.parametrize("mistakes", parts(catalogue.IN_FILES, 3))
def test_of_a_file_that_an_editor_has_spoilt_one_thing_is_told_and_nothing_else(mistakes: list[Mistake]) -> None:
    assert _unreported(mistakes, once=lambda found, file, line: True) == {}


@pytest.mark.parametrize("mistakes", parts(catalogue.HARMLESS, 8))
def test_a_harmless_edit_is_no_error(mistakes: list[Mistake]) -> None:
    faults = {}
    for mistake in mistakes:
        findings, file, line = mistake.findings()
        if any(finding.severity == "error" for finding in findings) or (
                mistake.expects is not None and not mistake.is_told(findings, file, line)):
            faults[_named(mistake)] = [str(finding) for finding in findings]
    assert faults == {}


@pytest.mark.parametrize("mistakes", parts(catalogue.SEMANTIC, 12))
def test_a_line_that_means_something_else_is_told_at_its_own_line(mistakes: list[Mistake]) -> None:
    assert _unreported(mistakes) == {}


def test_a_line_that_was_taken_out_is_told_by_the_difference() -> None:
    """The difference names the former place of the line, and the permissions that users lose."""
    shipped, faults = from_files(FILES, VOCABULARY), {}
    for mistake in catalogue.TAKEN_OUT:
        found = diff(shipped, mistake.policy()).all
        files = {place.partition(":")[0] for change in found for place in change.gone}
        if {change.kind for change in found} != {LESS} or files != {mistake.edit.file}:
            faults[_named(mistake)] = [str(change) for change in found]
    assert faults == {}


def test_the_catalogue_is_large_and_names_each_mistake_once() -> None:
    every = [*catalogue.HARMFUL, *catalogue.HARMLESS, *catalogue.SEMANTIC]
    assert [name for name, count in Counter(map(_named, every)).items() if count > 1] == []
    assert len(catalogue.HARMFUL) >= 100
    assert len(catalogue.HARMLESS) >= 30
    assert len(catalogue.SEMANTIC) >= 60
