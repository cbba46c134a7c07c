"""The samples in deploy/: nginx and Caddy, if installed, accept their samples and serve with them."""

from __future__ import annotations

import json
import socket
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from typing import Any
from urllib.parse import urlencode

import pyotp
import pytest

from tests.databases import free_port
from tests.incidents.load import SERVERS
from tests.incidents.proxies import DEPLOY, HOST, PROXIES, ask, behind, program
from tests.running import PASSWORD, Instance, Served, wait_until

TOKEN = "for-a-metrics-client"
JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Instance:
    return Instance(tmp_path_factory.mktemp("made") / "instance", {
        "GATEPOST_TRUSTED_PROXIES": "1", "GATEPOST_HSTS_SECONDS": "60", "GATEPOST_METRICS_TOKEN": TOKEN}).made()


@pytest.fixture(scope="module")
def service(instance: Instance) -> Iterator[Served]:
    with instance.served() as service:
        yield service


@pytest.fixture(scope="module", params=PROXIES)
def port(request: pytest.FixtureRequest, service: Served, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with behind(request.param, service.url, tmp_path_factory.mktemp("proxy")) as port:
        yield port


def log_in(port: int, email: str = "admin@example.org", **headers: str) -> str:
    credentials = json.dumps({"email": email, "password": PASSWORD}).encode()
    status, _, body = ask(port, "POST", "/api/login", credentials, JSON | headers)
    assert status == 200, body
    return json.loads(body)["access_token"]


@pytest.mark.slow
def test_answers_come_through_and_tell_a_browser_to_stay_with_https(port):
    status, headers, body = ask(port, "GET", "/api/health/live")
    assert (status, json.loads(body)) == (200, {"status": "ok"})
    assert headers["Strict-Transport-Security"] == "max-age=60"


@pytest.mark.slow
def test_the_address_is_the_clients_and_not_what_it_claims(port):
    token = log_in(port, **{"X-Forwarded-For": "203.0.113.1"})
    _, _, body = ask(port, "GET", "/api/audit?limit=1", headers={"Authorization": f"Bearer {token}"})
    newest = json.loads(body)["items"][0]
    assert (newest["resource"], newest["address"]) == ("session", "127.0.0.1")


@pytest.mark.slow
def test_numbers_for_prometheus_stay_inside(port, service):
    headers = {"Authorization": f"Bearer {TOKEN}"}
    assert ask(port, "GET", "/metrics", headers=headers)[0] == 404


@pytest.mark.slow
@pytest.mark.parametrize("is_up", [True, False], ids=["up", "down"])
@pytest.mark.parametrize("proxy", PROXIES)
def test_the_logs_of_a_proxy_have_no_token_of_a_link(proxy, is_up, service, tmp_path):
    token = "Zm9yIHRoZSB0ZXN0IG9mIHRoZSBsb2dzIG9ubHkgMzI"
    changes = {} if proxy == "nginx" else {"\n\t# Numbers for Prometheus": "\n\tlog\n\n\t# Numbers for Prometheus"}
    with behind(proxy, service.url if is_up else f"http://127.0.0.1:{free_port()}", tmp_path, changes) as port:
        bodies = [ask(port, "GET", path)[2] for path in (
            f"/console/password/{token}", f"/console/password/{token}?lang=de", f"/console/password/{token}/",
            f"/Console/Password/{token}", f"/console//password/{token}", f"/console/verify-email/{token}",
            f"/Console/Verify-Email/{token}?lang=de", f"/console/login/code/{token}?next=/console", "/console/login")]
        bodies.append(ask(port, "POST", f"/console/password/{token}", b"new_password=x",
                          {"Content-Type": "application/x-www-form-urlencoded"})[2])
    logs = {file.name: file.read_text("utf-8", "replace") for file in tmp_path.iterdir()
            if file.is_file() and (file.name == "output" or file.suffix == ".log")}
    assert any("/console/password/<token>" in text or "/console/password/\\u003ctoken\\u003e" in text
               for text in logs.values()), logs
    assert any("/console/login" in text for text in logs.values()), "other paths are logged"
    assert not any(token in text for text in logs.values()), logs
    assert not any(token.encode() in body for body in bodies), bodies


@pytest.mark.slow
@pytest.mark.parametrize("proxy", PROXIES)
def test_the_logs_of_a_proxy_do_not_have_the_login_that_waits_for_a_code(proxy, service, tmp_path):
    changes = {} if proxy == "nginx" else {"\n\t# Numbers for Prometheus": "\n\tlog\n\n\t# Numbers for Prometheus"}
    form = {"Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "same-origin"}
    with behind(proxy, service.url, tmp_path, changes) as port:
        def post(path: str, body: object, token: str) -> Any:
            headers = JSON | {"Authorization": f"Bearer {token}"}
            status, _, answer = ask(port, "POST", path, json.dumps(body).encode(), headers)
            assert status < 300, answer
            return json.loads(answer)

        user = {"name": "Ada", "email": f"{proxy.lower().replace(' ', '.')}@example.org", "password": PASSWORD}
        post("/api/users", user, log_in(port))
        own = log_in(port, email=user["email"])
        secret = post("/api/profile/second-factor", {}, own)["secret"]
        post("/api/profile/second-factor/confirm", {"code": pyotp.TOTP(secret).now()}, own)
        _, headers, _ = ask(port, "POST", "/console/login",
                            urlencode({"email": user["email"], "password": PASSWORD}).encode(), form)
        path = headers["Location"]
        assert path.startswith("/console/login/code/")
        assert ask(port, "GET", path)[0] == 200
    token = path.rpartition("/code/")[2].partition("?")[0]
    logs = {file.name: file.read_text("utf-8", "replace") for file in tmp_path.iterdir()
            if file.is_file() and (file.name == "output" or file.suffix == ".log")}
    assert any("/console/login" in text for text in logs.values())
    assert not any(token in text for text in logs.values()), logs


@pytest.mark.slow
def test_an_import_of_megabytes_comes_through_and_one_beyond_the_limit_does_not(port, request):
    headers = {"Authorization": f"Bearer {log_in(port)}", "Content-Type": "application/x-ndjson"}
    prefix = f"imported-{port}"
    lines = [json.dumps({"title": "T", "slug": f"{prefix}-{number}", "body": "x" * 100_000}).encode()
             for number in range(30)]
    status, _, body = ask(port, "POST", "/api/articles/import", b"\n".join(lines), headers)
    assert (status, json.loads(body)["imported"]) == (200, 30)
    # Caddy closes the connection while the client still sends. The client may not have read the answer yet.
    with suppress(ConnectionError, ssl.SSLError):
        assert ask(port, "POST", "/api/articles/import", b"\n" * (35 * 2**20), headers)[0] == 413


@pytest.mark.slow
@pytest.mark.parametrize("path", ["/api/articles", "/api/login", "/api/articles/import/", "/api/a/b/import", "/nope"])
def test_a_large_body_is_taken_for_an_import_alone(port, path):
    status, _, body = ask(port, "POST", path, b" " * (3 * 2**20), JSON)
    # A newer Caddy forwards the body as it reads it: the service may refuse the head before the body is too large.
    assert status in (413, ask(port, "POST", path, b"{", JSON)[0]) and json.loads(body)["status"] == status


@pytest.mark.slow
def test_an_address_sends_two_imports_at_a_time(service, tmp_path):
    """nginx refuses the third import; Caddy cannot count them."""
    begun = (f"POST /api/articles/import HTTP/1.1\r\nHost: {HOST}\r\nContent-Type: application/x-ndjson\r\n"
             "Content-Length: 30000000\r\n\r\n").encode()
    trusting = ssl._create_unverified_context()
    with behind("nginx", service.url, tmp_path) as port, ExitStack() as sending:
        for _ in range(2):
            plain = socket.create_connection(("127.0.0.1", port), timeout=60)
            sending.enter_context(trusting.wrap_socket(plain, server_hostname=HOST)).sendall(begun)
        statuses = []

        def refused() -> bool:
            statuses.append(ask(port, "POST", "/api/articles/import", b"{}")[0])
            return statuses[-1] == 429

        wait_until(refused)
        assert set(statuses) <= {401, 429}
        assert ask(port, "GET", "/api/articles")[0] == 200


@pytest.mark.slow
@pytest.mark.parametrize(("size", "status"), [(16_385, 400), (16_386, 414)])
def test_the_longest_url_is_the_services(port, size, status):
    answer, _, body = ask(port, "GET", "/api/articles?surprise=".ljust(size, "x"))
    assert (answer, json.loads(body)["status"]) == (status, status)


HEADERS = b"POST /api/login HTTP/1.1\r\nHost: api.example.org\r\nContent-"
BODY = HEADERS + b"Type: application/json\r\nContent-Length: 60\r\n\r\n{"


@pytest.mark.slow
@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("proxy", PROXIES)
def test_two_hundred_dripping_clients_keep_no_other_client_waiting(instance, tmp_path, proxy, server):
    """Half of the clients stop in their headers, half in their body. They come from several addresses."""
    trusting = ssl._create_unverified_context()
    with (instance.served(*SERVERS[server]) as service, behind(proxy, service.url, tmp_path) as port,
          ExitStack() as dripping):
        for number in range(200):
            source = (f"127.0.1.{1 + number // 40}", 0)
            plain = socket.create_connection(("127.0.0.1", port), timeout=60, source_address=source)
            connection = dripping.enter_context(trusting.wrap_socket(plain, server_hostname=HOST))
            connection.sendall((HEADERS, BODY)[number % 2])
        for _ in range(20):
            assert ask(port, "GET", "/api/health/live")[0] == 200
        assert log_in(port)


def test_the_unit_trusts_no_proxy_until_its_operator_says_so():
    lines = (DEPLOY / "gatepost.service").read_text("utf-8").splitlines()
    assert "#Environment=GATEPOST_TRUSTED_PROXIES=1" in lines
    assert not [line for line in lines if "TRUSTED_PROXIES" in line and not line.startswith("#")]


@pytest.mark.slow
def test_systemd_takes_its_unit(tmp_path):
    analyze = program("systemd-analyze")
    unit = (DEPLOY / "gatepost.service").read_text("utf-8").replace("/opt/gatepost/venv/bin/gatepost", "/bin/true")
    (tmp_path / "gatepost.service").write_text(unit, "utf-8")
    held = (DEPLOY / "gatepost.socket").read_text("utf-8")
    for sockets in (held, held.replace("#ListenStream", "ListenStream").replace("#ReusePort", "ReusePort")):
        (tmp_path / "gatepost.socket").write_text(sockets, "utf-8")
        done = subprocess.run([analyze, "verify", tmp_path / "gatepost.service", tmp_path / "gatepost.socket"],
                              capture_output=True, text=True)
        assert "gatepost." not in done.stderr, done.stderr


def test_both_samples_of_caddy_differ_in_how_a_body_is_read_alone():
    new, old = ((DEPLOY / name).read_text("utf-8").splitlines()[1:] for name in ("Caddyfile", "Caddyfile.debian"))
    assert [line for line in new if line not in old] == ["\t\trequest_buffers 1MiB"]
    assert [line for line in old if line not in new] == ["\t\tbuffer_requests", "\t\tmax_buffer_size 1MiB"]
