"""The English description of a filter, by the type of its field."""

from __future__ import annotations

import re

import pytest

from gatepost import Bool, Id, Int, Text, Time
from gatepost.http.reading.filters import meaning


@pytest.mark.parametrize(("name", "operator", "declared", "sentence"), [
    ("created_at", "gte", Time(), "Only rows created at this time or later."),
    ("created_at", "lt", Time(), "Only rows created before this time."),
    ("paid_back_at", "lte", Time(), "Only rows paid back at this time or earlier."),
    ("published_at", "isnull", Time(),
     "Only rows that were never published (`true`), or only rows that were (`false`)."),
    ("time", "gte", Time(), "Only rows whose time is this time or later."),
    ("time", "lt", Time(), "Only rows whose time is before this time."),
    ("price", "eq", Int(), "Only rows whose price is exactly this."),
    ("price", "gte", Int(), "Only rows whose price is at least this."),
    ("price", "lte", Int(), "Only rows whose price is at most this."),
    ("unit_price", "lt", Int(), "Only rows whose unit price is less than this."),
    ("category_id", "eq", Id(), "Only rows whose category has this id."),
    ("category_id", "in", Id(), "Only rows whose category has one of these ids, which are separated by commas."),
    ("category_id", "isnull", Id(), "Only rows without any category (`true`), or only rows that have one (`false`)."),
    ("title", "contains", Text(maximum=9), "Only rows whose title contains this text."),
    ("status", "ne", Text(maximum=9), "Only rows whose status is any other than this."),
    ("status", "in", Text(maximum=9), "Only rows whose status is one of these, which are separated by commas; one with "
                                      "a comma stands in double quotes."),
    ("active", "eq", Bool(), "Only rows that are active (`true`), or only rows that are not (`false`)."),
    # A plugin may filter as it likes.
    ("stock", "contains", Int(), "Only rows whose stock contains this text."),
    ("seen", "startswith", Time(), "Only rows whose seen starts with this text.")])
def test_a_filter_is_described_by_its_type(name, operator, declared, sentence):
    assert meaning(name, operator, declared) == sentence


def test_there_is_no_other_operator():
    with pytest.raises(LookupError):
        meaning("price", "between", Int())


def test_every_parameter_of_a_query_and_every_summary_is_a_sentence(client):
    document = client.get("/api/openapi.json").get_json()
    for path, item in document["paths"].items():
        for method, operation in item.items():
            if method == "parameters":
                continue
            assert re.fullmatch(r"[A-Z][^\n]*\.", operation["summary"]), (method, path)
            for parameter in operation.get("parameters", ()):
                if parameter.get("in") == "query":
                    assert re.fullmatch(r"(?s)\S.*\.", parameter.get("description", "")), (method, path, parameter)
