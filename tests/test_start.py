"""Imports at a start: the public interface, the command line and an app skip modules that they may not need."""

from __future__ import annotations

import ast
import gc
import subprocess
import sys

import pytest

import gatepost
from app import create_app
from gatepost.commands.lazy import importing
from gatepost.http.operations.garbage import collection_paused
from settings import SettingError
from tests.running import ROOT

SERVICE = {"app", "flask", "flask_smorest", "peewee", "psycopg", "casbin", "marshmallow"}
FOREIGN = {"apispec", "casbin", "flask_smorest", "granian", "idna", "limits", "prometheus_client", "pyrage", "waitress"}


def modules_after(code: str) -> set[str]:
    """Returns the top-level modules that a new process has imported after this code."""
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


@pytest.mark.parametrize("code", ["import gatepost", "from gatepost_start.command import cli; cli.list_commands(None)"])
def test_neither_the_face_nor_the_command_line_imports_the_service(code):
    assert modules_after(code) & SERVICE <= ({"marshmallow"} if "command" in code else set())


def test_what_few_instances_use_is_imported_by_those():
    discovered = "import app\nfrom gatepost.collections.plugins.discovery import discover\ndiscover()"
    assert modules_after(discovered) & FOREIGN == set()


def test_what_a_command_imports_is_left_out_of_garbage_collection_once(monkeypatch):
    done = []
    monkeypatch.setattr(gc, "freeze", lambda: done.append(gc.isenabled()))
    assert gc.isenabled()
    with importing("no.such.module"):
        assert not gc.isenabled()
    with importing("gatepost"):
        assert gc.isenabled(), "it was imported before: what is made now may be garbage"
    assert done == [False] and gc.isenabled()


def test_an_app_is_made_while_collection_is_paused_and_it_goes_on_however_that_ends(tmp_path):
    seen = []

    @collection_paused()
    def made():
        seen.append(gc.isenabled())
        raise ValueError

    with pytest.raises(ValueError):
        made()
    assert seen == [False] and gc.isenabled()
    with pytest.raises(SettingError):
        create_app({"no_such_setting": 1, "instance": tmp_path})
    assert gc.isenabled()
