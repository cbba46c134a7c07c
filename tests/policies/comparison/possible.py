"""Detects impossible requests, by the descriptions of callers, environments and columns that proofs use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date, timedelta

from policies.comparison.candidates import EAST, WEST, is_address, parsed
from policies.evaluation.principal import OPERATOR, Environment, Principal
from policies.syntax.attributes import ENVIRONMENT, REQUESTS, SUBJECT
from policies.syntax.roles import ADMIN, GUEST
from policies.syntax.vocabulary import Column, Resource, is_of

Value = str | int | None


def impossibilities(principal: Principal, permission: str, resource: Resource, row: Mapping[str, Value] | None,
                    env: Environment, shared: bool, login: Mapping[str, Column] | None = None) -> Iterator[str]:
    """Yields the reasons why a request is impossible by the assumptions of a proof; none for a possible request.

    row  the columns passed to the policy; None without an object
    shared  True if a share gives the permission
    login  attributes of the caller that features declare
    """
    yield from _of_caller(principal, login or {})
    yield from _of_circumstances(env)
    if shared and principal.role == GUEST:
        yield "something is shared with a guest"
    if row is not None:
        yield from _of_row(principal, permission, resource, row)


def _of_caller(principal: Principal, login: Mapping[str, Column]) -> Iterator[str]:
    for name, column in login.items():
        value = principal.login[name]
        if value is not None and principal.kind != "user":
            yield f"r.sub.{name} is {value!r} for a {principal.kind}"
        yield from _of_value(f"r.sub.{name}", column, value)
        if isinstance(value, int) and column.least is not None and value < column.least:
            yield f"r.sub.{name} is {value!r}"
    for name, column in SUBJECT.items():
        yield from _of_value(f"r.sub.{name}", column, getattr(principal, name))
    if (principal.key, principal.role, principal.id) == (OPERATOR, ADMIN, None):
        return
    guest = principal.role == GUEST
    expected = (GUEST, "guest") if guest else (f"user:{principal.id}", principal.kind)
    if (principal.key, principal.kind) != expected or guest is not (principal.id is None) or (
            guest is not (principal.kind == "guest")):
        yield f"{principal.key} with the id {principal.id} and the role {principal.role} is a {principal.kind}"
    if guest and (principal.department is not None or principal.groups or principal.scopes is not None):
        yield "a guest has a department, groups or scopes"


def _of_circumstances(env: Environment) -> Iterator[str]:
    for name, column in ENVIRONMENT.items():
        yield from _of_value(f"r.env.{name}", column, getattr(env, name))
    if env.ip is not None and not is_address(env.ip):
        yield f"r.env.ip is {env.ip!r}"
    if env.request != REQUESTS[env.method]:
        yield f"{env.method} is a {env.request} request"
    day = date.fromisoformat(env.date)
    if day.isoweekday() != env.weekday:
        yield f"{env.date} is no day {env.weekday} of a week"
    now = parsed(env.now)
    shown = {(now + timedelta(minutes=minutes)).strftime("%Y-%m-%d %H")
             for minutes in range(WEST // timedelta(minutes=1), EAST // timedelta(minutes=1) + 1, 15)}
    if f"{env.date} {env.hour:02}" not in shown:
        yield f"no clock shows {env.date}, {env.hour} h at {env.now}"


def _of_row(principal: Principal, permission: str, resource: Resource, row: Mapping[str, Value]) -> Iterator[str]:
    for name, column in resource.columns.items():
        if name not in row:
            continue
        if row[name] is not None or name not in resource.may_lack(permission):
            yield from _of_value(f"r.obj.{name}", column, row[name])
        if column.same_as is not None and row.get(column.same_as) != row[name]:
            yield f"r.obj.{name} is not r.obj.{column.same_as}"
    if row.get("tenant_id", principal.tenant_id) != principal.tenant_id:
        yield "the object is of another tenant"


def _of_value(name: str, column: Column, value: Value) -> Iterator[str]:
    if value is None:
        if not column.nullable:
            yield f"{name} is missing"
    elif (type(value) is not column.type or (column.values and value not in column.values)
          or (column.format is not None and not is_of(column.format, str(value)))):
        yield f"{name} is {value!r}"
