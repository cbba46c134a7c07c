"""AuthZEN 1.0: evaluations equal the service's answers to its own callers, and searches find exactly the same."""

from __future__ import annotations

import itertools

import pytest

from gatepost.http.request.identity import service_token
from models.base import Rows
from models.tables.user import User
from tests.apps import NO_ROW, close, log_in, make_app
from tests.databases import Statements

EVALUATION, EVALUATIONS = "/access/v1/evaluation", "/access/v1/evaluations"


def question(subject, action, resource, **more):
    kind, _, id = resource.partition(":")
    who, _, name = subject.partition(":")
    return {"subject": {"type": who, "id": name}, "action": {"name": action},
            "resource": {"type": kind, "id": id}, **more}


def decided(caller, *asked, **more) -> bool:
    answer = caller.post(EVALUATION, json=question(*asked, **more))
    assert answer.status_code == 200, answer.get_data(as_text=True)
    assert answer.get_json().keys() == {"decision"}
    return answer.get_json()["decision"]


def searched(caller, what, size=3, **asked) -> list[tuple[str, str]]:
    """Returns the results of a search, read page by page."""
    found, token = [], ""
    while True:
        page = {"limit": size, **({"token": token} if token else {})}
        answer = caller.post(f"/access/v1/search/{what}", json={**asked, "page": page})
        assert answer.status_code == 200, answer.get_data(as_text=True)
        told = answer.get_json()
        assert told["page"]["count"] == len(told["results"])
        found += [(one.get("type", ""), one.get("id", one.get("name"))) for one in told["results"]]
        token = told["page"]["next_token"]
        if not token:
            assert len(found) == len(set(found)), "each once"
            return found


class TestEvaluation:
    def test_a_user_may_what_the_service_lets_them(self, as_role, given):
        admin, user, other = as_role("admin"), as_role("user"), as_role("support")
        draft = given.article(status="draft", owner_id=user.id)
        assert decided(admin, f"user:{user.id}", "update", f"article:{draft.id}")
        assert user.patch(f"/api/articles/{draft.id}", json={"title": "Mine"}).status_code == 200
        assert not decided(admin, f"user:{other.id}", "update", f"article:{draft.id}")
        assert other.patch(f"/api/articles/{draft.id}", json={"title": "Mine"}).status_code == 404

    def test_guests_roles_and_service_tokens_are_subjects(self, as_role, given):
        admin, user = as_role("admin"), as_role("user")
        article = given.article()
        token = given.service_token(user.user, scopes=["read:articles"])
        assert decided(admin, "user:guest", "view", f"article:{article.id}")
        assert not decided(admin, "user:guest", "update", f"article:{article.id}")
        assert decided(admin, "role:editor", "update", f"article:{article.id}")
        assert not decided(admin, "role:support", "update", f"article:{article.id}")
        assert decided(admin, f"service:{token.id}", "view", f"article:{article.id}")
        assert not decided(admin, f"service:{token.id}", "create", "article")
        assert decided(admin, f"user:{user.id}", "create", "article")

    def test_what_is_unknown_foreign_disabled_or_hidden_is_not_permitted(self, as_role, given, elsewhere):
        admin, user = as_role("admin"), as_role("user")
        article, gone = given.article(), given.user("admin", active=False)
        stranger, far = elsewhere.user("admin"), elsewhere.article()
        expired = given.service_token(user.user, expires_at="2026-01-01T00:00:00.000000Z")
        for asked in ((f"user:{NO_ROW}", "view", f"article:{article.id}"), ("user:x", "view", f"article:{article.id}"),
                      (f"user:{gone.id}", "view", f"article:{article.id}"),
                      (f"user:{stranger.id}", "view", f"article:{article.id}"),
                      (f"service:{expired.id}", "view", f"article:{article.id}"),
                      (f"device:{user.id}", "view", f"article:{article.id}"),
                      (f"user:{user.id}", "view", f"article:{far.id}"), (f"user:{user.id}", "view", "article:x"),
                      (f"user:{user.id}", "view", f"record:{article.id}"), (f"user:{user.id}", "fly", "article"),
                      (f"user:{user.id}", "view", "stats:1")):
            assert not decided(admin, *asked), asked

    def test_a_context_says_when_and_from_where(self, under, given):
        app = under("    p.when == 'nights' && r.env.hour >= 20 || \\\n"
                    "    p.when == 'at_home' && ipMatch(r.env.ip, '10.0.0.0/8') || \\\n",
                    {"orders.csv": "p, support, order.approve, nights, allow\n"
                                   "p, support, order.reject, at_home, allow"})
        admin, support, order = log_in(app, given.user("admin")), given.user("support"), given.order()
        for context, verb, expected in (
                ({"time": "2026-11-18T21:00:00Z"}, "approve", True),
                ({"time": "2026-11-18T09:00:00Z"}, "approve", False),
                ({"ip": "10.1.2.3"}, "reject", True), ({"ip": "192.0.2.1", "more": [1]}, "reject", False)):
            assert decided(admin, f"user:{support.id}", verb, f"order:{order.id}", context=context) is expected
            found = searched(admin, "subject", subject={"type": "user"}, action={"name": verb},
                             resource={"type": "order", "id": order.id}, context=context)
            assert (("user", support.id) in found) is expected

    def test_it_agrees_with_a_service_that_started_with_rules_that_are_no_longer_accepted(self, under, given):
        app = under("    p.when == 'on_duty' && inGroup(r.sub, r.sub.department) || \\\n"
                    "    p.when == 'by_desk' && inGroup(r.sub, r.env.device) || \\\n",
                    {"pages.csv": "p, user, page.view, on_duty, allow\np, user, page.view, by_desk, allow",
                     "categories.csv": "p, user, category.view, always, allow\np, user, category.view, on_duty, deny"},
                    only=True)
        admin, page, category = log_in(app, given.user("admin")), given.page(), given.category()
        for groups in ([], ["press"], ["desktop"]):
            user = given.user("user", department="press", groups=groups)
            caller = log_in(app, user)
            for name, row in (("page", page), ("category", category)):
                assert caller.get(f"/api/{'pages' if name == 'page' else 'categories'}/{row.id}").status_code == 403
                assert not decided(admin, f"user:{user.id}", "view", f"{name}:{row.id}"), (groups, name)

    def test_properties_count_for_what_is_to_be_created(self, as_role):
        admin, user = as_role("admin"), as_role("user")
        for properties, expected in (({"title": "New"}, True), ({"title": 5}, False), ({"colour": "red"}, False)):
            body = question(f"user:{user.id}", "create", "article")
            body["resource"]["properties"] = properties
            assert admin.post(EVALUATION, json=body).get_json()["decision"] is expected

    def test_rank_counts(self, as_role, given):
        admin, owner, chief = as_role("admin"), as_role("owner"), given.user("admin")
        assert not decided(admin, f"user:{owner.id}", "delete", f"user:{chief.id}")
        assert decided(admin, f"user:{admin.id}", "delete", f"user:{chief.id}")

    def test_a_user_of_whom_the_asker_may_not_see_whether_they_are_active_looks_like_a_disabled_one(self, under, given):
        app = under("", {"admin.csv": "p, developer, policy.evaluate, always, allow"})
        article, token_owner = given.article(), given.user("editor")
        token = given.service_token(token_owner, scopes=["write:articles"])
        for role, expected in (("admin", True), ("developer", False)):
            caller = log_in(app, given.user(role))
            told = [decided(caller, f"{kind}:{id}", "update", f"article:{article.id}")
                    for kind, id in (("user", token_owner.id), ("service", token.id))]
            assert told == [expected, expected]
            found = searched(caller, "subject", subject={"type": "user"}, action={"name": "update"},
                             resource={"type": "article", "id": article.id})
            assert (("user", token_owner.id) in found) is expected

    def test_nothing_is_told_of_what_the_asker_may_not_see(self, under, given):
        app = under("    p.when == 'of_press' && r.sub.department == 'press' || \\\n",
                    {"orders.csv": "p, support, order.approve, of_press, allow\n"
                                   "p, developer, order.view, always, allow",
                     "admin.csv": "p, developer, policy.evaluate, always, allow"})
        order, writer = given.order(), given.user("support", department="press")
        for role, expected in (("admin", True), ("developer", False)):
            caller = log_in(app, given.user(role))
            assert decided(caller, f"user:{writer.id}", "approve", f"order:{order.id}") is expected
            found = searched(caller, "subject", subject={"type": "user"}, action={"name": "approve"},
                             resource={"type": "order", "id": order.id})
            assert (("user", writer.id) in found) is expected


class TestEvaluations:
    def test_defaults_are_inherited_and_the_order_is_kept(self, as_role, given):
        admin, user = as_role("admin"), as_role("user")
        mine, others = given.article("draft", owner_id=user.id), given.article("draft")
        answer = admin.post(EVALUATIONS, json={
            "subject": {"type": "user", "id": user.id}, "action": {"name": "view"}, "evaluations": [
                {"resource": {"type": "article", "id": mine.id}}, {"resource": {"type": "article", "id": others.id}},
                {"action": {"name": "update"}, "resource": {"type": "article", "id": mine.id}}]})
        assert answer.get_json() == {"evaluations": [{"decision": True}, {"decision": False}, {"decision": True}]}

    @pytest.mark.parametrize(("semantic", "expected"), [
        ("execute_all", [True, False, True]), ("deny_on_first_deny", [True, False]),
        ("permit_on_first_permit", [True])])
    def test_it_stops_where_the_semantic_says_so(self, as_role, semantic, expected):
        answer = as_role("admin").post(EVALUATIONS, json={
            "subject": {"type": "role", "id": "editor"}, "resource": {"type": "article", "id": ""},
            "evaluations": [{"action": {"name": verb}} for verb in ("publish", "fly", "view")],
            "options": {"evaluations_semantic": semantic, "more": 1}})
        assert [one["decision"] for one in answer.get_json()["evaluations"]] == expected

    @pytest.mark.both_databases
    def test_subject_rows_and_shares_are_read_once_however_many_there_are(self, app, as_role, given, monkeypatch):
        admin, user, database = as_role("admin"), as_role("user"), app.extensions["gatepost"].database
        rows = [given.article("draft") for _ in range(20)]
        for row in rows[::2]:
            given.share("article", row, f"user:{user.id}")
        statements = Statements()

        def noted(run):
            return lambda *sent, **more: (statements.note(sent), run(*sent, **more))[1]

        for name in ("query", "recall", "execute_sql"):
            monkeypatch.setattr(database, name, noted(getattr(database, name)))

        def count(several):
            statements.clear()
            answer = admin.post(EVALUATIONS, json={"subject": {"type": "user", "id": user.id}, "evaluations": [
                {"action": {"name": verb}, "resource": {"type": "article", "id": row.id}} for row in several
                for verb in ("view", "update")]})
            assert [one["decision"] for one in answer.get_json()["evaluations"]] == [
                may for row in several for may in (row in rows[::2], False)]
            return len(statements)

        count(rows[:1])  # an access token is verified less often than it is sent
        assert 0 < count(rows[:1]) == count(rows)

    def test_without_any_it_is_one_evaluation(self, as_role):
        one = question("role:editor", "publish", "article")
        for body in (one, {**one, "evaluations": []}):
            assert as_role("admin").post(EVALUATIONS, json=body).get_json() == {"decision": True}

    def test_one_that_is_not_whole_is_denied_by_itself(self, as_role):
        whole = question("role:editor", "publish", "article")
        answer = as_role("admin").post(EVALUATIONS, json={"evaluations": [whole, {"subject": {"type": "user"}}, whole]})
        first, second, third = answer.get_json()["evaluations"]
        assert first == third == {"decision": True}
        assert (second["decision"], second["context"]["error"]["status"]) == (False, 400)

    @pytest.mark.parametrize("body", [
        {"evaluations": [5]}, {"subject": {"type": "user"}, "evaluations": [{}]},
        {"evaluations": [{}] * 101}, {"options": {"evaluations_semantic": "maybe"}}, {}])
    def test_what_is_not_whole_is_refused(self, as_role, body):
        assert as_role("admin").post(EVALUATIONS, json=body).status_code == 400


@pytest.mark.parametrize("body", [
    {}, {"subject": {"type": "user", "id": "guest"}}, {**question("user:guest", "view", "article"), "subject": "guest"},
    {**question("user:guest", "view", "article"), "subject": {"id": "guest"}},
    {**question("user:guest", "view", "article"), "action": {}},
    {**question("user:guest", "view", "article"), "resource": {"type": "article"}},
    {**question("user:guest", "view", "article"), "action": {"name": 123}},
    {**question("user:guest", "view", "article"), "context": {"time": "yesterday"}},
    {**question("user:guest", "view", "article"), "context": []}])
def test_a_question_that_is_not_whole_is_refused(as_role, body):
    assert as_role("admin").post(EVALUATION, json=body).status_code == 400


def test_members_that_are_not_known_are_ignored(as_role):
    body = {**question("user:guest", "view", "article"), "more": {"a": 1}}
    body["subject"]["more"] = body["action"]["more"] = 1
    assert as_role("admin").post(EVALUATION, json=body).get_json() == {"decision": True}


@pytest.mark.parametrize("role", ["admin", "developer"])
def test_searches_find_just_what_evaluations_permit(under, given, elsewhere, role):
    lines = {"admin.csv": "p, developer, policy.evaluate, always, allow"}
    caller = log_in(under(lines=lines), given.user(role))
    people = [given.user(one, department=department) for one, department in (
        ("user", None), ("user", "press"), ("editor", "press"), ("manager", None))]
    rows = [given.article(status, owner_id=owner, department="press") for status, owner in (
        ("draft", people[0].id), ("published", people[1].id), ("draft", None))]
    elsewhere.article()
    given.share("article", rows[2], f"user:{people[1].id}", "write")
    with given.database.connected():
        shown = [("user", user.id) for user in Rows(User, given.tenant_id).select()] + [("user", "guest")]
    for verb in ("view", "update", "delete"):
        for row in rows:
            found = searched(caller, "subject", subject={"type": "user"}, action={"name": verb},
                             resource={"type": "article", "id": row.id})
            assert set(found) == {one for one in shown if decided(caller, ":".join(one), verb, f"article:{row.id}")}
        for person in people:
            found = searched(caller, "resource", subject={"type": "user", "id": person.id}, action={"name": verb},
                             resource={"type": "article"})
            mine = {id for _, id in found} & {row.id for row in rows}
            assert mine == {row.id for row in rows if decided(caller, f"user:{person.id}", verb, f"article:{row.id}")}
    for person, row in itertools.product(people[:2], rows):
        subject, resource = {"type": "user", "id": person.id}, {"type": "article", "id": row.id}
        found = {name for _, name in searched(caller, "action", subject=subject, resource=resource)}
        verbs = ("view", "update", "delete", "publish", "share", "manage", "view_private")
        assert found & {*verbs} == {
            one for one in verbs if decided(caller, f"user:{person.id}", one, f"article:{row.id}")}


def test_roles_and_tokens_are_searched_for_too(as_role, given):
    admin, user = as_role("admin"), as_role("user")
    token = given.service_token(user.user, scopes=["write:articles"])
    asked = {"action": {"name": "create"}, "resource": {"type": "article", "id": ""}}
    assert ("role", "user") in searched(admin, "subject", subject={"type": "role"}, **asked)
    assert ("service", token.id) in searched(admin, "subject", size=1, subject={"type": "service"}, **asked)
    assert searched(admin, "subject", subject={"type": "car"}, **asked) == []


def test_a_page_belongs_to_its_question(as_role):
    admin = as_role("admin")
    body = {"subject": {"type": "user"}, "action": {"name": "create"}, "resource": {"type": "article", "id": "new"},
            "page": {"limit": 1}}
    token = admin.post("/access/v1/search/subject", json=body).get_json()["page"]["next_token"]
    other = {**body, "action": {"name": "view"}, "page": {"limit": 1, "token": token}}
    for wrong in (other, {**body, "page": {"token": "x"}}, {**body, "page": {"limit": 0}}):
        assert admin.post("/access/v1/search/subject", json=wrong).status_code == 400


def test_a_service_token_with_read_policy_may_ask_and_another_may_not(app, as_role, given):
    admin = as_role("admin")
    for scopes, status in ((["read:policy", "read:users"], 200), (["read:users"], 403)):
        id, kept, text = service_token()
        given.service_token(admin.user, id=id, token_hash=kept, scopes=scopes)
        answer = app.test_client().post(EVALUATION, json=question("user:guest", "view", "article"),
                                        headers={"Authorization": f"Bearer {text}", "X-Request-ID": "my-own.id_1"})
        assert (answer.status_code, answer.headers["X-Request-ID"]) == (status, "my-own.id_1")


def test_the_configuration_names_the_endpoints_where_the_public_url_is_known(app, instance_folder, database_url):
    assert app.test_client().get("/.well-known/authzen-configuration").status_code == 404
    public = make_app(instance_folder, database_url, public_url="https://api.example.org/")
    told = public.test_client().get("/.well-known/authzen-configuration")
    close(public)
    assert told.content_type == "application/json"
    assert told.get_json()["policy_decision_point"] == "https://api.example.org"
    assert told.get_json()["search_subject_endpoint"] == "https://api.example.org/access/v1/search/subject"
