"""Pages of the console: verify one's address, and invite a new user in one step."""

from __future__ import annotations

import re

import pytest

from gatepost.http.security import passwords
from gatepost.testing.serving import run_jobs
from models.tables.job import Job
from models.tables.session import Session
from models.tables.user import User
from tests.apps import PASSWORD
from tests.http.console.pages import ORIGIN, Seen, visit
from tests.mail.conftest import serving
from tests.mail.test_mail_pages import URL
from tests.mail.test_mail_pages import token as password_token
from tests.mail.test_resets import use as choose_password

ACCOUNT, NEW, INVITE = "/console/account", "/console/people/new", "/console/people/new/invite"


@pytest.fixture(scope="module")
def mailing(instance_folder, database_url, office_of_module):
    with serving(instance_folder, database_url, office_of_module, public_url=URL) as app:
        yield app


@pytest.fixture
def user(given):
    return given.user(password=PASSWORD)


def path(text):
    [found] = re.findall(rf"^{URL}(/console/verify-email/[\w-]{{43}})$", text, re.MULTILINE)
    return found


def form(page, action):
    [found] = [one for one in page.forms if one.action.endswith(action)]
    return found


def ask(mailing, office, user):
    visitor = visit(mailing, user)
    sent = form(visitor.page(ACCOUNT), "/verify-email")
    answer = visitor.post(sent.action, sent.fields)
    assert (answer.status_code, answer.headers["Location"]) == (303, f"{ACCOUNT}/verify-email/sent")
    assert "on its way to your e-mail address" in visitor.page(answer.headers["Location"]).text
    run_jobs(mailing)
    return path(office.texts()[-1])


@pytest.mark.both_databases
def test_a_button_verifies_the_address(mailing, office, given, user):
    link = ask(mailing, office, user)
    reader = visit(mailing)
    answer = reader.client.get(link)
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert ("input", user.email) in [(name, tag.get("value")) for name, tag in Seen.of(answer).tags]
    assert given.found(User, user.id).email_verified_at is None, "a GET changes nothing"
    answer = reader.post(link, {"password": PASSWORD})
    assert (answer.status_code, answer.headers["Location"]) == (303, "/console/verify-email")
    assert answer.headers.getlist("Set-Cookie") == []
    assert "E-mail address verified" in reader.page("/console/verify-email").text
    assert given.found(User, user.id).email_verified_at is not None
    page = visit(mailing, user).page(ACCOUNT)
    assert "address verified" in page.text
    assert [one for one in page.forms if one.action.endswith("/verify-email")] == []
    assert reader.client.get(link).status_code == 404
    assert reader.post(link, {"password": PASSWORD}).status_code == 404


@pytest.mark.both_databases
def test_who_does_not_know_the_password_verifies_nothing(mailing, office, given, user):
    link, reader = ask(mailing, office, user), visit(mailing)
    for password, text in (("", "needs the password of the account"), ("a guess", "The password is wrong.")):
        answer = reader.post(link, {"password": password})
        assert (answer.status_code, answer.headers["Referrer-Policy"]) == (403, "no-referrer")
        seen = Seen.of(answer)
        assert text in seen.text
        assert "a guess" not in answer.text
        assert [one for one in seen.forms if "password" in one.fields]
    stranger = visit(mailing, given.user())
    assert stranger.post(link, {}).status_code == 403, "the session of another account"
    assert given.found(User, user.id).email_verified_at is None


@pytest.mark.both_databases
def test_who_is_logged_in_needs_no_password(mailing, office, given, user):
    link, browser = ask(mailing, office, user), visit(mailing, user)
    forms = [({"Origin": "null"}, 403), ({"Sec-Fetch-Site": "cross-site"}, 403), (ORIGIN, 303)]
    for headers, status in forms:
        answer = browser.client.post(link, data={}, headers=headers)
        assert answer.status_code == status, (headers, answer.text)
    assert given.found(User, user.id).email_verified_at is not None


def test_a_session_that_has_ended_does_not_stand_in_the_way(mailing, office, given, user):
    link, browser = ask(mailing, office, user), visit(mailing, user)
    given.database.transact(lambda: Session.update(revoked_at="2026-01-01T00:00:00.000000Z").where(
        Session.owner_id == user.id).execute())
    assert browser.post(link, {}).status_code == 403
    assert browser.post(link, {"password": PASSWORD}).status_code == 303


def test_a_form_of_another_origin_verifies_nothing(mailing, office, given, user):
    link, client = ask(mailing, office, user), mailing.test_client()
    for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
        assert client.post(link, data={}, headers=headers).status_code == 403
    assert given.found(User, user.id).email_verified_at is None


def test_the_log_does_not_have_the_token(mailing, office, user, caplog):
    link = ask(mailing, office, user)
    caplog.set_level("INFO")
    visit(mailing).post(link, {"password": PASSWORD})
    assert link.rpartition("/")[2] not in "\n".join(str(vars(one)) for one in caplog.records if one.name != "mail.log")


def test_administrators_see_whether_an_address_is_verified(mailing, given, user):
    admin, page = visit(mailing, "admin"), f"/console/people/{user.id}"
    assert "address not verified" in admin.page(page).text
    given.database.transact(lambda: User.update(email_verified_at="2026-01-01T00:00:00.000000Z").where(
        User.id == user.id).execute())
    text = admin.page(page).text
    assert "address verified" in text
    assert "not verified" not in text


def test_without_mail_no_page_mentions_it(app, user):
    page = visit(app, user).page(ACCOUNT)
    assert "verif" not in page.text.lower()
    assert [one for one in page.forms if "verify" in one.action] == []
    assert "invitation" not in visit(app, "admin").page(NEW).text


@pytest.mark.parametrize("path", ["/console/verify-email/Zm9yIHRoZSB0ZXN0", "/Console//Verify-Email/Zm9yIHRoZSB0ZXN0"])
def test_without_mail_neither_log_nor_answer_has_the_token_of_an_earlier_link(path, app, caplog):
    caplog.set_level("INFO")
    answer = app.test_client().get(path)
    assert answer.status_code == 404
    # The first is a path of the console, where a page says that there is none.
    assert not answer.is_json or answer.json["instance"] == "/console/verify-email/<token>"
    assert "Zm9y" not in answer.text + "\n".join(str(vars(one)) for one in caplog.records)


def new_user(admin, **more):
    page = admin.page(NEW)
    fields = form(page, NEW).fields | {"name": "Noor", "email": "noor.invited@example.org"} | more
    assert any(tag.get("formaction", "").endswith(INVITE) for _, tag in page.tags)
    return fields


@pytest.mark.both_databases
def test_a_new_user_is_invited_in_one_step(mailing, office, given):
    admin = visit(mailing, "admin")
    fields = new_user(admin)
    answers = [admin.post(INVITE, fields) for _ in range(2)]
    assert {answer.status_code for answer in answers} == {303}, answers[0].text
    assert len({answer.headers["Location"] for answer in answers}) == 1, "a double click invites once"
    assert "on its way to the user" in admin.page(answers[0].headers["Location"]).text
    run_jobs(mailing)
    [message] = office.messages
    assert (message["To"], message["Subject"]) == ("noor.invited@example.org", "Invitation to localhost")
    assert choose_password(mailing.test_client(), password_token(office.texts()[0])) == 204
    with given.database.connected():
        user = User.by_email("noor.invited@example.org")
    assert user.password_hash != passwords.UNUSABLE
    assert user.email_verified_at is not None


def test_a_faulty_form_is_drawn_again_and_invites_nobody(mailing, office, given):
    given.database.transact(lambda: Job.delete().execute())
    admin = visit(mailing, "admin")
    answer = admin.post(INVITE, new_user(admin, email="no address"))
    assert answer.status_code == 400
    assert ("input", "no address") in [(name, tag.get("value")) for name, tag in Seen.of(answer).tags]
    with given.database.connected():
        assert not Job.select().exists()


def test_who_may_not_create_links_is_not_offered_it_and_creates_nobody(instance_folder, database_url, office, given,
                                                                       tmp_path):
    file = instance_folder / "policies" / "users.csv"
    before = file.read_text()
    rule = "p, owner, user.*,            always, allow\n"
    assert rule in before
    file.write_text(before.replace(rule, "".join(
        rule.replace("user.*", f"user.{action}") for action in ("view", "view_private", "create", "manage"))))
    try:
        with serving(instance_folder, database_url, office, public_url=URL) as app:
            owner = visit(app, "owner")
            page = owner.page(NEW)
            assert "formaction" not in str(page.tags)
            fields = form(page, NEW).fields | {"name": "Noor", "email": "noor.refused@example.org"}
            assert owner.post(INVITE, fields).status_code == 403
    finally:
        file.write_text(before)
    with given.database.connected():
        assert User.by_email("noor.refused@example.org") is None
