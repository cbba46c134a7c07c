"""A second factor over the API: it is set up, used at a login, changed, removed; and all ways that must not work."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event

import pytest
from argon2 import PasswordHasher

from blueprints.accounts.second_factor import endpoints, factors, totp
from blueprints.sessions import login
from gatepost.http.request.identity import hashed
from gatepost.http.security import passwords
from gatepost.testing import log_in
from models.base import Record, Rows, later
from models.tables.audit import Audit
from models.tables.login_challenge import TRIES, LoginChallenge
from models.tables.restored import end_what_was_under_way, new_epoch
from models.tables.second_factor import SecondFactor
from models.tables.session import Session
from models.tables.user import User
from tests.accounts.phones import OWN, VERIFY, Phone, challenged, code_sent, enrol, password_sent
from tests.apps import NO_ROW, PASSWORD, Caller, close, make_app

NEW = "nine slow ferries at dawn"


def database(app):
    return app.extensions["gatepost"].database


def row_of(app, user):
    with database(app).connected():
        return SecondFactor.of(user)


def change(app, model: type[Record], user, **values):
    with database(app).connected():
        assert model.update(**values).where(model.owner_id == user.id).execute()


def refusal(answer):
    return answer.status_code, answer.json["code"], [fault.get("pointer") for fault in answer.json.get("errors", [])]


WRONG_CODE = (401, "invalid_credentials", ["/code"])
OVER = (401, "invalid_credentials", [])
REFUSED_CHANGE = (403, "forbidden", ["/code"])


@pytest.mark.both_databases
def test_from_the_secret_to_a_login_with_a_code(app, given, as_user, guest, clock):
    user = given.user(password=PASSWORD)
    caller = as_user(user)
    assert caller.get(OWN).json == {"active": False, "confirmed_at": None, "recovery_codes": 0}
    begun = caller.post(OWN, {})
    assert begun.status_code == 201 and begun.headers["Cache-Control"] == "no-store"
    assert len(begun.json["secret"]) == 32, "160 bits"
    assert begun.json["uri"].startswith("otpauth://totp/Gatepost:") and begun.json["secret"] in begun.json["uri"]
    assert begun.json["qr_code"].startswith("<svg") and "<script" not in begun.json["qr_code"]
    assert password_sent(guest, user).status_code == 200, "it counts once it is confirmed"
    phone = Phone(begun.json["secret"], clock)
    confirmed = caller.post(f"{OWN}/confirm", {"code": phone.code()})
    assert confirmed.status_code == 200 and confirmed.headers["Cache-Control"] == "no-store"
    codes = confirmed.json["recovery_codes"]
    assert len(set(codes)) == 10 and all(re.fullmatch("([a-z2-7]{6}-){3}[a-z2-7]{6}", code) for code in codes)
    state = caller.get(OWN).json
    assert (state["active"], state["recovery_codes"]) == (True, 10)
    first = password_sent(guest, user)
    assert refusal(first)[:2] == (401, "login_incomplete") and first.headers["Cache-Control"] == "no-store"
    assert "access_token" not in first.text and "Set-Cookie" not in first.headers
    meta = first.json["errors"][0]["meta"]
    assert meta["expires_in"] == 300
    done = code_sent(guest, meta["challenge"], phone.new_code())
    assert done.status_code == 200, done.text
    with database(app).connected():
        [session] = Session.select().where(Session.owner_id == user.id, Session.login.is_null(False))
    assert session.login == {"mfa": True}
    assert Caller(app.test_client(), user, done.json["access_token"]).get("/api/profile").json["id"] == user.id


def test_an_account_without_a_second_factor_logs_in_as_before(given, guest):
    assert password_sent(guest, given.user(password=PASSWORD)).status_code == 200


def test_the_login_is_told_like_any_login_before_the_password_is_right(given, guest, enrolled):
    user, _ = enrolled()
    wrong, unknown = password_sent(guest, user, "not this one at all"), guest.post(
        "/api/login", {"email": "nobody@example.org", "password": "not this one at all"})
    assert refusal(wrong) == refusal(unknown) == (401, "invalid_credentials", [])
    assert wrong.json["detail"] == unknown.json["detail"]


@pytest.mark.both_databases
def test_each_code_of_the_app_counts_once(guest, enrolled):
    user, phone = enrolled()
    assert refusal(code_sent(guest, challenged(guest, user), phone.code())) == WRONG_CODE, "it confirmed the factor"
    code = phone.new_code()
    assert code_sent(guest, challenged(guest, user), code).status_code == 200
    assert refusal(code_sent(guest, challenged(guest, user), code)) == WRONG_CODE
    assert code_sent(guest, challenged(guest, user), phone.new_code()).status_code == 200


@pytest.mark.both_databases
@pytest.mark.parametrize("same_challenge", [True, False])
def test_of_parallel_logins_with_one_code_one_succeeds(app, guest, enrolled, same_challenge):
    user, phone = enrolled()
    code, together = phone.new_code(), Barrier(4)
    challenges = [challenged(guest, user)] * 4 if same_challenge else [challenged(guest, user) for _ in range(4)]

    def send(challenge: str) -> int:
        together.wait()
        return app.test_client().post(VERIFY, json={"challenge": challenge, "code": code}).status_code

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(send, challenges)) == [200, 401, 401, 401]


@pytest.mark.both_databases
def test_of_parallel_logins_with_one_recovery_code_one_succeeds(app, guest, enrolled):
    user, phone = enrolled()
    together, challenges = Barrier(3), [challenged(guest, user) for _ in range(3)]

    def send(challenge: str) -> int:
        together.wait()
        body = {"challenge": challenge, "code": phone.recovery_codes[0]}
        return app.test_client().post(VERIFY, json=body).status_code

    with ThreadPoolExecutor(3) as pool:
        assert sorted(pool.map(send, challenges)) == [200, 401, 401]
    assert len(row_of(app, user).recovery_codes) == 9


@pytest.mark.parametrize(("fast", "status"), [(-60, 401), (-30, 200), (0, 200), (30, 200), (60, 401)])
def test_clocks_may_differ_by_one_step(guest, enrolled, clock, fast, status):
    user, phone = enrolled()
    clock.forward(300)
    phone.fast = fast
    assert code_sent(guest, challenged(guest, user), phone.code()).status_code == status


def test_an_earlier_code_is_refused_after_a_later_one(guest, enrolled, clock):
    user, phone = enrolled()
    clock.forward(300)
    earlier = phone.code()
    phone.fast = 30
    assert code_sent(guest, challenged(guest, user), phone.code()).status_code == 200
    assert refusal(code_sent(guest, challenged(guest, user), earlier)) == WRONG_CODE


@pytest.mark.parametrize("written", ["{0} {1}", " {0}{1}\t", "{0}-{1}"])
def test_a_code_may_be_typed_as_the_app_shows_it(guest, enrolled, written):
    user, phone = enrolled()
    code = phone.new_code()
    assert code_sent(guest, challenged(guest, user), written.format(code[:3], code[3:])).status_code == 200


@pytest.mark.parametrize("code", ["", " ", "-", "12345", "1234567", "１２３４５６", "０", "12345\u0000", "a" * 24,
                                  "é" * 24, "null", "0x1234", "1e5", "-12345", "\ud83d\ude00" * 6])
def test_any_other_text_is_a_wrong_code(guest, enrolled, code):
    user, _ = enrolled()
    assert code_sent(guest, challenged(guest, user), code).status_code in (400, 401)


@pytest.mark.parametrize("body", [
    {}, {"challenge": "x"}, {"code": "123456"}, {"challenge": None, "code": "123456"}, {"challenge": 5, "code": "1"},
    {"challenge": "x", "code": 123456}, {"challenge": "x", "code": ["1"]}, {"challenge": "x" * 201, "code": "1"},
    {"challenge": "x", "code": "1" * 65}, {"challenge": "x", "code": "1", "email": "a@example.org"}, [], "x", 5])
def test_a_malformed_body_is_a_400(guest, body):
    assert guest.post(VERIFY, body).status_code == 400


def test_a_recovery_code_is_valid_for_one_login(app, guest, enrolled):
    user, phone = enrolled()
    first, second = phone.recovery_codes[:2]
    assert code_sent(guest, challenged(guest, user), first).status_code == 200
    assert refusal(code_sent(guest, challenged(guest, user), first)) == WRONG_CODE
    assert code_sent(guest, challenged(guest, user), second.replace("-", "").upper()).status_code == 200
    assert len(row_of(app, user).recovery_codes) == 8


def test_neither_a_secret_nor_a_code_is_stored_or_audited(app, guest, enrolled):
    user, phone = enrolled()
    code_sent(guest, challenged(guest, user), "123456")
    code_sent(guest, challenged(guest, user), phone.recovery_codes[0])
    app.extensions["gatepost"].audit_writer.flush()
    with database(app).connected():
        rows = [*SecondFactor.select().where(SecondFactor.owner_id == user.id).dicts(),
                *LoginChallenge.select().where(LoginChallenge.owner_id == user.id).dicts(),
                *Audit.select().where((Audit.principal == f"user:{user.id}") | (Audit.resource_id == user.id)).dicts()]
    stored = json.dumps(rows, default=str)
    assert phone.secret not in stored and "123456" not in stored
    for code in phone.recovery_codes:
        assert code not in stored and code.replace("-", "") not in stored
    actions = {(row["resource"], row["action"], row["result"], row["reason"]) for row in rows if "action" in row}
    assert {each[:3] for each in actions} >= {("profile", "set_up_second_factor", "allowed"),
                                              ("profile", "add_second_factor", "allowed"),
                                              ("session", "create", "failed"), ("session", "create", "allowed")}
    assert ("session", "create", "failed", "wrong_code") in actions
    assert next(each[3] for each in actions if each[:3] == ("session", "create", "allowed")).endswith(
        "with a recovery code")


@pytest.mark.both_databases
def test_a_challenge_takes_five_codes(guest, enrolled):
    user, phone = enrolled()
    challenge = challenged(guest, user)
    for _ in range(TRIES):
        assert refusal(code_sent(guest, challenge, "000000")) == WRONG_CODE
    assert refusal(code_sent(guest, challenge, phone.new_code())) == OVER
    assert code_sent(guest, challenged(guest, user), phone.code()).status_code == 200


def test_parallel_tries_of_a_challenge_are_all_counted(app, guest, enrolled):
    user, _ = enrolled()
    challenge, together = challenged(guest, user), Barrier(8)

    def send(number: int) -> str:
        together.wait()
        body = {"challenge": challenge, "code": f"00000{number}"}
        return "/code" if app.test_client().post(VERIFY, json=body).json.get("errors") else "over"

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(send, range(8))) == ["/code"] * TRIES + ["over"] * 3


def test_a_challenge_is_for_one_login(guest, enrolled):
    user, phone = enrolled()
    challenge = challenged(guest, user)
    assert code_sent(guest, challenge, phone.new_code()).status_code == 200
    assert refusal(code_sent(guest, challenge, phone.new_code())) == OVER


def test_a_challenge_lasts_five_minutes(app, guest, enrolled):
    user, phone = enrolled()
    challenge = challenged(guest, user)
    with database(app).connected():
        row = LoginChallenge.get(LoginChallenge.token_hash == hashed(challenge))
    assert later(295) < row.expires_at < later(301)
    change(app, LoginChallenge, user, expires_at=later(-1))
    assert refusal(code_sent(guest, challenge, phone.new_code())) == OVER


@pytest.mark.parametrize("challenge", ["", "x", "a" * 43, NO_ROW, "'; --", "\u0000", "é"])
def test_an_unknown_challenge_is_one_refusal(guest, challenge):
    answer = code_sent(guest, challenge, "123456")
    assert refusal(answer) == OVER if challenge and "\u0000" not in challenge else answer.status_code in (400, 401)


def test_a_challenge_is_for_its_user_alone(guest, enrolled):
    (ann, _), (_, phone_of_bob) = enrolled(), enrolled()
    assert refusal(code_sent(guest, challenged(guest, ann), phone_of_bob.new_code())) == WRONG_CODE
    assert refusal(code_sent(guest, challenged(guest, ann), phone_of_bob.recovery_codes[0])) == WRONG_CODE


@pytest.mark.both_databases
@pytest.mark.parametrize("what", ["password", "link", "disabled", "role", "removed"])
def test_a_change_of_the_account_ends_a_login_under_way(app, guest, as_role, as_user, enrolled, what):
    user, phone = enrolled()
    admin, challenge = as_role("admin"), challenged(guest, user)
    if what == "password":
        body = {"current_password": PASSWORD, "new_password": NEW}
        assert as_user(user).post("/api/profile/password", body).status_code == 204
    elif what == "link":
        token = admin.post(f"/api/users/{user.id}/password-link").json["token"]
        assert guest.post("/api/password-links", {"token": token, "new_password": NEW}).status_code == 204
        assert row_of(app, user) is not None, "a link does not remove the second factor"
        assert challenged(guest, user, NEW)
    elif what == "disabled":
        assert admin.post(f"/api/users/{user.id}/disable").status_code == 200
    elif what == "role":
        assert admin.patch(f"/api/users/{user.id}", {"role": "editor"}).status_code == 200
    else:
        assert admin.post(f"/api/users/{user.id}/remove-second-factor").status_code == 204
    assert refusal(code_sent(guest, challenge, phone.new_code())) == OVER


def test_wrong_codes_count_like_wrong_passwords(instance_folder, database_url, given, as_user, clock):
    user = given.user(password=PASSWORD)
    phone = enrol(as_user(user), clock)
    app = make_app(instance_folder, database_url, rate_limits="on", login_attempts=3)
    try:
        client, answers = app.test_client(), []
        first = client.post("/api/login", json={"email": user.email, "password": PASSWORD})
        challenge = first.json["errors"][0]["meta"]["challenge"]
        for code in ("000000", "000001", "000002", phone.new_code()):
            answers.append(client.post(VERIFY, json={"challenge": challenge, "code": code}))
        assert [answer.status_code for answer in answers] == [401, 401, 401, 429]
        assert answers[-1].json["code"] == "rate_limited"
        assert client.post("/api/login", json={"email": user.email, "password": PASSWORD}).status_code == 429
    finally:
        close(app)


def test_wrong_first_codes_count_like_wrong_passwords(instance_folder, database_url, given, as_user, clock):
    user = given.user(password=PASSWORD)
    app = make_app(instance_folder, database_url, rate_limits="on", login_attempts=3)
    try:
        caller = log_in(app, user)
        phone = Phone(caller.post(OWN, {}).json["secret"], clock)
        statuses = [caller.post(f"{OWN}/confirm", {"code": code}).status_code
                    for code in ("000000", "000001", "000002", phone.code())]
        assert statuses == [400, 400, 400, 429]
        assert caller.get(OWN).json["active"] is False
    finally:
        close(app)


@pytest.mark.both_databases
def test_an_outdated_hash_is_renewed_while_the_login_waits_for_its_code(app, given, guest, enrolled):
    user, phone = enrolled()
    weak = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash(PASSWORD)
    given.database.transact(lambda: User.give_password([user.id], weak))
    challenge = challenged(guest, user)
    assert not passwords.outdated(given.found(User, user.id).password_hash)
    assert code_sent(guest, challenge, phone.new_code()).status_code == 200
    assert code_sent(guest, challenged(guest, user), phone.new_code()).status_code == 200, "it is the same password"


@pytest.mark.both_databases
def test_after_a_hundred_wrong_codes_only_a_recovery_code_counts(app, guest, enrolled):
    user, phone = enrolled()
    change(app, SecondFactor, user, failures=factors.MOST_FAILURES - 1)
    assert refusal(code_sent(guest, challenged(guest, user), "000000")) == WRONG_CODE
    locked = code_sent(guest, challenged(guest, user), phone.new_code())
    assert (locked.status_code, locked.json["code"]) == (409, "conflict")
    assert code_sent(guest, challenged(guest, user), phone.recovery_codes[0]).status_code == 200
    assert code_sent(guest, challenged(guest, user), phone.new_code()).status_code == 200


def test_a_right_code_resets_the_count(app, guest, enrolled):
    user, phone = enrolled()
    code_sent(guest, challenged(guest, user), "000000")
    assert row_of(app, user).failures == 1
    code_sent(guest, challenged(guest, user), phone.new_code())
    assert row_of(app, user).failures == 0


def test_the_refresh_token_may_come_as_a_cookie(app, guest, enrolled):
    user, phone = enrolled()
    done = code_sent(guest, challenged(guest, user), phone.new_code(), cookie=True)
    assert done.status_code == 200 and "refresh_token" not in done.json
    assert "gatepost_refresh=" in done.headers["Set-Cookie"] and "HttpOnly" in done.headers["Set-Cookie"]
    foreign = guest.post(VERIFY, {"challenge": challenged(guest, user), "code": phone.new_code(), "cookie": True},
                         headers={"Sec-Fetch-Site": "cross-site"})
    assert foreign.status_code == 403


def test_setting_it_up_needs_the_password_or_a_fresh_login(app, given, as_user, clock):
    user = given.user(password=PASSWORD)
    caller = as_user(user)
    with database(app).connected():
        Session.update(created_at=later(-601)).where(Session.owner_id == user.id).execute()
    assert refusal(caller.post(OWN, {})) == (403, "forbidden", ["/current_password"])
    assert refusal(caller.post(OWN, {"current_password": "not this one at all"})) == (
        403, "forbidden", ["/current_password"])
    assert caller.post(OWN, {"current_password": PASSWORD}).status_code == 201


@pytest.mark.both_databases
def test_a_login_under_way_does_not_escape_a_new_second_factor(app, given, as_user, guest, clock, monkeypatch):
    user = given.user(password=PASSWORD)
    caller, services, phones = as_user(user), app.extensions["gatepost"], []

    def later_step(call: object, user: User) -> None:
        if not phones:
            phones.append(enrol(caller, clock))

    monkeypatch.setattr(services, "next_steps", (*services.next_steps, later_step))
    assert refusal(password_sent(guest, user)) == OVER
    assert caller.get("/api/profile").status_code == 200, "the only session"
    assert given.database.transact(lambda: Session.select().where(
        Session.owner_id == user.id, Session.revoked_at.is_null()).count()) == 1
    assert code_sent(guest, challenged(guest, user), phones[0].new_code()).status_code == 200


@pytest.mark.both_databases
@pytest.mark.parametrize("change", ["password", "factor"])
def test_no_login_escapes_a_change_that_ends_the_sessions(change, app, given, as_user, clock, monkeypatch):
    """The login reads its user while the transaction of the change is about to end the other sessions."""
    user = given.user(password=PASSWORD)
    caller, paused, done = as_user(user), Event(), Event()
    module = login if change == "password" else endpoints
    revoke = module.revoke

    def slow(*arguments: object) -> int:
        number = revoke(*arguments)
        paused.set()
        done.wait(1)
        return number

    if change == "factor":
        phone = Phone(caller.post(OWN, {}).json["secret"], clock)
    with ThreadPoolExecutor(2) as pool:
        monkeypatch.setattr(module, "revoke", slow)
        if change == "password":
            changing = pool.submit(caller.post, "/api/profile/password",
                                   {"current_password": PASSWORD, "new_password": NEW})
        else:
            changing = pool.submit(caller.post, f"{OWN}/confirm", {"code": phone.code()})
        assert paused.wait(60)
        with app.test_client() as client:
            answer = client.post("/api/login", json={"email": user.email, "password": PASSWORD})
        done.set()
        assert changing.result().status_code in (200, 204)
    assert answer.status_code == 401, answer.text
    assert caller.get("/api/profile").status_code == 200


def test_a_new_secret_replaces_one_that_was_not_confirmed(given, as_user, clock):
    caller = as_user(given.user(password=PASSWORD))
    first, second = (Phone(caller.post(OWN, {}).json["secret"], clock) for _ in range(2))
    assert refusal(caller.post(f"{OWN}/confirm", {"code": first.code()})) == (400, "invalid_field", ["/code"])
    assert caller.post(f"{OWN}/confirm", {"code": second.code()}).status_code == 200


def test_it_is_confirmed_within_ten_minutes_and_once(app, given, as_user, clock):
    user = given.user(password=PASSWORD)
    caller = as_user(user)
    assert caller.post(f"{OWN}/confirm", {"code": "123456"}).status_code == 409, "nothing was begun"
    phone = Phone(caller.post(OWN, {}).json["secret"], clock)
    change(app, SecondFactor, user, created_at=later(-601))
    assert caller.post(f"{OWN}/confirm", {"code": phone.code()}).status_code == 409
    phone = enrol(caller, clock)
    assert caller.post(f"{OWN}/confirm", {"code": phone.new_code()}).status_code == 409
    assert caller.post(OWN, {}).status_code == 409, "it must be removed first"


@pytest.mark.both_databases
def test_adding_and_removing_it_ends_other_sessions(given, as_user, clock):
    user = given.user(password=PASSWORD)
    caller, other = as_user(user), as_user(user)
    phone = enrol(caller, clock)
    assert other.get("/api/profile").status_code == 401 and caller.get("/api/profile").status_code == 200
    other = as_user(user)
    assert caller.post(f"{OWN}/remove", {"code": phone.new_code()}).status_code == 204
    assert other.get("/api/profile").status_code == 401 and caller.get("/api/profile").status_code == 200
    assert caller.get(OWN).json["active"] is False


@pytest.mark.parametrize("path", ["remove", "recovery-codes"])
def test_a_change_needs_a_code_and_the_password(app, as_user, enrolled, path):
    user, phone = enrolled()
    caller = as_user(user)
    assert caller.post(f"{OWN}/{path}", {}).status_code == 400
    assert refusal(caller.post(f"{OWN}/{path}", {"code": "000000"})) == REFUSED_CHANGE
    assert refusal(caller.post(f"{OWN}/{path}", {"code": phone.code()})) == REFUSED_CHANGE, "it was used"
    with database(app).connected():
        Session.update(created_at=later(-601)).where(Session.owner_id == user.id).execute()
    code = phone.new_code()
    assert refusal(caller.post(f"{OWN}/{path}", {"code": code})) == (403, "forbidden", ["/current_password"])
    assert caller.post(f"{OWN}/{path}", {"code": code, "current_password": PASSWORD}).status_code in (200, 204)
    assert row_of(app, user) is None or row_of(app, user).failures == 0


@pytest.mark.parametrize("path", ["remove", "recovery-codes"])
def test_without_a_second_factor_there_is_nothing_to_change(given, as_user, path):
    caller = as_user(given.user(password=PASSWORD))
    assert caller.post(f"{OWN}/{path}", {"code": "123456"}).status_code == 409


def test_new_recovery_codes_replace_the_earlier_ones(guest, as_user, enrolled):
    user, phone = enrolled()
    answer = as_user(user).post(f"{OWN}/recovery-codes", {"code": phone.recovery_codes[0]})
    assert answer.status_code == 200 and answer.headers["Cache-Control"] == "no-store"
    assert refusal(code_sent(guest, challenged(guest, user), phone.recovery_codes[1])) == WRONG_CODE
    assert code_sent(guest, challenged(guest, user), answer.json["recovery_codes"][1]).status_code == 200


def test_it_can_be_set_up_again_after_its_removal(guest, as_user, enrolled, clock):
    user, phone = enrolled()
    caller = as_user(user)
    assert caller.post(f"{OWN}/remove", {"code": phone.recovery_codes[0]}).status_code == 204
    assert password_sent(guest, user).status_code == 200
    clock.forward()
    again = enrol(caller, clock)
    assert refusal(code_sent(guest, challenged(guest, user), phone.new_code())) == WRONG_CODE
    assert code_sent(guest, challenged(guest, user), again.new_code()).status_code == 200


def test_a_service_token_changes_nothing(app, given, as_user, clock):
    user = given.user("owner", password=PASSWORD)
    token = as_user(user).post("/api/tokens", {"name": "robot", "scopes": ["manage:users"]}).json["token"]
    robot = Caller(app.test_client(), user, token)
    for path in (OWN, f"{OWN}/confirm", f"{OWN}/remove", f"{OWN}/recovery-codes"):
        assert robot.post(path, {"code": "123456"} if path != OWN else {}).status_code == 403, path
    other = given.user(password=PASSWORD)
    enrol(as_user(other), clock)
    refused = robot.post(f"/api/users/{other.id}/remove-second-factor")
    assert refused.status_code == 403 and "service token" in refused.json["detail"]


@pytest.mark.both_databases
def test_an_administrator_removes_it_and_the_sessions_end(app, guest, as_role, as_user, enrolled):
    user, _ = enrolled()
    caller, admin = as_user(user), as_role("admin")
    path = f"/api/users/{user.id}/remove-second-factor"
    assert admin.post(path).status_code == 204
    assert caller.get("/api/profile").status_code == 401 and row_of(app, user) is None
    assert password_sent(guest, user).status_code == 200
    assert (answer := admin.post(path)).status_code == 409 and "no second factor" in answer.json["detail"]


@pytest.mark.parametrize(("role", "status"), [("guest", 401), ("user", 403), ("support", 403), ("manager", 403),
                                              ("owner", 204), ("admin", 204)])
def test_who_may_remove_that_of_a_user(as_role, enrolled, role, status):
    user, _ = enrolled()
    assert as_role(role).post(f"/api/users/{user.id}/remove-second-factor").status_code == status


def test_neither_of_a_higher_role_nor_one_s_own(app, as_role, as_user, enrolled):
    admin, _ = enrolled("admin")
    path = f"/api/users/{admin.id}/remove-second-factor"
    assert as_role("owner").post(path).status_code == 403
    own = as_user(admin).post(path)
    assert own.status_code == 403 and "one of its codes" in own.json["detail"]
    assert row_of(app, admin) is not None


@pytest.mark.both_databases
def test_users_of_other_tenants_are_not_found(app, elsewhere, as_user, as_role, clock):
    user = elsewhere.user(password=PASSWORD)
    enrol(as_user(user), clock)
    assert as_role("admin").post(f"/api/users/{user.id}/remove-second-factor").status_code == 404
    assert as_role("admin").post(f"/api/users/{NO_ROW}/remove-second-factor").status_code == 404
    with database(app).connected():
        assert Rows(SecondFactor, user.tenant_id).find_by(owner_id=user.id) is not None
        assert User.by_id(user.id).tenant_id == user.tenant_id


def test_users_of_other_tenants_log_in_with_theirs(guest, elsewhere, as_user, clock):
    user = elsewhere.user(password=PASSWORD)
    phone = enrol(as_user(user), clock)
    assert code_sent(guest, challenged(guest, user), phone.new_code()).status_code == 200


def test_without_the_library_recovery_codes_still_count(guest, as_user, given, enrolled, monkeypatch):
    user, phone = enrolled()
    other = as_user(given.user(password=PASSWORD))
    monkeypatch.setitem(__import__("sys").modules, "pyotp", None)
    assert not totp.is_installed()
    refused = code_sent(guest, challenged(guest, user), "123456")
    assert refused.status_code == 409 and "extra `accounts`" in refused.json["detail"]
    assert other.post(OWN, {}).status_code == 409
    assert code_sent(guest, challenged(guest, user), phone.recovery_codes[0]).status_code == 200


# The last one, because the sessions of all tests end.
def test_a_restore_ends_logins_under_way(app, guest, enrolled):
    user, phone = enrolled()
    challenge = challenged(guest, user)
    database(app).transact(lambda: end_what_was_under_way(new_epoch(), keep_tokens=True, resume_jobs=True))
    assert refusal(code_sent(guest, challenge, phone.new_code())) == OVER
