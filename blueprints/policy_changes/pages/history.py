"""*History*: the policies that were in force, what each allowed more and less, and how two of them differ."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from flask import Response

from gatepost import Call, Message, Problem, Routes
from gatepost.collections.asking import ask

from ...console.pages import Page, Step, enter, page, served, showing, suggest, texts
from ..versions import LEFT_OUT
from .differing import differing
from .outcome import Changes, called_for, of_history
from .trying import rights

PATH = "/console/history"
_PAGE = 20
_MOST_LOOKED_AT = 100  # rows of the policy history, to find the predecessor of a version
_PARAMETERS = ("from", "to", "after", "before")


show = showing(__package__)
routes = Routes("console_history", "Which rules were in force.", when=served)
enter(Page("/console/history", Message("History"), "policy.view", place=40))


@routes.get(PATH, **page("policy.view", query=texts(*_PARAMETERS)))
def history(call: Call) -> Response:
    """List the policies that were in force, the newest first, or show how two of them differ."""
    parameters = call.query
    if parameters.get("from") and parameters.get("to"):
        return _compared(call, parameters["from"], parameters["to"])
    versions = ask(call, "policy_versions", {
        "limit": _PAGE, "after": parameters.get("after"), "before": parameters.get("before")})
    called, items = called_for(call), versions["items"]
    return show(call, "history.html", versions=versions, called=called, newest=_newest(call), **rights(call),
                items=[(one, of_history(one["changes"], called), before)
                       for one, before in zip(items, [*items[1:], None], strict=True)])


def _has_changed(call: Call) -> bool:
    """True if the policy history has more than its first version. Raises `Problem`."""
    return len(ask(call, "policy_versions", {"limit": 2, "fields": "version"})["items"]) > 1


suggest(Step("/console/try", "policy.view", Message("Change a rule"), Message(
    "Try a change first: the page shows who gains and loses rights, and nothing takes effect before you apply it."),
    _has_changed, place=20))


@routes.get(f"{PATH}/<version>", **page("policy.view"))
def version(call: Call) -> Response:
    """Show a policy that was in force, with its files."""
    item = ask(call, "policy_version", path={"version": call.path["version"]})
    called, rows = called_for(call), newest_versions(call)
    before = next((earlier for one, earlier in pairwise(rows) if one["version"] == item["version"]), None)
    return show(call, "version.html", item=item, called=called, changes=of_history(item["changes"], called),
                before=before, newest=rows[0]["version"], **rights(call))


def newest_versions(call: Call, *fields: str) -> list[dict[str, Any]]:
    """Returns the newest entries of the policy history: their versions and these fields."""
    page = ask(call, "policy_versions", {"limit": _MOST_LOOKED_AT, "fields": ["version", *fields]})
    found: list[dict[str, Any]] = page["items"]
    return found


def known_changes(call: Call, old: str, new: str) -> Changes | None:
    """Returns the changes between two versions from the policy history, if one directly followed the other."""
    called, rows = called_for(call), newest_versions(call, "changes")
    for later, earlier in pairwise(rows):
        changes = of_history(later["changes"], called)
        if changes is not None and (earlier["version"], later["version"]) == (old, new):
            return changes
        if changes is not None and (earlier["version"], later["version"]) == (new, old):
            return changes.reversed
    return None


def differences(old: Mapping[str, str], new: Mapping[str, str]) -> dict[str, Any]:
    """Returns the differences of the files, and true in `left_out` if parts of them are hidden from the caller."""
    found = differing(old, new)
    return {"differences": found, "left_out": any(LEFT_OUT in files.get(name, "") for name in found
                                                  for files in (old, new))}


def _compared(call: Call, old: str, new: str) -> Response:
    one, other = (ask(call, "policy_version", path={"version": name}) for name in (old, new))
    return show(call, "compare.html", old=one, new=other, newest=_newest(call), called=called_for(call),
                changes=known_changes(call, one["version"], other["version"]), **rights(call),
                **differences(one["files"], other["files"]))


def _newest(call: Call) -> str:
    rows = ask(call, "policy_versions", {"limit": 1, "fields": "version"})["items"]
    if not rows:
        raise Problem("not_found", "The active rules are not in the policy history yet.")
    return str(rows[0]["version"])
