"""Whom and what the pages name: people whom a text finds, names beside ids, and what is said of a refusal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gatepost import Call, Problem, is_id

from ..http.questions.names import title
from ..http.resources.asking import ask

PERSON = "user:"  # before the id, in what the trail and the rules call a person
_MOST_FOUND = 10


def names(call: Call, wanted: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """What rows are called, by the plural name of their collection and id: those that the caller may view, in one query
    for each collection."""
    ids: dict[str, set[str]] = {}
    for collection, id in wanted:
        if collection in call.services.collections and is_id(id):
            ids.setdefault(collection, set()).add(id)
    found = dict[tuple[str, str], str]()
    for collection, some in ids.items():
        rows = call.services.collections[collection].visible_many(call, some)
        found |= {(collection, id): title(row, with_email=False) for id, row in rows.items()}
    return found


def collection_of(call: Call, resource: str) -> str:
    """The plural name of the collection with that resource; "": none has it."""
    return next((one.name for one in call.services.collections.values() if one.resource == resource), "")


def people(call: Call, text: str) -> list[dict[str, Any]]:
    """The people whom an id, an e-mail or a part of a name finds, with `id`, `name` and, where the caller may see it,
    `email`. Raises `Problem` (`not_found`) where it finds nobody whom the caller may see."""
    try:
        if is_id(text):
            found = [ask(call, "users_get", {"fields": "id,name,email"}, path={"id": text})]
        else:
            by = "email" if "@" in text else "name__contains"
            found = ask(call, "users_list", {by: text, "limit": _MOST_FOUND, "fields": "id,name,email"})["items"]
    except Problem:
        found = []
    if not found:
        raise Problem("not_found", "There is no such person, or you may not see them.")
    return found


def sentence(call: Call, problem: Problem) -> str:
    """What a refusal says, in the caller's language."""
    say = call.services.translations.wanted(call.request).say
    faults = dict.fromkeys(str(say(fault.detail)) for fault in problem.faults)
    return " ".join(faults) or str(say(problem.detail)) or str(problem.code)
