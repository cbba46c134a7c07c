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
@click.option("--singular", metavar="WORD", help="What one row is called, where that is not NAME less its s.")
def new_command(name: str, folder: Path, singular: str | None) -> None:
    """Write a plugin that works, to be changed.

    It is the folder gatepost-NAME, in this folder or in DIR. NAME is the collection's, in the plural: small letters,
    digits and single hyphens. The package has a collection with its table, rules, migration, German text, setting, hook
    and tests, which pass as they are. Nothing that is there already is overwritten.

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
    made = folder / names.distribution
    _write(made, files(names))
    echo(f"Made {made}")
    for step in ("Next:", f"  pip install -e {quote(str(made))}", f"  pytest {quote(str(made))}", "  gatepost migrate"):
        echo(step)


def _write(made: Path, texts: dict[str, str]) -> None:
    """Creates the folder with these files, by their path in it: all or none. Raises ClickException."""
    try:
        made.mkdir()
    except FileExistsError:
        raise click.ClickException(f"{made} is there already; nothing was written.") from None
    except OSError as error:
        raise click.ClickException(f"{made} cannot be made: {error.strerror}.") from error
    try:
        for path, text in texts.items():
            file = made / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
    except OSError as error:
        shutil.rmtree(made, ignore_errors=True)
        raise click.ClickException(f"{made} cannot be written: {error.strerror}.") from error
