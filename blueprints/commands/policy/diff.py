"""`gatepost policy diff`: what one policy allows that another does not."""

from __future__ import annotations

import sys
from datetime import datetime

import click

from blueprints.commands.context import open_instance
from blueprints.commands.policy import folders
from blueprints.commands.policy.output import AS_JSON, print_json
from blueprints.commands.printing import echo_lines
from blueprints.http.history.live_rows import compare_rows
from blueprints.http.history.live_scope import Scope
from blueprints.http.history.row_changes import RowChanges
from models.tables.user import User
from policies import Policy
from policies.comparison.subjects import persons
from policies.questions.diff import diff


@click.command("diff")
@click.argument("places", nargs=-1, required=True, metavar="[OLD] NEW")
@click.option("--instance", is_flag=True,
              help="Ask the database for the roles of persons whom lines name; else each role is tried.")
@click.option("--rows", is_flag=True,
              help="Count in the database whom the change hides stored rows from, and to whom it shows them.")
@AS_JSON
def diff_command(places: tuple[str, ...], instance: bool, rows: bool, as_json: bool) -> None:
    """What does a change really change? With an example of each.

    What NEW allows that OLD does not, and the reverse. Each is a folder, or `shipped`. Without OLD, the instance's
    files. Each example was tried on both. Exit code 1 when there is a difference, or when one could not be ruled out.

    \b
    Example: gatepost policy diff trial
    """
    *first, last = places
    if len(first) > 1:
        raise click.UsageError("Name one folder, or two.")
    new = folders.named(last)
    old = folders.named(first[0]) if first else folders.folder()
    before, after = folders.policy_in(old), folders.policy_in(new)
    found = diff(before, after, _roles_of(before, after) if instance else None)
    stored = _rows_of(before, after) if rows else None
    if as_json:
        print_json({**found.as_json(), **({} if stored is None else {"rows": stored.as_json()})})
    else:
        echo_lines("\n".join(found.as_lines()))
        if stored is not None:
            echo_lines("\n".join(("", "Stored rows:", *(f"  {line}" for line in stored.as_lines()))))
    sys.exit(int(bool(found)))


def _roles_of(*policies: Policy) -> dict[str, str]:
    """The stored role of each person whom lines name, by key. Raises ClickException without a database."""
    ids = [key.removeprefix("user:") for key in persons(*policies)]
    with open_instance():
        return {f"user:{id}": role for id, role in User.roles(ids).items()}


def _rows_of(before: Policy, after: Policy) -> RowChanges:
    """What the change does to the rows of all tenants. Raises ClickException without a database."""
    with open_instance() as found:
        return compare_rows(found.database, folders.registry().collections.values(), before, after,
                            Scope(found.tenant().id), datetime.now(found.settings.zone))
