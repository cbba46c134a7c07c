"""Names on the pages: rows that match a text, names beside ids, and the sentence of a refusal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

from gatepost import Call, Collection, Fault, Problem, is_id
from gatepost.collections.asking import ask
from gatepost.collections.names import TITLES, title
from gatepost.http.reading.filters import parameter
from models.base import read_id

PERSON = "user:"  # before the id, in the key of a user in the audit log and the rules
MOST_FOUND = 20  # rows that a text finds

Row = tuple[str, str]
"""The plural name of a collection, and the id of one of its rows."""


def names_of(call: Call, wanted: Iterable[Row]) -> dict[Row, str]:
    """Returns the titles of the rows that the caller may view, with one query for each collection."""
    ids: dict[str, set[str]] = {}
    for collection, id in wanted:
        if collection in call.services.collections and is_id(id):
            ids.setdefault(collection, set()).add(id)
    found: dict[Row, str] = {}
    for collection, some in ids.items():
        rows = call.services.collections[collection].visible_many(call, some)
        found |= {(collection, id): title(row, with_email=False) for id, row in rows.items()}
    return found


def collection_of(call: Call, permission: str) -> str:
    """Returns the plural name of the collection of a permission or resource; "" if there is none."""
    found = call.services.registry.by_resource.get(permission.partition(".")[0])
    return "" if found is None else found.name


def found(call: Call, name: str, text: str) -> list[tuple[str, str]]:
    """(id, what it is called) of the rows of a collection that a text finds, of those that the caller may view.

    The text is an id, an e-mail, or a part of what the row is called; "": those of the first page.
    """
    return looked_up(call, name, text)[0]


def looked_up(call: Call, name: str, text: str) -> tuple[list[tuple[str, str]], bool]:
    """Returns what `found` does, and true if there are more such rows."""
    operation, collection = f"{name}_list", cast(Collection | None, call.services.collections.get(name))
    if collection is None or operation not in call.services.registry.by_operation \
            or not call.access.may_ever(collection.view):
        return [], False
    if (known := read_id(text)) is not None:
        return [(id, title(row, with_email=True))
                for id, row in collection.visible_many(call, [known]).items()], False
    query = _sought(collection, text)
    if text and not query:
        return [], False
    fields = [one for one in ("id", *TITLES, "email") if one in collection.representation.names]
    order = next((one for one in TITLES if one in collection.listing.query.orders), None)
    try:
        page = ask(call, operation, {**query, "fields": ",".join(fields), "limit": MOST_FOUND, "sort": order})
    except Problem:
        return [], False
    return [(row["id"], title(row, with_email=True)) for row in page["items"]], bool(page["has_next"])


def people(call: Call, text: str) -> list[tuple[str, str]]:
    """`found` of users. Raises `Problem` (`not_found`) where it finds nobody whom the caller may see."""
    if several := found(call, "users", text):
        return several
    raise Problem("not_found", "There is no such user, or you may not see them.")


def title_parameter(collection: Collection) -> str | None:
    """The parameter by which a list is narrowed to a part of what its rows are called; None: there is none."""
    return next((parameter(one, "contains") for one in TITLES if "contains" in collection.filters.get(one, ())), None)


def _sought(collection: Collection, text: str) -> dict[str, Any]:
    if not text:
        return {}
    if "@" in text and "eq" in collection.filters.get("email", ()):
        return {"email": text}
    if (by_title := title_parameter(collection)) is not None:
        return {by_title: text}
    return {"q": text} if collection.search else {}


def sentence(call: Call, problem: Problem, faults: Sequence[Fault] | None = None) -> str:
    """Returns the text of a refusal in the caller's language, from these `faults`, by default all of them."""
    say = call.services.translations.wanted(call.request).say
    told = dict.fromkeys(str(say(fault.detail)) for fault in (problem.faults if faults is None else faults))
    return " ".join(told) or str(say(problem.detail)) or problem.code


def objects_found(call: Call, permission: str, text: str) -> list[tuple[str, str]]:
    """Returns the objects that match a text other than an id. Raises `Problem` if there are none."""
    if not text or read_id(text):
        return []
    if several := found(call, collection_of(call, permission), text):
        return several
    raise Problem("not_found", "There is no such object, or you may not see it.")
