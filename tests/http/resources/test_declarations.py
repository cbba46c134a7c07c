"""What a declaration may leave out: an owner, a default, a place in the schema; and what is answered then."""

from __future__ import annotations

import re
import sys
from types import ModuleType

import pytest

from app import create_app
from blueprints.http.resources.plugins.contents import PluginError
from blueprints.http.resources.plugins.discovery import discover
from gatepost import Routes, StrictSchema
from gatepost.testing import log_in, served
from tests.http.resources.letters.letters import Letters

app = served(create_app, Letters)


@pytest.fixture(scope="module")
def admin(app):
    return log_in(app, "admin")


@pytest.fixture(scope="module")
def user(app):
    return log_in(app, "user")


def made(caller, **body):
    answer = caller.post("/api/letters", {"text": "Dear reader", **body})
    assert answer.status_code == 201, answer.text
    return answer.get_json()


def put(caller, row, **body):
    return caller.put(f"/api/letters/{row['id']}", {"text": "Dear writer", **body})


def test_a_put_gives_a_column_that_is_left_out_its_default(admin):
    assert put(admin, made(admin, stars=5)).get_json()["stars"] == 3


def test_a_put_makes_a_nullable_column_that_is_left_out_null(admin):
    assert put(admin, made(admin, remark="Kept for now")).get_json()["remark"] is None


def test_a_put_keeps_a_column_that_can_be_neither_null_nor_a_default(admin):
    answer = put(admin, made(admin, code="A1"))
    assert (answer.status_code, answer.get_json()["code"]) == (200, "A1")
    assert put(admin, made(admin, code="A1"), code="B2").get_json()["code"] == "B2"


def test_a_put_leaves_a_column_that_the_schema_does_not_have(admin, app):
    row = made(admin)
    assert put(admin, row).status_code == 200
    database = app.extensions["gatepost"].database
    with database.connected():
        assert Letters.model.get_by_id(row["id"]).place == "shelf"


def test_a_guarded_field_of_rows_without_an_owner_is_seen_by_managers_alone(admin, user):
    row = made(admin, code="A1")
    path = f"/api/letters/{row['id']}"
    assert admin.get(path).get_json()["code"] == "A1"
    assert "code" not in user.get(path).get_json()
    assert "code" not in user.get(f"{path}?fields=text,code").get_json()
    assert all("code" not in one for one in user.get("/api/letters").get_json()["items"])


def test_a_filter_by_a_guarded_field_of_rows_without_an_owner_finds_nothing_for_others(admin, user):
    made(admin, code="C3", text="Found")
    found = admin.get("/api/letters?code=C3&text=Found").get_json()["items"]
    assert [row["code"] for row in found] == ["C3"]
    answer = user.get("/api/letters?code=C3")
    assert (answer.status_code, answer.get_json()["items"]) == (200, [])
    assert user.get("/api/letters?text=Found").get_json()["items"] != []


def test_a_sort_by_a_guarded_field_of_rows_without_an_owner_is_refused_to_others(admin, user):
    assert admin.get("/api/letters?sort=code").status_code == 200
    assert user.get("/api/letters?sort=code").status_code == 400


@pytest.mark.parametrize(("declared", "sentence"), [
    ({"import_keys": ("code",)}, "is an import key: what a line finds would tell what is in it"),
    ({"guarded": {"code": "note.view_code"}}, "is not one of letter.*"),
    ({"guarded": {"place": "letter.view_place"}}, "which it does not answer"),
])
def test_a_guard_that_would_not_hold_stops_the_start(declared, sentence):
    with pytest.raises(PluginError, match=re.escape(sentence)):
        discover([type("Letters", (Letters,), {**declared, "__module__": Letters.__module__})])


@pytest.mark.parametrize(("declared", "sentence"), [
    ({"on_erase": "forget"}, "on_erase must be delete, anonymise or hand_over, not 'forget'"),
    ({"on_erase": None}, "on_erase must be delete, anonymise or hand_over, not None"),
    ({"on_erase": "anonymise"}, "neither is of use without the other"),
    ({"anonymised": {"remark": None}}, "neither is of use without the other"),
    ({"on_erase": "anonymise", "anonymised": ("remark",)}, "must say for each column which value it gets"),
    ({"on_erase": "anonymise", "anonymised": {"remarks": None}}, "'remarks', which is no column that can be"),
    ({"on_erase": "anonymise", "anonymised": {"tenant_id": "x"}}, "'tenant_id', which is no column that can be"),
    ({"on_erase": "anonymise", "anonymised": {"text": None}}, "'text' to None, which the column does not take"),
])
def test_what_an_erasure_could_not_do_stops_the_start(declared, sentence):
    with pytest.raises(PluginError, match=re.escape(sentence)):
        discover([type("Letters", (Letters,), {**declared, "__module__": Letters.__module__})])


def test_what_an_erasure_can_do_is_taken():
    declared = {"on_erase": "anonymise", "anonymised": {"remark": None}, "__module__": Letters.__module__}
    assert "letters" in discover([type("Letters", (Letters,), declared)]).collections


def test_an_operation_that_is_called_like_another_one_stops_the_start(monkeypatch):
    routes = Routes("gadgets", "Gadgets.")
    routes.get("/api/gadgets", permission="gadget.view", answer=StrictSchema(), operation="session_log_in")(print)
    plugin = ModuleType("gadgets")
    plugin.routes, plugin.__file__ = routes, __file__
    monkeypatch.setitem(sys.modules, "gadgets", plugin)
    with pytest.raises(PluginError, match="'session_log_in' is declared 2 times"):
        discover([plugin])
