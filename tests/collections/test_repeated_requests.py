"""Over every POST and PATCH: while nothing changed about its caller, a request repeated by key is answered alike.

The callers and objects are those of the access matrix: what had an effect must be answered again, though the object has
moved on by it.
"""

from __future__ import annotations

import pytest

from blueprints.http.request.endpoint import Endpoint
from blueprints.http.request.identity import service_token
from tests.apps import Caller
from tests.collections.test_access_matrix import COLLECTIONS, TABLE, Row, World, undone

ROUTES = sorted({(row.method, row.path) for row in TABLE if row.method in ("POST", "PATCH")})
# The table asks about no article that is being reviewed.
REVIEWED = [Row("POST", f"/api/articles/<id>/{name}", "another's in_review", {}) for name in ("approve", "reject")]
KEYED = {"Idempotency-Key": "a-repeated-request", "X-Request-ID": "the-same"}


@pytest.fixture(scope="module")
def world(app, given, elsewhere, as_user) -> World:
    """That of the matrix, and a program of the administrator's."""
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


def takes_a_key(app, method, path):
    endpoint = next(view.endpoint for view in app.view_functions.values() if isinstance(view.endpoint, Endpoint)
                    and (view.endpoint.method, view.endpoint.path) == (method, path))
    return endpoint.writes and not endpoint.secret


def asked(row, world):
    """(name, caller) of everybody who is granted it, and of one who is not: refusals have no effect to repeat."""
    refused = next((name for name, status in row.expected.items() if status >= 300), None)
    return [(name, caller) for name, caller in world.callers.items()
            if (row.expected.get(name, 200) < 300 or name == refused)
            # Who disables themselves ends the session that would repeat it.
            and (row.about != "oneself" or not row.path.endswith("/disable"))]


@pytest.mark.parametrize(("method", "path"), ROUTES, ids=[" ".join(route) for route in ROUTES])
def test_a_repeated_request_is_answered_alike(method, path, app, world):
    replayed = set()
    for row in (*TABLE, *REVIEWED):
        if (row.method, row.path) != (method, path):
            continue
        for name, caller in asked(row, world):
            sent, body = world.path(row, caller), world.body(row, caller)
            with undone(world.given.database):
                first = caller.call(method, sent, headers=KEYED, **body)
                if first.status_code < 300:
                    again = caller.call(method, sent, headers=KEYED, **body)
            if first.status_code >= 300:
                # Its transaction would have undone its claim, which here is part of another.
                with undone(world.given.database):
                    again = caller.call(method, sent, headers=KEYED, **body)
            assert told(again) == told(first), (name, row.about)
            assert ("Idempotency-Replayed" in again.headers) == (first.status_code < 300), (name, row.about)
            if first.status_code < 300:
                replayed.add(name)
    assert bool(replayed) == takes_a_key(app, method, path)
