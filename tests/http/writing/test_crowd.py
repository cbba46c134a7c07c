"""Concurrent writes share their commits, and each gets its own answer as if it were alone."""

from __future__ import annotations

import io
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from time import sleep

import pytest

from gatepost.http.security import passwords
from models.base import Rows
from models.tables import audit
from models.tables.article import Article
from models.tables.audit import Audit
from tests.apps import PASSWORD
from tests.running import wait_until

pytestmark = pytest.mark.both_databases

WRITERS, TURNS = 8, 12


def test_eight_callers_at_once_write_as_themselves_and_are_refused_for_their_own_reasons(app, given, as_user):
    """Each caller creates a row, changes it, sends an old version, takes a used slug, and tries another's draft."""
    callers = [as_user("user") for _ in range(WRITERS)]
    taken, strange = given.article("draft", slug="taken"), given.article("draft")
    barrier = threading.Barrier(WRITERS)

    def write(number):
        caller, client, found = callers[number], app.test_client(), []

        def send(expected, method, path, body, **headers):
            request_id = f"at-once-{number}-{len(found)}"
            for _ in range(TURNS):
                answer = client.open(path, method=method, json=body,
                                     headers={**caller.headers, "X-Request-ID": request_id, **headers})
                # While the disk is slow for half a second, half of the writers get 503 and retry.
                if answer.status_code != 503:
                    break
                sleep(int(answer.headers["Retry-After"]))
            found.append((request_id, expected, answer.status_code, answer.headers["X-Request-ID"]))
            return answer.get_json()

        barrier.wait()
        for turn in range(TURNS):
            made = send(201, "POST", "/api/articles", {"title": f"{number} {turn}", "slug": f"at-once-{number}-{turn}",
                                                       "body": "b"}, **{"Idempotency-Key": f"create-{turn}"})
            assert (made["owner_id"], made["title"]) == (caller.user.id, f"{number} {turn}")
            path = f"/api/articles/{made['id']}"
            assert send(200, "PATCH", path, {"title": f"{number} {turn} changed"})["version"] == 2
            send(412, "PATCH", path, {"title": "too late"}, **{"If-Match": '"1"'})
            send(409, "POST", "/api/articles", {"title": "t", "slug": taken.slug, "body": "b"},
                 **{"Idempotency-Key": f"taken-{turn}"})
            send(404, "PATCH", f"/api/articles/{strange.id}", {"title": "not mine"})
        return found

    with ThreadPoolExecutor(WRITERS) as pool:
        answers = [one for found in pool.map(write, range(WRITERS)) for one in found]
    assert [one for one in answers if one[1] != one[2] or one[0] != one[3]] == []
    with given.database.connected():
        titles = {row.slug: row.title for row in Rows(Article, given.tenant_id).select()}
        recorded = {row.request_id: row for row in audit.of_tenant(given.tenant_id).where(
            Audit.request_id.startswith("at-once-"), Audit.result == "allowed")}
    assert all(titles[f"at-once-{number}-{turn}"] == f"{number} {turn} changed"
               for number in range(WRITERS) for turn in range(TURNS))
    assert sorted(recorded) == sorted(id for id, expected, _, _ in answers if expected < 300)
    assert all(row.principal == f"user:{callers[int(id.split('-')[2])].user.id}" for id, row in recorded.items())


def test_a_request_that_waits_for_its_turn_to_write_holds_no_connection(app, given, as_user):
    database, caller = given.database, as_user("user")
    if database.dialect != "sqlite":
        pytest.skip("on Postgres writers do not wait for one another")
    assert caller.get("/api/articles").status_code == 200
    answers = []

    def write():
        answers.append(app.test_client().post("/api/articles", headers=caller.headers,
                                              json={"title": "t", "slug": "waits", "body": "b"}).status_code)

    idle = len(database._pool._stack)
    writer = threading.Thread(target=write)
    with database.writing():
        writer.start()
        wait_until(lambda: database.group.waiting)
        assert len(database._pool._stack) == idle
    writer.join()
    assert answers == [201]


@pytest.mark.parametrize(("path", "media_type", "status"), [
    ("/api/articles", "application/json", 201),
    ("/api/articles/import", "application/x-ndjson", 200),
])
def test_a_client_that_is_still_sending_its_body_holds_no_connection(app, given, as_user, path, media_type, status):
    caller, held = as_user("editor"), []

    class Sending(io.BytesIO):
        def readinto(self, buffer):
            held.append(not given.database.is_closed())
            return super().readinto(buffer)

    body = json.dumps({"title": "t", "slug": f"sent-{status}", "body": "b"}).encode()
    answer = app.test_client().post(path, headers=caller.headers, input_stream=Sending(body),
                                    content_length=len(body), content_type=media_type)
    assert answer.status_code == status
    assert held and not any(held)


def test_no_connection_is_held_while_a_password_is_hashed(app, given, monkeypatch):
    user, held, slot, client = given.user("user", password=PASSWORD), [], passwords._slot, app.test_client()
    monkeypatch.setattr(passwords, "_slot", lambda: held.append(not given.database.is_closed()) or slot())
    token = client.post("/api/login", json={"email": user.email, "password": PASSWORD}).get_json()["access_token"]
    changed = client.post("/api/profile/password", headers={"Authorization": f"Bearer {token}"},
                          json={"current_password": PASSWORD, "new_password": "another walk along the shore"})
    assert changed.status_code == 204
    assert held == [False] * 3
