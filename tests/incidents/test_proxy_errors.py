"""A proxy's own errors have the form of the service's errors, and the service's errors pass unchanged."""

from __future__ import annotations

import json
import socket
import ssl
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from http.client import HTTPConnection, HTTPResponse
from typing import NamedTuple

import pytest
from openapi_schema_validator import OAS31Validator

from gatepost.http.protocol.problems import CATALOGUE
from tests.databases import free_port
from tests.incidents.proxies import HOST, PROXIES, ask, behind
from tests.running import Instance, Served

pytestmark = pytest.mark.slow

JSON = {"Content-Type": "application/json"}
CADDYS = PROXIES[1:]
ID = "from-the-client.1"


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: bytes


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    instance = Instance(tmp_path_factory.mktemp("made") / "instance", {"GATEPOST_TRUSTED_PROXIES": "1"}).made()
    with instance.served() as service:
        yield service


@pytest.fixture(scope="module")
def problem_schema(service: Served) -> OAS31Validator:
    described = service.call("GET", "/api/openapi.json")[1]
    return OAS31Validator({"$ref": "#/components/schemas/Problem", "components": described["components"]})


def expect(answer: Answer, status: int, code: str, schema: OAS31Validator, instance: str = "/api/articles") -> None:
    """Checks that the answer is a problem document in the service's form, with the headers of every answer."""
    assert answer.status == status, answer
    assert answer.headers["Content-Type"] == "application/problem+json"
    document = json.loads(answer.body)
    schema.validate(document)
    title = str(CATALOGUE[code][1])
    assert document == document | {
        "type": f"/docs/errors#{code}", "title": title, "status": status, "code": code, "instance": instance,
        "request_id": answer.headers["X-Request-ID"], "errors": []}
    assert document["detail"].endswith(".")
    headers = {name: answer.headers.get_all(name) for name in (
        "API-Version", "X-Content-Type-Options", "Cache-Control", "Content-Language")}
    assert headers == {"API-Version": ["1"], "X-Content-Type-Options": ["nosniff"], "Cache-Control": ["no-store"],
                       "Content-Language": ["en"]}
    assert answer.headers.get("Retry-After") == ("1" if status in (429, 502, 503, 504) else None)


def sent(port: int, head: bytes, *, plain: bool = False) -> Answer:
    """Sends bytes that no client library would send, and returns the answer."""
    with ExitStack() as opened:
        connection = opened.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60))
        if not plain:
            trusting = ssl._create_unverified_context()
            connection = opened.enter_context(trusting.wrap_socket(connection, server_hostname=HOST))
        connection.sendall(head)
        answer = opened.enter_context(closing(HTTPResponse(connection)))
        answer.begin()
        return Answer(answer.status, answer.headers, answer.read())


@contextmanager
def silent() -> Iterator[str]:
    """The URL of a service that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


@pytest.fixture(scope="module", params=PROXIES)
def port(request: pytest.FixtureRequest, service: Served, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with behind(request.param, service.url, tmp_path_factory.mktemp("proxy")) as port:
        yield port


@pytest.fixture(scope="module")
def nginx(service: Served, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with behind("nginx", service.url, tmp_path_factory.mktemp("nginx")) as port:
        yield port


def test_a_path_that_stays_inside(port, problem_schema):
    expect(Answer(*ask(port, "GET", "/metrics?token=x")), 404, "not_found", problem_schema, "/metrics")


@pytest.mark.parametrize("proxy", PROXIES)
def test_a_body_that_is_too_large(proxy, service, tmp_path, problem_schema):
    """Uses the login, because the service reads its body before it can refuse it."""
    with behind(proxy, service.url, tmp_path) as port:
        headers = {**JSON, "Transfer-Encoding": "chunked"}
        for each in (JSON, headers) if proxy == "nginx" else (JSON,):
            body = b"300000\r\n" + b" " * 0x300000 + b"\r\n0\r\n\r\n" if each is headers else b" " * 0x300000
            answer = Answer(*ask(port, "POST", "/api/login", body, each))
            if answer.headers.get("Content-Security-Policy") is None:  # else it is the service's own
                expect(answer, 413, "body_too_large", problem_schema, "/api/login")
            assert answer.status == 413


@pytest.mark.parametrize("proxy", PROXIES)
def test_a_service_that_is_away(proxy, tmp_path, problem_schema):
    with behind(proxy, f"http://127.0.0.1:{free_port()}", tmp_path) as port:
        expect(Answer(*ask(port, "GET", "/api/articles?q=x")), 502, "unavailable", problem_schema)


PATIENT = {"nginx": ("proxy_read_timeout 60s", "proxy_read_timeout 1s"),
           **dict.fromkeys(CADDYS, ("response_header_timeout 60s", "response_header_timeout 1s"))}


@pytest.mark.parametrize("proxy", PROXIES)
def test_a_service_that_does_not_answer(proxy, tmp_path, problem_schema):
    with silent() as url, behind(proxy, url, tmp_path, dict([PATIENT[proxy]])) as port:
        expect(Answer(*ask(port, "GET", "/api/articles")), 504, "timeout", problem_schema)


@pytest.mark.parametrize(("target", "instance"), [
    ("/metrics", "/metrics"), ("/metrics?a=%22", "/metrics"), ('/metrics?a="', "/metrics")])
def test_the_path_is_told_without_the_query(nginx, problem_schema, target, instance):
    head = f"GET {target} HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n"
    expect(sent(nginx, head.encode()), 404, "not_found", problem_schema, instance)


@pytest.mark.parametrize("proxy", PROXIES)
def test_no_path_breaks_the_document(proxy, tmp_path, problem_schema):
    with behind(proxy, f"http://127.0.0.1:{free_port()}", tmp_path) as port:
        for path in ('/a"b', "/a\\b", "/a%22b", "/a%0Ab", "/%7B%22x%22%7D", "/{http.request.host}"):
            answer = sent(port, f"GET {path} HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n".encode())
            told = json.loads(answer.body)["instance"]
            assert told in ("/", path)
            expect(answer, 502, "unavailable", problem_schema, told)


@pytest.mark.parametrize(("id", "kept"), [
    (ID, True), ("x" * 128, True), ("x" * 129, False), ("a b", False), ('"', False), ("{x}", False)])
def test_the_id_is_the_clients_where_it_is_valid(port, problem_schema, id, kept):
    """Checks the proxy's own answer and the service's, which receives the proxy's id."""
    for path in ("/metrics", "/api/health/live"):
        answer = Answer(*ask(port, "GET", path, headers={"X-Request-ID": id}))
        assert (answer.headers["X-Request-ID"] == id) is kept
        if path == "/metrics":
            expect(answer, 404, "not_found", problem_schema, path)


def by_hand(service: Served, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> Answer:
    """Sends a request without a proxy, and returns the service's answer."""
    with closing(HTTPConnection(service.url.removeprefix("http://"), timeout=60)) as connection:
        connection.request(method, path, body, {"Host": HOST, **headers})
        answer = connection.getresponse()
        return Answer(answer.status, answer.headers, answer.read())


CHANGING = ("date", "server", "via", "alt-svc", "connection", "ratelimit")


@pytest.mark.parametrize(("method", "path", "body"), [
    ("GET", "/api/nope", None), ("GET", "/api/articles/x", None), ("POST", "/api/login", b"{"),
    ("POST", "/api/articles", b"{}"), ("DELETE", "/api/health", None)])
def test_errors_of_the_service_pass_as_they_are(port, service, method, path, body):
    headers = {"X-Request-ID": ID, **(JSON if body else {})}
    answers = (Answer(*ask(port, method, path, body, headers)), by_hand(service, method, path, body, headers))
    through, direct = ((each.status, each.body, {name.lower(): value for name, value in each.headers.items()
                                                 if name.lower() not in CHANGING}) for each in answers)
    assert through == direct and through[0] >= 400


# Refusals of nginx only. A Caddy that cannot read a request answers in plain text, like the service's servers.

BROKEN = {
    "a request line that is none": (b"NONSENSE\r\n\r\n", 400, "invalid_header", "/"),
    "two hosts": (b"GET /api/articles HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400, "invalid_header", "/api/articles"),
    "no host": (b"GET /api/articles HTTP/1.1\r\n\r\n", 400, "invalid_header", "/api/articles"),
    "a header that is too large": (b"GET /api/articles HTTP/1.1\r\nHost: x\r\nX-A: " + b"x" * 40_000 + b"\r\n\r\n",
                                   400, "invalid_header", "/api/articles"),
    "a URL that is too long": (b"GET /api/articles?q=" + b"x" * 40_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
                               414, "uri_too_long", "/"),
}


@pytest.mark.parametrize(("head", "status", "code", "instance"), BROKEN.values(), ids=BROKEN)
def test_a_request_that_nginx_cannot_read(nginx, problem_schema, head, status, code, instance):
    expect(sent(nginx, head), status, code, problem_schema, instance)


def test_plain_http_on_the_port_of_https(nginx, problem_schema):
    answer = sent(nginx, b"GET /api/articles HTTP/1.1\r\nHost: x\r\n\r\n", plain=True)
    expect(answer, 400, "invalid_header", problem_schema)
    assert json.loads(answer.body)["detail"] == "This port speaks HTTPS."


def test_a_certificate_that_a_client_does_not_show(service, tmp_path, problem_schema):
    demanded = {"server_tokens off;": f"server_tokens off; ssl_client_certificate {tmp_path}/fullchain.pem; "
                                      "ssl_verify_client on;"}
    with behind("nginx", service.url, tmp_path, demanded) as port:
        expect(Answer(*ask(port, "GET", "/api/articles")), 400, "invalid_header", problem_schema)


def test_an_address_with_too_many_requests_under_way(service, tmp_path, problem_schema):
    """One import of the address is admitted. Its body never comes."""
    begun = (f"POST /api/articles/import HTTP/1.1\r\nHost: {HOST}\r\nContent-Type: application/x-ndjson\r\n"
             "Content-Length: 3000000\r\n\r\n").encode()
    trusting = ssl._create_unverified_context()
    with (behind("nginx", service.url, tmp_path, {"gatepost_imports 2": "gatepost_imports 1"}) as port,
          ExitStack() as sending):
        plain = socket.create_connection(("127.0.0.1", port), timeout=60)
        sending.enter_context(trusting.wrap_socket(plain, server_hostname=HOST)).sendall(begun)
        for _ in range(2000):  # until nginx has counted it
            answer = Answer(*ask(port, "POST", "/api/articles/import", b"{}"))
            if answer.status != 401:
                break
        expect(answer, 429, "rate_limited", problem_schema, "/api/articles/import")


@pytest.mark.parametrize(("status", "code"), [(500, "internal_error"), (503, "unavailable")])
def test_what_an_operator_adds_to_nginx(service, tmp_path, problem_schema, status, code):
    """Tests a maintenance page, for example."""
    added = {"    location / {": f"    location = /api/articles {{ return {status}; }}\n    location / {{"}
    with behind("nginx", service.url, tmp_path, added) as port:
        expect(Answer(*ask(port, "GET", "/api/articles")), status, code, problem_schema)


def test_the_paths_of_these_documents_are_none_for_clients(nginx, problem_schema):
    path = "/.problem/internal_error/nginx"
    expect(Answer(*ask(nginx, "GET", path)), 404, "not_found", problem_schema, path)
