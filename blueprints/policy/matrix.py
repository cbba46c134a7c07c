"""`GET /api/admin/policy/matrix`: permissions by role, and the rules behind them, for callers with `policy.view`.

The cells refer to rules by file and line; each rule is sent once. Users with rules of their own are listed in pages,
and the cells of only one are sent. Users of other tenants are not shown.
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
from gatepost.rules.redaction import hidden_ids, mentions, refuse_hidden_fields, visible_persons, withheld
from models.tables.user import User
from policies import Policy
from policies.evaluation.grants import ALWAYS_WORD, Grant, Part
from policies.syntax.rules import Rule
from policies.tools.matrix import Matrix, Section, of_person, table_of
from policies.tools.written import Files
from policies.wording.finding import single_person

routes = Routes("policy_matrix", "The table of permissions by role and user.")

LARGEST_PAGE, MOST_SKIPPED = 200, 10_000  # users


def _number(low: int, high: int, about: str) -> Number:
    within = Range(low, high, error=Message("Must be greater than or equal to {min} and less than or equal to {max}."))
    return Number(validate=within, metadata={"description": about})


class MatrixQuerySchema(StrictSchema):
    resources = ListParameter(Line(maximum=64), data_key="resource", metadata={
        "description": "Only the permissions of these resources, separated by commas."})
    roles = ListParameter(Line(maximum=64), data_key="role", metadata={
        "description": "Only the columns of these roles, separated by commas."})
    person = Who(metadata={
        "description": "Adds the cells of this user, by id or e-mail. They combine the rules about the user with those "
                       "about the user's role."})
    q = Line(maximum=100, metadata={
        "description": "Only users with rules of their own whose name or e-mail contains this text."})
    limit = _number(0, LARGEST_PAGE, "The largest number of users on the page; 0: no users.")
    offset = _number(0, MOST_SKIPPED, "The number of users to skip.")


class MatrixPartSchema(StrictSchema):
    """A rule behind a cell."""

    word = fields.String(required=True, metadata={
        "description": "The condition that the rule has here, in the words of model.conf; `always` if it has none."})
    place = fields.String(required=True, metadata={
        "description": "The key of the rule in `lines`.", "example": "users.csv:14"})


class MatrixCellSchema(StrictSchema):
    """One cell: a permission is granted if one of `allow` holds and none of `deny`."""

    allow = fields.List(fields.Nested(MatrixPartSchema), required=True)
    deny = fields.List(fields.Nested(MatrixPartSchema), required=True)
    always = fields.Boolean(required=True, metadata={"description": "True if it is allowed in every case."})


class MatrixRowSchema(StrictSchema):
    """One permission, with a cell for each role that it is granted to, at least in some cases."""

    permission = fields.String(required=True)
    cells = fields.Dict(keys=fields.String(), values=fields.Nested(MatrixCellSchema), required=True, metadata={
        "description": "Cells by role."})


class MatrixResourceSchema(StrictSchema):
    """The permissions of one resource, in the order of a row's life."""

    resource = fields.String(required=True)
    permissions = fields.List(fields.Nested(MatrixRowSchema), required=True)


class MatrixLineSchema(StrictSchema):
    """A rule in the policy files."""

    file = fields.String(required=True)
    line = fields.Integer(required=True)
    rule = fields.String(required=True, metadata={"description": "The text of the rule in the file."})
    comment = fields.List(fields.String(), required=True, metadata={
        "description": "The lines of the comment directly above it. A heading does not count as a comment."})


class MatrixPersonSchema(StrictSchema):
    """A user with rules of their own. `name` and `role` are null if the caller may not see them."""

    id = Id(required=True)
    name = fields.String(required=True, allow_none=True)
    role = fields.String(required=True, allow_none=True)
    lines = fields.Integer(required=True, metadata={
        "description": "The number of rules that name the user. Lines that give a role count, too."})


class MatrixColumnSchema(MatrixPersonSchema):
    """The permissions of one user, as a column of the table."""

    cells = fields.Dict(keys=fields.String(), values=fields.Nested(MatrixCellSchema), required=True, metadata={
        "description": "Cells by permission, from the rules about the user and about the user's role together."})


class MatrixPersonsSchema(StrictSchema):
    """A page of the users with rules of their own, by name."""

    items = fields.List(fields.Nested(MatrixPersonSchema), required=True)
    total = fields.Integer(required=True, allow_none=True, metadata={
        "description": "The number of all matching users; null if `limit` is 0."})
    has_next = fields.Boolean(required=True)


class MatrixSchema(StrictSchema):
    """The table of permissions by role. A role without a cell does not have the permission."""

    version = fields.String(required=True)
    line_count = fields.Integer(required=True, metadata={
        "description": "The number of current rules that the caller may see."})
    roles = fields.List(fields.String(), required=True, metadata={"description": "The columns, in order."})
    resources = fields.List(fields.Nested(MatrixResourceSchema), required=True)
    lines = fields.Dict(keys=fields.String(), values=fields.Nested(MatrixLineSchema), required=True, metadata={
        "description": "The rules behind the cells, by place."})
    conditions = fields.Dict(keys=fields.String(), values=fields.String(), required=True, metadata={
        "description": "The meaning of each word in the cells."})
    scopes = fields.Dict(keys=fields.String(), values=fields.List(fields.String()), required=True, metadata={
        "description": "The permissions that each scope covers, as written."})
    person = fields.Nested(MatrixColumnSchema, required=True, allow_none=True, metadata={
        "description": "The user in the question; null if there is none."})
    persons = fields.Nested(MatrixPersonsSchema, required=True)


@routes.get("/api/admin/policy/matrix", permission="policy.view", query=MatrixQuerySchema(), problems=(404,),
            operation="policy_matrix", answer=MatrixSchema(), cost=2)
def drawn(call: Call) -> dict[str, Any]:
    """Get the table of permissions by role, with the rules behind each cell."""
    policy, query, table = call.access.policy, call.query, table_of(call.access.policy)
    roles = _chosen("role", query.get("roles"), table.columns)
    resources = _chosen("resource", query.get("resources"), [section.resource for section in table.sections])
    sections = [section for section in table.sections if section.resource in resources]
    user = named_person(call, query["person"]) if "person" in query else None
    own = _rules_of_users(policy)
    visible = visible_persons(call, (*own, *((f"user:{user.id}",) if user is not None else ())))
    cells = _Cells(visible)
    permissions = [row.permission for section in sections for row in section.rows]
    return withheld(call, {
        "version": policy.version,
        "line_count": sum(single_person(rule.sub) in visible for rule in policy.rules),
        "roles": [role for role in table.columns if role in roles],
        "resources": [{"resource": section.resource, "permissions": _rows(section, table.columns, roles, cells)}
                      for section in sections],
        "person": None if user is None else _column(call, user, permissions, own, cells),
        "lines": cells.lines(call, policy),
        "conditions": {word: table.meanings[word] for word in cells.words if word != ALWAYS_WORD},
        "scopes": _scopes(policy, table, frozenset(permissions)),
        "persons": _page(call, [key for key in own if key in visible], own),
    })


class _Cells:
    """Creates cells from grants, and collects their rules and words."""

    def __init__(self, visible: Container[str]) -> None:
        self._visible = visible
        self._behind: dict[Rule, None] = {}
        self.words: dict[str, None] = {}

    def cell(self, grant: Grant) -> dict[str, Any]:
        return {"allow": self._parts(grant.allows), "deny": self._parts(grant.denies), "always": grant.always}

    def lines(self, call: Call, policy: Policy) -> dict[str, dict[str, Any]]:
        """Returns the rules behind all cells so far, by place. Omits comment lines that name users of other tenants."""
        files = Files(policy.files)
        written = {rule: files.at(rule) for rule in self._behind}
        hidden = hidden_ids(call, (line for source in written.values() for line in source.comment))
        return {rule.place: {"file": rule.file, "line": rule.line, "rule": source.text,
                             "comment": [line for line in source.comment if not mentions(line, hidden)]}
                for rule, source in written.items()}

    def _parts(self, parts: Iterable[Part]) -> list[dict[str, str]]:
        # With a custom matcher, a rule about one user may also apply to another.
        kept = [part for part in parts if single_person(part.rule.sub) in self._visible]
        self._behind.update(dict.fromkeys(part.rule for part in kept))
        self.words.update(dict.fromkeys(part.word for part in kept))
        return [{"word": part.word, "place": part.rule.place} for part in kept]


def _chosen(parameter: str, requested: Collection[str] | None, names: Collection[str]) -> Collection[str]:
    """Returns the requested names; None: all. Raises `Problem` (`invalid_parameter`) for an unknown one."""
    if requested is None:
        return names
    if not requested or not set(requested) <= set(names):
        detail = Message("Must be one of: {choices}.", choices=", ".join(names))
        raise Problem.of([Fault("invalid_parameter", detail, parameter=parameter)], "invalid_parameter")
    return requested


def _rows(section: Section, columns: Sequence[str], roles: Collection[str], cells: _Cells) -> list[dict[str, Any]]:
    return [{"permission": row.permission,
             "cells": {role: cells.cell(grant) for role, grant in zip(columns, row.grants, strict=True)
                       if grant and role in roles}} for row in section.rows]


def _scopes(policy: Policy, table: Matrix, permissions: frozenset[str]) -> dict[str, list[str]]:
    scopes = {scope: [act for act in acts if policy.patterns.covered(act) & permissions]
              for scope, acts in table.scopes}
    return {scope: acts for scope, acts in scopes.items() if acts}


# Users

def _rules_of_users(policy: Policy) -> Counter[str]:
    """Counts the rules that name each user, by key."""
    named = (*(rule.sub for rule in policy.rules), *(link.name for link in policy.roles.links))
    return Counter(name for name in named if single_person(name))


def _column(call: Call, user: User, permissions: Iterable[str], own: Counter[str], cells: _Cells) -> dict[str, Any]:
    """Returns the column of one user. Raises `Problem` (403) if the user's role is hidden, as the cells reveal it."""
    refuse_hidden_fields({"role"} & hidden_of(call, call.services.collections[USERS], user.__data__))
    grants = of_person(call.access.policy, user.role, f"user:{user.id}", permissions)
    [shown] = shown_persons(call, [user.id])
    return {**_entry(shown, own), "cells": {permission: cells.cell(grant) for permission, grant in grants.items()}}


def _page(call: Call, keys: Iterable[str], own: Counter[str]) -> dict[str, Any]:
    limit = call.query.get("limit", min(call.services.settings.page_size, LARGEST_PAGE))
    skipped = call.query.get("offset", 0)
    if not limit:
        return {"items": [], "total": None, "has_next": False}
    sought = call.query.get("q", "").casefold()
    users = [user for user in shown_persons(call, [key.partition(":")[2] for key in keys])
             if sought in (user.name or "").casefold()]
    return {"items": [_entry(user, own) for user in users[skipped:skipped + limit]], "total": len(users),
            "has_next": len(users) > skipped + limit}


def _entry(user: Shown, own: Counter[str]) -> dict[str, Any]:
    return {"id": user.id, "name": user.name, "role": user.role, "lines": own[f"user:{user.id}"]}
