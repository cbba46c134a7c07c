"""Bodies designed to be expensive: the work grows with the size of the body, never with its square."""

from __future__ import annotations

import pytest

from gatepost.http.protocol import json_body
from gatepost.http.protocol.problems import MOST_FAULTS, Problem
from gatepost.http.schemas import file_formats
from gatepost.http.schemas.fields import StrictSchema


class Name(str):
    """A text that counts the comparisons of all such texts."""

    compared = 0

    def __eq__(self, other: object) -> bool:
        type(self).compared += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


@pytest.fixture
def names(monkeypatch):
    monkeypatch.setattr(Name, "compared", 0)
    return [Name(f"name {number}") for number in range(1000)]


def test_a_key_that_comes_twice_is_found_without_comparing_all_with_all(names):
    with pytest.raises(Problem, match="name 999"):
        json_body._object([(name, 1) for name in (*names, Name("name 999"))])
    assert Name.compared < 10 * len(names)


def test_a_column_that_is_named_twice_is_found_without_comparing_all_with_all(names):
    with pytest.raises(Problem):
        file_formats._check_header(names, StrictSchema())
    assert Name.compared < 10 * len(names)


@pytest.mark.parametrize(("path", "sent"), [
    ("/api/contact", {f"field {number}": 1 for number in range(1000)}),
    ("/api/orders", {"items": [{"product_id": "", "quantity": 0, str(number): 1} for number in range(100)]}),
], ids=["unknown fields", "wrong entries"])
def test_an_answer_lists_a_bounded_number_of_faults(as_role, path, sent):
    answer = as_role("admin").call("POST", path, sent)
    assert answer.status_code == 400
    assert len(answer.get_json()["errors"]) == MOST_FAULTS


def test_a_list_that_is_too_long_is_refused_before_its_entries_are_looked_at(as_role):
    answer = as_role("user").call("POST", "/api/orders", {"items": [{}] * 1000})
    assert [fault["pointer"] for fault in answer.get_json()["errors"]] == ["/items"]
