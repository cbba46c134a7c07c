"""The words that a policy may use: resources with their permissions and columns, functions and patterns.

The registry of collections makes the vocabulary; a policy that uses any other word is refused at load.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from types import MappingProxyType
from typing import Any

from .roles import ROLE

DATE_TIME = "%Y-%m-%dT%H:%M:%S.%fZ"  # for `strptime` alone: `strftime` writes early years without their zeros
# A role, or JSON Schema's name of a format → what a text of it looks like, and how `strptime` reads one that is a time.
_FORMATS = {
    "role": (ROLE, None),
    "uuid": (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), None),
    "date": (re.compile(r"\d{4}-\d\d-\d\d", re.ASCII), "%Y-%m-%d"),
    "date-time": (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", re.ASCII), DATE_TIME),
}


def is_of(format: str, text: str) -> bool:
    """True if a text has this format, written exactly as the service writes it."""
    pattern, time = _FORMATS[format]
    if not pattern.fullmatch(text):
        return False
    try:
        return time is None or bool(datetime.strptime(text, time))
    except ValueError:
        return False


def date_time(moment: datetime) -> str:
    """A moment, which has a zone, as columns of this format hold it: UTC, of one width, in the order of time."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


@dataclass(frozen=True, slots=True)
class Column:
    """A column that a condition may name as `r.obj.<column>`.

    `format` narrows text, in the words of JSON Schema: "uuid", "date-time" or "date"; or it is "role", the name of a
    role. Only numbers and the two times have an order, and a uuid is compared with a uuid only, because Postgres would
    refuse the rest.

    values          the only ones that it takes, beside a missing one; empty: any of the type
    same_as         another column, which has the same value in each row
    null_at_create  true if it is missing while `create` is decided: the service fills it afterwards
    least, most     bounds of a number, as far as they are declared. Only the lint reads them: no row is held to them
    row_of          the resource whose rows an id names, where that is known; the lint alone reads it
    spelled         makes of a text the one that is stored for it, where several mean one thing; the lint alone reads it
    """

    type: type[str] | type[int] | type[bool]
    nullable: bool
    format: str | None = None
    values: tuple[str, ...] | tuple[int, ...] = ()
    same_as: str | None = None
    null_at_create: bool = False
    least: int | None = field(default=None, compare=False)
    most: int | None = field(default=None, compare=False)
    row_of: str | None = field(default=None, compare=False)
    spelled: Callable[[str], str] | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Resource:
    """One kind of object, such as `article`, with its permissions such as `article.view`.

    `collection` is the name that scopes have: `articles`. `methods` are those of the endpoints that ask for a
    permission, where nothing else asks for it. `on_viewed` are the permissions of use only on what the caller may also
    view.

    `indexes` tells the columns of each of the table's indexes, in order: by what it is cheap to list. It is a
    function, because only the lint asks, and the answer takes a temporary database. `fields` are the table's own
    columns by name, of which the half of a function that is SQL is made. `defaults` are the values that a new row has
    in columns of which nothing is said. `fallbacks` maps a permission to another one of the resource, which decides it
    until a rule allows it by its own name.
    """

    name: str
    permissions: frozenset[str]
    columns: Mapping[str, Column] = field(default_factory=dict)
    indexes: Callable[[], tuple[tuple[str, ...], ...]] = field(default=tuple, compare=False)
    fields: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)
    collection: str = ""
    methods: Mapping[str, frozenset[str]] = field(default_factory=dict, compare=False)
    on_viewed: frozenset[str] = frozenset()
    defaults: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)
    fallbacks: Mapping[str, str] = field(default_factory=dict)

    def row(self, **values: Any) -> dict[str, Any]:
        """A row with these values and every other column missing. Raises KeyError for an unknown column."""
        for name in values:
            self.columns[name]
        return {name: values.get(name) for name in self.columns}

    def created(self, row: Mapping[str, Any], at: str) -> dict[str, Any]:
        """A row as it is while `create` is decided at this time, if a request says no more of it than `row` does."""
        new = {**self.defaults, "created_at": at, "updated_at": at}
        return {name: None if column.null_at_create else new.get(name) if row[name] is None and not column.nullable
                else row[name] for name, column in self.columns.items()}

    def unset(self, permission: str) -> frozenset[str]:
        """The columns that are missing in each row that this permission is asked about: those of a new row."""
        return self._null_at_create if permission == f"{self.name}.create" else frozenset()

    def may_lack(self, permission: str) -> frozenset[str]:
        """The columns that are never missing in a stored row, and may be in one that this permission is asked about: of
        a new row it is also asked whether the caller may manage it, and import it."""
        creates = permission in (f"{self.name}.manage", f"{self.name}.import")
        return self._null_at_create if creates else self.unset(permission)

    @cached_property
    def _null_at_create(self) -> frozenset[str]:
        return frozenset(name for name, column in self.columns.items() if column.null_at_create)


@dataclass(frozen=True, slots=True)
class Function:
    """A condition that rules can ask, which the matcher calls as `near(r.sub, r.obj, r.env, 'sea')`.

    It has a half for one object and a half for a table, which agree. Both are called with what the function reads, in
    that order, and then with the literals; what is read and missing is None to the one, and NULL to the other. The
    answer depends on nothing else: it is remembered.

    name      as the matcher calls it: letters and digits, a small letter first
    reads     what it looks at: `("obj", "region")`, `("sub", "department")`, `("env", "now")`
    literals  the types of what follows r.sub, r.obj and r.env: `(str,)` for `near(r.sub, r.obj, r.env, 'sea')`
    holds     True or False, of values
    where     the same of the columns and of parameters, as an expression of peewee; None where no column is read
    words     words that lines of the plugin ask it by, each with its literals: which branch a model.conf wants
    """

    name: str
    reads: tuple[tuple[str, str], ...]
    literals: tuple[type[str] | type[int], ...]
    holds: Callable[..., bool]
    where: Callable[..., Any] | None = None
    words: Mapping[str, tuple[str | int, ...]] = field(default_factory=dict, compare=False)

    @property
    def place(self) -> str:
        """`file:line` of its half for one object; of one that is no function of Python, the name alone."""
        code = getattr(inspect.unwrap(self.holds), "__code__", None)
        return self.name if code is None else f"{code.co_filename}:{code.co_firstlineno}"


@dataclass(frozen=True, slots=True)
class Condition:
    """A word of the condition column that lines of a plugin use, where the matcher itself can say what it means.

    word     as lines say it: small letters, digits and _
    matcher  its branch as model.conf has it, without the word: `r.obj.lender_id == r.sub.id`
    """

    word: str
    matcher: str


@dataclass(frozen=True)
class Vocabulary:
    """All resources and functions by name, and the conditions that plugins declare, by word.

    gone      permission → why it is no word any more, as a clause: a line about it has no effect
    left_out  the resources of such permissions that the operator left out, with these permissions alone: lines about
              them are no findings, and conditions may be written for their columns
    shares    whether shares count: a line that denies by them would deny nothing otherwise
    login     name → attribute of the caller that a feature declares: `r.sub.mfa`. It is missing for a caller without a
              login, which is a guest or a program with a token, and has a value for others
    """

    resources: Mapping[str, Resource]
    functions: Mapping[str, Function] = field(default_factory=dict)
    gone: Mapping[str, str] = field(default_factory=dict)
    left_out: Mapping[str, Resource] = field(default_factory=dict)
    conditions: Mapping[str, Condition] = field(default_factory=dict)
    shares: bool = True
    login: Mapping[str, Column] = field(default_factory=dict)

    @cached_property
    def fallbacks(self) -> Mapping[str, str]:
        """The fallbacks of all resources."""
        return {permission: fallback for resource in self.resources.values()
                for permission, fallback in resource.fallbacks.items()}

    @cached_property
    def by_permission(self) -> Mapping[str, Resource]:
        """The resource that each permission belongs to."""
        return {
            permission: resource for resource in self.resources.values() for permission in sorted(resource.permissions)
        }

    @cached_property
    def described(self) -> tuple[Resource, ...]:
        """The resources that conditions may be written for: also those that are left out."""
        return (*self.resources.values(), *self.left_out.values())


class Patterns:
    """Patterns of the permission column and the permissions that each covers: `article.*`, `*.view`, `*`.

    Patterns consist of letters, digits, `_`, `.` and `*`. For these, the answer is that of Casbin's globMatch; a test
    compares both. Each pattern is expanded once, because globMatch compiles its pattern on every call.

    A pattern that covers the fallback of a permission covers the permission, too.
    """

    def __init__(self, vocabulary: Vocabulary, fallbacks: Mapping[str, str] = MappingProxyType({})) -> None:
        """`fallbacks` are those that are in force."""
        self.permissions = frozenset(vocabulary.by_permission)
        self._fallbacks = fallbacks
        self._vocabulary = vocabulary
        self._left_out = frozenset(one for resource in vocabulary.left_out.values() for one in resource.permissions)
        # Resource without any permission left → the reason.
        self._gone = {resource: why for permission, why in vocabulary.gone.items()
                      if (resource := permission.partition(".")[0]) not in vocabulary.resources}
        self._covered: dict[str, frozenset[str]] = {}

    def covered(self, pattern: str) -> frozenset[str]:
        """The permissions that a pattern covers; none when it is misspelt."""
        permissions = self._covered.get(pattern)
        if permissions is None:
            permissions = self.matching(pattern)
            permissions |= {one for one, fallback in self._fallbacks.items() if fallback in permissions}
            self._covered[pattern] = permissions
        return permissions

    def matching(self, pattern: str) -> frozenset[str]:
        """The permissions that the text of a pattern matches, without those that only a fallback adds."""
        return _matching(pattern, self.permissions)

    def standing_for(self, pattern: str, permission: str) -> str:
        """The pattern; or the permission, where only a fallback lets the pattern cover it.

        So a line about a fallback has the effect of the same line about the permission.
        """
        fallback = self._fallbacks.get(permission)
        if fallback is None or fallback not in self.covered(pattern) or permission in self.matching(pattern):
            return pattern
        return permission

    def gone(self, pattern: str) -> str | None:
        """Why a pattern covers no permission, where it covered one that was taken out."""
        if self.covered(pattern):
            return None
        matching = self._matching_gone(pattern)
        return self._gone.get(pattern.partition(".")[0]) or (self._vocabulary.gone[matching[0]] if matching else None)

    def left_out(self, pattern: str) -> bool:
        """True if a pattern covers nothing but permissions that the operator left out."""
        if self.covered(pattern):
            return False
        if (resource := pattern.partition(".")[0]) in self._gone:
            return resource in self._vocabulary.left_out
        matching = self._matching_gone(pattern)
        return bool(matching) and self._left_out.issuperset(matching)

    def awaits(self, pattern: str) -> bool:
        """True if a pattern covers a permission that the operator left out, also beside others."""
        return bool(_matching(pattern, self._left_out))

    def _matching_gone(self, pattern: str) -> list[str]:
        return sorted(_matching(pattern, frozenset(self._vocabulary.gone)))


def _matching(pattern: str, permissions: frozenset[str]) -> frozenset[str]:
    if "*" in pattern and not re.search(r"[^a-z0-9_.*]|\*\*", pattern):
        expression = re.compile(".*".join(map(re.escape, pattern.split("*"))))
        return frozenset(filter(expression.fullmatch, permissions))
    return frozenset((pattern,)) & permissions
