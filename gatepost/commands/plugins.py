"""Commands of plugins: entry points of the group `gatepost.commands`, each imported when it is called.

An error of a plugin affects only its own command, because `gatepost --help` and other commands do not import it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property
from importlib.metadata import EntryPoint

import click

from gatepost.collections.plugins.entry_points import COMMANDS, points_of
from gatepost.commands.features import Extensible, declared
from gatepost.commands.lazy import Deferred

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


class Commands(Extensible):
    """The commands of Gatepost and its features, followed by those of plugins."""

    @property
    def words(self) -> str:
        return ""

    @cached_property
    def clash(self) -> str | None:
        """Describes the first conflict or invalid name of a plugin's command; None if there is none."""
        return next(filter(None, map(self.clash_of, self._of_plugins)), None)

    def clash_of(self, name: str) -> str | None:
        """Describes the conflict or invalid name of this plugin's command; None if there is none."""
        points = self._of_plugins[name]
        names = ", ".join(map(_described, points))
        if name in self.commands or name in declared(""):
            return f"{names}: gatepost {name} is a command of Gatepost itself; choose another name"
        if len(points) > 1:
            return f"{names}: the command gatepost {name} is brought by each of them"
        if not _NAME.fullmatch(name):
            return f"{names}: the name of a command has small letters, digits and single hyphens"
        return None

    @cached_property
    def _of_plugins(self) -> dict[str, list[EntryPoint]]:
        points: dict[str, list[EntryPoint]] = {}
        for point in points_of(COMMANDS):
            points.setdefault(point.name, []).append(point)
        return points

    def list_commands(self, ctx: click.Context) -> list[str]:
        own = super().list_commands(ctx)
        of_plugins = (name for name in self._of_plugins if name not in own and _NAME.fullmatch(name))
        return [*own, *sorted(of_plugins)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if (own := super().get_command(ctx, cmd_name)) is not None:
            return own
        points = self._of_plugins.get(cmd_name)
        return None if points is None else _OfPlugin(cmd_name, points)


class _OfPlugin(Deferred):
    """The command of a plugin."""

    def __init__(self, name: str, points: Iterable[EntryPoint]) -> None:
        self._points = list(points)
        package = self._points[0].dist.name if self._points[0].dist is not None else self._points[0].module
        super().__init__(name, short_help=f"Of the plugin {package}.")

    def load(self) -> click.Command:
        point, *others = self._points
        if others:
            names = ", ".join(map(_described, self._points))
            raise click.ClickException(f"{names}: the command gatepost {self.name} is brought by each of them")
        return _import_command(point)


def wrong_with_command(point: EntryPoint) -> str | None:
    """Imports the command of a plugin, and describes why it cannot be used; None if it can."""
    root = click.get_current_context().find_root().command
    if isinstance(root, Commands) and (reason := root.clash_of(point.name)) is not None:
        return reason
    try:
        _import_command(point)
    except click.ClickException as error:
        return error.message
    return None


def refuse_clashes() -> None:
    """Raises ClickException if a plugin's command has the name of another, or an invalid one."""
    root = click.get_current_context().find_root().command
    if isinstance(root, Commands) and root.clash is not None:
        raise click.ClickException(root.clash)


def _import_command(point: EntryPoint) -> click.Command:
    try:
        command = point.load()
    except Exception as error:
        raise click.ClickException(f"{_described(point)} cannot be imported: {error}") from error
    if not isinstance(command, click.Command):
        raise click.ClickException(f"{_described(point)} is no command, and no group, of click")
    return command


def _described(point: EntryPoint) -> str:
    return f"plugin command {point.name} ({point.value})"
