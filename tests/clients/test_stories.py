"""Clients from foreign generators run the story of README.md without a cast, on both servers."""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from tests.clients.tools import NODE_MODULES, node, python
from tests.running import PASSWORD, ROOT, Served

HERE = ROOT / "tests" / "clients"
# Constructs that would hide a wrong type.
CASTS = {
    "story.ts": re.compile(r"\bas\b(?!:)|\bany\b|\w!(?!=)|<\w+>\w|@ts-|\bunknown\b|eslint"),
    "story.py": re.compile(r"\bcast\b|\bAny\b|type: ?ignore|\bgetattr\b|# ?mypy"),
}


@pytest.fixture(scope="module", params=["openapi.json", "openapi-3.0.json"])
def typescript(documents, request, tmp_path_factory) -> Path:
    """A folder with the story, and the types generated from the document."""
    folder = tmp_path_factory.mktemp("typescript")
    for name in ("story.ts", "tsconfig.json"):
        shutil.copy(HERE / name, folder)
    (folder / "package.json").write_text('{"type": "module"}', encoding="utf-8")
    (folder / "node_modules").symlink_to(NODE_MODULES)
    done = node("openapi-typescript", documents[request.param], "--output", folder / "api.ts",
                cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module", params=["openapi.json", "openapi-3.0.json"])
def package(documents, request, tmp_path_factory) -> Path:
    """A folder with the story, and the package `gatepost_client` generated from the document."""
    folder = tmp_path_factory.mktemp("python")
    shutil.copy(HERE / "story.py", folder)
    done = python("-m", "openapi_python_client", "generate", "--config", HERE / "python.yaml", "--meta", "none",
                  "--path", documents[request.param], "--output-path", folder / "gatepost_client", "--fail-on-warning",
                  cwd=folder, PATH=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def told(service: Served, name: str) -> dict[str, str]:
    """Returns the parameters of a story: URL of the service, login, and a prefix for the names of its rows."""
    return {"BASE_URL": service.url, "EMAIL": "admin@example.org", "PASSWORD": PASSWORD, "NAME": name}


def test_the_story_in_typescript_has_the_types_that_it_needs(typescript):
    done = node("tsc", "--project", "tsconfig.json", cwd=typescript)
    assert done.returncode == 0, done.stdout


def test_the_story_in_typescript_is_told(typescript, service):
    name = f"ts-{typescript.name}-{service.process.pid}"
    done = node(typescript / "story.ts", cwd=typescript, NODE_OPTIONS="--experimental-strip-types --no-warnings",
                **told(service, name))
    assert (done.returncode, done.stdout) == (0, "told\n"), done.stderr


def test_the_story_in_python_has_the_types_that_it_needs(package):
    # Findings of mypy in the generated code itself are faults of the generator.
    done = python("-m", "mypy", "--strict", "--follow-imports=silent", "--config-file", os.devnull, "--no-incremental",
                  "story.py", cwd=package)
    assert done.returncode == 0, done.stdout


def test_the_story_in_python_is_told(package, service):
    name = f"py-{package.name}-{service.process.pid}"
    done = python("story.py", cwd=package, **told(service, name))
    assert (done.returncode, done.stdout) == (0, "told\n"), done.stderr


@pytest.mark.parametrize("name", CASTS)
def test_no_story_has_a_cast(name):
    lines = (HERE / name).read_text(encoding="utf-8").splitlines()
    code = [line for line in lines if not line.startswith(("import ", "from ", "//", '"""'))]
    assert [line for line in code if CASTS[name].search(line)] == []


@pytest.mark.parametrize(("name", "line"), [
    ("story.ts", "const id = data as Article;"), ("story.ts", "data!.id"), ("story.ts", "const a: any = 1;"),
    ("story.ts", "// @ts-ignore"), ("story.py", "x = cast(Article, y)"), ("story.py", "def f(a: Any) -> None:"),
    ("story.py", "f(1)  # type: ignore[arg-type]"),
])
def test_a_cast_would_be_found(name, line):
    assert CASTS[name].search(line)
