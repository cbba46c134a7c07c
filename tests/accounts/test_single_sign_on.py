"""Logins with an identity provider: the flow, identities, and what a provider or a browser must not do."""

from __future__ import annotations

import logging
import re
import warnings
from base64 import urlsafe_b64encode
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from blueprints.privacy.exporting import lines
from gatepost.collections import erasing
from gatepost.http.request.identity import hashed
from gatepost.testing import log_in as caller_of
from models.base import later
from models.records.times import elapsed, now
from models.tables.audit import Audit
from models.tables.identity import Identity
from models.tables.provider_message import ProviderMessage
from models.tables.session import Session
from models.tables.user import User
from tests.accounts.conftest import app_with
from tests.accounts.phones import enrol
from tests.accounts.provider import CLIENT, SECRET, parameters
from tests.apps import PASSWORD, Given
from tests.http.console.pages import ORIGIN, Seen, visit

pytestmark = pytest.mark.usefixtures("no_identities")

START = "/console/login/with/team"
BACK = f"{START}/back"
SUBJECT = "248289761001"
CONNECT = "/console/account/identities/connect"


def begin(visitor, path=START):
    answer = visitor.get(path)
    assert answer.status_code == 303, answer.text
    return answer.headers["Location"]


def back(visitor, path):
    """Follows the provider's redirect, and sends the form of the page as the script does."""
    [form] = visitor.page(path).forms
    assert form.action == BACK
    return visitor.post(form.action, form.fields)


def log_in(visitor, provider, path=START):
    return back(visitor, provider.authorize(begin(visitor, path)))


def is_logged_in(visitor):
    return visitor.get("/console/account").status_code == 200


def refused(answer, text=""):
    """The page of a refused login: a sentence, and a way on."""
    assert answer.status_code == 403, (answer.status_code, answer.headers.get("Location"))
    seen = Seen.of(answer)
    assert "/console/login" in seen.links
    assert text in seen.text
    return seen


def connect(given, provider, user, subject=SUBJECT):
    with given.database.connected():  # a provider of an earlier test may have had this port
        Identity.delete().where(Identity.issuer == provider.issuer, Identity.subject == subject).execute()
    return given.row(Identity(owner_id=user.id, issuer=provider.issuer, subject=subject))


def sessions(given, user):
    with given.database.connected():
        return list(Session.select().where(Session.owner_id == user.id, Session.revoked_at.is_null()))


def users(given):
    with given.database.connected():
        return User.select().count()


@pytest.fixture
def user(given, provider):
    user = given.user("admin", password=PASSWORD)
    connect(given, provider, user)
    return user


# The flow


@pytest.mark.both_databases
def test_a_user_logs_in(team, given, provider, user):
    visitor = visit(team)
    assert f"{START}?next=/console/audit" in visitor.page("/console/login?next=/console/audit").links
    answer = log_in(visitor, provider, f"{START}?next=/console/audit")
    assert (answer.status_code, answer.headers["Location"]) == (303, "/console/audit"), answer.text
    assert is_logged_in(visitor)
    [session] = sessions(given, user)
    assert session.login["issuer"] == "team"
    assert session.login["sid"] == "session one"
    assert "mfa" not in session.login
    assert 0 < elapsed(now(), session.absolute_expires_at) <= 12 * 3600
    with given.database.connected():
        [identity] = Identity.select().where(Identity.owner_id == user.id)
        event = Audit.select().where(Audit.resource_id == session.id).get()
    assert identity.last_used_at is not None
    assert (event.action, event.principal, event.reason.endswith("with team")) == ("create", f"user:{user.id}", True)


def test_the_request_has_pkce_and_two_values_that_nobody_guesses(team, provider):
    visitor = visit(team)
    first, second = (parameters(begin(visitor)) for _ in range(2))
    assert first["redirect_uri"] == ["http://localhost/console/login/with/team/back"]
    assert first["scope"] == ["openid profile email"]
    assert (first["response_type"], first["code_challenge_method"]) == (["code"], ["S256"])
    secret = {name: first[name][0] for name in ("state", "nonce", "code_challenge")}
    assert {len(value) for value in secret.values()} == {43}
    assert len({*secret.values(), *(second[name][0] for name in secret)}) == 6
    assert "prompt" not in first


def test_a_page_of_another_site_begins_no_login(team):
    """A provider that knows the browser would open a session without a click (ASVS 7.6.2)."""
    answer = visit(team).get(f"{START}?next=/console/audit", headers={"Sec-Fetch-Site": "cross-site"})
    assert (answer.status_code, answer.headers["Location"]) == (303, "/console/login?next=/console/audit")
    assert answer.headers.getlist("Set-Cookie") == []
    for site in ("same-origin", "none"):
        assert "/console/login" not in visit(team).get(START, headers={"Sec-Fetch-Site": site}).headers["Location"]


def test_the_cookie_survives_the_way_back_and_no_script_reads_it(team):
    [cookie] = visit(team).get(START).headers.getlist("Set-Cookie")
    assert cookie.startswith("gatepost_flow=")
    assert {"HttpOnly", "SameSite=Lax", "Max-Age=600", "Path=/console"} <= set(cookie.split("; "))


def test_over_https_the_cookie_belongs_to_the_host_and_the_host_header_changes_nothing(instance_folder, database_url,
                                                                                       provider):
    with app_with(instance_folder, database_url, provider, {"public_url": "https://gate.example.org/base"}) as app:
        answer = app.test_client().get(START, headers={"Host": "evil.example.org"})
    [cookie] = answer.headers.getlist("Set-Cookie")
    assert cookie.startswith("__Host-gatepost_flow=")
    assert {"Secure", "Path=/", "SameSite=Lax"} <= set(cookie.split("; "))
    assert parameters(answer.headers["Location"])["redirect_uri"] == [
        "https://gate.example.org/base/console/login/with/team/back"]


def test_the_page_that_the_provider_leads_to_changes_nothing(team, given, provider, user):
    visitor = visit(team)
    path = provider.authorize(begin(visitor))
    for _ in range(2):
        assert visitor.client.head(path).status_code == 200
        assert visitor.get(path).headers.getlist("Set-Cookie") == []
    assert provider.codes
    assert sessions(given, user) == []
    assert back(visitor, path).status_code == 303


@pytest.mark.parametrize("next", ["https://evil.example.org", "//evil.example.org", "/console/../../evil", "/api",
                                  "/console\\@evil.example.org"])
def test_no_login_leads_out_of_the_console(team, provider, user, next):
    answer = log_in(visit(team), provider, f"{START}?next={next}")
    assert answer.headers["Location"] == "/console"


def test_a_login_needs_the_browser_in_which_it_began(team, given, provider, user):
    one, other = visit(team), visit(team)
    path = provider.authorize(begin(one))
    begin(other)
    refused(back(other, path), "did not begin in this browser")
    assert sessions(given, user) == []
    stranger = visit(team)
    refused(back(stranger, path), "did not begin in this browser")
    assert not is_logged_in(other)
    assert provider.codes, "nothing was exchanged"


def test_a_form_of_another_page_is_refused(team, provider, user):
    visitor = visit(team)
    [form] = visitor.page(provider.authorize(begin(visitor))).forms
    for headers in ({"Origin": "https://evil.example.org"}, {"Sec-Fetch-Site": "cross-site"}, {}):
        assert visitor.client.post(BACK, data=form.fields, headers=headers).status_code == 403
    assert not is_logged_in(visitor)


def test_a_cookie_that_was_changed_or_is_old_is_none(team, provider, user, monkeypatch):
    visitor = visit(team)
    path = provider.authorize(begin(visitor))
    cookie = visitor.client.get_cookie("gatepost_flow", path="/console").value
    for changed in (cookie[:-2] + "aa", cookie.partition(".")[0], "", ".", f"{cookie}.", "é", "a." + "b" * 43):
        visitor.client.set_cookie("gatepost_flow", changed, path="/console")
        refused(back(visitor, path), "did not begin in this browser")
    visitor.client.set_cookie("gatepost_flow", cookie, path="/console")
    monkeypatch.setattr("blueprints.accounts.single_sign_on.flow.now", lambda: later(601))
    refused(back(visitor, path), "did not begin in this browser")
    monkeypatch.undo()
    assert back(visitor, path).status_code == 303


def test_the_cookie_of_a_pending_identity_is_no_flow(team, given, provider):
    visitor = visit(team)
    assert log_in(visitor, provider).status_code == 401
    pending = visitor.client.get_cookie("gatepost_pending", path="/console").value
    path = provider.authorize(begin(visitor))
    visitor.client.set_cookie("gatepost_flow", pending, path="/console")
    refused(back(visitor, path), "did not begin in this browser")


@pytest.mark.both_databases
def test_a_code_counts_once_and_ends_both_sessions(team, given, provider, user):
    visitor, thief = visit(team), visit(team)
    path = provider.authorize(begin(visitor))
    cookie = visitor.client.get_cookie("gatepost_flow", path="/console").value
    assert back(visitor, path).status_code == 303
    assert is_logged_in(visitor)
    thief.client.set_cookie("gatepost_flow", cookie, path="/console")
    refused(back(thief, path), "used before")
    assert not is_logged_in(visitor)
    assert not is_logged_in(thief)
    assert sessions(given, user) == []


@pytest.mark.both_databases
def test_the_same_login_with_another_code_ends_both_sessions(team, given, provider, user):
    visitor = visit(team)
    url = begin(visitor)
    first, second = provider.authorize(url), provider.authorize(url)
    cookie = visitor.client.get_cookie("gatepost_flow", path="/console").value
    assert back(visitor, first).status_code == 303
    visitor.client.set_cookie("gatepost_flow", cookie, path="/console")
    refused(back(visitor, second), "used before")
    assert sessions(given, user) == []


@pytest.mark.both_databases
def test_of_two_simultaneous_uses_of_a_code_at_most_one_lasts(team, given, provider, user):
    visitor = visit(team)
    path = provider.authorize(begin(visitor))
    cookie = visitor.client.get_cookie("gatepost_flow", path="/console").value
    [form] = visitor.page(path).forms

    def use(_):
        client = team.test_client()
        client.set_cookie("gatepost_flow", cookie, path="/console")
        return client.post(BACK, data=form.fields, headers=ORIGIN).status_code

    with ThreadPoolExecutor(4) as pool:
        statuses = sorted(pool.map(use, range(4)))
    assert statuses in ([303, 403, 403, 403], [403, 403, 403, 403])
    assert sessions(given, user) == [], "a code that came again ends the session that it opened"


def test_an_error_of_the_provider_is_a_page_without_its_text(team, provider, caplog):
    visitor = visit(team)
    begin(visitor)
    answer = visitor.get(f"{BACK}?error=access_denied&error_description=Call+0900+1234&state=x")
    assert "0900" not in refused(answer, "has not logged you in").text
    assert "access_denied" in caplog.text
    refused(visitor.get(f"{BACK}?error=%0Aforged"), "has not logged you in")
    assert "forged" not in caplog.text
    refused(visitor.get(BACK), "has not logged you in")
    refused(visitor.get(f"{BACK}?code=a&code=b&state=c"), "has not logged you in")


@pytest.mark.parametrize("form", [{}, {"code": "x"}, {"code": "x" * 9000, "state": "y"}, {"code": "", "state": ""},
                                  {"code": "x", "state": "y", "other": "z"}, {"code": "x", "state": "ÿ"},
                                  {"code": "x", "state": "y", "iss": "z" * 3000}])
def test_a_form_that_nobody_sent_is_refused_with_a_page(team, form):
    visitor = visit(team)
    begin(visitor)
    answer = visitor.post(BACK, form)
    assert answer.status_code in (400, 403)
    assert "/console/login" in Seen.of(answer).links


def test_an_unknown_provider_is_not_found(team):
    for path in ("/console/login/with/nobody", "/console/login/with/nobody/back?code=a&state=b"):
        assert visit(team).get(path).status_code == 404


def test_a_browser_that_is_logged_in_must_log_in_anew_at_the_provider(team, provider, user):
    visitor = visit(team)
    log_in(visitor, provider)
    assert parameters(begin(visitor))["prompt"] == ["login"]


# What a provider says


def test_the_issuer_of_the_answer_must_be_the_provider(team, given, provider, user):
    visitor = visit(team)
    for replaced in ("", "&iss=http://x"):
        path = re.sub(r"&iss=[^&]*", replaced, provider.authorize(begin(visitor)))
        refused(back(visitor, path))
    assert sessions(given, user) == []


def test_a_provider_that_does_not_announce_the_issuer_need_not_send_it(team, provider, user):
    provider.document["authorization_response_iss_parameter_supported"] = None
    visitor = visit(team)
    path = re.sub(r"&iss=[^&]*", "", provider.authorize(begin(visitor)))
    assert back(visitor, path).status_code == 303


MOMENT = 1_800_000_000


@pytest.mark.parametrize("claims", [
    {"iss": "http://127.0.0.1:1"}, {"iss": None}, {"aud": "another client"}, {"aud": None}, {"aud": []},
    {"aud": [CLIENT, "another client"]}, {"aud": [CLIENT, "another client"], "azp": "another client"},
    {"azp": "another client"}, {"aud": {"gate": 1}}, {"exp": 1}, {"exp": None}, {"exp": "soon"}, {"exp": True},
    {"exp": 1e400}, {"iat": MOMENT * 2}, {"iat": None}, {"iat": "now"}, {"nonce": "another"}, {"nonce": None},
    {"nonce": 5}, {"sub": None}, {"sub": ""}, {"sub": 5}, {"sub": "x" * 256}, {"sub": "a\x00b"}, {"at_hash": "wrong"},
    {"nbf": MOMENT * 2}], ids=str)
def test_an_id_token_is_checked(team, given, provider, user, claims, caplog):
    provider.claims = claims
    visitor = visit(team)
    refused(log_in(visitor, provider), "The Team did not complete the login")
    assert sessions(given, user) == []
    assert "a login with team was refused" in caplog.text


def test_the_hash_of_the_access_token_is_compared(team, provider, user):
    digest = sha256(b"an access token").digest()
    provider.claims = {"at_hash": urlsafe_b64encode(digest[:16]).rstrip(b"=").decode()}
    assert log_in(visit(team), provider).status_code == 303


def test_several_audiences_need_the_client_as_the_authorized_party(team, provider, user):
    provider.claims = {"aud": [CLIENT, "another client"], "azp": CLIENT}
    assert log_in(visit(team), provider).status_code == 303


def forged(provider, key, alg, **header):
    """Lets the provider sign with another key, which its key set does not have."""
    def sign(claims, **more):
        return jwt.encode({name: value for name, value in claims.items() if value is not None}, key, alg,
                          {"kid": "one", **header})

    provider.sign = sign


def test_a_token_without_a_signature_is_refused(team, given, provider, user):
    forged(provider, None, "none")
    refused(log_in(visit(team), provider))
    assert sessions(given, user) == []


def test_the_client_secret_and_the_public_key_sign_nothing(team, given, provider, user):
    forged(provider, SECRET.ljust(32, "x"), "HS256")
    refused(log_in(visit(team), provider))
    assert sessions(given, user) == []


def test_a_key_in_the_header_of_a_token_signs_nothing(team, given, provider, user):
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    jwk = jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key(), as_dict=True)
    for header in ({"jwk": jwk}, {"jku": f"{provider.issuer}/mine"}, {"jwk": jwk, "kid": "two"},
                   {"x5u": f"{provider.issuer}/mine"}):
        forged(provider, key, "RS256", **header)
        refused(log_in(visit(team), provider))
    assert sessions(given, user) == []
    assert "/mine" not in provider.asked


def test_a_header_that_must_be_understood_is_refused(team, provider, user):
    forged(provider, provider.keys["one"], "RS256", crit=["exp"])
    refused(log_in(visit(team), provider))


@pytest.mark.parametrize("token", ["", "a.b.c", "..", "x" * 70_000, 5, None, {}, ["a"], "é.é.é",
                                   "eyJhbGciOiJSUzI1NiJ9.e30"])
def test_an_answer_without_a_token_is_refused(team, provider, user, token):
    provider.answer = {"id_token": token}
    refused(log_in(visit(team), provider))


def test_keys_are_fetched_again_for_an_unknown_name_at_most_once_a_minute(team, provider, user, monkeypatch):
    clock = [1000.0]
    monkeypatch.setattr(team.extensions["gatepost"].feature("accounts").get("team"), "_clock", lambda: clock[0])
    assert log_in(visit(team), provider).status_code == 303
    assert provider.asked.count("/jwks") == 1
    assert log_in(visit(team), provider).status_code == 303
    assert provider.asked.count("/jwks") == 1
    provider.keys = {"two": rsa.generate_private_key(public_exponent=65537, key_size=2048)}
    refused(log_in(visit(team), provider))
    assert provider.asked.count("/jwks") == 1
    clock[0] += 61
    assert log_in(visit(team), provider).status_code == 303
    provider.keys = {"three": rsa.generate_private_key(public_exponent=65537, key_size=2048)}
    for _ in range(3):
        refused(log_in(visit(team), provider))
    assert provider.asked.count("/jwks") == 2
    assert provider.asked.count("/.well-known/openid-configuration") == 1


def test_keys_that_cannot_be_read_do_not_break_the_others(team, provider, user):
    keys = provider.key_set()["keys"]
    bad = [None, 5, {}, {"kty": "RSA"}, {"kty": "EC", "crv": "P-256", "x": "!", "y": "!"}, {"kty": "new"},
           {"kty": "OKP", "crv": "X448", "x": "AA"}, {"kty": "oct", "k": "AAAA", "kid": "one"},
           {**keys[0], "use": "enc"}, {**keys[0], "alg": "RSA-OAEP"}, {"kty": ["RSA"]},
           {"kty": "RSA", "n": "AQ", "e": "AQ", "kid": "one"}, {"kty": "RSA", "n": 5, "e": [], "kid": "one"}]
    provider.jwks = {"keys": [*bad, *keys]}
    assert log_in(visit(team), provider).status_code == 303


def test_a_short_key_is_not_accepted(team, provider, user):
    provider.keys = {"short": rsa.generate_private_key(public_exponent=65537, key_size=1024)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the library, which signs for the provider
        refused(log_in(visit(team), provider))


def test_a_curve_belongs_to_its_algorithm(team, given, provider, user):
    provider.keys = {"curve": ec.generate_private_key(ec.SECP256R1())}
    provider.jwks = {"keys": [{**jwt.algorithms.ECAlgorithm.to_jwk(provider.keys["curve"].public_key(), as_dict=True),
                               "kid": "curve"}]}
    provider.header = {"alg": "ES256"}
    assert log_in(visit(team), provider).status_code == 303


def test_the_second_factor_of_a_provider_is_noted(instance_folder, database_url, given, provider, user):
    with app_with(instance_folder, database_url, provider, mfa_acr=["silver"]) as app:
        for claims, has in (({"amr": ["pwd", "mfa"]}, True), ({"amr": "mfa"}, False), ({"acr": "silver"}, True),
                            ({"acr": "bronze", "amr": ["pwd"]}, False)):
            provider.claims = claims
            assert log_in(visit(app), provider).status_code == 303
            assert ("mfa" in max(sessions(given, user), key=lambda one: one.id).login) is has, claims


def test_a_login_counts_from_the_time_at_which_the_user_proved_who_they_are(team, given, provider, user):
    provider.claims = {"auth_time": 1_700_000_000}
    assert log_in(visit(team), provider).status_code == 303
    [session] = sessions(given, user)
    assert session.proved_at == "2023-11-14T22:13:20.000000Z"[:19] + session.proved_at[19:]
    for odd in ({"auth_time": MOMENT * 3}, {"auth_time": "yesterday"}, {"auth_time": -5}, {"auth_time": None}):
        provider.claims = odd
        assert log_in(visit(team), provider).status_code == 303
        newest = max(sessions(given, user), key=lambda one: one.id)
        assert elapsed(newest.proved_at, newest.created_at) < 5


@pytest.mark.both_databases
def test_a_user_with_a_second_factor_is_asked_for_a_code(team, given, provider, user, clock):
    phone = enrol(caller_of(team, user), clock)
    visitor = visit(team)
    path = provider.authorize(begin(visitor, f"{START}?next=/console/audit"))
    answer = back(visitor, path)
    page = answer.headers["Location"]
    assert (answer.status_code, page.endswith("?next=/console/audit")) == (303, True), answer.text
    assert not is_logged_in(visitor)
    [form] = visitor.page(page).forms
    answer = visitor.post(form.action or page, {**form.fields, "code": phone.new_code()})
    assert (answer.status_code, answer.headers["Location"]) == (303, "/console/audit"), answer.text
    [session] = [one for one in sessions(given, user) if one.kind == "console"]
    assert (session.login["issuer"], session.login["sid"], session.login["mfa"]) == ("team", "session one", True)
    with given.database.connected():
        event = Audit.select().where(Audit.resource_id == session.id).get()
    assert event.reason.endswith("with team, with a code")
    assert session.absolute_expires_at == session.login["until"]
    assert team.test_client().post(f"{START}/backchannel", data={
        "logout_token": provider.logout_token(sid="session one")}).status_code == 200
    assert not is_logged_in(visitor)


def test_the_provider_can_check_the_second_factor_itself(team, provider, user, clock):
    enrol(caller_of(team, user), clock)
    provider.claims = {"amr": ["pwd", "mfa"]}
    visitor = visit(team)
    assert log_in(visitor, provider).headers["Location"] == "/console"
    assert is_logged_in(visitor)


def test_a_code_that_comes_again_ends_the_session_after_a_second_factor(team, given, provider, user, clock):
    phone = enrol(caller_of(team, user), clock)
    visitor = visit(team)
    path = provider.authorize(begin(visitor))
    page = back(visitor, path).headers["Location"]
    [form] = visitor.page(page).forms
    assert visitor.post(form.action or page, {**form.fields, "code": phone.new_code()}).status_code == 303
    refused(back(visitor, path), "used before")
    assert not is_logged_in(visitor)


def test_a_session_ends_after_the_hours_of_its_provider(instance_folder, database_url, given, provider, user):
    with app_with(instance_folder, database_url, provider, session_hours=1) as app:
        log_in(visit(app), provider)
    [session] = sessions(given, user)
    assert elapsed(session.created_at, session.absolute_expires_at) <= 3600


# Identities


def test_neither_the_address_nor_the_name_is_an_identity(team, given, provider):
    user = given.user("admin", email="noor@example.org", name="Noor Visser")
    provider.claims = {"sub": "somebody else", "preferred_username": user.name}
    visitor = visit(team)
    answer = log_in(visitor, provider)
    assert answer.status_code == 401
    assert "not connected to an account" in Seen.of(answer).text
    assert not is_logged_in(visitor)
    assert sessions(given, user) == []
    given.database.transact(lambda: User.update({User.email: f"{user.id}@example.org"}).where(
        User.id == user.id).execute())


@pytest.mark.both_databases
def test_an_address_that_both_sides_have_verified_connects(team, given, provider):
    user = given.user("admin", email="both@example.org", email_verified_at=now())
    for claims in ({"email_verified": False}, {"email": "another@example.org"}):
        provider.claims = {"sub": "both", "email": "both@example.org", **claims}
        assert log_in(visit(team), provider).status_code == 401
    provider.claims["email"], provider.claims["email_verified"] = "Both@Example.org", True
    assert log_in(visit(team), provider).status_code == 303
    assert len(sessions(given, user)) == 1
    provider.claims["email"] = "renamed@example.org"
    assert log_in(visit(team), provider).status_code == 303, "from now on the identity counts"
    with given.database.connected():
        event = Audit.select().where(Audit.action == "connect", Audit.resource_id == user.id).get()
    assert event.principal == "system:single_sign_on"


def test_a_disabled_user_is_not_found_by_the_address(team, given, provider):
    user = given.user(email="away@example.org", email_verified_at=now(), active=False)
    provider.claims = {"sub": "away", "email": user.email}
    refused(log_in(visit(team), provider), "disabled")
    with given.database.connected():
        assert not Identity.select().where(Identity.owner_id == user.id).exists()


def test_the_identity_of_another_issuer_is_another_identity(team, given, provider):
    given.row(Identity(owner_id=given.user().id, issuer="https://other.example.org", subject=SUBJECT))
    assert log_in(visit(team), provider).status_code == 401


def test_a_disabled_user_is_refused(team, given, provider):
    user = given.user(active=False)
    connect(given, provider, user)
    refused(log_in(visit(team), provider), "disabled")
    assert sessions(given, user) == []


def test_a_user_of_another_tenant_logs_in_there(team, elsewhere, provider):
    user = elsewhere.user("admin")
    connect(elsewhere, provider, user)
    visitor = visit(team)
    assert log_in(visitor, provider).status_code == 303
    assert is_logged_in(visitor)
    [session] = sessions(elsewhere, user)
    assert session.tenant_id == elsewhere.tenant_id


@pytest.mark.both_databases
def test_a_user_connects_an_identity_after_the_password(team, given, provider):
    user = given.user("admin", password=PASSWORD)
    visitor = visit(team)
    answer = log_in(visitor, provider)
    assert answer.status_code == 401
    [path] = [link for link in Seen.of(answer).links if link.startswith("/console/login?next=")]
    [form] = [form for form in visitor.page(path).forms if form.action == "/console/login"]
    answer = visitor.post("/console/login", {**form.fields, "email": user.email, "password": PASSWORD})
    assert answer.headers["Location"] == CONNECT
    page = visitor.page(CONNECT)
    assert "noor@example.org" in page.text
    assert "The Team" in page.text
    [form] = [form for form in page.forms if form.action == CONNECT]
    assert "current_password" not in form.fields, "the login was a moment ago"
    assert visitor.post(CONNECT, form.fields).status_code == 303
    assert log_in(visit(team), provider).status_code == 303
    with given.database.connected():
        events = {event.action for event in Audit.select().where(Audit.principal == f"user:{user.id}")}
    assert "connect" in events
    assert "no login to connect" in visitor.page(CONNECT).text, "the cookie was cleared"


def test_a_user_connects_an_identity_on_the_account_page(team, given, provider):
    visitor = visit(team, given.user("admin", password=PASSWORD))
    path = next(link for link in visitor.page("/console/account/identities").links if "connect=1" in link)
    answer = back(visitor, provider.authorize(begin(visitor, path)))
    assert (answer.status_code, answer.headers["Location"]) == (303, CONNECT)
    assert visitor.post(CONNECT, {}).status_code == 303
    assert SUBJECT in visitor.page("/console/account/identities").text


def test_an_old_session_connects_only_with_the_password(team, given, provider):
    user = given.user("admin", password=PASSWORD)
    visitor = visit(team, user)
    given.database.transact(lambda: Session.update({Session.created_at: later(-700)}).where(
        Session.owner_id == user.id).execute())
    back(visitor, provider.authorize(begin(visitor, f"{START}?connect=1")))
    [form] = [form for form in visitor.page(CONNECT).forms if form.action == CONNECT]
    assert "current_password" in form.fields
    assert visitor.post(CONNECT, {}).status_code == 403
    assert visitor.post(CONNECT, {"current_password": "wrong wrong wrong"}).status_code == 403
    assert visitor.post(CONNECT, {"current_password": PASSWORD}).status_code == 303


@pytest.mark.both_databases
def test_an_identity_belongs_to_one_account(team, given, provider, user):
    visitor = visit(team, given.user("admin"))
    back(visitor, provider.authorize(begin(visitor, f"{START}?connect=1")))
    answer = visitor.post(CONNECT, {})
    assert answer.status_code == 409
    assert "another account" in Seen.of(answer).text
    assert visitor.post(CONNECT, {}, headers={"Origin": "https://evil.example.org"}).status_code == 403


def test_nothing_is_connected_without_a_proof(team, given):
    visitor = visit(team, given.user("admin"))
    assert visitor.post(CONNECT, {}).status_code == 409
    assert visit(team).get(CONNECT).headers["Location"].startswith("/console/login?next=")


def test_a_user_disconnects_an_identity(team, given, provider, user):
    visitor = visit(team)
    log_in(visitor, provider)
    caller = caller_of(team, user)
    [row] = caller.get("/api/profile/identities").json["data"]
    assert (row["provider"], row["issuer"], row["subject"]) == ("team", provider.issuer, SUBJECT)
    assert caller.delete("/api/profile/identities/01930000-0000-7000-8000-000000000000").status_code == 404
    other = caller_of(team, given.user())
    assert other.get("/api/profile/identities").json == {"data": []}
    assert other.delete(f"/api/profile/identities/{row['id']}").status_code == 404
    assert other.get(f"/api/users/{user.id}/identities").status_code == 403
    assert caller_of(team, given.user("owner")).get(f"/api/users/{user.id}/identities").json["data"] == [row]
    assert caller.delete(f"/api/profile/identities/{row['id']}").status_code == 204
    assert not is_logged_in(visitor), "its session has ended"
    assert log_in(visit(team), provider).status_code == 401


def test_nobody_disconnects_their_only_way_to_log_in(team, given, provider):
    user = given.user("admin")
    identity = connect(given, provider, user)
    assert caller_of(team, user).delete(f"/api/profile/identities/{identity.id}").status_code == 409
    visitor = visit(team, user)
    answer = visitor.post(f"/console/account/identities/{identity.id}/disconnect", {})
    assert answer.status_code == 409
    assert "only way" in Seen.of(answer).text
    connect(given, provider, user, "another one")
    assert visitor.post(f"/console/account/identities/{identity.id}/disconnect", {}).status_code == 303


# Accounts that are created


@pytest.fixture
def open_team(instance_folder, database_url, provider):
    with app_with(instance_folder, database_url, provider, create_users=True, domains=["example.org"]) as app:
        yield app


@pytest.mark.both_databases
def test_an_account_is_created_at_the_first_login(open_team, provider):
    given = Given(open_team, "default")
    provider.claims = {"sub": "new one", "email": "First@Example.org"}
    visitor = visit(open_team)
    assert log_in(visitor, provider).status_code == 303
    with given.database.connected():
        user = User.by_email("first@example.org")
        event = Audit.select().where(Audit.resource == "user", Audit.resource_id == user.id).get()
    assert (user.name, user.role, user.password_hash, user.tenant_id) == ("Noor Visser", "user", "!", given.tenant_id)
    assert (event.action, event.principal) == ("create", "system:single_sign_on")
    before = users(given)
    assert log_in(visit(open_team), provider).status_code == 303
    assert users(given) == before


@pytest.mark.parametrize("claims", [
    {"email_verified": False}, {"email_verified": None}, {"email_verified": "false"}, {"email_verified": 1},
    {"email": None}, {"email": "no address"}, {"email": 5}, {"email": "noor@example.com"},
    {"email": "noor@sub.example.org"}, {"email": "noor@example.org.evil.example"}, {"email": "a@b\n@example.org"}],
    ids=str)
def test_no_account_is_created_without_a_verified_address_of_the_domain(open_team, provider, claims):
    given = Given(open_team, "default")
    before = users(given)
    provider.claims = {"sub": "unknown", **claims}
    provider.profile = {"sub": "unknown"}
    assert log_in(visit(open_team), provider).status_code == 401
    assert users(given) == before


def test_no_account_is_created_where_the_address_has_one(open_team, provider):
    given = Given(open_team, "default")
    user = given.user(email="taken@example.org")
    provider.claims = {"sub": "not taken", "email": "Taken@Example.org"}
    before = users(given)
    assert log_in(visit(open_team), provider).status_code == 401
    assert users(given) == before
    assert sessions(given, user) == []


def test_a_name_that_nobody_may_have_is_replaced(open_team, provider):
    for number, name in enumerate(("", "a\u202eb", 5, "x" * 5000, None)):
        provider.claims = {"sub": f"odd {number}", "email": f"odd{number}@example.org", "name": name}
        assert log_in(visit(open_team), provider).status_code == 303
        with Given(open_team, "default").database.connected():
            assert User.by_email(f"odd{number}@example.org").name == f"odd{number}"


def test_the_profile_has_the_address_if_the_token_has_none(open_team, provider):
    provider.claims = {"sub": "lean", "email": None, "email_verified": None, "name": None}
    provider.profile = {"sub": "another", "email": "lean@example.org", "email_verified": True}
    refused(log_in(visit(open_team), provider))
    provider.profile["sub"] = "lean"
    assert log_in(visit(open_team), provider).status_code == 303


def test_a_role_that_the_policy_does_not_have_is_given_to_nobody(instance_folder, database_url, provider, caplog):
    with app_with(instance_folder, database_url, provider, create_users=True, role="zookeeper") as app:
        provider.claims = {"sub": "keeper", "email": "keeper@example.org"}
        refused(log_in(visit(app), provider))
    assert "oidc.team.role" in caplog.text


# Bounds, and what is written down


def test_nothing_secret_is_logged(team, provider, user, caplog):
    caplog.set_level(logging.DEBUG)
    visitor = visit(team)
    path = provider.authorize(begin(visitor))
    back(visitor, path)
    provider.claims = {"nonce": "another"}
    log_in(visit(team), provider)
    code = parameters(path)["code"][0]
    for secret in (code, SECRET, "an access token", parameters(path)["state"][0]):
        assert secret not in caplog.text


def test_messages_are_kept_no_longer_than_sessions(team, given, provider, user):
    log_in(visit(team), provider)
    [session] = sessions(given, user)
    with given.database.connected():
        message = ProviderMessage.select().where(ProviderMessage.owner_id == user.id).get()
    assert message.id == session.login["message"]
    assert message.expires_at >= session.absolute_expires_at
    assert message.flow_hash != hashed("")
    given.database.transact(lambda: ProviderMessage.purge(later(2 * 86_400), 1000))
    with given.database.connected():
        assert not ProviderMessage.select().exists()


@pytest.mark.both_databases
def test_an_export_has_identities_and_an_erasure_leaves_none(team, given, provider):
    user = given.user()
    connect(given, provider, user, "exported")
    provider.claims = {"sub": "exported", "sid": "session three"}
    log_in(visit(team), provider)
    collections = team.extensions["gatepost"].collections
    exported = {line["about"]: line["row"] for line in lines(given.database, user, collections) if "row" in line}
    assert exported["identities at providers"]["subject"] == "exported"
    assert exported["logins with a provider"]["sid"] == "session three"
    erasing.erase_rows(given.database, user, collections, None)
    with given.database.connected():
        assert not Identity.select().where(Identity.owner_id == user.id).exists()
        assert not ProviderMessage.select().where(ProviderMessage.owner_id == user.id).exists()
