"""A decision of the past, as `gatepost policy explain --audit ID` asks for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

import click

from blueprints.policy.past import NotKept, Past, explained, gone, recorded, rules_of
from gatepost.collections.names import Names
from gatepost.commands import policy_files
from gatepost.commands.instance import open_instance
from models.base import Rows, read_id
from models.tables.audit import Audit, of_all
from policies import Policy


def past(id: str) -> list[Past]:
    """The decisions of the audit row with that id: of an import one for each group of its rows.

    Raises ClickException where there is no such row, where it tells no decision, or where the rules of then are gone.
    """
    with open_instance():
        known = read_id(id)
        row = None if known is None else of_all().where(Audit.id == known).first()
        if row is None:
            raise click.ClickException(f"The audit trail has no row {id}.")
        told = recorded(row, policy_files.registry().vocabulary)
        if not told:
            raise click.ClickException(f"Row {id} ({row.resource}.{row.action}, {row.result}"
                                       f"{f', {row.reason}' if row.reason else ''}) was no decision of the policy.")
        try:
            policy = _of_then(row.policy_version)
        except NotKept as reason:
            raise click.ClickException(str(reason)) from None
        names, collection = Names(any_row(row.tenant_id)), policy_files.registry().by_resource.get(row.resource)
        return [explained(policy, decision, row.rule, names, collection) for decision in told]


def _of_then(version: str | None) -> Policy:
    """The policy of that version, from the ledger, or that of the instance if it is still the same. Raises `NotKept`.
    """
    found = rules_of(version, policy_files.registry().vocabulary)
    if found is None:
        found = policy_files.served(whole=True)
        if version != found.version:
            raise gone(version)
    return found


def any_row(tenant_id: str) -> Callable[[str, str], Mapping[str, Any] | None]:
    """What finds a row of that tenant by the plural name of its collection and its id, whoever may view it."""
    def find(name: str, id: str) -> Mapping[str, Any] | None:
        row = Rows(policy_files.registry().collections[name].model, tenant_id).find(id)
        return None if row is None else cast(Mapping[str, Any], row.__data__)

    return find
