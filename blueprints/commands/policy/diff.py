"""`gatepost policy diff`: what one policy allows that another does not."""

from __future__ import annotations

import sys

import click

from blueprints.commands.policy import folders
from blueprints.commands.policy.output import AS_JSON, print_json
from blueprints.commands.printing import echo_lines
from policies.questions.diff import diff


@click.command("diff")
@click.argument("old")
@click.argument("new", required=False)
@AS_JSON
def diff_command(old: str, new: str | None, as_json: bool) -> None:
    """What NEW allows that OLD does not, and the reverse.

    Each is a folder, or `shipped`. Without NEW, the instance's files. Exit code 1 when there is a difference.

    \b
    Example: gatepost policy diff shipped
    """
    before = folders.policy_in(folders.named(old))
    after = folders.policy_in(folders.named(new) if new else folders.folder())
    found = diff(before, after)
    if as_json:
        listed = [one.as_json() for one in found]
        print_json({"old": before.version, "new": after.version, "changes": listed})
    else:
        echo_lines("\n".join(map(str, found)) or "No difference in what anybody may do.")
    sys.exit(int(bool(found)))
