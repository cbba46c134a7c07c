"""Every write with `Prefer: return=minimal`: the same effect and the same answer, without the body.

The callers and objects are those of the access matrix. `make test` uses two of the callers for each object.
"""

from __future__ import annotations

import pytest

from gatepost.http.request.endpoint import Endpoint
from tests.collections.test_access_matrix import TABLE, World, undone
from tests.collections.test_repeated_requests import REVIEWED
from tests.databases import on_sqlite  # noqa: F401 - the same on each database

WRITES = ("POST", "PUT", "PATCH", "DELETE")
# The requests of the table for these never succeed, and they answer no object.
BARE = ("/access/v1/", "/api/admin/policy/", "/api/password-links", "/api/password-resets",
        "/api/users/<id>/password-link/mail", "/api/profile/verify-email", "/api/email-verifications",
        "/api/profile/identities/", "/api/profile/second-factor/", "/api/login/verify")
ROUTES = sorted({(row.method, row.path) for row in TABLE if row.method in WRITES and not row.path.startswith(BARE)})
MINIMAL = {"Prefer": "return=minimal"}
# Answers that are shown once, are not objects, or are about work that has only begun: they need their body.
WHOLE = {("POST", "/api/login"), ("POST", "/api/token/refresh"), ("POST", "/api/register"), ("POST", "/api/tokens"),
         ("POST", "/api/contact"), ("POST", "/api/users/<id>/password-link"), ("POST", "/api/admin/backups"),
         ("POST", "/api/profile/second-factor")}


@pytest.fixture(scope="module")
def world(app, given, elsewhere, as_user) -> World:
    return World(app, given, elsewhere, as_user)


def is_whole(method, path):
    return (method, path) in WHOLE or path.endswith("/import")


def told(answer):
    """Returns the headers that both forms of an answer share, without the id of the created object."""
    location = answer.headers.get("Location")
    return answer.headers.get("ETag"), location and location.rpartition("/")[0]


@pytest.mark.parametrize("callers", ["some", pytest.param("all", marks=pytest.mark.slow)])
def test_a_minimal_answer_is_the_answer_without_its_body(callers, app, world):
    endpoints = {(view.endpoint.method, view.endpoint.path): view.endpoint for view in app.view_functions.values()
                 if isinstance(view.endpoint, Endpoint)}
    wrong, asked = [], set()
    for row in (row for row in (*TABLE, *REVIEWED) if (row.method, row.path) in ROUTES):
        granted = {name: status for name, status in (row.expected or {"admin": 200}).items() if status < 300}
        for name in granted if callers == "all" else [*granted][:1] + [*granted][1:][-1:]:
            caller = world.callers[name]
            sent, body = world.path(row, caller), world.body(row, caller)
            answers = []
            for headers in ({}, MINIMAL):
                with undone(world.given.database):
                    answers.append(caller.call(row.method, sent, headers=headers, **body))
            asked.add((row.method, row.path))
            try:
                check(endpoints[row.method, row.path], granted[name], *answers)
            except AssertionError as error:
                wrong.append(f"{row.method} {row.path} {row.about}, {name}: {error}")
    assert not wrong, "\n".join(wrong)
    assert asked == {*ROUTES}


def check(endpoint, status, full, minimal):
    assert full.status_code == status, full.text
    assert "Preference-Applied" not in full.headers
    if is_whole(endpoint.method, endpoint.path) or full.status_code == 204:
        assert not endpoint.minimal
        assert "Preference-Applied" not in minimal.headers
        assert (minimal.status_code, bool(minimal.data)) == (full.status_code, bool(full.data))
        return
    assert endpoint.minimal
    assert minimal.status_code == (201 if full.status_code == 201 else 204)
    assert minimal.data == b"" and "Content-Type" not in minimal.headers
    assert minimal.headers["Preference-Applied"] == "return=minimal"
    assert told(minimal) == told(full)
