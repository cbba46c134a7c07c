"""The files of a new plugin, filled from `templates/`."""

from __future__ import annotations

from importlib.metadata import version
from importlib.resources import files as resources
from string import Template

from gatepost.commands.plugin.names import Names

# A template → the path of the file that it becomes, in which the same words stand for names.
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
    """The path of each file of a plugin of these names, and its text."""
    row, rows = names.classes
    words, word = names.plural.replace("-", " "), names.singular.replace("-", " ")
    values = {
        "distribution": names.distribution, "package": names.package, "version": version("gatepost"),
        "names": names.collection, "name": names.resource, "Names": rows, "Name": row,
        "NAMES": names.collection.upper(), "words": words, "word": word, "Words": words.capitalize(),
        "spaces": " " * len(names.resource),  # so that the columns of the rules stand below their heads
    }
    templates = resources(__package__) / "templates"
    return {Template(path).substitute(values): Template((templates / name).read_text("utf-8")).substitute(values)
            for name, path in FILES.items()}
