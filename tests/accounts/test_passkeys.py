"""Passkeys: a login that only the device of the user completes, once, on this domain."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from click.testing import CliRunner

from blueprints.accounts.passkeys import ceremonies, challenges, configured
from blueprints.accounts.passkeys.checks import check
from blueprints.privacy.exporting import lines
from gatepost.collections import erasing
from gatepost.features import Installation
from gatepost.health.check_result import State
from gatepost.testing.serving import run_jobs
from models.base import later
from models.tables.audit import Audit
from models.tables.passkey import MOST, Passkey, UsedChallenge
from models.tables.session import Session
from models.tables.user import User
from settings import Settings
from tests.accounts.authenticator import Device
from tests.apps import PASSWORD, close, make_app
from tests.http.console.pages import COOKIE, Seen, Visitor, visit
from tests.mail.conftest import serving
from tests.mail.post_office import post_office

PAGE, LOGIN, HOST = "/console/account/passkeys", "/console/login/passkey", "api.example.org"
ORIGIN = f"https://{HOST}"
SETTINGS = {"rp_id": "example.org", "public_url": ORIGIN}
SECURE = f"__Host-{COOKIE}"


@pytest.fixture(scope="module")
def on(instance_folder, database_url):
    app = make_app(instance_folder, database_url, **SETTINGS)
    yield app
    close(app)


@pytest.fixture
def user(given):
    return given.user(password=PASSWORD)


class Secure(Visitor):
    """A visitor over HTTPS."""

    def post(self, path, values=None, headers=None, **more):
        return super().post(path, values, {"Origin": ORIGIN, **(headers or {})}, **more)


def visitor(app, who="guest"):
    """A visitor over HTTPS, where the cookie has another name."""
    plain = visit(app, who)
    found = Secure(plain.client, plain.user)
    if found.user is None:
        return found
    found.client.set_cookie(SECURE, found.client.get_cookie(COOKIE, path="/console").value, path="/")
    found.client.delete_cookie(COOKIE, path="/console")
    return found


def options(seen):
    [found] = [json.loads(tag["data-options"]) for name, tag in seen.tags if name == "form" and "data-options" in tag]
    return found


def begin(member):
    answer = member.post(f"{PAGE}/begin", {})
    assert answer.status_code == 200, answer.text
    return options(Seen.of(answer))


def added(app, user, **changes):
    """Adds a passkey to the account, and returns its device."""
    member, device = visitor(app, user), Device(ORIGIN, **changes)
    answer = member.post(PAGE, {"name": "Phone", "credential": device.create(begin(member))})
    assert (answer.status_code, answer.headers["Location"]) == (303, f"{PAGE}?done=1"), answer.text
    return device


def asked(app):
    return options(visitor(app).page(LOGIN))


def send(app, credential, **more):
    return visitor(app).post(LOGIN, {"credential": credential, **more})


def is_refused(answer):
    assert answer.status_code == 401, answer.text
    assert "This passkey is not known here, or it took too long." in Seen.of(answer).text
    assert answer.headers.getlist("Set-Cookie") == []
    return True


def sessions(given, user):
    with given.database.connected():
        return list(Session.select().where(Session.owner_id == user.id, Session.login.is_null(False)))


@pytest.mark.both_databases
def test_a_user_adds_a_passkey_and_logs_in_with_it(on, given, user):
    device = added(on, user)
    assert "Phone" in visitor(on, user).page(PAGE).text
    answer = send(on, device.get(asked(on)), _next="/console/account")
    assert (answer.status_code, answer.headers["Location"]) == (303, "/console/account")
    assert SECURE in answer.headers["Set-Cookie"]
    [session] = sessions(given, user)
    assert session.login == {"mfa": True, "passkey": passkeys(given, user)[0].id}
    assert passkeys(given, user)[0].last_used_at is not None
    with given.database.connected():
        event = Audit.select().where(Audit.resource_id == session.id).get()
    assert event.reason.endswith("with a passkey")


@pytest.mark.both_databases
def test_a_session_that_ends_meanwhile_adds_no_passkey(on, given, user, monkeypatch):
    """A link by mail may end it while the request is under way, and remove the passkeys of a stranger."""
    member, device = visitor(on, user), Device(ORIGIN)
    credential, created = device.create(begin(member)), ceremonies.created

    def end_meanwhile(*arguments):
        given.database.transact(lambda: Session.update(revoked_at=later(-1)).where(
            Session.owner_id == user.id).execute())
        return created(*arguments)

    monkeypatch.setattr(ceremonies, "created", end_meanwhile)
    assert member.post(PAGE, {"name": "Phone", "credential": credential}).status_code in (303, 401)
    assert passkeys(given, user) == []


def passkeys(given, user):
    with given.database.connected():
        return list(Passkey.select().where(Passkey.owner_id == user.id))


def test_options_demand_a_verified_user_and_a_passkey_that_the_device_knows(on, user):
    member = visitor(on, user)
    wanted = begin(member)
    assert wanted["rp"]["id"] == "example.org"
    assert wanted["authenticatorSelection"] == {
        "residentKey": "required", "requireResidentKey": True, "userVerification": "required"}
    assert asked(on)["userVerification"] == "required"
    assert asked(on).get("allowCredentials", []) == [], "it names no user"
    assert asked(on)["challenge"] != asked(on)["challenge"]
    device = added(on, user)
    assert [len(one["id"]) for one in begin(member)["excludeCredentials"]] == [43]
    assert device.id


@pytest.mark.both_databases
@pytest.mark.parametrize("changes", [
    {"origin": "https://evil.example"}, {"origin": f"http://{HOST}"}, {"origin": f"{ORIGIN}:444"},
    {"origin": "https://example.org"}, {"rp_id": "evil.example"}, {"rp_id": HOST}, {"type": "webauthn.create"},
    {"challenge": "AAAA"}, {"key": Device(ORIGIN).key}, {"handle": bytes(16)}], ids=" ".join)
def test_another_answer_is_refused(changes, on, given, user):
    device = added(on, user)
    assert is_refused(send(on, device.get(asked(on), **changes)))
    assert sessions(given, user) == []
    assert send(on, device.get(asked(on))).status_code == 303, "and the passkey goes on"


def test_a_user_who_was_not_verified_is_refused(on, given, user):
    device = added(on, user)
    device.verifies = False
    assert is_refused(send(on, device.get(asked(on))))
    member, other = visitor(on, user), Device(ORIGIN, verifies=False)
    assert member.post(PAGE, {"name": "Key", "credential": other.create(begin(member))}).status_code == 409


@pytest.mark.parametrize("changes", [{"origin": "https://evil.example"}, {"rp_id": HOST}, {"type": "webauthn.get"},
                                     {"challenge": "AAAA"}], ids=str)
def test_another_answer_adds_no_passkey(changes, on, given, user):
    member = visitor(on, user)
    answer = member.post(PAGE, {"name": "Key", "credential": Device(ORIGIN).create(begin(member), **changes)})
    assert answer.status_code == 409
    assert passkeys(given, user) == []


@pytest.mark.both_databases
def test_an_answer_counts_once(on, given, user):
    device = added(on, user)
    answer = device.get(asked(on))
    assert send(on, answer).status_code == 303
    assert is_refused(send(on, answer))
    member, other = visitor(on, user), Device(ORIGIN)
    body = {"name": "Key", "credential": other.create(begin(member))}
    assert [member.post(PAGE, body).status_code for _ in range(2)] == [303, 409]


@pytest.mark.both_databases
def test_of_parallel_answers_one_logs_in(on, given, user):
    device, count = added(on, user), 6
    answer, start = device.get(asked(on)), Barrier(count)

    def work(_):
        start.wait()
        return send(on, answer).status_code

    with ThreadPoolExecutor(count) as threads:
        statuses = sorted(threads.map(work, range(count)))
    assert statuses[0] == 303
    assert set(statuses[1:]) <= {401, 409}, statuses
    assert len(sessions(given, user)) == 1


def test_a_challenge_lasts_five_minutes_and_is_for_one_purpose(on, user, monkeypatch):
    device = added(on, user)
    wanted = asked(on)
    keys = on.extensions["gatepost"].keys
    challenge = challenges.new(keys, "login", 1000.0)
    assert [challenges.is_valid(keys, "login", challenge, at) for at in (1000, 1299, 1300)] == [True, True, False]
    assert not challenges.is_valid(keys, "create x", challenge, 1000)
    assert not challenges.is_valid(keys, "login", challenge[:-1] + bytes([challenge[-1] ^ 1]), 1000)
    assert not challenges.is_valid(keys, "login", b"", 1000)
    creation = begin(visitor(on, user))["challenge"]
    assert is_refused(send(on, device.get(wanted, challenge=creation)))


def test_a_passkey_begun_by_one_user_is_not_added_to_another(on, given, user):
    other = given.user(password=PASSWORD)
    credential = Device(ORIGIN).create(begin(visitor(on, user)))
    assert visitor(on, other).post(PAGE, {"name": "Key", "credential": credential}).status_code == 409
    assert passkeys(given, other) == []


@pytest.mark.both_databases
def test_a_counter_that_does_not_grow_is_refused_and_recorded(on, given, user):
    device = added(on, user, count=5)
    assert send(on, device.get(asked(on))).status_code == 303
    device.count = 3  # a copy of the device
    assert is_refused(send(on, device.get(asked(on))))
    on.extensions["gatepost"].audit_writer.flush(early=True)
    with given.database.connected():
        [event] = Audit.select().where(Audit.resource_id == user.id, Audit.result == "failed")
    assert (event.resource, event.action) == ("session", "create")
    device.count = 6
    assert send(on, device.get(asked(on))).status_code == 303


@pytest.mark.parametrize("change", [{"active": False}, {"erased_at": later(-1)}, {"role": "no such role"}])
def test_a_user_who_may_not_log_in_does_not(change, on, given, user):
    device = added(on, user)
    given.database.transact(lambda: User.update(**change).where(User.id == user.id).execute())
    assert send(on, device.get(asked(on))).status_code in (401, 403)
    assert sessions(given, user) == []


@pytest.mark.parametrize("text", ["", "x", "[]", "{}", "null", '{"response": 1}', '{"response": {}}', "9" * 19_000,
                                  '{"id": "\\u0000", "response": {"clientDataJSON": "e30"}}', "[" * 10_000,
                                  '{"id": "AA", "rawId": 1, "response": {"clientDataJSON": "bnVsbA"}}'])
def test_hostile_answers_are_refused(text, on, user):
    assert send(on, text).status_code in (400, 401)
    assert visitor(on, user).post(PAGE, {"name": "Key", "credential": text}).status_code in (400, 409)


def test_an_unknown_passkey_and_a_removed_one_are_refused_alike(on, given, user):
    member, device = visitor(on, user), added(on, user)
    [passkey] = passkeys(given, user)
    assert is_refused(send(on, Device(ORIGIN).get(asked(on))))
    assert member.post(f"{PAGE}/{passkey.id}/remove", {}).status_code == 303
    assert passkeys(given, user) == []
    assert is_refused(send(on, device.get(asked(on))))


@pytest.mark.both_databases
def test_nobody_removes_the_passkey_of_another(on, given, elsewhere, user):
    added(on, user)
    [passkey] = passkeys(given, user)
    for stranger in (given.user(), given.user("admin"), elsewhere.user("admin")):
        assert visitor(on, stranger).post(f"{PAGE}/{passkey.id}/remove", {}).status_code == 404
        assert "Phone" not in visitor(on, stranger).page(PAGE).text
    assert len(passkeys(given, user)) == 1


def test_later_than_ten_minutes_after_the_login_it_takes_the_password(on, given, user):
    added(on, user)
    [passkey] = passkeys(given, user)
    member = visitor(on, user)
    given.database.transact(lambda: Session.update(created_at=later(-700)).where(Session.owner_id == user.id).execute())
    for path in (f"{PAGE}/begin", f"{PAGE}/{passkey.id}/remove"):
        for body, text in (({}, "This needs your current password"), ({"current_password": "x"}, "password is wrong")):
            answer = member.post(path, body)
            assert answer.status_code == 403
            assert text in Seen.of(answer).text
        assert member.post(path, {"current_password": PASSWORD}).status_code in (200, 303)


def test_a_passkey_belongs_to_one_account(on, given, user):
    device, other = added(on, user), given.user(password=PASSWORD)
    member = visitor(on, other)
    assert member.post(PAGE, {"name": "Key", "credential": device.create(begin(member))}).status_code == 409


def test_a_user_has_few_passkeys(on, given, user):
    for number in range(MOST):
        given.row(Passkey(owner_id=user.id, name="Key", rp_id="example.org", credential_id=f"{user.id}{number}",
                          public_key="", sign_count=0))
    assert visitor(on, user).post(f"{PAGE}/begin", {}).status_code == 409


def test_forms_of_another_origin_are_refused(on, user):
    device = added(on, user)
    body = {"credential": device.get(asked(on))}
    for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {}):
        assert on.test_client().post(LOGIN, data=body, headers=headers).status_code == 403
    assert send(on, body["credential"]).status_code == 303


@pytest.mark.parametrize("wanted", ["https://evil.example", "//evil.example", "/\\evil.example", "/api/users"])
def test_a_login_leads_nowhere_but_to_the_console(wanted, on, user):
    device = added(on, user)
    assert send(on, device.get(asked(on)), _next=wanted).headers["Location"] == "/console"


@pytest.mark.both_databases
def test_the_export_has_passkeys_and_an_erasure_none(on, given, user):
    device = added(on, user)
    collections = on.extensions["gatepost"].collections
    [line] = [line for line in lines(given.database, user, collections) if line["about"] == "passkeys"]
    assert set(line["row"]) == {"name", "rp_id", "created_at", "last_used_at"}
    erasing.begin(given.database, user, None)
    erasing.erase_rows(given.database, user, collections, None)
    assert passkeys(given, user) == []
    assert is_refused(send(on, device.get(asked(on))))


def test_used_challenges_are_forgotten(on, given, user):
    added(on, user)
    given.database.transact(lambda: UsedChallenge.purge(later(challenges.LASTS + 60), 1000))
    with given.database.connected():
        assert not UsedChallenge.select().exists()


@pytest.mark.parametrize(("more", "reason"), [
    ({"public_url": ""}, "not public_url"), ({"public_url": "http://api.example.org"}, "https://"),
    ({"public_url": "https://192.0.2.1"}, "neither the host"), ({"public_url": "https://badexample.org"}, "neither"),
    ({"rp_id": "localhost", "public_url": "http://localhost:8000"}, None), (SETTINGS, None),
    ({"rp_id": HOST, "public_url": f"{ORIGIN}/base"}, None)])
def test_the_domain_must_be_that_of_the_pages(more, reason, tmp_path):
    settings = Settings(instance=tmp_path, **{**SETTINGS, **more})
    found = configured.obstacle(settings)
    assert (found is None) == (reason is None), found
    assert reason is None or reason in found
    assert configured.is_on(settings) == (reason is None)


@pytest.mark.parametrize("value", ["192.0.2.1", "::1", "[::1]", "org", "https://example.org", "example.org:443",
                                   "Example.org", "-x.example.org", "example..org", "exa mple.org", "1.2.3"])
def test_an_address_or_another_text_is_no_domain(value, monkeypatch, tmp_path):
    monkeypatch.setenv("GATEPOST_INSTANCE", str(tmp_path))
    monkeypatch.setenv("GATEPOST_RP_ID", value)
    with pytest.raises(Exception, match="GATEPOST_RP_ID"):
        Settings.load()


def test_the_origin_is_that_of_the_setting_and_has_no_default_port(tmp_path):
    for url, origin in ((f"{ORIGIN}:443/base", ORIGIN), (f"{ORIGIN}:8443", f"{ORIGIN}:8443"),
                        ("http://localhost:8000", "http://localhost:8000")):
        assert configured.origin(Settings(instance=tmp_path, public_url=url)) == origin


def test_another_domain_orphans_passkeys_and_the_doctor_counts_them(on, given, user, instance_folder, database_url):
    device = added(on, user)
    settings = on.extensions["gatepost"].settings
    given.database.transact(lambda: Passkey.delete().where(Passkey.owner_id != user.id).execute())
    assert check(Installation(settings, given.database)) == (State.OK, "on, for example.org")
    moved = make_app(instance_folder, database_url, **{**SETTINGS, "rp_id": HOST})
    try:
        found = check(Installation(moved.extensions["gatepost"].settings, given.database))
        assert found == (State.DEGRADED,
                         f"cannot be used, because rp_id is {HOST}: 1 passkey of example.org")
        assert is_refused(send(moved, device.get({**asked(moved), "rpId": "example.org"})))
        assert "another domain" in visitor(moved, user).page(PAGE).text
    finally:
        close(moved)


def test_the_doctor_says_what_is_missing(given, tmp_path):
    settings = Settings(instance=tmp_path, rp_id="example.org")
    assert check(Installation(settings, given.database)) == (State.DEGRADED, "off: rp_id is set, but not public_url")


def test_without_the_setting_there_are_no_pages(app, given, user):
    assert app.test_client().get(LOGIN).status_code == 404
    assert "passkey" not in app.test_client().get("/console/login").text.lower()
    assert "passkey" not in visit(app, user).page("/console/account").text.lower()


def test_the_host_of_a_request_does_not_matter(on, user):
    device = added(on, user)
    wanted = options(Seen.of(on.test_client().get(LOGIN, headers={"Host": "evil.example"})))
    assert wanted["rpId"] == "example.org"
    assert is_refused(send(on, device.get(wanted, origin="https://evil.example")))


def test_a_command_removes_all_passkeys_of_a_user(on, given, user, instance_folder, database_url, monkeypatch):
    from blueprints.accounts.passkeys.commands import remove

    added(on, user)
    monkeypatch.setenv("GATEPOST_INSTANCE", str(instance_folder))
    monkeypatch.setenv("GATEPOST_DATABASE_URL", database_url)
    done = CliRunner().invoke(remove, [user.email])
    assert (done.exit_code, done.output) == (0, "Removed: 1.\n")
    assert passkeys(given, user) == []


def test_rules_see_two_factors(on, given, user):
    """A session that a passkey opened has `r.sub.mfa`; the attribute is read from `session.login`."""
    from blueprints.accounts import has_second_factor

    device = added(on, user)
    assert send(on, device.get(asked(on))).status_code == 303
    assert has_second_factor(sessions(given, user)[0])


@pytest.mark.both_databases
def test_the_user_is_told_by_mail(instance_folder, database_url, given, user):
    with post_office() as office, serving(instance_folder, database_url, office, **SETTINGS) as app:
        added(app, user)
        assert visitor(app, user).post(f"{PAGE}/{passkeys(given, user)[0].id}/remove", {}).status_code == 303
        run_jobs(app)
    assert [(one["To"], one["Subject"]) for one in office.messages] == [
        (user.email, f"Your account on {HOST} has a new passkey"),
        (user.email, f"A passkey of your account on {HOST} was removed")]
