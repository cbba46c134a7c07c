"""The page *Rules*: a table of permissions by role, the rules behind each cell, and edits that are not in force."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote, urlencode

from flask import Response

from gatepost import Call, Message, Problem, Routes
from gatepost.collections.asking import ask
from models.base import read_id
from policies.tools.matrix import table_of

from ...console.pages import Page, enter, page, sentence, served, showing, texts

MOST_PILLS = 24  # columns that a phone selects with pills; the style sheet has a rule for each
PERSONS = 25  # users on a page
MOST_REMARKS = 100  # shown remarks of one kind
_FILTERS = ("resource", "role", "person")
_PARAMETERS = (*_FILTERS, "offset", "cell", "at")
_USUAL = "user"
_WRONG = {
    "resource": Message("There is no such resource. Choose one from the list."),
    "role": Message("There is no such role. Choose one from the list."),
}
_REMARK = re.compile(r"(?P<file>[\w.-]+\.(?:csv|conf|yaml))(?::(?P<line>\d+))?: (?P<text>.*)", re.DOTALL)

Cell = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Column:
    """The permissions of one role or user.

    key     a role or `user:<id>`, as in the parameter `cell`
    linked  the key, quoted for a URL
    title   its heading; None: a user whose name the caller may not see
    role    the role of the user; "" for the column of a role
    """

    key: str
    linked: str
    title: str | None
    role: str
    cells: Mapping[str, Cell]


@dataclass(frozen=True, slots=True)
class Chosen:
    """One cell of the table, named by the parameter `cell` or `at`."""

    key: str
    permission: str

    @classmethod
    def of(cls, text: str) -> Chosen:
        key, _, permission = text.partition(" ")
        return cls(key, permission)


@dataclass(frozen=True, slots=True)
class Remark:
    """A finding about the policy files; `file` is "" if it is about no file, `line` if about no line."""

    file: str
    line: str
    text: str

    @classmethod
    def of(cls, text: str) -> Remark:
        match = _REMARK.fullmatch(text)
        if match is None:
            return cls("", "", text)
        return cls(match["file"], match["line"] or "", match["text"].removeprefix("warning: "))


show = showing(__package__)
routes = Routes("console_rules", "The rules in force.", when=served)
enter(Page("/console/rules", Message("Rules"), "policy.view", place=10))


@routes.get("/console/rules", **page("policy.view", query=texts(*_PARAMETERS), cost=3))
def rules(call: Call) -> Response:
    """Show who may do what, and the lines behind one cell."""
    parameters = {name: call.query.get(name, "").strip() for name in _PARAMETERS}
    table, problem = _table(call, parameters)
    effective = ask(call, "policy_rules")
    full = table_of(call.access.policy)
    kept = {name: parameters[name] for name in _FILTERS if parameters[name]}
    chosen, before = Chosen.of(parameters["cell"]), Chosen.of(parameters["at"])
    columns = _columns(table) if table else []
    return show(
        call, "rules.html", parameters=parameters, kept=kept, table=table, problem=problem, columns=columns,
        searched=bool(parameters["person"]) and not _named(parameters["person"]),
        address=f"?{urlencode({**kept, 'cell': ''})}", filtered=urlencode(kept), chosen=chosen, before=before,
        pill=_pill(columns, chosen.key or before.key), pills=len(columns) <= MOST_PILLS, page_size=PERSONS,
        panel=_panel(columns, table, effective, chosen) if table and chosen.permission else None,
        own=_own(table, effective), permissions=sorted(call.services.registry.by_permission),
        roles=full.columns, resources=[section.resource for section in full.sections],
        troubles=[Remark.of(line) for line in (effective["error"] or "").splitlines() if line],
        warnings=[Remark.of(line) for line in effective["warnings"]], most=MOST_REMARKS,
        now=datetime.now(call.services.settings.zone))


def _named(person: str) -> bool:
    """True if the text is an e-mail address or an id, and not a part of a name."""
    return "@" in person or read_id(person) is not None


def _table(call: Call, parameters: Mapping[str, str]) -> tuple[dict[str, Any] | None, str]:
    """Returns the table of the API and "", or None and the error as a sentence."""
    sought = "person" if _named(parameters["person"]) else "q"
    try:
        table: dict[str, Any] = ask(call, "policy_matrix", {
            "resource": parameters["resource"], "role": parameters["role"], sought: parameters["person"],
            "offset": parameters["offset"], "limit": PERSONS})
    except Problem as refusal:
        return None, _sentence(call, refusal)
    return table, ""


def _sentence(call: Call, refusal: Problem) -> str:
    say = call.services.translations.wanted(call.request).say
    if refusal.code == "not_found":
        return say(Message("There is no such user, or you may not see them."))
    wrong = next((_WRONG[one.parameter] for one in refusal.faults if one.parameter in _WRONG), None)
    return sentence(call, refusal) if wrong is None else say(wrong)


# The table

def _columns(table: Mapping[str, Any]) -> list[Column]:
    rows = [row for resource in table["resources"] for row in resource["permissions"]]
    of_roles = [Column(role, quote(role), role, "", {row["permission"]: row["cells"][role] for row in rows
                                                     if role in row["cells"]}) for role in table["roles"]]
    person = table["person"]
    if person is None:
        return of_roles
    key = f"user:{person['id']}"
    return [Column(key, quote(key), person["name"], person["role"] or "", person["cells"]), *of_roles]


def _pill(columns: Sequence[Column], wanted: str) -> str:
    """Returns the key of the column that a phone shows first."""
    keys = [column.key for column in columns]
    person = next((column.key for column in columns if column.role), "")
    return next((key for key in (wanted, person, _USUAL) if key in keys), keys[0] if keys else "")


# The lines behind a cell

def _panel(columns: Sequence[Column], table: Mapping[str, Any], effective: Mapping[str, Any],
           chosen: Chosen) -> dict[str, Any]:
    """Returns the chosen cell with its rules; `column` is None if the table has no such cell."""
    column = next((one for one in columns if one.key == chosen.key), None)
    permissions = {row["permission"] for resource in table["resources"] for row in resource["permissions"]}
    if column is None or chosen.permission not in permissions:
        return {"column": None, "lines": [], "cell": None}
    cell = column.cells.get(chosen.permission)
    parts = [(effect, part) for effect in ("allow", "deny") for part in (cell or {}).get(effect, ())]
    who = {f"{rule['file']}:{rule['line']}": rule["who"] for rule in effective["rules"]} if parts else {}
    return {"column": column, "cell": cell,
            "lines": [{**table["lines"][part["place"]], "effect": effect, "word": part["word"],
                       "who": who.get(part["place"], column.key)} for effect, part in parts]}


def _own(table: Mapping[str, Any] | None, effective: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the rules that name the requested user, filtered ones included, and the roles assigned by them."""
    if not table or table["person"] is None:
        return {"lines": [], "roles": []}
    key = f"user:{table['person']['id']}"
    return {"lines": [rule for rule in effective["rules"] if rule["who"] == key],
            "roles": effective["roles"].get(key, [])}
