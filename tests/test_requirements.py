"""The pinned libraries: allowed by `setup.cfg`, with hashes, and independent of the machine."""

from __future__ import annotations

import re
from configparser import ConfigParser
from importlib.metadata import PackageNotFoundError, distribution

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.running import ROOT

FILES = sorted((ROOT / "requirements").glob("*.txt"))
PIN = re.compile(r"^([^\s=\[]+)(?:\[\S+\])?==(\S+)(?: ; .*?)?((?: \\\n    --hash=sha256:[0-9a-f]{64})+)$", re.MULTILINE)


def declared(section: str, option: str) -> list[str]:
    metadata = ConfigParser()
    metadata.read(ROOT / "setup.cfg")
    return [line for line in metadata[section][option].splitlines() if line]


def pins(name: str) -> dict[str, set[Version]]:
    found: dict[str, set[Version]] = {}
    for package, version, _ in PIN.findall((ROOT / "requirements" / name).read_text(encoding="utf-8")):
        found.setdefault(package, set()).add(Version(version))
    return found


def requires(package: str) -> list[str]:
    """Returns the requirements of the package; none for one that only other systems install."""
    try:
        return distribution(package).requires or []
    except PackageNotFoundError:
        return []


SERVING = declared("options", "install_requires")
TESTING = [line for extra in ("accounts", "fast", "passkeys", "redis", "test")
           for line in declared("options.extras_require", extra)]


@pytest.mark.parametrize(("name", "lines"), [("serve.txt", SERVING), ("test.txt", [*SERVING, *TESTING])],
                         ids=["serve.txt", "test.txt"])
def test_what_setup_cfg_asks_for_is_pinned_to_a_version_that_it_allows(name, lines):
    pinned, faults = pins(name), {}
    for wanted in map(Requirement, lines):
        versions = pinned.get(canonicalize_name(wanted.name))
        if not versions or not all(version in wanted.specifier for version in versions):
            faults[str(wanted)] = versions
    assert faults == {}, "run `make constraints`"


@pytest.mark.parametrize("name", ["serve.txt", "image.txt"])
def test_the_tests_use_what_is_served(name):
    served, tested = pins(name), pins("test.txt")
    assert {package: tested.get(package) for package in served} == served


def test_the_image_has_what_the_service_needs_and_its_extras():
    wanted = {canonicalize_name(Requirement(line).name) for extra in ("accounts", "backup", "fast", "passkeys", "redis")
              for line in declared("options.extras_require", extra)}
    assert wanted | set(pins("serve.txt")) <= set(pins("image.txt"))


def test_every_pin_has_hashes_and_nothing_else_is_said():
    faults = {}
    for file in FILES:
        text = file.read_text(encoding="utf-8")
        rest = PIN.sub("", text)
        others = [line for line in rest.splitlines() if line and not re.match(r" *#", line)]
        if others or rest == text:
            faults[file.name] = others
    assert FILES and faults == {}


def test_a_pin_names_the_extras_that_a_library_asks_for():
    """Otherwise pip chooses a newer release for an extra when there is one, and refuses it for missing hashes."""
    text = (ROOT / "requirements" / "test.txt").read_text(encoding="utf-8")
    lines = [Requirement(line) for package in pins("test.txt") for line in requires(package)]
    asked = {f"{canonicalize_name(wanted.name)}[{','.join(sorted(wanted.extras))}]" for wanted in lines
             if wanted.extras and (wanted.marker is None or wanted.marker.evaluate({"extra": ""}))}
    assert "coverage[toml]" in asked
    assert {name for name in asked if f"\n{name}==" not in text} == set()


def test_no_path_and_no_address_of_one_machine_is_told():
    told = re.compile(r"https?:|file:|index-url|find-links|(^|\s)/\w")
    assert [file.name for file in FILES if told.search(file.read_text(encoding="utf-8"))] == []
