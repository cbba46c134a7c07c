"""The rooms of the project: one-way imports, no cycle, and required files. `rooms` has the rules."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

from gatepost.collections.plugins.leaving_out import REQUIRED
from gatepost.collections.plugins.shipped import features
from tests.rooms import (
    BETWEEN,
    HOUSES,
    TERMINAL,
    Import,
    beside_extensions,
    between,
    circles,
    entered,
    imports,
    modules,
    of_blueprints,
    through_the_face,
    undescribed,
    without_order,
    wrong_doors,
)
from tests.running import ROOT


@cache
def project() -> list[Import]:
    """Returns every import between modules of the project."""
    return imports(modules(ROOT, ("app", "settings", "blueprints", "gatepost", "gatepost_start", "models", "policies",
                                  "system")))


def test_a_room_imports_only_rooms_below_it():
    assert wrong_doors(project(), HOUSES) == []


def test_no_room_imports_the_servers():
    assert entered(project(), TERMINAL) == []


def test_no_modules_import_each_other_in_a_circle():
    assert circles(project()) == []


def test_every_room_has_a_place_in_an_order():
    assert without_order(ROOT, HOUSES) == []


def test_every_room_says_what_it_is_for():
    assert undescribed(ROOT, HOUSES) == []


def test_the_framework_imports_no_blueprint():
    assert of_blueprints(project()) == []


def test_a_blueprint_imports_another_only_where_the_table_says_why():
    assert between(project()) == set(BETWEEN)


def test_what_a_blueprint_imports_is_there_wherever_it_is_served():
    """Leaving a feature out also leaves out the features that need it. Console pages are imported only with theirs."""
    for source, target in BETWEEN:
        if source in features() and target in features() and target not in REQUIRED:
            assert target in (*features()[source].needs, *features()[source].extends), (source, target)


def test_what_extends_another_feature_alone_imports_it():
    extensions = {(feature.name, other): module.replace(".", "/")
                  for feature in features().values() for other, module in feature.extends.items()
                  if other not in feature.needs}
    assert beside_extensions(project(), extensions) == []


def test_the_face_is_for_what_lies_outside_of_it():
    assert through_the_face(project()) == []


# The rules themselves, each on a small house with one error.

SMALL = {"house": (("low",), ("left", "right"), ("high",)), "house/high": ((".",), ("nook",))}


@pytest.fixture
def tree(tmp_path):
    """Writes modules by their path without the suffix. Returns the folder."""
    def write(sources: Mapping[str, str]) -> Path:
        for name, source in sources.items():
            file = tmp_path / f"{name}.py"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(source, encoding="utf-8")
        return tmp_path

    return write


def doors(root: Path) -> list[str]:
    return wrong_doors(imports(modules(root, ["house"])), SMALL)


ONE_OF_EACH = {"house/low/a": "", "house/left/b": "", "house/right/c": "", "house/high/d": "",
               "house/high/nook/e": ""}


@pytest.mark.parametrize(("where", "source"), [
    ("house/left/b", "from ..low import a"),
    ("house/high/d", "from house.left.b import anything"),
    ("house/high/d", "import house.right.c"),
    ("house/high/nook/e", "from ..d import anything\nfrom ...low.a import other"),
    ("house/anything", "from .high import d\nfrom .low import a"),
    ("house/low/a", "import json\nfrom . import a"),
])
def test_a_door_downwards_is_open(tree, where, source):
    assert doors(tree(ONE_OF_EACH | {where: source})) == []


@pytest.mark.parametrize(("where", "source", "sentence"), [
    ("house/low/a", "from ..left.b import anything", "house/low/a.py:1 imports house/left/b"),
    ("house/low/a", "from ..left import b", "house/low/a.py:1 imports house/left/b"),
    ("house/low/a", "\nimport house.high.d", "house/low/a.py:2 imports house/high/d"),
    ("house/low/a", "def f():\n    from house.high import d", "house/low/a.py:2 imports house/high/d"),
    ("house/low/a", "if TYPE_CHECKING:\n    from ..high.d import D", "house/low/a.py:2 imports house/high/d"),
    ("house/left/b", "from ..right import c", "house/left/b.py:1 imports house/right/c"),
    ("house/right/c", "from ..left import b", "house/right/c.py:1 imports house/left/b"),
    ("house/high/d", "from .nook import e", "house/high/d.py:1 imports house/high/nook/e"),
])
def test_a_door_upwards_or_sideways_is_shut(tree, where, source, sentence):
    assert doors(tree(ONE_OF_EACH | {where: source})) == [sentence]


def test_a_terminal_room_is_not_entered_from_its_house(tree):
    found = imports(modules(tree({
        "house/low/a": "", "house/low/b": "from . import a", "house/high/c": "from ..low import a",
        "app": "import house.low.a"}), ["house", "app"]))
    assert entered(found, {"house/low": ("house/top",)}) == ["house/high/c.py:1 imports house/low/a"]


def test_a_circle_is_found_however_long_it_is(tree):
    root = tree({"house/a": "from . import b", "house/b": "def f():\n    import house.c",
                 "house/c": "from .a import anything", "house/d": "from . import a", "house/e": "from . import f",
                 "house/f": "from . import e"})
    assert circles(imports(modules(root, ["house"]))) == [
        ["house/a", "house/b", "house/c"], ["house/e", "house/f"]]


def test_a_room_that_no_order_names_is_found(tree):
    assert without_order(tree(ONE_OF_EACH | {"house/attic/f": ""}), SMALL) == ["house/attic"]


def test_a_room_without_a_docstring_or_with_more_than_one_is_found(tree):
    said, house = '"""What it is for."""\n', {"house": (("low", "left", "right"),)}
    root = tree({"house/low/a": "", "house/left/b": "", "house/left/__init__": said, "house/right/c": "",
                 "house/right/__init__": f"{said}from . import c"})
    assert undescribed(root, house) == ["house/low", "house/right"]


@pytest.mark.parametrize(("where", "source", "allowed"), [
    ("blueprints/articles", "from gatepost import Collection", True),
    ("gatepost/http/low/a", "from gatepost import Collection", False),
    ("models/base", "import gatepost", False),
    ("policies/base", "import gatepost.testing", False),
    ("gatepost/__init__", "from gatepost.http.low.a import anything", True),
    ("gatepost/__init__", "from blueprints.articles import Articles", False),
])
def test_the_face_is_imported_from_outside_and_imports_no_collection(tree, where, source, allowed):
    root = tree({"gatepost/__init__": "", "gatepost/testing": "", "blueprints/articles": "",
                   "gatepost/http/low/a": ""} | {where: source})
    found = through_the_face(imports(modules(root, ["gatepost", "blueprints", "models", "policies"])))
    assert (found == []) is allowed
