"""A rule is shown as it is written in its file, with the comment directly above it."""

from __future__ import annotations

import pytest

from policies import SHIPPED, load
from policies.syntax.rules import Rule
from policies.tools.written import Files, Written
from tests.policies.shipped_vocabulary import VOCABULARY

FILE = b"""# Notes of all sorts

# Staff read what is not out yet;
#   see the minutes of May.
p, editor,  note.view, always, allow
p, user, note.view, own, allow\r
# end
"""


def at(line: int) -> Rule:
    return Rule("notes.csv", line, "", "", "", "")


@pytest.mark.parametrize(("line", "text", "comment"), [
    (5, "p, editor,  note.view, always, allow", ("Staff read what is not out yet;", "see the minutes of May.")),
    (6, "p, user, note.view, own, allow", ()),
])
def test_a_line_has_its_own_blanks_and_the_comment_that_touches_it(
    line: int, text: str, comment: tuple[str, ...]
) -> None:
    assert Files({"notes.csv": FILE}).at(at(line)) == Written(text, comment)


def test_a_comment_on_the_first_line_of_a_file_belongs_to_the_second() -> None:
    assert Files({"notes.csv": b"# All.\np, user, note.view, own, allow\n# end\n"}).at(at(2)).comment == ("All.",)


def test_the_headings_of_the_columns_are_no_comment() -> None:
    file = b"#  who   permission  when    effect\np, user, note.view,  own,    allow\n# end\n"
    assert Files({"notes.csv": file}).at(at(2)).comment == ()


def test_every_line_of_the_shipped_policy_is_found() -> None:
    policy = load(SHIPPED, VOCABULARY)
    files = Files(policy.files)
    for rule in policy.rules:
        columns = [column.strip() for column in files.at(rule).text.split(",")]
        assert columns == ["p", rule.sub, rule.act, rule.when, rule.eft]


@pytest.mark.parametrize("rule", [at(99), Rule("other.csv", 1, "", "", "", "")])
def test_a_line_that_there_is_not_is_an_error(rule: Rule) -> None:
    with pytest.raises(LookupError):
        Files({"notes.csv": FILE}).at(rule)
