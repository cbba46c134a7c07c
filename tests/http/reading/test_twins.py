"""Two instances that differ in one value: a caller who may not see it gets the same answers from both to any request.

`twins` has the instances and the tries. `python -m tests.http.reading.twins.play` plays them all.
"""

from __future__ import annotations

import random

import pytest

from models.tables.article import Article
from models.tables.user import User
from tests.databases import new_database
from tests.http.reading.twins.instances import Secret
from tests.http.reading.twins.play import leaks, pair
from tests.http.reading.twins.tries import Try, tries


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def both(request, tmp_path_factory):
    urls = [new_database(request.param, request) for _ in range(2)]
    with pair(tmp_path_factory.mktemp("twins"), urls) as found:
        yield found


@pytest.mark.parametrize("share", [1 / 10, pytest.param(1 / 3, marks=pytest.mark.slow)])
def test_nothing_about_a_hidden_value_can_be_told_from_any_answer(both, share):
    assert list(leaks(both, random.Random(21), most=1, share=share)) == []
    assert {200, 304, 400, 401, 403, 404} <= both.answers.keys(), "the tries get to all kinds of answers"


def test_a_value_that_is_shown_is_told_by_every_way_out(both):
    both.enter()
    article = Secret("articles", Article, "title", both.first.rows["articles"].id, ("One", "Other"))
    ways = {"own list", "own export", "own item", "own replace"}
    assert {one.way for one in tries(both.first, article)
            if one.way in ways and both.play(article, "support", one) is not None} == ways


@pytest.mark.parametrize("who", ["reader", "support", "mate"])
def test_a_snapshot_does_not_tell_when_a_row_came_to_be(both, who):
    both.enter()
    eve = both.first.rows["eve"].id
    born = Secret("users", User, "created_at", eve, ("2999-01-02T03:04:05.000000Z", "2020-01-02T03:04:05.000000Z"))
    path = "/api/users?snapshot=true&limit=50&fields=id"
    seen = []

    def look(caller):
        seen.append(caller.get(path))
        return seen[-1:]

    assert both.play(born, {"reader": "user"}.get(who, who), Try(path, look)) is None
    assert all({"id": eve} in answer.get_json()["items"] for answer in seen)
