"""*As seen by*: which of the rows that the caller may view somebody else may view, too."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gatepost import Call
from gatepost.collections.asking import ask

MOST = 100  # ids of one question


@dataclass(frozen=True)
class Seen:
    """The answer about some rows.

    who       what was asked for; `name`: what the person is called; "" for a role
    active    whether they can log in; None: the caller may not see that
    rows      id → whether they may view it, which fields they may not see, and what they may do to it
    """

    who: str
    role: str
    name: str
    active: bool | None
    rows: Mapping[str, Mapping[str, Any]]

    def of(self, id: str) -> Mapping[str, Any]:
        """Returns the answer about a row."""
        return self.rows.get(id, {"visible": False, "hidden": [], "actions": []})


def seen(call: Call, collection: str, who: str, ids: Sequence[str]) -> Seen:
    """Ask about these rows. Raises `Problem` as the API does."""
    answer: dict[str, Any] = {}
    rows: dict[str, Mapping[str, Any]] = {}
    for some in _parts(ids):
        answer = ask(call, "policy_visible", {"as": who, "collection": collection, "ids": ",".join(some)})
        rows |= {row["id"]: row for row in answer["items"]}
    return Seen(who, answer["role"], answer["name"] or "", answer["active"], rows)


def _parts(ids: Sequence[str]) -> Iterable[Sequence[str]]:
    """At least one, so that the name is asked for where there are no rows."""
    return [ids[start:start + MOST] for start in range(0, max(len(ids), 1), MOST)]
