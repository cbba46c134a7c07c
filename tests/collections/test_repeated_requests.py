"""Every POST and PATCH: a request repeated with its key gets the same answer, as long as its caller has not changed.

The callers and objects are those of the access matrix. A request that had an effect must get its answer again, although
the object has changed. `make test` uses a few of the callers for each object.
"""

from __future__ import annotations

import pytest

from gatepost.http.request.endpoint import Endpoint
from gatepost.http.request.identity import service_token
from tests.apps import Caller
from tests.collections.test_access_matrix import COLLECTIONS, TABLE, Row, World, undone
from tests.databases import on_sqlite  # noqa: F401 - the same on each database

ROUTES = sorted({(row.method, row.path) for row in TABLE if row.method in ("POST", "PATCH")})
# The table has no article in review.
REVIEWED = [Row("POST", f"/api/articles/<id>/{name}", "another's in_review", {}) for name in ("approve", "reject")]
KEYED = {"Idempotency-Key": "a-repeated-request", "X-Request-ID": "the-same"}


@pytest.fixture(scope="module")
def world(app, given, elsewhere, as_user) -> World:
    """The world of the matrix, with a service token of the administrator."""
    made = World(app, given, elsewhere, as_user)
    administrator = made.callers["admin"].user
    id, hashed, text = service_token()
    given.service_token(administrator, id=id, token_hash=hashed,
                        scopes=[f"{verb}:{area}" for verb in ("read", "write", "manage") for area in COLLECTIONS])
    made.callers["program"] = Caller(app.test_client(), administrator, text)
    return made


def told(answer):
    return answer.status_code, answer.get_data(), *(
        answer.headers.get(name) for name in ("Content-Type", "Content-Language", "ETag", "Location"))


def asked(row, world, callers):
    """Returns (name, caller) of the permitted callers, and of one refused caller: a refusal has no effect to repeat."""
    refused = [name for name, status in row.expected.items() if status >= 300][:1]
    granted = [name for name in world.callers if row.expected.get(name, 200) < 300]
    return [(name, world.callers[name])
            for name in (granted if callers == "all" else granted[:2] + granted[2:][-1:]) + refused
            # Users who disable themselves end the session that would repeat the request.
            if row.about != "oneself" or not row.path.endswith("/disable")]


@pytest.mark.parametrize("callers", ["some", pytest.param("all", marks=pytest.mark.slow)])
def test_a_repeated_request_is_answered_alike(callers, app, world):
    wrong, replayed = [], set()
    for row in (row for row in (*TABLE, *REVIEWED) if (row.method, row.path) in ROUTES):
        for name, caller in asked(row, world, callers):
            sent, body = world.path(row, caller), world.body(row, caller)
            with undone(world.given.database):
                first = caller.call(row.method, sent, headers=KEYED, **body)
                if first.status_code < 300:
                    again = caller.call(row.method, sent, headers=KEYED, **body)
            if first.status_code >= 300:
                # Its own transaction would have rolled back its claim, which is part of another one here.
                with undone(world.given.database):
                    again = caller.call(row.method, sent, headers=KEYED, **body)
            if told(again) != told(first):
                wrong.append(f"{row.method} {row.path} {row.about}, {name}: {first.text}, then {again.text}")
            if ("Idempotency-Replayed" in again.headers) != (first.status_code < 300):
                wrong.append(f"{row.method} {row.path} {row.about}, {name}: {first.status}, then {again.headers}")
            if first.status_code < 300:
                replayed.add((row.method, row.path))
    assert not wrong, "\n".join(wrong)
    taking = {(view.endpoint.method, view.endpoint.path) for view in app.view_functions.values()
              if isinstance(view.endpoint, Endpoint) and view.endpoint.writes and not view.endpoint.secret}
    assert replayed == taking & {*ROUTES}
