"""Verified addresses: proved by a mailed link alone, and void with the address."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from blueprints.mail import verifications
from blueprints.privacy.exporting import lines
from gatepost.collections import erasing
from gatepost.http.request.identity import hashed
from gatepost.http.security import passwords
from gatepost.testing import log_in
from gatepost.testing.serving import run_jobs
from models.base import Rows, later
from models.tables.audit import Audit
from models.tables.email_verification import EmailVerification
from models.tables.job import Job
from models.tables.restored import end_after_move, end_what_was_under_way, new_epoch
from models.tables.user import User
from tests.apps import PASSWORD
from tests.mail.conftest import URL, serving
from tests.mail.test_resets import NEW, ask, jobs
from tests.mail.test_resets import token as password_token
from tests.mail.test_resets import use as choose_password

ASK, USE = "/api/profile/verify-email", "/api/email-verifications"
EARLIER = "2026-01-01T00:00:00.000000Z"


@pytest.fixture
def client(mailing):
    return mailing.test_client()


@pytest.fixture
def user(given):
    return given.user(password=PASSWORD)


@pytest.fixture(autouse=True)
def no_jobs(given):
    given.database.transact(lambda: Job.delete().execute())


def token(text):
    [secret] = re.findall(rf"^{URL}/console/verify-email/([\w-]{{43}})$", text, re.MULTILINE)
    return secret


def links(office):
    return [token(text) for text in office.texts() if "/verify-email/" in text]


def asked(mailing, office, user):
    """Returns the token that a user gets who asks for it."""
    answer = log_in(mailing, user).post(ASK)
    assert (answer.status_code, answer.json) == (202, {"hours": 24}), answer.text
    run_jobs(mailing)
    return links(office)[-1]


def use(client, secret, password=PASSWORD, **more):
    return client.post(USE, json={"token": secret, "password": password, **more}).status_code


def at(given, user):
    return given.found(User, user.id).email_verified_at


def verify(given, user):
    given.database.transact(lambda: User.update(email_verified_at=EARLIER).where(User.id == user.id).execute())


@pytest.mark.both_databases
def test_a_user_verifies_the_address_once(mailing, client, office, given, user):
    assert log_in(mailing, user).get("/api/profile").json["email_verified_at"] is None
    secret = asked(mailing, office, user)
    [message] = office.messages
    assert (message["To"], message["Subject"]) == (user.email, "Verify your e-mail address for api.example.org")
    assert "valid once, and for 24 hours." in office.texts()[0]
    answer = client.post(USE, json={"token": secret, "password": PASSWORD})
    assert (answer.status_code, answer.data, answer.headers.getlist("Set-Cookie")) == (204, b"", [])
    assert at(given, user) is not None
    assert log_in(mailing, user).get("/api/profile").json["email_verified_at"] == at(given, user)
    assert use(client, secret) == 404
    answer = log_in(mailing, user).post(ASK)
    assert (answer.status_code, answer.json["code"]) == (409, "conflict")


@pytest.mark.both_databases
def test_who_opens_an_account_or_changes_the_address_gets_a_link(mailing, client, office, given, as_role):
    body = {"name": "Noor", "email": "noor.new@example.org", "password": PASSWORD}
    answer = client.post("/api/register", json=body)
    assert answer.status_code == 201, answer.text
    run_jobs(mailing)
    assert [message["To"] for message in office.messages] == [body["email"]]
    user = given.found(User, answer.json["id"])
    assert use(client, links(office)[0]) == 204
    assert at(given, user) is not None
    assert log_in(mailing, user).patch("/api/profile", {"email": "noor.second@example.org"}).status_code == 200
    assert at(given, user) is None
    run_jobs(mailing)
    assert use(client, links(office)[1]) == 204
    admin = log_in(mailing, given.user("admin"))
    assert admin.patch(f"/api/users/{user.id}", {"email": "noor.third@example.org"}).status_code == 200
    assert at(given, user) is None
    run_jobs(mailing)
    assert use(client, links(office)[2]) == 204
    assert at(given, user) is not None


@pytest.mark.both_databases
@pytest.mark.parametrize("way", ["profile", "update", "replace", "import"])
def test_another_address_is_not_verified(way, app, given, user, as_user, as_role):
    verify(given, user)
    admin, other = as_role("admin"), f"{way}.else@example.org"
    body = {"name": user.name, "email": other}
    if way == "profile":
        answer = as_user(user).patch("/api/profile", body)
    elif way == "update":
        answer = admin.patch(f"/api/users/{user.id}", {"email": other})
    elif way == "replace":
        answer = admin.call("PUT", f"/api/users/{user.id}", {**body, "role": "user"})
    else:
        answer = admin.call("POST", "/api/users/import", data=json.dumps({"id": user.id, **body}),
                            content_type="application/x-ndjson")
    assert answer.status_code in (200, 201), answer.text
    assert (given.found(User, user.id).email, at(given, user)) == (other, None)


@pytest.mark.parametrize("change", [{"name": "Other"}, {"email": "same"}])
def test_another_name_or_spelling_leaves_the_address_verified(change, given, user, as_user):
    verify(given, user)
    change = {"email": user.email.upper()} if "email" in change else change
    assert as_user(user).patch("/api/profile", change).status_code == 200
    assert at(given, user) == EARLIER


@pytest.mark.parametrize("body", [{"email_verified_at": EARLIER}, {"email_verified_at": None}, {"verified": True}])
def test_no_client_sets_it(body, app, given, user, as_user, as_role):
    admin, whole = as_role("admin"), {"name": "New", "email": "mass@example.org", "role": "user"}
    answers = [as_user(user).patch("/api/profile", body), admin.patch(f"/api/users/{user.id}", body),
               admin.post("/api/users", {**whole, **body}),
               admin.call("PUT", f"/api/users/{user.id}", {**whole, **body}),
               app.test_client().post("/api/register", json={"name": "New", "email": "mass@example.org",
                                                             "password": PASSWORD, **body}),
               admin.call("POST", "/api/users/import", data=json.dumps({**whole, **body}),
                          content_type="application/x-ndjson")]
    statuses = [answer.status_code for answer in answers]
    for answer in answers:
        assert answer.status_code == 400 or answer.json.get("email_verified_at") is None, statuses
    assert at(given, user) is None
    with given.database.connected():
        assert not User.select().where(User.email_verified_at.is_null(False), User.email == "mass@example.org").exists()


def test_who_may_not_see_the_address_does_not_see_it(given, user, as_user, as_role):
    verify(given, user)
    path = f"/api/users/{user.id}"
    assert as_role("admin").get(path).json["email_verified_at"] == EARLIER
    stranger = as_user("user")
    assert "email_verified_at" not in stranger.get(path).json
    seen = stranger.get("/api/users?email_verified_at__isnull=false")
    assert seen.status_code in (400, 403) or seen.json["items"] == [], "a filter does not reveal it"
    listed = as_role("admin").get(f"/api/users?email_verified_at__isnull=false&email={user.email}").json["items"]
    assert [one["id"] for one in listed] == [user.id]


@pytest.mark.both_databases
@pytest.mark.parametrize("method", ["get", "head", "options"])
def test_a_scanner_that_follows_the_link_changes_nothing(method, mailing, client, office, given, user):
    secret = asked(mailing, office, user)
    before = dict(given.found(User, user.id).__data__)
    for path in (f"/console/verify-email/{secret}", USE, f"/console/verify-email/{secret}?x=y"):
        answer = getattr(client, method)(path)
        assert answer.headers.getlist("Set-Cookie") == []
    assert dict(given.found(User, user.id).__data__) == before
    assert use(client, secret) == 204


@pytest.mark.both_databases
def test_a_link_dies_with_the_address_and_not_with_the_name(mailing, client, office, given, user):
    first, caller, former = asked(mailing, office, user), log_in(mailing, user), user.email
    assert caller.patch("/api/profile", {"name": "Other"}).status_code == 200
    assert caller.patch("/api/profile", {"email": "moved@example.org"}).status_code == 200
    assert use(client, first) == 404
    run_jobs(mailing)
    assert caller.patch("/api/profile", {"email": former}).status_code == 200
    run_jobs(mailing)
    assert [use(client, secret) for secret in (first, links(office)[1])] == [404, 404], "nor when it is back"
    assert at(given, user) is None
    assert use(client, links(office)[2]) == 204
    assert at(given, user) is not None


def test_a_link_outlives_another_name(mailing, client, office, given, user):
    secret = asked(mailing, office, user)
    assert log_in(mailing, user).patch("/api/profile", {"name": "Other"}).status_code == 200
    assert use(client, secret) == 204


@pytest.mark.parametrize("why", ["unknown", "used", "replaced", "expired", "disabled", "erased", "damaged", "password"])
def test_a_link_that_is_not_valid_tells_nothing(why, mailing, client, office, given, user):
    secret = asked(mailing, office, user)
    if why == "used":
        assert use(client, secret) == 204
    elif why == "replaced":
        asked(mailing, office, user)
    elif why == "expired":
        given.database.transact(lambda: EmailVerification.update(expires_at=later(-1)).where(
            EmailVerification.token_hash == hashed(secret)).execute())
    elif why in ("disabled", "erased"):
        change = {"active": False} if why == "disabled" else {"erased_at": EARLIER}
        given.database.transact(lambda: User.update(**change).where(User.id == user.id).execute())
    elif why == "password":
        ask(client, user.email)
        run_jobs(mailing)
        secret = password_token(office.texts()[-1])
    else:
        secret = secret[::-1] if why == "damaged" else "x" * 43
    before = at(given, user)
    answer = client.post(USE, json={"token": secret, "password": PASSWORD})
    assert (answer.status_code, answer.json["detail"]) == (
        404, "This link is not valid. It was used, replaced, or has expired. Ask for a new one.")
    assert client.get(f"/console/verify-email/{secret}").status_code == 404
    assert at(given, user) == before


def test_a_verification_is_no_password_link_and_no_credential(mailing, client, office, given, user):
    secret = asked(mailing, office, user)
    assert choose_password(client, secret) == 404
    assert client.get("/api/profile", headers={"Authorization": f"Bearer {secret}"}).status_code == 401
    assert use(client, secret) == 204


@pytest.mark.parametrize("body", [{}, {"token": None}, {"token": 1}, {"token": "x" * 201}, {"token": ["x"]}, [], "x",
                                  {"token": "x", "email": "a@b.example"}, {"token": "\0"}, {"token": "\ud800"},
                                  {"token": "x", "password": 1}, {"token": "x", "password": "x" * 1025},
                                  {"token": "x", "password": "\0"}])
def test_other_bodies_are_refused(body, client):
    assert client.post(USE, json=body).status_code in (400, 404)


@pytest.mark.both_databases
def test_of_parallel_uses_one_succeeds(mailing, office, given, user):
    secret, count = asked(mailing, office, user), 6
    start = Barrier(count)

    def send(_):
        start.wait()
        return use(mailing.test_client(), secret)

    with ThreadPoolExecutor(count) as threads:
        found = sorted(threads.map(send, range(count)))
    assert found == [204, *[404] * (count - 1)]


@pytest.mark.both_databases
def test_the_link_names_the_user_and_not_its_caller(mailing, office, given, elsewhere, user):
    stranger, foreigner = given.user(), elsewhere.user(password=PASSWORD)
    for other, place in ((user, given), (foreigner, elsewhere)):
        secret = asked(mailing, office, other)
        assert log_in(mailing, stranger).post(USE, {"token": secret}).status_code == 403
        assert place.found(User, other.id).email_verified_at is None
        answer = log_in(mailing, stranger).post(USE, {"token": secret, "password": PASSWORD})
        assert answer.status_code == 204
        assert place.found(User, other.id).email_verified_at is not None
        assert at(given, stranger) is None


@pytest.mark.both_databases
def test_a_reader_who_does_not_know_the_password_verifies_nothing(mailing, client, office, given):
    """A stranger opens an account with the address of another person, who follows the link in the message."""
    body = {"name": "Noor", "email": "victim@example.org", "password": PASSWORD}
    user = given.found(User, client.post("/api/register", json=body).json["id"])
    run_jobs(mailing)
    [secret] = links(office)
    for password in (None, "", "a guess of the reader"):
        answer = client.post(USE, json={"token": secret, "password": password})
        assert (answer.status_code, answer.json["code"], answer.json["errors"][0]["pointer"]) == (
            403, "forbidden", "/password")
    assert client.post(USE, json={"token": secret}).status_code == 403
    assert at(given, user) is None
    assert use(client, secret) == 204, "the link is still valid for who knows it"


@pytest.mark.both_databases
def test_a_session_of_the_account_needs_no_password(mailing, office, given, user):
    secret = asked(mailing, office, user)
    program = {"name": "robot", "scopes": ["write:profile"], "current_password": PASSWORD}
    token = log_in(mailing, user).post("/api/tokens", program).json["token"]
    headers = {"Authorization": f"Bearer {token}"}
    answer = mailing.test_client().post(USE, json={"token": secret}, headers=headers)
    assert answer.status_code == 403, "a program is not the user"
    assert at(given, user) is None
    assert log_in(mailing, user).post(USE, {"token": secret}).status_code == 204
    assert at(given, user) is not None


def test_wrong_passwords_are_counted_with_those_of_logins(instance_folder, database_url, office, given, user):
    with serving(instance_folder, database_url, office, rate_limits="on", login_attempts=3) as app:
        client, secret = app.test_client(), asked(app, office, user)
        statuses = [use(client, secret, "wrong") for _ in range(5)]
        assert statuses[0] == 403
        assert statuses[-1] == 429
        login = {"email": user.email, "password": "wrong"}
        assert client.post("/api/login", json=login).status_code == 429
    assert at(given, user) is None


@pytest.mark.both_databases
def test_a_wrong_password_is_a_failed_login_in_the_audit_log(mailing, client, office, given, user):
    secret = asked(mailing, office, user)
    assert use(client, secret, "not this one") == 403
    mailing.extensions["gatepost"].audit_writer.flush(early=True)
    with given.database.connected():
        [event] = Audit.select().where(Audit.action == "verify_email", Audit.resource_id == user.id)
    assert (event.result, event.reason) == ("failed", "invalid_credentials")


@pytest.mark.both_databases
def test_a_password_that_changes_during_the_use_no_longer_counts(mailing, client, office, given, user, monkeypatch):
    secret, verify_password = asked(mailing, office, user), passwords.verify

    def changed_meanwhile(password, stored):
        given.database.transact(lambda: User.update(password_hash=passwords.hash_password(NEW)).where(
            User.id == user.id).execute())
        return verify_password(password, stored)

    monkeypatch.setattr(passwords, "verify", changed_meanwhile)
    assert use(client, secret) == 403
    monkeypatch.undo()
    assert at(given, user) is None
    assert use(client, secret, NEW) == 204


@pytest.mark.both_databases
def test_an_account_without_a_password_needs_a_login_or_a_password_link(mailing, client, office, given):
    user = given.user()
    secret = asked(mailing, office, user)
    for password in (None, "", "!", PASSWORD):
        answer = client.post(USE, json={"token": secret, "password": password})
        assert (answer.status_code, "has no password" in answer.text) == (403, True)
    assert at(given, user) is None
    assert log_in(mailing, user).post(USE, {"token": secret}).status_code == 204


def test_a_guest_and_a_narrow_token_ask_for_nothing(mailing, client, given, user):
    assert client.post(ASK).status_code == 401
    assert log_in(mailing, user, scope="read:articles").post(ASK).status_code == 403
    assert jobs(given) == []


@pytest.mark.both_databases
def test_a_mailed_password_link_verifies_the_address(mailing, client, office, given, user):
    ask(client, user.email)
    run_jobs(mailing)
    assert choose_password(client, password_token(office.texts()[0])) == 204
    assert at(given, user) is not None


@pytest.mark.both_databases
def test_a_link_that_was_passed_on_verifies_nothing(mailing, client, given, user):
    admin = log_in(mailing, given.user("admin"))
    secret = admin.post(f"/api/users/{user.id}/password-link").json["token"]
    assert choose_password(client, secret) == 204
    assert at(given, user) is None


@pytest.mark.both_databases
def test_the_reset_of_a_stranger_leaves_the_link_of_an_administrator(mailing, client, office, given, user):
    admin = log_in(mailing, given.user("admin"))
    first = admin.post(f"/api/users/{user.id}/password-link").json["token"]
    ask(client, user.email)
    run_jobs(mailing)
    assert choose_password(client, first) == 204
    assert choose_password(client, password_token(office.texts()[0]), f"{NEW} 2") == 404, "the account changed"


@pytest.mark.both_databases
@pytest.mark.parametrize("change", [{"active": False}, {"erased_at": EARLIER, "active": False}])
def test_a_link_is_void_once_its_maker_is_disabled(change, mailing, client, given, user):
    maker = given.user("admin")
    secret = log_in(mailing, maker).post(f"/api/users/{user.id}/password-link").json["token"]
    given.database.transact(lambda: User.update(**change).where(User.id == maker.id).execute())
    assert choose_password(client, secret) == 404
    given.database.transact(lambda: User.update(active=True, erased_at=None).where(User.id == maker.id).execute())
    assert choose_password(client, secret) == 204


def test_a_verification_leaves_a_password_link_valid(mailing, client, office, given, user):
    admin = log_in(mailing, given.user("admin"))
    first = admin.post(f"/api/users/{user.id}/password-link").json["token"]
    assert use(client, asked(mailing, office, user)) == 204
    assert choose_password(client, first) == 204


def test_a_verification_revives_no_link(mailing, client, office, given, user):
    admin = log_in(mailing, given.user("admin"))
    first = admin.post(f"/api/users/{user.id}/password-link").json["token"]
    assert log_in(mailing, user).patch("/api/profile", {"name": "Other"}).status_code == 200
    assert use(client, asked(mailing, office, user)) == 204
    assert choose_password(client, first) == 404


def test_nobody_sends_many_messages(instance_folder, database_url, office, given, user):
    with serving(instance_folder, database_url, office, rate_limits="on") as app:
        caller = log_in(app, user)
        answers = [caller.post(ASK) for _ in range(verifications.HOURLY + 1)]
        assert [answer.status_code for answer in answers] == [202] * verifications.HOURLY + [429]
        assert answers[-1].headers["Retry-After"] == "3600"
        other = given.user(password=PASSWORD)
        caller = log_in(app, other)
        for number in range(verifications.HOURLY + 2):
            assert caller.patch("/api/profile", {"email": f"victim{number}@example.org"}).status_code == 200
            run_jobs(app)
        assert len([one for one in office.messages if "victim" in one["To"] and "Verify" in one["Subject"]]) == 5
        assert len([one for one in office.messages if "was changed" in one["Subject"]]) == 5


def test_a_stranger_gets_few_notices_and_a_user_all(instance_folder, database_url, office, given, user):
    with serving(instance_folder, database_url, office, rate_limits="on") as app:
        caller = log_in(app, user)

        def notices() -> int:
            office.messages.clear()
            for old, new in [(PASSWORD, NEW), (NEW, PASSWORD)] * 4:
                body = {"current_password": old, "new_password": new}
                assert caller.post("/api/profile/password", body).status_code == 204
                run_jobs(app)
            return len([one for one in office.messages if one["To"] == user.email])

        assert notices() == verifications.HOURLY, "the address may be a stranger's"
        verify(given, user)
        assert notices() == 8
        assert caller.patch("/api/profile", {"email": "else@example.org"}).status_code == 200
        office.messages.clear()
        run_jobs(app)
        assert user.email in [message["To"] for message in office.messages], "the former address was verified"


@pytest.mark.both_databases
def test_the_audit_log_has_it_without_the_token(mailing, client, office, given, user):
    secret = asked(mailing, office, user)
    assert use(client, secret) == 204
    assert use(client, secret) == 404
    mailing.extensions["gatepost"].audit_writer.flush(early=True)
    with given.database.connected():
        events = Audit.select().where(Audit.principal == f"user:{user.id}", Audit.resource == "profile")
        assert [(one.action, one.result) for one in events.order_by(Audit.seq)] == [
            ("request_verification", "allowed"), ("verify_email", "allowed")]
        stored = json.dumps([str(vars(row)) for table in (Audit, Job, EmailVerification) for row in table.select()])
    assert secret not in stored


@pytest.mark.both_databases
def test_the_link_is_in_the_export_and_erased(mailing, office, given, user):
    asked(mailing, office, user)
    collections = mailing.extensions["gatepost"].collections
    exported = [line for line in lines(given.database, user, collections) if line["about"] == "address verifications"]
    assert [line["row"]["email"] for line in exported] == [user.email]
    verify(given, user)
    erasing.begin(given.database, user, None)
    erasing.erase_rows(given.database, user, collections, None)
    assert at(given, user) is None
    with given.database.connected():
        assert not EmailVerification.select().where(EmailVerification.owner_id == user.id).exists()


@pytest.mark.both_databases
@pytest.mark.parametrize("end", [end_after_move, lambda: end_what_was_under_way(
    new_epoch(), keep_tokens=True, resume_jobs=True)], ids=["move", "restore"])
def test_a_restore_brings_no_link_back(end, mailing, office, given, user):
    asked(mailing, office, user)
    with pytest.raises(ZeroDivisionError):  # undoes it, for the other tests
        given.database.transact(lambda: (end(), none_left(), 1 / 0))


def none_left():
    assert not EmailVerification.select().exists()


def test_expired_links_are_deleted(mailing, office, given, user):
    asked(mailing, office, user)
    given.database.transact(lambda: EmailVerification.purge(later(86_400 + 60), 1000))
    with given.database.connected():
        assert not EmailVerification.select().where(EmailVerification.owner_id == user.id).exists()


def test_a_link_that_was_verified_meanwhile_is_not_sent(mailing, office, given, user):
    assert log_in(mailing, user).post(ASK).status_code == 202
    verify(given, user)
    run_jobs(mailing)
    assert office.offered == 0


def test_a_busy_server_is_tried_again_with_a_link_that_works(mailing, client, office, given, user):
    assert log_in(mailing, user).post(ASK).status_code == 202
    office.replies.append(("RCPT", "451 later"))
    mailing.extensions["gatepost"].jobs.run_due()
    given.database.transact(lambda: Job.update(run_at=EARLIER).execute())
    mailing.extensions["gatepost"].jobs.run_due()
    assert [use(client, secret) for secret in links(office)] == [204]


def test_without_mail_nobody_verifies(app, given, user, as_user):
    answer = as_user(user).post(ASK)
    assert (answer.status_code, answer.json["detail"]) == (404, "This service sends no mail.")
    assert as_user(user).patch("/api/profile", {"email": "quiet@example.org"}).status_code == 200
    assert jobs(given) == []
    assert app.test_client().get("/console/verify-email").status_code == 404


@pytest.mark.both_databases
def test_a_user_without_a_password_is_invited(mailing, client, office, given):
    new, old = given.user(), given.user(password=PASSWORD)
    admin = log_in(mailing, given.user("admin"))
    for user in (new, old):
        assert admin.post(f"/api/users/{user.id}/password-link/mail").status_code == 202
        run_jobs(mailing)
    assert [one["Subject"] for one in office.messages] == [
        "Invitation to api.example.org", "Choose a password for api.example.org"]
    assert choose_password(client, password_token(office.texts()[0])) == 204
    found = given.found(User, new.id)
    assert found.email_verified_at is not None
    assert passwords.verify(NEW, found.password_hash)


def test_a_plugin_that_saves_a_row_unverifies_it(given, user):
    verify(given, user)

    def change():
        row = Rows(User, given.tenant_id).find(user.id)
        row.email = "plugin@example.org"
        Rows(User, given.tenant_id).save(row)

    given.database.transact(change)
    assert at(given, user) is None


def test_messages_from_the_address_are_in_the_export_once_it_is_verified(app, given, user, as_user):
    message = given.contact_message(email=user.email)

    def exports():
        return message.id in as_user(user).get("/api/profile/export").text

    assert not exports()
    verify(given, user)
    assert exports()
