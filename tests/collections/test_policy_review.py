"""`GET /api/admin/policy/review`: each user's roles, how they got them, and their last activity."""

from __future__ import annotations

import pytest

from gatepost.testing import log_in
from models.base import later, now

REVIEW = "/api/admin/policy/review"


def asked(caller, **query):
    answer = caller.get(REVIEW, query_string={"limit": 200, **query})
    assert answer.status_code == 200, answer.text
    return {one["id"]: one for one in answer.get_json()["items"]}


def test_each_role_says_how_it_was_got_and_each_line_about_a_person_is_named(under, given):
    zoe, mia = given.user("editor", name="Zoe"), given.user("user")
    app = under(lines={"roles.csv": f"g, user:{zoe.id}, support",
                       "orders.csv": f"p, user:{zoe.id}, order.refund, own, allow"})
    found = asked(log_in(app, given.user("owner")))
    roles = {one["role"]: one["how"] for one in found[zoe.id]["roles"]}
    assert roles["editor"] == ["stored"] and roles["support"][0].startswith("lent by roles.csv:")
    assert roles["guest"][0] == "inherited from editor" and "inherited from support" in roles["guest"][1]
    assert [place.partition(":")[0] for place in found[zoe.id]["lines"]] == ["orders.csv", "roles.csv"]
    assert (found[mia.id]["lines"], found[mia.id]["roles"][0]) == ([], {"role": "user", "how": ["stored"]})


@pytest.mark.both_databases
def test_it_tells_when_somebody_was_last_here_and_how_many_tokens_are_valid(as_role, given):
    ann = given.user(password="correct horse battery staple")
    given.service_token(ann)
    given.service_token(ann, expires_at=later(-60))
    before = asked(as_role("owner"))[ann.id]
    assert (before["last_login"], before["last_use"], before["tokens"]) == (None, None, 1)
    start = now()
    caller = as_role("guest").client
    assert caller.post("/api/login", json={"email": ann.email, "password": "correct horse battery staple"}
                       ).status_code == 200
    after = asked(as_role("owner"))[ann.id]
    assert start <= after["last_login"] <= after["last_use"]


@pytest.mark.both_databases
def test_users_are_found_by_role_and_state_page_by_page(as_role, given):
    for number in range(3):
        given.user("moderator", name=f"Moderator {number}", active=number != 1)
    owner = as_role("owner")
    assert {one["role"] for one in asked(owner, role="moderator").values()} == {"moderator"}
    assert {one["active"] for one in asked(owner, role="moderator", active="false").values()} == {False}
    assert asked(owner, role="nobody") == {}
    first = owner.get(REVIEW, query_string={"role": "moderator", "limit": 2}).get_json()
    second = owner.get(REVIEW, query_string={"role": "moderator", "cursor": first["next_cursor"]}).get_json()
    ids = [{one["id"] for one in page["items"]} for page in (first, second)]
    assert len(ids[0]) == 2 and ids[1] and not ids[0] & ids[1]


def test_nobody_of_another_tenant_is_told(as_role, given, elsewhere):
    here, far = given.user(), elsewhere.user()
    assert here.id in asked(as_role("owner")) and far.id not in asked(as_role("owner"))


@pytest.mark.parametrize(("role", "status"), [("guest", 401), ("user", 403), ("developer", 403), ("owner", 200)])
def test_it_is_for_those_who_may_see_the_rules_the_trail_sessions_and_tokens(role, status, as_role):
    assert as_role(role).get(REVIEW).status_code == status


WHOLE = ("policy.view", "audit.view", "session.view", "token.view")


def test_who_may_see_a_part_alone_of_what_it_is_made_of_is_refused(under, given):
    """Tries supporters who each lack one of the permissions. All see their own sessions and tokens."""
    supporters = {lacking: given.user("support") for lacking in ("", *WHOLE)}
    app = under(lines={"admin.csv": "\n".join(
        f"p, user:{user.id}, {one}, always, allow" for lacking, user in supporters.items()
        for one in WHOLE if one != lacking)})
    answers = {lacking: log_in(app, user).get(REVIEW) for lacking, user in supporters.items()}
    assert {lacking: answer.status_code for lacking, answer in answers.items()} == {
        "": 200, **dict.fromkeys(WHOLE, 403)}
    told = answers[""].get_json()["items"]
    assert any("email" not in one for one in told), "of others a supporter sees the name alone"
