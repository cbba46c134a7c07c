"""`/api/admin/policy` and its `explain`: the rules in force, and reasons without hidden fields."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest

from blueprints.articles import Articles
from gatepost import Conflict
from policies import SHIPPED
from tests.apps import NO_ROW, ROLES

POLICY, EXPLAIN = "/api/admin/policy", "/api/admin/policy/explain"
READERS = ("developer", "owner", "admin")


def ask(caller, who, permission, id=None):
    """Returns the answer of `explain`. None leaves a parameter out."""
    asked = {"as": who, "permission": permission, "id": id}
    query = urlencode({name: value for name, value in asked.items() if value is not None})
    return caller.get(f"{EXPLAIN}?{query}")


def reasons(caller, *question):
    answer = ask(caller, *question)
    assert answer.status_code == 200, answer.get_data(as_text=True)
    return answer.get_json()


def problem(answer):
    """Returns a problem without the id of its request."""
    return answer.status_code, {**answer.get_json(), "request_id": ""}


@pytest.mark.parametrize("path", [POLICY, f"{EXPLAIN}?as=user&permission=article.view"])
@pytest.mark.parametrize("role", ROLES)
def test_a_role_without_policy_view_does_not_read_it(as_role, role, path):
    expected = 200 if role in READERS else 401 if role == "guest" else 403
    assert as_role(role).get(path).status_code == expected


def test_the_rules_in_force_are_those_of_the_files_line_by_line(as_role, app):
    policy = as_role("developer").get(POLICY).get_json()
    assert policy["version"] == app.extensions["gatepost"].policy.current.version
    assert policy["error"] is None and policy["warnings"] == []
    for rule in policy["rules"]:
        line = (SHIPPED / rule["file"]).read_text().splitlines()[rule["line"] - 1]
        written = [column.strip() for column in line.split(",")]
        assert written == ["p", rule["who"], rule["permission"], rule["when"], rule["effect"]]
    for kept in policy["invariants"]:
        line = (SHIPPED / kept["file"]).read_text().splitlines()[kept["line"] - 1]
        last = [f"except {' '.join(kept['except'])}"] if kept["except"] else [kept["when"]] if kept["when"] else []
        written = [column.strip() for column in line.split(",")]
        assert written == [kept["kind"], kept["who"], kept["permission"], *last]
    assert {kept["kind"] for kept in policy["invariants"]} == {"never", "only", "atmost", "always"}
    assert policy["roles"]["admin"] == ["owner", "developer"]
    assert policy["conditions"]["own"] == "r.obj.owner_id == r.sub.id"


@pytest.mark.parametrize("role", ROLES)
def test_the_exact_versions_are_for_callers_who_may_read_the_policy(as_role, role):
    told = as_role(role).get("/api/health").get_json().keys() - {"status", "checks"}
    assert told == ({"version", "policy_version", "users_without_role", "jobs", "backups", "findings",
                     "written_seconds_ago"} if role in READERS else set())


@pytest.mark.parametrize("role", ROLES)
def test_which_checks_there_are_is_for_them_too(as_role, role):
    seen = as_role(role).get("/api/health").get_json()["checks"].keys()
    others = {"addresses", "keys", "disk", "clock", "jobs", "backups"} if role in READERS else set()
    assert seen == {"database", "migrations", "policy", "limits"} | others


def test_a_token_reads_the_policy_when_its_scopes_cover_that_and_no_shipped_scope_does(as_user):
    refused = as_user("admin", scope="manage:articles").get(POLICY)
    assert (refused.status_code, refused.get_json()["code"]) == (403, "insufficient_scope")


def test_an_allowed_object_is_explained_by_the_line_that_decided(as_role, as_user, given):
    ann = as_user("user")
    draft = given.article("draft", owner_id=ann.id)
    found = reasons(as_role("admin"), ann.user.email, "article.update", draft.id)
    assert (found["verdict"], found["hidden"]) == ("allowed", False)
    decided = found["decided_by"]
    assert (decided["file"], decided["roles"]) == ("articles.csv", ["user"])
    line = (SHIPPED / "articles.csv").read_text().splitlines()[decided["line"] - 1]
    assert line.split() == decided["rule"].split()
    assert {fact["holds"] for fact in decided["facts"]} == {True}
    assert found["policy_version"] == as_role("admin").get("/api/health").get_json()["policy_version"]


def test_a_refused_object_is_explained_by_what_was_missing(as_role, as_user, given):
    ann = as_user("user")
    published = given.article("published", owner_id=ann.id)
    found = reasons(as_role("admin"), ann.id, "article.update", published.id)
    assert (found["verdict"], found["hidden"], found["decided_by"]) == ("refused", False, None)
    assert "status is published, must be draft" in found["summary"]
    assert found["granted_to"] == {"always": ["editor", "owner", "admin"]}


def test_an_object_that_the_caller_may_not_see_is_said_to_be_hidden(as_role, as_user, given):
    ann, draft = as_user("user"), given.article("draft")
    assert reasons(as_role("admin"), ann.id, "article.update", draft.id)["hidden"] is True
    assert reasons(as_role("admin"), "guest", "article.view", draft.id)["hidden"] is True


def test_a_role_is_explained_without_an_object_as_depending_on_it(as_role):
    found = reasons(as_role("developer"), "user", "article.update")
    assert (found["verdict"], found["object"], found["hidden"]) == ("depends", None, False)
    assert reasons(as_role("developer"), "guest", "article.update")["verdict"] == "refused"
    assert reasons(as_role("developer"), "guest", "session.create")["verdict"] == "allowed"


def test_a_share_is_a_reason(as_role, as_user, given):
    ann, draft = as_user("user"), given.article("draft")
    given.share("article", draft, f"user:{ann.id}", "write")
    found = reasons(as_role("admin"), ann.id, "article.update", draft.id)
    assert found["verdict"] == "allowed"
    assert "it is shared with the caller for update" in [fact["text"] for fact in found["decided_by"]["facts"]]


# Values that the answer must not reveal

def test_an_absent_a_foreign_and_an_unknown_user_get_the_same_answer(as_role, elsewhere):
    stranger = elsewhere.user("user")
    asked = [NO_ROW, stranger.id, stranger.email, "nobody@example.org", "no-such-role", "user:1", "Admin"]
    answers = [problem(ask(as_role("admin"), who, "article.view")) for who in asked]
    assert answers[0][0] == 404
    assert all(answer == answers[0] for answer in answers)


def test_an_object_that_is_absent_of_another_tenant_or_hidden_from_the_asker_is_one_answer(as_role, given, elsewhere):
    hidden = given.order()  # a developer views no orders
    asked = [("order.view", NO_ROW), ("order.view", hidden.id), ("article.view", elsewhere.article().id),
             ("health.view", NO_ROW), ("article.view", hidden.id)]
    answers = [problem(ask(as_role("developer"), "user", *question)) for question in asked]
    assert answers[0][0] == 404
    assert all(answer == answers[0] for answer in answers)
    assert ask(as_role("admin"), "user", "order.view", hidden.id).status_code == 200


def test_a_caller_who_may_not_see_e_mails_cannot_probe_them(as_role, given):
    ann = given.user("user")
    answers = [problem(ask(as_role("developer"), who, "article.view"))
               for who in (ann.email, "nobody@example.org", ann.email.upper())]
    assert answers[0][0] == 404
    assert all(answer == answers[0] for answer in answers)
    assert ask(as_role("developer"), ann.id, "article.view").status_code == 200, "by id the person is visible"
    assert ask(as_role("owner"), f" {ann.email.upper()} ", "article.view").status_code == 200


def test_a_developer_may_ask_about_themselves_by_e_mail(as_role):
    developer = as_role("developer")
    assert reasons(developer, developer.user.email, "article.view")["role"] == "developer"


@pytest.mark.parametrize(("query", "code"), [
    ("as=user", "invalid_parameter"),
    ("permission=article.view", "invalid_parameter"),
    ("as=user&permission=article.fly", "invalid_parameter"),
    ("as=user&permission=article.view&id=7", "invalid_parameter"),
    ("as=user&as=guest&permission=article.view", "invalid_parameter"),
    ("as=user&permission=article.view&when=now", "unknown_parameter"),
    ("as=%00&permission=article.view", "invalid_parameter"),
    ("as=" + "a" * 300 + "&permission=article.view", "invalid_parameter"),
    ("as=%F0%9F%90%88&permission=article.view%00", "invalid_parameter"),
])
def test_a_question_that_cannot_be_understood_is_400(as_role, query, code):
    answer = as_role("admin").get(f"{EXPLAIN}?{query}")
    assert answer.status_code == 400
    assert answer.get_json()["code"] == code


# Rules that read hidden fields, the environment, and both

CONDITIONS = """    p.when == 'by_mail' && r.obj.email == 'eve@example.org' || \\
    p.when == 'of_atlas' && inGroup(r.sub, 'atlas') || \\
    p.when == 'for_news' && r.obj.department == 'news' || \\
    p.when == 'writing' && r.env.request == 'write' && r.env.method == 'POST' || \\
"""
LINES = {
    "users.csv": "p, user, user.disable, by_mail, allow\np, user, user.enable, same_department, allow\n",
    "articles.csv": "p, user, article.archive, same_department, allow\np, user, article.publish, writing, allow\n"
                    "p, user, article.view, writing, allow\np, user, article.reject, of_atlas, allow\n",
    "pages.csv": "p, user, page.create, for_news, allow\n",
}


@pytest.fixture(scope="module")
def curious(under):
    """An app whose rules read e-mails, departments, groups and methods."""
    return under(CONDITIONS, LINES)


@pytest.fixture
def among_the_curious(curious, as_user):
    """`among_the_curious("developer")` returns a caller of that app."""

    def log_in(role):
        caller = as_user(role)
        caller.client = curious.test_client()
        return caller

    return log_in


@pytest.mark.parametrize("permission", ["user.disable", "user.enable"])
def test_reasons_show_a_guarded_field_to_callers_who_may_see_it_only(among_the_curious, given, permission):
    ann, eve = given.user("user", department="news"), given.user("user", email=f"{permission}@example.org")
    developer, owner = among_the_curious("developer"), among_the_curious("owner")
    refused = ask(developer, ann.id, permission, eve.id)
    assert (refused.status_code, refused.get_json()["code"]) == (403, "forbidden")
    assert "news" not in refused.get_data(as_text=True) and eve.email not in refused.get_data(as_text=True)
    assert ask(owner, ann.id, permission, eve.id).status_code == 200
    assert ask(developer, "user", permission).status_code == 200, "without a person, nothing is revealed"


def test_a_persons_department_is_shown_to_callers_who_may_see_it_only(among_the_curious, given):
    ann = given.user("user", department="news")
    article = given.article("published", department="news")
    assert ask(among_the_curious("developer"), ann.id, "article.archive", article.id).status_code == 403
    assert reasons(among_the_curious("owner"), ann.id, "article.archive", article.id)["verdict"] == "allowed"
    developer = among_the_curious("developer")
    assert ask(developer, developer.id, "article.archive", article.id).status_code == 403
    mine = given.article("published", department="news", owner_id=developer.id)
    assert ask(developer, developer.id, "article.archive", mine.id).status_code == 200


@pytest.mark.parametrize("groups", [["atlas"], []])
def test_a_persons_groups_are_shown_to_callers_who_may_see_them_only(among_the_curious, given, groups):
    ann, article = given.user("user", groups=groups), given.article("published")
    developer, owner = among_the_curious("developer"), among_the_curious("owner")
    for question in ((ann.id, "article.reject"), (ann.id, "article.reject", article.id)):
        assert ask(developer, *question).status_code == 403, "of users in the group, and of the others"
        assert ask(owner, *question).status_code == 200
    assert ask(developer, "user", "article.reject").status_code == 200


@pytest.mark.parametrize("groups", [["atlas"], []])
def test_what_a_share_with_a_group_opens_does_not_tell_who_is_in_it(among_the_curious, given, groups):
    ann, shared, plain = given.user("user", groups=groups), given.article("draft"), given.article("draft")
    given.share("article", shared, "group:atlas", "write")
    given.share("article", plain, "role:editor", "write")
    developer, owner = among_the_curious("developer"), among_the_curious("owner")
    assert ask(developer, ann.id, "article.update", shared.id).status_code == 403
    assert ask(developer, ann.id, "article.update", plain.id).status_code == 200
    assert reasons(owner, ann.id, "article.update", shared.id)["verdict"] == ("allowed" if groups else "refused")


def test_what_a_person_may_make_does_not_tell_their_department(among_the_curious, given):
    ann = given.user("user", department="news")
    assert ask(among_the_curious("developer"), ann.id, "page.create").status_code == 403
    assert reasons(among_the_curious("owner"), ann.id, "page.create")["verdict"] == "allowed"


def test_a_write_is_explained_as_a_write_though_the_question_is_a_read(among_the_curious):
    admin = among_the_curious("admin")
    assert reasons(admin, "user", "article.publish")["policy_verdict"] == "allowed"
    assert "must be write" in str(reasons(admin, "user", "article.view")["nearest_misses"])


# Other environments, names beside ids, and rules in code

def query(caller, **asked):
    """Returns the answer of `explain`; `who` is the parameter `as`."""
    return caller.get(f"{EXPLAIN}?{urlencode({'as': asked.pop('who'), **asked})}")


@pytest.fixture(scope="module")
def hourly(under):
    """An app whose rules read the time, the address and the device."""
    return under("    p.when == 'on_a_phone' && r.env.device == 'mobile' || \\\n", {
        "admin.csv": "p, user, stats.view, office_hours, allow\np, support, stats.view, intranet, allow\n"
                     "p, moderator, stats.view, on_a_phone, allow\n"})


@pytest.mark.parametrize(("who", "asked", "verdict"), [
    ("user", {"at": "2026-11-18T10:00"}, "allowed"),
    ("user", {"at": "2026-11-18T22:00"}, "refused"),
    ("user", {"at": "2026-11-18T22:00+12:00"}, "allowed"),
    ("user", {"at": "2026-11-21T10:00Z"}, "refused"),
    ("support", {"at": "2026-11-18T22:00", "ip": "10.1.2.3"}, "allowed"),
    ("support", {"at": "2026-11-18T22:00", "ip": "192.0.2.1"}, "refused"),
    ("moderator", {"at": "2026-11-18T22:00", "device": "mobile"}, "allowed"),
    ("moderator", {"at": "2026-11-18T22:00", "device": "tablet"}, "refused"),
])
def test_another_time_address_or_device_can_be_asked_about(hourly, as_user, who, asked, verdict):
    admin = as_user("admin")
    admin.client = hourly.test_client()
    found = query(admin, who=who, permission="stats.view", **asked).get_json()
    assert found["verdict"] == verdict
    assert found["circumstances"].items() >= {name: value for name, value in asked.items() if name != "at"}.items()


def test_the_method_is_that_of_the_request_unless_another_is_asked_for(as_role):
    admin = as_role("admin")
    for permission, request, method, kind in (
            ("article.view", "GET /api/articles", "GET", "read"),
            ("article.update", "PATCH /api/articles/<id>", "PATCH", "write"),
            ("article.delete", "DELETE /api/articles/<id>", "DELETE", "write"),
            ("article.manage", None, "POST", "write")):
        found = reasons(admin, "editor", permission)
        assert found["request"] == request
        assert (found["circumstances"]["method"], found["circumstances"]["request"]) == (method, kind)
    found = query(admin, who="editor", permission="article.update", method="PUT").get_json()
    assert (found["request"], found["circumstances"]["method"]) == ("PUT /api/articles/<id>", "PUT")
    found = query(admin, who="editor", permission="article.view", method="HEAD").get_json()
    assert (found["request"], found["circumstances"]["request"]) == ("GET /api/articles", "read")


def test_scopes_make_the_caller_a_service_token(as_role):
    asked = {"who": "editor", "permission": "article.update", "scope": "read:articles,read:users"}
    found = query(as_role("admin"), **asked).get_json()
    assert (found["kind"], found["scopes"], found["status"], found["code"]) == (
        "service", ["read:articles", "read:users"], 403, "insufficient_scope")


@pytest.mark.parametrize(("parameter", "value"), [
    ("at", "now"), ("at", "2026-11-18"), ("at", "2026-11-18T22:00 02:00"), ("at", "9999-12-31T23:59Z"),
    ("ip", "10.1.2"), ("ip", "localhost"), ("ip", ""), ("device", "fridge"), ("method", "get"), ("method", "FETCH"),
    ("scope", "read:article"), ("scope", ""), ("scope", "read:articles,,"), ("permission", "articl.view"),
])
def test_a_circumstance_that_is_none_is_refused_by_name(as_role, parameter, value):
    answer = query(as_role("admin"), **{"who": "user", "permission": "article.view", parameter: value})
    assert answer.status_code == 400
    assert {error["parameter"] for error in answer.get_json()["errors"]} == {parameter}


def test_guests_are_those_of_the_tenant_in_which_they_act(as_role, given, elsewhere):
    for tenant, home, expected in (
            ("default", given, ("allowed", 200, True)), ("other", elsewhere, ("refused", 404, False))):
        admin, article = as_role("admin", tenant=tenant), home.article()
        why = query(admin, who="guest", permission="article.view", id=article.id).get_json()
        shown = admin.get(f"/api/admin/policy/visible?as=guest&collection=articles&ids={article.id}").get_json()
        listed = admin.get(f"/api/admin/policy/who?permission=article.view&id={article.id}").get_json()["items"]
        decision = admin.post("/access/v1/evaluation", json={
            "subject": {"type": "user", "id": "guest"}, "action": {"name": "view"},
            "resource": {"type": "article", "id": article.id}}).get_json()["decision"]
        assert (why["verdict"], why["status"], shown["items"][0]["visible"]) == expected
        assert (decision, any(one["user"] is None for one in listed)) == (expected[2],) * 2
        assert as_role("guest").get(f"/api/articles/{article.id}").status_code == expected[1]


def test_a_guest_has_no_token(as_role):
    answer = query(as_role("admin"), who="guest", permission="article.view", scope="read:articles")
    assert (answer.status_code, answer.get_json()["errors"][0]["parameter"]) == (400, "scope")


def test_names_stand_beside_ids_where_the_asker_may_see_them(as_role, as_user, given):
    ann, bob = given.user("user", name="Ann"), given.user("user", name="Bob")
    article = given.article("published", owner_id=bob.id, title="On gates")
    told = reasons(as_role("owner"), ann.id, "article.update", article.id)
    assert f"owner_id is {bob.id} (Bob, {bob.email}), must be the caller's id, {ann.id} (Ann, {ann.email})" in str(told)
    assert told["object_name"] == "On gates"
    less = str(reasons(as_role("developer"), ann.id, "article.update", article.id))
    assert f"owner_id is {bob.id} (Bob), must be the caller's id, {ann.id} (Ann)" in less
    assert bob.email not in less and ann.email not in less


def test_whether_an_account_is_disabled_is_told_to_callers_who_may_see_it(as_role, given):
    gone = given.user("user", active=False)
    found = reasons(as_role("owner"), gone.id, "article.create")
    assert (found["verdict"], found["policy_verdict"], found["status"]) == ("refused", "allowed", 401)
    hidden = reasons(as_role("developer"), gone.id, "article.create")
    assert hidden["verdict"] == "allowed"
    assert {"name": "account", "text": "whether the account is active is not shown to you", "holds": None,
            "status": None} in hidden["rules"]


def test_a_rule_in_code_does_not_tell_a_field_that_the_asker_may_not_see(as_role, given):
    someone = given.user("user")
    assert ask(as_role("developer"), "owner", "user.disable", someone.id).status_code == 403
    assert reasons(as_role("owner"), "owner", "user.disable", someone.id)["verdict"] == "allowed"


def test_a_rule_in_code_is_told_where_no_object_is_named(as_role):
    found = reasons(as_role("admin"), "editor", "article.submit")
    assert found["rules"] == [{"name": "state", "text": "status must be draft", "holds": None, "status": None}]


def test_what_a_collection_itself_refuses_is_told_without_a_word_of_its_own(as_role, given, monkeypatch):
    def refuse(self, call):
        raise Conflict(f"{call.principal.role} may not touch {call.row.slug} today.")

    article = given.article("draft")
    monkeypatch.setattr(Articles, "restrict", refuse)
    found = reasons(as_role("admin"), "editor", "article.update", article.id)
    assert (found["verdict"], found["policy_verdict"], found["status"]) == ("refused", "allowed", 409)
    assert {"name": "collection", "text": f"editor may not touch {article.slug} today.", "holds": False,
            "status": 409} in found["rules"]
    assert reasons(as_role("admin"), "editor", "article.view", article.id)["verdict"] == "allowed"
