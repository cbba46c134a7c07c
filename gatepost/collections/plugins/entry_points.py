"""Entry points of plugins: their groups, and those that are installed. Imports no plugin."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from settings import Plugins
from settings.plugins import name_of

COLLECTIONS = "gatepost.collections"
COMMANDS = "gatepost.commands"


def points_of(group: str) -> tuple[EntryPoint, ...]:
    """Returns the entry points of a group. They are read once per process and search path."""
    return _installed(group, tuple(sys.path))


@cache
def _installed(group: str, path: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    return tuple(entry_points(group=group))


def not_imported(extra: Iterable[str] = ()) -> Plugins:
    """Returns the names of installed plugins and of `extra`, each with None: their settings are not known."""
    return dict.fromkeys((*(name_of(point.name) for point in points_of(COLLECTIONS)), *extra))
