"""Each role that a user holds, and every way in which they got it."""

from __future__ import annotations

from policies.usage.holdings import Holdings
from tests.policies.generated import assembled

ZOE = "user:0199f3a0-0000-7000-8000-000000000001"
BOB = "user:0199f3a0-0000-7000-8000-000000000002"
LINES = ["p, user, article.view, own, allow", f"p, {ZOE}, article.update, own, allow"]


def held() -> Holdings:
    return Holdings(assembled(LINES, ["g, editor, user", f"g, {ZOE}, editor", f"g, {ZOE}, support"]))


def test_a_role_is_stored_inherited_or_lent_and_may_be_all_of_these():
    assert {one.role: one.how for one in held().of(ZOE, "editor")} == {
        "editor": ("stored", "lent by roles.csv:2"),
        "user": ("inherited from editor", "inherited from editor, lent by roles.csv:2"),
        "guest": ("inherited from editor", "inherited from editor, lent by roles.csv:2",
                  "inherited from support, lent by roles.csv:3"),
        "support": ("lent by roles.csv:3",)}


def test_a_person_whom_no_line_names_holds_what_is_stored():
    assert [(one.role, one.how) for one in held().of(BOB, "user")] == [
        ("user", ("stored",)), ("guest", ("inherited from user",))]


def test_a_role_that_the_policy_has_lost_gives_nothing():
    (one,) = held().of(BOB, "auditor")
    assert (one.role, one.how[0].startswith("stored, but the policy has no such role")) == ("auditor", True)


def test_it_names_the_persons_of_lines_and_where_they_stand():
    assert held().persons == (ZOE,)
    assert [rule.place for rule in held().lines(ZOE)] == ["rules.csv:2"]
    assert held().links(ZOE) == ("roles.csv:2", "roles.csv:3")
