"""Users whose role is not valid for users: a role that the policy lost, or `guest`.

They have no permissions, only administrators may change them, and the service reports them.
"""

from __future__ import annotations

import json
from contextlib import contextmanager

import pytest

from models.tables.session import Session
from models.tables.user import User
from policies.loading.lost import LostRoles
from policies.usage.holdings import Holdings
from tests.apps import PASSWORD, close, make_app
from tests.running import wait_until
from tests.samples import sampled_rows

LOST = "auditor"  # a role that no line of the shipped roles.csv declares


@pytest.fixture(params=(LOST, "guest"))
def role(request):
    """A role that is not valid for users, but that a stored user has."""
    return request.param


def gone(role):
    """Returns the message that refuses a user with such a role."""
    return f"The policy has no role {role} for users. Ask an administrator for another one."


@contextmanager
def also(app, folder, **lines):
    """Runs the service with additional lines in these files."""
    watcher = app.extensions["gatepost"].policy
    files = {folder / "policies" / f"{name}.csv": more for name, more in lines.items()}
    kept = {file: file.read_text() for file in files}
    try:
        for file, more in files.items():
            file.write_text(kept[file].replace("\n# end", f"\n{more}\n# end"))
        assert watcher.reload().error is None
        yield
    finally:
        for file, text in kept.items():
            file.write_text(text)
        watcher.reload()


def sessions_of(given, user):
    with given.database.connected():
        return Session.select().where(Session.owner_id == user.id).count()


@pytest.mark.parametrize(("method", "path"), sampled_rows([
    ("GET", "/api/articles"), ("GET", "/api/articles/{published}"), ("GET", "/api/articles/{own}"),
    ("PATCH", "/api/articles/{own}"), ("POST", "/api/articles/{own}/publish"), ("GET", "/api/profile"),
    ("POST", "/api/logout"), ("GET", "/api/articles/export"), ("GET", "/api/sessions"), ("GET", "/api/tokens"),
    ("GET", "/api/categories"), ("GET", "/api/health"), ("DELETE", "/api/articles/{shared}/shares?grantee=me"),
], 3))
def test_they_may_not_even_do_what_guests_may_nor_what_lines_give_them_by_name(
    method, path, role, app, given, as_user, instance_folder
):
    caller = as_user(role)
    own, key = given.article("draft", owner_id=caller.id), f"user:{caller.id}"
    shared = given.article("draft")
    given.share("article", shared, key, "manage")
    lines = f"p, {key}, article.*, always, allow\np, {key}, health.view, always, allow\ng, {key}, editor"
    with also(app, instance_folder, articles=lines):
        names = {"published": given.article().id, "own": own.id, "shared": shared.id}
        body = [{"title": "New"}] if method == "PATCH" else []
        answer = caller.call(method, path.format(**names), *body)
    assert (answer.status_code, answer.json["code"], answer.json["detail"]) == (403, "forbidden", gone(role))


def test_every_question_about_them_says_so_too(role, app, given, as_role, as_user, instance_folder):
    user, owner, article = given.user(role), as_role("owner"), given.article()
    key = f"user:{user.id}"
    given.share("article", article, key, "manage")
    lines = f"p, {key}, article.*, always, allow\ng, {key}, editor"
    with also(app, instance_folder, articles=lines):
        for verb, id in (("view", article.id), ("update", article.id), ("create", None)):
            on = "" if id is None else f"&id={id}"
            asked = {"subject": {"type": "user", "id": user.id}, "action": {"name": verb},
                     "resource": {"type": "article", "id": id or ""}}
            found = owner.get(f"/api/admin/policy/explain?as={user.id}&permission=article.{verb}{on}").json
            assert (found["verdict"], found["policy_verdict"], found["status"]) == ("refused", "refused", 403)
            assert user.id not in owner.get(f"/api/admin/policy/who?permission=article.{verb}{on}&limit=100").text
            assert owner.post("/access/v1/evaluation", asked).json == {"decision": False}
            if id is not None:
                found = owner.post("/access/v1/search/subject", {**asked, "subject": {"type": "user"}})
                assert found.status_code == 200 and user.id not in found.text
        [held, *_] = Holdings(app.extensions["gatepost"].policy.current).of(key, role)
        assert held.how[0] == "stored, but the policy has no such role for users: the user may do nothing"
        column = owner.get(f"/api/admin/policy/matrix?person={user.id}&resource=article").json["person"]
        assert column["cells"] == {}


def test_a_service_token_of_theirs_may_do_nothing_either(role, as_role, as_user, given):
    caller = as_user("user")
    made = caller.post("/api/tokens", {"name": "A program", "scopes": ["read:articles"]}).json
    headers = {"Authorization": f"Bearer {made['token']}"}
    assert as_role("guest").get("/api/articles", headers=headers).status_code == 200
    change_role(given, caller.id, role)
    assert as_role("guest").get("/api/articles", headers=headers).status_code == 403


def change_role(given, id, role):
    def work():
        row = User.by_id(id)
        row.role = role
        row.save()

    given.database.transact(work)


def test_their_login_is_refused_after_the_right_password_only_and_opens_no_session(role, client, given):
    user = given.user(role, password=PASSWORD)

    def log_in(email, password):
        return client.post("/api/login", json={"email": email, "password": password})

    right, wrong, nobody = log_in(user.email, PASSWORD), log_in(user.email, "x"), log_in("nobody@example.org", "x")
    assert (right.status_code, right.json["code"], right.json["detail"]) == (403, "forbidden", gone(role))
    assert sessions_of(given, user) == 0
    assert [answer.status_code for answer in (wrong, nobody)] == [401, 401]
    assert wrong.json["detail"] == nobody.json["detail"], "strangers are told nothing"


def test_their_session_is_not_renewed_until_an_administrator_gives_them_a_role_again(role, client, as_role, given):
    user = given.user("support", password=PASSWORD)
    login = client.post("/api/login", json={"email": user.email, "password": PASSWORD}).json
    change_role(given, user.id, role)

    def renew(token):
        return client.post("/api/token/refresh", json={"refresh_token": token})

    refused = renew(login["refresh_token"])
    assert (refused.status_code, refused.json["detail"]) == (403, gone(role))
    made_up = login["refresh_token"][:-8] + login["refresh_token"][-8:].swapcase()
    assert renew(made_up).status_code == 401, "a token that was made up is told nothing"
    assert as_role("admin").patch(f"/api/users/{user.id}", {"role": "support"}).status_code == 200
    renewed = renew(login["refresh_token"])
    assert renewed.status_code == 200
    assert client.get("/api/profile", headers={"Authorization": f"Bearer {renewed.json['access_token']}"}).json[
        "role"] == "support"


@pytest.mark.parametrize(("who", "status", "actions"), [
    ("admin", 200, ["update", "delete", "share", "disable"]), ("owner", 403, ["share"]),
])
def test_only_administrators_decide_about_them(who, status, actions, role, as_role, given):
    user, caller = given.user(role), as_role(who)
    path = f"/api/users/{user.id}"
    assert caller.get(f"{path}?fields=allowed_actions").json["allowed_actions"] == actions
    assert caller.patch(path, {"name": "Renamed"}).status_code == status
    assert caller.delete(f"/api/sessions/{given.session(user).id}").status_code == (204 if status == 200 else 403)
    assert caller.post(f"{path}/disable").status_code == status
    assert caller.patch(path, {"role": "user"}).status_code == status
    assert caller.delete(f"/api/users/{given.user(role).id}").status_code == (204 if status == 200 else 403)


def test_such_a_role_is_not_given_but_sent_back_as_it_was_read_it_stays(role, as_role, given):
    admin, user, other = as_role("admin"), given.user(role), given.user()
    known = "Must be one of: user, support, editor, moderator, manager, developer, owner, admin."
    new = {"name": "New", "email": f"new.{role}@example.org", "password": PASSWORD, "role": role}
    for refused in (admin.patch(f"/api/users/{other.id}", {"role": role}), admin.post("/api/users", new)):
        assert refused.status_code == 400
        assert [(fault["pointer"], fault["detail"]) for fault in refused.json["errors"]] == [("/role", known)]
    whole = {"name": "Same", "email": user.email, "role": role}
    assert admin.put(f"/api/users/{user.id}", whole).json["role"] == role
    assert admin.put(f"/api/users/{other.id}", {**whole, "email": other.email}).status_code == 400
    lines = "\n".join(json.dumps(line) for line in (
        {"id": user.id, "name": "Imported", "role": role}, new))
    report = admin.client.post("/api/users/import?on_error=skip", data=lines, headers={
        **admin.headers, "Content-Type": "application/x-ndjson"}).json
    assert given.found(User, user.id).name == "Imported"
    assert [one["pointer"] for one in report["errors"]] == ["/role"], report


def test_health_tells_readers_how_many_they_are_and_nobody_else(as_role, given, elsewhere):
    before = as_role("admin").get("/api/health").json["users_without_role"]
    given.user("guest")
    elsewhere.user("ghost")
    assert as_role("admin").get("/api/health").json["users_without_role"] == before + 2
    assert "users_without_role" not in as_role("guest").get("/api/health").json
    assert "users_without_role" not in as_role("user").get("/api/health").json


@pytest.mark.both_databases
def test_the_roles_that_users_have_are_those_that_are_stored_in_any_tenant(given, elsewhere):
    given.user("first")
    elsewhere.user("zeroth", active=False)
    with given.database.connected():
        stored = {user.role for user in User.select(User.role).distinct()}
        assert {"first", "zeroth"} <= User.held_roles(given.database) == stored


def test_the_log_warns_once_of_a_policy_without_roles_that_users_have(app, given, caplog):
    for role in (LOST, "guest"):
        given.user(role)
    services = app.extensions["gatepost"]
    watcher = LostRoles(services.policy, lambda: User.held_roles(services.database))
    with given.database.connected():
        watcher.tell()
        watcher.tell()
    told = [record.getMessage() for record in caplog.records if "has no such roles for users" in record.getMessage()]
    assert len(told) == 1
    assert services.policy.current.version in told[0]
    assert LOST in told[0] and "guest" in told[0]


def test_a_server_that_starts_warns_of_lost_roles_in_its_log(given, instance_folder, database_url, caplog):
    given.user(LOST)
    served = make_app(instance_folder, database_url)
    try:
        served.test_client().get("/api/health")
        wait_until(lambda: any("has no such roles for users" in record.getMessage() for record in caplog.records))
        assert not [record for record in caplog.records if record.name == "gatepost.background"]
    finally:
        close(served)


DECLARED = "g, auditor, guest"


@pytest.mark.parametrize(("links", "admin", "owner"), [
    (DECLARED, 200, 403), (f"{DECLARED}\ng, admin, auditor", 200, 403), (f"{DECLARED}\ng, owner, auditor", 200, 200),
], ids=["no role inherits it", "administrators inherit it", "owners inherit it"])
def test_a_declared_role_is_given_by_those_who_inherit_it_and_by_administrators(
    links, admin, owner, app, given, as_role, as_user, instance_folder
):
    user = given.user(LOST)
    auditor = as_user(user)
    with also(app, instance_folder, roles=links, orders="p, auditor, order.view, always, allow"):
        assert auditor.get("/api/orders").status_code == 200
        assert auditor.get("/api/profile").status_code == 403, "an auditor inherits from guest alone"
        for who, status in (("admin", admin), ("owner", owner)):
            assert as_role(who).patch(f"/api/users/{given.user().id}", {"role": LOST}).status_code == status
            assert as_role(who).patch(f"/api/users/{user.id}", {"name": "Renamed"}).status_code == status
    assert auditor.get("/api/orders").status_code == 403, "the role is lost again"


def test_a_lent_role_gives_no_rank(app, given, as_user, instance_folder):
    caller, user = as_user("manager"), given.user("editor")
    lines = f"g, user:{caller.id}, owner"
    assert caller.patch(f"/api/users/{user.id}", {"name": "Renamed"}).status_code == 403
    with also(app, instance_folder, users=lines):
        assert caller.patch(f"/api/users/{given.user('manager').id}", {"name": "Renamed"}).status_code == 200
        refused = caller.patch(f"/api/users/{user.id}", {"name": "Renamed"})
        assert refused.json["detail"] == "A manager cannot decide about a user with the role editor."
        asked = (f"/api/admin/policy/explain?permission=user.update&as={caller.id}&id={user.id}")
        [rank] = [one for one in as_user("admin").get(asked).json["rules"] if one["name"] == "rank"]
        assert (rank["holds"], rank["text"]) == (
            False, "the user's role is editor, none of the caller's roles: manager, user")
