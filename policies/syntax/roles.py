"""Roles: which there are, and which inherits which.

A role is declared by standing on the left of a `g` line of roles.csv; `guest`, which inherits nothing, always is one.
The `g` lines of all files together are a graph without cycles. Apart from it, a `g` line with a group of an identity
provider on the left says which role a login gives to the group's members.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Container, Iterable, Mapping
from dataclasses import dataclass

from ..wording.finding import Finding, single_person
from ..wording.suggestions import did_you_mean, hint
from .text import decoded, meaningful

ROLES_FILE = "roles.csv"
GUEST = "guest"  # the role of callers without credentials
# What new users are, and who can undo every mistake: the service itself names both.
USER, ADMIN = "user", "admin"
OWNER = "owner"  # the shipped role below admin that looks after users; a policy may do without
ROLE = re.compile(r"[a-z][a-z0-9_-]{0,31}")
LONGEST_ROLE = 32  # characters
GROUP_PREFIX = "oidc:"  # of the groups that identity providers grant: oidc:<provider>/<group>
# Letters that mean something to Casbin's reader of lines are left out.
GROUP = re.compile(r"oidc:[a-z][a-z0-9_]*/(?=\S)[\w./:@&+ -]+(?<=\S)", re.ASCII)
LONGEST_GROUP = 64  # characters, of a group of a user
MOST_ROLES = 100
# Casbin gives up silently on a chain of ten links.
LONGEST_CHAIN = 9


@dataclass(frozen=True, slots=True)
class RoleLink:
    """One line `g, name, inherits`."""

    file: str
    line: int
    name: str
    inherits: str


@dataclass(frozen=True, slots=True)
class RoleOfGroup:
    """One line `g, oidc:<provider>/<group>, role`: the role that members of the group get at their login."""

    file: str
    line: int
    group: str
    role: str

    def __str__(self) -> str:
        """`g, oidc:keycloak/editors, editor`."""
        return f"g, {self.group}, {self.role}"

    @property
    def place(self) -> str:
        """`roles.csv:14`."""
        return f"{self.file}:{self.line}"

    def as_json(self) -> dict[str, str | int]:
        """Returns the line as plain data."""
        return {"file": self.file, "line": self.line, "group": self.group, "role": self.role}


def declared(files: Mapping[str, bytes]) -> tuple[str, ...]:
    """The roles that roles.csv declares: guest, then in the order of the file. What is wrong with a line is told by
    those who read it.

    Where the file declares nothing, or is not there, these are the names that rules use: one finding about the file is
    enough.
    """
    names = _named(columns[0] for kind, *columns in _lines(ROLES_FILE, files.get(ROLES_FILE, b""))
                   if kind == "g" and columns)
    if len(names) > 1:
        return names
    used = (line for name, content in files.items() if name.endswith(".csv") for line in _lines(name, content))
    return _named(columns[0] for kind, *columns in used if kind == "p" and columns)


def named_groups(files: Mapping[str, bytes]) -> tuple[str, ...]:
    """Returns the groups of identity providers to which lines give roles, also in files with other mistakes."""
    lines = (line for name, content in files.items() if name.endswith(".csv") for line in _lines(name, content))
    return tuple(dict.fromkeys(columns[0] for kind, *columns in lines
                               if kind == "g" and columns and columns[0].startswith(GROUP_PREFIX)))


def _lines(file: str, content: bytes) -> Iterable[list[str]]:
    return ([column.strip() for column in line.split(",")] for _, line in meaningful(decoded(file, content, [])))


def _named(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((GUEST, *filter(ROLE.fullmatch, names))))


def undeclared(name: str, roles: Collection[str], near: str | None = None) -> str:
    """Suggests a replacement for an undeclared role: another name (`near`, if given), or the line that declares it.

    A name that no role can have gets a list of the declared roles.
    """
    near = did_you_mean(name, roles) if near is None else near
    if not ROLE.fullmatch(name):
        return near or hint("", roles)
    line = f"eclare it in {ROLES_FILE}: g, {name}, {USER if name == ADMIN else GUEST}"
    return f"{near} Or d{line}" if near else f"; d{line}"


class Roles:
    """The graph of roles and of the keys of single persons. Immutable.

    names     the roles: guest, then as roles.csv declares them, which is the order in which they are shown
    of_users  those that a user can have: all but guest, which is the role of callers without credentials
    groups    the roles of groups of identity providers, in the order of the file. Decisions do not read them
    """

    def __init__(self, links: Iterable[RoleLink], groups: Iterable[RoleOfGroup] = ()) -> None:
        self.links, self.groups = tuple(links), tuple(groups)
        self.names = _named(link.name for link in self.links if link.file == ROLES_FILE)
        self.of_users = tuple(name for name in self.names if name != GUEST)
        self._declared = frozenset(self.names)
        self.parents: Mapping[str, tuple[RoleLink, ...]] = {}
        parents: dict[str, list[RoleLink]] = {}
        for link in self.links:
            parents.setdefault(link.name, []).append(link)
        self.parents = {name: tuple(inherited) for name, inherited in parents.items()}
        self._closures: dict[str, frozenset[str]] = {}

    def __contains__(self, name: object) -> bool:
        """True if `name` is a role."""
        return name in self._declared

    def is_lost(self, role: str, key: str | None) -> bool:
        """True if no line can give anything to a caller with this role and key; a key of None stands for anybody.

        That is a role that roles.csv does not declare, or `guest` of a caller with credentials: what lines say of
        guests is proved for callers who have no id, no groups and no shares.
        """
        return role not in self._declared or (role == GUEST and key not in (None, GUEST))

    def shared_as(self, role: str, key: str | None) -> frozenset[str]:
        """Roles by which a share can name a caller: also those that a line lends, but never `guest`.

        Every role inherits guest, so that a share with it would reach callers without credentials, who have no shares.
        """
        lent = frozenset[str]() if key is None else self.closure(key) - {key}
        return (self.closure(role) | lent) - {GUEST}

    def of_groups(self, names: Container[str]) -> RoleOfGroup | None:
        """Returns the line that gives the members of these groups their role; None if no line names one of them.

        Of several, it is one whose role no other one inherits; of those, the first in the file.
        """
        lines = [one for one in self.groups if one.group in names]
        inherited = {name for one in lines for name in self.closure(one.role) - {one.role}}
        return next((one for one in lines if one.role not in inherited), None)

    def given_by(self, groups: Container[str], role: str) -> RoleOfGroup | None:
        """Returns the first line that gives this role to one of these groups."""
        return next((one for one in self.groups if one.role == role and one.group in groups), None)

    def closure(self, name: str) -> frozenset[str]:
        """The name itself and everything that it inherits."""
        cached = self._closures.get(name)
        if cached is not None:
            return cached
        # A name without a link is not kept: there are as many as there are callers.
        if name not in self.parents:
            return frozenset((name,))
        closure = self._closures[name] = self._collected(name, None)
        return closure

    def closure_without(self, link: RoleLink) -> frozenset[str]:
        """Returns the name of a link, and what the name would inherit without the link."""
        return self._collected(link.name, link)

    def _collected(self, name: str, without: RoleLink | None) -> frozenset[str]:
        reached, waiting = {name}, [name]
        while waiting:
            for link in self.parents.get(waiting.pop(), ()):
                if link is not without and link.inherits not in reached:
                    reached.add(link.inherits)
                    waiting.append(link.inherits)
        return frozenset(reached)

    def chain(self, name: str, ancestor: str, without: Container[RoleLink] = ()) -> tuple[RoleLink, ...] | None:
        """The shortest way from `name` up to `ancestor`, `without` some links: empty when they are the same, None
        without a way."""
        ways: dict[str, tuple[RoleLink, ...]] = {name: ()}
        waiting = [name]
        for current in waiting:
            for link in self.parents.get(current, ()):
                if link.inherits not in ways and link not in without:
                    ways[link.inherits] = (*ways[current], link)
                    waiting.append(link.inherits)
        return ways.get(ancestor)

    def check(self) -> list[Finding]:
        """Cycles, chains longer than Casbin follows, too many roles, and roles that there must be."""
        findings = [Finding(ROLES_FILE, 0, f"the role {name} is missing; write g, {name}, {inherits}")
                    for name, inherits in ((USER, GUEST), (ADMIN, USER)) if name not in self]
        if len(self.names) > MOST_ROLES:
            findings.append(Finding(ROLES_FILE, 0, f"there are {len(self.names)} roles, and at most {MOST_ROLES} can "
                                                   "be; what makes many is people: use departments and groups"))
        longest: dict[str, int] = {}
        for start in self.parents:
            findings += self._visit(start, longest, [])
        for name, length in longest.items():
            if length > LONGEST_CHAIN:
                link = self.parents[name][0]
                message = f"{name} inherits over {length} links; Casbin follows {LONGEST_CHAIN}"
                findings.append(Finding(link.file, link.line, message, person=single_person(name)))
        return findings

    def _visit(self, start: str, longest: dict[str, int], findings: list[Finding]) -> list[Finding]:
        """Depth first, with a stack of our own: a chain of thousands of roles must not overflow Python's."""
        path: list[str] = []
        stack: list[tuple[str, int]] = [(start, 0)]
        while stack:
            name, position = stack.pop()
            if position == 0:
                if name in longest:
                    continue
                path.append(name)
            links = self.parents.get(name, ())
            if position < len(links):
                stack.append((name, position + 1))
                link = links[position]
                if link.inherits in path:
                    findings += self._circle(path[path.index(link.inherits):])
                elif link.inherits not in longest:
                    stack.append((link.inherits, 0))
            else:
                path.pop()
                longest[name] = max((longest.get(link.inherits, 0) + 1 for link in links), default=0)
        return findings

    def _circle(self, names: list[str]) -> list[Finding]:
        """A finding at each line of a circle: any of them may be the one that is wrong."""
        circle = " → ".join([*names, names[0]])
        following = zip(names, [*names[1:], names[0]], strict=True)
        return [Finding(link.file, link.line, f"the roles inherit in a circle: {circle}")
                for name, inherits in following for link in self.parents[name] if link.inherits == inherits]
