"""`GET /api/admin/policy/unused`: unused permissions by usage counts, for the users whom the caller may see."""

from __future__ import annotations

import pytest

from gatepost.testing import log_in
from models.base import new_id

UNUSED = "/api/admin/policy/unused"


def asked(caller, **query):
    answer = caller.get(UNUSED, query_string=query)
    assert answer.status_code == 200, answer.text
    return answer.get_json()


def texts(lines):
    return {line["text"] for line in lines}


def store_uses(app):
    chores = app.extensions["gatepost"].background._tasks
    next(one for one in chores if one.name == "storing uses of rules").attempt()


def test_what_a_request_needed_is_seen_and_the_rest_is_named_by_its_line(app, as_role):
    admin, line = as_role("admin"), "p, manager, category.*, always, allow"
    before = asked(admin)
    assert line in texts(before["not_seen"]) and {"permission": "category.create", "given": True} in before[
        "permissions"]
    body = {"name": "News", "slug": "news"}
    assert as_role("manager").post("/api/categories", body).status_code == 201
    store_uses(app)
    after = asked(admin)
    assert line not in texts(after["not_seen"])
    assert "category.create" not in {one["permission"] for one in after["permissions"]}
    assert after["lines"] == before["lines"] > 50 and after["gaps"]


def test_a_line_without_effect_is_named_with_what_settles_it(under, given):
    admin = log_in(under(lines={"orders.csv": "p, manager, order.approve, own, allow"}), given.user("admin"))
    [found] = asked(admin)["without_effect"]
    assert found["text"] == "p, manager, order.approve, own, allow" and found["file"] == "orders.csv"
    assert found["reason"].startswith("settled by orders.csv:")


def test_lines_about_persons_of_whom_the_asker_is_not_told_are_left_out(under, given, elsewhere):
    here, far = given.user(), elsewhere.user()
    lines = [f"p, user:{id}, order.approve, always, allow" for id in (here.id, far.id, new_id())]
    found = asked(log_in(under(lines={"orders.csv": "\n".join(lines)}), given.user("admin")))
    assert texts(found["not_seen"]) & set(lines) == {lines[0]}
    assert far.id not in str(found)


@pytest.mark.parametrize(("role", "status"), [("guest", 401), ("user", 403), ("editor", 403), ("developer", 200)])
def test_it_is_for_those_who_may_see_the_rules(role, status, as_role):
    assert as_role(role).get(UNUSED).status_code == status


@pytest.mark.parametrize("days", ["0", "401", "-1", "x", "1.5", "9" * 400, ""])
def test_a_window_that_counts_do_not_cover_is_refused(days, as_role):
    assert as_role("admin").get(UNUSED, query_string={"days": days}).status_code == 400


def test_the_longest_window_goes_back_as_far_as_counts_are_kept(as_role):
    assert asked(as_role("admin"), days=400)["since"] < asked(as_role("admin"), days=1)["since"]
