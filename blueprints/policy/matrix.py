"""`GET /api/admin/policy/matrix`: who may do what, and by which lines, for callers with `policy.view`.

The cells name the lines behind them by place, and each line is told once. Of persons with lines of their own there is a
page, and the cells of one of them: hundreds of persons are never sent at once. Nobody of another tenant is told.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Container, Iterable, Sequence
from typing import Any

from marshmallow import fields
from marshmallow.validate import Range

from blueprints.policy.persons import Shown, Who, named_person, shown_persons
from gatepost import Call, Fault, Id, Line, Message, Problem, Routes, StrictSchema
from gatepost.collections.names import USERS
from gatepost.http.request.reasons import hidden_of
from gatepost.http.schemas.parameters import ListParameter, Number
from gatepost.rules.redaction import mentions, refuse_to_tell_fields, told_persons, untold_ids, withheld
from models.tables.user import User
from policies import Policy
from policies.evaluation.grants import ALWAYS_WORD, Grant, Part
from policies.syntax.rules import Rule
from policies.tools.matrix import Matrix, Section, of_person, table_of
from policies.tools.written import Files
from policies.wording.finding import single_person

routes = Routes("policy_matrix", "Who may do what, as a table.")

LARGEST_PAGE, MOST_SKIPPED = 200, 10_000  # persons


def _number(low: int, high: int, about: str) -> Number:
    within = Range(low, high, error=Message("Must be greater than or equal to {min} and less than or equal to {max}."))
    return Number(validate=within, metadata={"description": about})


class MatrixQuerySchema(StrictSchema):
    resources = ListParameter(Line(maximum=64), data_key="resource", metadata={
        "description": "Only the permissions of these resources, separated by commas."})
    roles = ListParameter(Line(maximum=64), data_key="role", metadata={
        "description": "Only the columns of these roles, separated by commas."})
    person = Who(metadata={
        "description": "Also the cells of this user, by id or e-mail: what the lines about the user and those about "
                       "the user's role give together."})
    q = Line(maximum=100, metadata={
        "description": "Of persons with lines of their own only those with this in their name or e-mail."})
    limit = _number(0, LARGEST_PAGE, "How many persons the page has at most; 0: none are looked up.")
    offset = _number(0, MOST_SKIPPED, "How many persons to skip.")


class MatrixPartSchema(StrictSchema):
    """A line behind a cell."""

    word = fields.String(required=True, metadata={
        "description": "The condition that is left of the line here, in the words of model.conf; `always`: none is."})
    place = fields.String(required=True, metadata={
        "description": "Which of `lines` it is.", "example": "users.csv:14"})


class MatrixCellSchema(StrictSchema):
    """What may be done: where one of `allow` holds and none of `deny`."""

    allow = fields.List(fields.Nested(MatrixPartSchema), required=True)
    deny = fields.List(fields.Nested(MatrixPartSchema), required=True)
    always = fields.Boolean(required=True, metadata={"description": "Whether it is allowed in every case."})


class MatrixRowSchema(StrictSchema):
    """One permission, with a cell for each role that may do something of it."""

    permission = fields.String(required=True)
    cells = fields.Dict(keys=fields.String(), values=fields.Nested(MatrixCellSchema), required=True, metadata={
        "description": "By role."})


class MatrixResourceSchema(StrictSchema):
    """The permissions of one resource, in the order of a row's life."""

    resource = fields.String(required=True)
    permissions = fields.List(fields.Nested(MatrixRowSchema), required=True)


class MatrixLineSchema(StrictSchema):
    """A line of the policy files."""

    file = fields.String(required=True)
    line = fields.Integer(required=True)
    rule = fields.String(required=True, metadata={"description": "As it stands in the file."})
    comment = fields.List(fields.String(), required=True, metadata={
        "description": "The lines of the comment directly above it; that of the headings is none."})


class MatrixPersonSchema(StrictSchema):
    """A user with lines of their own. `name` and `role` are null where the caller may not see them."""

    id = Id(required=True)
    name = fields.String(required=True, allow_none=True)
    role = fields.String(required=True, allow_none=True)
    lines = fields.Integer(required=True, metadata={
        "description": "How many lines name the user, also those that lend a role."})


class MatrixColumnSchema(MatrixPersonSchema):
    """What one user may do, as a column of the table."""

    cells = fields.Dict(keys=fields.String(), values=fields.Nested(MatrixCellSchema), required=True, metadata={
        "description": "By permission: what lines about the user and lines about the user's role give together."})


class MatrixPersonsSchema(StrictSchema):
    """A page of the users with lines of their own, by name."""

    items = fields.List(fields.Nested(MatrixPersonSchema), required=True)
    total = fields.Integer(required=True, allow_none=True, metadata={
        "description": "How many there are, of those that are asked for; null: none were looked up."})
    has_next = fields.Boolean(required=True)


class MatrixSchema(StrictSchema):
    """Who may do what. A role without a cell may not."""

    version = fields.String(required=True)
    line_count = fields.Integer(required=True, metadata={
        "description": "How many rules are in force, of those that the caller may be told."})
    roles = fields.List(fields.String(), required=True, metadata={"description": "The columns, in order."})
    resources = fields.List(fields.Nested(MatrixResourceSchema), required=True)
    lines = fields.Dict(keys=fields.String(), values=fields.Nested(MatrixLineSchema), required=True, metadata={
        "description": "The lines behind the cells, by place."})
    conditions = fields.Dict(keys=fields.String(), values=fields.String(), required=True, metadata={
        "description": "What each word in the cells means."})
    scopes = fields.Dict(keys=fields.String(), values=fields.List(fields.String()), required=True, metadata={
        "description": "The permissions that each scope covers, as written."})
    person = fields.Nested(MatrixColumnSchema, required=True, allow_none=True, metadata={
        "description": "The user that is asked for; null: none is."})
    persons = fields.Nested(MatrixPersonsSchema, required=True)


@routes.get("/api/admin/policy/matrix", permission="policy.view", query=MatrixQuerySchema(), problems=(404,),
            operation="policy_matrix", answer=MatrixSchema(), cost=2)
def drawn(call: Call) -> dict[str, Any]:
    """Show who may do what: permissions down, roles across, and the lines behind each cell."""
    policy, query, table = call.access.policy, call.query, table_of(call.access.policy)
    roles = _chosen("role", query.get("roles"), table.columns)
    resources = _chosen("resource", query.get("resources"), [section.resource for section in table.sections])
    sections = [section for section in table.sections if section.resource in resources]
    user = named_person(call, query["person"]) if "person" in query else None
    own = _lines_of_persons(policy)
    told = told_persons(call, (*own, *((f"user:{user.id}",) if user is not None else ())))
    cells = _Cells(told)
    asked = [row.permission for section in sections for row in section.rows]
    return withheld(call, {
        "version": policy.version,
        "line_count": sum(single_person(rule.sub) in told for rule in policy.rules),
        "roles": [role for role in table.columns if role in roles],
        "resources": [{"resource": section.resource, "permissions": _rows(section, table.columns, roles, cells)}
                      for section in sections],
        "person": None if user is None else _column(call, user, asked, own, cells),
        "lines": cells.lines(call, policy),
        "conditions": {word: table.meanings[word] for word in cells.words if word != ALWAYS_WORD},
        "scopes": _scopes(policy, table, frozenset(asked)),
        "persons": _page(call, [key for key in own if key in told], own),
    })


class _Cells:
    """Makes cells of grants, and keeps which lines and words are in them."""

    def __init__(self, told: Container[str]) -> None:
        self._told = told
        self._behind: dict[Rule, None] = {}
        self.words: dict[str, None] = {}

    def cell(self, grant: Grant) -> dict[str, Any]:
        return {"allow": self._parts(grant.allows), "deny": self._parts(grant.denies), "always": grant.always}

    def lines(self, call: Call, policy: Policy) -> dict[str, dict[str, Any]]:
        """The lines behind all cells so far, by place, without lines of comments that name persons of other tenants."""
        files = Files(policy.files)
        written = {rule: files.at(rule) for rule in self._behind}
        untold = untold_ids(call, (line for one in written.values() for line in one.comment))
        return {rule.place: {"file": rule.file, "line": rule.line, "rule": one.text,
                             "comment": [line for line in one.comment if not mentions(line, untold)]}
                for rule, one in written.items()}

    def _parts(self, parts: Iterable[Part]) -> list[dict[str, str]]:
        # A matcher of one's own may let a line about one person reach another.
        kept = [part for part in parts if single_person(part.rule.sub) in self._told]
        self._behind.update(dict.fromkeys(part.rule for part in kept))
        self.words.update(dict.fromkeys(part.word for part in kept))
        return [{"word": part.word, "place": part.rule.place} for part in kept]


def _chosen(parameter: str, asked: Collection[str] | None, known: Collection[str]) -> Collection[str]:
    """What is asked for, by default everything. Raises `Problem` (`invalid_parameter`) for what there is not."""
    if asked is None:
        return known
    if not asked or not set(asked) <= set(known):
        detail = Message("Must be one of: {choices}.", choices=", ".join(known))
        raise Problem.of([Fault("invalid_parameter", detail, parameter=parameter)], "invalid_parameter")
    return asked


def _rows(section: Section, columns: Sequence[str], roles: Collection[str], cells: _Cells) -> list[dict[str, Any]]:
    return [{"permission": row.permission,
             "cells": {role: cells.cell(grant) for role, grant in zip(columns, row.grants, strict=True)
                       if grant and role in roles}} for row in section.rows]


def _scopes(policy: Policy, table: Matrix, asked: frozenset[str]) -> dict[str, list[str]]:
    found = {scope: [act for act in acts if policy.patterns.covered(act) & asked] for scope, acts in table.scopes}
    return {scope: acts for scope, acts in found.items() if acts}


# Persons

def _lines_of_persons(policy: Policy) -> Counter[str]:
    """How many lines name each person, by key."""
    named = (*(rule.sub for rule in policy.rules), *(link.name for link in policy.roles.links))
    return Counter(name for name in named if single_person(name))


def _column(call: Call, user: User, asked: Iterable[str], own: Counter[str], cells: _Cells) -> dict[str, Any]:
    """What one user may do. 403 where the caller may not see the user's role: the cells would tell it."""
    refuse_to_tell_fields({"role"} & hidden_of(call, call.services.collections[USERS], user.__data__))
    found = of_person(call.access.policy, user.role, f"user:{user.id}", asked)
    [shown] = shown_persons(call, [user.id])
    return {**_entry(shown, own), "cells": {permission: cells.cell(grant) for permission, grant in found.items()}}


def _page(call: Call, keys: Iterable[str], own: Counter[str]) -> dict[str, Any]:
    limit = call.query.get("limit", min(call.services.settings.page_size, LARGEST_PAGE))
    skipped = call.query.get("offset", 0)
    if not limit:
        return {"items": [], "total": None, "has_next": False}
    sought = call.query.get("q", "").casefold()
    found = [one for one in shown_persons(call, [key.partition(":")[2] for key in keys])
             if sought in (one.name or "").casefold()]
    return {"items": [_entry(one, own) for one in found[skipped:skipped + limit]], "total": len(found),
            "has_next": len(found) > skipped + limit}


def _entry(one: Shown, own: Counter[str]) -> dict[str, Any]:
    return {"id": one.id, "name": one.name, "role": one.role, "lines": own[f"user:{one.id}"]}
