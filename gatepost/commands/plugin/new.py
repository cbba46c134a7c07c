"""`gatepost plugin new`: writes a working plugin as a start for one of your own; its names, and checks of them."""

from __future__ import annotations

import keyword
import re
import shutil
from dataclasses import dataclass
from importlib.metadata import version
from importlib.resources import files as resources
from importlib.util import find_spec
from pathlib import Path
from shlex import quote
from string import Template
from typing import Self

import click

from gatepost.collections.plugins.contents import PluginError
from gatepost.collections.plugins.discovery import discover
from gatepost.collections.registry import Registry
from gatepost.commands.printing import echo
from policies import SHIPPED
from settings import DECLARED, Setting
from settings.plugins import clash

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_LONGEST = 30  # the history of migrations has the name of the package, and at most 41 characters
SETTINGS = ("again",)  # settings in the templates
# Classes that the templates define or import: a table with such a name would hide one.
CLASSES = frozenset(("Any", "Collection", "Conflict", "Database", "Example", "Flask", "Line", "Meta", "Owned",
                     "OwnedSchema", "Setting", "Task", "Text"))
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


@dataclass(frozen=True)
class Names:
    """The names of a plugin: `plural` and `singular` as they were typed, `price-lists` and `price-list`."""

    plural: str
    singular: str

    @classmethod
    def of(cls, plural: str, singular: str | None = None) -> Self:
        """Returns the names of a plugin; without `singular`, it is derived: `category` from `categories`."""
        if singular is None:
            singular = f"{plural[:-3]}y" if plural.endswith("ies") else plural.removesuffix("s")
        return cls(plural, singular)

    @property
    def distribution(self) -> str:
        """The name of the package for pip, and of the folder."""
        return f"gatepost-{self.plural}"

    @property
    def package(self) -> str:
        """The name of the Python package, and of the table, so that tables of two plugins differ."""
        return f"gatepost_{self.collection}"

    @property
    def collection(self) -> str:
        return self.plural.replace("-", "_")

    @property
    def resource(self) -> str:
        return self.singular.replace("-", "_")

    @property
    def classes(self) -> tuple[str, str]:
        """The class names of the table and of the collection."""
        row, rows = ("".join(part.capitalize() for part in name.split("-")) for name in (self.singular, self.plural))
        return row, rows

    def unusable(self) -> str | None:
        """Describes why a name cannot be used; None if all can."""
        for name in (self.plural, self.singular):
            if not _NAME.fullmatch(name):
                return f"{name!r}: a name has small letters, digits and single hyphens, and begins with a letter."
            if len(name) > _LONGEST:
                return f"{name!r}: a name has at most {_LONGEST} characters."
            if keyword.iskeyword(name):
                return f"{name!r} is a word of Python itself; choose another name."
        row, rows = self.classes
        if row == rows:
            return f"{self.plural!r}: NAME is a plural; say what one of them is called with --singular WORD."
        if hidden := sorted({row, rows, f"{row}Schema"} & CLASSES):
            return f"A class {hidden[0]} would hide that of Gatepost; choose another name, or --singular WORD."
        return None

    def taken(self, served: Registry) -> str | None:
        """Describes the first name that is taken already; None if all are free."""
        path = f"/api/{self.collection}"
        paths = (endpoint.path for _, _, endpoints in served.endpoints() for endpoint in endpoints)
        if any(each == path or each.startswith(f"{path}/") for each in paths):
            return f"{path} is answered already; choose another name."
        if (self.collection in served.collections or self.collection in served.routes
                or SHIPPED.joinpath(f"{self.collection}.csv").is_file()):
            return f"The name {self.collection!r} is taken; choose another one."
        if self.resource in served.vocabulary.resources or self.resource in served.vocabulary.left_out:
            return f"There are permissions {self.resource}.… already; choose another name, or --singular WORD."
        settings = {name: Setting.switch(name, False, "of the templates") for name in SETTINGS}
        if (reason := clash({**served.settings, self.collection: settings}, DECLARED)) is not None:
            return f"{self.plural!r}: {reason}; choose another name."
        if find_spec(self.package) is not None:
            return f"There is a package {self.package} already; choose another name."
        return None


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
