"""*Why?*: what somebody may do, and why or why not; with other circumstances, too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from flask import Response

from gatepost import Call, Collection, Problem, is_id

from ..http.questions.names import TITLES
from ..http.resources.asking import ask
from .frame import page, routes, show, texts

CIRCUMSTANCES = ("at", "ip", "device", "scope")
_ASKED = ("as", "permission", "id", *CIRCUMSTANCES)
_DEVICES = ("desktop", "mobile", "tablet", "bot", "other")
_MOST_FOUND = 10  # people or objects that a text finds


@routes.get("/console/why", **page("policy.view", query=texts(*_ASKED), cost=3))
def why(call: Call) -> Response:
    """Show what somebody may do, and why or why not."""
    asked = {name: call.query.get(name, "").strip() for name in _ASKED}
    say = call.services.translations.wanted(call.request).say
    answer, people, objects, problem = None, list[dict[str, Any]](), list[dict[str, Any]](), ""
    if asked["as"] and asked["permission"]:
        try:
            people = _people(call, asked["as"])
            objects = [] if people else objects_found(call, asked["permission"], asked["id"])
            if not people and not objects:
                answer = ask(call, "policy_explain", asked)
        except Problem as refusal:
            problem = say(refusal.faults[0].detail if refusal.faults else refusal.detail) or refusal.code
    policy = call.services.policy.current
    return show(call, "why.html", asked=asked, answer=answer, people=people, objects=objects, problem=problem,
                permissions=sorted(call.services.registry.by_permission), roles=policy.roles.names, devices=_DEVICES,
                supposed=any(asked[name] for name in CIRCUMSTANCES), page=_collection(call, asked["permission"]))


def _people(call: Call, text: str) -> list[dict[str, Any]]:
    """The people whom a text finds that is no e-mail, id or role, as `value` and `title`.

    Raises `Problem` where it finds nobody.
    """
    if "@" in text or is_id(text) or text == "guest" or text in call.services.policy.current.roles:
        return []
    found = _rows(call, "users", text)
    if not found:
        raise Problem("not_found", "There is no such person or role, or you may not see them.")
    return found


def objects_found(call: Call, permission: str, text: str) -> list[dict[str, Any]]:
    """The objects that a text finds which is no id, as `value` and `title`. Raises `Problem` where it finds none."""
    if not text or is_id(text):
        return []
    name = _collection(call, permission)
    found = [] if name is None else _rows(call, name, text)
    if not found:
        raise Problem("not_found", "There is no such object, or you may not see it.")
    return found


def _rows(call: Call, name: str, text: str) -> list[dict[str, Any]]:
    collection = cast(Collection, call.services.collections[name])
    titles = [title for title in TITLES if title in collection.representation.names]
    by = {f"{title}__contains" for title in titles if "contains" in collection.filters.get(title, ())}
    if not titles or not (collection.search or by) or not call.access.may_ever(collection.view):
        return []
    sought = {"q" if collection.search else by.pop(): text}
    page = ask(call, f"{name}_list", {**sought, "limit": _MOST_FOUND, "fields": ["id", *titles]})
    return [{"value": row["id"], "title": _title(row, titles)} for row in page["items"]]


def _title(row: Mapping[str, Any], titles: list[str]) -> str:
    return next((str(row[title]) for title in titles if row.get(title)), str(row["id"]))


def _collection(call: Call, permission: str) -> str | None:
    """The plural name of the collection that a permission is about; None: of none."""
    resource = permission.partition(".")[0]
    return next((one.name for one in call.services.collections.values() if one.resource == resource), None)
