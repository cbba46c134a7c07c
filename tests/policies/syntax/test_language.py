"""Every spelling decides as in the table of the grammar, or is refused at load with a replacement."""

from __future__ import annotations

from policies.loading.oracle import Oracle
from tests.policies.generated import BRANCHES, WHO_AND_WHAT, findings_of, model
from tests.policies.syntax.language import READ, REFUSED, REFUSED_LINES


def test_a_spelling_that_is_read_decides_as_the_table_says() -> None:
    faults = []
    for row in READ:
        policy = row.policy
        oracle = Oracle.of(policy)
        faults += [(str(row), question[2]) for question, answer in row.questions
                   if (policy.decide(*question), oracle.decide(*question)) != (answer, answer)]
    assert faults == []


def test_any_other_spelling_is_refused_with_what_to_write() -> None:
    faults = {}
    for condition, message in REFUSED.items():
        branch = condition if "p.when ==" in condition else f"p.when == 'new' && {condition}"
        text = model(f"{WHO_AND_WHAT} && ({BRANCHES} || \\\n    {branch})")
        what = "user.view" if "active" in condition else "article.view"
        found = findings_of([f"p, user, {what}, {'new' if branch != condition else 'word:de'}, allow"], None, text)
        if not any(message in finding for finding in found) or not all(
                finding.startswith(("model.conf:", "rules.csv:1: ")) for finding in found):
            faults[condition] = found
    assert faults == {}


def test_a_line_that_casbins_read_otherwise_is_refused_with_what_to_write() -> None:
    text, faults = model(f"{WHO_AND_WHAT} && ({BRANCHES} || p.when == 'language:' + r.obj.language)"), {}
    for line, message in REFUSED_LINES.items():
        found = findings_of(["p, user, article.view, own, allow", line], None, text)
        if not any(finding.startswith("rules.csv:2: ") and message in finding for finding in found):
            faults[line] = found
    assert faults == {}
