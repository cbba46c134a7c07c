"""`gatepost policy explain`: why a person or a role may do something, or may not.

About a role it needs the policy files only; about a person or an object it asks the database.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from blueprints.commands.context import load_settings
from blueprints.commands.policy import folders
from blueprints.commands.printing import echo, echo_json
from blueprints.commands.server import AppFactory, app_for
from blueprints.http.request.access import Access
from blueprints.http.request.identity import guest, principal_of
from models.base import Rows, is_id
from models.tables.user import User
from policies import Policy, Principal
from policies.evaluation.compiled import no_shares
from policies.evaluation.principal import FixedEnvironment
from policies.questions.explain import READS, explain
from policies.questions.explanation import REFUSED, Explanation

if TYPE_CHECKING:
    from blueprints.http.request.call import Services


@dataclass(frozen=True)
class Ground:
    """The policy to explain, and the services for rows, when a person or an object is named."""

    policy: Policy
    services: Services | None


@click.command("explain")
@click.option("--as", "who", required=True, metavar="EMAIL|ROLE", help="The user or the role that asks.")
@click.option("--scope", "scopes", multiple=True, metavar="SCOPE",
              help="Ask by a token with this scope. May be repeated.")
@click.option("--at", "clock", type=click.DateTime(["%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M"]), metavar="TIME",
              help="Ask at this time, such as 2026-11-18T22:00, instead of now.")
@click.option("--ip", metavar="ADDRESS", help="Ask from this address.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for scripts.")
@click.argument("permission")
@click.argument("id", required=False)
@click.pass_obj
def explain_command(
    create_app: AppFactory, who: str, scopes: tuple[str, ...], clock: datetime | None, ip: str | None,
    as_json: bool, permission: str, id: str | None,
) -> None:
    """Explain why a user or role may do PERMISSION, or why not.

    With ID, it is about that object. The answer names the line that decided and the facts it looked at, and for a
    refusal the lines that came nearest to granting it.

    \b
    Example: gatepost policy explain --as ada@example.org article.update 0199f3a0-0000-7000-8000-000000000001
    """
    by_role = "@" not in who
    with _ground(create_app, needs_rows=not by_role or id is not None) as ground:
        policy = ground.policy
        if permission not in policy.vocabulary.by_permission:
            raise click.ClickException(f"There is no permission {permission!r}. See: gatepost policy matrix")
        principal = find_principal(ground, who)
        if scopes:
            principal = replace(principal, scopes=frozenset(scopes), kind="service")
        row = None if id is None else find_object(permission, id, principal)
        environment = _environment(permission, clock, ip)
        shared = no_shares if ground.services is None else Access(policy, principal, environment).shared

        def answer(asked: str) -> Explanation:
            return explain(policy, principal, asked, row, environment, shared, who=who, name=id)

        found = answer(permission)
        view = answer(f"{permission.partition('.')[0]}.view") if row is not None else None
    hidden = view is not None and view.verdict == REFUSED
    if as_json:
        echo_json({**found.as_json(), "hidden": hidden}, indent=2)
        return
    summary, *reasons_why = found.as_lines()
    echo(summary)
    if hidden and view is not None:
        echo(f"  hidden    {who} cannot even view it: the answer is 404, as if it were absent")
        if view.permission != permission:
            echo(f"            {view.summary}")
    for line in reasons_why:
        echo(line)


def find_principal(ground: Ground, who: str) -> Principal:
    """The person with that e-mail, or a person with that role and no other attributes.

    Raises ClickException when there is neither.
    """
    roles = ground.policy.vocabulary.roles
    if who in roles:
        tenant = ground.services.guest_tenant if ground.services is not None else "<tenant>"
        return guest(tenant) if who == "guest" else Principal("<id>", "user:<id>", who, tenant, "<department>")
    user = User.by_email(who) if ground.services is not None else None
    if user is None:
        raise click.ClickException(f"There is no such user or role. Roles: {', '.join(sorted(roles))}")
    if not user.active:
        echo(f"{who} is disabled: nobody can log in as {who} now.", err=True)
    return principal_of(user)


def find_object(permission: str, id: str, principal: Principal) -> dict[str, Any]:
    """The columns of the object, in the tenant of `principal`.

    Raises ClickException when the resource has no table, or the tenant no such row.
    """
    resource = permission.partition(".")[0]
    collections = folders.registry().collections.values()
    model = next((one.model for one in collections if one.resource == resource), None)
    if model is None:
        raise click.ClickException(f"{resource} is no collection; ask without an id.")
    if not is_id(id):
        raise click.ClickException(f"{id!r} is no id.")
    row = Rows(model, principal.tenant_id).find(id)
    if row is None:
        raise click.ClickException(f"There is no {resource} {id} in that tenant: anybody is answered 404.")
    return {field.name: getattr(row, field.name) for field in model._meta.sorted_fields}


@contextmanager
def _ground(create_app: AppFactory, needs_rows: bool) -> Iterator[Ground]:
    if not needs_rows:
        yield Ground(folders.policy_in(folders.folder(), whole=True), None)
        return
    services: Services = app_for(create_app).extensions["gatepost"]
    try:
        with services.database.connected():
            yield Ground(services.policy.current, services)
    finally:
        services.database.close_all()


def _environment(permission: str, clock: datetime | None, ip: str | None) -> FixedEnvironment:
    moment = clock or datetime.now(load_settings().zone)
    reads = permission.partition(".")[2] in READS
    values = {"request": "read", "method": "GET"} if reads else {"request": "write", "method": "POST"}
    return replace(FixedEnvironment(), ip=ip).at(moment).having(values)
