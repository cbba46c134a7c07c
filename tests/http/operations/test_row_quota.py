"""The row quota of a user (the setting `owner_rows`), and the callers without a quota."""

from __future__ import annotations

import itertools

import pytest

from gatepost.http.operations import row_quota
from gatepost.http.operations.row_quota import RowQuota
from models.base import Rows
from models.tables.article import Article
from tests.apps import Caller

_numbers = itertools.count(1)
NDJSON = {"Content-Type": "application/x-ndjson"}


@pytest.fixture
def most(app, monkeypatch):
    """`most(3)` sets the quota from now on, with new counts."""
    services = app.extensions["gatepost"]
    return lambda rows: monkeypatch.setattr(services, "row_quota", RowQuota(rows))


def article(**values):
    return {"title": "T", "slug": f"owned-{next(_numbers)}", "body": "b"} | values


def refused(answer):
    if answer.status_code != 409:
        return False
    problem = answer.get_json()
    assert (problem["code"], problem["errors"][0]["pointer"]) == ("conflict", "/owner_id")
    return problem["errors"][0]["meta"]


def test_a_user_owns_so_many_rows_of_a_collection_and_a_deletion_makes_room(most, as_user, given):
    most(3)
    author, other = as_user("user"), as_user("user")
    given.article("draft", owner_id=author.id)
    made = [author.post("/api/articles", article()) for _ in range(3)]
    assert [answer.status_code for answer in made] == [201, 201, 409]
    assert refused(made[-1]) == {"max": 3}
    assert author.post("/api/comments", {"article_id": given.article().id, "body": "b"}).status_code == 201
    assert other.post("/api/articles", article()).status_code == 201
    assert author.delete(made[0].headers["Location"]).status_code == 204
    assert [author.post("/api/articles", article()).status_code for _ in range(2)] == [201, 409]


def test_a_create_asks_the_database_once_a_minute_how_much_its_owner_has(most, as_user, monkeypatch):
    most(1000)
    moment, asked = 1000.0, []
    monkeypatch.setattr(row_quota, "monotonic", lambda: moment)
    monkeypatch.setattr(row_quota, "owned", lambda *_: asked.append(1) or 0)
    author = as_user("user")
    for _ in range(5):
        assert author.post("/api/articles", article()).status_code == 201
    assert len(asked) == 1
    moment += 61
    assert author.post("/api/articles", article()).status_code == 201
    assert len(asked) == 2


def test_before_a_user_is_refused_their_rows_are_counted_anew(most, as_user, given):
    """Another process may have deleted rows, or a counted write may have been rolled back."""
    most(2)
    author = as_user("user")
    for _ in range(2):
        assert author.post("/api/articles", article(slug=None)).status_code == 400
    made = [author.post("/api/articles", article()) for _ in range(2)]
    given.database.transact(lambda: Rows(Article, given.tenant_id).remove(id=made[0].get_json()["id"]))
    assert [author.post("/api/articles", article()).status_code for _ in range(2)] == [201, 409]


def test_a_user_who_manages_the_resource_is_not_counted(most, as_role):
    most(1)
    assert [as_role("editor").post("/api/articles", article()).status_code for _ in range(3)] == [201] * 3


def test_without_a_setting_there_is_no_limit(most, as_user):
    most(0)
    author = as_user("user")
    assert [author.post("/api/articles", article()).status_code for _ in range(3)] == [201] * 3


def test_lines_of_an_import_count(under, as_user, monkeypatch):
    """Covers a role that may import but not manage."""
    app = under(lines={"articles.csv": "p, user, article.import, always, allow"})
    monkeypatch.setattr(app.extensions["gatepost"], "row_quota", RowQuota(3))
    user = as_user("user")
    author = Caller(app.test_client(), user.user, user.token)
    lines = "".join(f'{{"title":"T","slug":"owned-{next(_numbers)}","body":"b"}}\n' for _ in range(5))
    whole = author.post("/api/articles/import", data=lines, headers=NDJSON)
    assert (whole.status_code, whole.get_json()["errors"][0]["code"]) == (400, "conflict")
    answer = author.post("/api/articles/import?on_error=skip", data=lines, headers=NDJSON).get_json()
    assert (answer["imported"], answer["failed"]) == (3, 2)
    assert [fault["line"] for fault in answer["errors"]] == [4, 5]


def test_a_user_has_a_hundred_service_tokens(as_user, given, most):
    most(0)
    user = as_user("user")
    for _ in range(99):
        given.service_token(user.user)
    body = {"name": "n", "scopes": ["read:articles"]}
    made = [user.post("/api/tokens", body) for _ in range(2)]
    assert [answer.status_code for answer in made] == [201, 409]
    assert refused(made[1]) == {"max": 100}


def test_lines_beyond_the_owners_rows_are_refused_without_counting_again(under, as_user, monkeypatch):
    app = under(lines={"articles.csv": "p, user, article.import, always, allow"})
    monkeypatch.setattr(app.extensions["gatepost"], "row_quota", RowQuota(3))
    asked, count = [], row_quota.owned
    monkeypatch.setattr(row_quota, "owned", lambda *about: asked.append(1) or count(*about))
    user = as_user("user")
    author = Caller(app.test_client(), user.user, user.token)
    lines = "".join(f'{{"title":"T","slug":"owned-{next(_numbers)}","body":"b"}}\n' for _ in range(900))
    answer = author.post("/api/articles/import?on_error=skip", data=lines, headers=NDJSON).get_json()
    assert (answer["imported"], answer["failed"]) == (3, 897)
    assert len(asked) == 2, "before the first row, and before the first refusal"


def test_after_a_thousand_refused_lines_of_an_import_no_other_is_looked_at(under, as_user, monkeypatch):
    app = under(lines={"articles.csv": "p, user, article.import, always, allow"})
    services = app.extensions["gatepost"]
    monkeypatch.setattr(services, "row_quota", RowQuota(1))
    taken, take = [], services.row_quota.take
    monkeypatch.setattr(services.row_quota, "take", lambda *about: taken.append(1) or take(*about))
    user = as_user("user")
    author = Caller(app.test_client(), user.user, user.token)
    lines = "".join(f'{{"title":"T","slug":"owned-{next(_numbers)}","body":"b"}}\n' for _ in range(1400))
    assert author.post("/api/articles/import?on_error=skip", data=lines, headers=NDJSON).status_code == 400
    assert len(taken) == 1001


def test_a_refused_user_is_refused_for_another_second_without_counting(most, as_user, given, monkeypatch):
    most(1)
    moment, asked, count = 1000.0, [], row_quota.owned
    monkeypatch.setattr(row_quota, "monotonic", lambda: moment)
    monkeypatch.setattr(row_quota, "owned", lambda *about: asked.append(1) or count(*about))
    author = as_user("user")
    made = author.post("/api/articles", article())
    assert [author.post("/api/articles", article()).status_code for _ in range(5)] == [409] * 5
    assert len(asked) == 2
    given.database.transact(lambda: Rows(Article, given.tenant_id).remove(id=made.get_json()["id"]))
    moment += row_quota.FULL + 0.01
    assert author.post("/api/articles", article()).status_code == 201
