"""Checks of the words that plugins declare for the condition column: each is readable and has one meaning."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache

from policies import SHIPPED
from policies.syntax import matcher
from policies.syntax.conditions import branches_of
from policies.syntax.model import MODEL_FILE, read_model
from policies.syntax.vocabulary import Condition, Function

WORD = re.compile(r"[a-z][a-z0-9_]*", re.ASCII)


class Words:
    """The words of all plugins so far."""

    def __init__(self) -> None:
        self._branches: dict[str, str] = {}

    def taken(self, functions: Iterable[Function], conditions: Iterable[Condition]) -> str | None:
        """Describes the first word that has another meaning already; else adds the words and returns None."""
        for word, branch in branches_of(functions, conditions).items():
            if word in _shipped():
                return f"the word {word!r} is a condition of Gatepost itself; choose another"
            if self._branches.setdefault(word, branch) != branch:
                return f"the word {word!r} means something else already: {self._branches[word]}"
        return None


def unreadable(condition: Condition, functions: Mapping[str, Function]) -> str | None:
    """Describes why a condition cannot stand in model.conf; None if it can.

    `functions` are those that its matcher may call. Raises TypeError for a declaration with values of wrong types.
    """
    if not WORD.fullmatch(condition.word):
        return "its word must be small letters, digits and _, with a letter first"
    if "\n" in condition.matcher:
        return "its matcher must be one line"
    try:
        matcher.parse(condition.matcher, file="", line=0, fields=(), functions=functions.values())
    except matcher.Refused as error:
        return error.findings[0].message
    return None


@cache
def _shipped() -> frozenset[str]:
    model, _ = read_model(SHIPPED.joinpath(MODEL_FILE).read_bytes())
    return frozenset(() if model is None else model.conditions)
