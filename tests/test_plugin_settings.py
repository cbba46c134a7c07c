"""Settings of plugins: their sources, their errors, and the code that may read them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module, invalidate_caches
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from marshmallow import fields

from gatepost import Setting
from gatepost.collections.plugins.contents import PluginError
from gatepost.collections.plugins.discovery import discover
from gatepost.commands.settings import describe
from gatepost.testing.serving import by_known_names
from settings import DECLARED, LiveSettings, SettingError, Settings
from settings.plugins import Plugins, clash, name_of
from tests.apps import close, make_app, new_instance
from tests.databases import new_database

LIMIT = Setting.whole("limit", 5, "most notes of a user", minimum=1, maximum=9, live=True)
STYLE = Setting.choice("style", "short", "how notes are written", among=("short", "long"))
KEY = Setting.text("key", "", "the key of the carrier", pattern=r"(\S{8,})?", allowed="8 characters or more",
                   secret=True)
NOTES: Plugins = {"notes": {one.name: one for one in (LIMIT, STYLE, KEY)}}


@dataclass
class Asked:
    """An object with settings, like the services of an app."""

    settings: Settings


def load(tmp_path: Path, toml: str = "", overrides: Any = None, plugins: Plugins = NOTES, **environ: str) -> Settings:
    (tmp_path / "settings.toml").write_text(toml, encoding="utf-8")
    return Settings.load(tmp_path, overrides, environ, plugins)


def test_the_default_holds_where_no_source_says_anything(tmp_path):
    asked = Asked(load(tmp_path))
    assert (LIMIT.of(asked), STYLE.of(asked), KEY.of(asked)) == (5, "short", "")


def test_each_source_overrides_the_one_before(tmp_path):
    toml = "[notes]\nlimit = 6"
    assert LIMIT.of(Asked(load(tmp_path, toml))) == 6
    assert LIMIT.of(Asked(load(tmp_path, toml, GATEPOST_NOTES_LIMIT="7"))) == 7
    assert LIMIT.of(Asked(load(tmp_path, toml, {"notes": {"limit": 8}}, GATEPOST_NOTES_LIMIT="7"))) == 8


@pytest.mark.parametrize(("toml", "environ", "sentence"), [
    ("[notes]\nlimt = 5", {},
     r"^notes\.limt \(.*settings\.toml\): there is no such setting; did you mean notes\.limit\?"),
    ("", {"GATEPOST_NOTES_LIMT": "5"},
     r"^GATEPOST_NOTES_LIMT \(the environment\): there is no such setting; did you mean GATEPOST_NOTES_LIMIT\?"),
    ("notes = 5", {}, r"^notes \(.*\): there is no such setting"),
    ("[other]\nlimit = 5", {}, r"^other \(.*\): there is no such setting"),
    ("", {"GATEPOST_OTHER_LIMIT": "5"}, "^GATEPOST_OTHER_LIMIT .*: there is no such setting"),
    ("", {"GATEPOST_NOTES__LIMIT": "5"}, "^GATEPOST_NOTES .*: there is no such setting"),
    ("[notes]\nlimit = 10", {}, r"^notes\.limit \(.*\): 10 is not allowed: a whole number from 1 to 9"),
    ("[notes]\nlimit = true", {}, r"^notes\.limit .*: True is not allowed: a whole number from 1 to 9"),
    ("", {"GATEPOST_NOTES_STYLE": "wide"}, "^GATEPOST_NOTES_STYLE .*: 'wide' is not allowed: one of short, long"),
    ("[notes.limit]\nx = 1", {}, r"^notes\.limit .* is not allowed: a whole number"),
])
def test_what_is_wrong_is_named_as_of_a_setting_of_ours(tmp_path, toml, environ, sentence):
    with pytest.raises(SettingError, match=sentence):
        load(tmp_path, toml, **environ)


def test_a_secret_is_shown_nowhere(tmp_path):
    with pytest.raises(SettingError) as refused:
        load(tmp_path, GATEPOST_NOTES_KEY="hush")
    assert "********" in str(refused.value) and "hush" not in str(refused.value)
    shown = {name: value for name, value, _ in describe(load(tmp_path, GATEPOST_NOTES_KEY="https://h/hush-hush"))}
    assert shown["notes.key"] == "********"
    assert (shown["notes.limit"], shown["notes.style"]) == ("5", "short")


def test_what_is_said_of_a_plugin_that_is_not_imported_is_not_judged(tmp_path):
    found = load(tmp_path, "[notes]\nlimt = 'x'\n[page_sizes]\neditor = 7", plugins={"notes": None, "page": None},
                 GATEPOST_NOTES_ANYTHING="x", GATEPOST_PAGE_SIZE="7")
    assert (found.page_size, found.page_sizes["editor"]) == (7, 7), "a plugin takes no setting of ours away"
    with pytest.raises(SettingError, match="GATEPOST_PROT"):
        load(tmp_path, plugins={"notes": None}, GATEPOST_PROT="8000")


@pytest.mark.parametrize(("point", "name"), [("notes", "notes"), ("my-notes", "my_notes"), ("My.Notes", "my_notes"),
                                             ("a__b", "a_b")])
def test_the_entry_point_gives_the_name(point, name):
    assert name_of(point) == name


@pytest.mark.parametrize(("plugins", "said"), [
    ({"docs": {"limit": LIMIT}}, r"\[docs\]"),
    ({"page": {"size": LIMIT}}, "GATEPOST_PAGE_SIZE would be its setting size, and Gatepost's setting page_size"),
    ({"a": {"b_c": LIMIT}, "a_b": {"c": LIMIT}}, "GATEPOST_A_B_C would be its setting c, and the setting b_c of"),
])
def test_names_that_cannot_be_told_apart_are_found(plugins, said):
    found = clash(plugins, DECLARED)
    assert found is not None
    with pytest.raises(AssertionError, match=said):
        raise AssertionError(found)
    assert clash(NOTES, DECLARED) is None


@pytest.mark.parametrize(("make", "said"), [
    (lambda: Setting("Limit", 5, fields.Integer(), "x"), "small letters"),
    (lambda: Setting("a__b", 5, fields.Integer(), "x"), "small letters"),
    (lambda: Setting("limit", "five", fields.Integer(), "x"), "'five' is not allowed"),
    (lambda: Setting("limit", 5, fields.Integer(), " "), "one line"),
    (lambda: Setting.whole("limit", 0, "x", minimum=1, maximum=9), "from 1 to 9"),
    (lambda: Setting.choice("style", "wide", "x", among=("short",)), "one of short"),
])
def test_a_declaration_that_is_wrong_is_refused_where_it_stands(make, said):
    with pytest.raises(ValueError, match=said):
        make()


@pytest.mark.parametrize(("setting", "given", "value"), [
    (Setting.switch("s", False, "x"), "on", True),
    (Setting.seconds("s", 1.0, "x", minimum=0, maximum=9), "2.5", 2.5),
    (Setting.url("s", "", "x"), "https://example.org/a", "https://example.org/a"),
    (Setting.text("s", "", "x"), "a b", "a b"),
    (Setting("s", 1, fields.Integer(), "x"), "12", 12),
])
def test_there_are_the_kinds_of_ours(tmp_path, setting, given, value):
    assert setting.of(Asked(load(tmp_path, plugins={"p": {"s": setting}}, GATEPOST_P_S=given))) == value


def test_a_setting_of_no_plugin_is_no_default():
    with pytest.raises(SettingError, match="'stray' does not stand at the level of the module"):
        Setting("stray", 5, fields.Integer(), "x").of(Asked(Settings()))


def test_a_live_one_is_taken_over_and_another_needs_a_restart(tmp_path, caplog):
    live = LiveSettings(load(tmp_path), lambda: Settings.load(tmp_path, None, {}, NOTES))
    (tmp_path / "settings.toml").write_text('[notes]\nlimit = 9\nstyle = "long"\nkey = "hush-hush"')
    followed: list[Settings] = []
    live.followers.append(followed.append)
    live.reload()
    asked = Asked(live.current)
    assert (LIMIT.of(asked), STYLE.of(asked), KEY.of(asked)) == (9, "short", "")
    assert followed == [live.current]
    assert "in force as settings.toml has them now: notes.limit" in caplog.text
    assert "need a restart: notes.key, notes.style" in caplog.text
    assert "hush" not in caplog.text
    (tmp_path / "settings.toml").write_text("[notes]\nlimit = 99")
    live.reload()
    assert live.trouble is not None and LIMIT.of(Asked(live.current)) == 9


# Places of settings: beside each kind of part of a plugin.

HEAD = """
import peewee as pw
from flask import Blueprint
from gatepost import Call, Collection, Function, Line, Owned, OwnedSchema, Routes, Setting, Task, every, on, permission

LIMIT = Setting.whole("limit", 5, "most of them", minimum=1, maximum=9)

tall = Function("tall", reads=(("sub", "department"),), literals=(), holds=lambda department: department == "tall")

@on("orders.ship")
def react(task: Task) -> dict[str, int]:
    return {"limit": LIMIT.of(task)}

@every(minutes=1)
def tick(task: Task) -> dict[str, int]:
    return {"limit": LIMIT.of(task)}
"""
COLLECTION = """
class Thing(Owned):
    text = pw.TextField()
    class Meta:
        table_name = "things"

class ThingSchema(OwnedSchema):
    text = Line(required=True)

class Things(Collection):
    \"\"\"Things.\"\"\"
    name, resource = "things", "thing"
    model, schema = Thing, ThingSchema
"""
ROUTES = """
routes = Routes("things", "Things.")

@routes.get("/api/things", permission="thing.view")
def things(call: Call) -> dict[str, int]:
    \"\"\"Things.\"\"\"
    return {"limit": LIMIT.of(call)}
"""
PLAIN = """
plain = Blueprint("things", __name__)

@plain.get("/api/things")
@permission("thing.view")
def things():
    \"\"\"Things.\"\"\"
    return {}
"""
RULES = "p, user, thing.view, always, allow\n# end\n"
Install = Callable[..., ModuleType]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[Install]:
    """Writes a package as pip would install it: its modules by name, and its entry point."""
    package = f"things_of_test_{abs(hash(request.node.name))}"

    def make(point: str, **modules: str) -> ModuleType:
        folder = tmp_path / "site" / package
        folder.mkdir(parents=True)
        for name, text in {"__init__": "", **modules}.items():
            (folder / f"{name}.py").write_text(text.replace("PACKAGE", package), encoding="utf-8")
        (folder / "things.csv").write_text(RULES, encoding="utf-8")
        written = folder.with_name(f"{package}-1.0.dist-info")
        written.mkdir()
        (written / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        (written / "entry_points.txt").write_text(f"[gatepost.collections]\n{point.replace('PACKAGE', package)}\n")
        monkeypatch.syspath_prepend(tmp_path / "site")
        invalidate_caches()
        return import_module(f"{package}.{next(iter(modules), '__init__')}")

    yield make
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        del sys.modules[name]


KINDS = {
    "a Collection class": ("my-things = PACKAGE.things:Things", {"things": HEAD + COLLECTION}),
    "a module of collections": ("my-things = PACKAGE.things", {"things": HEAD + COLLECTION}),
    "a module of routes": ("my-things = PACKAGE.things", {"things": HEAD + ROUTES}),
    "Routes": ("my-things = PACKAGE.things:routes", {"things": HEAD + ROUTES}),
    "a Blueprint": ("my-things = PACKAGE.things:plain", {"things": HEAD + PLAIN}),
    "a package": ("my-things = PACKAGE", {"things": HEAD + COLLECTION, "__init__": "from .things import Things"}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_settings_conditions_and_jobs_are_found_beside_every_kind_of_entry_point(install, kind):
    point, modules = KINDS[kind]
    module = install(point, **modules)
    found = discover()
    assert found.settings["my_things"] == {"limit": module.LIMIT}
    assert found.functions["tall"] is module.tall
    assert {name.rpartition(".")[2] for name in found.hooks} >= {"react", "tick"}


def test_two_settings_of_one_name_are_refused(install):
    install("things = PACKAGE.things:Things",
            things=HEAD + COLLECTION + 'OTHER = Setting.switch("limit", True, "x")\n')
    with pytest.raises(PluginError, match="plugin things .*: the name of the setting 'limit' is taken"):
        discover()


def test_a_plugin_called_like_a_setting_of_ours_is_refused(install):
    install("docs = PACKAGE.things:Things", things=HEAD + COLLECTION)
    with pytest.raises(PluginError, match=r"plugin docs .*: the table \[docs\] .* choose another name"):
        discover()


def test_the_start_refuses_a_setting_that_the_plugin_has_not(install, tmp_path, request, monkeypatch):
    install("things = PACKAGE.things", things=HEAD + ROUTES)
    url = new_database("sqlite", request)
    folder = new_instance(tmp_path / "instance", url, "default")
    (folder / "policies" / "things.csv").write_text(RULES)
    monkeypatch.setenv("GATEPOST_THINGS_LIMT", "7")
    with pytest.raises(SettingError, match="GATEPOST_THINGS_LIMT .* did you mean GATEPOST_THINGS_LIMIT"):
        make_app(folder, url)
    monkeypatch.delenv("GATEPOST_THINGS_LIMT")
    monkeypatch.setenv("GATEPOST_THINGS_LIMIT", "7")
    app = make_app(folder, url)
    close(app)
    assert app.extensions["gatepost"].settings.of_plugins.declared.keys() == {"things.limit"}


def test_a_plugin_that_is_served_without_being_installed_has_its_module_s_name(install):
    module = install("unused = PACKAGE.other", things=HEAD + COLLECTION, other="")
    assert discover([module]).settings["things"] == {"limit": module.LIMIT}


@pytest.mark.parametrize("installed", [True, False])
@pytest.mark.parametrize("given", ["my_things", "things", "whatever"])
def test_a_test_names_the_settings_by_the_entry_point_or_by_the_module(install, installed, given):
    module = install("my-things = PACKAGE.things" if installed else "unused = PACKAGE.other",
                     things=HEAD + COLLECTION, other="")
    known = discover([] if installed else [module]).settings
    found = by_known_names({given: {"limit": 3}, "page_size": 7}, [module], known)
    assert found == {"my_things" if installed else "things": {"limit": 3}, "page_size": 7}


def test_settings_that_no_plugin_of_a_test_has_are_named(install):
    module = install("unused = PACKAGE.other", things=HEAD + COLLECTION, other="")
    with pytest.raises(AssertionError, match=r"thing=\{'limt': 3\}: no plugin here has .*; known are things\.limit"):
        by_known_names({"thing": {"limt": 3}}, [module], discover([module]).settings)
