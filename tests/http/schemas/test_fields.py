"""The fields take the checks that a declaration adds, beside their own."""

from __future__ import annotations

import pytest
from marshmallow import Schema, ValidationError, validate

from blueprints.http.schemas.fields import Currency, Email, Int, Language, Line, Many, Slug, Text

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
