"""Users whom rules name in their first column, by a condition, or by its parameter."""

from __future__ import annotations

import pytest

from policies import Policy
from policies.questions.named_users import changed_users, users_in
from policies.syntax.expression import PluginCall
from policies.syntax.vocabulary import Function
from tests.policies.generated import assembled, model

ZOE, YAN = (f"user:0199f3a0-0000-7000-8000-00000000000{number}" for number in (1, 2))
ID = ZOE.removeprefix("user:")
WHO_AND_WHAT = "(g(r.sub.role, p.sub) || g(r.sub.key, p.sub)) && globMatch(r.act, p.act)"
NAMING = {
    "by id": f"r.sub.id == '{ID}'", "by no id": f"r.sub.id != '{ID}'", "mirrored": f"'{ID}' == r.sub.id",
    "by key": f"r.sub.key == '{ZOE}'", "by name": f"g(r.sub.key, '{ZOE}')", "the owner": f"r.obj.owner_id == '{ID}'",
    "one of several": f"(r.obj.status == 'draft' || !(r.sub.id == '{ID}'))",
}


def policy(*lines: str, special: str = "r.obj.status == 'draft'", head: str = WHO_AND_WHAT, links: tuple[str, ...] = ()
           ) -> Policy:
    conditions = {"always": "", "special": special, "person:": "p.when == 'person:' + r.sub.id"}
    branches = " || ".join(asked if word.endswith(":") else f"p.when == '{word}'" + (asked and f" && {asked}")
                           for word, asked in conditions.items())
    return assembled(["p, user, article.view, always, allow", *lines], ["g, user, guest", *links],
                     model(f"{head} && ({branches})"))


@pytest.mark.parametrize("asked", NAMING.values(), ids=NAMING)
def test_a_condition_names_a_user_by_id_and_by_key(asked: str) -> None:
    assert users_in(policy(special=asked).conditions["special"].expression) == {ZOE}


def test_a_function_of_a_plugin_is_given_a_user_by_key() -> None:
    function = Function("on_duty", (), (str, int, str), lambda *_: True)
    assert users_in(PluginCall(function, ("sea", 3, ZOE))) == {ZOE}


@pytest.mark.parametrize("asked", [f"r.obj.id == '{ID}'", "r.obj.owner_id == r.sub.id", "r.sub.role == 'user'",
                                   f"r.sub.tenant_id == '{ID}'"])
def test_other_ids_are_no_users(asked: str) -> None:
    assert users_in(policy(special=asked).conditions["special"].expression) == set()


LINE = "p, user, article.update, special, allow"
BY_ID = NAMING["by id"]


@pytest.mark.parametrize(("old", "new", "users"), [
    (policy(), policy(), set()),
    (policy(), policy("p, user, article.update, always, allow"), set()),
    (policy(), policy(f"p, {ZOE}, article.update, always, allow"), {ZOE}),
    (policy(f"p, {ZOE}, article.*, always, allow"), policy(f"p, {YAN}, article.*, always, allow"), {ZOE, YAN}),
    (policy(), policy(f"p, user, article.update, person:{ID}, allow"), {ZOE}),
    (policy(), policy(links=(f"g, {ZOE}, user",)), {ZOE}),
    (policy(), policy(special=BY_ID), {ZOE}),
    (policy(special=BY_ID), policy(LINE, special=BY_ID), {ZOE}),
    (policy(LINE, special=BY_ID), policy(LINE.replace("allow", "deny"), special=BY_ID), {ZOE}),
    (policy(LINE, special=BY_ID), policy(LINE, special=f"{BY_ID} && r.obj.status == 'draft'"), {ZOE}),
    (policy(LINE, special=BY_ID), policy(LINE, "p, user, article.delete, always, allow", special=BY_ID), set()),
    (policy(LINE, LINE, special=BY_ID), policy(LINE, special=BY_ID), {ZOE}),
    (policy(f"p, {ZOE}, article.update, special, allow"),
     policy(f"p, {ZOE}, article.update, special, allow", special="r.obj.status == 'published'"), set()),
], ids=["nothing", "a line of a role", "a line of a user", "of another one", "a parameter", "a role that is lent",
        "a condition", "a line with it", "its effect", "a narrower condition", "a line beside it", "one of two lines",
        "the condition of a user's line, which concerns everybody"])
def test_a_user_is_concerned_by_every_change_of_what_rules_that_name_them_say(
    old: Policy, new: Policy, users: set[str]
) -> None:
    assert changed_users(old, new) == users == changed_users(new, old)
