"""The rooms of the project and their one-way imports: each rule is a function that finds violations in a tree.

A house is a folder of rooms with an order: a room imports only rooms of an earlier step, and never one of its own step.
Every import counts, also for type checkers and inside functions.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

Steps = tuple[tuple[str, ...], ...]
"""The rooms of a house from the ground up; those of one step are side by side. `.` are the house's own modules: where
it is missing, they may import every room."""

HOUSES: Mapping[str, Steps] = {
    "gatepost": (("http",), ("servers", "jobs", "rules", "health"), ("instance", "collections"), ("commands",),
                 ("testing",)),
    "gatepost/commands": ((".",), ("plugin",)),
    "gatepost/http": (("protocol",), ("schemas", "operations"), ("security",), ("auditing",), ("request",),
                      ("credentials",), ("pipeline", "reading"), ("writing",), ("openapi",)),
    "gatepost/collections": ((".",), ("plugins",)),
    "gatepost/servers": ((".",), ("waitress", "granian")),
    "blueprints/console": ((".",), ("data",), ("people", "running"), ("endpoints",)),
    "models": (("engine",), ("records", "paging"), ("tables",)),
    "models/engine": ((".",), ("sqlite", "postgres"), ("connect",)),
    "policies": (("wording",), ("syntax",), ("evaluation",), ("comparison",), ("invariants",), ("loading", "lint"),
                 ("explaining",),
                 ("cases", "tools", "questions"), ("usage",)),
}
FACE = ("gatepost", "gatepost/testing")
INNER = ("gatepost/http", "gatepost/servers", "gatepost/jobs", "gatepost/rules", "gatepost/health", "gatepost/instance",
         "gatepost/collections", "models", "policies")  # modules behind the public interface
TERMINAL = {"gatepost/servers": ("gatepost/commands",)}  # rooms that only these of their house import
BLUEPRINTS = "blueprints"
# Imports between blueprints, with the reason. The target is in `needs` or `extends`, or cannot be left out.
BETWEEN: Mapping[tuple[str, str], str] = {
    ("access_review", "console"): "its pages",
    ("access_review", "policy"): "circumstances of a question, and its form on the console",
    ("accounts", "console"): "its pages",
    ("accounts", "sessions"): "it completes a login of the API",
    ("audit", "console"): "its pages",
    ("authzen", "access_review"): "a search for subjects is a search for holders",
    ("authzen", "policy"): "circumstances and new rows of a question",
    ("backups", "console"): "its button on a page",
    ("console", "sessions"): "its login is a login of the API",
    ("mail", "console"): "its pages",
    ("mail", "password_links"): "a mailed link is a password link",
    ("password_links", "console"): "its pages",
    ("policy", "console"): "its pages",
    ("policy_changes", "console"): "its pages",
    ("privacy", "console"): "its page",
    ("public", "health"): "the answer of /api/ping",
    ("sessions", "users"): "who registers becomes a row of users",
}
NO_ROOMS = ("models/migrations",)  # one file a migration


@dataclass(frozen=True)
class Import:
    """An import of one module by another, both as paths without the suffix: `models/base`."""

    source: str
    target: str
    line: int

    def __str__(self) -> str:
        return f"{self.source}.py:{self.line} imports {self.target}"


def modules(root: Path, tops: Iterable[str]) -> dict[str, Path]:
    """Returns the modules below these folders and files of a project. A package has the name of its folder."""
    found = {}
    for top in tops:
        for file in [root / f"{top}.py", *(root / top).rglob("*.py")]:
            if file.is_file():
                name = file.relative_to(root).with_suffix("")
                found[str(name.parent if name.name == "__init__" else name)] = file
    return found


def imports(found: Mapping[str, Path]) -> list[Import]:
    """Returns every import between these modules."""
    return [Import(source, target, line) for source, file in found.items()
            for target, line in _targets(source, file, found) if target != source]


def _targets(source: str, file: Path, found: Mapping[str, Path]) -> Iterator[tuple[str, int]]:
    package = source if file.name == "__init__.py" else source.rpartition("/")[0]
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            named = [alias.name.replace(".", "/") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package.split("/")[:len(package.split("/")) - node.level + 1] if node.level else []
            base = "/".join([*above, *(node.module or "").split(".")]).strip("/")
            named = [name if (name := f"{base}/{alias.name}") in found else base for alias in node.names]
        else:
            continue
        yield from ((name, node.lineno) for name in named if name in found)


def room(house: str, steps: Steps, module: str) -> str | None:
    """Returns the room of a house that a module lies in; None outside the house, and if no step names the module."""
    if not module.startswith(f"{house}/"):
        return None
    first = module.removeprefix(f"{house}/").partition("/")[0]
    known = {name for step in steps for name in step}
    if first in known:
        return first
    return "." if "." in known and module == f"{house}/{first}" else None


def wrong_doors(found: Iterable[Import], houses: Mapping[str, Steps]) -> list[str]:
    """Returns the imports of a room by a room below or beside it."""
    wrong = []
    for house, steps in houses.items():
        height = {name: number for number, step in enumerate(steps) for name in step}
        for one in found:
            source, target = room(house, steps, one.source), room(house, steps, one.target)
            if None not in (source, target) and source != target and height[source] <= height[target]:
                wrong.append(str(one))
    return wrong


def entered(found: Iterable[Import], terminal: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Returns the imports of a terminal room by other rooms of its house, except permitted ones."""
    return [str(one) for closed, may in terminal.items() for one in found
            if one.target.startswith(f"{closed}/") and not one.source.startswith((f"{closed}/", *may))
            and one.source.startswith(f"{closed.rpartition('/')[0]}/")]


def circles(found: Iterable[Import]) -> list[list[str]]:
    """Returns the modules that import each other, directly or indirectly: Tarjan's strongly connected components."""
    graph: dict[str, set[str]] = {}
    for one in found:
        graph.setdefault(one.source, set()).add(one.target)
        graph.setdefault(one.target, set())
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    path: list[str] = []
    components = []

    def visit(module: str) -> None:
        number[module] = lowest[module] = len(number)
        path.append(module)
        for target in sorted(graph[module]):
            if target not in number:
                visit(target)
                lowest[module] = min(lowest[module], lowest[target])
            elif target in path:
                lowest[module] = min(lowest[module], number[target])
        if lowest[module] == number[module]:
            start = path.index(module)
            components.append(sorted(path[start:]))
            del path[start:]

    for module in sorted(graph):
        if module not in number:
            visit(module)
    return [component for component in components if len(component) > 1]


def rooms(root: Path, houses: Mapping[str, Steps]) -> list[str]:
    """Returns every folder of modules in a house, except folders that are not rooms."""
    found = {str(file.parent.relative_to(root)) for house in houses for file in (root / house).glob("*/*.py")}
    return sorted(found - set(NO_ROOMS))


def without_order(root: Path, houses: Mapping[str, Steps]) -> list[str]:
    """Returns the rooms that their house's order does not name."""
    named = {f"{house}/{name}" for house, steps in houses.items() for step in steps for name in step}
    return [each for each in rooms(root, houses) if each not in named]


def undescribed(root: Path, houses: Mapping[str, Steps]) -> list[str]:
    """Returns the rooms, except public interfaces, whose `__init__.py` is not exactly one docstring."""
    found = []
    for each in rooms(root, houses):
        if each in FACE:
            continue
        file = root / each / "__init__.py"
        tree = ast.parse(file.read_text(encoding="utf-8") if file.is_file() else "")
        if not ast.get_docstring(tree) or len(tree.body) != 1:
            found.append(each)
    return found


def of_blueprints(found: Iterable[Import]) -> list[str]:
    """Returns the imports of a blueprint by the framework, or by modules below it."""
    return [str(one) for one in found if _blueprint(one.source) is None
            and (one.target == BLUEPRINTS or one.target.startswith(f"{BLUEPRINTS}/"))]


def between(found: Iterable[Import]) -> set[tuple[str, str]]:
    """Returns the pairs of blueprints of which the first imports the second."""
    pairs = {(_blueprint(one.source), _blueprint(one.target)) for one in found}
    return {(source, target) for source, target in pairs if source and target and source != target}


def beside_extensions(found: Iterable[Import], extensions: Mapping[tuple[str, str], str]) -> list[str]:
    """Returns the imports of an extended blueprint by modules of the other one outside of its extension."""
    wrong = []
    for one in found:
        pair = _blueprint(one.source), _blueprint(one.target)
        extension = extensions.get(pair)  # type: ignore[arg-type] # None is no key of it
        if extension is not None and one.source != extension and not one.source.startswith(f"{extension}/"):
            wrong.append(str(one))
    return wrong


def _blueprint(module: str) -> str | None:
    """Returns the blueprint of a module; None if it is in none."""
    house, _, inner = module.partition("/")
    return inner.partition("/")[0] or None if house == BLUEPRINTS else None


def through_the_face(found: Iterable[Import]) -> list[str]:
    """Returns the imports of the public interface by its own modules, and of a collection by the interface."""
    inner = tuple(f"{house}/" for house in INNER)
    return [str(one) for one in found
            if (one.target in FACE and one.source.startswith(inner))
            or (one.source in FACE and one.target.startswith("blueprints/") and one.target.count("/") == 1
                and not one.target.endswith("/commands"))]
