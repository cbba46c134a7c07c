"""Pages of the console where mail is on: a forgotten password, and a link that an administrator sends."""

from __future__ import annotations

import re

import pytest

from gatepost.testing.serving import run_jobs
from models.tables.job import Job
from tests.http.console.pages import Seen, visit
from tests.mail.conftest import serving
from tests.mail.test_resets import use

PAGE, URL = "/console/forgotten", "http://localhost"


@pytest.fixture(scope="module")
def mailing(instance_folder, database_url, office_of_module):
    with serving(instance_folder, database_url, office_of_module, public_url=URL) as app:
        yield app


def token(text):
    [found] = re.findall(rf"^{URL}/console/password/([\w-]{{43}})$", text, re.MULTILINE)
    return found


def test_the_login_page_leads_to_the_form_and_a_link_comes(mailing, office, given):
    user, visitor = given.user(), visit(mailing)
    assert f"{PAGE}" in visitor.page("/console/login").links
    seen = visitor.page(PAGE)
    [form] = [one for one in seen.forms if one.action.endswith(PAGE)]
    answers = [visitor.post(form.action, {**form.fields, "email": email})
               for email in (user.email, "nobody@example.org")]
    assert {(one.status_code, one.headers["Location"]) for one in answers} == {(303, f"{PAGE}/sent")}
    assert "If there is an account with this address" in visitor.page(f"{PAGE}/sent").text
    run_jobs(mailing)
    assert use(mailing.test_client(), token(office.texts()[0])) == 204


def test_the_form_is_shown_again_with_what_was_typed(mailing):
    answer = visit(mailing).post(PAGE, {"email": "x" * 300})
    assert answer.status_code == 400
    assert ("input", "x" * 300) in [(name, tag.get("value")) for name, tag in Seen.of(answer).tags]


def test_a_form_of_another_origin_is_refused(mailing, given):
    given.database.transact(lambda: Job.delete().execute())
    client = mailing.test_client()
    for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {}):
        assert client.post(PAGE, data={"email": "a@b.example"}, headers=headers).status_code == 403
    with given.database.connected():
        assert not Job.select().exists()


def test_an_administrator_sends_the_link_by_a_button(mailing, office, given):
    user, admin = given.user(), visit(mailing, "admin")
    offer = f"/console/people/{user.id}/password-link"
    [form] = [one for one in admin.page(offer).forms if one.action.endswith("/mail")]
    answer = admin.post(form.action, form.fields)
    assert answer.status_code == 200, answer.text
    assert "on its way to the user" in Seen.of(answer).text
    run_jobs(mailing)
    assert token(office.texts()[0]) not in answer.text
    assert use(mailing.test_client(), token(office.texts()[0])) == 204


def test_without_mail_no_page_mentions_it(app, given):
    admin = visit(app, "admin")
    assert "e-mail" not in admin.page(f"/console/people/{given.user().id}/password-link").text
    assert "Ask an administrator" in visit(app).page("/console/login").text


def test_without_the_console_there_are_no_pages(instance_folder, database_url, office):
    with serving(instance_folder, database_url, office, console="off") as app:
        assert app.test_client().get(PAGE).status_code == 404
