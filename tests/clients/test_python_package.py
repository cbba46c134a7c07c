"""clients/python as a package: the README, the types, the wheel."""

from __future__ import annotations

import io
import json
import os
import re
import zipfile
from contextlib import redirect_stdout
from pathlib import Path

import generate
import pytest

from tests.clients.tools import python
from tests.docs.documents import matches
from tests.running import PASSWORD, ROOT, Instance

CLIENT = ROOT / "clients" / "python"
README = (CLIENT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```\n(?:```text\n(.*?)^```\n)?", README, re.MULTILINE | re.DOTALL)


def test_the_examples_of_the_readme_print_what_it_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    with Instance(tmp_path / "instance").made().served() as served:
        for code, said in BLOCKS:
            code = code.replace("http://127.0.0.1:8000", served.url).replace("the one that was printed", PASSWORD)
            with redirect_stdout(io.StringIO()) as printed:
                exec(code, names)
            assert matches(said, printed.getvalue()), f"expected {said}\nprinted {printed.getvalue()}"
    assert len(BLOCKS) >= 5


def test_package_story_and_readme_are_strictly_typed(tmp_path):
    (tmp_path / "readme.py").write_text("".join(code for code, _ in BLOCKS), encoding="utf-8")
    done = python("-m", "mypy", "--strict", "--config-file", os.devnull, "--cache-dir", tmp_path / "cache",
                  CLIENT / "gatepost_client", CLIENT / "generate.py", ROOT / "tests" / "clients" / "python_story.py",
                  tmp_path / "readme.py", cwd=tmp_path, MYPYPATH=str(CLIENT))
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("line", [
    'client.articles.create({"title": "A", "slug": "a"})',
    'client.articles.create({"title": "A", "slug": "a", "body": "B", "colour": "red"})',
    'client.articles.list(status="drafty")', 'client.orders.list(sort="colour")', "client.articles.list(colour=1)",
    'client.orders.publish("id")', 'client.articles.get("id").row["colour"]',
    'client.audit.create({})', 'client.users.import_later([])',
])
def test_a_wrong_word_is_an_error_of_mypy(tmp_path, line):
    (tmp_path / "wrong.py").write_text(f'from gatepost_client import Gatepost\nclient = Gatepost("http://x")\n{line}\n')
    done = python("-m", "mypy", "--strict", "--config-file", os.devnull, "--cache-dir", tmp_path.parent / "cache",
                  "wrong.py", cwd=tmp_path, MYPYPATH=str(CLIENT))
    assert (done.returncode, "wrong.py:3: error:" in done.stdout) == (1, True), done.stdout


def test_its_wheel_has_the_package_and_its_types_alone(tmp_path):
    done = python("-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", tmp_path,
                  _copy(tmp_path / "source"), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    wheel, = tmp_path.glob("gatepost_client-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
        metadata, = (archive.read(name).decode() for name in archive.namelist() if name.endswith("/METADATA"))
    files = {f"gatepost_client/{file.name}" for file in (CLIENT / "gatepost_client").iterdir() if file.is_file()}
    assert names == files and "gatepost_client/py.typed" in files
    assert re.findall(r"^Requires-Dist: (\w+)", metadata, re.MULTILINE) == ["httpx"]


def _copy(folder: Path) -> Path:
    """Copies only the sources, because setuptools leaves files beside its build."""
    (folder / "gatepost_client").mkdir(parents=True)
    for file in [*CLIENT.iterdir(), *(CLIENT / "gatepost_client").iterdir()]:
        if file.is_file():
            (folder / file.relative_to(CLIENT)).write_bytes(file.read_bytes())
    return folder


def test_the_generator_writes_what_is_there(documents, tmp_path):
    generate.write(json.loads(documents["openapi.json"].read_text(encoding="utf-8")), tmp_path)
    changed = [name for name in ("types.py", "resources.py")
               if (tmp_path / name).read_bytes() != (CLIENT / "gatepost_client" / name).read_bytes()]
    assert not changed, "run `gatepost openapi > openapi.json`, then `python clients/python/generate.py openapi.json`"


def test_a_plugin_s_document_gives_a_client_that_knows_its_collection(extended, tmp_path):
    package = _copy(tmp_path / "source") / "gatepost_client"
    generate.write(json.loads(extended.read_text(encoding="utf-8")), package)
    right = ('from gatepost_client import Gatepost\nclient = Gatepost("http://x")\n'
             'print(client.articles.get("id").row["title"])\n'
             'print(client.letters.create({"text": "Hello"}).row["stars"] + 1)\n')
    (tmp_path / "right.py").write_text(right, encoding="utf-8")
    (tmp_path / "wrong.py").write_text(right.replace("stars", "planets"), encoding="utf-8")
    said = python("-m", "mypy", "--strict", "--config-file", os.devnull, "--cache-dir", tmp_path / "cache",
                  package, "right.py", "wrong.py", cwd=tmp_path, MYPYPATH=str(package.parent)).stdout
    assert re.findall(r"^(\S+):\d+: error: (.*?)  \[", said, re.MULTILINE) == [
        ("wrong.py", 'TypedDict "Letter" has no key "planets"')], said
