"""Doubtful declarations of plugins: the service starts with them, but they are probably mistakes."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from ...http.protocol.messages import SHIPPED, text_ids
from ...http.schemas.fields import values_of
from ...http.writing import actions
from ...http.writing.actions import Action
from ...http.writing.writable import Writable
from ..collection import Collection
from .contents import Plugin, beside
from .places import place, place_in


def findings(plugin: Plugin, collections: Iterable[Collection]) -> Iterator[str]:
    """Describes each doubtful declaration of a plugin and its collections in a sentence with file and line."""
    for collection in collections:
        yield from unreachable(collection)
    if (directory := beside(plugin, "translations")) is not None:
        yield from unused_texts(directory)


def unreachable(collection: Collection) -> Iterator[str]:
    """Describes each state that an action starts from and that no row can have.

    A row begins with the column's default, or with a choice of the schema's field, and moves along the transitions.
    Yields nothing if the first states are unknown, or if the collection overrides `values_of`.
    """
    if type(collection).values_of is not Writable.values_of:
        return
    for column in collection.states:
        actions = [action for action in collection.actions if action.transitions and action.state == column]
        default = collection.model._meta.fields[column].default
        first = {*values_of(collection.body_schema.fields.get(column))} | ({default} if _is_state(default) else set())
        reachable = _reachable(first, actions)
        reported = set[Any]()
        for action in actions if first else ():
            for state in action.transitions:
                if state not in reachable and state not in reported:
                    reported.add(state)
                    yield (f"{_place_of(collection, action)}: no row is ever {state!r}, from which {action.name} "
                           f"starts: it is not the default of {column}, no transition leads to it, and it is no choice "
                           "of the schema's field")


def _is_state(default: object) -> bool:
    return default is not None and not callable(default)


def _reachable(first: set[Any], actions: Iterable[Action]) -> set[Any]:
    """Returns the first states and every state that the transitions of these actions lead to from them."""
    steps = [step for action in actions for step in action.transitions.items()]
    states = set(first)
    while next_states := {end for start, end in steps if start in states} - states:
        states |= next_states
    return states


def _place_of(collection: Collection, action: Action) -> str:
    """Returns the `file:line` of an action: of its method, or of the attribute that `transition` made."""
    if action.method.__module__ != actions.__name__:
        return place(action.method)
    name = next(name for name in dir(type(collection))
                if getattr(getattr(type(collection), name), "action", None) is action)
    return place_in(type(collection), name)


def unused_texts(directory: Path) -> Iterator[str]:
    """Describes each text in a package's translations that is in no file of the package or of Gatepost."""
    quoted, others = _texts_of(_whole_package(directory.parent))
    for file in sorted(directory.glob("*.po")):
        for line, text in text_ids(file):
            if text not in quoted and text not in others:
                yield f"{file}:{line}: no file of the package has this text, so that nothing says it: {text!r}"


def _whole_package(folder: Path) -> list[Path]:
    """Lists the files of the folder's outermost package; only the folder's own files if it is not a package."""
    if not (folder / "__init__.py").is_file():
        return sorted(folder.glob("*"))
    while (folder.parent / "__init__.py").is_file():
        folder = folder.parent
    return sorted(folder.rglob("*"))


def _texts_of(package: Iterable[Path]) -> tuple[frozenset[str], str]:
    """Returns the string constants of a package and the texts of Gatepost, and the joined text of its templates."""
    quoted = {text for file in SHIPPED.iterdir() if file.name.endswith(".po") for _, text in text_ids(file)}
    templates = []
    for file in package:
        if file.suffix == ".py":
            with suppress(SyntaxError, ValueError):
                quoted |= {node.value for node in ast.walk(ast.parse(file.read_bytes()))
                           if isinstance(node, ast.Constant) and isinstance(node.value, str)}
        elif file.suffix in (".html", ".jinja", ".j2", ".txt"):
            templates.append(file.read_text(encoding="utf-8", errors="replace"))
    return frozenset(quoted), "\n".join(templates)
