"""A text for clients that can be said in another language."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import Any


class Message(str):
    """An English text that remembers what it was made of.

    >>> Message("{name} must be from {low} to {high}.", name="page", low=1, high=7)
    'page must be from 1 to 7.'
    """

    template: str
    values: dict[str, Any]
    many: str | None = None

    def __new__(cls, template: str, /, **values: Any) -> Message:
        made = super().__new__(cls, template.format(**values) if values else template)
        made.template, made.values = template, values
        return made

    def format(self, **values: Any) -> Message:  # type: ignore[override]
        """The same text with these values, as marshmallow fills in what it knows."""
        return Message(self.template, **{**self.values, **values})


_SEPARATE = Message("{first}; {other}")


def together(texts: Iterable[str], *, by: Message = _SEPARATE) -> str:
    """Several texts as one, which can still be said in another language; "" for none."""
    found = list(texts)
    return reduce(lambda first, other: by.format(first=first, other=other), found) if found else ""


def any_of(texts: Iterable[str]) -> str:
    """Several alternative texts: "draft or in_review"."""
    return together(texts, by=Message("{first} or {other}"))
