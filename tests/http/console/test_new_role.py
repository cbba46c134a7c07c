"""*New role*: a form whose line is tried and applied like any other change."""

from __future__ import annotations

import pytest

from gatepost.testing import log_in
from tests.http.console.edited import APPLY, edit_form, tried
from tests.http.console.pages import visit

PATH = "/console/rules/role"


@pytest.mark.parametrize(("role", "status"), [("user", 403), ("manager", 403), ("developer", 200), ("admin", 200)])
def test_whoever_may_view_the_rules_may_begin_a_role(role, status, app):
    assert visit(app, role).get(PATH).status_code == status


def test_the_rules_lead_to_it_and_it_leads_to_the_trial_of_its_line(app):
    visitor = visit(app, "admin")
    assert PATH in visitor.page("/console/rules").links
    answer = visitor.get(PATH, query_string={"name": " field-staff ", "inherits": "support"})
    assert (answer.status_code, answer.headers["Location"]) == (
        303, "/console/try?file=roles.csv&add=g%2C+field-staff%2C+support")
    assert "g, field-staff, support" in visitor.page(answer.headers["Location"]).text


@pytest.mark.parametrize("name", [
    "Staff", "staff member", "1st", "ä", "x" * 33, "g,admin", "staff\np, guest, *, always, allow", "a\u202eb",
    '"><script>alert(1)</script>', "user:0199f3a0-0000-7000-8000-000000000001"])
def test_a_name_that_no_role_can_have_is_refused_and_kept(name, app):
    answer = visit(app, "admin").get(PATH, query_string={"name": name, "inherits": "user"})
    assert answer.status_code == 400
    assert "begins with a lowercase letter" in answer.text
    assert "<script>alert" not in answer.text


@pytest.mark.parametrize(("name", "inherits", "said"), [
    ("support", "user", "There is a role support already."), ("guest", "user", "There is a role guest already."),
    ("helper", "king", "There is no such role."), ("helper", "", "There is no such role."),
    ("helper", "user\np, guest, *, always, allow", "There is no such role.")])
def test_a_role_that_exists_or_inherits_from_none_is_refused(name, inherits, said, app):
    answer = visit(app, "admin").get(PATH, query_string={"name": name, "inherits": inherits})
    assert answer.status_code == 400
    assert said in answer.text


@pytest.mark.parametrize("name", ["", "  "])
def test_without_a_name_the_form_is_drawn_again_with_the_choice(name, app):
    answer = visit(app, "admin").get(PATH, query_string={"name": name, "inherits": "support"})
    assert answer.status_code == 200
    assert '<option value="support" selected>' in answer.text


def test_too_much_text_is_refused_without_an_error_of_the_server(app):
    assert visit(app, "admin").get(PATH, query_string={"name": "x" * 5000}).status_code == 400
    assert visit(app, "admin").get(PATH, query_string={"other": "x"}).status_code == 400


def test_a_role_is_created_by_a_trial_and_can_be_given(edited, here):
    admin = visit(edited, "admin")
    path = admin.get(PATH, query_string={"name": "apprentice", "inherits": "user"}).headers["Location"]
    form = edit_form(admin.page(path))
    ready = edit_form(tried(admin, form, text=form.fields["text"]))
    assert admin.post(APPLY, ready.fields).status_code == 303
    assert "apprentice" in edited.extensions["gatepost"].policy.current.roles.of_users
    assert log_in(edited, "admin").post("/api/users", {
        "name": "Ada", "email": "ada@example.org", "password": "seven green lanterns", "role": "apprentice"},
    ).status_code == 201
