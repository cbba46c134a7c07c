"""Fields of query strings, whose values are text.

`fields.py` has the fields of JSON, which accept no text for a number; these accept only text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from marshmallow import ValidationError, fields
from webargs.fields import DelimitedList

from models.records.mailboxes import fold, normalize

from ..protocol.language import formatted, is_well_formed
from ..protocol.messages import Message
from .fields import Text

_BEYOND = 2**63  # stands for every number above 64 bits
_QUOTED = re.compile(r'"([^"]*+(?:""[^"]*+)*+)"')


class Number(fields.Integer):
    """A whole number in ASCII digits, 64 bits at most."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> int:
        number = _whole(value)
        if number is None:
            raise self.make_error("invalid", input=value)
        if abs(number) >= _BEYOND:
            raise self.make_error("too_large", input=value)
        return number


class Count(fields.Integer):
    """Number of rows or pages, of any length. `ListQuery` checks its range."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> int:
        number = _whole(value)
        if number is None:
            raise self.make_error("invalid", input=value)
        return number


def _whole(text: str) -> int | None:
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit()):
        return None
    # int() refuses thousands of digits, and takes quadratic time for hundreds.
    number = int(digits) if len(digits := digits.lstrip("0") or "0") <= 19 else _BEYOND
    return -number if text.startswith("-") else number


class Switch(fields.Boolean):
    """`true` or `false`."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(truthy={"true"}, falsy={"false"}, **kwargs)


class AddressText(Text):
    """Text that is normalized like an `Email`, even if it is only the beginning of an address."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        text = super()._deserialize(value, attr, data, **kwargs)
        return normalize(text) or fold(text)


class LanguageText(Text):
    """Text that is normalized like a `Language`."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        return formatted(super()._deserialize(value, attr, data, **kwargs))


class Tag(fields.String):
    """Language tag. Only its form is checked; a language without translations is ignored."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        tag: str = super()._deserialize(value, attr, data, **kwargs)
        if not is_well_formed(tag):
            raise ValidationError("This is not a language tag such as de or pt-BR.")
        return tag


class ListParameter(DelimitedList):
    """A list of values separated by commas, read as one record of CSV (RFC 4180 section 2).

    A value with a comma, or one that begins with a double quote, stands in double quotes; each quote in it is doubled.
    A parameter that was sent several times is the list of its parts.
    """

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> list[Any]:
        parts = value if isinstance(value, list) else [value] if value else []
        entries = [entry for part in parts for entry in read_list(part)]
        return fields.List._deserialize(self, entries, attr, data, **kwargs)


def read_list(text: str) -> list[str]:
    """Returns the values of a list. Raises ValidationError for quotes that do not enclose a value.

    A quote inside a value is part of it, unless the value begins with a quote.
    """
    if '"' not in text:
        return text.split(",")
    values, start = [], 0
    while True:
        if text.startswith('"', start):
            quoted = _QUOTED.match(text, start)
            if quoted is None:
                raise ValidationError("A quoted value has no closing quote.")
            end = quoted.end()
            if end < len(text) and text[end] != ",":
                raise ValidationError("After a quoted value comes a comma or nothing. A quote in it is written twice.")
            values.append(quoted[1].replace('""', '"'))
        else:
            end = text.find(",", start)
            end = len(text) if end < 0 else end
            values.append(text[start:end])
        if end == len(text):
            return values
        start = end + 1


def name_list(allowed: Sequence[str], about: str, component: str) -> fields.Field[Any]:
    """Returns a parameter for a list of names from `allowed`, separated by commas.

    component  name of the component that has these names in the documentation
    """
    names = frozenset(allowed)

    def check(requested: list[str]) -> None:
        if not requested:
            raise ValidationError(Message("Name at least one of {names}.", names=", ".join(allowed)))
        if wrong := [name for name in requested if name not in names]:
            raise ValidationError(Message("{name!r} is not one of {names}.", name=wrong[0][:80],
                                          names=", ".join(allowed)))

    name = fields.String(metadata={"enum": list(allowed), "component": component})
    return ListParameter(name, validate=check, metadata={"description": about})
