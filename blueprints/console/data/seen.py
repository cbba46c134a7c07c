"""*As seen by*: rows that both the caller and another user or role may view."""

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

    who       the user or role; `name`: the name of the user, "" for a role
    active    true if they can log in; None: hidden from the caller
    rows      id → visible or not, their hidden fields and their actions
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
    """Returns the answer about these rows. Raises `Problem` as the API does."""
    answer: dict[str, Any] = {}
    rows: dict[str, Mapping[str, Any]] = {}
    for some in _parts(ids):
        answer = ask(call, "policy_visible", {"as": who, "collection": collection, "ids": ",".join(some)})
        rows |= {row["id"]: row for row in answer["items"]}
    return Seen(who, answer["role"], answer["name"] or "", answer["active"], rows)


def _parts(ids: Sequence[str]) -> Iterable[Sequence[str]]:
    """Divides ids into parts; at least one, so that the name is read even without rows."""
    return [ids[start:start + MOST] for start in range(0, max(len(ids), 1), MOST)]
