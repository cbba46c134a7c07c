"""Policy history: `gatepost policy log | show`."""

from __future__ import annotations

from collections.abc import Iterator

import click

from gatepost.commands.instance import open_instance
from gatepost.commands.policy_output import AS_JSON, print_json
from gatepost.commands.printing import echo, echo_lines
from models.tables import policy_version
from models.tables.policy_version import SHORTEST, PolicyVersion

VERSION = click.argument("version", metavar="VERSION")


@click.command("log")
@click.option("-n", "--number", type=click.IntRange(1, 10_000), default=20, show_default=True, metavar="N",
              help="How many to show.")
@AS_JSON
def log_command(number: int, as_json: bool) -> None:
    """List the versions of the policy, and what each changed.

    The newest first.

    \b
    Example: gatepost policy log
    """
    with open_instance():
        rows = list(policy_version.listed().limit(number))
    if as_json:
        print_json([_as_json(row) for row in rows])
        return
    for row in rows:
        echo_lines("\n".join(_lines(row)))


@click.command("show")
@VERSION
@click.argument("file", required=False, metavar="[FILE]")
@AS_JSON
def show_command(version: str, file: str | None, as_json: bool) -> None:
    """The files of a policy that was in force.

    VERSION may be shortened to its first eight characters. With FILE, that file as it was, for `>` or `diff`.

    \b
    Example: gatepost policy show 0a1b2c3d articles.csv
    """
    with open_instance():
        row = find(version)
    if file is None:
        if as_json:
            print_json({**_as_json(row), "files": row.files})
            return
        echo_lines("\n".join(_lines(row)))
        for name, text in row.files.items():
            echo(f"    {name}  {len(text.encode())} bytes{'  (of a plugin)' if name in row.packaged else ''}")
        return
    if file not in row.files:
        raise click.ClickException(f"Policy {row.version} has no file {file}. It has: {', '.join(row.files)}")
    if as_json:
        print_json({"version": row.version, "file": file, "text": row.files[file]})
    else:
        echo_lines(row.files[file].removesuffix("\n"))


def find(version: str) -> PolicyVersion:
    """The newest row of a version. Raises ClickException without one."""
    row = policy_version.named(version)
    if row is None:
        raise click.ClickException(
            f"No policy {version} was in force. See: gatepost policy log (at least {SHORTEST} characters name one)")
    return row


def _as_json(row: PolicyVersion) -> dict[str, object]:
    return {"version": row.version, "applied_at": row.applied_at, "cause": row.cause, "by": row.author,
            "note": row.note, "late": row.late, "changes": row.changes}


def _lines(row: PolicyVersion) -> Iterator[str]:
    late = ", written down late" if row.late else ""
    yield f"{row.version}  since {row.applied_at}  {row.cause} by {row.author}{late}"
    if row.note:
        yield f"    {row.note}"
    for change in row.changes or ():
        yield f"    {line(change)}"
    if row.changes is None:
        yield "    what it changed is not worked out yet"


def line(change: dict[str, object]) -> str:
    """Returns a change in the policy history as one line."""
    if "permission" not in change:
        return str(change.get("line") or change.get("detail"))
    sign = {"more": "+", "less": "−", "other": "~"}.get(str(change["change"]), "?")
    who: list[str] = change["who"]  # type: ignore[assignment]
    return (f"{sign} {change['permission']}: {change['before'] or 'never'} → {change['after'] or 'never'}, "
            f"for {', '.join(who)}")
