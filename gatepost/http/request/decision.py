"""Facts by which the policy decides a request, as the audit log stores them: exactly the values that its rules read.

Columns of the audit event (principal, role, tenant) are not repeated. docs/policy/facts.md documents the form. A fact
that cannot be recorded never fails the request: it is omitted, and named under `unknown`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

import orjson

from models.engine.errors import RowError
from policies.syntax.attributes import Reads

from .call import Call

log = logging.getLogger("gatepost")

MOST = 2000  # characters of one row's facts
LONGEST_VALUE = 40  # characters of one value, if all facts together are too long
MOST_GROUPS = 100  # of the rows of one import
TOO_LONG = "too long"
ABSENT = "absent"  # in place of the object: no object has that id
ANY = "any"  # in place of the object: the decision was about any object

Facts = dict[str, Any]
Row = Mapping[str, Any]


def needed_permissions(call: Call) -> tuple[str, ...]:
    """Returns the permissions that a call needs, in this order: the view of an object in the path comes first."""
    endpoint = call.endpoint
    needed = _needed(endpoint.permission, "id" in call.path and endpoint.load is not None)
    return (*needed, *call.write.setting.recorded(call.access.policy)) if call.write.setting.fields else needed


@cache
def _needed(permission: str | None, named: bool) -> tuple[str, ...]:
    if permission is None:
        return ()
    resource, _, verb = permission.partition(".")
    return (f"{resource}.view", permission) if named and verb != "view" else (permission,)


def decided(call: Call) -> Facts | None:
    """Returns the facts of a decision about the current row of a call; None if the policy does not decide it."""
    return _about(call, None if call.row is None else call.facts) if needed_permissions(call) else None


def decided_again(call: Call, facts: Facts) -> Facts:
    """Adds to the facts the values of the changed row, on which the policy decides again."""
    reads, row, old = call.access.policy.looks_at(facts["asked"]), call.facts, facts["obj"]
    new = _values(call, facts, "obj", reads.obj, row.__getitem__)
    facts["new"] = {name: value for name, value in new.items() if name not in old or value != old[name]}
    if reads.group_columns:
        facts["sub"]["groups"] |= _groups(call, (), reads.group_columns, row)
    return facts


def hidden(call: Call) -> Facts:
    """Returns the facts of a 404: the object does not exist, or the caller may not view it."""
    row = call.write.hidden
    if row is None or row.get("id") != call.path.get("id"):
        return _of_caller_alone(call) | {"obj": ABSENT}
    return _about(call, row)


def of_refusal(call: Call) -> Facts | None:
    """Returns the facts of the decision that refused a call; None if the policy did not decide."""
    if not needed_permissions(call) or getattr(call, "access", None) is None:
        return None
    if call.write.decision is not None:
        return call.write.decision
    facts = _of_caller_alone(call)
    if call.endpoint.narrows:
        facts["obj"] = ANY
    elif call.endpoint.load is None:
        facts["obj"] = None
    # Otherwise the refusal came before the object was loaded.
    return facts


class Grouped:
    """Decisions about the rows of one import, in at most `MOST_GROUPS` groups of equal facts; counts all others."""

    def __init__(self) -> None:
        self._groups: dict[str, int] = {}
        self._uncounted = 0

    def add(self, call: Call, permissions: tuple[str, ...], before: Row | None) -> None:
        """Counts the row of a call that needed these permissions; `before`: the row before a change."""
        reads = call.access.policy.looks_at(permissions)
        group: Facts = {"asked": permissions}
        new = group["obj"] = _columns(call, group, reads.obj)
        if before is not None:
            old = group["obj"] = _values(call, group, "obj", reads.obj, before.__getitem__)
            group["new"] = {name: value for name, value in new.items() if name not in old or value != old[name]}
        if reads.shares:
            _add_shares(call, group, permissions, {} if before is None else before)
        key = _json(call, group)
        if key in self._groups or len(self._groups) < MOST_GROUPS:
            self._groups[key] = self._groups.get(key, 0) + 1
        else:
            self._uncounted += 1

    def copy(self) -> Grouped:
        """Returns an independent copy."""
        copy = Grouped()
        copy._groups, copy._uncounted = dict(self._groups), self._uncounted
        return copy

    def written(self, call: Call) -> str | None:
        """Returns the groups as JSON, the largest first, as many as fit; None if there is none."""
        if not self._groups:
            return None
        resource = (call.endpoint.permission or "").partition(".")[0]
        reads = call.access.policy.looks_at((f"{resource}.create", f"{resource}.update", f"{resource}.import"))
        of_caller = _of_caller(call, (), reads, None)
        del of_caller["asked"]
        head, uncounted = _json(call, of_caller)[:-1], self._uncounted
        texts: list[str] = []
        room = MOST - len(head) - len(',"groups":[],"rest":123456789}')
        for key, count in sorted(self._groups.items(), key=lambda group: -group[1]):
            text = f'{{"count":{count},{key[1:]}'
            if (room := room - len(text) - 1) >= 0:
                texts.append(text)
            else:
                uncounted += count
        comma = "" if head == "{" else ","
        return f'{head}{comma}"groups":[{",".join(texts)}],"rest":{uncounted}}}'


def recorded(call: Call, facts: Facts | None, resource: str, action: str, id: str | None) -> str | None:
    """Returns facts as they are stored in the audit event of `action` on the object `id`."""
    if facts is None:
        return None
    if facts["asked"] == by_default(resource, action, id is not None):
        del facts["asked"]
    actor = call.write.acted_as
    if actor is not None and (actor.key, actor.role) != (call.principal.key, call.principal.role):
        # A guest sends the login; the audit event names the user.
        facts.setdefault("sub", {}).update(key=call.principal.key, role=call.principal.role)
    return _as_json(call, facts)


@cache
def by_default(resource: str, action: str, named: bool) -> tuple[str, ...]:
    """Returns the permissions of an audit event whose facts do not have them; `named`: the event has an object."""
    permission = f"{resource}.{action}"
    return (permission,) if not named or action in ("create", "view") else (f"{resource}.view", permission)


def _as_json(call: Call, facts: Facts) -> str:
    """Returns facts as JSON of at most `MOST` characters. If they are longer, a mark replaces the long values."""
    text = _json(call, facts)
    if len(text) > MOST:
        text = _json(call, {name: _short(value) for name, value in facts.items()})
    return text if len(text) <= MOST else orjson.dumps(dict.fromkeys(facts, TOO_LONG)).decode()


def _json(call: Call, facts: Facts) -> str:
    try:
        return orjson.dumps(facts, default=str).decode()
    except TypeError:  # text that is not UTF-8, a number beyond 64 bit
        readable: Facts = {"unknown": [*facts.get("unknown", ())]}
        names = [name for name in facts if name != "unknown"]
        readable |= _values(call, readable, "", names,
                            lambda name: orjson.loads(orjson.dumps(facts[name], default=str)))
        return orjson.dumps(readable).decode()


def _short(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _short(inner) for name, inner in value.items()}
    return TOO_LONG if isinstance(value, str) and len(value) > LONGEST_VALUE else value


def _about(call: Call, row: Row | None) -> Facts:
    permissions = needed_permissions(call)
    reads = call.access.policy.looks_at(permissions)
    facts = _of_caller(call, permissions, reads, row)
    if row is None:
        facts["obj"] = None
    elif call.write.unknown:
        facts["obj"] = _columns(call, facts, reads.obj)
    else:
        facts["obj"] = _values(call, facts, "obj", reads.obj, row.__getitem__)
    if reads.shares and row is not None:
        _add_shares(call, facts, permissions, row if "id" in call.path else {})
    return facts


def _columns(call: Call, facts: Facts, names: Iterable[str]) -> dict[str, Any]:
    """Returns the columns of the row of a call. Names in `facts` the columns of a new row that are not known yet."""
    unknown = call.write.unknown.intersection(names)
    if unknown:
        facts.setdefault("unknown", []).extend(f"obj.{name}" for name in sorted(unknown))
    return _values(call, facts, "obj", [name for name in names if name not in unknown], call.facts.__getitem__)


def _of_caller_alone(call: Call) -> Facts:
    permissions = needed_permissions(call)
    return _of_caller(call, permissions, call.access.policy.looks_at(permissions), None)


def _of_caller(call: Call, permissions: tuple[str, ...], reads: Reads, row: Row | None) -> Facts:
    """Returns the permissions, the caller's attributes and scopes, and the environment, as facts.

    Only attributes that rules read, and groups that rules or the row name.
    """
    principal, facts = call.principal, Facts(asked=permissions)
    if reads.plain and principal.kind != "service" and principal.scopes is None:
        return facts
    sub: Facts = {} if principal.kind != "service" else {"kind": "service"}
    if "department" in reads.sub:
        sub["department"] = principal.department
    for name in reads.login:
        sub[name] = principal.login[name]
    if reads.groups or reads.group_columns:
        sub["groups"] = _groups(call, reads.groups, reads.group_columns, row)
    if sub:
        facts["sub"] = sub
    if reads.env:
        environment = call.access.environment
        facts["env"] = _values(call, facts, "env", reads.env, lambda name: getattr(environment, name))
    if principal.scopes is not None:
        facts["scopes"] = sorted(principal.scopes)
    return facts


def _groups(call: Call, names: tuple[str, ...], columns: tuple[tuple[str, str], ...], row: Row | None
            ) -> dict[str, bool]:
    """Returns group → whether the caller is a member, for these groups and those in the columns of the row."""
    of_row = () if row is None else (f"{prefix}{row[name]}" for prefix, name in columns if row.get(name) is not None)
    return {name: name in call.principal.groups for name in (*names, *of_row)}


def _add_shares(call: Call, facts: Facts, permissions: tuple[str, ...], row: Row) -> None:
    """Adds the rights that shares grant the caller on a row. A row that is not stored yet has no shares."""
    resource, id = permissions[-1].partition(".")[0], row.get("id")
    facts |= _values(call, facts, "", ("shares",), lambda _: [] if id is None else call.access.rights(resource, id))


def _values(call: Call, facts: Facts, root: str, names: Iterable[str], read: Callable[[str], Any]) -> dict[str, Any]:
    """Returns the values of attributes by name. Names in `facts` those that cannot be determined, as `unknown`.

    Raises `RowError` if the database has ended the transaction: the write fails anyway, and may be retried.
    """
    values = {}
    for name in names:
        try:
            values[name] = read(name)
        except Exception as error:
            if isinstance(error, RowError) and call.endpoint.writes:
                raise
            facts.setdefault("unknown", []).append(f"{root}.{name}" if root else name)
            log.warning("a fact of a decision is unknown: %s", facts["unknown"][-1], exc_info=True)
            if call.services.metrics is not None:
                call.services.metrics.unknown_facts.inc()
    return values
