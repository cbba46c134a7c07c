"""Query schemas: hooks run as for bodies, and a query string is parsed once."""

from __future__ import annotations

import pytest
from marshmallow import ValidationError, post_load, validate, validates, validates_schema
from werkzeug.wrappers import Request

from gatepost.http.protocol.messages import Message
from gatepost.http.protocol.problems import Problem
from gatepost.http.schemas.fields import Line, StrictSchema, Text
from gatepost.http.schemas.parameters import Number
from gatepost.http.schemas.validation import ApartParameter, load_query


class Range(StrictSchema):
    low = Number()
    high = Number(load_default=10)
    unit = Line(data_key="in", attribute="unit")
    after = ApartParameter()

    @validates("low")
    def is_even(self, value, **_):
        if value % 2:
            raise ValidationError("Must be even.")

    @validates_schema
    def is_in_order(self, data, **_):
        if data.get("low", 0) > data["high"]:
            raise ValidationError("low is above high.")
        if data["high"] == 13:
            raise ValidationError("Not this one.", "high")

    @post_load
    def with_width(self, data, **_):
        return data | {"width": data["high"] - data.get("low", 0)}


SCHEMA = Range()


class Bounds(StrictSchema):
    low = Number(validate=validate.Range(-10, 100, error=Message(
        "Must be greater than or equal to {min} and less than or equal to {max}.")))
    percent = Number(validate=validate.Range(0, 100))
    unit = Line(maximum=20, data_key="in")
    note = Text(maximum=200)


def load(query):
    return load_query(SCHEMA, Request({"QUERY_STRING": query}))


def faults(query):
    with pytest.raises(Problem) as refused:
        load(query)
    return [(fault.code, fault.parameter, fault.detail) for fault in refused.value.faults]


def test_post_load_makes_what_the_handler_finds():
    assert dict(load("low=4&high=6&in=km")) == {"low": 4, "high": 6, "unit": "km", "width": 2}
    assert dict(load("")) == {"high": 10, "width": 10}


def test_validates_refuses_a_parameter():
    assert faults("low=3") == [("invalid_parameter", "low", "Must be even.")]
    assert faults("low=x") == [("invalid_parameter", "low", "Not a valid integer.")]
    for digits in ("9223372036854775808", "-9223372036854775808", 5_000 * "9"):
        assert faults(f"low={digits}") == [("invalid_parameter", "low", "Number too large.")]
    assert load(f"low={5_000 * '0'}4")["low"] == load("low=-04&high=0")["low"] + 8 == 4


@pytest.mark.parametrize(("query", "text", "meta"), [
    ("in=", "Length must be between 1 and 20.", {"min": 1, "max": 20}),
    (f"in={21 * 'k'}", "Length must be between 1 and 20.", {"min": 1, "max": 20}),
    ("in=%01", "Control characters and line breaks are not allowed.", None),
    (f"note={201 * 'n'}", "Longer than maximum length 200.", {"max": 200}),
    ("note=%00", "The character NUL is not allowed.", None),
    ("low=200000", "Must be greater than or equal to -10 and less than or equal to 100.", {"min": -10, "max": 100}),
    ("low=x", "Not a valid integer.", None),
    ("percent=101", "Must be greater than or equal to 0 and less than or equal to 100.", {"min": 0, "max": 100}),
])
def test_meta_has_the_bounds_that_the_text_names(query, text, meta):
    with pytest.raises(Problem) as refused:
        load_query(Bounds(), Request({"QUERY_STRING": query}))
    assert [(fault.detail, fault.meta) for fault in refused.value.faults] == [(text, meta)]


def test_validates_schema_refuses_parameters_together_or_one_of_them():
    assert faults("low=8&high=6") == [("invalid_parameter", None, "low is above high.")]
    assert faults("high=13") == [("invalid_parameter", "high", "Not this one.")]


def test_every_fault_of_a_query_is_named():
    assert [name for _, name, _ in faults("low=x&high=y&lang=!")] == ["lang", "low", "high"]
    assert [name for _, name, _ in faults("low=2&unit=km&low=4&high=1")] == ["low", "unit"]


def test_what_is_derived_is_made_once_whatever_the_cursor_says():
    first, second = load("low=2&after=abc"), load("low=2&after=def")
    assert (first["after"], second["after"], first["low"]) == ("abc", "def", 2)
    assert first.sent == second.sent == (("low", "2"),)
    made = [one.derive(key, object) for one in (first, second) for key in (("size", 20), ("size", 50))]
    assert made[:2] == made[2:] and made[0] is not made[1]
    assert load("low=2").derive(("size", 20), object) is not made[0]
