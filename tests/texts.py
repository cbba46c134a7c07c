"""The texts of errors in the code, and the files with their translations.

`make messages` runs this module: it updates every translation from the code and leaves new texts empty.
"""

from __future__ import annotations

from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.pofile import read_po, write_po

from tests.running import ROOT

FILES = sorted((ROOT / "gatepost" / "translations").glob("*.po"))
# The position of the argument that is a text: the detail of an error, or a text that becomes one.
KEYWORDS = {"Problem": (2,), "WrongPassword": (2,), "Fault": (2,), "Conflict": (1,), "ValidationError": (1,),
            "Message": (1,),
            "_": (1,), "rich": (1,), "several": (1, 2), "plural": (1, 2), "InvalidState": (1,), "OutOfStock": (1,)}
SOURCES = [("**.py", "python"), ("console/**.html", "jinja2"), ("**/pages/**.html", "jinja2")]
OUTSIDE = ("commands", "testing")  # texts for operators and developers stay English


def in_the_code() -> Catalog:
    """Returns every text with its file."""
    found = Catalog(project="Gatepost")
    for room in ("blueprints", "gatepost", "models", "policies"):
        for file, _, text, _, _ in extract_from_dir(ROOT / room, SOURCES, keywords=KEYWORDS):
            if Path(file).parts[0] not in OUTSIDE:
                found.add(text, locations=[(f"{room}/{file}", None)])
    return found


def translated(file: Path) -> Catalog:
    """Returns a stored translation."""
    with file.open("rb") as source:
        return read_po(source, locale=file.stem.replace("-", "_"))


def update(file: Path) -> None:
    """Updates one translation."""
    kept = translated(file)
    kept.update(in_the_code(), no_fuzzy_matching=True, update_creation_date=False)
    with file.open("wb") as target:
        write_po(target, kept, width=120, sort_by_file=True, ignore_obsolete=True)


if __name__ == "__main__":
    for file in FILES:
        update(file)
