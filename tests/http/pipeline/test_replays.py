"""A replay by `Idempotency-Key` after a change (docs/api/retries.md): repeated checks, and skipped ones.

Each row of the table is a successful request, a change, and the answer to its repetition after the change.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import pytest

from gatepost.http.pipeline import idempotency
from gatepost.http.request.identity import service_token
from gatepost.http.security.keys import new_master
from gatepost.testing import log_in
from models.base import Rows, later, new_id, now
from models.tables import share
from models.tables.idempotency import IdempotencyKey
from models.tables.session import Session
from models.tables.user import User
from tests.apps import PASSWORD, Caller
from tests.samples import sampled

KEY = {"Idempotency-Key": "one-key"}


class World:
    """The objects of a scenario: callers, and rows that it changes without HTTP."""

    def __init__(self, app, given, as_user) -> None:
        self.app, self.given, self.as_user = app, given, as_user

    def change(self, row: Any, **values: Any) -> None:
        def work() -> None:
            found = Rows(type(row), row.tenant_id).find(row.id)
            for name, value in values.items():
                setattr(found, name, value)
            Rows(type(row), row.tenant_id).save(found)

        self.given.database.transact(work)

    def delete(self, row: Any) -> None:
        self.given.database.transact(lambda: Rows(type(row), row.tenant_id).remove(id=row.id))

    def program(self, user: User, *scopes: str) -> Caller:
        """Returns a caller with a service token of the user."""
        id, hashed, text = service_token()
        self.given.service_token(user, id=id, token_hash=hashed, scopes=list(scopes))
        return Caller(self.app.test_client(), user, text)


@pytest.fixture(scope="module")
def world(app, given, as_user) -> World:
    return World(app, given, as_user)


@dataclass(frozen=True)
class Case:
    """A case. `request` returns (caller, method, path, body, row); `change` gets the world, the caller and the row."""

    name: str
    request: Callable[[World], tuple[Caller, str, str, Any, Any]]
    change: Callable[[World, Caller, Any], object]
    status: int
    code: str | None = None


def publishing(world):
    caller, row = world.as_user("editor"), world.given.article("draft")
    return caller, "POST", f"/api/articles/{row.id}/publish", {}, row


def changing(world):
    caller, row = world.as_user("editor"), world.given.article("draft")
    return caller, "PATCH", f"/api/articles/{row.id}", {"title": "Changed"}, row


def submitting(world):
    caller = world.as_user("user")
    row = world.given.article("draft", owner_id=caller.id)
    return caller, "POST", f"/api/articles/{row.id}/submit", {}, row


def writing_what_is_shared(world):
    caller, row = world.as_user("user"), world.given.article("draft")
    world.given.share("article", row, f"user:{caller.id}", "write")
    return caller, "PATCH", f"/api/articles/{row.id}", {"title": "Changed"}, row


def creating(world):
    return world.as_user("user"), "POST", "/api/articles", {"title": "t", "slug": new_id()[-12:], "body": "b"}, None


def leaving_a_message(world):
    return world.as_user("user"), "POST", "/api/contact", {
        "name": "n", "email": "n@example.org", "subject": "s", "body": "b"}, None


def changing_a_profile(world):
    caller = world.as_user("user")
    return caller, "PATCH", "/api/profile", {"name": "Another"}, caller.user


def nothing(*_):
    pass


def demote(world, caller, _):
    world.change(caller.user, role="user")


def disable(world, caller, _):
    world.change(caller.user, active=False)


def move(world, _, row):
    world.change(row, owner_id=world.given.user().id)


def end_the_session(world, caller, _):
    world.given.database.transact(lambda: Rows(Session, caller.user.tenant_id).change(
        {Session.revoked_at: now()}, Session.owner_id == caller.id))


def withdraw_the_share(world, caller, row):
    world.given.database.transact(
        lambda: share.withdraw(caller.user.tenant_id, "article", row.id, f"user:{caller.id}"))


def narrow_to(scope):
    def narrow(world, caller, _):
        session = world.given.session(caller.user)
        with world.app.app_context():
            caller.token = world.app.extensions["gatepost"].access_tokens.issue(caller.user, session.id, [], scope)
    return narrow


CASES = (
    Case("a step that cannot be taken twice is answered again", submitting, nothing, 200),
    Case("so is one whose row has moved on", submitting,
         lambda world, _, row: world.change(row, status="published"), 200),
    Case("and one whose precondition no longer holds", changing,
         lambda world, _, row: world.change(row, title="By another"), 200),
    Case("a demoted editor may never publish", publishing, demote, 403, "forbidden"),
    Case("a demoted editor may change drafts, but sees no draft of others", changing, demote, 404, "not_found"),
    Case("a row that was given to another is hidden", submitting, move, 404, "not_found"),
    Case("a row that was deleted is not there", submitting, lambda world, _, row: world.delete(row), 404, "not_found"),
    Case("a row that is no longer shared is hidden", writing_what_is_shared, withdraw_the_share, 404, "not_found"),
    Case("a disabled user is nobody", creating, disable, 401, "invalid_token"),
    Case("a session that ended answers nothing", creating, end_the_session, 401, "invalid_token"),
    Case("a scope that does not cover it", creating, narrow_to("read:articles"), 403, "insufficient_scope"),
    Case("another scope is another caller", creating, narrow_to("write:articles"), 409, "already_exists"),
    Case("who cannot view messages is answered alike", leaving_a_message, nothing, 202),
    Case("a profile is one's own", changing_a_profile, nothing, 200),
    Case("also after a change of role", changing_a_profile, demote, 200),
)


@pytest.mark.parametrize("kept", ["whole", "without its body"])
@pytest.mark.parametrize("case", sampled(CASES, 2), ids=[case.name for case in CASES])
def test_a_replay_asks_again_who_may_ever_do_it_and_what_they_see(case, kept, world, monkeypatch):
    if kept != "whole":
        monkeypatch.setattr(idempotency, "LARGE", 1)
    caller, method, path, body, row = case.request(world)
    first = caller.call(method, path, body, KEY)
    assert first.status_code < 300, first.get_data(as_text=True)
    case.change(world, caller, row)
    again = caller.call(method, path, body, KEY)
    assert again.status_code == case.status, again.get_data(as_text=True)
    if case.code is not None:
        assert again.get_json()["code"] == case.code
        assert {"ETag", "Location", "Idempotency-Replayed"}.isdisjoint(again.headers.keys())
    else:
        assert again.headers["Idempotency-Replayed"] == "true"
        assert again.get_data() == (first.get_data() if kept == "whole" else b"")
        assert [again.headers.get(name) for name in ("ETag", "Location")] == [
            first.headers.get(name) for name in ("ETag", "Location")]


def credentials(world):
    """Four kinds of credentials of one user: tokens and sessions."""
    user = world.given.user("editor", password=PASSWORD)
    return [log_in(world.app, user), log_in(world.app, user), world.program(user, "manage:articles"),
            world.program(user, "manage:articles")]


def test_no_session_or_token_is_told_what_another_one_of_the_same_user_was_answered(world):
    body = {"title": "t", "slug": "of-one-session", "body": "b"}
    first, *others = credentials(world)
    assert first.post("/api/articles", body, headers=KEY).status_code == 201
    for other in others:
        answer = other.post("/api/articles", body, headers=KEY)
        assert (answer.status_code, answer.get_json()["code"]) == (409, "already_exists")
    assert first.post("/api/articles", body, headers=KEY).headers["Idempotency-Replayed"] == "true"


def test_each_token_and_session_has_keys_of_its_own_for_other_requests_too(world):
    for number, caller in enumerate(credentials(world)):
        for _ in range(2):
            answer = caller.post("/api/articles", {"title": "t", "slug": f"own-keys-{number}", "body": "b"},
                                 headers=KEY)
            assert (answer.status_code, answer.get_json()["slug"]) == (201, f"own-keys-{number}")


def test_a_session_keeps_its_keys_when_its_token_is_renewed(world):
    user = world.given.user("editor", password=PASSWORD)
    guest = Caller(world.app.test_client())
    tokens = guest.post("/api/login", {"email": user.email, "password": PASSWORD}).get_json()
    body = {"title": "t", "slug": "renewed", "body": "b"}
    before = Caller(world.app.test_client(), user, tokens["access_token"])
    first = before.post("/api/articles", body, headers=KEY)
    renewed = guest.post("/api/token/refresh", {"refresh_token": tokens["refresh_token"]}).get_json()
    again = Caller(world.app.test_client(), user, renewed["access_token"]).post("/api/articles", body, headers=KEY)
    assert (again.status_code, again.get_data()) == (201, first.get_data())


@pytest.mark.parametrize("kept", ["whole", "without its body"])
def test_guarded_fields_that_may_no_longer_be_seen_are_left_out_with_the_tag(kept, world, monkeypatch):
    if kept != "whole":
        monkeypatch.setattr(idempotency, "LARGE", 1)
    caller, other = world.as_user("owner"), world.given.user()
    path = f"/api/users/{other.id}"
    first, same = [caller.patch(path, {"name": "Renamed"}, headers=KEY) for _ in range(2)]
    assert first.get_json()["email"] == other.email and same.headers["ETag"] == first.headers["ETag"]
    demote(world, caller, None)
    again = caller.patch(path, {"name": "Renamed"}, headers=KEY)
    assert (again.status_code, again.headers["Idempotency-Replayed"]) == (200, "true")
    assert "ETag" not in again.headers
    shown = {"id": other.id, "name": "Renamed", "role": "user"}
    assert (again.get_json() if kept == "whole" else again.get_data()) == (shown if kept == "whole" else b"")


def test_an_import_is_answered_again_though_its_rows_are_gone_and_not_to_who_may_never_import(world):
    caller, row = world.as_user("editor"), world.given.article("draft")
    lines = "\n".join(json.dumps(line) for line in [
        {"id": row.id, "title": "Changed"}, {"title": "t", "slug": "imported-and-gone", "body": "b"}])
    headers = {**KEY, "Content-Type": "application/x-ndjson"}
    first = caller.post("/api/articles/import", data=lines, headers=headers)
    assert first.get_json()["updated"] == 1
    world.delete(row)
    assert caller.post("/api/articles/import", data=lines, headers=headers).get_data() == first.get_data()
    demote(world, caller, None)
    assert caller.post("/api/articles/import", data=lines, headers=headers).status_code == 403


@pytest.mark.both_databases
@pytest.mark.parametrize(("change", "status"), [(nothing, 200), (move, 404)])
def test_a_twin_that_waited_is_asked_the_same(change, status, world, monkeypatch):
    """The first request finishes between the second one's look at the kept answers and its claim of the key."""
    caller, method, path, body, row = submitting(world)
    stored, outcome = idempotency.idempotency.stored, []

    def first(tenant_id, wanted):
        monkeypatch.undo()
        def run():
            outcome.append(Caller(world.app.test_client(), caller.user, caller.token).call(method, path, body, KEY))
            change(world, caller, row)
        other = threading.Thread(target=run)
        with world.given.database.connected():
            assert stored(tenant_id, wanted) is None
        other.start()
        other.join()

    monkeypatch.setattr(idempotency.idempotency, "stored", first)
    again = caller.call(method, path, body, KEY)
    assert (outcome[0].status_code, again.status_code) == (200, status), again.get_data(as_text=True)


@pytest.mark.both_databases
def test_an_expired_answer_is_not_asked_about(world):
    caller, method, path, body, row = changing(world)
    assert caller.call(method, path, body, KEY).get_json()["version"] == 2
    world.given.database.transact(lambda: Rows(idempotency.IdempotencyKey, row.tenant_id).change(
        {idempotency.IdempotencyKey.expires_at: later(-1)}))
    demote(world, caller, row)
    assert caller.call(method, path, body, KEY).status_code == 404


def test_no_plain_hash_of_a_body_is_kept(world):
    body = {"title": "t", "slug": "keyed-hash", "body": "b"}
    answer = world.as_user("editor").post("/api/articles", body, headers={"Idempotency-Key": "keyed"})
    assert answer.status_code == 201
    with world.given.database.connected():
        kept = Rows(IdempotencyKey, world.given.tenant_id).select().where(IdempotencyKey.key == "keyed").get()
    content = sha256(json.dumps(body).encode()).hexdigest()
    assert kept.fingerprint not in (content, sha256(b"\n" + content.encode()).hexdigest())


def test_a_repeated_request_is_known_after_the_keys_were_rotated(world):
    keys, editor = world.app.extensions["gatepost"].keys, world.as_user("editor")
    before = keys.masters
    sent = [editor.post("/api/articles", {"title": "t", "slug": "rotated", "body": "b"}, headers=KEY)]
    keys.masters = [new_master(), *before]
    try:
        sent.append(editor.post("/api/articles", {"title": "t", "slug": "rotated", "body": "b"}, headers=KEY))
        other = editor.post("/api/articles", {"title": "u", "slug": "rotated", "body": "b"}, headers=KEY)
    finally:
        keys.masters = before
    assert [(answer.status_code, answer.data) for answer in sent] == [(201, sent[0].data)] * 2
    assert (other.status_code, other.get_json()["code"]) == (422, "idempotency_mismatch")
