"""Rules that would allow a refused request: each of them does, and none is missing."""

from __future__ import annotations

import pytest

from policies import SHIPPED, Principal, load
from policies.evaluation.principal import FixedEnvironment
from policies.explaining.openings import openings
from tests.policies.editing import add_line, shipped_copy
from tests.policies.shipped_vocabulary import VOCABULARY

ANN, BOB = "0199f3a0-0000-7000-8000-00000000000a", "0199f3a0-0000-7000-8000-00000000000b"
NOON = FixedEnvironment(hour=12, weekday=3)
USER = Principal(ANN, f"user:{ANN}", "user", "t", "press")
LINE = "p, {role}, article.publish, {when}, allow"


def article(**values):
    return VOCABULARY.resources["article"].row(
        id="0199f3a0-0000-7000-8000-000000000001", **{"owner_id": BOB, "status": "draft", "department": None} | values)


@pytest.fixture(scope="module")
def shipped():
    return load(SHIPPED, VOCABULARY)


@pytest.mark.parametrize(("values", "words"), [
    ({}, {"office_hours", "always"}),
    ({"status": "published"}, {"published", "office_hours", "always"}),
    ({"owner_id": ANN}, {"own", "own_draft", "office_hours", "always"}),
    ({"department": "press"}, {"same_department", "office_hours", "always"}),
], ids=["nothing in common", "published", "one's own", "a colleague's"])
def test_a_condition_that_holds_is_a_line_that_would_do(values, words, shipped):
    found = openings(shipped, USER, "article.publish", article(**values), NOON)
    assert {one.when for one in found} == words
    assert found[-1].when == "always"
    assert {(one.file, one.line) for one in found} == {
        ("articles.csv", LINE.format(role="user", when=word)) for word in words}


@pytest.mark.parametrize("values", [{}, {"status": "published"}, {"owner_id": ANN}, {"department": "press"}])
def test_each_line_alone_allows_it(values, shipped, tmp_path):
    row = article(**values)
    for number, one in enumerate(openings(shipped, USER, "article.publish", row, NOON)):
        folder = shipped_copy(tmp_path / str(number))
        add_line(folder / one.file, one.line)
        assert load(folder, VOCABULARY).decide(USER, "article.publish", row, NOON)


def test_nothing_would_do_where_a_line_denies_it(tmp_path):
    folder = shipped_copy(tmp_path / "policies")
    add_line(folder / "articles.csv", "p, user, article.publish, always, deny")
    assert openings(load(folder, VOCABULARY), USER, "article.publish", article(), NOON) == []


def test_no_line_helps_a_token_whose_scopes_do_not_cover_it(shipped):
    token = Principal(ANN, USER.key, "user", "t", kind="service", scopes=frozenset(("read:articles",)))
    assert openings(shipped, token, "article.publish", article(), NOON) == []


def test_a_condition_about_what_the_asker_may_not_see_is_left_out(shipped):
    found = openings(shipped, USER, "article.publish", article(department="press", status="published"), NOON,
                     sees=lambda attribute: attribute.name != "department")
    assert {one.when for one in found} == {"published", "office_hours", "always"}


def test_a_question_without_an_object_is_answered_by_what_reads_none(shipped):
    found = openings(shipped, USER, "audit.view", None, NOON)
    assert {one.when for one in found} == {"office_hours", "always"}
