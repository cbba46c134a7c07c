"""The requests that clients/python repeats, and the secrets that it never shows: with a scripted service."""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import parse_qs, urlsplit

import gatepost_client
import httpx
import pytest
from gatepost_client import (
    Conflict,
    Gatepost,
    NotFound,
    RateLimited,
    Stored,
    Unauthenticated,
    Unavailable,
    jobs,
    retries,
)
from gatepost_client.collection import lines

from tests.running import PASSWORD

Answer = tuple[int, dict[str, str], object]
TOKEN = "gp_a-secret-of-a-program"


class Scripted(ThreadingHTTPServer):
    """answers  what it answers, one after the other, the last one again; None: it closes the connection"""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers: list[Answer | None] = []
        self.sent: list[tuple[str, str, dict[str, str], bytes]] = []
        self.url = f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: Scripted
    protocol_version = "HTTP/1.1"

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.sent.append((self.command, self.path, dict(self.headers), body))
        answer = self.server.answers.pop(0) if len(self.server.answers) > 1 else self.server.answers[0]
        if answer is None:
            self.close_connection = True
            return
        status, headers, said = answer
        content = b"" if status == 204 else json.dumps(said).encode()
        self.send_response(status)
        kind = "application/problem+json" if status >= 400 else "application/json"
        for name, value in {"Content-Type": kind, "Content-Length": str(len(content)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)
        self.close_connection = int(headers.get("Content-Length", 0)) > len(content)

    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = _answer

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def scripted() -> Iterator[Scripted]:
    with Scripted() as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def program(scripted) -> Iterator[Gatepost]:
    with Gatepost(scripted.url, token=TOKEN) as client:
        yield client


@pytest.fixture
def slept(monkeypatch) -> list[float]:
    """The pauses in seconds, which the test does not wait for."""
    pauses: list[float] = []
    monkeypatch.setattr(retries, "sleep", pauses.append)
    return pauses


def refused(status: int, code: str, **headers: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return status, named, {"code": code, "status": status, "detail": "A reason.", "errors": []}


MADE: Answer = (201, {"ETag": '"1"', "Location": "/api/articles/1"}, {"id": "1"})
READ: Answer = (200, {"ETag": '"2"'}, {"id": "1"})
NEW = {"title": "A", "slug": "a", "body": "B"}
STORED: Stored[object] = Stored("1", {}, '"1"')
KEYED: dict[str, Callable[[Gatepost], object]] = {
    "create": lambda client: client.articles.create(NEW),
    "update": lambda client: client.articles.update("1", {"title": "B"}),
    "action": lambda client: client.articles.publish("1"),
    "import": lambda client: client.articles.import_([NEW]),
}
GUARDED: dict[str, Callable[[Gatepost], object]] = {
    "replace": lambda client: client.articles.replace(STORED, NEW),
    "delete": lambda client: client.articles.delete(STORED),
}
NEITHER: dict[str, Callable[[Gatepost], object]] = {
    "replace": lambda client: client.articles.replace("1", NEW),
    "delete": lambda client: client.articles.delete("1"),
    "share": lambda client: client.articles.share(STORED, "role:user", "read"),
    "unshare": lambda client: client.articles.unshare(STORED, "role:user"),
    "export later": lambda client: client.articles.export_later(),
    "token": lambda client: client.tokens.create({"name": "a", "scopes": []}),
    "any other": lambda client: client.call("POST", "/api/admin/policy/apply", {}),
    "login": lambda client: client.login("a@example.org", PASSWORD),
}
PASSING: dict[str, Answer | None] = {
    "cut": None, "429": refused(429, "rate_limited", Retry_After="2"), "502": (502, {}, "no problem document"),
    "503": refused(503, "overloaded", Retry_After="2"), "504": refused(504, "timeout"),
    "409 in progress": refused(409, "idempotency_in_progress", Retry_After="2"),
}


@pytest.mark.parametrize("passing", PASSING)
@pytest.mark.parametrize("write", KEYED)
def test_a_write_with_a_key_is_sent_again_with_the_same_key_and_body(scripted, program, slept, write, passing):
    scripted.answers = [PASSING[passing], PASSING[passing], MADE if write == "create" else READ]
    KEYED[write](program)
    assert len(scripted.sent) == 3 and len(slept) == 2
    assert len({(headers["Idempotency-Key"], body) for _, _, headers, body in scripted.sent}) == 1
    asked = "Retry-After" in (PASSING[passing] or (0, {}))[1]
    assert [pause for pause in slept if not (2 if asked else 0) <= pause < 3] == []


def test_each_call_has_a_key_of_its_own(scripted, program):
    scripted.answers = [MADE]
    for _ in range(3):
        program.articles.create(NEW)
    assert len({headers["Idempotency-Key"] for _, _, headers, _ in scripted.sent}) == 3


@pytest.mark.parametrize("write", GUARDED)
def test_a_write_with_a_precondition_is_sent_again(scripted, program, slept, write):
    scripted.answers = [None, READ]
    GUARDED[write](program)
    assert [headers["If-Match"] for _, _, headers, _ in scripted.sent] == ['"1"', '"1"']


@pytest.mark.parametrize("passing", ["cut", "429", "503"])
@pytest.mark.parametrize("write", NEITHER)
def test_a_write_without_either_is_sent_once(scripted, program, slept, write, passing):
    scripted.answers = [PASSING[passing]]
    with pytest.raises(RateLimited if passing == "429" else Unavailable) as error:
        NEITHER[write](program)
    assert (len(scripted.sent), error.value.attempts, slept) == (1, 1, [])


def test_a_guest_has_no_key_and_sends_a_write_once(scripted, slept):
    scripted.answers = [None]
    with Gatepost(scripted.url) as guest, pytest.raises(Unavailable):
        guest.contact.create({"name": "A", "email": "a@example.org", "subject": "B", "body": "C"})
    assert [("Idempotency-Key" in headers) for _, _, headers, _ in scripted.sent] == [False]


def test_no_request_is_sent_for_ever(scripted, program, slept):
    scripted.answers = [None]
    with pytest.raises(Unavailable) as error:
        program.me()
    assert (len(scripted.sent), error.value.attempts, error.value.code) == (6, 6, "connection_lost")
    assert all(0 <= pause <= 5 for pause in slept) and len(slept) == 5


def test_a_wait_of_more_than_a_minute_is_for_the_program(scripted, program, slept):
    scripted.answers = [refused(429, "rate_limited", Retry_After="3600")]
    with pytest.raises(RateLimited) as error:
        program.me()
    assert (len(scripted.sent), error.value.retry_after, slept) == (1, 3600, [])


@pytest.mark.parametrize(("answer", "kind"), [
    (refused(404, "not_found"), NotFound), (refused(409, "conflict"), Conflict),
    (refused(401, "invalid_token"), Unauthenticated), (refused(401, "token_expired"), Unauthenticated)])
def test_what_will_not_pass_is_sent_once(scripted, program, slept, answer, kind):
    scripted.answers = [answer]
    with pytest.raises(kind) as error:
        program.articles.publish("1")
    assert (len(scripted.sent), error.value.code) == (1, answer[2]["code"])


def test_a_delete_whose_answer_was_lost_is_done_when_the_object_is_gone(scripted, program, slept):
    scripted.answers = [None, refused(404, "not_found")]
    program.articles.delete(STORED)
    scripted.answers = [refused(404, "not_found")]
    with pytest.raises(NotFound):
        program.articles.delete(STORED)


@pytest.mark.parametrize("answer", [(204, {"ETag": '"2"'}, None), (200, {}, {"title": "Without what I may not see"})])
def test_an_answer_without_the_object_or_its_version_is_followed_by_reading_it(scripted, program, answer):
    scripted.answers = [answer, READ]
    assert program.articles.publish("1") == Stored("1", {"id": "1"}, '"2"')
    assert [(method, path) for method, path, _, _ in scripted.sent] == [
        ("POST", "/api/articles/1/publish"), ("GET", "/api/articles/1")]


@pytest.mark.parametrize("body", [b"<html>", b"[]", b'"text"', b""])
def test_an_error_that_is_none_of_gateposts_has_its_status(scripted, program, body):
    scripted.answers = [(500, {"Content-Type": "text/html"}, body.decode())]
    with pytest.raises(gatepost_client.GatepostError) as error:
        program.me()
    assert (error.value.status, error.value.code) == (500, "")


# Jobs, and files.

def job(state: str, result: object = None) -> Answer:
    return 200, {"ETag": '"1"'}, {"id": "1", "state": state, "result": result}


def test_a_job_is_looked_at_until_it_is_done_ever_more_seldom(scripted, program, monkeypatch):
    longest: list[float] = []
    monkeypatch.setattr(jobs, "sleep", lambda seconds: None)
    monkeypatch.setattr(retries, "uniform", lambda least, most: longest.append(most) or most)
    scripted.answers = [job("waiting"), *[job("running")] * 7, job("done", {"rows": 3})]
    assert program.jobs.wait("1")["result"] == {"rows": 3}
    assert longest == [0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0, 5.0]


@pytest.mark.parametrize(("answer", "code"), [
    (job("failed", {"code": "invalid_body", "status": 400, "detail": "1 line.", "errors": [
        {"code": "invalid_field", "detail": "No.", "pointer": "/slug"}]}), "invalid_body"),
    (job("failed"), "failed"), (job("cancelled"), "cancelled")])
def test_a_job_that_has_failed_raises_why(scripted, program, answer, code):
    scripted.answers = [answer]
    with pytest.raises(gatepost_client.JobFailed) as error:
        program.jobs.wait("1")
    assert error.value.code == code and len(error.value.errors) == (code == "invalid_body")


def test_a_job_is_not_waited_for_for_ever(scripted, program):
    scripted.answers = [job("running")]
    with pytest.raises(TimeoutError, match="still running"):
        program.jobs.wait("1", seconds=0)


@pytest.mark.parametrize("size", [1, 2, 7, 100])
def test_a_line_of_a_file_ends_at_a_line_feed_alone(size):
    text = '{"a":"\u2028\x85\u2029"}\n{"a":"é"}\n{}'.encode()
    parts = [text[start:start + size] for start in range(0, len(text), size)]
    assert [json.loads(line) for line in lines(parts)] == [{"a": "\u2028\x85\u2029"}, {"a": "é"}, {}]


# What is secret.

def test_nothing_that_is_shown_has_a_credential(scripted, slept):
    session = {"access_token": "an-access-token", "refresh_token": "gr_a-refresh-token", "expires_in": 900,
               "token_type": "Bearer", "scope": "*"}
    scripted.answers = [(200, {}, session)]
    shown: list[object] = []
    with Gatepost(scripted.url, token=TOKEN) as client:
        shown += [client, client.articles, *vars(client).values(), *vars(client._session).values()]
        client.login("a@example.org", PASSWORD)
        shown += [*vars(client).values(), *vars(client._session).values(), Stored("1", {"token": TOKEN}, '"1"')]
        cut = (200, {"Content-Length": "1000"}, {"id": "1"})
        for answer in (None, cut, refused(403, "forbidden"), refused(503, "unavailable")):
            scripted.answers = [answer]
            for call in (client.me, lambda: client.login("a@example.org", PASSWORD), client.logout):
                with pytest.raises(gatepost_client.GatepostError) as error:
                    call()
                shown += ["".join(traceback.format_exception(error.value)), vars(error.value), error.value]
                requests = [each.request for each in (error.value.__cause__, error.value.__context__)
                            if isinstance(each, httpx.RequestError)]
                assert not [request for request in requests if request.content or "Authorization" in request.headers]
    text = " ".join(f"{each!r} {each}" for each in shown)
    assert not [secret for secret in (TOKEN, PASSWORD, "an-access-token", "gr_a-refresh-token") if secret in text]


@pytest.mark.parametrize("token", ["gp_secret\n", "gp_ secret", "gp_sécret", ""])
def test_a_token_that_cannot_be_one_is_refused_without_showing_it(token):
    with pytest.raises(ValueError, match=r"^The token has") as error:
        Gatepost("http://127.0.0.1:1", token=token)
    assert "gp_" not in str(error.value)


@pytest.mark.parametrize("url", ["http://user:secret@example.org", "example.org", "ftp://example.org", ""])
def test_what_is_no_url_of_a_service_is_refused_without_showing_it(url):
    with pytest.raises(ValueError, match=r"^The URL of a service") as error:
        Gatepost(url)
    assert "secret" not in str(error.value)


def test_a_value_of_a_list_that_has_a_comma_or_begins_with_a_quote_is_quoted(scripted, program):
    scripted.answers = [(200, {}, {"items": [], "has_next": False})]
    list(program.products.list(sku__in=["a,b", 'c"d', '"e"', "f"]))
    asked = parse_qs(urlsplit(scripted.sent[-1][1]).query)
    assert asked["sku__in"] == ['"a,b",c"d,"""e""",f']
