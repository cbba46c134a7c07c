"""Imports of a start: the face, the command line and an app leave out what they may not need."""

from __future__ import annotations

import ast
import subprocess
import sys

import pytest

import gatepost
from tests.running import ROOT

SERVICE = {"app", "flask", "flask_smorest", "peewee", "psycopg", "casbin", "marshmallow"}
FOREIGN = {"apispec", "flask_smorest", "granian", "limits", "prometheus_client", "pyrage", "waitress"}


def modules_after(code: str) -> set[str]:
    """The top-level modules that a new process has imported after this code."""
    done = subprocess.run([sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"], cwd=ROOT, text=True,
                          capture_output=True, check=True)
    return {name.partition(".")[0] for name in done.stdout.split()}


def test_every_name_of_the_face_is_found_where_type_checkers_look_for_it():
    tree = ast.parse((ROOT / "gatepost" / "__init__.py").read_text(encoding="utf-8"))
    checked = next(node for node in tree.body if isinstance(node, ast.If))
    named = {alias.name: node.module for node in checked.body for alias in node.names}
    assert named == gatepost._PLACE_OF
    assert sorted(named) == sorted(gatepost.__all__)
    assert [name for name in gatepost.__all__ if not hasattr(gatepost, name)] == []
    assert set(gatepost.__all__) <= set(dir(gatepost))


def test_a_name_that_the_face_lacks_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'gatepost' has no attribute 'Kollection'"):
        gatepost.Kollection  # noqa: B018


@pytest.mark.parametrize("code", ["import gatepost", "from gatepost_start.command import cli; list(cli.commands)"])
def test_neither_the_face_nor_the_command_line_imports_the_service(code):
    assert modules_after(code) & SERVICE <= ({"marshmallow"} if "command" in code else set())


def test_what_few_instances_use_is_imported_by_those():
    discovered = "import app\nfrom blueprints.http.resources.plugins.discovery import discover\ndiscover()"
    assert modules_after(discovered) & FOREIGN == set()
