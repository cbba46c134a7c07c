"""The catalogue of errors: complete, in one shape, and the only source of codes."""

from __future__ import annotations

import ast

import pytest

from gatepost.http.protocol.problems import CATALOGUE, Problem
from models.engine.errors import (
    AlreadyExists,
    InvalidReference,
    InvalidState,
    InvalidValue,
    Outdated,
    OutOfStock,
    StillReferenced,
    TimedOut,
    Unavailable,
)
from tests.apps import NO_ROW
from tests.http.described import check_problem
from tests.running import SERVICE

# Copied by hand from docs/reference.md.
CONTRACT = {
    400: "malformed_json invalid_body invalid_field missing_field unknown_field read_only_field invalid_parameter "
         "unknown_parameter invalid_header pagination_conflict offset_too_large invalid_cursor cursor_mismatch "
         "cursor_expired invalid_reference unknown_scope unsupported_version idempotency_unsupported",
    401: "unauthenticated invalid_token token_expired invalid_credentials login_incomplete "
         "insufficient_user_authentication",
    403: "forbidden insufficient_scope",
    404: "not_found",
    405: "method_not_allowed",
    406: "not_acceptable",
    409: "conflict already_exists still_referenced invalid_transition out_of_stock last_administrator "
         "idempotency_in_progress",
    410: "gone",
    412: "version_conflict",
    413: "body_too_large",
    414: "uri_too_long",
    415: "unsupported_media_type",
    422: "idempotency_mismatch",
    428: "precondition_required",
    429: "rate_limited",
    500: "internal_error",
    503: "unavailable overloaded timeout",
}


def codes_in_the_code():
    """Yield the place and the code of every literal code given to `Problem`, `Fault` or `Conflict`."""
    places = {"Problem": 0, "Fault": 0, "Conflict": 1}
    for path in SERVICE:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
            if name == "of" and len(node.args) == 2:
                given = node.args[1]
            elif name in places and len(node.args) > places[name]:
                given = node.args[places[name]]
            else:
                continue
            if isinstance(given, ast.Constant) and isinstance(given.value, str):
                yield f"{path.name}:{node.lineno}", given.value


def test_the_catalogue_is_that_of_the_contract():
    assert {code: status for code, (status, _) in CATALOGUE.items()} == {
        code: status for status, codes in CONTRACT.items() for code in codes.split()}


def test_no_other_code_is_raised():
    codes = list(codes_in_the_code())
    assert {code for _, code in codes} >= {"malformed_json", "not_found", "already_exists"}
    assert [(place, code) for place, code in codes if code not in CATALOGUE] == []


def test_every_title_says_something_of_its_own():
    titles = [title for _, title in CATALOGUE.values()]
    assert len(set(titles)) == len(titles)
    assert all(titles)


@pytest.mark.parametrize(("raised", "status", "code"), [
    (AlreadyExists(("slug",)), 409, "already_exists"),
    (StillReferenced("x"), 409, "still_referenced"),
    (InvalidReference("x"), 400, "invalid_reference"),
    (InvalidValue("x"), 400, "invalid_body"),
    (Outdated("x"), 409, "conflict"),
    (InvalidState("x", ["items/0"]), 409, "conflict"),
    (OutOfStock("x", ["items/0"]), 409, "out_of_stock"),
    (TimedOut("x"), 503, "timeout"),
    (Unavailable("x"), 503, "unavailable"),
    (RuntimeError("the password is hunter2"), 500, "internal_error"),
    (RecursionError(), 500, "internal_error"),
    (Problem("gone"), 410, "gone"),
], ids=lambda value: type(value).__name__ if isinstance(value, Exception) else None)
def test_whatever_is_raised_becomes_a_problem_document(app, as_role, monkeypatch, raised, status, code):
    def fail():
        raise raised

    monkeypatch.setitem(app.view_functions, "health.live", fail)
    answer = as_role("guest").get("/api/health/live")
    problem = check_problem(answer, status, code)
    assert "hunter2" not in answer.text
    assert "Traceback" not in answer.text
    assert problem["instance"] == "/api/health/live"


def test_hidden_and_absent_are_one_answer(given, elsewhere, as_user):
    caller = as_user("user")
    hidden, foreign = given.article("draft").id, elsewhere.article().id
    answers = [caller.get(f"/api/articles/{id}") for id in (hidden, foreign, NO_ROW)]
    bodies = [check_problem(answer, 404, "not_found") | {"instance": "", "request_id": ""} for answer in answers]
    headers = [{name: value for name, value in answer.headers if name not in ("X-Request-ID", "Content-Length")}
               for answer in answers]
    assert bodies[0] == bodies[1] == bodies[2]
    assert headers[0] == headers[1] == headers[2]


def test_several_faults_come_together(as_role):
    problem = check_problem(as_role("admin").post("/api/articles", {"slug": "Not A Slug", "extra": 1}), 400)
    assert problem["code"] == "invalid_body"
    assert {(fault["code"], fault["pointer"]) for fault in problem["errors"]} == {
        ("missing_field", "/title"), ("invalid_field", "/slug"), ("missing_field", "/body"),
        ("unknown_field", "/extra")}


def test_a_single_fault_lends_its_code(as_role):
    problem = check_problem(as_role("admin").post("/api/articles", {"title": "T", "slug": "s"}), 400)
    assert (problem["code"], problem["errors"][0]["pointer"]) == ("missing_field", "/body")


def test_every_code_is_explained_on_the_page_that_type_leads_to(as_role):
    page = as_role("guest").get("/docs/errors").text
    assert all(f'id="{code}"' in page for code in CATALOGUE)

