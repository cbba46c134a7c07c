"""New passwords in forms: typed twice, because nobody sees what is typed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gatepost import Fault, Problem, StrictSchema, Text
from gatepost.http.security import passwords


class RepeatedSchema(StrictSchema):
    """The new password, twice."""

    new_password = Text(required=True, maximum=passwords.LONGEST)
    repeated = Text(required=True, maximum=passwords.LONGEST)


def refuse_different(body: Mapping[str, Any]) -> None:
    """Raises `Problem` (`invalid_field`) if the two passwords differ."""
    if body["new_password"] != body["repeated"]:
        raise Problem.of([Fault("invalid_field", "The two passwords differ.", pointer="/repeated")], "invalid_body")
