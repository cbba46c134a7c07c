"""`Prefer: return=minimal` and `return=representation` (RFC 7240 section 4.2), alone and beside other headers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gatepost.http.pipeline.idempotency import LARGE
from models.base import new_id
from tests.apps import PASSWORD

MINIMAL, WHOLE, PLAIN = {"Prefer": "return=minimal"}, {"Prefer": "return=representation"}, {}


@pytest.fixture
def editor(as_role):
    return as_role("editor")


@pytest.fixture
def path(given):
    return f"/api/articles/{given.article('draft').id}"


def article(**values):
    return {"title": "t", "slug": f"a-{new_id()}", "body": "b"} | values


def form(answer):
    """Returns `minimal`, `whole` or `plain`, the form of the answer."""
    applied = answer.headers.get("Preference-Applied")
    if applied == "return=minimal":
        assert answer.data == b"" and "Content-Type" not in answer.headers
        return "minimal"
    assert answer.is_json and "id" in answer.json
    assert applied in (None, "return=representation")
    return "whole" if applied else "plain"


def test_what_was_made_is_201_with_its_location_and_its_tag(editor):
    answer = editor.post("/api/articles", article(), headers=MINIMAL)
    assert (answer.status_code, form(answer), answer.headers["Content-Length"]) == (201, "minimal", "0")
    found = editor.get(answer.headers["Location"])
    assert found.status_code == 200
    assert found.headers["ETag"] == answer.headers["ETag"]


@pytest.mark.parametrize(("method", "rest", "body"), [
    ("PATCH", "", {"title": "Other"}), ("PATCH", "", {}), ("PUT", "", article()), ("POST", "/publish", {})],
    ids=["a change", "no change", "a replacement", "an action"])
def test_what_was_changed_is_204_with_its_tag_and_is_done(method, rest, body, editor, path):
    before = editor.get(path)
    answer = editor.call(method, path + rest, body, headers=MINIMAL)
    assert (answer.status_code, form(answer)) == (204, "minimal")
    assert "Content-Length" not in answer.headers  # RFC 9110 section 8.6
    found = editor.get(path)
    assert found.headers["ETag"] == answer.headers["ETag"]
    assert (found.headers["ETag"] != before.headers["ETag"]) == (body != {} or bool(rest))


def test_the_tag_of_a_minimal_answer_guards_the_next_write(editor, path):
    tag = editor.patch(path, {"title": "One"}, headers=MINIMAL).headers["ETag"]
    assert editor.patch(path, {"title": "Two"}, headers={**MINIMAL, "If-Match": tag}).status_code == 204
    assert editor.patch(path, {"title": "Three"}, headers={**MINIMAL, "If-Match": tag}).status_code == 412


@pytest.mark.parametrize(("prefer", "expected"), [
    ("return=minimal", "minimal"), ("RETURN=Minimal", "minimal"), ('return="minimal"', "minimal"),
    ("return = minimal; strength=9", "minimal"), ("wait=10, return=minimal", "minimal"),
    ("handling=lenient, count=exact, return=minimal, x-colour=red", "minimal"),
    ("return=representation", "whole"), ("return=minimal, return=representation", "minimal"),
    ("return=representation, return=minimal", "whole"),
    ("return", "plain"), ("return=", "plain"), ("return=nothing", "plain"), ("minimal", "plain"),
    ("returns=minimal", "plain"), ("handling=strict", "plain"), ("", "plain"), (",,;=\"", "plain"),
    ('x="return=minimal"', "plain"), ("return=\xe4", "plain")], ids=repr)
def test_the_first_known_wish_counts_and_others_are_ignored(prefer, expected, editor, path):
    answer = editor.patch(path, {"title": "Other"}, headers={"Prefer": prefer})
    assert answer.status_code == (204 if expected == "minimal" else 200)
    assert form(answer) == expected


def test_a_refusal_says_everything(editor, path):
    answers = [editor.patch(path, {"colour": "red"}, headers=headers) for headers in (MINIMAL, WHOLE)]
    answers.append(editor.patch(path, {}, headers={**MINIMAL, "If-Match": '"77"'}))
    for answer in answers:
        assert answer.status_code in (400, 412)
        assert answer.mimetype == "application/problem+json" and answer.json["code"]
        assert "Preference-Applied" not in answer.headers


@pytest.mark.parametrize("prefer", ["return=minimal", "return=representation"])
def test_reads_reports_and_secrets_are_answered_as_ever(prefer, app, given, editor, as_role):
    user = given.user(password=PASSWORD)
    client, headers = app.test_client(), {"Prefer": prefer}
    login = client.post("/api/login", json={"email": user.email, "password": PASSWORD}, headers=headers)
    token = login.json["refresh_token"]
    answers = [
        login, client.post("/api/token/refresh", json={"refresh_token": token}, headers=headers),
        editor.get("/api/articles", headers=headers), editor.get("/api/profile", headers=headers),
        as_role("admin").post("/api/articles/import?on_error=skip", data=b'{"title": ""}\n', headers={
            **headers, "Content-Type": "application/x-ndjson"}),
        client.post("/api/contact", json={"name": "n", "email": "n@example.org", "subject": "s", "body": "b"},
                    headers=headers)]
    for answer in answers:
        assert answer.status_code in (200, 202) and answer.json, answer.text
        assert "return" not in answer.headers.get("Preference-Applied", "")


@pytest.mark.parametrize("wanted", [PLAIN, MINIMAL, WHOLE], ids=["plain", "minimal", "representation"])
@pytest.mark.parametrize("first", [PLAIN, MINIMAL, WHOLE], ids=["plain", "minimal", "representation"])
def test_a_repetition_by_key_is_in_the_form_that_it_prefers_itself(first, wanted, editor, path):
    key = {"Idempotency-Key": f'"{new_id()}"'}
    names = {"return=minimal": "minimal", "return=representation": "whole", None: "plain"}
    for method, where, body in (("POST", "/api/articles", article()), ("PATCH", path, {"title": new_id()})):
        answers = [editor.call(method, where, body, headers={**key, **headers}) for headers in (first, wanted, first)]
        assert [form(answer) for answer in answers] == [names[each.get("Prefer")] for each in (first, wanted, first)]
        assert [answer.headers.get("Idempotency-Replayed") for answer in answers] == [None, "true", "true"]
        assert len({(answer.headers["ETag"], answer.headers.get("Location")) for answer in answers}) == 1
        assert answers[0].status_code == answers[2].status_code
        assert answers[0].data == answers[2].data
    with_body = editor.call(method, where, body, headers={**key, **WHOLE})
    assert with_body.json == editor.get(path).json, "whichever form was asked for first, the answer was kept whole"


def test_a_repetition_whose_body_was_not_kept_says_so_whatever_it_prefers(editor):
    body, key = article(body="b" * LARGE), {"Idempotency-Key": "too-large-to-keep"}
    first = editor.post("/api/articles", body, headers={**key, **WHOLE})
    assert (first.status_code, form(first)) == (201, "whole")
    for headers in (PLAIN, MINIMAL, WHOLE):
        again = editor.post("/api/articles", body, headers={**key, **headers})
        assert (again.status_code, form(again)) == (201, "minimal")
        assert again.headers["Location"] == first.headers["Location"]
    path, change = first.headers["Location"], {"title": "Larger"}
    answers = [editor.patch(path, change, headers={"Idempotency-Key": "larger", **headers})
               for headers in (MINIMAL, PLAIN, MINIMAL, WHOLE)]
    assert [answer.status_code for answer in answers] == [204, 200, 204, 200]
    assert {form(answer) for answer in answers} == {"minimal"}


def test_a_minimal_repetition_of_what_may_no_longer_be_seen_is_refused_too(as_user, given, app):
    caller = as_user("editor")
    row, key = given.article("draft"), {"Idempotency-Key": "hidden-since", **MINIMAL}
    assert caller.patch(f"/api/articles/{row.id}", {"title": "x"}, headers=key).status_code == 204
    admin = as_user("admin")
    assert admin.patch(f"/api/users/{caller.id}", {"role": "user"}, headers=MINIMAL).status_code == 204
    assert caller.patch(f"/api/articles/{row.id}", {"title": "x"}, headers=key).status_code == 404


def test_pages_of_another_origin_may_send_the_wish_and_read_what_was_made_of_it(app, monkeypatch):
    live = app.extensions["gatepost"].live
    monkeypatch.setattr(live, "current", replace(live.current, cors_origins="https://page.example"))
    answer = app.test_client().options("/api/articles", headers={
        "Origin": "https://page.example", "Access-Control-Request-Method": "POST"})
    assert "Prefer" in answer.headers["Access-Control-Allow-Headers"]
    answer = app.test_client().get("/api/articles", headers={"Origin": "https://page.example"})
    assert "Preference-Applied" in answer.headers["Access-Control-Expose-Headers"]
