"""Equal findings on many lines."""

from __future__ import annotations

from policies import Finding
from policies.wording.finding import summed


def test_findings_that_say_the_same_of_more_than_three_lines_of_a_file_are_one() -> None:
    alike = [Finding("a.csv", line, "wrong") for line in (9, 2, 5, 7)]
    others = [Finding("a.csv", 3, "other"), *(Finding("b.csv", line, "wrong") for line in (1, 2, 3))]
    assert sorted(summed([*alike, *others, *alike])) == [
        Finding("a.csv", 2, "wrong (3 more lines)"), Finding("a.csv", 3, "other"), *others[1:]]
    assert list(summed(summed(alike))) == list(summed(alike))


def test_lines_about_persons_and_outdated_ones_are_named_each() -> None:
    outdated = [Finding("a.csv", line, "wrong", outdated=True) for line in range(9)]
    assert list(summed(outdated)) == outdated, "an upgrade asks for all of them"
    persons = [Finding("a.csv", line, "wrong", person=f"user:{line}") for line in range(9)]
    assert list(summed(persons)) == persons, "who may see one of them may not see the others"


def test_what_is_said_of_no_file_begins_with_no_colon():
    assert str(Finding("", 0, "the policy has no rules")) == "the policy has no rules"
