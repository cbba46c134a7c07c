"""`If-Match` and `If-None-Match` (RFC 9110 section 13): they guard writes and save reads."""

from __future__ import annotations

import threading

import pytest

from tests.apps import Caller, Given, close, make_app, new_instance
from tests.http.described import check_problem
from tests.samples import sampled

WRITES = ("PUT", "PATCH", "DELETE", "publish")


@pytest.fixture
def editor(as_role):
    return as_role("editor")


@pytest.fixture
def article(given, editor):
    """A draft that was changed twice: it has version 3."""
    id = given.article("draft").id
    for title in ("Second", "Third"):
        assert editor.patch(f"/api/articles/{id}", {"title": title}).status_code == 200
    return editor.get(f"/api/articles/{id}").get_json()


def write(caller, method, article, **headers):
    """Sends a PUT, PATCH, DELETE or action, with a body that changes something."""
    path = f"/api/articles/{article['id']}"
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    if method == "DELETE":
        return caller.delete(path, headers=headers)
    if method == "publish":
        return caller.post(f"{path}/publish", headers=headers)
    body = {**article, "title": "Fourth"} if method == "PUT" else {"title": "Fourth"}
    return caller.call(method, path, body, headers)


MATCHING = ('"3"', '"1", "3"', '"1","3"', "*", '"3-0123456789abcdef"', '"a", "3"', '"7", "3"',
            '"3",', ',"3"', ' ,\t, "1",,"3" , ')
STALE = ('"2"', '"4"', '"1", "2"', '"7","8"', 'W/"3"', '"03"', '"3-x"', '"33"', '""', '"abc"', "", ",", ' , "2",,')
BROKEN = ("3", '"3', "'3'", "**", "*,", '"3" "4"', 'w/"3"', "W/3", "abc", '3"', '"\x01"', '"3"\xa0')


@pytest.mark.parametrize("method", WRITES)
@pytest.mark.parametrize("tag", MATCHING)
def test_a_write_happens_when_if_match_names_the_version(editor, article, method, tag):
    answer = write(editor, method, article, If_Match=tag)
    assert answer.status_code == (204 if method == "DELETE" else 200)
    assert method == "DELETE" or answer.headers["ETag"] == '"4"'


@pytest.mark.parametrize("method", WRITES)
@pytest.mark.parametrize("tag", sampled(STALE, 2))
def test_a_write_is_refused_when_if_match_names_another_version(editor, article, method, tag):
    answer = write(editor, method, article, If_Match=tag)
    check_problem(answer, 412, "version_conflict")
    assert answer.headers["ETag"] == '"3"'
    assert editor.get(f"/api/articles/{article['id']}").get_json() == article


@pytest.mark.parametrize("header", ["If_Match", "If_None_Match"])
@pytest.mark.parametrize("tag", BROKEN)
def test_what_is_no_list_of_entity_tags_is_an_invalid_header(editor, article, header, tag):
    answer = write(editor, "PATCH", article, **{header: tag})
    problem = check_problem(answer, 400, "invalid_header")
    assert problem["errors"][0]["header"] == header.replace("_", "-")


@pytest.mark.parametrize("method", WRITES)
@pytest.mark.parametrize(("tag", "done"), [("*", False), ('"3"', False), ('W/"3"', False), (',"3",', False),
                                             ('"2"', True), (",", True), ("", True)])
def test_a_write_is_refused_when_if_none_match_names_the_version(editor, article, method, tag, done):
    answer = write(editor, method, article, If_None_Match=tag)
    assert answer.status_code in ((200, 204) if done else (412,))


def test_a_read_is_refused_when_if_match_names_another_version(editor, article):
    path = f"/api/articles/{article['id']}"
    assert editor.get(path, headers={"If-Match": '"3"'}).status_code == 200
    assert editor.get(path, headers={"If-Match": '"2"'}).status_code == 412
    assert editor.get(f"{path}?fields=id", headers={"If-Match": '"3"'}).status_code == 200


@pytest.mark.parametrize(("tag", "status"), [
    ('"3"', 304), ('W/"3"', 304), ('"1", W/"3"', 304), ('"0", "3"', 304), ('W/"0",W/"3"', 304), ("*", 304),
    (' "3" ', 304), (',"0",, "3",', 304), ('"2"', 200), ('"3-abc"', 200), ('""', 200), ('"a,b"', 200), (",", 200),
    ("", 200),
])
def test_a_read_is_saved_when_if_none_match_names_the_representation(editor, article, tag, status):
    answer = editor.get(f"/api/articles/{article['id']}", headers={"If-None-Match": tag})
    assert (answer.status_code, answer.headers["ETag"]) == (status, '"3"')
    assert bool(answer.get_data()) == ("Content-Type" in answer.headers) == (status == 200)


@pytest.mark.parametrize("path", ["/api/articles", "/api/articles?page=1&page_size=2", "/api/openapi.json", "/docs",
                                  "/docs/rapidoc-min.js", "/api/profile"])
def test_every_read_has_a_tag_that_saves_it(editor, article, path):
    tag = editor.get(path).headers["ETag"]
    assert editor.get(path, headers={"If-None-Match": tag}).status_code == 304
    assert editor.get(path, headers={"If-None-Match": '"other"'}).status_code == 200


def test_a_partial_view_has_an_etag_of_its_own_that_still_guards_a_write(editor, article):
    path = f"/api/articles/{article['id']}"
    partial = editor.get(f"{path}?fields=id,title").headers["ETag"]
    assert partial.startswith('"3-')
    assert editor.get(path, headers={"If-None-Match": partial}).status_code == 200
    assert write(editor, "PATCH", article, If_Match=partial).status_code == 200


def test_an_absent_row_is_404_whatever_the_precondition(editor, article):
    assert editor.delete(f"/api/articles/{article['id']}").status_code == 204
    assert write(editor, "PATCH", article, If_Match="*").status_code == 404


def test_a_stranger_learns_nothing_from_preconditions(article, as_role):
    for headers in ({"If-Match": '"3"'}, {"If-Match": '"9"'}, {"If-None-Match": "*"}):
        check_problem(as_role("user").patch(f"/api/articles/{article['id']}", {}, headers=headers), 404, "not_found")


@pytest.mark.both_databases
def test_of_writers_who_read_the_same_version_only_one_writes(editor, article):
    answers = at_once(8, lambda number: editor_patch(editor, article, f"Mine {number}", {"If-Match": '"3"'}))
    assert sorted(answers) == [200] + 7 * [412]
    assert editor.get(f"/api/articles/{article['id']}").get_json()["version"] == 4


@pytest.mark.both_databases
def test_without_if_match_the_last_wins_and_every_write_counts(editor, article):
    assert at_once(8, lambda number: editor_patch(editor, article, f"Mine {number}", {})) == 8 * [200]
    found = editor.get(f"/api/articles/{article['id']}").get_json()
    assert found["version"] == 11
    assert found["title"].startswith("Mine ")


def editor_patch(editor, article, title, headers):
    client = editor.client.application.test_client()
    return client.patch(f"/api/articles/{article['id']}", json={"title": title},
                        headers={**editor.headers, **headers}).status_code


def at_once(count, work):
    """Returns the results of `work(0)` … `work(count - 1)`, run in threads that start together."""
    barrier, found = threading.Barrier(count), []

    def run(number):
        barrier.wait()
        found.append(work(number))

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def test_a_setting_demands_if_match_on_every_change(tmp_path, database_url):
    app = make_app(new_instance(tmp_path / "i", database_url, "default"), database_url, require_if_match="on")
    try:
        there = Given(app, "default")
        user = there.user("editor")
        with app.app_context():
            token = app.extensions["gatepost"].access_tokens.issue(user, there.session(user).id, [], "*")
        editor = Caller(app.test_client(), user, token)
        article = editor.get(f"/api/articles/{there.article('draft').id}").get_json()
        for method in WRITES:
            answer = write(editor, method, article)
            assert (answer.status_code, answer.get_json()["code"]) == (428, "precondition_required")
            assert write(editor, method, article, If_None_Match='"7"').status_code == 428
        assert write(editor, "PATCH", article, If_Match='"1"').status_code == 200
        assert editor.post("/api/articles", {"title": "t", "slug": "needs-none", "body": "b"}).status_code == 201
    finally:
        close(app)
