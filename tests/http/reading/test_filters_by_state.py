"""Filters of columns with few values refuse any other word, and the answer names the valid ones."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from marshmallow import ValidationError, fields

from gatepost.http.reading.filters import operand
from gatepost.http.schemas.fields import Id, Many, StrictSchema, one_of
from models.tables.article import Article
from tests.apps import NO_ROW


class LetterSchema(StrictSchema):
    flags = Many(fields.String(validate=one_of(["new", "read"])), maximum=2)
    readers = Many(Id(), maximum=2)


@pytest.fixture(scope="module")
def filters(app):
    """(path, parameter, words) of each filter by the value of such a column, of lists and exports."""
    found = []
    for collection in app.extensions["gatepost"].collections.values():
        for endpoint in collection.served:
            if endpoint.name not in ("list", "export"):
                continue
            for column, operators in collection.filters.items():
                if words := collection.values_of(column):
                    found += [(endpoint.path, column if one == "eq" else f"{column}__{one}", words)
                              for one in operators if one in ("eq", "ne", "in")]
    return found


def test_every_state_is_such_a_column(filters):
    parameters = {(path.removeprefix("/api/"), name) for path, name, _ in filters}
    assert len(parameters) >= 29
    assert parameters >= {
        *((f"{name}{export}", "status") for name in ("articles", "comments", "orders", "pages", "products")
          for export in ("", "/export")),
        ("articles", "status__ne"), ("articles/export", "status__in"), ("jobs", "state"), ("audit", "result"),
        ("audit", "result__in")}


def test_a_word_that_is_no_value_is_refused_with_the_valid_ones(as_role, filters):
    admin, wrong = as_role("admin"), []
    for path, name, words in filters:
        for text in ("publishd", words[0].upper(), f"{words[0]} ", "", *([f"{words[0]},publishd"] * ("__in" in name))):
            answer = admin.get(path, headers={"Accept": "*/*"}, query_string={name: text})
            body = answer.get_json() if answer.status_code == 400 else {"errors": [{}]}
            fault = body["errors"][0]
            said = f"Must be one of: {', '.join(words)}."
            empty_list = text == "" and name.endswith("__in")
            if (fault.get("code"), fault.get("parameter")) != ("invalid_parameter", name) or (
                    fault["detail"] != said and not empty_list):
                wrong.append((path, name, text, answer.status_code, fault))
    assert wrong == []


def test_every_value_is_taken(as_role, filters):
    admin = as_role("admin")
    refused = [(path, name, word) for path, name, words in filters for word in words
               if admin.get(path, headers={"Accept": "*/*"}, query_string={name: word}).status_code != 200]
    assert refused == []


def test_the_description_names_the_values_of_each(app, client, filters):
    described = client.get("/api/openapi.json").get_json()

    def resolved(one):
        while "$ref" in one:
            _, kind, name = one["$ref"].rsplit("/", 2)
            one = described["components"][kind][name]
        return one

    for path, name, words in filters:
        parameters = map(resolved, described["paths"][path]["get"]["parameters"])
        [schema] = [resolved(one["schema"]) for one in parameters if one["name"] == name]
        assert resolved(schema.get("items", schema))["enum"] == list(words), (path, name)


def test_an_entry_of_a_list_is_typed_like_the_entries():
    letters = SimpleNamespace(expansions={}, model=Article, body_schema=LetterSchema(), schema=LetterSchema)
    flag, reader = (operand(letters, name, "has") for name in ("flags", "readers"))
    assert (flag.deserialize("new"), reader.deserialize(NO_ROW.upper())) == ("new", NO_ROW)
    for field, text in ((flag, "nwe"), (flag, ""), (reader, "me")):
        with pytest.raises(ValidationError):
            field.deserialize(text)
