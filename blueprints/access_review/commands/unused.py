"""`gatepost policy unused`: rules and permissions that nobody uses."""

from __future__ import annotations

import sys

import click

from gatepost.commands import policy_files
from gatepost.commands.instance import open_instance
from gatepost.commands.policy_output import AS_JSON, print_json
from gatepost.commands.printing import echo_lines
from models.base import DAY, later, now
from models.tables.audit import told_since
from models.tables.policy_use import KEPT, counted_since, used_since
from models.tables.tenant import Tenant
from policies.questions.recorded import COLUMNS, Entry
from policies.usage.gaps import Span, gaps
from policies.usage.unused import unused


@click.command("unused")
@click.option("--days", type=click.IntRange(1, KEPT // DAY), default=30, show_default=True, metavar="N",
              help="How many days to look back.")
@AS_JSON
def unused_command(days: int, as_json: bool) -> None:
    """List the rules and permissions that nobody uses.

    Proved: without the line no request is answered otherwise, or nothing that the audit trail recorded. Not seen: the
    line has settled nothing and shown no row since then, as far as the service has counted; what it has not counted is
    told. Exit code 1 when there is such a line.

    \b
    Example: gatepost policy unused --days 90
    """
    policy, since = policy_files.served(), later(-days * DAY)
    with open_instance():
        counts = {key: used.times for key, used in used_since(since[:10]).items()}
        spans = [Span(*counted) for counted in counted_since(since)]
        rows = (Entry(**row) for tenant in Tenant.all() for row in told_since(tenant.id, since, COLUMNS))
        found = unused(policy, since, counts, rows, gaps(since, now(), spans))
    if as_json:
        print_json(found.as_json())
    else:
        echo_lines("\n".join(found.as_lines()))
    sys.exit(int(bool(found)))
