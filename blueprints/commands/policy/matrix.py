"""`gatepost policy matrix`: who may do what, as a table for a terminal, a page or JSON."""

from __future__ import annotations

from pathlib import Path

import click

from blueprints.commands.context import show_path
from blueprints.commands.policy import folders
from blueprints.commands.policy.output import AS_JSON, DIRECTORY, print_json
from blueprints.commands.printing import echo, echo_lines
from policies.tools.matrix import as_text, matrix
from policies.tools.matrix_page import as_html


@click.command("matrix")
@DIRECTORY
@click.option("--role", "roles", multiple=True, metavar="ROLE", help="Only this role. May be repeated.")
@click.option("--html", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
              help="Write one self-contained page.")
@AS_JSON
def matrix_command(directory: Path | None, roles: tuple[str, ...], html: Path | None, as_json: bool) -> None:
    """Who may do what, as a table.

    A row for each permission, a column for each role, conditions in the cells.

    \b
    Example: gatepost policy matrix --html matrix.html
    """
    found = folders.policy_in(folders.folder(directory), whole=True)
    for role in roles:
        if role not in found.vocabulary.roles:
            raise click.BadParameter(f"there is no role {role!r}", param_hint="--role")
    table = matrix(found, roles)
    if html is not None:
        html.write_text(as_html(table), encoding="utf-8")
        echo(f"Written to {show_path(html)}.", err=as_json)
    if as_json:
        print_json(table.as_json())
    elif html is None:
        echo_lines(as_text(table))
