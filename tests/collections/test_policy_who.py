"""`GET /api/admin/policy/who`: pages of the users with a permission, if the caller may view the users."""

from __future__ import annotations

import pytest

from models.base import Rows
from models.tables.user import User
from tests.apps import NO_ROW, log_in

WHO = "/api/admin/policy/who"
SESSION = "p, guest, session.create, always, allow"


def ask(caller, permission, **more):
    query = "&".join(f"{name}={value}" for name, value in {"permission": permission, **more}.items())
    answer = caller.get(f"{WHO}?{query}")
    assert answer.status_code == 200, answer.get_data(as_text=True)
    return answer.get_json()


def listed(page):
    return {(one["user"] or {"id": "guests"})["id"]: one for one in page["items"]}


@pytest.mark.both_databases
def test_an_owner_of_a_draft_is_there_with_the_line_and_others_by_their_roles(as_role, given):
    user, editor, support = as_role("user"), as_role("editor"), as_role("support")
    article = given.article(status="draft", owner_id=user.id)
    found = listed(ask(as_role("admin"), "article.update", id=article.id))
    assert found[user.id]["user"]["name"] and found[user.id]["role"] == "user"
    assert found[user.id]["rule"]["file"] == "articles.csv" and found[user.id]["when"] is None
    assert editor.id in found and support.id not in found
    assert found[editor.id]["rule"] != found[user.id]["rule"]


@pytest.mark.both_databases
def test_a_share_lets_a_user_in_and_a_disabled_user_is_left_out(as_role, given):
    friend, gone = given.user(), given.user(active=False)
    article = given.article(status="draft")
    for one in (friend, gone):
        given.share("article", article, f"user:{one.id}", "write")
    found = listed(ask(as_role("admin"), "article.update", id=article.id))
    assert friend.id in found and gone.id not in found


def test_guests_are_the_first_entry(as_role, given):
    article = given.article()
    as_role("user")  # a user besides the administrator, on another page
    page = ask(as_role("admin"), "article.view", id=article.id, limit=1)
    assert [one["role"] for one in page["items"]] == ["guest", page["items"][1]["role"]]
    assert page["items"][0]["user"] is None and page["has_next"]
    after = ask(as_role("admin"), "article.view", id=article.id, limit=1, after=page["next_cursor"])
    assert all(one["user"] for one in after["items"])
    assert "guests" not in listed(ask(as_role("admin"), "article.update"))


@pytest.mark.both_databases
def test_pages_walk_all_of_them_and_a_cursor_belongs_to_one_question(as_role):
    admin, seen, cursor = as_role("admin"), [], {}
    while True:
        page = ask(admin, "article.create", limit=2, **cursor)
        seen += [one["user"]["id"] for one in page["items"]]
        if not page["has_next"]:
            break
        cursor = {"after": page["next_cursor"]}
    assert sorted(seen) == sorted(listed(ask(admin, "article.create", limit=200))) and len(seen) > 4
    first = ask(admin, "article.create", limit=2)["next_cursor"]
    answer = admin.get(f"{WHO}?permission=order.create&limit=2&after={first}")
    assert (answer.status_code, answer.get_json()["code"]) == (400, "cursor_mismatch")


@pytest.mark.both_databases
def test_tokens_that_cover_it_are_counted_beside_their_owner(as_role, given):
    user = as_role("user")
    given.service_token(user.user, scopes=["read:articles"])
    given.service_token(user.user, scopes=["write:articles"])
    assert listed(ask(as_role("admin"), "article.create"))[user.id]["tokens"] == 1
    assert listed(ask(as_role("developer"), "article.create"))[user.id]["tokens"] == 0, "which are not theirs to see"


@pytest.mark.parametrize(("query", "status", "code"), [
    ("", 400, "missing_field"), ("permission=article.updte", 400, "invalid_parameter"),
    (f"permission=article.update&id={NO_ROW}", 404, "not_found"),
    (f"permission=policy.view&id={NO_ROW}", 404, "not_found"),
    ("permission=article.update&at=yesterday", 400, "invalid_parameter"),
    ("permission=article.update&fields=id", 400, "unknown_parameter"),
])
def test_what_cannot_be_asked_is_refused(as_role, query, status, code):
    answer = as_role("admin").get(f"{WHO}?{query}")
    assert answer.status_code == status, answer.get_data(as_text=True)
    assert code == "missing_field" or answer.get_json()["code"] == code


def test_a_hidden_object_and_one_of_another_tenant_are_not_there(as_role, given, elsewhere):
    for row in (given.article(status="draft"), elsewhere.article()):
        answer = as_role("developer", tenant="default").get(f"{WHO}?permission=article.update&id={row.id}")
        assert answer.status_code == (200 if row.tenant_id == given.tenant_id else 404)


def test_nobody_of_another_tenant_is_listed(as_role, elsewhere):
    stranger = elsewhere.user("admin")
    assert stranger.id not in listed(ask(as_role("admin"), "article.update", limit=200))


def change(given, user, **values):
    for name, value in values.items():
        setattr(user, name, value)
    given.database.transact(lambda: Rows(User, user.tenant_id).save(user))


@pytest.mark.both_databases
@pytest.mark.parametrize("rule", [
    "p, user, user.view_private, own, allow", "", "p, guest, user.view_private, always, allow"])
def test_who_is_disabled_is_told_to_those_alone_who_may_see_it(rule, given, under):
    """Otherwise a caller could compare the answer with the list of users."""
    app = under("", {"users.csv": f"p, user, user.view, always, allow\n{rule}", "session.csv": SESSION,
                     "admin.csv": "p, developer, policy.view, always, allow\np, admin, *, always, allow",
                     "articles.csv": "p, user, article.update, shared, allow\np, user, article.view, always, allow"},
                only=True)
    article, user, named = given.article(status="draft"), given.user("user"), given.user("support")
    for one in (user, named):
        given.share("article", article, f"user:{one.id}", "write")
    caller = log_in(app, given.user("developer"))
    answers = []
    for active in (True, False, True):
        for one in (user, named):
            change(given, one, active=active)
        answers.append([listed(ask(caller, "article.update", limit=200, **about))
                        for about in ({}, {"id": article.id})])
    assert answers[0] == answers[2]
    if "always" in rule:
        assert all(user.id in before and user.id not in after
                   for before, after in zip(answers[0], answers[1], strict=True))
    else:
        assert answers[0] == answers[1] and all(user.id in found for found in answers[0])


def test_why_somebody_may_tells_nothing_of_a_department_that_the_caller_may_not_see(given, under):
    app = under("    p.when == 'of_press' && r.sub.department == 'press' || \\\n"
                "    p.when == 'at_desks' && r.env.device == 'desktop' || \\\n",
                {"orders.csv": "p, support, order.approve, of_press, allow\n"
                               "p, support, order.approve, at_desks, allow"})
    people = [given.user("support", department=department) for department in ("press", "news")]
    for role, alike in (("developer", True), ("admin", False)):
        found = listed(ask(log_in(app, given.user(role)), "order.approve", limit=200))
        press, news = ({name: found[one.id][name] for name in ("rule", "when")} for one in people)
        assert (press == news) is alike, (role, press, news)
        assert news["when"] == "r.env.device == 'desktop'"
