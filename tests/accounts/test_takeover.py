"""An account that a stranger opened with the address of another person, who takes it over by a mailed link."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from blueprints.mail import endpoints
from gatepost.http.pipeline.application import Application
from gatepost.testing import log_in
from gatepost.testing.serving import run_jobs
from models.base import Rows, new_id
from models.tables.audit import Audit
from models.tables.identity import Identity
from models.tables.passkey import Passkey, passkeys_of
from models.tables.second_factor import SecondFactor
from models.tables.service_token import ServiceToken
from models.tables.user import User
from tests.accounts.conftest import URL, app_with
from tests.accounts.phones import challenged, code_sent, enrol, password_sent
from tests.accounts.test_single_sign_on import connect, sessions
from tests.accounts.test_single_sign_on import log_in as log_in_with_provider
from tests.apps import PASSWORD
from tests.http.console.pages import Seen, visit
from tests.mail.post_office import PostOffice, post_office

pytestmark = pytest.mark.usefixtures("no_identities")

NEW = "nine slow ferries at dawn"


@pytest.fixture
def office() -> Iterator[PostOffice]:
    with post_office() as office:
        yield office


@pytest.fixture(autouse=True)
def mailed_at_once(monkeypatch):
    monkeypatch.setattr(endpoints, "SPREAD", 0.0)


@pytest.fixture
def mailing(instance_folder, database_url, provider, office) -> Iterator[Application]:
    settings = {"smtp_url": f"smtp+plain://127.0.0.1:{office.port}", "mail_from": "gate@example.org"}
    with app_with(instance_folder, database_url, provider, settings, groups_claim="groups") as app:
        yield app


@pytest.fixture
def stranger(mailing, given, provider, clock) -> User:
    """A user with the address of the victim, and with everything that lets one log in."""
    body = {"name": "Stranger", "email": f"victim.{new_id()}@example.org", "password": PASSWORD}
    id = mailing.test_client().post("/api/register", json=body).json["id"]
    user = given.found(User, id)
    connect(given, provider, user, f"stranger {id}")
    add_passkey(given, user)
    given.database.transact(lambda: User.update(groups=["team", "oidc:team/editors", "oidc:gone/admins"]).where(
        User.id == user.id).execute())
    return given.found(User, id)


def add_passkey(given, user):
    given.database.transact(lambda: Rows(Passkey, user.tenant_id).insert(Passkey(
        owner_id=user.id, name="key", rp_id="example.org", credential_id=f"credential of {user.id}", public_key="key",
        sign_count=0)))


def verify(given, user):
    given.database.transact(lambda: User.update(email_verified_at="2026-01-01T00:00:00.000000Z").where(
        User.id == user.id).execute())


def reset(mailing, office, user):
    """Asks for a link like someone who forgot the password, and uses it. Returns its page."""
    client = mailing.test_client()
    assert client.post("/api/password-resets", json={"email": user.email}).status_code == 202
    run_jobs(mailing)
    page, token = re.findall(rf"^{URL}(/console/password/([\w-]{{43}}))$", office.texts()[-1], re.MULTILINE)[0]
    seen = Seen.of(client.get(page))
    answer = client.post("/api/password-links", json={"token": token, "new_password": NEW})
    assert answer.status_code == 204, answer.text
    return seen


def program(mailing, user):
    """Makes a service token of a user, and returns its header."""
    answer = log_in(mailing, user).post("/api/tokens", {"name": "robot", "scopes": ["read:articles"],
                                                         "current_password": PASSWORD})
    assert answer.status_code == 201, answer.text
    return {"Authorization": f"Bearer {answer.json['token']}"}


def articles(mailing, headers):
    return mailing.test_client().get("/api/articles", headers=headers).status_code


def events(mailing, given, user):
    mailing.extensions["gatepost"].audit_writer.flush(early=True)
    with given.database.connected():
        return [one.reason for one in Audit.select().where(Audit.action == "use_password_link",
                                                           Audit.resource_id == user.id)]


@pytest.mark.both_databases
def test_the_victim_shares_the_account_with_nobody(mailing, given, office, provider, stranger):
    headers, browser = program(mailing, stranger), visit(mailing, stranger)
    other = given.user(password=PASSWORD)
    connect(given, provider, other, f"other {other.id}")
    add_passkey(given, other)
    others = program(mailing, other)
    provider.claims |= {"sub": f"stranger {stranger.id}", "groups": ["editors"]}
    assert log_in_with_provider(visit(mailing), provider).status_code == 303
    assert articles(mailing, headers) == 200

    page = reset(mailing, office, stranger)
    assert "Other ways to log in to it, and its service tokens, are removed" in page.text

    assert articles(mailing, headers) == 401
    assert browser.get("/console/account").status_code == 303
    assert sessions(given, stranger) == []
    answer = log_in_with_provider(visit(mailing), provider)
    assert (answer.status_code, answer.headers.get("Location")) != (303, "/console"), "no longer connected"
    assert sessions(given, stranger) == []
    user = given.found(User, stranger.id)
    assert user.email_verified_at is not None
    assert user.groups == ["team"]
    with given.database.connected():
        assert passkeys_of(user) == []
        assert not Identity.select().where(Identity.owner_id == user.id).exists()
        assert not ServiceToken.select().where(ServiceToken.owner_id == user.id).exists()
        assert len(passkeys_of(other)) == 1
        assert Identity.select().where(Identity.owner_id == other.id).exists()
    assert articles(mailing, others) == 200, "those of others stay"
    [reason] = events(mailing, given, stranger)
    assert reason.endswith("removed: service tokens (1), passkeys (1), identities (1)")

    run_jobs(mailing)
    notice = next(text for text in office.texts() if "was changed at" in text)
    assert "Other ways to log in to it, and its service tokens, were removed" in notice
    provider.claims |= {"sub": f"victim {stranger.id}", "email": stranger.email, "email_verified": True, "groups": []}
    assert log_in_with_provider(visit(mailing), provider).status_code == 303, "the victim is connected"
    assert len(sessions(given, stranger)) == 1


@pytest.mark.both_databases
def test_a_reset_of_a_verified_address_leaves_everything(mailing, given, office, stranger):
    headers = program(mailing, stranger)
    verify(given, stranger)
    assert "removed" not in reset(mailing, office, stranger).text
    assert articles(mailing, headers) == 200
    with given.database.connected():
        assert len(passkeys_of(stranger)) == 1
        assert Identity.select().where(Identity.owner_id == stranger.id).exists()
    assert not any("removed" in (reason or "") for reason in events(mailing, given, stranger))
    run_jobs(mailing)
    assert not any("were removed" in text for text in office.texts())


@pytest.mark.both_databases
def test_a_link_that_was_passed_on_proves_nothing_and_leaves_everything(mailing, given, office, stranger):
    admin = log_in(mailing, given.user("admin"))
    token = admin.post(f"/api/users/{stranger.id}/password-link").json["token"]
    assert "removed" not in mailing.test_client().get(f"/console/password/{token}").text
    answer = mailing.test_client().post("/api/password-links", json={"token": token, "new_password": NEW})
    assert answer.status_code == 204
    with given.database.connected():
        assert len(passkeys_of(stranger)) == 1
    assert given.found(User, stranger.id).email_verified_at is None


@pytest.mark.both_databases
def test_a_mailbox_alone_removes_no_second_factor(mailing, given, office, stranger, clock, guest):
    phone = enrol(log_in(mailing, stranger), clock)
    reset(mailing, office, stranger)
    with given.database.connected():
        assert SecondFactor.of(stranger).confirmed_at is not None
    clock.forward()
    answer = code_sent(guest, challenged(guest, stranger, NEW), phone.code())
    assert answer.status_code == 200, answer.text
    assert password_sent(guest, stranger, PASSWORD).json["code"] == "invalid_credentials", "and lets nobody else in"


def test_an_invitation_has_nothing_to_remove(mailing, given, office):
    user, admin = given.user(), log_in(mailing, given.user("admin"))
    assert admin.post(f"/api/users/{user.id}/password-link/mail").status_code == 202
    run_jobs(mailing)
    [path] = re.findall(rf"^{URL}(/console/password/[\w-]{{43}})$", office.texts()[-1], re.MULTILINE)
    assert "removed" not in mailing.test_client().get(path).text
