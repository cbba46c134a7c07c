"""`gatepost plugin new`: writes a working plugin as a start for one's own."""

from __future__ import annotations

import shutil
from importlib.metadata import version
from importlib.resources import files as resources
from pathlib import Path
from shlex import quote
from string import Template

import click

from gatepost.collections.plugins.contents import PluginError
from gatepost.collections.plugins.discovery import discover
from gatepost.commands.plugin.names import Names
from gatepost.commands.printing import echo

# Template → path of its file. The placeholders in the path are those of the templates.
FILES = {
    "pyproject.toml.txt": "pyproject.toml",
    "readme.txt": "README.md",
    "package.py.txt": "$package/__init__.py",
    "collection.py.txt": "$package/$names.py",
    "rules.csv.txt": "$package/$names.csv",
    "migration.py.txt": "$package/migrations/0001_$names.py",
    "german.po.txt": "$package/translations/de.po",
    "tests.py.txt": "tests/test_$names.py",
}


def files(names: Names) -> dict[str, str]:
    """Returns path → text of each file of a plugin with these names."""
    row, rows = names.classes
    words, word = names.plural.replace("-", " "), names.singular.replace("-", " ")
    values = {
        "distribution": names.distribution, "package": names.package, "version": version("gatepost"),
        "names": names.collection, "name": names.resource, "Names": rows, "Name": row,
        "NAMES": names.collection.upper(), "words": words, "word": word, "Words": words.capitalize(),
        "spaces": " " * len(names.resource),  # aligns the columns of the rules with their heads
    }
    templates = resources(__package__) / "templates"
    return {Template(path).substitute(values): Template((templates / name).read_text("utf-8")).substitute(values)
            for name, path in FILES.items()}


@click.command("new")
@click.argument("name")
@click.argument("folder", metavar="[DIR]", default=".",
                type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--singular", metavar="WORD", help="Name of one row, if it is not NAME without the final s.")
def new_command(name: str, folder: Path, singular: str | None) -> None:
    """Create a working plugin as a start for yours.

    It creates the folder gatepost-NAME, in this folder or in DIR. NAME is the plural name of the collection: small
    letters, digits and single hyphens. The package has a collection with its table, rules, migration, German text,
    setting, hook and passing tests. Existing files are not overwritten.

    \b
    Example: gatepost plugin new bookmarks
    """
    names = Names.of(name, singular)
    if (reason := names.unusable()) is not None:
        raise click.ClickException(reason)
    try:
        served = discover()
    except PluginError:  # a broken plugin must not prevent writing another one
        served = discover(points=())
    if (reason := names.taken(served)) is not None:
        raise click.ClickException(reason)
    target = folder / names.distribution
    _write(target, files(names))
    echo(f"Made {target}")
    path = quote(str(target))
    for step in ("Next:", f"  pip install -e {path}", f"  pytest {path}", "  gatepost migrate"):
        echo(step)


def _write(target: Path, texts: dict[str, str]) -> None:
    """Creates the folder with these files, by their path in it: all or none. Raises ClickException."""
    try:
        target.mkdir()
    except FileExistsError:
        raise click.ClickException(f"{target} is there already; nothing was written.") from None
    except OSError as error:
        raise click.ClickException(f"{target} cannot be made: {error.strerror}.") from error
    try:
        for path, text in texts.items():
            file = target / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
    except OSError as error:
        shutil.rmtree(target, ignore_errors=True)
        raise click.ClickException(f"{target} cannot be written: {error.strerror}.") from error
