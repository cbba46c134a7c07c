"""The lint warns of lines that work as written and are hardly meant, and of no others."""

from __future__ import annotations

import pytest

from policies.tools.lint import warnings
from tests.policies.generated import BRANCHES, MODEL, assembled

RULE = "p, user, article.view, own, allow"


def model_with(branch: str) -> str:
    """The shipped model.conf with one condition more."""
    return MODEL.replace(BRANCHES, f"{BRANCHES} || {branch}")


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ([RULE, RULE], "rules.csv:2: warning: the same as rules.csv:1"),
        (
            ["p, user, article.view, always, allow", RULE],
            "rules.csv:2: warning: rules.csv:1 (user, article.view",
        ),
        (["p, guest, article.*, always, allow", RULE], "rules.csv:2: warning: rules.csv:1"),
        (["p, user, article.*, always, deny", RULE], "rules.csv:2: warning: rules.csv:1"),
        (["p, guest, article.view, published, deny"], "so this denies it to all"),
        (["p, user, article.delete, own, deny"], "denies nothing on article rows whose owner_id is missing"),
        (["p, user, article.view, same_department, allow"], "no index of article serves lists by department"),
        (["p, user, article.view, never, allow"], "rules.csv:1: warning: nobody can ever meet `never`"),
    ],
)
def test_a_line_that_is_hardly_meant_is_a_warning(rules: list[str], message: str) -> None:
    never = "p.when == 'never' && r.obj.status == 'a' && r.obj.status == 'b'"
    text = model_with(never)
    found = [str(finding) for finding in warnings(assembled(rules, ["g, user, guest"], text))]
    assert any(message in finding for finding in found), found


def test_a_condition_that_only_a_higher_role_meets_is_no_warning() -> None:
    text = model_with("p.when == 'new' && r.sub.role == 'editor'")
    links = ["g, user, guest", "g, editor, user"]
    assert warnings(assembled(["p, user, article.view, new, allow"], links, text)) == ()
    rules = ["p, editor, article.view, new, allow", "p, support, article.view, new, allow"]
    (warning,) = warnings(assembled(rules, links, text))
    assert str(warning).startswith("rules.csv:2: warning: nobody can ever meet `new`")


def test_a_denial_for_guests_only_is_no_warning() -> None:
    assert warnings(assembled([RULE, "p, guest, article.view, anonymous, deny"], ["g, user, guest"])) == ()
