"""The entry points by which packages bring plugins: their groups, and who is installed, without an import."""

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
    """The entry points of a group. What is installed is read once per process and search path."""
    return _installed(group, tuple(sys.path))


@cache
def _installed(group: str, path: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    return tuple(entry_points(group=group))


def not_imported(extra: Iterable[str] = ()) -> Plugins:
    """The names of the plugins that are installed, and `extra`; which settings they declare is not known."""
    return dict.fromkeys((*(name_of(point.name) for point in points_of(COLLECTIONS)), *extra))
