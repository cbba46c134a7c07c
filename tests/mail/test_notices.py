"""Notices to users about a new password, another e-mail address, and a login from a new network."""

from __future__ import annotations

from time import time

import pytest

from gatepost.testing import log_in
from gatepost.testing.serving import run_jobs
from models.tables.audit import Audit
from models.tables.job import FAILED, Job
from models.tables.user import User
from tests.accounts.phones import OWN, Clock, enrol
from tests.apps import PASSWORD
from tests.http.console.pages import visit
from tests.mail.conftest import serving
from tests.mail.test_resets import NEW, ask, hurry, jobs, token, use

TO_CHANGE = {"current_password": PASSWORD, "new_password": NEW}


@pytest.fixture(autouse=True)
def no_jobs(given):
    given.database.transact(lambda: Job.delete().execute())


@pytest.fixture
def user(given):
    return given.user(password=PASSWORD)


def subjects(office):
    return [(message["To"], message["Subject"]) for message in office.messages]


@pytest.mark.both_databases
def test_a_new_password_is_told(mailing, office, user):
    caller = log_in(mailing, user)
    assert caller.post("/api/profile/password", TO_CHANGE).status_code == 204
    run_jobs(mailing)
    assert subjects(office) == [(user.email, "Your password on api.example.org was changed")]
    assert " UTC.\n\nIf this was you" in office.texts()[0]


def test_a_wrong_password_tells_nothing(mailing, office, user, given):
    caller = log_in(mailing, user)
    assert caller.post("/api/profile/password", {**TO_CHANGE, "current_password": "x"}).status_code == 401
    assert caller.patch("/api/profile", {"name": "Other"}).status_code == 200
    assert jobs(given) == []


def test_a_used_link_is_told(mailing, office, user):
    client = mailing.test_client()
    ask(client, user.email)
    run_jobs(mailing)
    assert use(client, token(office.texts()[0])) == 204
    run_jobs(mailing)
    assert subjects(office)[1:] == [(user.email, "Your password on api.example.org was changed")]


@pytest.mark.both_databases
@pytest.mark.parametrize("role", ["user", "admin"])
def test_another_address_is_told_to_the_former_one(role, mailing, office, user, given, as_role):
    caller = log_in(mailing, user) if role == "user" else log_in(mailing, given.user("admin"))
    path = "/api/profile" if role == "user" else f"/api/users/{user.id}"
    former = user.email
    assert caller.call("PATCH", path, {"email": f"{role}-new@example.org"}).status_code == 200
    assert caller.call("PATCH", path, {"name": "Ada"}).status_code == 200
    run_jobs(mailing)
    assert subjects(office) == [(former, "Your e-mail address on api.example.org was changed"),
                                (f"{role}-new@example.org", "Verify your e-mail address for api.example.org")]
    assert former not in str([vars(job) for job in jobs(given)]), "the job forgets the address"


def test_the_address_is_forgotten_after_a_failure_too(mailing, office, user, given):
    caller, former = log_in(mailing, user), user.email
    assert caller.patch("/api/profile", {"email": "elsewhere@example.org"}).status_code == 200
    given.database.transact(lambda: Job.delete().where(Job.kind == "mail.email_verification").execute())
    office.replies += [("RCPT", "451 later"), ("RCPT", "550 unknown")]
    mailing.extensions["gatepost"].jobs.run_due()
    assert former in str(vars(jobs(given)[0])), "kept for the retry"
    hurry(given)
    mailing.extensions["gatepost"].jobs.run_due()
    [job] = jobs(given)
    assert job.state == FAILED
    assert former not in str(vars(job))


def test_an_erased_user_is_told_nothing_more(mailing, office, user, given):
    caller, former = log_in(mailing, user), user.email
    assert caller.patch("/api/profile", {"email": "gone@example.org"}).status_code == 200
    given.database.transact(lambda: User.update(erased_at="2026-01-01T00:00:00.000000Z").where(
        User.id == user.id).execute())
    run_jobs(mailing)
    assert office.offered == 0
    assert former not in str([vars(job) for job in jobs(given)])


def start(client, user, address):
    return client.post("/api/login", json={"email": user.email, "password": PASSWORD},
                       environ_base={"REMOTE_ADDR": address}).status_code


@pytest.mark.both_databases
@pytest.mark.parametrize("remover", ["user", "admin"])
def test_a_second_factor_is_told(remover, mailing, office, user, given):
    caller = log_in(mailing, user)
    phone = enrol(caller, Clock(time()))
    if remover == "user":
        assert caller.post(f"{OWN}/remove", {"code": phone.recovery_codes[0]}).status_code == 204
    else:
        admin = log_in(mailing, given.user("admin"))
        assert admin.post(f"/api/users/{user.id}/remove-second-factor").status_code == 204
    run_jobs(mailing)
    assert subjects(office) == [
        (user.email, "Your account on api.example.org has a second factor"),
        (user.email, "The second factor of your account on api.example.org was removed")]
    assert phone.secret not in str(office.texts()) and phone.recovery_codes[1] not in str(office.texts())


@pytest.mark.both_databases
def test_a_login_from_a_new_network_is_told_once(mailing, office, user):
    client = mailing.test_client()
    for address in ("192.0.2.1", "192.0.2.1", "2001:db8::1", "2001:db8::2", "192.0.2.1"):
        assert start(client, user, address) == 200
    run_jobs(mailing)
    assert subjects(office) == [(user.email, "New login on api.example.org")] * 2
    assert "from the address 192.0.2.1." in office.texts()[0]
    assert "from the address 2001:db8::1." in office.texts()[1]


def test_a_failed_login_is_not_told(mailing, given, user):
    answer = mailing.test_client().post("/api/login", json={"email": user.email, "password": "x"})
    assert answer.status_code == 401
    assert jobs(given) == []


def test_the_console_tells_the_same(instance_folder, database_url, office, user, given):
    with serving(instance_folder, database_url, office, public_url="http://localhost") as app:
        answer = visit(app).post("/console/login", {"email": user.email, "password": PASSWORD})
        assert answer.status_code == 303
        run_jobs(app)
    assert subjects(office) == [(user.email, "New login on localhost")]


def test_notices_can_be_turned_off_and_the_rest_stays(instance_folder, database_url, office, user, given):
    with serving(instance_folder, database_url, office, mail_notices="off") as app:
        assert start(app.test_client(), user, "192.0.2.9") == 200
        assert log_in(app, user).post("/api/profile/password", TO_CHANGE).status_code == 204
        assert jobs(given) == []
        ask(app.test_client(), user.email)
        run_jobs(app)
    assert len(office.messages) == 1


def test_without_mail_no_handler_is_wrapped(app, mailing, given, user):
    plain, wrapped = (one.extensions["gatepost"].registry for one in (app, mailing))
    assert plain.around == {}
    operations = ["session_log_in", "session_verify", "profile_change_password", "password_link_use", "profile_update",
                  "users_update", "session_register", "profile_confirm_second_factor", "profile_remove_second_factor",
                  "users_remove_second_factor"]
    assert [name for name in operations if wrapped.by_operation[name].handler is plain.by_operation[name].handler] == []
    same = [name for name, one in plain.by_operation.items()
            if one.documented and wrapped.by_operation[name].handler is not one.handler]
    assert set(same) <= {*operations, "users_replace"}
    assert start(app.test_client(), user, "192.0.2.7") == 200
    assert jobs(given) == []
    with given.database.connected():
        assert Audit.select().where(Audit.principal == f"user:{user.id}", Audit.action == "create").exists()
