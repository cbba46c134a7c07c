"""Report of a run as JUnit XML for continuous integration: a `testcase` for each case, with a `failure` if an answer is
wrong.

Elements and attributes are those of "Common JUnit XML Format" (github.com/testmoapp/junitxml), with `file` and `line`
at each case. GitLab (docs.gitlab.com, "Unit test reports") shows only the first of two cases with one name, so the
second gets a number. There are no durations, because a case takes microseconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from xml.etree import ElementTree as ET

from ..wording.finding import Finding
from .cases import Case, Report

_SUITE = "gatepost policy test"


def as_junit(report: Report, file: str, properties: Mapping[str, object], remarks: Iterable[Finding]) -> bytes:
    """Returns the document in UTF-8. `file` is the path of the cases; `remarks` become the suite's `system-out`.

    Invisible characters, and characters that XML 1.0 does not allow, become escapes such as `\\x1b`.
    """
    # By identity: two cases may stand on one line.
    failed: dict[int, list[str]] = {}
    for failure in report.failures:
        failed.setdefault(id(failure.question.case), []).append(_visible(failure.answer))
    numbers = {"tests": str(len(report.suite.cases)), "failures": str(len(failed)), "errors": "0", "skipped": "0"}
    root = ET.Element("testsuites", {"name": _SUITE, **numbers})
    suite = ET.SubElement(root, "testsuite", {"name": _SUITE, "file": _visible(file), **numbers})
    listed = ET.SubElement(suite, "properties")
    for name, value in properties.items():
        ET.SubElement(listed, "property", name=name, value=_visible(str(value)))
    for case, name in _named(report.suite.cases):
        element = ET.SubElement(suite, "testcase", name=_visible(name), classname=_SUITE, file=_visible(file),
                                line=str(case.line))
        if answers := failed.get(id(case)):
            more = f" (and {len(answers) - 1} more)" if len(answers) > 1 else ""
            wrong = ET.SubElement(element, "failure", message=answers[0] + more, type="wrong answer")
            wrong.text = "\n".join(answers)
    if output := "\n".join(_visible(str(remark)) for remark in remarks):
        ET.SubElement(suite, "system-out").text = output
    ET.indent(root)
    return bytes(ET.tostring(root, encoding="utf-8", xml_declaration=True)) + b"\n"


def _visible(text: str) -> str:
    """Returns a text in one line, with an escape for each character that is not printable."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def _named(cases: tuple[Case, ...]) -> list[tuple[Case, str]]:
    """Returns each case with a unique name."""
    named: dict[str, Case] = {}
    for case in cases:
        name, number = case.name, 1
        while name in named:
            number += 1
            name = f"{case.name} ({number})"
        named[name] = case
    return [(case, name) for name, case in named.items()]
