"""The rules of the rooms: permitted imports, docstrings of files, and files that may read the environment."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.running import ROOT

ROOMS = ("blueprints", "gatepost", "gatepost_start", "models", "policies", "settings", "system")
FILES = sorted([*ROOT.glob("*.py"), *(file for room in ROOMS for file in (ROOT / room).rglob("*.py"))])
# The permitted imports of each room; `settings` is data, which all outer rooms may import.
ALLOWED = {
    "app": {"app", "blueprints", "gatepost", "gatepost_start", "policies", "models", "settings", "system"},
    "settings": {"settings", "system"},
    "gatepost_start": {"app", "blueprints", "gatepost"},
    "gatepost": {"app", "blueprints", "gatepost", "gatepost_start", "models", "policies", "settings", "system"},
    "blueprints": {"blueprints", "gatepost", "policies", "models", "settings", "system"},
    "models": {"models", "system"},
    "policies": {"policies", "system"},
    "system": {"system"},
}
# Rules and rows know nothing of HTTP.
OUTWARD = {"flask", "flask_smorest", "flask_jwt_extended", "werkzeug", "click", "waitress"}


def room(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


@dataclass(frozen=True)
class Facts:
    """Facts about a file, which is parsed once.

    imports    the top-level names of all its imports, at any place
    says       True if it has a docstring
    annotated  True if it has annotations
    postpones  True if it does not evaluate them
    """

    imports: frozenset[str]
    says: bool
    annotated: bool
    postpones: bool

    @classmethod
    @cache
    def of(cls, path: Path) -> Facts:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names, annotated = set[str](), False
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                names.update(alias.name.partition(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                names.add(room(path) if node.level else (node.module or "").partition(".")[0])
            elif isinstance(node, ast.AnnAssign) or getattr(node, "returns", None) or getattr(node, "annotation", None):
                annotated = True
        postpones = any(isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in tree.body)
        return cls(frozenset(names), bool(ast.get_docstring(tree)), annotated, postpones)


def reads_environment(path: Path) -> bool:
    """True if the module reads `os.environ` or `os.getenv`. A WSGI environ does not count."""
    words = {"environ", "environb", "getenv"}
    text = path.read_text(encoding="utf-8")
    if not any(word in text for word in words):
        return False
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Attribute) and node.attr in words:
            if isinstance(node.value, ast.Name) and node.value.id == "os":
                return True
        elif isinstance(node, ast.ImportFrom) and node.module == "os" and {each.name for each in node.names} & words:
            return True
    return False


def names(paths: Iterable[Path]) -> list[str]:
    return [str(path.relative_to(ROOT)) for path in paths]


def test_every_room_is_covered_by_these_rules():
    assert {room(path) for path in FILES} == set(ALLOWED)


def test_imports_run_from_app_to_blueprints_to_policies_and_models():
    wrong = {str(path.relative_to(ROOT)): forbidden for path in FILES
             if (forbidden := (Facts.of(path).imports & ALLOWED.keys()) - ALLOWED[room(path)])}
    assert wrong == {}


def test_rows_and_rules_do_not_know_the_world_outside():
    inner = [path for path in FILES if room(path) in ("models", "policies", "system")]
    assert names(path for path in inner if Facts.of(path).imports & OUTWARD) == []


def test_policies_use_peewee_only_to_write_and_show_sql():
    users = {path.name for path in FILES
             if room(path) == "policies" and {"peewee", "playhouse"} & Facts.of(path).imports}
    assert users <= {"sql.py", "explain.py"}


# postgres/copies.py hands its own environment on to pg_dump, and metrics.py tells prometheus-client its folder there
READERS = {ROOT / "settings" / "declared.py", ROOT / "settings" / "sources.py", ROOT / "settings" / "supervisor.py",
           ROOT / "models" / "engine" / "postgres" / "copies.py",
           ROOT / "gatepost" / "http" / "operations" / "metrics.py",
           ROOT / "gatepost" / "servers" / "granian" / "application.py"}  # removes it from requests


def test_only_settings_read_the_environment():
    assert names(path for path in FILES if path not in READERS and reads_environment(path)) == []


def test_every_file_says_what_it_is_for():
    assert names(path for path in FILES if path.stat().st_size and not Facts.of(path).says) == []


def test_annotations_are_evaluated_in_no_file():
    # Except in settings/declared.py: the fields of `DECLARED` have the types of the settings.
    assert names(path for path in FILES if path != ROOT / "settings" / "declared.py"
                 and Facts.of(path).annotated != Facts.of(path).postpones) == []
