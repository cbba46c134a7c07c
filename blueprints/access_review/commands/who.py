"""`gatepost policy who`: all users who may do something, and the rule that allows each of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from blueprints.access_review.holders import Holders, Reason, asked_about, ranks
from blueprints.policy.circumstances import fixed
from blueprints.policy.commands.explain import circumstances, find_object
from gatepost.commands import policy_files
from gatepost.commands.context import TENANT
from gatepost.commands.instance import Instance, open_instance
from gatepost.commands.policy_output import AS_JSON, print_json
from gatepost.commands.printing import echo
from gatepost.http.request.implied import implied_requests
from models import paging
from models.paging import Key, sort_order
from models.records.columns import reader
from models.tables.service_token import ServiceToken
from models.tables.user import User
from policies import Policy
from policies.questions.holders import NotTold
from policies.syntax.roles import GUEST

_AT_ONCE = 500  # users read by one statement
_COLUMNS = (User.id, User.email, User.role, User.department, User.groups)
_BY_EMAIL = sort_order(Key(User.email))
_NOBODY = "Nobody."
_read = reader(_COLUMNS)


@click.command("who")
@click.option("--at", metavar="TIME", help="At this time, such as 2026-11-18T22:00. In the time zone of the settings "
                                           "unless it has an offset.")
@click.option("--ip", metavar="ADDRESS", help="From this address.")
@click.option("--device", metavar="KIND", help="With a desktop, mobile, tablet, bot or other device.")
@click.option("--method", metavar="METHOD", help="By this method instead of any that the permission is asked for by.")
@click.option("--dir", "directory", type=click.Path(path_type=Path), metavar="DIR",
              help="Ask the policy files of DIR instead of the instance's.")
@TENANT
@AS_JSON
@click.argument("permission")
@click.argument("id", required=False)
def who_command(at: str | None, ip: str | None, device: str | None, method: str | None, directory: Path | None,
                tenant: str | None, as_json: bool, permission: str, id: str | None) -> None:
    """List who may do this, to an object or to any, and by which rule.

    Every active user of a tenant whom the policy lets, by role, by a line of their own, a group or a share, and guests;
    with ID those who may do it to that object. A user who may do it at certain times, from certain addresses, with
    certain devices or by certain methods is named, with the condition.

    \b
    Example: gatepost policy who order.delete
    """
    policy = policy_files.served(directory, whole=directory is None)
    policy_files.refuse_unknown(permission, policy)
    asked = circumstances({"at": at, "ip": ip, "device": device, "method": method})
    with open_instance() as instance:
        home = instance.tenant(tenant)
        collection = policy_files.registry().by_resource.get(permission.partition(".")[0])
        row = None if id is None else find_object(collection, permission, id, home.id)
        requests = implied_requests(policy_files.registry().by_permission.get(permission, ()), permission, collection,
                         about_row=row is not None, method=method)
        known = fixed(asked, instance.settings.zone)
        tenant_id = home.id if row is None else row.tenant_id
        holders = Holders(instance.database, policy, asked_about(requests, row, tenant_id, known),
                          ranks=ranks(policy, permission, collection, row),
                          guests=tenant_id == instance.tenant().id,
                          tokens=lambda: ServiceToken.valid_of(tenant_id))
        try:
            _show(_entries(instance, holders, tenant_id), policy, as_json)
        except NotTold as error:
            hint = "ask explain about each" if error.function else "name --at, --ip, --device and --method"
            raise click.ClickException(f"This cannot be told: {error}; {hint}.") from None


def _entries(instance: Instance, holders: Holders, tenant_id: str) -> Iterator[tuple[str, str, Reason]]:
    """Yields (name, role, reason): guests first, then users by e-mail."""
    if holders.guests is not None:
        yield "guests", GUEST, holders.guests
    if holders.narrowing is None:
        return
    shape = paging.Shape(User, _COLUMNS, _BY_EMAIL, (User.tenant_id == tenant_id,), holders.narrowing.where.allows,
                         holders.narrowing.where.denies)
    position, has_next = None, True
    while has_next:
        page = paging.walk(instance.database, shape, holders.narrowing.values, size=_AT_ONCE, position=position)
        for row in page.rows:
            user = _read(row[:len(_COLUMNS)])
            yield user["email"], user["role"], holders.reason(user)
        position, has_next = page.last, page.has_next


def _show(entries: Iterator[tuple[str, str, Reason]], policy: Policy, as_json: bool) -> None:
    if as_json:
        print_json({"policy_version": policy.version, "who": [_as_json(*entry) for entry in entries]})
        return
    told = False
    for name, role, reason in entries:
        told, place = True, "" if reason.line is None else f"{reason.line.file}:{reason.line.line}"
        echo(f"{name}  {role}  {place}{'' if reason.when is None else f'  when {reason.when}'}")
    if not told:
        echo(_NOBODY)


def _as_json(name: str, role: str, reason: Reason) -> dict[str, Any]:
    line = reason.line
    return {"who": name, "role": role, "rule": None if line is None else {"file": line.file, "line": line.line},
            "when": reason.when}
