"""`gatepost policy diff`: the effective difference of two policies."""

from __future__ import annotations

import re
import sys
from datetime import datetime

import click

from blueprints.policy_changes.live_rows import compare_rows
from blueprints.policy_changes.live_scope import Scope
from blueprints.policy_changes.row_changes import RowChanges
from gatepost.commands import policy_files
from gatepost.commands.instance import open_instance
from gatepost.commands.policy_output import AS_JSON, compared, print_json
from gatepost.commands.printing import echo_lines
from models.records.times import DAY, later
from models.tables.audit import told_since
from models.tables.tenant import Tenant
from models.tables.user import User
from policies import Policy
from policies.comparison.subjects import persons
from policies.questions.recorded import COLUMNS, Entry
from policies.questions.replay import Replay, replay

_WINDOW = re.compile(r"([1-9][0-9]{0,3})([dh])")
_SECONDS = {"d": DAY, "h": 60 * 60}


def _begun(_: click.Context, __: click.Parameter, window: str | None) -> str | None:
    """The time at which a window of days or hours, such as 7d, began. Raises BadParameter."""
    if window is None:
        return None
    found = _WINDOW.fullmatch(window)
    if found is None:
        raise click.BadParameter(f"{window!r} is no number of days or hours, such as 7d or 24h.")
    return later(-int(found[1]) * _SECONDS[found[2]])


@click.command("diff")
@click.argument("places", nargs=-1, required=True, metavar="[OLD] NEW")
@click.option("--instance", is_flag=True,
              help="Ask the database for the roles of persons whom lines name; else each role is tried.")
@click.option("--rows", is_flag=True,
              help="Count in the database whom the change hides stored rows from, and to whom it shows them.")
@click.option("--replay", "since", callback=_begun, metavar="WINDOW",
              help="Ask the audit trail whom NEW would have let in, or refused, in the last days (7d) or hours (24h).")
@AS_JSON
def diff_command(places: tuple[str, ...], instance: bool, rows: bool, since: str | None, as_json: bool) -> None:
    """Show what a change of the rules changes, with an example of each.

    What NEW allows that OLD does not, and the reverse. Each is a folder, or `shipped`. Without OLD, the instance's
    files. Each example was tried on both. Exit code 1 when there is a difference, or when one could not be ruled out.

    With --replay, the decisions that the audit trail has recorded are made once more by both.

    \b
    Example: gatepost policy diff trial --replay 7d
    """
    *first, last = places
    if len(first) > 1:
        raise click.UsageError("Name one folder, or two.")
    new = policy_files.named(last)
    before = policy_files.policy_in(policy_files.named(first[0])) if first else policy_files.served()
    after = policy_files.policy_in(new)
    found = compared(before, after, _roles_of(before, after) if instance else None)
    data, lines, flips = found.as_json(), list(found.as_lines()), False
    if since is not None:
        with open_instance():
            replayed = _replayed(before, after, since)
            data["replay"] = {"since": since, **replayed.as_json()}
            lines += ["", *replayed.as_lines(_name_of)]
            flips = bool(replayed)
    if rows:
        stored = _rows_of(before, after)
        data["rows"] = stored.as_json()
        lines += ["", "Stored rows:", *(f"  {line}" for line in stored.as_lines())]
    if as_json:
        print_json(data)
    else:
        echo_lines("\n".join(lines))
    sys.exit(int(bool(found) or flips))


def _replayed(old: Policy, new: Policy, since: str) -> Replay:
    """Both policies' answers to what was recorded, of all tenants."""
    rows = (row for tenant in Tenant.all() for row in told_since(tenant.id, since, COLUMNS))
    return replay(old, new, (Entry(**row) for row in rows))


def _name_of(key: str) -> str:
    """Returns the e-mail address of the user with this key; for other keys the key itself."""
    user = User.by_id(key.removeprefix("user:")) if key.startswith("user:") else None
    return key if user is None else user.email


def _roles_of(*policies: Policy) -> dict[str, str]:
    """Returns the stored role of each user whom rules name, by key. Raises ClickException without a database."""
    ids = [key.removeprefix("user:") for key in persons(*policies)]
    with open_instance():
        return {f"user:{id}": role for id, role in User.roles(ids).items()}


def _rows_of(before: Policy, after: Policy) -> RowChanges:
    """Compares the rows of all tenants under both policies. Raises ClickException without a database."""
    with open_instance() as found:
        return compare_rows(found.database, policy_files.registry().collections.values(), before, after,
                            Scope(found.tenant().id), datetime.now(found.settings.zone))
