"""Lines of policy files: an unknown text is an error at its place."""

from __future__ import annotations

import pytest

from tests.policies.generated import RULE, findings_of

PERSON = "user:01920000-0000-7000-8000-000000000001"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("q, user, article.view, own, allow", "a line begins with p, p2 or g, and a comma"),
        ("p, user, article.view, own", "p takes 4 columns (who, permission, when, effect), not 3"),
        ("p, user, article.view, own, allow, x", "p takes 4 columns"),
        ("p, user, article.view, own, allow,", "p takes 4 columns"),
        ("p, usr, article.view, own, allow", "`usr` is neither a role nor user:<id>"),
        ("p, user:7, article.view, own, allow", "`user:7` is neither a role nor user:<id>"),
        ("p, user, article.veiw, own, allow", "`article.veiw` is no permission"),
        ("p, user, artcle.*, own, allow", "`artcle.*` is no permission"),
        ("p, user, article.[vu]*, own, allow", "is no permission"),
        ("p, user, **, own, allow", "is no permission"),
        ("p, user, article.view, mine, allow", "`mine` is no condition; known are active, always"),
        ("p, user, article.view, own, dney", "`dney` is no effect; write allow or deny"),
        ("p, user, article.view, own, Allow", "`Allow` is no effect"),
        ("p, user, , own, allow", "`` is no permission"),
        ('p, user, "article.view", own, allow', "quotes become part of the value"),
        ("p, user, article.view, 'own', allow", "quotes become part of the value"),
        ("p, user, article.view, own, deny # not yet", "write comments on lines of their own"),
        ("p, user, category.view, published, allow", "category has no column status"),
        ("p, user, *, own, allow", "has no column owner_id"),
        ("p2, raed:articles, article.view", "`raed:articles` is no scope"),
        ("p2, read:rule, article.view", "`read:rule` is no scope: rule is unknown"),
        ("p2, read:rules, article.veiw", "is no permission"),
        ("p2, read:articles", "p2 takes 2 columns"),
        ("g, user", "g takes 2 columns"),
        ("g, user, gust", "`gust` is no role"),
        (f"g, user, {PERSON}", "is no role"),
        ("\ufeffp, user, article.view, own, allow", "ZERO WIDTH NO-BREAK SPACE (U+FEFF) is not allowed here"),
        ("p, user, article.view,\u00a0own, allow", "NO-BREAK SPACE (U+00A0) is not allowed here; type a plain blank"),
        ("p, user, article.view, own,\x0b allow", "control character"),
        ("# ending", "`# end` is allowed on the last line only"),
    ],
)
def test_a_line_that_is_not_understood_is_an_error_at_its_place(line: str, message: str) -> None:
    found = findings_of([RULE, line])
    assert any(finding.startswith("rules.csv:2: ") and message in finding for finding in found), found


def test_everything_that_is_wrong_is_reported_at_once() -> None:
    found = findings_of([RULE, "p, user, x.view, own, allow", "p, user, article.view, own", "g, user, x"], ["g, guest"])
    assert [finding.partition(": ")[0] for finding in found] == [
        "roles.csv:1", "rules.csv:2", "rules.csv:3", "rules.csv:4",
    ]


@pytest.mark.parametrize(("number", "said"), [(3, 3), (4, 1), (900, 1)])
def test_what_is_wrong_alike_with_many_lines_is_told_at_the_first_of_them(number: int, said: int) -> None:
    found = findings_of([RULE, *["; who sees articles"] * number, "p, user, article.view, own"])
    assert [one.partition(": ")[0] for one in found] == [
        *(f"rules.csv:{line}" for line in range(2, 2 + said)), f"rules.csv:{number + 2}"]
    assert [one for one in found if "more lines" in one] == (
        [f"rules.csv:2: a comment begins with # ({number - 1} more lines)"] if said == 1 else [])
