"""One-time links over the API: who may create one, and every way in which one must not work."""

from __future__ import annotations

import json
import logging
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from gatepost.http.request.identity import hashed
from gatepost.http.security import passwords
from gatepost.testing import Caller
from models.base import Owned, Record, Table, later
from models.tables.audit import Audit
from models.tables.idempotency import IdempotencyKey
from models.tables.password_link import PasswordLink
from models.tables.restored import end_after_move, end_what_was_under_way, new_epoch
from models.tables.session import Session
from models.tables.user import User
from tests.apps import NO_ROW, PASSWORD, close, make_app

NEW = "nine slow ferries at dawn"
USE = "/api/password-links"


def path(user):
    return f"/api/users/{user.id}/password-link"


@pytest.fixture
def admin(as_role):
    return as_role("admin")


@pytest.fixture
def guest(as_role):
    return as_role("guest")


def create(admin, user, **more):
    answer = admin.post(path(user), **more)
    assert answer.status_code == 201, answer.text
    return answer.json["token"]


def use(guest, token, password=NEW, **more):
    return guest.post(USE, {"token": token, "new_password": password}, **more)


def may_log_in(guest, user, password=NEW):
    return guest.post("/api/login", {"email": user.email, "password": password}).status_code == 200


def is_refused(guest, token):
    answer = use(guest, token)
    assert (answer.status_code, answer.json["code"]) == (404, "not_found"), answer.text
    return answer.json["detail"]


@pytest.mark.both_databases
def test_a_link_sets_the_password_once_and_ends_all_sessions(admin, guest, given, as_user):
    user = given.user(password=PASSWORD)
    caller = as_user(user)
    answer = admin.post(path(user))
    assert answer.status_code == 201
    assert answer.headers["Cache-Control"] == "no-store"
    token = answer.json["token"]
    assert answer.json["link"] == f"/console/password/{token}", "without public_url the path alone"
    assert len(token) == 43, "256 bits"
    assert may_log_in(guest, user, PASSWORD), "the current password stays valid until the use"
    assert use(guest, token).status_code == 204
    assert caller.get("/api/profile").status_code == 401
    assert not may_log_in(guest, user, PASSWORD)
    assert may_log_in(guest, user)
    is_refused(guest, token)


def test_the_token_is_stored_as_a_hash_and_audited_without_it(app, admin, guest, given):
    user = given.user()
    token = create(admin, user)
    use(guest, token)
    app.extensions["gatepost"].audit_writer.flush(early=True)
    with given.database.connected():
        events = list(Audit.select().where(Audit.resource_id == user.id))
        assert [(one.action, one.principal) for one in events if "password_link" in one.action] == [
            ("create_password_link", f"user:{admin.id}"),
            ("use_password_link", f"user:{user.id}")]
        stored = json.dumps([str(vars(one)) for one in Audit.select()])
    assert token not in stored
    assert hashed(token) not in stored


def test_the_hash_alone_is_stored(admin, given):
    user = given.user()
    token = create(admin, user)
    with given.database.connected():
        link = PasswordLink.select().where(PasswordLink.owner_id == user.id).get()
    assert link.token_hash == hashed(token)
    assert token not in str(link.__data__)


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE"])
def test_no_other_method_uses_a_link(method, admin, guest, given):
    user = given.user()
    token = create(admin, user)
    answer = guest.call(method, USE, {"token": token, "new_password": NEW})
    assert answer.status_code == 405
    assert use(guest, token).status_code == 204


@pytest.mark.both_databases
def test_of_parallel_uses_one_succeeds(app, admin, guest, given):
    user, count = given.user(), 8
    token, start = create(admin, user), Barrier(count)

    def send(number):
        start.wait()
        client = app.test_client()
        return client.post(USE, json={"token": token, "new_password": f"{NEW} {number}"}).status_code

    with ThreadPoolExecutor(count) as threads:
        found = list(threads.map(send, range(count)))
    # Hashing has few places; a request that finds none is refused with 429 and may be repeated.
    assert found.count(204) == 1, found
    assert set(found) <= {204, 404, 429}, found
    assert may_log_in(guest, user, f"{NEW} {found.index(204)}")


@pytest.mark.both_databases
def test_a_new_link_replaces_the_former_one(admin, guest, given):
    user = given.user()
    former, token = create(admin, user), create(admin, user)
    is_refused(guest, former)
    assert use(guest, token).status_code == 204


@pytest.mark.both_databases
def test_parallel_creations_leave_one_valid_link(app, admin, guest, given):
    user = given.user()
    with ThreadPoolExecutor(4) as threads:
        answers = list(threads.map(lambda _: app.test_client().post(path(user), headers=admin.headers), range(4)))
    made = [answer.json["token"] for answer in answers if answer.status_code == 201]
    assert made, [answer.text for answer in answers]
    assert [use(guest, token).status_code for token in made].count(204) == 1


def by_password(admin, user, as_user):
    answer = as_user(user).post("/api/profile/password", {"current_password": PASSWORD, "new_password": NEW})
    assert answer.status_code == 204


def by_own_email(admin, user, as_user):
    assert as_user(user).patch("/api/profile", {"email": f"x{user.email}"}).status_code == 200


def by_email(admin, user, as_user):
    assert admin.patch(f"/api/users/{user.id}", {"email": f"y{user.email}"}).status_code == 200
    assert admin.patch(f"/api/users/{user.id}", {"email": user.email}).status_code == 200


def by_role(admin, user, as_user):
    assert admin.patch(f"/api/users/{user.id}", {"role": "editor"}).status_code == 200
    assert admin.patch(f"/api/users/{user.id}", {"role": "user"}).status_code == 200


def by_disabling(admin, user, as_user):
    assert admin.post(f"/api/users/{user.id}/disable").status_code == 200


def by_disabling_for_a_while(admin, user, as_user):
    by_disabling(admin, user, as_user)
    assert admin.post(f"/api/users/{user.id}/enable").status_code == 200


def by_deletion(admin, user, as_user):
    assert admin.delete(f"/api/users/{user.id}").status_code == 204


CHANGES = [by_password, by_own_email, by_email, by_role, by_disabling, by_disabling_for_a_while, by_deletion]


@pytest.mark.both_databases
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_a_link_is_void_as_soon_as_the_account_changes(change, admin, guest, given, as_user):
    user = given.user(password=PASSWORD)
    token = create(admin, user)
    change(admin, user, as_user)
    is_refused(guest, token)


def test_every_invalid_link_gets_the_same_answer(admin, guest, given):
    user = given.user()
    used, replaced, expired = create(admin, given.user()), create(admin, user), create(admin, given.user())
    create(admin, user)
    use(guest, used)
    given.database.transact(lambda: PasswordLink.update({PasswordLink.expires_at: later(-1)}).where(
        PasswordLink.token_hash == hashed(expired)).execute())
    unknown = "A" * 43
    invalid = (used, replaced, expired, unknown, "x", "\u00e9", "*" * 200)
    assert len({is_refused(guest, token) for token in invalid}) == 1


def test_a_guess_hashes_no_password(guest, monkeypatch):
    monkeypatch.setattr(passwords, "hash_password", lambda text: pytest.fail("a password was hashed"))
    is_refused(guest, "A" * 43)


def test_a_weak_password_is_refused_and_the_link_stays_valid(admin, guest, given):
    user = given.user(name="Ada Lovelace")
    token = create(admin, user)
    for weak in ("short", "password123", "adalovelace", "", "x" * 1025):
        answer = use(guest, token, weak)
        assert (answer.status_code, answer.json["errors"][0]["pointer"]) == (400, "/new_password")
    assert use(guest, token).status_code == 204


@pytest.mark.parametrize("body", [{}, {"token": 1, "new_password": NEW}, {"token": "x"}, [], "x",
                                  {"token": "x", "new_password": NEW, "user_id": NO_ROW}, {"token": None}])
def test_other_bodies_are_refused(body, guest):
    assert guest.post(USE, body).status_code == 400


def test_an_oversized_body_is_refused(guest):
    assert use(guest, "x" * 40_000).status_code == 413


def test_limits_hold_before_a_password_is_hashed(instance_folder, database_url, monkeypatch):
    app = make_app(instance_folder, database_url, rate_limits="on", login_attempts=3)
    try:
        monkeypatch.setattr(passwords, "hash_password", lambda text: pytest.fail("a password was hashed"))
        client = app.test_client()
        found = [client.post(USE, json={"token": "A" * 43, "new_password": NEW}).status_code for _ in range(5)]
    finally:
        close(app)
    assert found == [404, 404, 404, 429, 429]


def test_the_link_names_public_url_and_never_the_host(instance_folder, database_url, given, as_role):
    admin, user = as_role("admin"), given.user()
    spoofed = {"Host": "evil.example", "X-Forwarded-Host": "evil.example"}
    assert admin.call("POST", path(user), headers=spoofed).json["link"].startswith("/console/password/")
    for settings in ({"public_url": "https://api.example.org/base/"}, {"trusted_proxies": 1}):
        app = make_app(instance_folder, database_url, **settings)
        try:
            answer = app.test_client().post(path(user), headers={**admin.headers, **spoofed})
        finally:
            close(app)
        expected = "https://api.example.org/base" if "public_url" in settings else ""
        assert answer.json["link"] == f"{expected}/console/password/{answer.json['token']}"


def test_without_the_console_the_answer_has_the_token_alone(instance_folder, database_url, given, as_role):
    app = make_app(instance_folder, database_url, console="off")
    try:
        answer = app.test_client().post(path(given.user()), headers=as_role("admin").headers).json
        assert answer["link"] is None
        assert app.test_client().post(USE, json={"token": answer["token"], "new_password": NEW}).status_code == 204
    finally:
        close(app)


@pytest.mark.parametrize(("role", "status"), [("guest", 401), ("user", 403), ("support", 403), ("manager", 403),
                                              ("developer", 403), ("owner", 201), ("admin", 201)])
def test_the_permission_is_the_owners(role, status, as_role, given):
    assert as_role(role).post(path(given.user())).status_code == status


@pytest.mark.parametrize("role", ["admin", "developer"])
def test_a_role_that_outranks_the_caller_gets_no_link(role, as_role, given):
    user = given.user(role)
    answer = as_role("owner").post(path(user))
    assert answer.status_code == 403
    assert role in answer.json["detail"]
    assert as_role("admin").post(path(user)).status_code == 201


def test_a_user_of_another_tenant_does_not_exist(admin, given, elsewhere, as_role):
    assert admin.post(path(elsewhere.user())).status_code == 404
    assert as_role("admin", tenant="other").post(path(given.user())).status_code == 404
    assert admin.post(f"/api/users/{NO_ROW}/password-link").status_code == 404


def test_a_link_of_another_tenant_works_for_its_own_user_alone(guest, given, elsewhere, as_role):
    theirs, ours = elsewhere.user(), given.user()
    token = create(as_role("admin", tenant="other"), theirs)
    assert use(guest, token).status_code == 204
    assert may_log_in(guest, theirs)
    assert not may_log_in(guest, ours)


def test_a_service_token_creates_no_link(admin, given):
    made = admin.post("/api/tokens", {"name": "All of it", "scopes": ["manage:users"]})
    assert made.status_code == 201, made.text
    answer = admin.call("POST", path(given.user()), headers={"Authorization": f"Bearer {made.json['token']}"})
    assert (answer.status_code, answer.json["code"]) == (403, "forbidden")


def test_a_narrow_scope_creates_no_link(as_user, given):
    assert as_user("admin", scope="write:users").post(path(given.user())).status_code == 403


def test_nobody_creates_a_link_for_themselves(admin):
    answer = admin.post(path(admin))
    assert answer.status_code == 403, "a stolen session would not need the current password"


def test_a_disabled_user_gets_no_link(admin, given):
    answer = admin.post(path(given.user(active=False)))
    assert (answer.status_code, answer.json["code"]) == (409, "conflict")


def test_no_idempotency_key_keeps_the_token(admin, given):
    user = given.user()
    answer = admin.post(path(user), headers={"Idempotency-Key": "one"})
    assert (answer.status_code, answer.json["code"]) == (400, "idempotency_unsupported")
    with given.database.connected():
        assert not PasswordLink.select().where(PasswordLink.owner_id == user.id).exists()
        assert not IdempotencyKey.select().where(IdempotencyKey.key == "one").exists()


def test_a_link_is_no_credential(admin, guest, given):
    token = create(admin, given.user())
    for header in (f"Bearer {token}", f"Basic {token}"):
        assert guest.call("GET", "/api/profile", headers={"Authorization": header}).status_code == 401


def test_the_user_of_a_link_is_not_the_callers_choice(admin, guest, given, as_user):
    user, other = given.user(), as_user(given.user(password=PASSWORD))
    token = create(admin, user)
    assert use(other, token).status_code == 204, "the link names the user, and not its caller"
    assert may_log_in(guest, user)
    assert may_log_in(guest, other.user, PASSWORD)
    assert other.get("/api/profile").status_code == 200


def test_a_use_starts_no_session(admin, guest, given):
    user = given.user()
    answer = use(guest, create(admin, user))
    assert "Set-Cookie" not in answer.headers
    with given.database.connected():
        assert not Session.select().where(Session.owner_id == user.id).exists()


@pytest.mark.parametrize("damage", [str.lower, lambda token: token + "/", lambda token: f" {token}",
                                    lambda token: token[:-1], lambda token: f"{token}\0", str.swapcase])
def test_a_damaged_token_is_not_valid(damage, admin, guest, given):
    token = create(admin, given.user())
    assert use(guest, damage(token)).status_code in (400, 404)
    assert use(guest, token).status_code == 204


@pytest.mark.both_databases
@pytest.mark.parametrize("end", [end_after_move, lambda: end_what_was_under_way(
    new_epoch(), keep_tokens=True, resume_jobs=True)], ids=["move", "restore"])
def test_a_restore_brings_no_link_back(end, instance_folder, database_url, admin, given):
    create(admin, given.user())
    with pytest.raises(ZeroDivisionError):  # undoes it, for the other tests
        given.database.transact(lambda: (end(), none_left(), 1 / 0))


def none_left():
    assert not PasswordLink.select().exists()


def test_expired_links_are_deleted(admin, given):
    user = given.user()
    create(admin, user)
    given.database.transact(lambda: PasswordLink.purge(later(86_400 + 60), 1000))
    with given.database.connected():
        assert not PasswordLink.select().where(PasswordLink.owner_id == user.id).exists()


def test_the_lifetime_is_a_setting(instance_folder, database_url, given, as_role):
    app = make_app(instance_folder, database_url, password_link_hours=2)
    try:
        answer = app.test_client().post(path(given.user()), headers=as_role("admin").headers).json
    finally:
        close(app)
    assert later(7190) < answer["expires_at"] < later(7210)


def test_the_log_does_not_show_a_token(instance_folder, database_url, given, as_role, caplog):
    app = make_app(instance_folder, database_url, log_requests="on")
    client, token = app.test_client(), create(as_role("admin"), given.user())
    shapes = [f"/console/password/{token}", f"/console/password/{token}/", f"/console//password/{token}",
              f"/Console/Password/{token}", f"/console/password%2F{token}", f"/base/console/password/{token}",
              f"/console/password/{token}?x=1"]
    try:
        with caplog.at_level(logging.DEBUG):
            answers = [client.get(shape) for shape in shapes]
            answers.append(client.post(shapes[0], data={}, headers={"Sec-Fetch-Site": "same-origin"}))
            answers.append(client.post(USE, json={"token": token, "new_password": "weak"}))
    finally:
        close(app)
    assert caplog.messages.count("GET /console/password/<token>") == len(shapes)
    assert token not in caplog.text
    assert not any(token in str(vars(one)) for one in caplog.records)
    assert not any(token in answer.text for answer in answers)


def every_table(kind=Table):
    for model in kind.__subclasses__():
        yield from every_table(model)
        if "tests." not in model.__module__ and model._meta.table_name and model not in (Record, Owned):
            yield model


@pytest.mark.both_databases
def test_no_table_and_no_number_has_a_token(instance_folder, database_url, given, as_role):
    app = make_app(instance_folder, database_url, metrics_token="for-a-metrics-client")
    client, user = app.test_client(), given.user()
    token, page = create(as_role("admin"), user), {"new_password": NEW, "repeated": "another one altogether"}
    try:
        client.get(f"/console/password/{token}")
        client.post(f"/console/password/{token}", data=page, headers={"Sec-Fetch-Site": "cross-site"})
        client.post(f"/console/password/{token}", data=page)
        client.post(f"/console/password/{token}", data={**page, "repeated": NEW}, headers={"Idempotency-Key": "k"})
        client.post(f"/console/password/{token}", data={**page, "repeated": NEW})
        client.post(f"/console/password/{token}", data={**page, "repeated": NEW})
        use(Caller(client), token)
        client.get(f"/console/password/{token}/")
        numbers = client.get("/metrics", headers={"Authorization": "Bearer for-a-metrics-client"}).text
        app.extensions["gatepost"].audit_writer.flush(early=True)
    finally:
        close(app)
    assert "/console/password/<token>" in numbers
    assert token not in numbers
    with given.database.connected():
        names = set(given.database.get_tables())
        models = [model for model in every_table() if model._meta.table_name in names]
        assert len(models) > 20
        assert [model.__name__ for model in models for row in model.select().tuples() if token in str(row)] == []


# Users without a password

@pytest.mark.both_databases
def test_a_user_without_a_password_is_invited_by_a_link(admin, guest, given):
    made = admin.post("/api/users", {"name": "Invited", "email": "invited@example.org"})
    assert made.status_code == 201, made.text
    user = given.found(User, made.json["id"])
    assert user.password_hash == passwords.UNUSABLE
    for guess in ("!", "", passwords.UNUSABLE * 8, NEW):
        assert not may_log_in(guest, user, guess)
    assert use(guest, create(admin, user)).status_code == 204
    assert may_log_in(guest, user)


def test_a_password_that_is_sent_counts(admin, guest):
    body = {"name": "With", "email": "with@example.org", "password": PASSWORD}
    assert admin.post("/api/users", body).status_code == 201
    assert guest.post("/api/login", {"email": body["email"], "password": PASSWORD}).status_code == 200
    for wrong in (None, "", "short", 1):
        assert admin.post("/api/users", {**body, "email": "w2@example.org", "password": wrong}).status_code == 400


def test_a_replaced_account_keeps_its_password(admin, guest, given):
    user = given.user(password=PASSWORD)
    assert admin.put(f"/api/users/{user.id}", {"name": "N", "email": user.email}).status_code == 200
    assert may_log_in(guest, user, PASSWORD)


@pytest.mark.parametrize("lines", ["name,email\nCsv,{}\n", "name,email,password\nCsv,{},\n"])
def test_users_are_imported_without_passwords(lines, admin, given, guest):
    email = f"csv{len(lines)}@example.org"
    answer = admin.call("POST", "/api/users/import", data=lines.format(email), headers={"Content-Type": "text/csv"})
    assert (answer.status_code, answer.json["imported"]) == (200, 1), answer.text
    with given.database.connected():
        user = User.by_email(email)
    assert user.password_hash == passwords.UNUSABLE
    assert use(guest, create(admin, user)).status_code == 204


def test_registration_still_needs_a_password(guest):
    assert guest.post("/api/register", {"name": "N", "email": "n@example.org"}).status_code == 400
