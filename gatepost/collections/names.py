"""Names of rows, shown beside ids in an explanation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gatepost.http.request.call import Call
from gatepost.http.writing.writable import Writable
from models.base import is_id
from policies.explaining.facts import Called

USERS = "users"
TITLES = ("title", "name", "subject")  # columns with the name of a row; the first that has a value counts

Lookup = Callable[[str, str], Mapping[str, Any] | None]
"""Returns the visible fields of a row, by the plural name of its collection and its id; None: no row, or hidden."""


class Names:
    """Names of rows, each looked up once."""

    def __init__(self, find: Lookup) -> None:
        self._find = find
        self._names: dict[tuple[str, str], str] = {}

    def of(self, collection: str, id: str) -> str:
        """Returns the name of a row; "" if it has none, or a hidden one."""
        key = collection, id
        if key not in self._names:
            fields = self._find(collection, id) if is_id(id) else None  # a role's example of a user has no id
            self._names[key] = title(fields or {}, with_email=collection == USERS)
        return self._names[key]

    def called(self, collection: Writable | None) -> Called:
        """Returns a function that names the values in facts about a row of that collection."""
        references = {} if collection is None else {
            "owner_id": USERS, **{name: field.collection for name, field in collection.references.items()}}

        def called(root: str, attribute: str, value: object) -> str:
            text = str(value)
            if root == "sub" and attribute in ("id", "key"):
                return self.of(USERS, text.removeprefix("user:"))
            target = references.get(attribute) if root == "obj" else None
            return "" if target is None else self.of(target, text)

        return called


def shown_to(call: Call) -> Lookup:
    """Returns a function that reads the fields of a row that the caller may see."""
    def find(name: str, id: str) -> Mapping[str, Any] | None:
        collection = call.services.collections.get(name)
        row = None if collection is None else collection.visible(call, id)
        if collection is None or row is None:
            return None
        fields = [field for field in (*TITLES, "email") if field in collection.representation.names]
        return collection.represent(call, [row], fields)[0]

    return find


def title(fields: Mapping[str, Any], *, with_email: bool) -> str:
    """Returns the name of a row with these fields, "" if it has none; `with_email` adds the address of a user."""
    name = next((str(fields[field]) for field in TITLES if fields.get(field)), "")
    return ", ".join(filter(None, (name, str(fields.get("email") or "") if with_email else "")))
