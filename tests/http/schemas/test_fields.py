"""The fields accept additional checks of a declaration."""

from __future__ import annotations

import pytest
from marshmallow import Schema, ValidationError, validate
from marshmallow.validate import URL

from gatepost.http.schemas.fields import Bool, Currency, Email, Id, Int, Language, Line, Many, Slug, Text, Time

FIELDS = {
    "text": (lambda **more: Text(maximum=9, **more), "fine", "wrong", "far too long"),
    "line": (lambda **more: Line(maximum=9, **more), "fine", "wrong", "far too long"),
    "slug": (Slug, "fine", "wrong", "no slug"),
    "email": (Email, "fine@example.org", "wrong@example.org", "nobody"),
    "language": (Language, "en", "de", "English"),
    "currency": (Currency, "EUR", "USD", "euro"),
    "integer": (lambda **more: Int(maximum=9, **more), 1, 2, 10),
    "list": (lambda **more: Many(Line(), maximum=2, **more), ["fine"], ["wrong"], ["a", "b", "c"]),
}


@pytest.mark.parametrize("several", [False, True], ids=["one callable", "a list of them"])
@pytest.mark.parametrize("kind", FIELDS)
def test_a_declared_check_counts_beside_the_field_s_own(kind, several):
    field, fine, wrong, refused = FIELDS[kind]
    check = validate.NoneOf([wrong])
    schema = Schema.from_dict({"value": field(validate=[check] if several else check)})()
    assert schema.load({"value": fine}) == {"value": fine}
    for value in (wrong, refused):
        with pytest.raises(ValidationError):
            schema.load({"value": value})


MORE = FIELDS | {
    "bool": (Bool, True, False, 1),
    "id": (Id, "01930000-0000-7000-8000-000000000000", "01930000-0000-7000-8000-000000000001", "1"),
    "time": (Time, "2026-01-01T00:00:00.000000Z", "2026-01-02T00:00:00.000000Z", "noon"),
}


def raising(wrong):
    def check(value):
        if value == wrong:
            raise ValidationError("Not this one.")
    return check


CHECKS = {
    "False": (lambda wrong: lambda value: value != wrong, "Invalid value."),
    "an exception": (raising, "Not this one."),
    "one of several": (lambda wrong: [lambda value: None, lambda value: value != wrong], "Invalid value."),
    "an iterator": (lambda wrong: iter([raising(wrong)]), "Not this one."),
}


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("kind", MORE)
def test_a_callable_refuses_by_answering_false_or_by_raising(kind, check):
    field, fine, wrong, refused = MORE[kind]
    made, said = CHECKS[check]
    schema = Schema.from_dict({"value": field(validate=made(wrong))})()
    for _ in range(2):
        assert schema.load({"value": fine}) == {"value": fine}
        with pytest.raises(ValidationError) as error:
            schema.load({"value": wrong})
        assert error.value.messages == {"value": [said]}
        with pytest.raises(ValidationError):
            schema.load({"value": refused})


@pytest.mark.parametrize("answer", [None, True, 0, ""])
def test_only_false_refuses(answer):
    assert Schema.from_dict({"value": Line(validate=lambda value: answer)})().load({"value": "x"}) == {"value": "x"}


@pytest.mark.parametrize("url", ["http://example.org", "https://example.org/\x1b[31m", "https://example.org/a b", "x"])
def test_a_line_that_is_a_url_refuses_other_schemes_and_what_a_terminal_obeys(url):
    schema = Schema.from_dict({"url": Line(maximum=2000, validate=URL(schemes={"https"}))})()
    assert schema.load({"url": "https://example.org/a?b=ä"}) == {"url": "https://example.org/a?b=ä"}
    with pytest.raises(ValidationError):
        schema.load({"url": url})
