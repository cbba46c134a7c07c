"""`gatepost plugin list`: the contents of the installed plugins, and the errors of those that cannot be used."""

from __future__ import annotations

import sys
from contextlib import ExitStack

import click
from playhouse.migrations import MigrationError

from gatepost.collections.plugins import tables
from gatepost.collections.plugins.contents import PluginError
from gatepost.collections.plugins.installed import Installed, installed
from gatepost.commands.context import load_settings
from gatepost.commands.instance import database_of, sentences
from gatepost.commands.plugins import wrong_with_command
from gatepost.commands.printing import echo, visible
from models.engine.database import Database
from models.migrate import pending, written
from settings import SettingError


@click.command("list")
def list_command() -> None:
    """List the installed plugins and their contents.

    If a plugin cannot be used, it prints the reason and exits with 1. It also names unused states and translations, and
    migrations that are not applied to the instance.

    \b
    Example: gatepost plugin list
    """
    settings = load_settings()
    try:
        plugins = installed(settings.without)
    except SettingError as error:
        raise click.ClickException(str(error)) from error
    if not plugins:
        echo("No plugin is installed. Begin one: gatepost plugin new NAME")
        return
    with ExitStack() as opened:
        database: Database | None = None
        if settings.secret_file.exists():
            database = opened.enter_context(database_of(settings))
            opened.enter_context(sentences(database))
            opened.enter_context(database.connected())
        broken = [_show(plugin, database) for plugin in plugins]
    sys.exit(int(any(broken)))


def _show(plugin: Installed, database: Database | None) -> bool:
    """Prints the contents and the errors of a plugin. True if something cannot be used."""
    echo(f" {plugin.version}", mark=click.style(visible(plugin.name), bold=True))
    for kind, names in (plugin.brings or {}).items():
        _line(kind, names)
    _line("commands", tuple(point.name for point in plugin.commands))
    faults = [plugin.wrong] if plugin.wrong is not None else []
    try:
        names, waiting = _migrations(plugin, database)
        _line("migrations", names)
        if database is not None and not waiting:
            tables.check(database, plugin.collections)
    except (MigrationError, PluginError) as error:
        faults.append(str(error))
    faults += filter(None, map(wrong_with_command, plugin.commands))
    for sentence in faults:
        echo(f"  cannot be used: {sentence}")
    for sentence in plugin.findings:
        echo(f"  finding: {sentence}")
    return bool(faults)


def _line(kind: str, names: tuple[str, ...]) -> None:
    if names:
        echo(f"  {kind:11}  {', '.join(names)}")


def _migrations(plugin: Installed, database: Database | None) -> tuple[tuple[str, ...], bool]:
    """Returns the migrations, with their state if there is a database, and True if one is not applied."""
    directories = plugin.migrations or {}
    waiting = [] if database is None else pending(database, directories)
    applied = "" if database is None else " (applied)"
    return (tuple(f"{name}{' (not applied: gatepost migrate)' if name in waiting else applied}"
                  for name in written(directories)), bool(waiting))
