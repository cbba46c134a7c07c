"""`gatepost policy matrix` and `export`: the rules as a table or a page, and as files of plain Casbin."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import click

from gatepost.commands import policy_files
from gatepost.commands.context import show_path
from gatepost.commands.policy_output import AS_JSON, DIRECTORY, Unusable, print_json
from gatepost.commands.printing import echo, echo_lines
from gatepost.commands.private_file import overwrite_option, private_file
from policies import PolicyError
from policies.tools.export import export
from policies.tools.matrix import as_text, matrix
from policies.tools.matrix_page import as_html
from policies.wording.suggestions import did_you_mean


@click.command("matrix")
@DIRECTORY
@click.option("--role", "roles", multiple=True, metavar="ROLE", help="Only this role. May be repeated.")
@click.option("--resource", "resources", multiple=True, metavar="NAME",
              help="Only the permissions of this resource, such as article. May be repeated.")
@click.option("--html", type=click.Path(path_type=Path), metavar="FILE",
              help="Write one self-contained page; - is standard output.")
@overwrite_option
@AS_JSON
def matrix_command(
    directory: Path | None, roles: tuple[str, ...], resources: tuple[str, ...], html: Path | None, overwrite: bool,
    as_json: bool,
) -> None:
    """Show who may do what, as a table or a page.

    The table has a row for each permission, a column for each role, and conditions in the cells. Only the user who runs
    this can read the page.

    \b
    Example: gatepost policy matrix --html matrix.html
    """
    if overwrite and html is None:
        raise click.UsageError("--overwrite replaces the file of --html, which is not given.")
    to_output = str(html) == "-"
    if to_output and as_json:
        raise click.UsageError("--json and --html - both write to standard output.")
    policy = policy_files.served(directory, whole=True)
    for role in roles:
        _refuse_unknown("role", role, policy.roles.names)
    for name in resources:
        _refuse_unknown("resource", name, policy.vocabulary.resources)
    table = matrix(policy, roles, resources)
    if to_output:
        echo_lines(as_html(table), nl=False)
    elif html is not None:
        with private_file(html, overwrite=overwrite) as page:
            page.write(as_html(table).encode())
        echo(f"Written to {show_path(html)}.", err=as_json)
    if as_json:
        print_json(table.as_json())
    elif html is None:
        echo_lines(as_text(table))


def _refuse_unknown(kind: str, word: str, names: Iterable[str]) -> None:
    if word not in names:
        raise click.BadParameter(f"there is no {kind} {word!r}{did_you_mean(word, names)}", param_hint=f"--{kind}")


@click.command("export")
@DIRECTORY
@click.option("--to", "target", type=click.Path(path_type=Path, file_okay=False), metavar="FOLDER",
              help="Write model.conf, policy.csv and functions.js there.")
@overwrite_option
@AS_JSON
def export_command(directory: Path | None, target: Path | None, overwrite: bool, as_json: bool) -> None:
    """Print the rules for the Casbin editor.

    As one model and one CSV file of plain Casbin, and the functions that they
    call. Only the user who runs this can read the files.

    \b
    Example: gatepost policy export --to casbin
    """
    folder = policy_files.folder(directory)
    fallback_lines: Iterable[object] = ()
    with suppress(Unusable):  # rules with mistakes can be tried in the editor as well
        fallback_lines = policy_files.policy_in(folder).fallback_lines()
    try:
        files = export(folder, policy_files.plugins(folder), policy_files.registry().vocabulary.functions.values(),
                       fallback_lines)
    except PolicyError as error:
        raise Unusable(folder, error) from None
    if target is not None:
        target.mkdir(parents=True, exist_ok=True)
        with (private_file(target / "model.conf", overwrite=overwrite) as model,
              private_file(target / "policy.csv", overwrite=overwrite) as lines,
              private_file(target / "functions.js", overwrite=overwrite) as functions):
            model.write(files.model.encode())
            lines.write(files.policy.encode())
            functions.write(files.functions.encode())
        echo(f"Written to {show_path(target)}.", err=as_json)
    if as_json:
        print_json({"model": files.model, "policy": files.policy, "functions": files.functions})
    elif target is None:
        echo_lines(f"# ---- Model ----\n{files.model}\n# ---- Policy ----\n{files.policy}\n"
                   f"// ---- Functions ----\n{files.functions}", nl=False)
