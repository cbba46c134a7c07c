"""Past decisions, read from audit events: caller, permission, object, and the facts that decided.

Reading a fact that was not recorded raises `Unrecorded`. docs/policy/facts.md describes the form.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, cast

from ..evaluation.compiled import NO_OBJECT, Row
from ..evaluation.principal import Environment, Principal
from ..evaluation.rights import is_read, rights_to
from ..syntax.addresses import normalized
from ..syntax.attributes import ENVIRONMENT, SUBJECT
from ..syntax.roles import GUEST
from ..syntax.vocabulary import Column, Vocabulary

ALLOWED, REFUSED, HIDDEN, UNKNOWN = "allowed", "refused", "hidden", "unknown"
NOTHING = "no facts"  # what is missing where a row has none
_TOO_LONG, _ABSENT, _ANY = "too long", "absent", "any"
_ANYBODY = "*"  # in a row that stands for refusals of several
_MERGED = "more of the same minute"
_REASONS = {"not_found": HIDDEN, "forbidden": REFUSED, "unauthenticated": REFUSED, "insufficient_scope": REFUSED,
            "insufficient_user_authentication": REFUSED}
_JUDGED = ("sub", "env", "obj", "new", "shares", "scopes", "asked")  # keys of facts by which a policy decided


@dataclass(frozen=True, slots=True)
class Entry:
    """The columns of an audit row that say what was decided; `facts` is what its JSON says."""

    id: str
    time: str
    tenant_id: str
    principal: str
    role: str
    action: str
    resource: str
    resource_id: str | None
    result: str
    reason: str | None
    count: int
    facts: Any


COLUMNS = tuple(field.name for field in fields(Entry))


class Unrecorded(Exception):
    """Something is read that was not recorded; its text names it as a condition does: `r.obj.status`."""


class _Attributes:
    """Attributes that were recorded, by name."""

    def __init__(self, root: str, values: Mapping[str, Any]) -> None:
        self.__dict__.update(values, _root=root)

    def __getattr__(self, name: str) -> Any:
        raise Unrecorded(f"r.{self._root}.{name}")


class _Columns(dict[str, Any]):
    """Columns of an object that were recorded."""

    def __missing__(self, column: str) -> Any:
        raise Unrecorded(f"r.obj.{column}")


class _Login(dict[str, Any]):
    """Attributes of the caller that features declare, as recorded."""

    def __missing__(self, name: str) -> Any:
        raise Unrecorded(f"r.sub.{name}")


class _Groups(dict[str, bool]):
    """The recorded groups: name of each group that was checked → true if the caller was in it."""

    def __contains__(self, name: object) -> bool:
        member = self.get(cast(str, name))
        if member is None:
            raise Unrecorded(f"inGroup(r.sub, '{name}')")
        return member

    def __len__(self) -> int:
        raise Unrecorded("r.sub.groups")


@dataclass(frozen=True, slots=True)
class Recorded:
    """One past decision, which was made `count` times.

    who          the key of the caller: `user:<id>`, `guest`
    asked        the permissions in the order in which they were checked
    answered     allowed, refused or hidden (404); None: unknown
    steps        each permission with its object: before the change, then after it
    caller       attributes of r.sub; `environment` those of r.env
    groups       group → true if the caller was in it
    shares       the rights that shares gave the caller; None: unknown
    facts        whether any were recorded
    found        whether there was an object of that id
    of_any       the question was whether there is any object on which it is allowed
    """

    entry: Entry
    count: int
    who: str
    asked: tuple[str, ...]
    answered: str | None
    steps: tuple[tuple[str, Row], ...]
    caller: Principal
    environment: Environment
    groups: Mapping[str, bool]
    shares: frozenset[str] | None
    facts: bool = True
    found: bool = True
    of_any: bool = False
    fallbacks: Mapping[str, str] = field(default_factory=dict)

    @property
    def permission(self) -> str:
        """The permission of the endpoint, which is checked last."""
        return self.asked[-1]

    def shared(self, principal: Principal, row: Row, permission: str) -> bool:
        """The `SharedWith` of then. Raises Unrecorded."""
        rights = rights_to(permission, self.fallbacks)
        if not rights:
            return False
        if self.shares is None:
            raise Unrecorded("shared(r.sub, r.obj, r.act)")
        return not self.shares.isdisjoint(rights)


def decisions(entry: Entry, vocabulary: Vocabulary) -> Iterator[Recorded]:
    """Returns the decisions in an audit event: none or one; for an import, one for each group of rows."""
    answered = _answered(entry)
    if answered is _NO_DECISION:
        return
    facts: Any = entry.facts if isinstance(entry.facts, dict) else None
    is_decision = facts is not None and (entry.result != ALLOWED or entry.action == "import" or any(
        key in facts for key in _JUDGED))
    if not is_decision:
        if entry.principal in (_ANYBODY, GUEST) or entry.principal.startswith("user:"):
            yield from _decision_of(entry, answered, {}, entry.count, vocabulary, known=False)
        return
    groups = facts.get("groups")
    if groups is None:
        if answered == ALLOWED and facts.keys().isdisjoint(("obj", "asked")):
            facts = {**facts, "obj": _ANY}  # an import of no row
        yield from _decision_of(entry, answered, facts, entry.count, vocabulary)
        return
    counted = [group for group in groups if isinstance(group, dict) and _number(group.get("count"))] if isinstance(
        groups, list) else []
    for group in counted:
        yield from _decision_of(entry, answered, {**facts, **group}, group["count"], vocabulary)
    if rest := _number(facts.get("rest")) or (0 if counted else entry.count):
        yield from _decision_of(entry, answered, {}, rest, vocabulary, known=False)


_NO_DECISION = ""


def _answered(entry: Entry) -> str | None:
    """Returns the recorded answer; `_NO_DECISION` if the policy did not decide it."""
    if entry.result == ALLOWED:
        return _NO_DECISION if is_read(f"{entry.resource}.{entry.action}") else ALLOWED
    if entry.result != REFUSED:
        return _NO_DECISION
    reason = entry.reason or ""
    return None if reason.startswith(_MERGED) else _REASONS.get(reason.partition(",")[0].partition(" ")[0],
                                                                _NO_DECISION)


def _decision_of(entry: Entry, answered: str | None, facts: Mapping[str, Any], count: int, vocabulary: Vocabulary,
          *, known: bool = True) -> Iterator[Recorded]:
    permissions = _permissions(entry, facts)
    if not known and (_ANYBODY in (entry.resource, entry.action) or permissions[-1] in vocabulary.by_permission):
        yield Recorded(entry, count, entry.principal, permissions, answered, (), _caller(entry, {}, facts, vocabulary),
                       _environment({}), {}, None, facts=False, fallbacks=vocabulary.fallbacks)
        return
    if any(permission not in vocabulary.by_permission for permission in permissions):
        return
    sub, obj, shares = _part(facts, "sub"), facts.get("obj", _TOO_LONG), _texts(facts.get("shares"))
    columns = vocabulary.by_permission[permissions[-1]].columns
    groups = _Groups({name: held for name, held in _part(sub, "groups").items() if isinstance(held, bool)})
    caller = _caller(entry, sub, facts, vocabulary, groups)
    before = NO_OBJECT if obj is None else _Columns(_values(_part(facts, "obj"), columns))
    steps: tuple[tuple[str, Row], ...] = tuple((permission, before) for permission in permissions)
    if "new" in facts:
        changed, new = facts["new"], _part(facts, "new")
        after = _Columns() if changed == _TOO_LONG else _Columns({
            **{name: value for name, value in before.items() if name not in new}, **_values(new, columns)})
        steps += tuple((permission, after) for permission in permissions if not permission.endswith(".view"))
    yield Recorded(entry, count, str(caller.key), permissions, answered, steps, caller,
                   _environment(_part(facts, "env")), groups, None if shares is None else frozenset(shares),
                   found=obj != _ABSENT, of_any=obj == _ANY, fallbacks=vocabulary.fallbacks)


def _permissions(entry: Entry, facts: Mapping[str, Any]) -> tuple[str, ...]:
    if recorded := _texts(facts.get("asked")):
        return recorded
    permission, view = f"{entry.resource}.{entry.action}", f"{entry.resource}.view"
    return (permission,) if entry.resource_id is None or entry.action in ("create", "view") else (view, permission)


def _caller(entry: Entry, sub: Mapping[str, Any], facts: Mapping[str, Any], vocabulary: Vocabulary,
            groups: Mapping[str, bool] | None = None) -> Principal:
    """The caller, by the columns of the row but for what the facts say otherwise."""
    key, role = (str(value) for value in (sub.get("key", entry.principal), sub.get("role", entry.role)))
    values: dict[str, Any] = {
        "id": key.removeprefix("user:") if key.startswith("user:") else None, "key": key, "role": role,
        "kind": GUEST if key == GUEST else "user", **_values(sub, SUBJECT), "groups": groups,
        "login": _Login(_values(sub, vocabulary.login))}
    if key == entry.principal:
        values["tenant_id"] = entry.tenant_id
    if facts.get("scopes") is None:
        values["scopes"] = None
    elif (scopes := _texts(facts["scopes"])) is not None:
        values["scopes"] = frozenset(scopes)
    return cast(Principal, _Attributes("sub", values))


def _environment(values: Mapping[str, Any]) -> Environment:
    attributes = _values(values, ENVIRONMENT)
    if "ip" in attributes:  # older rows have it as a client or proxy wrote it
        attributes["ip"] = normalized(attributes["ip"])
    return cast(Environment, _Attributes("env", attributes))


def _part(facts: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    part = facts.get(key)
    return part if isinstance(part, dict) else {}


def _texts(value: object) -> tuple[str, ...] | None:
    return tuple(map(str, value)) if isinstance(value, list) else None


def _number(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 0


def _values(values: Mapping[str, Any], columns: Mapping[str, Column]) -> dict[str, Any]:
    """The values that are known, of the type that their column has today."""
    return {name: value for name, value in values.items() if name in columns and value != _TOO_LONG and (
        value is None or (isinstance(value, str) if columns[name].type is str else isinstance(value, int)))}
