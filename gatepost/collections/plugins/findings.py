"""Declarations that a service starts with, and that hardly mean what their author meant."""

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
    """A sentence, with file and line, about each of them in a plugin and in its collections."""
    found = list(collections)
    for collection in found:
        yield from unreachable(collection)
    if (directory := beside(plugin, "translations")) is not None:
        yield from unused_texts(directory)


def unreachable(collection: Collection) -> Iterator[str]:
    """A sentence for each state that an action starts from and that no row is ever in.

    A row begins in the default of the column, or in a choice of the schema's field, which code may set, and moves along
    the transitions. Where nothing says in what a row begins, or `values_of` knows the states, nothing is found.
    """
    if type(collection).values_of is not Writable.values_of:
        return
    for column in collection.states:
        moving = [found for found in collection.actions if found.transitions and found.state == column]
        default = collection.model._meta.fields[column].default
        known = {*values_of(collection.body_schema.fields.get(column))} | ({default} if _is_state(default) else set())
        reached = _reached(known, moving)
        told = set[Any]()
        for found in moving if known else ():
            for state in found.transitions:
                if state not in reached and state not in told:
                    told.add(state)
                    yield (f"{_place_of(collection, found)}: no row is ever {state!r}, from which {found.name} starts: "
                           f"it is not the default of {column}, no transition leads to it, and it is no choice of the "
                           "schema's field")


def _is_state(default: object) -> bool:
    return default is not None and not callable(default)


def _reached(known: set[Any], moving: Iterable[Action]) -> set[Any]:
    """The states in which a row may begin, and those to which the transitions of these actions lead from there."""
    steps = [step for found in moving for step in found.transitions.items()]
    reached = set(known)
    while more := {end for start, end in steps if start in reached} - reached:
        reached |= more
    return reached


def _place_of(collection: Collection, found: Action) -> str:
    """Where an action is declared: its method, or the attribute that `transition` has made."""
    if found.method.__module__ != actions.__name__:
        return place(found.method)
    name = next(name for name in dir(type(collection))
                if getattr(getattr(type(collection), name), "action", None) is found)
    return place_in(type(collection), name)


def unused_texts(directory: Path) -> Iterator[str]:
    """A sentence for each text in the translations of a package that neither its files nor Gatepost's have."""
    quoted, others = _texts_of(_whole_package(directory.parent))
    for file in sorted(directory.glob("*.po")):
        for line, text in text_ids(file):
            if text not in quoted and text not in others:
                yield f"{file}:{line}: no file of the package has this text, so that nothing says it: {text!r}"


def _whole_package(folder: Path) -> list[Path]:
    """The files of the outermost package that a folder is in; of a folder that is no package, its own files alone."""
    if not (folder / "__init__.py").is_file():
        return sorted(folder.glob("*"))
    while (folder.parent / "__init__.py").is_file():
        folder = folder.parent
    return sorted(folder.rglob("*"))


def _texts_of(package: Iterable[Path]) -> tuple[frozenset[str], str]:
    """Every text in quotes in the modules of a package, and what Gatepost itself says; its templates as they are."""
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
