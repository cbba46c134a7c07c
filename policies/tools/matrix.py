"""The table of who may do what: permissions down, roles across, a condition in each cell.

It is text for a terminal and plain data for scripts; matrix_page.py makes an HTML page of it. A service, which serves
it again and again, gets the part about roles from `table_of`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from ..evaluation.grants import NO_GRANT, Grant, Grants
from ..evaluation.policy import Policy

# Actions in the order of a row's life; a resource's own actions follow in the order of the alphabet.
_FIRST = ("view", "create", "update", "delete")
_LAST = ("share", "export", "import", "manage")


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """One permission, and what the role of each column may do with it."""

    permission: str
    grants: tuple[Grant, ...]

    @property
    def action(self) -> str:
        """The permission without its resource."""
        return self.permission.partition(".")[2]


@dataclass(frozen=True, slots=True)
class Section:
    """The rows of one resource."""

    resource: str
    rows: tuple[MatrixRow, ...]

    @property
    def size(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, slots=True)
class Matrix:
    """The whole table. `columns` are roles.

    persons     person → permission → what lines of their own say, on top of their role
    conditions  what each word in the cells means, as it stands in model.conf
    scopes      scope → permissions that it covers, as written
    meanings    what each condition of model.conf means, also those that are in no cell, and each with a parameter
    """

    version: str
    columns: tuple[str, ...]
    sections: tuple[Section, ...]
    persons: Mapping[str, Mapping[str, Grant]]
    conditions: tuple[tuple[str, str], ...]
    scopes: tuple[tuple[str, tuple[str, ...]], ...]
    meanings: Mapping[str, str]

    def as_json(self) -> dict[str, object]:
        """`{policy_version, roles, permissions: {permission: {role: {allow, deny, lines}}}, persons, conditions,
        scopes}`; a role that may not do it is absent."""
        return {
            "policy_version": self.version,
            "roles": list(self.columns),
            "permissions": {
                row.permission: {
                    role: {
                        "allow": list(cell.allowed),
                        "deny": list(cell.denied),
                        "lines": list(cell.places),
                    }
                    for role, cell in zip(self.columns, row.grants, strict=True)
                    if cell
                }
                for section in self.sections
                for row in section.rows
            },
            "persons": {
                person: {permission: found.words for permission, found in spoken.items()}
                for person, spoken in self.persons.items()
            },
            "conditions": dict(self.conditions),
            "scopes": {scope: list(permissions) for scope, permissions in self.scopes},
        }


def matrix(policy: Policy, roles: Sequence[str] = (), resources: Sequence[str] = ()) -> Matrix:
    """The table for `roles` and `resources`, by default for all, with the persons for whom there are lines of their own
    unless roles are chosen. Raises KeyError for a resource that is none."""
    grants = Grants(policy)
    columns = tuple(roles) or policy.roles.names
    shown = [policy.vocabulary.resources[name] for name in dict.fromkeys(resources or policy.vocabulary.resources)]
    shown_permissions = frozenset().union(*(resource.permissions for resource in shown))
    sections = []
    used: dict[str, None] = {}
    # Collections first: the rest are single questions, such as who may log in.
    for resource in sorted(shown, key=lambda found: (not found.columns, found.name)):
        rows = []
        for permission in sorted(resource.permissions, key=_order):
            cells = tuple(grants.of(column, permission) for column in columns)
            rows.append(MatrixRow(permission, cells))
            for cell in cells:
                used.update(dict.fromkeys((*cell.allowed, *cell.denied)))
        sections.append(Section(resource.name, tuple(rows)))
    persons = {
        person: {permission: grants.of(person, permission) for permission in sorted(concerning)}
        for person in (() if roles else grants.persons)
        if (concerning := grants.concerning(person) & shown_permissions) or not resources
    }
    conditions = tuple((name, policy.meaning(name)) for name in used if name in policy.conditions)
    scopes: dict[str, list[str]] = {}
    for line in policy.scopes:
        if policy.patterns.covered(line.act) & shown_permissions:
            scopes.setdefault(line.scope, []).append(line.act)
    listed = tuple((scope, tuple(permissions)) for scope, permissions in sorted(scopes.items()))
    meanings = {name: condition.source for name, condition in policy.conditions.items()}
    meanings |= {word: policy.meaning(word) for word in {rule.when for rule in policy.rules}}
    return Matrix(policy.version, columns, tuple(sections), persons, conditions, listed, meanings)


# A policy is a snapshot: its table goes with it, as soon as another one is in force.
_kept: WeakKeyDictionary[Policy, Matrix] = WeakKeyDictionary()


def table_of(policy: Policy) -> Matrix:
    """The table of all roles and resources, without persons: made once, and kept for as long as the policy is."""
    known = _kept.get(policy)
    if known is None:
        known = _kept[policy] = matrix(policy, policy.roles.names)
    return known


def of_person(policy: Policy, role: str, person: str, permissions: Iterable[str]) -> dict[str, Grant]:
    """Returns the grants of a user (`user:<id>`) with this role, by the rules of the role and those of the user.

    It is a column of the table with `permissions` as rows. Permissions without a grant are left out.
    """
    grants = Grants(policy)
    found = ((permission, grants.of_person(role, person, permission)) for permission in permissions)
    return {permission: given for permission, given in found if given}


def as_text(table: Matrix) -> str:
    """Returns the table for a terminal: `●` is always, a word is a condition, `·` is never."""
    permissions = [row.permission for section in table.sections for row in section.rows]
    first = max(map(len, permissions), default=0)
    widths = [
        max(len(column), *(len(line) for section in table.sections for row in section.rows
                           for line in _stacked(row.grants[index])))
        for index, column in enumerate(table.columns)
    ]
    lines = [_joined("", table.columns, first, widths)]
    for section in table.sections:
        lines.append("")
        for row in section.rows:
            stacks = [_stacked(cell) for cell in row.grants]
            for depth in range(max(map(len, stacks))):
                words = [stack[depth] if depth < len(stack) else "" for stack in stacks]
                lines.append(_joined(row.permission if depth == 0 else "", words, first, widths))
    for person, spoken in table.persons.items():
        lines += ["", f"{person}, in addition to the role"]
        lines += [f"{permission.ljust(first)}  {found.words}" for permission, found in spoken.items()]
    lines += ["", "● always   · never"]
    longest = max((len(name) for name, _ in table.conditions), default=0)
    lines += [f"{name.ljust(longest)}  {source}" for name, source in table.conditions if name != "always"]
    return "\n".join(lines)


def _stacked(cell: Grant) -> list[str]:
    """The words of a cell, one below the other."""
    if cell is NO_GRANT or not cell:
        return ["·"]
    if cell.always:
        return ["●"]
    allowed = ["●" if part.expression is True else part.word for part in cell.allows]
    return list(dict.fromkeys([*allowed, *(f"not {part.word}" for part in cell.denies)]))


def _joined(head: str, words: Sequence[str], first: int, widths: Sequence[int]) -> str:
    cells = (word.ljust(width) for word, width in zip(words, widths, strict=True))
    return "  ".join([head.ljust(first), *cells]).rstrip()


def _order(permission: str) -> tuple[int, int, str]:
    action = permission.partition(".")[2]
    if action in _FIRST:
        return 0, _FIRST.index(action), action
    return (2, _LAST.index(action), action) if action in _LAST else (1, 0, action)
