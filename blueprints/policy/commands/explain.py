"""`gatepost policy explain`: explains why a user or a role is allowed or refused.

For a role it needs only the policy files; for a user or an object, also the instance's database; for an audit event,
also the policy version of that time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click
from flask import Flask, Request
from marshmallow import ValidationError

from blueprints.policy.circumstances import CircumstancesSchema, environment
from blueprints.policy.past import NotKept, Past, explained, gone, recorded, rules_of
from blueprints.policy.predicted import EXPECTED, Prediction, Question, predict
from gatepost.collections.collection import Collection
from gatepost.collections.names import Names
from gatepost.commands import policy_files
from gatepost.commands.context import load_settings
from gatepost.commands.instance import AppFactory, app_for, open_instance
from gatepost.commands.policy_output import AS_JSON
from gatepost.commands.printing import echo, echo_json
from gatepost.http.request.access import Access
from gatepost.http.request.call import Call
from gatepost.http.request.endpoint import Endpoint
from gatepost.http.request.identity import guest, principal_of
from gatepost.http.request.implied import implied_requests
from models.base import Rows, read_id
from models.tables.audit import Audit, of_all
from models.tables.tenant import Tenant
from models.tables.user import User
from policies import Policy, Principal
from policies.explaining.explanation import DEPENDS
from policies.wording.suggestions import did_you_mean

if TYPE_CHECKING:
    from gatepost.http.request.call import Services

_NO_ENDPOINT = Endpoint(name="none", method="GET", path="/", handler=lambda call: None,
                        public="no request asks for the permission alone")


@dataclass(frozen=True)
class Ground:
    """The policy to explain; and the app, if a user or an object is named."""

    policy: Policy
    app: Flask | None

    @property
    def services(self) -> Services | None:
        return None if self.app is None else cast("Services", self.app.extensions["gatepost"])


@dataclass(frozen=True)
class ExplainRequest:
    """The arguments of the command."""

    who: str
    permission: str
    id: str | None
    circumstances: Mapping[str, Any]


@click.command("explain")
@click.option("--as", "who", metavar="EMAIL|ROLE", help="The user or the role.")
@click.option("--scope", "scopes", multiple=True, metavar="SCOPE",
              help="With a service token of this scope. May be repeated.")
@click.option("--at", metavar="TIME", help="At this time, such as 2026-11-18T22:00, instead of now. In the time zone "
                                           "of the settings unless it has an offset.")
@click.option("--ip", metavar="ADDRESS", help="From this address.")
@click.option("--device", metavar="KIND", help="With a desktop, mobile, tablet, bot or other device.")
@click.option("--method", metavar="METHOD",
              help="By this method only, instead of the methods that need the permission.")
@click.option("--dir", "directory", type=click.Path(path_type=Path), metavar="DIR",
              help="Use the policy files of DIR instead of those of the instance.")
@click.option("--expect", type=click.Choice(EXPECTED), help="Exit with 1 if the answer is another one.")
@click.option("--audit", "audit_id", metavar="ID",
              help="Explain an audit event by the policy version of that time. Allows no other options.")
@AS_JSON
@click.argument("permission", required=False)
@click.argument("id", required=False)
@click.pass_obj
def explain_command(
    create_app: AppFactory, who: str | None, scopes: tuple[str, ...], at: str | None, ip: str | None,
    device: str | None, method: str | None, directory: Path | None, expect: str | None, audit_id: str | None,
    as_json: bool, permission: str | None, id: str | None,
) -> None:
    """Explain why a user or role is allowed or refused a permission.

    The request needs PERMISSION; with ID it is about that object. The answer names the rule that decided and its facts;
    for a refusal, the rules that came nearest to granting it; and the rules in code. `hidden` is a refusal with 404.

    \b
    Example: gatepost policy explain --as ada@example.org article.update 0199f3a0-0000-7000-8000-000000000001
    """
    if audit_id is not None:
        if any((who, scopes, at, ip, device, method, directory, expect, permission)):
            raise click.UsageError("--audit allows no other options or arguments, except --json.")
        _show_past(audit_id, as_json)
        return
    if who is None or permission is None:
        raise click.UsageError("Name the user or role (--as) and the PERMISSION, or an audit event (--audit).")
    options = {"at": at, "ip": ip, "device": device, "method": method, "scope": ",".join(scopes) if scopes else None}
    prediction = _predicted(create_app, directory, ExplainRequest(who, permission, id, circumstances(options)))
    if as_json:
        echo_json(prediction.as_json(), indent=2)
    else:
        for line in prediction.as_lines():
            echo(line)
    if expect is not None and prediction.result != expect:
        answer = "it depends on the object" if prediction.result == DEPENDS else f"it is {prediction.result}"
        echo(f"Expected {expect}, and {answer}.", err=True)
        click.get_current_context().exit(1)


def _show_past(id: str, as_json: bool) -> None:
    decisions = past(id)
    if as_json:
        echo_json({"decisions": [decision.as_json() for decision in decisions]}, indent=2)
    else:
        for decision in decisions:
            for line in decision.as_lines():
                echo(line)


def find_principal(ground: Ground, who: str) -> tuple[User | None, Principal]:
    """Returns the user with that e-mail and their principal, or None and a principal with only that role.

    Raises ClickException if there is neither.
    """
    roles = ground.policy.roles.names
    if who in roles:
        tenant = ground.services.guest_tenant if ground.services is not None else "<tenant>"
        return None, guest(tenant) if who == "guest" else Principal("<id>", "user:<id>", who, tenant, "<department>")
    user = User.by_email(who) if ground.services is not None else None
    if user is None:
        near = did_you_mean(who, roles) or "."
        raise click.ClickException(f"There is no such user or role{near} Roles: {', '.join(sorted(roles))}")
    return user, principal_of(user)


def find_object(collection: Collection | None, permission: str, id: str, tenant_id: str) -> Any:
    """Returns the row of this tenant, or of any other.

    Raises ClickException if the resource has no table, or no tenant has the row.
    """
    resource = permission.partition(".")[0]
    if collection is None:
        raise click.ClickException(f"{resource} is not a collection; leave the id out.")
    known = read_id(id)
    if known is None:
        raise click.ClickException(f"{id!r} is not an id.")
    for tenant in dict.fromkeys((tenant_id, *(tenant.id for tenant in Tenant.all()))):
        if (row := Rows(collection.model, tenant).find(known)) is not None:
            return row
    raise click.ClickException(f"There is no {resource} {id}: the answer is 404 for every caller.")


def _predicted(create_app: AppFactory, directory: Path | None, request: ExplainRequest) -> Prediction:
    with _ground(create_app, directory, needs_rows="@" in request.who or request.id is not None) as ground:
        return _prediction(ground, request)


def _prediction(ground: Ground, request: ExplainRequest) -> Prediction:
    policy, permission = ground.policy, request.permission
    policy_files.refuse_unknown(permission, policy)
    user, principal = find_principal(ground, request.who)
    collection = policy_files.registry().by_resource.get(permission.partition(".")[0])
    row = None if request.id is None else find_object(collection, permission, request.id, principal.tenant_id)
    if row is not None and user is None and principal.kind != "guest":
        principal = replace(principal, tenant_id=row.tenant_id)  # a role exists in every tenant
    principal = _scoped(policy, principal, request.circumstances.get("scopes"))
    requests = implied_requests(policy_files.registry().by_permission.get(permission, ()), permission, collection,
                     about_row=row is not None, method=request.circumstances.get("method"))
    access = Access(policy, principal, environment(request.circumstances, requests.methods[0], load_settings().zone))
    names = Names(any_row(principal.tenant_id if row is None else row.tenant_id)) if ground.app is not None else None
    with _call(ground, access, requests.endpoint or _NO_ENDPOINT) as call:
        return predict(Question(
            who=request.who, permission=permission, access=access, requests=requests, collection=collection, call=call,
            row=row, person=user is not None, active=None if user is None else user.active,
            offline=ground.app is None,
            title="" if row is None or collection is None or names is None else names.of(collection.name, row.id),
            **({} if names is None else {"called": names.called(collection)})))


@contextmanager
def _call(ground: Ground, access: Access, endpoint: Endpoint) -> Iterator[Call]:
    """Yields the call of the hypothetical request, as if it came over HTTP."""
    context = None if ground.app is None else ground.app.test_request_context(endpoint.path, method=endpoint.method)
    with context or nullcontext():
        call = Call(cast("Services", ground.services), endpoint, cast(Request, context.request if context else None),
                    {})
        call.principal, call.access = access.principal, access
        yield call


def _scoped(policy: Policy, principal: Principal, scopes: list[str] | None) -> Principal:
    if scopes is None:
        return principal
    for scope in scopes:
        if scope not in policy.scope_names:
            near = did_you_mean(scope, policy.scope_names) or "."
            raise click.ClickException(f"There is no scope {scope!r}{near} "
                                       f"Scopes: {', '.join(sorted(policy.scope_names))}")
    if principal.kind == "guest":
        raise click.ClickException("A guest has no token: --scope needs a user or another role.")
    return replace(principal, scopes=frozenset(scopes), kind="service")


def circumstances(said: Mapping[str, str | None]) -> Mapping[str, Any]:
    """Parses the options. Raises ClickException for an invalid time, address, device or method."""
    try:
        return cast(Mapping[str, Any], CircumstancesSchema().load({
            name: text for name, text in said.items() if text is not None}))
    except ValidationError as error:
        name, problem = next(iter(error.messages_dict.items()))
        raise click.ClickException(f"--{name} {said.get(name)!r}: {_first(problem)}") from None


def _first(problem: Any) -> str:
    while not isinstance(problem, str):
        problem = next(iter(problem.values() if isinstance(problem, Mapping) else problem))
    return problem


@contextmanager
def _ground(create_app: AppFactory, directory: Path | None, needs_rows: bool) -> Iterator[Ground]:
    policy = policy_files.served(directory, whole=directory is None)
    if not needs_rows:
        yield Ground(policy, None)
        return
    app = app_for(create_app)
    services: Services = app.extensions["gatepost"]
    try:
        with services.database.connected():
            yield Ground(policy, app)
    finally:
        services.database.close_all()


def past(id: str) -> list[Past]:
    """Lists the decisions of an audit event; for an import, one for each group of its rows.

    Raises ClickException if there is no such event, if it records no decision, or if its policy version is not kept.
    """
    with open_instance():
        known = read_id(id)
        row = None if known is None else of_all().where(Audit.id == known).first()
        if row is None:
            raise click.ClickException(f"There is no audit event {id}.")
        decisions = recorded(row, policy_files.registry().vocabulary)
        if not decisions:
            raise click.ClickException(f"Event {id} ({row.resource}.{row.action}, {row.result}"
                                       f"{f', {row.reason}' if row.reason else ''}) is not a decision of the policy.")
        try:
            policy = _policy_of(row.policy_version)
        except NotKept as reason:
            raise click.ClickException(str(reason)) from None
        names, collection = Names(any_row(row.tenant_id)), policy_files.registry().by_resource.get(row.resource)
        return [explained(policy, decision, row.rule, names, collection) for decision in decisions]


def _policy_of(version: str | None) -> Policy:
    """Loads a policy version from the history, or the current policy if it is that version. Raises `NotKept`."""
    policy = rules_of(version, policy_files.registry().vocabulary)
    if policy is None:
        policy = policy_files.served(whole=True)
        if version != policy.version:
            raise gone(version)
    return policy


def any_row(tenant_id: str) -> Callable[[str, str], Mapping[str, Any] | None]:
    """Returns a function that finds a row of that tenant by the plural name of its collection and its id.

    It ignores permissions.
    """
    def find(name: str, id: str) -> Mapping[str, Any] | None:
        row = Rows(policy_files.registry().collections[name].model, tenant_id).find(id)
        return None if row is None else cast(Mapping[str, Any], row.__data__)

    return find
