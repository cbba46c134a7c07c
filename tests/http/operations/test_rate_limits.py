"""A caller who has used up a minute's units gets 429 and `Retry-After`. Other callers are not affected."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import pytest

from gatepost.http.operations import counters, limits
from gatepost.http.operations.limits import IMPORT_PIECE, JSON_PIECE, Limits
from gatepost.http.pipeline import negotiation
from gatepost.http.protocol.problems import Problem
from gatepost.http.request import identity
from gatepost.http.request.call import Call
from gatepost.http.writing import importing
from models.base import new_id
from models.engine.errors import Overloaded
from settings import SettingError
from tests.apps import PASSWORD
from tests.databases import free_port, missing, new_database
from tests.incidents.load import SERVERS
from tests.running import Instance, wait_until

CHEAP = "/"  # costs one unit for every caller
Limited = Callable[..., Limits]


@pytest.fixture(scope="module")
def database_url(request: pytest.FixtureRequest) -> str:
    """One database is enough: limits do not depend on it."""
    return new_database("sqlite", request)


@pytest.fixture
def limited(app, monkeypatch: pytest.MonkeyPatch) -> Limited:
    """`limited(address_units=5)` applies these settings from now on, with new counters."""
    services = app.extensions["gatepost"]

    def apply(**settings) -> Limits:
        made = Limits(replace(services.settings, rate_limits=True, **settings))
        monkeypatch.setattr(services, "limits", made)
        return made

    return apply


def left(answer) -> tuple[str, int, int, int]:
    """Returns the limit of an answer: its name, quota, remaining units, and seconds until it resets."""
    policy = re.fullmatch(r'"(\w+)";q=(\d+);w=60', answer.headers["RateLimit-Policy"])
    state = re.fullmatch(r'"(\w+)";r=(\d+);t=(\d+)', answer.headers["RateLimit"])
    assert policy and state and policy[1] == state[1]
    assert 1 <= int(state[3]) <= 60
    return policy[1], int(policy[2]), int(state[2]), int(state[3])


def refused(answer) -> bool:
    if answer.status_code == 429:
        assert answer.get_json()["code"] == "rate_limited"
        assert int(answer.headers["Retry-After"]) == left(answer)[3]
        return True
    return False


@pytest.mark.parametrize(("calls", "last"), [(4, 200), (5, 200), (6, 429)], ids=["limit - 1", "limit", "limit + 1"])
def test_an_address_may_call_as_often_as_its_units_allow(limited, client, calls, last):
    limited(address_units=5)
    answers = [client.get(CHEAP) for _ in range(calls)]
    assert [answer.status_code for answer in answers] == [200] * min(calls, 5) + [429] * (calls - 5)
    assert answers[-1].status_code == last
    assert left(answers[0])[:3] == ("address", 5, 4)


def test_a_liveness_probe_costs_nothing_and_is_answered_when_nothing_is_left(limited, client):
    limited(address_units=2)
    live = [client.get("/api/health/live") for _ in range(5)]
    assert [client.get(CHEAP).status_code for _ in range(3)] == [200, 200, 429]
    live.append(client.get("/api/health/live"))
    assert [(answer.status_code, "RateLimit" in answer.headers) for answer in live] == [(200, False)] * 6


@pytest.mark.parametrize(("calls", "last"), [(4, 200), (5, 200), (6, 429)], ids=["limit - 1", "limit", "limit + 1"])
def test_a_principal_may_call_as_often_as_their_units_allow(limited, as_role, calls, last):
    limited(principal_units=5)
    answers = [as_role("user").get("/api/profile") for _ in range(calls)]
    assert answers[-1].status_code == last
    assert [left(answer)[:3] for answer in answers] == [("principal", 5, max(0, 4 - n)) for n in range(calls)]


def test_while_one_is_refused_others_are_not(limited, as_user):
    limited(principal_units=3)
    eager, calm = as_user("user"), as_user("user")
    assert [eager.get("/api/profile").status_code for _ in range(4)] == [200, 200, 200, 429]
    assert left(calm.get("/api/profile"))[2] == 2


def test_an_address_counts_also_requests_with_guessed_tokens(limited, client):
    limited(address_units=2)
    wrong = {"Authorization": "Bearer wrong"}
    answers = [client.get("/api/health", headers=wrong).status_code for _ in range(3)]
    assert answers == [401, 401, 429]


def test_every_answer_says_what_is_left_errors_too(limited, client, as_role):
    limited()
    assert left(client.get("/api/articles/not-an-id"))[0] == "address"
    assert left(as_role("user").post("/api/products", {}))[0] == "principal"


def test_dear_endpoints_take_more(limited, as_role):
    limited()
    owner = as_role("owner")
    before = left(owner.get("/api/profile"))[2]
    assert left(owner.get("/api/admin/stats"))[2] == before - 10


@pytest.mark.parametrize("error", [Problem("overloaded"), Overloaded(1)], ids=["problem", "database"])
@pytest.mark.parametrize("nearest", ["address", "principal"])
def test_a_refusal_because_of_load_costs_one_unit(limited, as_role, monkeypatch, nearest, error):
    def refuse(*_):
        raise error

    limited(**{f"{nearest}_units": 50})
    caller = as_role("editor")
    before = left(caller.get("/api/profile"))
    monkeypatch.setattr(negotiation, "check", refuse)
    answer = caller.get("/api/articles/export")
    assert (answer.status_code, answer.get_json()["code"]) == (503, "overloaded")
    assert (before[0], *left(answer)[:3]) == (nearest, nearest, 50, before[2] - 1)


def test_a_refusal_before_any_unit_was_taken_gives_none_back(limited, app, client, monkeypatch):
    def refuse(*_):
        raise Overloaded(1)

    limited(address_units=50)
    before = left(client.get("/api/articles"))
    with monkeypatch.context() as patch:
        patch.setattr(app.extensions["gatepost"].database, "connected", refuse)
        assert client.get("/api/articles/export").status_code == 503
    assert left(client.get("/api/articles"))[2] == before[2] - 1


SIZES = [(100, 1), (JSON_PIECE - 1, 1), (JSON_PIECE, 2), (10 * JSON_PIECE, 11)]


@pytest.mark.parametrize(("size", "cost"), SIZES)
@pytest.mark.parametrize("announced", [True, False], ids=["announced", "chunked"])
def test_a_large_body_takes_more_whether_or_not_its_length_is_announced(limited, as_role, size, cost, announced):
    limited()
    editor = as_role("editor")
    before = left(editor.get("/api/profile"))[2]
    body = json.dumps({"title": ""}).encode()
    body = body[:-2] + b"x" * (size - len(body)) + body[-2:]
    sent = {"data": body, "content_type": "application/json", "headers": editor.headers}
    if not announced:
        sent |= {"input_stream": BytesIO(sent.pop("data")), "environ_overrides": {
            "HTTP_TRANSFER_ENCODING": "chunked", "wsgi.input_terminated": True}}
    answer = editor.client.post("/api/articles", **sent)
    assert answer.status_code == 400, "the title is too long, or the rest is missing"
    assert left(answer)[2] == before - cost


def test_a_body_that_costs_more_than_there_ever_is_can_be_sent_once_a_minute(limited, as_user):
    limited(principal_units=5)
    editor, other = as_user("editor"), as_user("editor")
    body = {"title": "too long " * 2 * JSON_PIECE}
    assert [editor.post("/api/articles", body).status_code for _ in range(2)] == [400, 429]
    assert other.get("/api/profile").status_code == 200


def send_import(caller, size: int, *, chunked: bool = False):
    """Sends an import of one line of blanks, `size` bytes long."""
    body = b"{}".ljust(size)
    if chunked:
        more = {"input_stream": BytesIO(body), "environ_overrides": {"wsgi.input_terminated": True}}
    else:
        more = {"data": body}
    return caller.post("/api/articles/import", headers={"Content-Type": "application/x-ndjson"}, **more)


@pytest.mark.parametrize("chunked", [False, True], ids=["of known length", "of unknown length"])
@pytest.mark.parametrize(("size", "cost"), [
    (2, 11), (IMPORT_PIECE, 11), (IMPORT_PIECE + 1, 12), (20 * IMPORT_PIECE, 30)])
def test_an_import_costs_a_unit_more_for_every_64_kib(limited, as_role, size, cost, chunked):
    limited()
    editor = as_role("editor")
    before = left(editor.get("/api/profile"))[2]
    assert left(send_import(editor, size, chunked=chunked))[2] == before - cost


def test_an_import_costs_no_more_than_a_fresh_quota_has(limited, as_role):
    limited(principal_units=15)
    editor = as_role("editor")
    assert [send_import(editor, 20 * IMPORT_PIECE).status_code for _ in range(2)] == [400, 429]


def test_an_import_that_is_refused_for_its_size_is_not_read_and_leaves_units_for_what_costs_less(
        limited, as_role, monkeypatch):
    limited(principal_units=40)
    editor = as_role("editor")
    assert send_import(editor, IMPORT_PIECE).status_code == 400
    monkeypatch.setattr(importing, "Import", None)  # the function that would read the body
    answer = send_import(editor, 20 * IMPORT_PIECE)
    assert refused(answer)
    assert left(editor.get("/api/profile"))[2] == 40 - 11 - 10 - 1


def test_an_import_of_unknown_length_ends_where_the_units_do(limited, as_role):
    limited(principal_units=40)
    editor = as_role("editor")
    assert send_import(editor, 12 * IMPORT_PIECE, chunked=True).status_code == 400
    assert refused(send_import(editor, 20 * IMPORT_PIECE, chunked=True))


def test_a_guest_who_may_import_pays_by_address(limited, app, client, monkeypatch):
    limits = limited(address_units=30)
    with app.test_request_context(environ_overrides={"REMOTE_ADDR": "192.0.2.1"}) as context:
        endpoint = app.view_functions["articles.import"].endpoint
        call = Call(app.extensions["gatepost"], endpoint, context.request, {})
        guest = identity.guest(call.services.guest_tenant)
        assert limits.spend_by_size(guest, call.address, 5 * IMPORT_PIECE, cost=endpoint.cost) == 5
    assert left(client.get(CHEAP, environ_overrides={"REMOTE_ADDR": "192.0.2.1"}))[1:3] == (30, 24)


def test_a_role_can_have_units_of_its_own(limited, as_role):
    limited(principal_units=7, role_units={"editor": 9})
    assert left(as_role("user").get("/api/profile"))[1] == 7
    assert left(as_role("editor").get("/api/profile"))[1] == 9


def test_the_service_tokens_of_one_user_share_a_counter_that_is_not_the_users_own(limited, as_user):
    limited(role_units={"service": 4})
    user = as_user("user")
    tokens = [user.post("/api/tokens", {"name": name, "scopes": ["read:articles"]}).get_json()["token"]
              for name in ("one", "two")]
    answers = [user.client.get("/api/articles", headers={"Authorization": f"Bearer {token}"}) for token in tokens * 2]
    assert [left(answer)[1:3] for answer in answers] == [(4, 3), (4, 2), (4, 1), (4, 0)]
    assert left(user.get("/api/profile"))[1] == 600


def test_addresses_of_one_ipv6_network_are_one_caller(limited, client):
    limited(address_units=2)
    def ask(address: str) -> int:
        return client.get(CHEAP, environ_overrides={"REMOTE_ADDR": address}).status_code

    assert [ask(f"2001:db8::{n}") for n in range(1, 4)] == [200, 200, 429]
    assert ask("2001:db8:0:1::1") == 200
    assert ask("no:address") == 200


def test_what_is_no_address_is_one_caller_however_long_and_often_it_is_made_up(limited, client):
    made = limited(address_units=2)
    answers = [client.get(CHEAP, environ_overrides={"REMOTE_ADDR": made_up}).status_code
               for made_up in ("9" * 60_000, "9" * 60_001, "unknown")]
    assert answers == [200, 200, 429]
    assert [*made._counters._own._counts] == ["address/unusable"]


def test_guessing_a_password_ends_after_as_many_guesses_as_are_allowed(limited, client, given):
    limited(login_attempts=3)
    user = given.user()
    wrong = {"email": user.email, "password": "not the password"}
    answers = [client.post("/api/login", json=wrong) for _ in range(4)]
    assert [answer.status_code for answer in answers] == [401, 401, 401, 429]
    assert refused(answers[-1])


def test_an_account_is_guessed_no_more_often_by_spelling_its_address_otherwise(limited, client, given):
    limited(login_attempts=1)
    given.user(email="ren\u00e9.no\u00ebl@example.org")
    spellings = ["ren\u00e9.no\u00ebl", "rene\u0301.no\u00ebl", "ren\u00e9.noe\u0308l", "REN\u00c9.NO\u00cbL"]
    networks = iter(range(100))

    def guess(name: str, address: str) -> int:
        return client.post("/api/login", json={"email": f"{name}@example.org", "password": "not the password"},
                           environ_overrides={"REMOTE_ADDR": address}).status_code

    assert [guess(name, "192.0.2.200") for name in spellings] == [401, 429, 429, 429]
    answers = [guess(name, f"192.0.2.{next(networks)}") for name in spellings * 3]
    assert answers == [401] * 9 + [429] * 3, "ten times as many in all"


@pytest.mark.parametrize(("calls", "last"), [(2, 400), (3, 400), (4, 429)], ids=["limit - 1", "limit", "limit + 1"])
def test_registering_is_counted_tightly(limited, client, calls, last):
    limited(login_attempts=3)
    assert [client.post("/api/register", json={}) for _ in range(calls)][-1].status_code == last


@pytest.mark.parametrize(("path", "body"), [
    ("/api/contact", {"name": "N", "email": "n@example.org", "subject": "s", "body": "b"}),
    ("/api/register", {"name": "N", "email": "{number}@daily.example.org", "password": PASSWORD})],
    ids=["contact", "register"])
def test_an_address_leaves_so_much_a_day_and_what_is_refused_does_not_count(limited, client, monkeypatch, path, body):
    monkeypatch.setattr(limits, "DAILY", 3)
    limited(login_attempts=1000)

    def leave(address: str, **wrong) -> int:
        sent = {name: value.format(number=new_id()) for name, value in body.items()} | wrong
        answer = client.post(path, json=sent, environ_overrides={"REMOTE_ADDR": address})
        if answer.status_code == 429:
            assert "w=86400" in answer.headers["RateLimit-Policy"] and int(answer.headers["Retry-After"]) > 86_000
        return answer.status_code

    assert [leave("192.0.2.9", email="not an address") for _ in range(5)] == [400] * 5
    made = 202 if path == "/api/contact" else 201
    assert [leave("192.0.2.9") for _ in range(4)] == [made] * 3 + [429]
    assert leave("192.0.2.10") == made


def test_what_an_address_tries_to_leave_and_is_not_stored_does_not_count_for_the_day(
        limited, client, given, monkeypatch):
    monkeypatch.setattr(limits, "DAILY", 2)
    limited(login_attempts=1000)

    def register(email: str, **headers) -> int:
        return client.post("/api/register", json={"name": "N", "email": email, "password": PASSWORD}, headers=headers,
                           environ_overrides={"REMOTE_ADDR": "192.0.2.11"}).status_code

    known = given.user().email
    assert [register(known) for _ in range(3)] == [409] * 3
    assert register(f"{new_id()}@daily.example.org") == 201
    assert register(known) == 409
    assert [register(f"{new_id()}@daily.example.org") for _ in range(3)] == [201, 429, 429]


def test_a_message_that_is_sent_again_with_its_key_counts_once_for_the_day(limited, as_user, monkeypatch):
    monkeypatch.setattr(limits, "DAILY", 2)
    limited(login_attempts=1000)
    sender = as_user("user")

    def leave(key: str) -> int:
        body = {"name": "N", "email": "n@example.org", "subject": "s", "body": "b"}
        return sender.post("/api/contact", body, headers={"Idempotency-Key": key}).status_code

    assert [leave("one") for _ in range(2)] == [202, 202]
    assert [leave("two"), leave("three")] == [202, 429]


def test_a_window_ends_and_the_units_are_back(limited, client, monkeypatch):
    made = limited(address_units=1)
    quotas = made._quotas
    monkeypatch.setattr(made, "_quotas", quotas._replace(address=quotas.address._replace(seconds=1)))
    assert [client.get(CHEAP).status_code for _ in range(2)] == [200, 429]
    wait_until(lambda: client.get(CHEAP).status_code != 429)


@pytest.mark.parametrize("address", ["::ffff:192.0.2.7", "192.0.2.7"])
def test_an_ipv4_client_is_itself_on_a_socket_of_both_protocols_too(limited, client, address):
    limited(address_units=1)

    def ask(address: str) -> int:
        return client.get(CHEAP, environ_overrides={"REMOTE_ADDR": address}).status_code

    assert [ask("::ffff:192.0.2.7"), ask("::ffff:192.0.2.8"), ask(address)] == [200, 200, 429]


def test_a_window_that_begins_now_has_no_more_seconds_than_it_is_long(monkeypatch):
    moment = 16383.999999999998  # 60 more is rounded to the next double, which is further from it than 60
    monkeypatch.setattr(counters, "monotonic", lambda: moment)
    assert (moment + 60) - moment > 60
    assert counters.OwnCounters().add("key", 1, 60) == (1, 60)


def test_counters_that_have_ended_are_forgotten(monkeypatch):
    moment = 1000.0
    monkeypatch.setattr(counters, "monotonic", lambda: moment)
    own = counters.OwnCounters()
    own.add("gone", 1, counters.MINUTE)
    moment += 2 * counters.MINUTE
    own.add("new", 1, counters.MINUTE)
    assert list(own._counts) == ["new"]


def test_a_counter_lasts_as_long_as_it_is_told(monkeypatch):
    moment = 1000.0
    monkeypatch.setattr(counters, "monotonic", lambda: moment)
    own = counters.OwnCounters()
    assert [own.add("a day", 1, counters.DAY), own.add("a minute", 1, counters.MINUTE)] == [(1, 86400), (1, 60)]
    moment += 61
    assert [own.add("a day", 1, counters.DAY), own.add("a minute", 1, counters.MINUTE)] == [(2, 86339), (1, 60)]


def test_what_is_given_back_after_its_window_makes_the_next_one_no_larger(monkeypatch):
    moment = 1000.0
    monkeypatch.setattr(counters, "monotonic", lambda: moment)
    own = counters.OwnCounters()
    own.add("guesses", 5, counters.MINUTE)
    moment += 61
    assert [own.add("guesses", units, counters.MINUTE)[0] for units in (-5, 2, -3, 1)] == [0, 2, 0, 1]


def test_a_clock_that_is_set_back_refuses_no_caller_for_longer(limited, client, monkeypatch):
    limited(address_units=1)
    assert client.get(CHEAP).status_code == 200
    monkeypatch.setattr(time, "time", lambda now=time.time: now() - 3 * 3600)
    monkeypatch.setattr(counters, "time", time.time)
    assert refused(client.get(CHEAP))  # `left` holds it to 60 seconds at most


@contextmanager
def redis_server(folder: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir",
                                str(folder), "--logfile", str(folder / "redis.log")])
    try:
        yield process
    finally:
        process.kill()
        process.wait(timeout=10)


@pytest.fixture
def redis_port() -> int:
    if shutil.which("redis-server") is None:
        missing("no redis-server on this machine")
    try:
        import redis  # noqa: F401
    except ImportError:
        missing("the extra `redis` is not installed")
    return free_port()


@pytest.mark.slow
def test_processes_share_their_counters_in_redis_and_count_alone_while_it_is_gone(
        redis_port, tmp_path, limited, client):
    def health() -> dict[str, str]:
        return client.get("/api/health").get_json()["checks"]

    url = f"redis://127.0.0.1:{redis_port}"
    with redis_server(tmp_path, redis_port):
        ours = limited(redis_url=url, address_units=1000)
        wait_until(lambda: health()["limits"] == "ok")
        for _ in range(20):
            known = left(client.get(CHEAP))[2]
        limited(redis_url=url, address_units=1000)  # the counters of another process
        assert left(client.get(CHEAP))[2] == known - 1
        assert ours.state == "ok"
    assert client.get(CHEAP).status_code == 200
    assert health()["limits"] == "degraded"
    assert client.get("/api/health").status_code == 200
    assert left(client.get(CHEAP))[2] > known, "counted by this process alone"
    with redis_server(tmp_path, redis_port):
        wait_until(lambda: health()["limits"] == "ok")


@pytest.mark.slow
def test_what_is_given_back_in_redis_after_its_window_makes_the_next_one_no_larger(redis_port, tmp_path):
    with redis_server(tmp_path, redis_port):
        shared = counters.Counters(f"redis://127.0.0.1:{redis_port}")
        wait_until(lambda: (shared.add("up", 1), not shared.degraded)[1])
        assert [shared.add("guesses", units)[0] for units in (-5, 2, -3, 1, 3, -1)] == [0, 2, 0, 1, 4, 3]
        assert 0 < shared.add("guesses", 1)[1] <= counters.MINUTE
        assert not shared.degraded


@pytest.mark.slow
@pytest.mark.parametrize("server", SERVERS)
def test_all_processes_of_a_server_count_together_in_redis(redis_port, tmp_path, server):
    environment = {"GATEPOST_REDIS_URL": f"redis://127.0.0.1:{redis_port}", "GATEPOST_ADDRESS_UNITS": "30"}
    instance = Instance(tmp_path / "instance", environment).made()
    with redis_server(tmp_path, redis_port), instance.served(*SERVERS[server]) as service:
        answers = [service.call("GET", CHEAP)[0] for _ in range(40)]
    assert answers == [200] * 30 + [429] * 10


def test_limits_hold_also_without_the_redis_that_they_should_share(redis_port, limited, client):
    limited(redis_url=f"redis://127.0.0.1:{redis_port}", address_units=2)
    assert [client.get(CHEAP).status_code for _ in range(3)] == [200, 200, 429]


def test_a_redis_without_its_client_library_stops_the_start(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "redis", None)
    with pytest.raises(SettingError, match=r"pip install redis"):
        counters.Counters("redis://127.0.0.1")
