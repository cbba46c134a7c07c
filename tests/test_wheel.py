"""The built wheel: complete, and independent of the folder where it is started."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import sysconfig
import urllib.request
import venv
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.docs.documents import blocks
from tests.plugin_apps import HALVES, SAMPLE, copy_sample
from tests.running import PASSWORD, ROOT

pytestmark = pytest.mark.slow

PACKAGES = ("blueprints", "gatepost", "gatepost_start", "models", "policies", "settings", "system")
SOURCES = ("app.py", "setup.cfg", "pyproject.toml", "README.md", "LICENSE")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """The wheel, built from a copy of the sources, without other files of the checkout."""
    copy, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    rooms = [ROOT / room for room in PACKAGES]
    subprocess.run(["cp", "-r", *rooms, *(ROOT / name for name in SOURCES), copy], check=True)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", out]
    done = subprocess.run([*command, copy], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return next(out.glob("gatepost-*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory) -> Path:
    """The `gatepost` script of a new environment with this one's libraries, but without this checkout."""
    folder = tmp_path_factory.mktemp("environment") / "venv"
    venv.create(folder, symlinks=True, with_pip=False)
    paths = {"base": str(folder), "platbase": str(folder)}
    packages = Path(sysconfig.get_path("purelib", "posix_prefix", paths))
    command = [sys.executable, "-m", "pip", "--python", folder / "bin" / "python", "install", "--quiet", "--no-deps"]
    done = subprocess.run([*command, "--no-index", wheel], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    # A plain path comes after the wheel's own files, and its .pth files are not used.
    (packages / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return folder / "bin" / "gatepost"


@pytest.fixture(scope="module")
def check_types(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., None]:
    """`check_types(folder, *arguments)` runs mypy there over code that uses the wheel, and fails if it finds errors."""
    cache = tmp_path_factory.mktemp("mypy")

    def check(folder: Path, *arguments: str) -> None:
        command = [sys.executable, "-m", "mypy", "--python-executable", installed.with_name("python"),
                   "--cache-dir", cache, *arguments]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=300)
        assert done.stdout.startswith("Success: no issues found in 4 source files"), done.stdout + done.stderr

    return check


def test_the_wheel_carries_what_is_read_at_run_time(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {
        "app.py",
        "settings/declared.py",
        "policies/model.conf",
        "policies/articles.csv",
        "policies/README.md",
        "policies/tests.yaml",
        "policies/small/roles.csv",
        "policies/small/tests.yaml",
        "policies/tools/templates/matrix.html",
        "policies/tools/templates/matrix.css",
        "models/migrations/0001_accounts.py",
        "gatepost/http/security/common_passwords.txt",
        "gatepost/translations/de.po",
        "gatepost/collections/static/docs/page.js",
        "gatepost/collections/static/docs/rapidoc-min.js",
        "gatepost/collections/templates/docs.html",
        "gatepost/commands/plugin/templates/collection.py.txt",
        "gatepost/py.typed",
    } <= names
    assert any(name.endswith("/LICENSE") for name in names)


def test_the_wheel_carries_every_file_of_the_packages_and_nothing_else(wheel):
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    rooms = {
        str(file.relative_to(ROOT))
        for room in PACKAGES
        for file in (ROOT / room).rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    assert names == rooms | {"app.py"}


def test_the_sample_plugin_is_strictly_typed_by_what_the_wheel_says(check_types, tmp_path):
    copy_sample(tmp_path)
    test = (SAMPLE.parent / "tests" / "test_notes.py").read_text(encoding="utf-8")
    (tmp_path / "test_notes.py").write_text(test + HALVES, encoding="utf-8")
    check_types(tmp_path, "--strict", "sample_notes", "test_notes.py")


@pytest.mark.parametrize("name", ["price-lists", "people"])
def test_a_new_plugin_is_strictly_typed_by_what_the_wheel_says(installed, check_types, tmp_path, name):
    singular = ["--singular", "person"] if name == "people" else []
    made = subprocess.run([installed, "plugin", "new", name, tmp_path, *singular], capture_output=True, text=True,
                          timeout=60, check=False)
    assert made.returncode == 0, made.stderr
    check_types(tmp_path / f"gatepost-{name}")


def test_the_readme_installs_it_with_pip_and_makes_an_instance(wheel, tmp_path):
    # A plain path adds this environment's libraries; with PIP_NO_DEPS pip downloads none.
    venv.create(tmp_path / "venv", symlinks=True, with_pip=True)
    paths = {"base": str(tmp_path / "venv"), "platbase": str(tmp_path / "venv")}
    packages = Path(sysconfig.get_path("purelib", "posix_prefix", paths))
    (packages / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    (tmp_path / "dist").mkdir()
    (tmp_path / "dist" / wheel.name).symlink_to(wheel)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    commands, = [text for text, _ in blocks(readme) if text.startswith("pip install ")]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("GATEPOST_", "PYTHON"))}
    environment |= {"PATH": f"{tmp_path / 'venv' / 'bin'}:{os.environ['PATH']}",
                    "PIP_NO_DEPS": "1", "PIP_NO_INDEX": "1"}
    done = subprocess.run(["sh", "-ec", commands], cwd=tmp_path, env=environment, text=True, capture_output=True,
                          timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (packages / "app.py").exists()
    assert (tmp_path / "instance" / "secret.key").exists()


def test_it_starts_in_a_folder_that_has_a_decoy_of_every_package(installed, tmp_path):
    for name in ("models", "policies", "blueprints"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise SystemExit('the wrong package')\n", encoding="utf-8")
    for name in ("app", "settings"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('the wrong module')\n", encoding="utf-8")
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("GATEPOST_", "PYTHON"))
    }

    def gatepost(*arguments: str, **options) -> subprocess.CompletedProcess[str]:
        return subprocess.run([installed, *arguments], cwd=tmp_path, env=environment, text=True,
                              capture_output=True, timeout=120, check=False, **options)

    made = gatepost("init", "--admin-password-file", "-", input=PASSWORD)
    assert made.returncode == 0, made.stderr
    assert (tmp_path / "instance" / "policies" / "articles.csv").exists()
    doctor = gatepost("doctor")
    assert doctor.returncode == 0, doctor.stdout + doctor.stderr
    server = subprocess.Popen([installed, "serve", "--port", "0"], cwd=tmp_path, env=environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        line = server.stdout.readline() and server.stdout.readline()  # the first line names the console
        url = re.search(r"http://\S+", line)
        assert url, line + server.stderr.read()
        with urllib.request.urlopen(f"{url.group()}/api/health", timeout=60) as answer:
            assert json.load(answer)["status"] == "ok"
        with urllib.request.urlopen(f"{url.group()}/docs", timeout=60) as answer:
            assert b"rapi-doc" in answer.read()
    finally:
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=60)


@pytest.mark.parametrize("name", ["app", "gatepost", "models"])
def test_its_command_names_a_foreign_module_in_front(installed, tmp_path, name):
    (tmp_path / f"{name}.py").write_text("raise SystemExit('the wrong module')\n", encoding="utf-8")
    done = subprocess.run([installed, "--version"], env={**os.environ, "PYTHONPATH": str(tmp_path)}, text=True,
                          capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"Error: {tmp_path / name}.py stands in front of Gatepost's own {name} ")
