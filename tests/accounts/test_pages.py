"""Second factors on the console: the code at a login, *Your account*, and the page of a user."""

from __future__ import annotations

import re

import pytest

from models.base import later
from models.tables.second_factor import SecondFactor
from models.tables.session import CONSOLE, Session
from models.tables.user import User
from tests.accounts.phones import OWN, Phone
from tests.apps import PASSWORD, Given
from tests.http.console.pages import Seen, Visitor, visit

PAGE = "/console/account/second-factor"


@pytest.fixture
def user(given: Given) -> User:
    return given.user("manager", password=PASSWORD)


def kept(given: Given, user: User) -> SecondFactor | None:
    with given.database.connected():
        return SecondFactor.of(user)


def codes_of(page: str) -> list[str]:
    return re.findall(r"<code>((?:[a-z2-7]{6}-){3}[a-z2-7]{6})</code>", page)


def set_up(visitor: Visitor, clock) -> Phone:
    begun = visitor.post(PAGE)
    assert begun.status_code == 200, begun.text
    assert "data:image/svg+xml;base64," in begun.text
    secret = next(tag["value"] for name, tag in Seen.of(begun).tags if name == "input" and tag.get("id") == "secret")
    phone = Phone(secret, clock)
    done = visitor.post(f"{PAGE}/confirm", {"code": phone.code()})
    assert done.status_code == 200, done.text
    phone.recovery_codes = codes_of(done.text)
    assert len(phone.recovery_codes) == 10
    return phone


def begun_login(app, user: User, wanted: str = "") -> tuple[Visitor, str, str]:
    """Sends the password. Returns the visitor, and the paths of the page and of its form."""
    guest = visit(app)
    first = guest.post("/console/login", {"email": user.email, "password": PASSWORD, "_next": wanted})
    assert first.status_code == 303 and "Set-Cookie" not in first.headers, first.text
    path = first.headers["Location"]
    return guest, path, next(form.action for form in guest.page(path).forms if "/code/" in form.action)


@pytest.mark.both_databases
def test_from_the_account_to_a_login_with_a_code(app, given, user, clock):
    visitor = visit(app, user)
    assert PAGE in visitor.page("/console/account").links
    assert "Not set up" in visitor.page(PAGE).text
    phone = set_up(visitor, clock)
    shown = visitor.page(PAGE).text
    assert "10 left" in shown and phone.secret not in shown and phone.recovery_codes[0] not in shown
    guest, path, sent = begun_login(app, user, "/console/people")
    assert re.fullmatch(r"/console/login/code/[\w-]{43}\?next=/console/people", path)
    assert sent == path.partition("?")[0]
    [form] = [form for form in guest.page(path).forms if form.action == sent]
    assert form.fields["_next"] == "/console/people"
    wrong = guest.post(sent, {"code": "000000", "_next": "/console/people"})
    assert wrong.status_code == 401 and 'id="code-fault"' in wrong.text and "Set-Cookie" not in wrong.headers
    done = guest.post(sent, {"code": phone.new_code(), "_next": "/console/people"})
    assert (done.status_code, done.headers["Location"]) == (303, "/console/people"), done.text
    assert "gatepost_console" in done.headers["Set-Cookie"]
    with given.database.connected():
        [session] = Session.select().where(Session.owner_id == user.id, Session.kind == CONSOLE,
                                           Session.login.is_null(False))
    assert session.login == {"mfa": True}
    assert guest.get(path).status_code == 401, "a login is completed once"


def test_a_foreign_page_cannot_send_the_code_nor_choose_the_next_page(app, user, clock):
    phone = set_up(visit(app, user), clock)
    guest, path, sent = begun_login(app, user, "https://evil.example")
    assert path.endswith("?next=/console")
    code = phone.new_code()
    assert guest.client.post(sent, data={"code": code}, headers={"Origin": "https://evil.example"}).status_code == 403
    done = guest.post(sent, {"code": code, "_next": "//evil.example"})
    assert (done.status_code, done.headers["Location"]) == (303, "/console")


def test_a_login_that_is_over_leads_back(app, user, clock):
    phone = set_up(visit(app, user), clock)
    guest, _, sent = begun_login(app, user)
    for _ in range(5):
        assert guest.post(sent, {"code": "000000"}).status_code == 401
    last = guest.post(sent, {"code": phone.new_code()})
    assert last.status_code == 401 and "/console/login" in Seen.of(last).links
    for unknown in ("x", "a" * 43, "%00", "é" * 20):
        answer = guest.get(f"/console/login/code/{unknown}")
        assert 400 <= answer.status_code < 500, answer.text


def test_the_code_page_changes_nothing_when_it_is_looked_at(app, user, clock):
    phone = set_up(visit(app, user), clock)
    guest, path, sent = begun_login(app, user)
    for _ in range(7):
        assert guest.get(f"{path}&code=000000" if "?" in path else path).status_code in (200, 400)
        assert guest.client.head(path).status_code == 200
    assert guest.post(sent, {"code": phone.new_code()}).status_code == 303


def test_the_browser_does_not_pass_the_token_on(app, user, clock):
    set_up(visit(app, user), clock)
    guest, path, sent = begun_login(app, user)
    answers = [guest.get(path), guest.post(sent, {"code": "000000"}), guest.get(f"{sent}x"),
               guest.post(f"{sent}x", {"code": "1"}), guest.get(f"{path}&other=1")]
    assert [answer.status_code for answer in answers] == [200, 401, 401, 401, 400]
    # With `no-referrer`, browsers would send `Origin: null` with the form.
    assert {answer.headers["Referrer-Policy"] for answer in answers} == {"strict-origin"}


def test_faults_stand_beside_their_fields(app, given, user, clock):
    visitor = visit(app, user)
    with given.database.connected():
        Session.update(created_at=later(-601)).where(Session.owner_id == user.id).execute()
    missing = visitor.post(PAGE)
    assert missing.status_code == 403 and 'id="second-factor-current_password-fault"' in missing.text
    begun = visitor.post(PAGE, {"current_password": PASSWORD})
    assert begun.status_code == 200
    wrong = visitor.post(f"{PAGE}/confirm", {"code": "000000"})
    assert wrong.status_code == 400 and 'id="confirm-code-fault"' in wrong.text
    assert "data:image" not in wrong.text, "the secret is shown once"
    assert kept(given, user).confirmed_at is None
    secret = next(tag["value"] for name, tag in Seen.of(begun).tags if name == "input" and tag.get("id") == "secret")
    phone = Phone(secret, clock)
    assert visitor.post(f"{PAGE}/confirm", {"code": phone.code()}).status_code == 200
    wrong = visitor.post(f"{PAGE}/remove", {"code": "000000", "current_password": PASSWORD})
    assert wrong.status_code == 403 and 'id="remove-code-fault"' in wrong.text
    assert 'id="recovery-codes-code-fault"' not in wrong.text


def test_new_codes_and_removal(app, given, user, clock):
    visitor = visit(app, user)
    phone = set_up(visitor, clock)
    renewed = visitor.post(f"{PAGE}/recovery-codes", {"code": phone.recovery_codes[0]})
    assert renewed.status_code == 200 and len(set(codes_of(renewed.text)) - set(phone.recovery_codes)) == 10
    removed = visitor.post(f"{PAGE}/remove", {"code": phone.new_code()})
    assert (removed.status_code, removed.headers["Location"]) == (303, f"{PAGE}?removed=1")
    assert "was removed" in visitor.page(removed.headers["Location"]).text
    assert kept(given, user) is None


def test_an_administrator_removes_that_of_a_user(app, given, user, clock):
    admin, path = visit(app, "admin"), f"/console/people/{user.id}"
    assert f"{path}/remove-second-factor" not in admin.page(path).links, "there is none"
    set_up(visit(app, user), clock)
    assert f"{path}/remove-second-factor" in admin.page(path).links
    assert "really them" in admin.page(f"{path}/remove-second-factor").text
    done = admin.post(f"{path}/remove-second-factor")
    assert (done.status_code, done.headers["Location"]) == (303, path)
    assert kept(given, user) is None
    again = admin.post(f"{path}/remove-second-factor")
    assert again.status_code == 409 and "no second factor" in again.text
    assert visit(app, "user").get(f"{path}/remove-second-factor").status_code in (403, 404)


def test_a_guest_sees_none_of_the_pages(app, user):
    guest = visit(app)
    for path in (PAGE, f"/console/people/{user.id}/remove-second-factor"):
        assert guest.get(path).headers["Location"].startswith("/console/login?next="), path
    assert guest.post(PAGE).status_code == 303
    assert app.test_client().get(OWN).status_code == 401
