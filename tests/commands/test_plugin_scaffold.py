"""`gatepost plugin new`: the written plugin works unchanged, and existing files are not touched."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gatepost.collections.plugins import tables
from gatepost.collections.plugins.discovery import discover
from gatepost.commands.plugin.new import CLASSES, FILES, SETTINGS, Names, files
from models.engine.connect import open_database
from models.migrate import upgrade
from policies import SHIPPED, load
from policies.lint.warnings import warnings
from tests.databases import new_database
from tests.environments import borrowing
from tests.running import ROOT, Instance

GATEPOST = ("-m", "gatepost")
LONGEST = f"{'n' * 29}s"


def new(folder: Path, *arguments: str):
    return Instance(folder / "instance").run("plugin", "new", *arguments)


@pytest.fixture(scope="module")
def environment(tmp_path_factory) -> Path:
    """The Python of a new environment with this one's libraries, and a new plugin installed by pip."""
    folder = tmp_path_factory.mktemp("environment")
    made = new(folder, "price-lists", str(folder))
    assert made.returncode == 0, made.stderr
    python = borrowing(folder / "venv")
    command = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-index",
               "--no-build-isolation", "-e", folder / "gatepost-price-lists"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return python


def run(python: Path, folder: Path, *arguments: object, **variables: str) -> subprocess.CompletedProcess[str]:
    environ = Instance(folder / "instance", {"PYTHONDONTWRITEBYTECODE": "1", **variables}).environ()
    return subprocess.run([python, *arguments], cwd=folder, env=environ, text=True, capture_output=True, timeout=120,
                          check=False)


@pytest.mark.slow
def test_a_new_plugin_that_is_installed_passes_its_own_tests_unchanged(environment):
    folder = environment.parents[2]
    done = run(environment, folder, "-m", "pytest", "-q", "-p", "no:cacheprovider", "gatepost-price-lists")
    assert done.returncode == 0, done.stdout
    assert "19 passed" in done.stdout  # the contract's, and two of its own


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [("price-lists",), (LONGEST,), ("people", "--singular", "person")], ids=" ".join)
def test_a_new_plugin_passes_its_tests_and_ruff_before_it_is_installed(tmp_path, arguments):
    name, *others = arguments
    assert new(tmp_path, name, str(tmp_path), *others).returncode == 0
    made = tmp_path / f"gatepost-{name}"
    done = run(Path(sys.executable), made, "-m", "pytest", "-q", "-p", "no:cacheprovider")
    assert (done.returncode, "19 passed" in done.stdout) == (0, True), done.stdout
    checked = run(Path(sys.executable), made, "-m", "ruff", "check", "--no-cache")
    assert checked.returncode == 0, checked.stdout


def test_its_rules_have_the_scopes_of_what_it_serves():
    found = files(Names.of("price-lists"))["gatepost_price_lists/price_lists.csv"]
    scopes: dict[str, list[str]] = {}
    for line in found.splitlines():
        if line.startswith("p2,"):
            _, scope, permission = (column.strip() for column in line.split(","))
            scopes.setdefault(scope, []).append(permission.removeprefix("price_list."))
    reading = ["view", "view_private", "export"]
    assert scopes == {"read:price_lists": reading, "manage:price_lists": ["*"],
                      "write:price_lists": [*reading, "create", "update", "delete", "finish"]}


def test_its_rules_give_no_warning(tmp_path, monkeypatch):
    assert new(tmp_path, "tidy-lists", str(tmp_path)).returncode == 0
    monkeypatch.syspath_prepend(tmp_path / "gatepost-tidy-lists")
    names = Names.of("tidy-lists")
    registry = discover([__import__(f"{names.package}.{names.collection}", fromlist=["*"])])
    policy = load(SHIPPED, registry.vocabulary, plugins=registry.plugin_policies)
    assert {rule.file for rule in policy.rules} >= {"tidy_lists.csv"}
    assert warnings(policy) == ()


@pytest.mark.slow
def test_it_is_listed_migrated_and_set_as_its_readme_says(environment):
    folder = environment.parents[2]
    brings = ("gatepost-price-lists 0.1.0\n"
              "  collections  price_lists\n"
              "  settings     price_lists.again\n"
              "  hooks        gatepost_price_lists.price_lists.begin_again\n"
              "  migrations   gatepost_price_lists/0001_price_lists")
    without = run(environment, folder, *GATEPOST, "plugin", "list")
    assert (without.returncode, without.stdout) == (0, f"{brings}\n")
    Instance(folder / "instance").made()
    waiting = run(environment, folder, *GATEPOST, "plugin", "list")
    assert (waiting.returncode, waiting.stdout) == (0, f"{brings} (not applied: gatepost migrate)\n")
    assert run(environment, folder, *GATEPOST, "migrate").returncode == 0
    applied = run(environment, folder, *GATEPOST, "plugin", "list")
    assert (applied.returncode, applied.stdout) == (0, f"{brings} (applied)\n")
    readme = (folder / "gatepost-price-lists" / "README.md").read_text(encoding="utf-8")
    assert "| `GATEPOST_PRICE_LISTS_AGAIN` | `off` |" in readme
    shown = run(environment, folder, *GATEPOST, "settings", GATEPOST_PRICE_LISTS_AGAIN="on").stdout
    assert "price_lists.again = on\n    whether what is finished begins again" in shown
    assert "gatepost policy explain --as user price_list.finish" in readme
    explained = run(environment, folder, *GATEPOST, "policy", "explain", "--as", "user", "price_list.finish")
    assert explained.stdout.startswith("user may price_list.finish, depending on the object")


@pytest.mark.both_databases
@pytest.mark.parametrize("dialect", ["sqlite", "postgres"])
def test_its_migration_makes_what_its_collection_declares(dialect, request, tmp_path, monkeypatch):
    name = f"{dialect}-things"
    assert new(tmp_path, name, str(tmp_path)).returncode == 0
    monkeypatch.syspath_prepend(tmp_path / f"gatepost-{name}")
    names = Names.of(name)
    module = __import__(f"{names.package}.{names.collection}", fromlist=["*"])
    registry = discover([module])
    database = open_database(new_database(dialect, request), pool_size=1)
    try:
        applied = upgrade(database, registry.migrations)
        assert applied[-1] == f"{names.package}/0001_{names.collection}"
        with database.connected():
            tables.check(database, [registry.collections[names.collection]])
    finally:
        database.close_all()


# What it refuses.


@pytest.mark.parametrize(("arguments", "sentence"), [
    (("Bookmarks",), "'Bookmarks': a name has small letters, digits and single hyphens, and begins with a letter."),
    (("book_marks",), "'book_marks': a name has small letters, digits and single hyphens"),
    (("book--marks",), "'book--marks': a name has small letters"),
    (("../marks",), "'../marks': a name has small letters"),
    (("s",), "'': a name has small letters"),
    (("bookmarks\n",), "a name has small letters"),
    (("bookmarks", "--singular", "a b"), "'a b': a name has small letters"),
    ((f"{LONGEST}s",), "a name has at most 30 characters."),
    (("class", "--singular", "one"), "'class' is a word of Python itself"),
    (("sheep",), "'sheep': NAME is a plural; say what one of them is called with --singular WORD."),
    (("tasks",), "A class Task would hide that of Gatepost; choose another name, or --singular WORD."),
    (("users",), "/api/users is answered already; choose another name."),
    (("logins", "--singular", "user"), "There are permissions user.… already; choose another name, or --singular"),
    (("roles",), "The name 'roles' is taken; choose another one."),
    (("workers",), "'workers': the table [workers] of its settings would be called like Gatepost's setting workers"),
    (("start", "--singular", "one"), "There is a package gatepost_start already; choose another name."),
])
def test_a_name_that_cannot_be_used_is_refused_with_a_sentence(tmp_path, arguments, sentence):
    refused = new(tmp_path, arguments[0], str(tmp_path), *arguments[1:])
    assert refused.returncode == 1
    assert refused.stderr.startswith("Error: ") and sentence in refused.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", ["a folder", "an empty folder", "a file", "a link to nowhere"])
def test_what_is_there_is_never_overwritten(tmp_path, kind):
    made = tmp_path / "gatepost-bookmarks"
    if kind == "a file":
        made.write_text("mine")
    elif kind == "a link to nowhere":
        made.symlink_to(tmp_path / "nowhere")
    else:
        made.mkdir()
        if kind == "a folder":
            (made / "pyproject.toml").write_text("mine")
    refused = new(tmp_path, "bookmarks", str(tmp_path))
    assert (refused.returncode, refused.stderr) == (1, f"Error: {made} is there already; nothing was written.\n")
    kept = [file.read_text() for file in tmp_path.rglob("*") if file.is_file()]
    assert kept == ([] if "empty" in kind or "link" in kind else ["mine"])


def test_a_folder_that_is_missing_is_named(tmp_path):
    refused = new(tmp_path, "bookmarks", str(tmp_path / "missing"))
    assert (refused.returncode, "missing' does not exist" in refused.stderr) == (2, True)


def test_what_is_written_in_part_is_taken_away_again(tmp_path, monkeypatch):
    full, write = [], Path.write_text

    def write_text(self: Path, *arguments, **options) -> int:
        if "gatepost-bookmarks" in self.parts and len(full) == 3:
            raise OSError(28, "No space left on device")
        full.append(self)
        return write(self, *arguments, **options)

    monkeypatch.setattr(Path, "write_text", write_text)
    refused = new(tmp_path, "bookmarks", str(tmp_path))
    assert (refused.returncode, refused.stderr) == (
        1, f"Error: {tmp_path / 'gatepost-bookmarks'} cannot be written: No space left on device.\n")
    assert len(full) == 3 and not (tmp_path / "gatepost-bookmarks").exists()


def test_it_is_written_into_the_current_folder_unless_one_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = new(tmp_path, "bookmarks")
    assert done.stdout.splitlines()[0] == "Made gatepost-bookmarks"
    assert (tmp_path / "gatepost-bookmarks" / "gatepost_bookmarks" / "bookmarks.py").is_file()


def test_a_plugin_that_is_broken_keeps_nobody_from_writing_another(tmp_path, monkeypatch):
    written = tmp_path / "site" / "broken-1.0.dist-info"
    written.mkdir(parents=True)
    (written / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (written / "entry_points.txt").write_text("[gatepost.collections]\nbroken = nowhere_to_be_found\n")
    monkeypatch.syspath_prepend(tmp_path / "site")
    assert new(tmp_path, "bookmarks", str(tmp_path)).returncode == 0


# What it knows of its templates.


def test_every_template_becomes_a_file():
    templates = ROOT / "gatepost" / "commands" / "plugin" / "templates"
    assert {file.name for file in templates.iterdir()} == set(FILES)


def test_it_knows_every_class_and_setting_that_its_templates_name():
    sources = [text for path, text in files(Names("xs", "x")).items() if path.endswith(".py")]
    nodes = [node for text in sources for node in ast.walk(ast.parse(text))]
    named = {alias.asname or alias.name for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names}
    named |= {node.name for node in nodes if isinstance(node, ast.ClassDef)}
    assert {name for name in named if name[0].isupper()} - {"X", "Xs", "XSchema"} == CLASSES
    assert {call.args[0].value for call in nodes if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
            and isinstance(call.func.value, ast.Name) and call.func.value.id == "Setting"} == set(SETTINGS)


def test_its_names_are_words_of_the_field():
    names = Names.of("price-lists")
    assert (names.distribution, names.package, names.collection, names.resource, names.classes) == (
        "gatepost-price-lists", "gatepost_price_lists", "price_lists", "price_list", ("PriceList", "PriceLists"))
    assert Names.of("categories").resource == "category"
    assert os.sep not in names.distribution
