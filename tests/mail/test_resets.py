"""Password resets by mail: the same for every address, and links that only their reader can use."""

from __future__ import annotations

import json
import logging
import re

import pytest

from blueprints.mail import endpoints, smtp
from blueprints.mail.endpoints import SPREAD
from gatepost.http.request.identity import hashed
from gatepost.http.security import passwords
from gatepost.testing.serving import run_jobs
from models.records.times import elapsed, now
from models.tables.audit import Audit
from models.tables.job import FAILED, WAITING, Job
from models.tables.password_link import PasswordLink
from models.tables.user import User
from tests.apps import NO_ROW, PASSWORD, Given
from tests.databases import Statements
from tests.mail.conftest import URL, serving

PATH = "/api/password-resets"
NEW = "nine slow ferries at dawn"


@pytest.fixture
def client(mailing):
    return mailing.test_client()


@pytest.fixture(autouse=True)
def no_jobs(given):
    given.database.transact(lambda: Job.delete().execute())


def ask(client, email, **headers):
    answer = client.post(PATH, json={"email": email}, headers=headers)
    assert answer.status_code == 202, answer.text
    return answer


def token(text):
    [secret] = re.findall(rf"^{URL}/console/password/([\w-]{{43}})$", text, re.MULTILINE)
    return secret


def use(client, token, password=NEW):
    return client.post("/api/password-links", json={"token": token, "new_password": password}).status_code


def may_log_in(client, user, password):
    return client.post("/api/login", json={"email": user.email, "password": password}).status_code == 200


def jobs(given):
    with given.database.connected():
        return list(Job.select().order_by(Job.created_at, Job.id))


@pytest.mark.both_databases
def test_a_user_gets_a_link_and_chooses_a_password(mailing, client, office, given):
    user = given.user(password=PASSWORD)
    assert ask(client, user.email.upper()).json == {"hours": 24}
    assert office.messages == [], "a job sends it"
    run_jobs(mailing)
    [message] = office.messages
    assert message["To"] == user.email
    assert message["Subject"] == "Choose a password for api.example.org"
    assert may_log_in(client, user, PASSWORD)
    secret = token(office.texts()[0])
    assert use(client, secret) == 204
    assert may_log_in(client, user, NEW)
    assert not may_log_in(client, user, PASSWORD)
    assert use(client, secret) == 404


def test_the_work_for_an_address_begins_at_a_random_moment(mailing, client, given, monkeypatch):
    """Requests right after a reset are slower while a message is sent, and would tell that there is an account."""
    monkeypatch.setattr(endpoints, "SPREAD", SPREAD)
    user = given.user()
    for address in (user.email, "nobody@example.org"):
        for number in (0, 999):
            monkeypatch.setattr(endpoints.secrets, "randbelow", lambda most, number=number: number % most)
            given.database.transact(lambda: Job.delete().execute())
            sent_at = now()
            ask(client, address)
            [job] = jobs(given)
            if number:
                assert elapsed(sent_at, job.run_at) >= SPREAD * 0.99
            else:
                assert job.run_at <= job.created_at


@pytest.mark.both_databases
def test_known_and_unknown_addresses_differ_in_nothing(mailing, client, given, monkeypatch):
    """The bytes, the statements, and the hash computations; also for a disabled account."""
    user, disabled = given.user(), given.user(active=False)
    monkeypatch.setattr(passwords, "hash_password", lambda *_: pytest.fail("a password was hashed"))
    monkeypatch.setattr(passwords, "verify", lambda *_: pytest.fail("a password was checked"))
    addresses = (user.email, disabled.email, "nobody@example.org", "no address at all")
    database = mailing.extensions["gatepost"].database
    ask(client, "first@example.org")  # prepares statements
    answers, statements = [], []
    executed = Statements()
    for name in ("execute_sql", "query", "recall", "write"):
        run = getattr(type(database), name)
        monkeypatch.setattr(type(database), name, lambda self, sql, *rest, _run=run: (
            executed.note(str(sql)), _run(self, sql, *rest))[1])
    for address in addresses:
        executed.clear()
        answers.append(ask(client, address))
        statements.append(list(executed))
    assert len({answer.data for answer in answers}) == 1
    varying = {"Date", "X-Request-ID", "RateLimit", "traceparent"}
    assert len({json.dumps([(name, value) for name, value in answer.headers if name not in varying])
                for answer in answers}) == 1
    assert statements[0]
    assert [one for one in statements if one != statements[0]] == []
    stored = jobs(given)[1:]
    assert len(stored) == len(addresses)
    assert {tuple(sorted(job.payload)) for job in stored} == {("language", "user")}
    assert {job.payload["user"] for job in stored} >= {user.id, disabled.id}


def test_nobody_else_gets_mail(mailing, client, office, given):
    disabled, erased = given.user(active=False), given.user()
    for address in (disabled.email, erased.email, "nobody@example.org"):
        ask(client, address)
    given.database.transact(lambda: User.update(erased_at="2026-01-01T00:00:00.000000Z").where(
        User.id == erased.id).execute())
    run_jobs(mailing)
    assert office.offered == 0
    assert [job.state for job in jobs(given)] == ["done"] * 3


@pytest.mark.parametrize("body", [{}, {"email": 1}, {"email": None}, {"email": "x" * 255}, [], "x",
                                  {"email": "a@b.example", "user": "x"}, {"email": ["a@b.example"]}])
def test_other_bodies_are_refused(body, client, given):
    assert client.post(PATH, json=body).status_code == 400
    assert jobs(given) == []


@pytest.mark.parametrize("text", ["a@b.example\r\nBcc: eve@example.org", "\0", "\ud800", "%00@x", "'; DROP TABLE users",
                                  "a@" + "ö" * 200, "@", ""])
def test_hostile_addresses_send_nothing(text, mailing, client, office, given):
    assert client.post(PATH, json={"email": text}).status_code in (202, 400)
    run_jobs(mailing)
    assert office.offered == 0


@pytest.mark.both_databases
@pytest.mark.parametrize("method", ["get", "head", "options"])
def test_a_scanner_that_follows_the_link_changes_nothing(method, mailing, client, office, given):
    user = given.user(password=PASSWORD)
    ask(client, user.email)
    run_jobs(mailing)
    secret = token(office.texts()[0])
    with given.database.connected():
        before = dict(User.by_id(user.id).__data__)
    for path in (f"/console/password/{secret}", "/api/password-links", f"/console/password/{secret}?x=y"):
        answer = getattr(client, method)(path)
        assert answer.headers.getlist("Set-Cookie") == [], "a scanner gets no session"
    with given.database.connected():
        assert dict(User.by_id(user.id).__data__) == before
    assert use(client, secret) == 204


@pytest.mark.parametrize("change", [{"email": "other@example.org"}, {"password": NEW}])
def test_a_link_dies_with_a_change_of_address_or_password(change, mailing, client, office, given, as_user):
    user = given.user(password=PASSWORD)
    ask(client, user.email)
    run_jobs(mailing)
    caller = as_user(user)
    if "email" in change:
        assert caller.patch("/api/profile", change).status_code == 200
    else:
        body = {"current_password": PASSWORD, "new_password": NEW}
        assert caller.post("/api/profile/password", body).status_code == 204
    assert use(client, token(office.texts()[0])) == 404


def test_a_new_link_replaces_the_former_one(mailing, client, office, given):
    user = given.user()
    for _ in range(2):
        ask(client, user.email)
        run_jobs(mailing)
    first, second = map(token, office.texts())
    assert (use(client, first), use(client, second)) == (404, 204)


@pytest.mark.both_databases
def test_the_token_is_nowhere_but_in_the_message(mailing, client, office, given, caplog):
    caplog.set_level(logging.INFO)
    user = given.user()
    ask(client, user.email)
    office.replies.append(("DATA", "451 later"))
    mailing.extensions["gatepost"].jobs.run_due()
    hurry(given)
    mailing.extensions["gatepost"].jobs.run_due()
    secret = token(office.texts()[0])
    client.get(f"/console/password/{secret}")
    mailing.extensions["gatepost"].audit_writer.flush(early=True)
    with given.database.connected():
        stored = json.dumps([str(vars(row)) for table in (Job, Audit, PasswordLink) for row in table.select()])
    logged = "\n".join(str(vars(one)) for one in caplog.records if one.name != "mail.log")  # the server of the test
    assert "will be retried" in logged
    for place in (stored, logged):
        assert secret not in place
    assert user.email not in logged
    assert user.email not in str([vars(job) for job in jobs(given)])
    assert hashed(secret) in stored


def hurry(given):
    """Lets a job that waits for its retry run now."""
    given.database.transact(lambda: Job.update(run_at="2026-01-01T00:00:00.000000Z").execute())


@pytest.mark.both_databases
def test_a_server_that_is_busy_is_tried_again_with_a_link_that_works(mailing, client, office, given):
    user = given.user()
    ask(client, user.email)
    office.replies.append(("RCPT", f"451 <{user.email}> greylisted"))
    mailing.extensions["gatepost"].jobs.run_due()
    [job] = jobs(given)
    assert (job.state, job.max_attempts) == (WAITING, 8)
    assert job.last_error == "unavailable: The message was not sent: the mail server answered 451."
    hurry(given)
    mailing.extensions["gatepost"].jobs.run_due()
    assert len(office.messages) == 1
    assert office.messages[0]["Message-ID"] == f"<{job.id}@example.org>"
    assert use(client, token(office.texts()[0])) == 204


def test_a_refused_message_is_not_tried_again(mailing, client, office, given):
    user = given.user()
    ask(client, user.email)
    office.replies.append(("RCPT", f"550 5.1.1 <{user.email}> unknown"))
    mailing.extensions["gatepost"].jobs.run_due()
    [job] = jobs(given)
    assert (job.state, job.result["code"]) == (FAILED, "conflict")
    assert user.email not in str(vars(job))


def test_a_silent_server_holds_no_other_job_for_long(mailing, client, given, office, monkeypatch):
    monkeypatch.setattr(smtp, "TIMEOUT", 0.2)

    async def hang(*_):
        import asyncio

        await asyncio.sleep(5)
        return "250 OK"

    monkeypatch.setattr(type(office), "handle_RCPT", hang)
    ask(client, given.user().email)
    mailing.extensions["gatepost"].jobs.run_due()
    [job] = jobs(given)
    assert (job.state, job.last_error) == (
        WAITING, "unavailable: The message was not sent: the mail server does not answer in time.")


def test_one_address_gets_few_messages_and_the_answer_does_not_tell(instance_folder, database_url, office, given):
    user = given.user()
    with serving(instance_folder, database_url, office, rate_limits="on") as app:
        client = app.test_client()
        answers = [ask(client, address) for address in (user.email, f" {user.email.upper()}") * 4]
        assert len({answer.data for answer in answers}) == 1
        assert len(jobs(given)) == endpoints.HOURLY
        statuses = [client.post(PATH, json={"email": f"a{n}@example.org"}).status_code for n in range(5)]
    assert statuses == [202, 202, 429, 429, 429], "and one network asks ten times a minute"


def test_it_is_in_the_language_of_the_request(mailing, client, office, given):
    ask(client, given.user(password=PASSWORD).email, **{"Accept-Language": "de-AT, en;q=0.5"})
    run_jobs(mailing)
    assert office.messages[0]["Subject"] == "Passwort für api.example.org wählen"
    assert "Ihr Passwort bleibt, wie es ist." in office.texts()[0]


def test_neither_the_name_nor_the_host_is_in_the_message(mailing, client, office, given):
    user = given.user(name="Win a prize at https://evil.example")
    ask(client, user.email, **{"Host": "evil.example", "X-Forwarded-Host": "evil.example"})
    run_jobs(mailing)
    assert "evil" not in str(office.messages[0])
    assert token(office.texts()[0])


def test_without_mail_nothing_is_promised(app, given, as_role):
    user, client = given.user(), app.test_client()
    for email in (user.email, "nobody@example.org"):
        answer = client.post(PATH, json={"email": email})
        assert (answer.status_code, answer.json["detail"]) == (404, "This service sends no mail.")
    assert as_role("admin").post(f"/api/users/{user.id}/password-link/mail").status_code == 404
    assert jobs(given) == []
    assert client.get("/console/forgotten").status_code == 404
    assert "/console/forgotten" not in client.get("/console/login").text


def test_mail_that_was_turned_off_meanwhile_ends_the_job(mailing, client, app, given):
    user = given.user()
    ask(client, user.email)
    app.extensions["gatepost"].jobs.run_due()
    [job] = jobs(given)
    assert (job.state, job.result["detail"]) == (FAILED, "This service sends no mail.")
    with given.database.connected():
        assert not PasswordLink.select().where(PasswordLink.owner_id == user.id).exists()


def test_an_administrator_sends_a_link_that_only_its_reader_sees(mailing, office, given, as_role):
    admin, user = as_role("admin"), given.user()
    client = mailing.test_client()
    path = f"/api/users/{user.id}/password-link/mail"
    answer = client.post(path, headers=admin.headers)
    assert (answer.status_code, answer.json) == (202, {"hours": 24})
    run_jobs(mailing)
    assert office.texts()[0].startswith("Welcome to api.example.org. Choose a password for your account here:\n\n")
    assert use(client, token(office.texts()[0])) == 204
    with given.database.connected():
        events = [(one.action, one.principal) for one in Audit.select().where(Audit.resource_id == user.id)]
    assert ("send_password_link", f"user:{admin.id}") in events
    assert ("create_password_link", "system:mail") in events


def test_who_may_not_create_a_link_may_not_send_one(mailing, given, as_role):
    client, user = mailing.test_client(), given.user()
    path = f"/api/users/{user.id}/password-link/mail"
    for role, status in (("guest", 401), ("user", 403), ("support", 403), ("editor", 403)):
        assert client.post(path, headers=as_role(role).headers).status_code == status, role
    admin = as_role("admin")
    assert client.post(f"/api/users/{admin.id}/password-link/mail", headers=admin.headers).status_code == 403
    disabled = given.user(active=False)
    answer = client.post(f"/api/users/{disabled.id}/password-link/mail", headers=admin.headers)
    assert answer.status_code == 409
    assert client.post(path.replace(user.id, NO_ROW), headers=admin.headers).status_code == 404
    assert jobs(given) == []


def test_the_ids_of_another_tenant_are_unknown(mailing, given, elsewhere, as_role):
    path = f"/api/users/{elsewhere.user().id}/password-link/mail"
    assert mailing.test_client().post(path, headers=as_role("admin").headers).status_code == 404


def test_a_reset_finds_users_of_every_tenant(mailing, client, office, elsewhere: Given):
    user = elsewhere.user()
    ask(client, user.email)
    run_jobs(mailing)
    assert office.messages[0]["To"] == user.email
