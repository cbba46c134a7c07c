"""Requests to a provider: addresses, sizes, times, redirects; what its documents must say."""

from __future__ import annotations

import socket
from contextlib import contextmanager
from time import monotonic, sleep

import pytest

from blueprints.accounts.single_sign_on import checks, connection
from blueprints.accounts.single_sign_on.connection import ProviderError, allowed_url, is_public
from blueprints.accounts.single_sign_on.issuers import Issuer, Issuers
from gatepost.features import Installation
from gatepost.health.check_result import State
from settings import Settings
from settings.providers import Provider
from tests.accounts.conftest import app_with
from tests.accounts.provider import CLIENT, serving
from tests.accounts.test_single_sign_on import START, begin, refused
from tests.http.console.pages import visit
from tests.mail.post_office import certificate

DISCOVERY = "/.well-known/openid-configuration"


def of(provider, **entries):
    return Provider(**{"name": "team", "issuer": provider.issuer, "client_id": CLIENT, "private": True, "timeout": 0.5,
                       **entries})


def raw(*parts, pause=0.0):
    """An answer of these bytes, with a pause after each part."""
    def answer(handler):
        for part in parts:
            handler.wfile.write(part)
            handler.wfile.flush()
            sleep(pause)
        handler.close_connection = True

    return answer


HEAD = b"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n"


@pytest.mark.parametrize("address", [
    "127.0.0.1", "10.0.0.1", "172.16.5.4", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1",
    "255.255.255.255", "::1", "::", "fe80::1", "fd00::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "2002:7f00:1::",
    "64:ff9b::7f00:1", "64:ff9b::a00:1", "ff02::1", "192.0.2.1"])
def test_no_address_of_a_private_network_is_public(address):
    assert not is_public(address)


@pytest.mark.parametrize("address", ["93.184.216.34", "2606:2800:220:1::1", "::ffff:93.184.216.34", "64:ff9b::808:808"])
def test_an_address_of_the_internet_is_public(address):
    assert is_public(address)


@pytest.mark.parametrize(("url", "public", "private"), [
    ("https://login.example.org/a?b=c", True, True), ("http://login.example.org", False, True),
    ("ftp://login.example.org", False, False), ("file:///etc/passwd", False, False), ("https:///x", False, False),
    ("https://user@login.example.org", False, False), ("https://a:0/", False, False), ("https://a:x/", False, False),
    ("https://a/#b", False, False), ("https://a b/", False, False), ("https://a/\r\nHost: b", False, False),
    ("https://ä.example", False, False), ("https://[::1", False, False), (None, False, False), (5, False, False),
    ("https://a/" + "x" * 2000, False, False)])
def test_only_some_urls_are_used(provider, url, public, private):
    assert allowed_url(of(provider, private=False), url) is public
    assert allowed_url(of(provider), url) is private


def test_a_private_address_needs_the_setting(provider):
    named = of(provider, private=False)
    for host in ("127.0.0.1", "localhost", "2130706433", "0x7f.1"):
        with pytest.raises(ProviderError, match=r"oidc\.team\.private|cannot be reached"):
            connection.get(named, f"https://{host}:{provider.issuer.rpartition(':')[2]}/jwks")
    assert provider.asked == []


def test_a_host_with_one_private_address_among_others_is_refused(provider, monkeypatch):
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [
        (0, 0, 0, "", ("93.184.216.34", 443)), (0, 0, 0, "", ("10.0.0.1", 443))])
    with pytest.raises(ProviderError, match="10.0.0.1, which is not public"):
        connection.get(of(provider, private=False), "https://login.example.org/")


def test_the_connection_goes_to_the_address_that_was_checked(provider, monkeypatch):
    """A name that leads elsewhere the second time (DNS rebinding) leads nowhere."""
    found = []
    resolve = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", lambda host, *rest, **more: (
        found.append(host), resolve("127.0.0.1" if host == "login.example.org" else host, *rest, **more))[1])
    port = provider.issuer.rpartition(":")[2]
    assert "keys" in connection.get(of(provider), f"http://login.example.org:{port}/jwks")
    assert found.count("login.example.org") == 1


def test_a_certificate_is_checked(tmp_path, monkeypatch):
    tls, file = certificate(tmp_path)
    wrong, _ = certificate(tmp_path, "other.example.org")
    with serving(tls) as provider, serving(wrong) as other:
        with pytest.raises(ProviderError, match="cannot be encrypted"):
            Issuer(of(provider)).metadata()
        monkeypatch.setenv("SSL_CERT_FILE", str(file))
        assert Issuer(of(provider)).metadata().jwks_uri == f"{provider.issuer}/jwks"
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "other.example.org.pem"))
        with pytest.raises(ProviderError, match="cannot be encrypted"):
            Issuer(of(other)).metadata()
    assert (provider.asked, other.asked) == ([DISCOVERY], [])
    assert provider.hosts == {provider.issuer.removeprefix("https://")}


@pytest.mark.parametrize("answer", [
    raw(b""), raw(b"garbage\r\n\r\n"), raw(HEAD + b"\r\nnot json"), raw(HEAD + b"\r\n[1]"), raw(HEAD + b"\r\n"),
    raw(HEAD + b"Content-Length: 900\r\n\r\n{}"), raw(HEAD + b"\r\n" + b"[" * 200_000),
    raw(HEAD + b"\r\n" + b"x" * 300_000), raw(HEAD + b"X: " + b"x" * 70_000 + b"\r\n\r\n{}"),
    raw(HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}"), raw(b"HTTP/1.0 500 No\r\n\r\n{}"),
    raw(b"HTTP/1.0 302 No\r\nLocation: http://127.0.0.1:1/\r\n\r\n"), raw(b"HTTP/1.0 204 No\r\n\r\n"),
    raw(HEAD + b"\r\n\xff\xfe")])
def test_an_answer_that_is_none_is_an_error(provider, answer):
    provider.misbehave["/jwks"] = answer
    with pytest.raises(ProviderError):
        connection.get(of(provider), f"{provider.issuer}/jwks")
    assert provider.asked == ["/jwks"], "no redirect is followed, and nothing is repeated"


@pytest.mark.slow
@pytest.mark.parametrize("answer", [
    lambda handler: sleep(3), raw(HEAD, *[b"X-Slow: 1\r\n"] * 30, pause=0.2),
    raw(HEAD + b"\r\n", *[b" "] * 30, pause=0.2)])
def test_a_provider_that_hangs_is_not_waited_for(provider, answer):
    provider.misbehave["/jwks"] = answer
    start = monotonic()
    with pytest.raises(ProviderError):
        connection.get(of(provider), f"{provider.issuer}/jwks")
    assert monotonic() - start < 2.5


def test_a_provider_that_is_away_is_not_asked_again_at_once(provider):
    clock = [100.0]
    issuer = Issuer(of(provider), lambda: clock[0])
    provider.misbehave[DISCOVERY] = raw(b"")
    for _ in range(3):
        with pytest.raises(ProviderError):
            issuer.metadata()
    assert provider.asked == [DISCOVERY]
    provider.misbehave.clear()
    clock[0] += 6
    assert issuer.metadata().token_endpoint == f"{provider.issuer}/token"
    clock[0] += 3500
    issuer.metadata()
    assert provider.asked.count(DISCOVERY) == 2
    clock[0] += 200
    issuer.metadata()
    assert provider.asked.count(DISCOVERY) == 3


def test_a_key_that_the_provider_has_withdrawn_is_not_accepted_for_long(provider):
    clock = [100.0]
    issuer = Issuer(of(provider), lambda: clock[0])
    [key] = issuer.keys("one", "RS256")
    provider.jwks = {"keys": []}
    clock[0] += 3500
    assert issuer.keys("one", "RS256") == [key]
    clock[0] += 200
    assert issuer.keys("one", "RS256") == []


def test_nobody_waits_long_for_a_request_of_another_thread(provider):
    issuer = Issuer(of(provider, timeout=0.1))
    with issuer._lock, pytest.raises(ProviderError, match="another request"):
        issuer.metadata()


@pytest.mark.parametrize("document", [
    {"issuer": "https://other.example.org"}, {"issuer": None}, {"token_endpoint": None}, {"jwks_uri": 5},
    {"token_endpoint": "ftp://x"}, {"authorization_endpoint": "javascript:alert(1)"}], ids=str)
def test_a_document_that_cannot_be_used_is_an_error(team, provider, document):
    provider.document = document
    refused(visit(team).get(START), "cannot be reached")


def test_a_provider_without_basic_gets_the_secret_in_the_body(provider):
    provider.document["token_endpoint_auth_methods_supported"] = ["client_secret_post"]
    assert Issuer(of(provider)).metadata().takes_basic is False


def test_a_provider_that_is_away_is_a_page(team, provider, caplog):
    visitor = visit(team)
    path = provider.authorize(begin(visitor))
    for name in ("/token", "/jwks"):
        provider.misbehave = {name: raw(b"HTTP/1.0 503 No\r\n\r\n")}
        refused(visitor.post(f"{START}/back", {"code": name, "state": path.partition("state=")[2].partition("&")[0],
                                               "iss": provider.issuer}), "used before" if name == "/jwks" else
                "cannot be reached")
    assert "/token answers 503" in caplog.text


def test_only_some_threads_talk_to_providers(team, provider):
    busy = team.extensions["gatepost"].feature("accounts").busy
    number = 0
    while busy.acquire(blocking=False):
        number += 1
    assert number == 4
    refused(visit(team).get(START), "Too many logins")
    assert provider.asked == []


def test_on_postgres_connections_bound_the_threads(tmp_path):
    busy = Issuers(Settings.load(tmp_path, {"database_url": "postgresql://a/b", "pool_size": 4}, {})).busy
    assert [busy.acquire(blocking=False) for _ in range(3)] == [True, True, False]


@contextmanager
def installation(tmp_path, provider, database, **entries):
    yield Installation(Settings.load(tmp_path, {"public_url": "http://localhost", "oidc": {"team": {
        "issuer": provider.issuer, "client_id": CLIENT, "private": True, **entries}}}, {}), database)


def test_the_doctor_reads_the_document_and_the_keys(tmp_path, provider, given):
    database = given.database
    with installation(tmp_path, provider, database) as where:
        assert checks.check(where) == (State.OK, "ready: team")
        provider.document = {"issuer": "https://other.example.org"}
        state, text = checks.check(where)
        assert (state, "of another issuer" in text) == (State.DEGRADED, True)
    provider.document = {}
    with installation(tmp_path, provider, database, algorithms=["ES256"]) as where:
        assert "oidc.team.algorithms" in checks.check(where).detail
    assert checks.check(Installation(Settings.load(tmp_path, {}, {}), database)).state == State.OK
    for settings, text in (({"public_url": ""}, "not public_url"), ({"console": "off"}, "console is off")):
        values = {"public_url": "http://localhost", "oidc": {"team": {"issuer": "https://a", "client_id": "b"}}}
        state, detail = checks.check(Installation(Settings.load(tmp_path, {**values, **settings}, {}), database))
        assert (state, text in detail) == (State.DEGRADED, True)


@pytest.mark.parametrize("settings", [{"oidc": {}}, {"public_url": ""}, {"console": "off"}, {"without": "accounts"}])
def test_nothing_is_served_where_it_is_off(instance_folder, database_url, provider, settings):
    with app_with(instance_folder, database_url, provider, settings) as app:
        visitor = visit(app)
        assert visitor.get(START).status_code == 404
        if settings != {"console": "off"}:
            assert "The Team" not in visitor.page("/console/login").text


def test_two_providers_have_two_buttons(instance_folder, database_url, provider):
    other = {"issuer": "https://accounts.example.com", "client_id": "b", "label": "<Other>"}
    with app_with(instance_folder, database_url, provider, {"oidc": {
            "team": {"issuer": provider.issuer, "client_id": CLIENT, "private": True}, "other": other}}) as app:
        page = visit(app).page("/console/login")
        assert {"/console/login/with/other?next=/console", "/console/login/with/team?next=/console"} <= set(page.links)
        assert "Log in with <Other>" in page.text
