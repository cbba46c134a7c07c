"""The entry points by which packages bring plugins: their groups, and who is installed, without an import."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import entry_points

from settings import Plugins
from settings.plugins import name_of

COLLECTIONS = "gatepost.collections"
COMMANDS = "gatepost.commands"


def not_imported(extra: Iterable[str] = ()) -> Plugins:
    """The names of the plugins that are installed, and `extra`; which settings they declare is not known."""
    return dict.fromkeys((*(name_of(point.name) for point in entry_points(group=COLLECTIONS)), *extra))
