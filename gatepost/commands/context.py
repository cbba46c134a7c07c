"""Settings and installed plugins for commands. Errors are raised as ClickException with a sentence.

`instance` adds the database.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gatepost.collections.plugins.entry_points import not_imported
from gatepost.http.schemas.visible import is_visible
from models.records.mailboxes import normalize
from settings import Plugins, SettingError, Settings

if TYPE_CHECKING:
    from gatepost.collections.registry import Registry

TENANT = click.option("--tenant", metavar="NAME", help="Name of the tenant. By default the default tenant.")


def password_file(option: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Returns an option that names a file with a password."""
    return click.option(option, type=click.File(encoding="utf-8"), metavar="F",
                        help="Read the password from F (- is standard input) instead of generating one.")


def address(text: str) -> str:
    """Returns an e-mail address as it is stored. Raises ClickException for one that no account can have."""
    email = normalize(text.strip())
    if email is None or not is_visible(email):
        raise click.ClickException(f"{text!r} is not an e-mail address.")
    return email


def load_settings(plugins: Plugins | None = None, /, **overrides: Any) -> Settings:
    """Returns the settings. Overrides that are None are ignored. Raises ClickException.

    `plugins` declare further settings. If it is None, no plugin is imported, and values for plugins are not checked.
    """
    try:
        return Settings.load(overrides={name: value for name, value in overrides.items() if value is not None},
                             plugins=not_imported() if plugins is None else plugins)
    except SettingError as error:
        raise click.ClickException(str(error)) from None


def plugin_settings() -> Plugins:
    """Returns the settings that installed plugins declare. Raises ClickException for a broken plugin."""
    return registry().settings if not_imported() else {}


def migrations() -> Mapping[str, Path]:
    """Returns the directories of shipped migrations and of plugins'. Raises ClickException for a broken plugin."""
    return registry().migrations


def registry(*, whole: bool = False) -> Registry:
    """Returns the registry, plugins included. With `whole` it ignores the setting `without`.

    Raises ClickException for a broken plugin, and for a name in `without` that cannot be left out.
    """
    # Imported here, because these imports take a second and many commands need no collection.
    from gatepost.collections.plugins.contents import PluginError
    from gatepost.collections.plugins.discovery import discover
    try:
        return discover(without=() if whole else load_settings().without)
    except (PluginError, SettingError) as error:
        raise click.ClickException(str(error)) from error


def show_path(path: Path) -> str:
    """Returns a path relative to the current folder if it is inside; else as it is."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
