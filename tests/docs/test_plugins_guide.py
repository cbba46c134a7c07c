"""The pages about plugins: their files are the sample plugin, their commands run, their tables name what is there."""

from __future__ import annotations

import dataclasses
import inspect
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import peewee as pw
import pytest
from marshmallow import Schema, fields

import gatepost
from gatepost import testing
from gatepost.collections.collection import Collection
from gatepost.collections.plugins.discovery import discover
from gatepost.http.reading.readable import Readable
from gatepost.http.writing.writable import Writable
from tests.docs.documents import EXTENDING, example, links
from tests.plugin_apps import HALVES
from tests.running import PASSWORD, ROOT, Instance

PAGES = {str(path.relative_to(ROOT / "docs")): path.read_text(encoding="utf-8") for path in EXTENDING}
GUIDE = PAGES["plugins.md"]
PLUGIN = ROOT / "tests" / "sample_plugin"
FILE = re.compile(r"^`([\w./]+)`:\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMANDS = re.compile(r"^```sh\n(.*?)^```$\n\n^```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILES = dict(FILE.findall(GUIDE))
TYPED = COMMANDS.findall(GUIDE)
BEGUN = "gatepost plugin new"  # the block that is typed in an empty folder
SERVING = "URL="  # the first block of a second terminal, beside the service
EXAMPLES = [(page, code) for page, text in PAGES.items()
            for code in re.findall(r"^```python\n(.*?)^```$", FILE.sub("", text), re.MULTILINE | re.DOTALL)]


def test_its_files_are_those_of_the_sample_plugin():
    kept = {str(file.relative_to(PLUGIN)): file.read_text(encoding="utf-8") for file in PLUGIN.rglob("*")
            if file.is_file() and not {"__pycache__", "build"} & set(file.relative_to(PLUGIN).parts)}
    assert kept == FILES


@pytest.fixture(scope="module")
def printed(tmp_path_factory) -> list[str]:
    """The output of each block of commands, typed in a folder of the guide's files, the last ones beside a server."""
    folder, target = tmp_path_factory.mktemp("plugin"), tmp_path_factory.mktemp("installed")
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    here = "--no-build-isolation" if find_spec("setuptools") and find_spec("wheel") else ""
    programs = {"python": '"$@"', "pip": f'-m pip "$@" --quiet --no-deps {here} --target {target}',
                "gatepost": '-c "from gatepost_start.command import cli; cli()" "$@"'}
    bin = tmp_path_factory.mktemp("bin")
    for name, arguments in programs.items():
        (bin / name).write_text(f"#!/bin/sh\nexec '{sys.executable}' {arguments}\n")
        (bin / name).chmod(0o755)
    path = {"PYTHONPATH": f"{target}:{ROOT}", "PATH": f"{bin}:{os.environ['PATH']}", "PYTHONDONTWRITEBYTECODE": "1"}
    instance = Instance(tmp_path_factory.mktemp("guide") / "instance", path).made()
    empty = tmp_path_factory.mktemp("empty")

    def typed(text: str) -> str:
        here = empty if text.startswith(BEGUN) else folder
        done = subprocess.run(["bash", "-euc", text], cwd=here, env=instance.environ(), text=True,
                              capture_output=True, timeout=180, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    before = [text for text, _ in TYPED if not text.startswith(SERVING)]
    found = [typed(text) for text in before]
    with instance.served() as service:
        for text, _ in TYPED[len(before):]:
            here_and_now = text.replace("http://127.0.0.1:8000", service.url)
            found.append(typed(here_and_now.replace("the one that was printed", PASSWORD)))
    return found


@pytest.mark.slow
def test_every_command_prints_what_the_guide_says(printed):
    def missing(said: str, output: str) -> list[str]:
        patterns = [".*".join(map(re.escape, line.split("…"))) for line in said.splitlines()]
        return [pattern for pattern in patterns if not re.search(pattern, output)]

    assert [(text, lost, output) for (text, said), output in zip(TYPED, printed, strict=True)
            if (lost := missing(said, output))] == []


def test_every_block_of_commands_is_run():
    assert len(TYPED) == sum(text.count("```sh\n") for text in PAGES.values()) == 5
    assert [text.startswith(SERVING) for text, _ in TYPED] == [False, False, False, False, True]


def test_every_example_is_python_that_gatepost_understands():
    assert EXAMPLES
    for page, code in EXAMPLES:
        try:
            exec(compile(code, page, "exec"), {"__name__": "example"})
        except Exception as error:
            error.add_note(code)
            raise


def test_every_page_is_in_the_index():
    assert PAGES.keys() - {"plugins.md"} <= set(links(GUIDE))


def test_the_test_of_the_function_is_the_one_in_the_guide():
    assert f"`{HALVES.rpartition(' = ')[2].strip()}`" in PAGES["plugins/rules.md"]


def test_the_face_holds_what_it_promises_and_says_where_each_name_belongs():
    assert gatepost.__all__ == sorted(gatepost.__all__)
    assert {name for name in gatepost.__all__ if not re.search(rf"\b{name}\b", gatepost.__doc__)} == set()
    for face in (gatepost, testing):
        assert all(hasattr(face, name) for name in face.__all__)


def rows(page: str, heading: str) -> dict[str, list[str]]:
    """Returns the rows of every table under a heading: the first cell without its marks → the other cells."""
    part = re.split(r"^## ", PAGES[page].partition(f"\n## {heading}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]
    cells = [re.split(r" (?<!\\)\| ", line[2:-2]) for line in part.splitlines() if line.startswith("| `")]
    return {first.strip("`"): others for first, *others in cells}


def first_line(thing: object) -> str:
    return (inspect.getdoc(thing) or "").partition("\n")[0]


def test_every_attribute_of_a_collection_is_in_the_guide_and_in_its_docstring():
    declared = {name for part in (Readable, Writable, Collection) for name in part.__annotations__}
    table = rows("plugins/collections.md", "What a collection declares")
    assert table.keys() == declared
    docstring = inspect.getdoc(Collection) or ""
    assert dict(re.findall(r"^(\w+) {2,}(.+)$", docstring, re.MULTILINE)) == {
        name: meaning for name, (_, meaning) in table.items()}
    assert {name: default for name, (default, _) in table.items() if default != "–"} == {
        name: f"`{getattr(Collection, name)!r}`".replace("'", '"') for name in declared if hasattr(Collection, name)}


def test_every_argument_of_a_function_is_in_the_guide():
    arguments = [field.name for field in dataclasses.fields(gatepost.Function)]
    assert list(rows("plugins/rules.md", "Functions")) == arguments


def test_every_method_that_a_shipped_collection_overrides_is_in_the_guide_with_its_purpose():
    table = rows("plugins/collections.md", "What a collection may override")
    methods = {call.partition("(")[0]: call for call in table}
    overridden = {name for found in discover().collections.values() for part in type(found).__mro__
                  if part not in Collection.__mro__ for name, one in vars(part).items()
                  if inspect.isfunction(one) and not name.startswith("_") and hasattr(Collection, name)}
    assert overridden <= methods.keys()
    for name, call in methods.items():
        method = getattr(Collection, name)
        arguments, _, returned = call.partition("(")[2].partition(") -> ")
        taken = [one.strip().partition("=")[0] for one in arguments.split(",") if one]
        assert taken == list(inspect.signature(method).parameters)[1:]
        assert returned.replace("\\|", "|") == inspect.signature(method).return_annotation
        assert table[call] == [first_line(method)]


def test_what_is_promised_of_a_call_is_what_its_docstring_says_first():
    table = rows("plugins/call.md", "Attributes of a call")
    promised, _, own = (inspect.getdoc(gatepost.Call) or "").partition("For Gatepost alone:")
    assert dict(re.findall(r"^(\w+) {2,}(.+)$", promised, re.MULTILINE)) == {
        name: said for name, (said,) in table.items()}
    kept = {field.name for field in dataclasses.fields(gatepost.Call)}
    properties = {name for name, one in vars(gatepost.Call).items() if isinstance(one, property)}
    told = {*table, *re.findall(r"^(\w+) {2,}|`(\w+)`:", own, re.MULTILINE)}
    assert table.keys() <= kept | properties
    assert kept <= told | {name for pair in told for name in pair}


def test_the_example_of_prepare_prepares_every_write_that_there_is():
    found: dict[str, object] = {"__name__": "example"}
    exec(compile(example("def title_of"), "plugins/collections.md", "exec"), found)
    found["title_of"] = "The page at {}".format
    for sent, prepared in ({"url": "x"}, "The page at x"), ({"note": "y"}, None), ({}, None):
        call = SimpleNamespace(body=sent, prepared=None)
        found["Bookmarks"].prepare(None, call)
        assert call.prepared == prepared


def test_every_method_of_rows_is_in_the_guide_with_its_purpose():
    promised = rows("plugins/rows.md", "Methods of `Rows`")
    table = {call.partition("(")[0]: (call, said) for call, said in promised.items()}
    methods = {name: one for name, one in vars(gatepost.Rows).items()
               if inspect.isfunction(one) and not name.startswith("_")}
    assert table.keys() == methods.keys() - {"sought", "discard"}  # what lists and tables of Gatepost are made of
    for name, (call, said) in table.items():
        taken = re.findall(r"(?:^|[(, ])\*{0,2}(\w+)", call.partition("(")[2])
        assert taken == list(inspect.signature(methods[name]).parameters)[1:]
        assert said == [first_line(methods[name])]


def test_every_field_column_and_base_class_is_in_the_guide_with_its_purpose():
    kinds = (fields.Field, Schema, pw.Field, pw.Model)
    promised = {name: getattr(gatepost, name) for name in gatepost.__all__}
    tables = [rows("plugins/fields.md", heading) for heading in ("Fields", "Columns", "Base classes")]
    assert tables[0] | tables[1] | tables[2] == {
        name: [first_line(found)] for name, found in promised.items()
        if isinstance(found, type) and issubclass(found, kinds)}


def test_the_sample_plugin_imports_nothing_of_gatepost_but_its_face():
    sources = [file.read_text(encoding="utf-8") for file in PLUGIN.rglob("*.py")]
    imported = {name for text in sources for name in re.findall(r"^(?:from|import) (\w+)", text, re.MULTILINE)}
    assert imported == {"gatepost", "marshmallow", "peewee", "sample_notes", "typing"}


@pytest.mark.slow
@pytest.mark.parametrize("face", ["gatepost", "app"])
def test_importing_it_imports_no_collection_and_no_pytest(face):
    collections = sorted(Path(file).stem for file in (ROOT / "blueprints").glob("[!_]*.py"))
    modules = ["pytest", *(f"blueprints.{name}" for name in collections)]
    script = f"import sys, {face}; print([name for name in sys.argv[1:] if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script, *modules], cwd=ROOT, text=True,
                          capture_output=True, timeout=60, check=True)
    assert done.stdout == "[]\n"
