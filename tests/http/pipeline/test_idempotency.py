"""`Idempotency-Key` (docs/api/retries.md): a request that is sent twice has one effect."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import psycopg
import pytest

from gatepost.http.operations import limits
from gatepost.http.operations.limits import Limits
from gatepost.http.pipeline import idempotency
from gatepost.http.pipeline.idempotency import LARGE
from models.base import Rows, later, now
from models.tables.article import Article
from models.tables.category import Category
from models.tables.idempotency import IdempotencyKey
from tests.apps import Caller, Given, close, make_app, new_instance
from tests.running import wait_until

KEYS, THREADS, TIMES = 100, 8, 4


@pytest.fixture
def editor(as_role):
    return as_role("editor")


def key(text):
    return {"Idempotency-Key": text}


@pytest.mark.both_databases
def test_a_repeated_create_makes_one_row_and_gets_the_same_answer(editor, given):
    body = {"title": "Once", "slug": "once", "body": "b"}
    first = editor.post("/api/articles", body, headers=key("create-once"))
    again = editor.post("/api/articles", body, headers=key("create-once"))
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.get_data() == first.get_data()
    assert [again.headers[name] for name in ("ETag", "Location", "Content-Type")] == [
        first.headers[name] for name in ("ETag", "Location", "Content-Type")]
    assert (first.headers.get("Idempotency-Replayed"), again.headers["Idempotency-Replayed"]) == (None, "true")
    assert editor.get("/api/articles?slug=once&page=1").get_json()["total"] == 1


def test_a_token_of_the_same_session_with_other_scopes_gets_no_answer_of_this_one(app, as_user):
    editor = as_user("editor")
    services = app.extensions["gatepost"]
    with app.app_context():
        session = services.access_tokens.verify(editor.token).session_id
        narrow = Caller(app.test_client(), editor.user,
                        services.access_tokens.issue(editor.user, session, [], "write:articles"))
    body = {"title": "Scoped", "slug": "scoped", "body": "b"}
    assert editor.post("/api/articles", body, headers=key("scoped")).status_code == 201
    answer = narrow.post("/api/articles", body, headers=key("scoped"))
    assert (answer.status_code, answer.headers.get("Idempotency-Replayed")) == (409, None)


def replayed_without_its_body(first, again):
    assert (again.status_code, again.get_data()) == (first.status_code, b"")
    assert "Content-Type" not in again.headers
    assert (again.headers["Idempotency-Replayed"], again.headers["Preference-Applied"]) == ("true", "return=minimal")
    assert [again.headers.get(name) for name in ("ETag", "Location")] == [
        first.headers.get(name) for name in ("ETag", "Location")]
    return True


def test_a_large_answer_is_replayed_without_its_body(editor, given):
    body = {"title": "Large", "slug": "large", "body": "b" * LARGE}
    first, again = [editor.post("/api/articles", body, headers=key("large")) for _ in range(2)]
    assert first.status_code == 201 and len(first.get_data()) > LARGE
    assert replayed_without_its_body(first, again)
    path = first.headers["Location"]
    first, again = [editor.patch(path, {"title": "Larger"}, headers=key("larger")) for _ in range(2)]
    assert (first.status_code, first.get_json()["version"]) == (200, 2)
    assert replayed_without_its_body(first, again)
    assert editor.patch(path, {"title": "Other"}, headers=key("larger")).status_code == 422
    with given.database.connected():
        assert [kept.body for kept in Rows(IdempotencyKey, given.tenant_id).select().where(
            IdempotencyKey.key.in_(["large", "larger"]))] == [None, None]


def test_once_much_was_kept_for_a_caller_answers_are_kept_without_their_bodies(app, as_user, given, monkeypatch):
    services = app.extensions["gatepost"]
    monkeypatch.setattr(services, "limits", Limits(replace(services.settings, rate_limits=True)))
    monkeypatch.setattr(limits, "MOST_KEPT", 3000)
    eager, calm, article = as_user("editor"), as_user("editor"), given.article("draft", body="b" * 1000)

    def again(caller, name):
        path = f"/api/articles/{article.id}"
        first, second = [caller.patch(path, {"title": name}, headers=key(name)) for _ in range(2)]
        return first, second

    for name in ("one", "two"):
        first, second = again(eager, name)
        assert second.get_data() == first.get_data()
    assert replayed_without_its_body(*again(eager, "three"))
    first, second = again(calm, "another")
    assert second.get_data() == first.get_data()


def test_quoted_and_bare_are_the_same_key(editor):
    body = {"title": "Quoted", "slug": "quoted", "body": "b"}
    first = editor.post("/api/articles", body, headers=key('"a-quoted-key"'))
    assert editor.post("/api/articles", body, headers=key("a-quoted-key")).get_data() == first.get_data()


def test_a_patch_and_an_action_are_done_once(editor, given):
    path = f"/api/articles/{given.article('draft').id}"
    for _ in range(3):
        answer = editor.patch(path, {"title": "Changed"}, headers={**key("patch"), "If-Match": '"1"'})
        assert (answer.status_code, answer.get_json()["version"]) == (200, 2)
    for _ in range(3):
        answer = editor.post(f"{path}/publish", headers=key("publish"))
        assert (answer.status_code, answer.get_json()["version"]) == (200, 3)
    assert editor.get(path).get_json()["version"] == 3


@pytest.mark.both_databases
def test_an_import_is_done_once(editor):
    line, headers = b'{"title": "t", "slug": "imported-once", "body": "b"}', {"Content-Type": "application/x-ndjson"}
    answers = [editor.post("/api/articles/import", data=line, headers={**headers, **key("import")}) for _ in range(2)]
    assert [answer.get_json()["imported"] for answer in answers] == [1, 1]
    other = editor.post("/api/articles/import?key=slug", data=line, headers={**headers, **key("import")})
    assert (other.status_code, other.get_json()["code"]) == (422, "idempotency_mismatch")


def test_a_key_belongs_to_one_caller_method_and_path(editor, as_role, given):
    body = {"title": "t", "slug": "mine", "body": "b"}
    assert editor.post("/api/articles", body, headers=key("shared")).status_code == 201
    assert as_role("admin").post("/api/articles", {**body, "slug": "yours"}, headers=key("shared")).status_code == 201
    path = f"/api/articles/{given.article('draft').id}"
    assert editor.patch(path, {"title": "t"}, headers=key("shared")).get_json()["version"] == 2
    assert editor.post("/api/categories", {"name": "n", "slug": "theirs"}, headers=key("shared")).status_code == 201


def test_another_body_under_the_same_key_is_a_mismatch(editor):
    body = {"title": "t", "slug": "one-body", "body": "b"}
    editor.post("/api/articles", body, headers=key("body"))
    answer = editor.post("/api/articles", {**body, "slug": "another-body"}, headers=key("body"))
    assert (answer.status_code, answer.get_json()["code"]) == (422, "idempotency_mismatch")


@pytest.mark.both_databases
def test_a_request_without_effect_may_be_sent_again_with_its_key(editor, given):
    taken = given.article(slug="taken-for-now")
    body = {"title": "t", "slug": "taken-for-now", "body": "b"}
    assert editor.post("/api/articles", body, headers=key("again")).status_code == 409
    assert editor.delete(f"/api/articles/{taken.id}").status_code == 204
    assert editor.post("/api/articles", body, headers=key("again")).status_code == 201


@pytest.mark.both_databases
def test_an_expired_key_is_free_again(editor, given):
    body = {"title": "t", "slug": "expired", "body": "b"}
    assert editor.post("/api/articles", body, headers=key("old")).status_code == 201
    expire_all(given)
    answer = editor.post("/api/articles", body, headers=key("old"))
    assert (answer.status_code, answer.get_json()["code"]) == (409, "already_exists")


def expire_all(given):
    with given.database.connected():
        given.database.transact(lambda: Rows(IdempotencyKey, given.tenant_id).change(
            {IdempotencyKey.expires_at: later(-1)}))


LONG = "k" * 255


@pytest.mark.parametrize("text", ["", " ", "a b", f"{LONG}k", f'"{LONG}k"', '"open', 'in"side', "ümlaut", "\t", '""'])
def test_what_is_no_key_is_an_invalid_header(editor, text):
    answer = editor.post("/api/articles", {"title": "t", "slug": "never", "body": "b"}, headers=key(text))
    assert (answer.status_code, answer.get_json()["code"]) == (400, "invalid_header")
    assert [fault["header"] for fault in answer.get_json()["errors"]] == ["Idempotency-Key"]


@pytest.mark.parametrize("text", ["k", LONG, f'"{LONG}"', "8e03978e-40d5-43dd-bc93-6894a57f9324", "~!#$%"])
def test_any_visible_characters_are_a_key(editor, text, given):
    path = f"/api/articles/{given.article('draft').id}"
    assert editor.patch(path, {"title": "t"}, headers=key(text)).status_code == 200


@pytest.mark.parametrize(("method", "path", "body"), [
    ("POST", "/api/login", {"email": "a@example.org", "password": "not the password"}),
    ("POST", "/api/token/refresh", {"refresh_token": "x" * 43}),
    ("POST", "/api/register", {"name": "n", "email": "n@example.org", "password": "a long walk along the shore"}),
    ("POST", "/api/contact", {"name": "n", "email": "n@example.org", "subject": "s", "body": "b"}),
])
def test_guests_cannot_repeat_by_key(as_role, method, path, body):
    answer = as_role("guest").call(method, path, body, key("guest"))
    assert (answer.status_code, answer.get_json()["code"]) == (400, "idempotency_unsupported")


@pytest.mark.parametrize(("method", "path", "body"), [
    ("POST", "/api/logout", {}),
    ("POST", "/api/tokens", {"name": "n", "scopes": ["read:articles"]}),
    ("POST", "/api/profile/password", {"current_password": "x" * 12, "new_password": "a long walk along the shore"}),
])
def test_answers_that_are_secret_are_never_kept(as_role, method, path, body):
    answer = as_role("user").call(method, path, body, key("secret"))
    assert (answer.status_code, answer.get_json()["code"]) == (400, "idempotency_unsupported")


@pytest.mark.both_databases
def test_a_hundred_keys_from_eight_threads_each_sent_four_times_have_one_effect_each(app, editor, given):
    """Sends every key four times, and every fourth key once with another body, in random order."""
    def body(number, other=False):
        return {"name": "Other" if other else "Name", "slug": f"{'other' if other else 'key'}-{number}"}

    requests = [(number, number % 4 == 0 and time == 3) for time in range(TIMES) for number in range(KEYS)]
    # Neighbours are sent at the same time. Requests of one key are neighbours, so that they compete.
    requests.sort(key=lambda one: (one[0] // THREADS, hash((one[0] * 7919 + one[1]) % 31)))
    clients = threading.local()

    def send(request):
        number, other = request
        if not hasattr(clients, "own"):
            clients.own = app.test_client()
        answer = clients.own.post("/api/categories", json=body(number, other),
                                  headers={**editor.headers, **key(f"many-{number}")})
        return number, other, answer.status_code, answer.get_data()

    with ThreadPoolExecutor(THREADS) as pool:
        answers = list(pool.map(send, requests))
    by_key = {}
    for number, other, status, data in answers:
        by_key.setdefault(number, []).append((other, status, data))
    with given.database.connected():
        slugs = {row.slug for row in Rows(Category, given.tenant_id).select()}
    for number, found in by_key.items():
        made = {data for _, status, data in found if status == 201}
        assert len(made) == 1
        assert {status for _, status, _ in found} <= {201, 422}
        # The first body holds the key. The other one is refused each time.
        assert len({other for other, status, _ in found if status == 201}) == 1
        winner = next(other for other, status, _ in found if status == 201)
        assert all(status == 201 if other == winner else status == 422 for other, status, _ in found)
        assert (f"key-{number}" in slugs, f"other-{number}" in slugs) == (not winner, winner)


def cancel_what_waits(database_url):
    """Cancels the statements that wait for a lock, like their timeout. Returns their number."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        return len(connection.execute("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event_type = "
                                      "'Lock' AND datname = current_database()").fetchall())


@pytest.mark.both_databases
def test_a_twin_that_waits_too_long_gets_409_and_retry_after(tmp_path, database_url, monkeypatch):
    """The first request holds the key in a transaction that does not end in time.

    On SQLite it holds the write lock. On Postgres it locks a row, and the second request waits until the server cancels
    its statement.
    """
    app = make_app(new_instance(tmp_path / "i", database_url, "default"), database_url)
    services = app.extensions["gatepost"]
    try:
        there = Given(app, "default")
        user = there.user("editor")
        with app.app_context():
            token = services.access_tokens.issue(user, there.session(user).id, [], "*")
        editor = Caller(app.test_client(), user, token)
        held, done = threading.Event(), threading.Event()
        body = {"title": "t", "slug": "slow-twin", "body": "b"}
        claim = idempotency.claim

        def hold(call):
            claim(call)
            held.set()
            assert done.wait(60)

        def send():
            Caller(app.test_client(), user, token).post("/api/articles", body, headers=key("slow"))

        monkeypatch.setattr(idempotency, "claim", hold)
        first = threading.Thread(target=send)
        first.start()
        assert held.wait(60)
        monkeypatch.undo()
        if services.database.dialect == "sqlite":
            services.database.places.timeout = 0.3
        with ThreadPoolExecutor(1) as threads:
            twin = threads.submit(editor.post, "/api/articles", body, headers=key("slow"))
            if services.database.dialect == "postgres":
                wait_until(lambda: cancel_what_waits(database_url))
            answer = twin.result()
        assert (answer.status_code, answer.get_json()["code"]) == (409, "idempotency_in_progress")
        assert answer.headers["Retry-After"] == "1"
        done.set()
        first.join()
    finally:
        close(app)


@pytest.mark.both_databases
def test_keys_are_thrown_away_in_batches_once_they_have_expired(editor, given):
    from gatepost.http.operations.housekeeping import delete_expired

    body = {"title": "t", "slug": "kept-key", "body": "b"}
    expire_all(given)
    assert editor.post("/api/articles", body, headers=key("kept")).status_code == 201
    with given.database.connected():
        keys = Rows(IdempotencyKey, given.tenant_id)
        before = keys.select().where(IdempotencyKey.expires_at <= now()).count()
        assert given.database.transact(lambda: IdempotencyKey.purge(now(), 3)) == min(3, before) > 0
        delete_expired(given.database)
        assert [row.key for row in keys.select()] == ["kept"]
        assert Rows(Article, given.tenant_id).select().where(Article.slug == "kept-key").count() == 1
