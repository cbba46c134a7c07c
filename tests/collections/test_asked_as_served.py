"""explain, who, AuthZEN and `allowed_actions` decide like the endpoints: for all their permissions and methods.

Each question goes to all of them, and the request itself is sent and rolled back.
"""

from __future__ import annotations

import pytest

from gatepost.http.request.identity import hashed
from tests.apps import Caller, log_in
from tests.databases import each_database, on_sqlite, undone  # noqa: F401 - the same on each database
from tests.samples import sampled

CONDITIONS = ("    p.when == 'by_put' && r.env.method == 'PUT' || \\\n"
              "    p.when == 'by_patch' && r.env.method == 'PATCH' || \\\n"
              "    p.when == 'by_get' && r.env.method == 'GET' || \\\n"
              "    p.when == 'writing' && r.env.request == 'write' && r.sub.role != 'admin' || \\\n"
              "    p.when == 'not_admin' && r.sub.role != 'admin' || \\\n"
              "    p.when == 'a_program' && r.sub.kind == 'service' || \\\n")
RULES = {
    "as shipped": "",
    "export without view": """p, support, article.view, not_admin, deny
                              p, support, article.export, always, allow""",
    "export of some, view of others": "p, support, article.export, own, allow",
    "import without update": "p, support, article.import, always, allow",
    "import and update without view": """p, support, article.view, not_admin, deny
                                         p, support, article.import, always, allow
                                         p, support, article.update, always, allow""",
    "no replacement": "p, editor, article.update, by_put, deny",
    "replacement alone": "p, support, article.update, by_put, allow",
    "change alone": "p, support, article.update, by_patch, allow",
    "shares are read, not given": """p, support, article.share, by_get, allow
                                     p, editor, article.share, writing, deny""",
    "nothing is written": "p, editor, article.*, writing, deny",
    "viewed, but not while writing": "p, editor, article.view, writing, deny",
}
TITLE, WHOLE = {"title": "Changed"}, {"title": "Changed", "slug": "changed", "body": "Words."}
EXPLAIN, WHO = "/api/admin/policy/explain", "/api/admin/policy/who"
EVALUATION, SUBJECTS = "/access/v1/evaluation", "/access/v1/search/subject"


def requests(row, grantee: str) -> list[tuple[str, str, str, dict[str, object], bool]]:
    """Returns (permission, method, path, body, True if it is about the row)."""
    one = f"/api/articles/{row.id}"
    share = {"json": {"grantee": grantee, "right": "read"}}
    line = f'{{"id": "{row.id}", "title": "Changed"}}\n'
    imported = {"data": line, "headers": {"Content-Type": "application/x-ndjson"}}
    return [
        ("article.view", "GET", one, {}, True),
        ("article.update", "PATCH", one, {"json": TITLE}, True),
        ("article.update", "PUT", one, {"json": WHOLE}, True),
        ("article.delete", "DELETE", one, {}, True),
        ("article.share", "GET", f"{one}/shares", {}, True),
        ("article.share", "PUT", f"{one}/shares", share, True),
        ("article.export", "GET", "/api/articles/export", {}, False),
        ("article.import", "POST", "/api/articles/import", imported, True),
    ]


@pytest.mark.parametrize("rules", sampled(RULES.values(), 3), ids=RULES)
def test_the_answer_to_a_request_is_what_each_of_them_says(under, given, as_role, rules):
    app = under(CONDITIONS, {"articles.csv": "\n".join(line.strip() for line in rules.splitlines())})
    admin = moved(app, as_role("admin"))
    callers = [moved(app, as_role(role)) for role in ("user", "support", "editor")]
    rows = [given.article("draft", owner_id=callers[0].id), given.article("published", owner_id=callers[1].id)]
    wrong = []
    for row in rows:
        for permission, method, path, sent, about_row in requests(row, f"user:{admin.id}"):
            id, asked = row.id if about_row else "", {"permission": permission, "method": method}
            if id:
                asked["id"] = id
            holders = admin.get(WHO, query_string={**asked, "limit": 200}).get_json()["items"]
            found = searched(admin, permission, method, id)
            for caller in callers:
                with undone(app.extensions["gatepost"].database):
                    answer = caller.call(method, path, **sent)
                served = answer.status_code < 300
                told = admin.get(EXPLAIN, query_string={**asked, "as": caller.id}).get_json()
                said = {"explain": told["verdict"] != "refused",
                        "who": caller.id in [one["user"] and one["user"]["id"] for one in holders],
                        "authzen": decided(admin, caller.id, permission, id, method), "search": caller.id in found}
                if set(said.values()) != {served}:
                    wrong.append((caller.user.role, row.status, permission, method, answer.status_code, said))
    assert wrong == []


def moved(app, caller: Caller) -> Caller:
    """Returns the same caller at another app."""
    return Caller(app.test_client(), caller.user, caller.token)


def question(subject: str, permission: str, id: str, method: str | None) -> dict[str, object]:
    kind, _, action = permission.partition(".")
    return {"subject": {"type": "user", "id": subject}, "action": {"name": action},
            "resource": {"type": kind, "id": id}, "context": {} if method is None else {"method": method}}


def decided(admin: Caller, subject: str, permission: str, id: str, method: str | None = None) -> bool:
    return admin.post(EVALUATION, json=question(subject, permission, id, method)).get_json()["decision"]


def searched(admin: Caller, permission: str, method: str, id: str) -> list[str]:
    asked = {**question("", permission, id, method), "subject": {"type": "user"}, "page": {"limit": 200}}
    return [one["id"] for one in admin.post(SUBJECTS, json=asked).get_json()["results"]]


# Without a method


def lines(*added: str) -> dict[str, str]:
    return {"articles.csv": "\n".join(added)}


def test_explain_names_the_other_requests_that_are_answered_otherwise(under, given, as_role):
    app = under(CONDITIONS, lines("p, editor, article.update, by_put, deny"))
    admin, editor, article = moved(app, as_role("admin")), moved(app, as_role("editor")), given.article()
    asked = {"as": editor.id, "permission": "article.update", "id": article.id}
    told = admin.get(EXPLAIN, query_string=asked).get_json()
    assert (told["verdict"], told["request"]) == ("allowed", "PATCH /api/articles/<id>")
    [other] = told["other_requests"]
    assert (other["request"], other["verdict"], other["status"]) == ("PUT /api/articles/<id>", "refused", 403)
    for method, verdict in (("PUT", "refused"), ("PATCH", "allowed")):
        told = admin.get(EXPLAIN, query_string={**asked, "method": method}).get_json()
        assert (told["verdict"], told["other_requests"]) == (verdict, [])
    told = admin.get(EXPLAIN, query_string={**asked, "permission": "article.share"}).get_json()
    assert told["other_requests"] == [], "no rule about it looks at the method"


def test_who_lists_those_who_may_by_some_method_and_says_which(under, given, as_role):
    app = under(CONDITIONS, lines("p, support, article.update, by_put, allow",
                                  "p, editor, article.update, by_put, deny"))
    admin, article = moved(app, as_role("admin")), given.article()

    def when(**asked: str) -> dict[str, str | None]:
        items = admin.get(WHO, query_string={"permission": "article.update", "limit": 200, **asked}).get_json()["items"]
        known = {as_role(role).id: role for role in ("support", "editor", "manager")}
        return {known[one["user"]["id"]]: one["when"] for one in items if one["user"] and one["user"]["id"] in known}

    assert when(id=article.id) == {"support": "r.env.method == 'PUT'", "editor": "r.env.method == 'PATCH'"}
    assert when(id=article.id, method="PUT") == {"support": None}
    assert when(id=article.id, method="PATCH") == {"editor": None}
    assert when()["support"] is None, "drafts of their own by any method"


def test_authzen_permits_what_each_of_the_requests_may(under, given, as_role):
    app = under(CONDITIONS, lines("p, editor, article.update, by_put, deny",
                                  "p, support, article.share, by_get, allow"))
    admin, editor, support = (moved(app, as_role(role)) for role in ("admin", "editor", "support"))
    article = given.article()
    answers = {(caller.user.role, action, method): decided(admin, caller.id, f"article.{action}", article.id, method)
               for caller, action, methods in ((editor, "update", ("PUT", "PATCH", None)),
                                               (support, "share", ("GET", "PUT", None)), (editor, "share", (None,)))
               for method in methods}
    assert {asked for asked, yes in answers.items() if yes} == {
        ("editor", "update", "PATCH"), ("support", "share", "GET"), ("editor", "share", None)}
    actions = admin.post("/access/v1/search/action", json={
        "subject": {"type": "user", "id": editor.id}, "resource": {"type": "article", "id": article.id}}).get_json()
    assert "update" not in [one["name"] for one in actions["results"]]
    found = admin.post("/access/v1/search/resource", json={
        **question(editor.id, "article.update", "", None), "page": {"limit": 200}}).get_json()
    assert found["results"] == []


def test_allowed_actions_are_those_of_the_requests_that_do_them(under, given, as_role):
    app = under(CONDITIONS, lines("p, editor, article.*, writing, deny", "p, support, article.update, by_put, allow",
                                  "p, moderator, article.update, by_patch, allow",
                                  "p, moderator, article.update, by_put, allow"))
    article = given.article()

    def actions(role: str) -> list[str]:
        path = f"/api/articles/{article.id}?fields=allowed_actions"
        return moved(app, as_role(role)).get(path).get_json()["allowed_actions"]

    assert (actions("editor"), actions("support"), actions("moderator")) == ([], [], ["update"])
    assert {"update", "delete"} <= {*actions("admin")}


def test_a_user_is_shared_whatever_their_rank(under, as_user, as_role, given):
    app = under("", {"users.csv": "p, manager, user.share, always, allow\np, manager, user.update, always, allow"})
    admin, manager, owner = moved(app, as_role("admin")), moved(app, as_role("manager")), given.user("owner")
    path = f"/api/users/{owner.id}"
    assert manager.get(f"{path}?fields=allowed_actions").get_json()["allowed_actions"] == ["share"]
    with undone(app.extensions["gatepost"].database):
        shared = manager.put(f"{path}/shares", {"grantee": f"user:{admin.id}", "right": "read"})
        assert shared.status_code == 200
        assert manager.patch(path, {"name": "Other"}).status_code == 403
    for permission, verdict in (("user.share", "allowed"), ("user.update", "refused")):
        assert decided(admin, manager.id, permission, owner.id) is (verdict == "allowed")
        asked = {"as": manager.id, "permission": permission, "id": owner.id}
        assert admin.get(EXPLAIN, query_string=asked).get_json()["verdict"] == verdict


def test_a_service_token_is_asked_about_as_a_program(under, given, as_role):
    app = under(CONDITIONS, lines("p, guest, article.view, a_program, deny"))
    admin, user, article = moved(app, as_role("admin")), as_role("user"), given.article()
    token = given.service_token(user.user, scopes=["read:articles"])
    for kind, id, decision in (("service", token.id, False), ("user", user.id, True)):
        asked = {**question("", "article.view", article.id, None), "subject": {"type": kind, "id": id}}
        assert admin.post(EVALUATION, json=asked).get_json()["decision"] is decision


@pytest.mark.both_databases
@each_database
def test_who_lists_an_owner_whom_a_token_alone_lets_in_and_counts_the_tokens_that_may(under, given):
    app = under(CONDITIONS, lines(
        "p, support, article.approve, a_program, allow", "p, support, article.view, a_program, allow",
        "p, editor, article.approve, a_program, deny"))
    article, gone = given.article("review"), given.user("support", active=False)
    alone, idle, by_login = given.user("support"), given.user("support"), given.user("editor")
    tokens = {given.service_token(user, scopes=scopes).id: user for user, scopes in (
        (alone, ["write:articles"]), (idle, ["read:articles"]), (by_login, ["write:articles"]),
        (gone, ["write:articles"]))}
    given.service_token(idle, scopes=["write:articles"], expires_at="2020-01-01T00:00:00.000000Z")
    admin, developer = log_in(app, given.user("admin")), log_in(app, given.user("developer"))
    for about in ({}, {"id": article.id}):
        asked = {"permission": "article.approve", "limit": 200, **about}
        found = {one["user"]["id"]: one for one in admin.get(WHO, query_string=asked).get_json()["items"]}
        assert (found[alone.id]["when"], found[alone.id]["tokens"]) == ("r.sub.kind == 'service'", 1)
        assert found[alone.id]["rule"]["file"] == "articles.csv"
        assert found[by_login.id]["tokens"] == 0, "its token is denied"
        assert not {idle.id, gone.id} & set(found)
        seen = [one["user"] and one["user"]["id"] for one in developer.get(WHO, query_string=asked).get_json()["items"]]
        assert alone.id not in seen, "a token that one may not view tells nothing of its owner"
    for token, owner in tokens.items():
        asked = {**question("", "article.approve", article.id, None), "subject": {"type": "service", "id": token}}
        assert admin.post(EVALUATION, json=asked).get_json()["decision"] is (owner is alone)


def program(app, given, owner) -> Caller:
    token = given.service_token(owner, scopes=["manage:articles", "read:users"], token_hash=hashed("s" * 43))
    return Caller(app.test_client(), owner, f"gp_{token.id}_{'s' * 43}")


def test_each_token_that_who_counts_is_answered(under, given):
    app = under(CONDITIONS + "    p.when == 'a_login' && r.sub.kind == 'user' || \\\n", lines(
        "p, support, article.update, a_program, allow", "p, editor, article.update, a_program, deny",
        "p, user, article.view, a_login, allow", "p, support, article.delete, own, allow",
        "p, support, article.delete, a_login, deny"))
    people = [given.user(role) for role in ("user", "support", "editor", "manager")]
    rows = [given.article("draft", owner_id=people[1].id), given.article("published", owner_id=people[0].id)]
    tokens = [(one.id, program(app, given, one)) for one in people]
    admin = log_in(app, given.user("admin"))
    wrong = []
    for row in rows:
        for permission, method, path, sent, about_row in requests(row, f"user:{people[0].id}"):
            asked = {"permission": permission, "method": method, "limit": 200, **({"id": row.id} if about_row else {})}
            found = {one["user"]["id"]: one["tokens"] for one in admin.get(WHO, query_string=asked).get_json()["items"]
                     if one["user"]}
            for owner, token in tokens:
                with undone(app.extensions["gatepost"].database):
                    served = token.call(method, path, **sent).status_code < 300
                if bool(found.get(owner)) is not served:
                    wrong.append((token.user.role, row.status, permission, method, found.get(owner), served))
    assert wrong == []


def test_who_answers_a_viewer_who_sees_departments_of_some_users_alone(under, given):
    in_sales = "    p.when == 'in_sales' && r.sub.kind == 'service' && r.sub.department == 'sales' || \\\n"
    app = under(CONDITIONS + in_sales,
                lines("p, support, article.approve, in_sales, allow", "p, support, article.view, in_sales, allow"))
    seller = given.user("support", department="sales")
    developer = given.user("developer", department="sales")
    for owner in (seller, developer):
        given.service_token(owner, scopes=["write:articles"])
    asked = {"permission": "article.approve", "limit": 200}
    admin, viewer = (log_in(app, one).get(WHO, query_string=asked) for one in (given.user("admin"), developer))
    assert seller.id in [one["user"] and one["user"]["id"] for one in admin.get_json()["items"]]
    assert viewer.status_code == 200
    assert seller.id not in [one["user"] and one["user"]["id"] for one in viewer.get_json()["items"]]


def test_the_condition_of_a_token_is_about_all_alternatives(under, given):
    app = under(CONDITIONS + "    p.when == 'small' && r.sub.kind == 'service' && (r.env.device == 'bot' || "
                             "r.env.device == 'mobile') || \\\n",
                lines("p, support, article.approve, small, allow"))
    owner = given.user("support")
    given.service_token(owner, scopes=["write:articles"])
    items = log_in(app, given.user("admin")).get(
        WHO, query_string={"permission": "article.approve", "limit": 200}).get_json()["items"]
    [when] = [one["when"] for one in items if one["user"] and one["user"]["id"] == owner.id]
    assert when == "r.sub.kind == 'service' && (r.env.device == 'bot' || r.env.device == 'mobile')"
