"""A form costs units by its bytes, and the service does not read a form that the limits refuse."""

from __future__ import annotations

import re
from dataclasses import replace
from io import BytesIO
from itertools import pairwise
from urllib.parse import urlencode

import pytest

from blueprints.console.forms import FORM, MOST_FIELDS
from gatepost.http.operations.limits import JSON_PIECE, Limits
from models.tables.session import Session
from tests.databases import new_database
from tests.http.console.pages import ORIGIN, Seen, visit

LOGIN, LOGOUT, TRY = "/console/login", "/console/logout", "/console/try"
LARGE = 2**20
PATHS = [(LOGIN, "guest"), (LOGOUT, "guest"), (LOGOUT, "user"), (TRY, "guest"), (TRY, "developer"),
         ("/console/try/apply", "admin"), ("/console/data/articles/create", "editor"),
         ("/console/data/articles/create/again", "editor")]


@pytest.fixture(scope="module")
def database_url(request):
    """One database is enough, because a form is read before anything is stored."""
    return new_database("sqlite", request)


@pytest.fixture
def limited(app, monkeypatch):
    """`limited(address_units=5)` applies these settings from now on, with new counters."""
    services = app.extensions["gatepost"]

    def apply(**settings):
        monkeypatch.setattr(services, "limits", Limits(replace(services.settings, rate_limits=True, **settings)))

    return apply


class Body(BytesIO):
    """A body that records reads."""

    was_read = False

    def read(self, *size):
        self.was_read = True
        return super().read(*size)

    def readinto(self, buffer):
        self.was_read = True
        return super().readinto(buffer)


def send(visitor, path, body, *, announced=True):
    chunked = {} if announced else {"HTTP_TRANSFER_ENCODING": "chunked", "wsgi.input_terminated": True}
    return visitor.client.post(path, input_stream=body, content_type=FORM, headers=ORIGIN, environ_overrides=chunked)


def left(answer):
    return int(re.search(r";r=(\d+)", answer.headers["RateLimit"])[1])


@pytest.mark.parametrize(("path", "role"), PATHS)
@pytest.mark.parametrize("announced", [True, False], ids=["announced", "chunked"])
def test_no_form_is_read_once_its_address_has_no_units_left(path, role, announced, app, limited):
    visitor, body = visit(app, role), Body(b"a=&" * 1000)
    limited(address_units=1)
    app.test_client().get("/console/login")
    answer = send(visitor, path, body, announced=announced)
    assert (answer.status_code, body.was_read) == (429, False)


@pytest.mark.parametrize(("path", "role"), PATHS[:1] + PATHS[2:3] + PATHS[-2:])
@pytest.mark.parametrize("announced", [True, False], ids=["announced", "chunked"])
def test_a_form_costs_a_unit_more_for_each_16_kib(path, role, announced, app, limited):
    visitor = visit(app, role)
    limited(principal_units=6000)
    remaining = [left(send(visitor, path, Body(b"x" * size), announced=announced))
                 for size in (1, 100, JSON_PIECE - 1, JSON_PIECE, JSON_PIECE * 3 // 2)]
    assert [before - after for before, after in pairwise(remaining)] == [1, 1, 2, 2]


@pytest.mark.parametrize(("path", "role"), PATHS)
def test_a_form_of_many_fields_or_of_unknown_names_is_refused(path, role, app):
    for raw in (b"a=&" * 100_000, b"&".join(b"%x=" % number for number in range(MOST_FIELDS)), b"_x=1"):
        body = Body(raw if path != LOGIN else raw[:30_000])
        answer = send(visit(app, role), path, body)
        assert answer.status_code == 400 or (role == "guest" and path != LOGIN and answer.status_code in (303, 401))
        assert len(answer.data) < 100_000


def test_a_login_takes_a_small_form_alone(app):
    values = {"email": "\N{SNOWMAN}" * 254, "password": "\N{GRINNING FACE}" * 1024, "_next": "/console/audit"}
    visitor = visit(app)
    assert visitor.post(LOGIN, values).status_code == 401
    body = Body(b"email=" + b"x" * LARGE)
    assert (send(visitor, LOGIN, body).status_code, body.was_read) == (413, False)


def test_what_was_typed_stays_where_its_address_has_paid_for_it(app, limited):
    def typed_at(answer):
        return next((form.fields["text"].strip() for form in Seen.of(answer).forms if "text" in form.fields), None)

    visitor, values = visit(app, "developer"), urlencode({"file": "orders.csv", "text": "# mine"}).encode()
    limited(principal_units=1)
    visitor.get("/console")
    refused = send(visitor, TRY, Body(values))
    assert (refused.status_code, typed_at(refused)) == (429, "# mine")
    refused = send(visitor, TRY, Body(values), announced=False)
    assert (refused.status_code, typed_at(refused)) == (429, None)
    limited()
    with app.extensions["gatepost"].database.connected():
        Session.delete().where(Session.owner_id == visitor.user.id).execute()
    refused = send(visitor, TRY, Body(values))
    assert (refused.status_code, typed_at(refused)) == (401, "# mine")
