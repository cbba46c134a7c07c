"""`gatepost policy export`: writes the rules as one model and one CSV file of plain Casbin, with their functions."""

from __future__ import annotations

from pathlib import Path

import click

from gatepost.commands import policy_files
from gatepost.commands.context import show_path
from gatepost.commands.policy_output import AS_JSON, DIRECTORY, Unusable, print_json
from gatepost.commands.printing import echo, echo_lines
from gatepost.commands.private_file import overwrite_option, private_file
from policies import PolicyError
from policies.tools.export import export


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
    try:
        files = export(folder, policy_files.plugins(folder), policy_files.registry().vocabulary.functions.values())
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
