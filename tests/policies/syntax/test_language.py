"""Every spelling decides as the table of the grammar says, or is refused at load with what to write instead."""

from __future__ import annotations

import pytest

from policies.loading.oracle import Oracle
from tests.policies.generated import BRANCHES, WHO_AND_WHAT, findings_of, model
from tests.policies.syntax.language import READ, REFUSED, REFUSED_LINES, Read


@pytest.mark.parametrize("row", READ, ids=str)
def test_a_spelling_that_is_read_decides_as_the_table_says(row: Read) -> None:
    policy = row.policy
    oracle = Oracle(policy.files)
    for question, answer in row.questions:
        assert (policy.decide(*question), oracle.decide(*question)) == (answer, answer), question[2]


@pytest.mark.parametrize(("condition", "message"), REFUSED.items())
def test_any_other_spelling_is_refused_with_what_to_write(condition: str, message: str) -> None:
    branch = condition if "p.when ==" in condition else f"p.when == 'new' && {condition}"
    text = model(f"{WHO_AND_WHAT} && ({BRANCHES} || \\\n    {branch})")
    what = "user.view" if "active" in condition else "article.view"
    found = findings_of([f"p, user, {what}, {'new' if branch != condition else 'word:de'}, allow"], None, text)
    assert any(message in finding for finding in found), found
    assert all(finding.startswith(("model.conf:", "rules.csv:1: ")) for finding in found)


@pytest.mark.parametrize(("line", "message"), REFUSED_LINES.items())
def test_a_line_that_casbins_read_otherwise_is_refused_with_what_to_write(line: str, message: str) -> None:
    text = model(f"{WHO_AND_WHAT} && ({BRANCHES} || p.when == 'language:' + r.obj.language)")
    found = findings_of(["p, user, article.view, own, allow", line], None, text)
    assert any(finding.startswith("rules.csv:2: ") and message in finding for finding in found), found
