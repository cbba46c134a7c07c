"""The report as JUnit XML: elements and attributes of "Common JUnit XML Format", as GitLab and Jenkins read them."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from policies import SHIPPED, Policy, load
from policies.cases.case_file import read_suite
from policies.cases.cases import run
from policies.cases.junit import as_junit
from policies.wording.finding import Finding
from tests.policies.shipped_vocabulary import VOCABULARY

# Element → the attributes that it must have, and the elements that may be in it, in this order.
FORMAT: dict[str, tuple[set[str], list[str]]] = {
    "testsuites": ({"name", "tests", "failures", "errors", "skipped"}, ["testsuite"]),
    "testsuite": ({"name", "file", "tests", "failures", "errors", "skipped"}, ["properties", "testcase", "system-out"]),
    "properties": (set(), ["property"]),
    "property": ({"name", "value"}, []),
    "testcase": ({"name", "classname", "file", "line"}, ["failure"]),
    "failure": ({"message", "type"}, []),
    "system-out": (set(), []),
}
HOSTILE = "a\x1b]0;owned\x07\n<failure/>&\"\u202e\ufffe\ud800"


@pytest.fixture(scope="module")
def shipped() -> Policy:
    return load(SHIPPED, VOCABULARY)


def report_of(policy: Policy, *cases: str, remarks: tuple[Finding, ...] = ()) -> ET.Element:
    listed = ",\n  ".join(f"{{who: ann, what: contact, {case}}}" for case in cases)
    suite = read_suite(f"principals: {{ann: {{role: user}}}}\ncases: [{listed}]\n", "tests.yaml", VOCABULARY)
    return parsed(as_junit(run(policy, suite), "trial/tests.yaml", {"policy_version": "7", "coverage": 40}, remarks))


def parsed(document: bytes) -> ET.Element:
    root = ET.fromstring(document)
    for element in root.iter():
        attributes, children = FORMAT[element.tag]
        assert set(element.attrib) == attributes
        order = [children.index(child.tag) for child in element]
        assert order == sorted(order)
    return root


def test_each_case_is_a_testcase_with_its_place(shipped: Policy) -> None:
    root = report_of(shipped, "name: one, may: [contact.create]", "name: two, may: [contact.create]")
    cases = [(one.get("name"), one.get("file"), one.get("line")) for one in root.iter("testcase")]
    assert cases == [("one", "trial/tests.yaml", "2"), ("two", "trial/tests.yaml", "3")]
    assert {one.get("name"): one.get("value") for one in root.iter("property")} == {
        "policy_version": "7", "coverage": "40"}
    assert not list(root.iter("failure")) and not list(root.iter("system-out"))


def test_a_case_with_wrong_answers_is_one_failure_that_tells_them_all(shipped: Policy) -> None:
    root = report_of(shipped, "name: one, may: [contact.*]", "name: two, may: [contact.create]")
    for counting in (root, root[0]):
        assert (counting.get("tests"), counting.get("failures"), counting.get("errors")) == ("2", "1", "0")
    [case] = [one for one in root.iter("testcase") if one.find("failure") is not None]
    failure = case[0]
    assert case.get("name") == "one"
    assert failure.get("message") == "ann may not contact.delete, and should: no rule gives it to user (and 1 more)"
    assert (failure.text or "").splitlines() == [
        f"ann may not contact.{verb}, and should: no rule gives it to user" for verb in ("delete", "view")]


def test_cases_of_one_name_are_told_apart_because_gitlab_takes_the_first_only(shipped: Policy) -> None:
    root = report_of(shipped, *["name: one, may: [contact.create]"] * 3, "name: one (2), may: [contact.create]")
    assert [one.get("name") for one in root.iter("testcase")] == ["one", "one (2)", "one (3)", "one (2) (2)"]


def test_two_cases_on_one_line_fail_each_for_itself(shipped: Policy) -> None:
    suite = read_suite("principals: {ann: {role: user}}\ncases: [{name: a, who: ann, what: contact, may: []}, "
                       "{name: b, who: ann, what: contact, may: [contact.create]}]\n", "tests.yaml", VOCABULARY)
    root = parsed(as_junit(run(shipped, suite), "tests.yaml", {}, ()))
    assert [one.get("name") for one in root.iter("testcase") if len(one)] == ["a"]


def test_remarks_are_the_output_of_the_suite(shipped: Policy) -> None:
    remarks = Finding("articles.csv", 4, "no case reaches this rule", "warning"), Finding("x", 0, HOSTILE)
    root = report_of(shipped, "name: one, may: [contact.create]", remarks=remarks)
    [output] = root.iter("system-out")
    assert (output.text or "").splitlines()[0] == "articles.csv:4: warning: no case reaches this rule"
    assert len((output.text or "").splitlines()) == 2


def test_what_xml_cannot_hold_and_a_reader_would_not_see_is_written_as_an_escape(
    shipped: Policy, tmp_path: Path
) -> None:
    quoted = json.dumps(HOSTILE)
    root = report_of(shipped, f"name: {quoted}, may: []")
    [case] = root.iter("testcase")
    assert case.get("name") == "a\\x1b]0;owned\\x07\\n<failure/>&\"\\u202e\\ufffe\\ud800"
