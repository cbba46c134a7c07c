"""`gatepost plugin list`: the parts of each installed plugin, and the errors of broken ones."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable, Iterator
from importlib import invalidate_caches
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gatepost.collections.plugins import entry_points
from gatepost.commands import policy_files
from gatepost.commands.plugin.new import Names, files
from tests.running import Instance, just_started

EVERYTHING = '''
import click
from flask import Blueprint
from gatepost import Condition, Function, Routes, Setting, every, public

LIMIT = Setting.whole("limit", 1, "most", minimum=1, maximum=2)
weekend = Function("weekend", reads=(("env", "weekday"),), literals=(), holds=lambda day: day > 4)
early = Condition("early", "r.env.hour < 8")
plain = Routes("plain_listed", "Nothing.")
greetings = Blueprint("greetings", __name__, url_prefix="/api/greetings")

@greetings.get("")
@public("a greeting is for everybody", produces=("application/json",))
def hello():
    """Greet."""
    return {}

@every(days=1)
def nightly(task):
    """Do nothing."""

@click.command()
def greet():
    """Greet."""
'''


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Path]]:
    """Writes a plugin as pip would install it; `texts` are files of the package, by path, and replace the scaffold's.
    """
    site = tmp_path / "site"
    made: list[str] = []
    monkeypatch.syspath_prepend(site)
    policy_files.registry.cache_clear()  # a command looks up the installed plugins once

    def write(name: str, points: str = "", **texts: str | None) -> Path:
        names = Names.of(name)
        made.append(names.package)
        scaffold = {path.removeprefix(f"{names.package}/"): text for path, text in files(names).items()
                    if path.startswith(names.package)}
        for path, text in {**scaffold, **texts}.items():
            if text is not None:
                file = site / names.package / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, encoding="utf-8")
        written = site / f"{names.package}-1.0.dist-info"
        written.mkdir()
        (written / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {names.distribution}\nVersion: 1.0\n")
        points = points or f"[gatepost.collections]\n{names.collection} = {names.package}.{names.collection}\n"
        (written / "entry_points.txt").write_text(points)
        entry_points._installed.cache_clear()
        invalidate_caches()
        return site / names.package

    yield write
    policy_files.registry.cache_clear()
    for module in [module for module in sys.modules if module.partition(".")[0] in made]:
        del sys.modules[module]


@pytest.fixture
def listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Result]:
    """Lists the plugins as in a new process."""
    monkeypatch.setenv("GATEPOST_INSTANCE", str(tmp_path / "instance"))

    def run() -> Result:
        return CliRunner().invoke(just_started(), ["plugin", "list"])

    return run


def brought(name: str) -> str:
    return (f"gatepost-{name} 1.0\n  collections  {name}\n  settings     {name}.again\n"
            f"  hooks        gatepost_{name}.{name}.begin_again\n  migrations   gatepost_{name}/0001_{name}\n")


def test_without_a_plugin_it_says_how_to_begin_one(listed):
    done = listed()
    assert (done.exit_code, done.output) == (0, "No plugin is installed. Begin one: gatepost plugin new NAME\n")


def test_each_plugin_is_named_with_all_that_it_brings(install, listed):
    install("listed", "[gatepost.collections]\neverything = gatepost_listed\n[gatepost.commands]\n"
            "greet-all = gatepost_listed:greet\n",
            **{"__init__.py": EVERYTHING})
    install("bookmarks")
    done = listed()
    assert (done.exit_code, done.output) == (0, brought("bookmarks") + (
        "gatepost-listed 1.0\n  routes       plain_listed, greetings\n  settings     everything.limit\n"
        "  hooks        gatepost_listed.nightly\n  conditions   weekend, early\n  commands     greet-all\n"
        "  migrations   gatepost_listed/0001_listed\n"))


@pytest.mark.parametrize(("texts", "sentence"), [
    ({"marks.csv": None}, "plugin marks (gatepost_marks.marks): marks.csv is missing; a collection ships its rules"),
    ({"marks.py": "import nowhere_to_be_found"}, "plugin marks (gatepost_marks.marks) cannot be imported: No module"),
    ({"marks.py": "1 / 0"}, "cannot be imported: division by zero ("),
    ({"marks.py": "from gatepost import on\n@on('no.such')\ndef f(task): ...\n"}, "there is no event 'no.such'"),
])
def test_one_that_cannot_be_used_says_why_and_the_others_are_listed(install, listed, texts, sentence):
    install("marks", **texts)
    install("bookmarks")
    install("zebras")
    done = listed()
    assert done.exit_code == 1
    first, _, rest = done.output.removeprefix(brought("bookmarks")).partition("\n")
    assert first == "gatepost-marks 1.0" and rest.endswith(brought("zebras"))
    said, = rest.removesuffix(brought("zebras")).splitlines()
    assert said.startswith("  cannot be used: ") and sentence in said


def test_what_nothing_uses_is_a_finding_of_a_plugin_that_can_be_used(install, listed):
    package = install("bookmarks")
    texts = package / "translations" / "de.po"
    texts.write_text(f'{texts.read_text()}\nmsgid "Nobody says this."\nmsgstr "Das sagt niemand."\n')
    number = texts.read_text().splitlines().index('msgid "Nobody says this."') + 1
    done = listed()
    assert (done.exit_code, done.output) == (0, brought("bookmarks") + (
        f"  finding: {texts}:{number}: no file of the package has this text, so that nothing says it: "
        "'Nobody says this.'\n"))


def test_of_two_that_clash_one_is_listed_and_the_other_says_why(install, listed):
    install("marks")
    names = Names.of("marks")
    other = files(names)
    install("other", "[gatepost.collections]\nother = gatepost_other.marks\n",
            **{"marks.py": other["gatepost_marks/marks.py"], "marks.csv": other["gatepost_marks/marks.csv"]})
    done = listed()
    assert done.exit_code == 1
    assert done.output.count("cannot be used: ") == done.output.count("the name 'marks' is taken") == 1


def test_one_that_follows_events_of_another_is_usable_in_either_order(install, listed):
    follower = "from gatepost import on\n\n@on('{}.created')\ndef f(task):\n    '''Nothing.'''\n"
    install("afters", **{"afters.py": follower.format("mids")})
    install("mids")
    install("zebras", **{"zebras.py": follower.format("mids")})
    done = listed()
    assert (done.exit_code, "cannot be used" in done.output) == (0, False)
    assert "gatepost_afters.afters.f" in done.output and "gatepost_zebras.zebras.f" in done.output


@pytest.mark.parametrize(("name", "text", "sentence"), [
    ("user", "", "plugin command user (gatepost_cmds:go): gatepost user is a command of Gatepost itself"),
    ("go", "import nowhere_to_be_found", "plugin command go (gatepost_cmds:go) cannot be imported: No module"),
    ("go", "go = 1", "plugin command go (gatepost_cmds:go) is no command, and no group, of click"),
])
def test_a_command_that_cannot_be_used_says_why(install, listed, name, text, sentence):
    install("cmds", f"[gatepost.commands]\n{name} = gatepost_cmds:go\n", **{"__init__.py": text})
    done = listed()
    assert done.exit_code == 1
    assert done.output.startswith(f"gatepost-cmds 1.0\n  commands     {name}\n  cannot be used: {sentence}")


def test_beside_an_instance_it_tells_which_migrations_are_applied_and_what_a_table_lacks(install, listed, tmp_path):
    instance = Instance(tmp_path / "instance").made()
    install("bookmarks")
    assert listed().output == brought("bookmarks")[:-1] + " (not applied: gatepost migrate)\n"
    assert instance.run("migrate").returncode == 0
    applied = brought("bookmarks")[:-1] + " (applied)\n"
    assert (listed().exit_code, listed().output) == (0, applied)
    with sqlite3.connect(instance.folder / "gatepost.db") as database:
        database.execute("DROP INDEX gatepost_bookmarks_title")
    database.close()
    done = listed()
    assert done.exit_code == 1
    assert done.output.startswith(f"{applied}  cannot be used: ")
    assert "Bookmarks can be sorted by 'title', and no index serves that" in done.output


def test_a_package_that_cannot_name_a_history_of_migrations_is_named(install, listed, tmp_path):
    Instance(tmp_path / "instance").made()
    install(f"{'n' * 40}s")
    done = listed()
    assert done.exit_code == 1
    assert f"cannot be used: 'gatepost_{'n' * 40}s' cannot name a history of migrations" in done.output


def test_what_the_setting_without_cannot_leave_out_is_said(listed, monkeypatch):
    monkeypatch.setenv("GATEPOST_WITHOUT", "users")
    done = listed()
    assert (done.exit_code, done.output.startswith("Error: without: users cannot be left out")) == (1, True)


def test_a_plugin_that_needs_what_is_left_out_says_so(install, listed, monkeypatch):
    install("marks", **{"marks.py": "from gatepost import on\n@on('orders.created')\ndef f(task): ...\n"})
    assert listed().exit_code == 0
    monkeypatch.setenv("GATEPOST_WITHOUT", "orders")
    done = listed()
    assert done.exit_code == 1
    assert "the collection orders is left out (setting without)" in done.output
