"""Settings and installed plugins for commands, and their errors as sentences. `instance` adds the database."""

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

TENANT = click.option("--tenant", metavar="NAME", help="The default tenant unless given.")


def password_file(option: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """An option that names a file with a password."""
    return click.option(option, type=click.File(encoding="utf-8"), metavar="F",
                        help="Read the password from F (- is standard input) instead of making one up.")


def address(text: str) -> str:
    """An e-mail address in the spelling that is stored. Raises the sentence for one that no account can have."""
    found = normalize(text.strip())
    if found is None or not is_visible(found):
        raise click.ClickException(f"{text!r} is not an e-mail address.")
    return found


def load_settings(plugins: Plugins | None = None, /, **overrides: Any) -> Settings:
    """The settings in force; options that were not given (None) override nothing. `plugins` declare further ones;
    without them, no plugin is imported, and what is said of their settings is not judged."""
    try:
        return Settings.load(overrides={name: value for name, value in overrides.items() if value is not None},
                             plugins=not_imported() if plugins is None else plugins)
    except SettingError as error:
        raise click.ClickException(str(error)) from None


def plugin_settings() -> Plugins:
    """Settings that installed plugins declare. Raises the sentence about a plugin that is broken."""
    return registry().settings if not_imported() else {}


def migrations() -> Mapping[str, Path]:
    """The directories of migrations, shipped and of plugins. Raises the sentence about a plugin that is broken."""
    return registry().migrations


def registry(*, whole: bool = False) -> Registry:
    """All that is served, also by plugins; `whole`: and what the setting `without` names, whose rows there may be.

    Raises the sentence about a plugin that is broken, and about what cannot be left out.
    """
    # Imported here: commands that need no collection do without a second of imports.
    from gatepost.collections.plugins.contents import PluginError
    from gatepost.collections.plugins.discovery import discover
    try:
        return discover(without=() if whole else load_settings().without)
    except (PluginError, SettingError) as error:
        raise click.ClickException(str(error)) from error


def show_path(path: Path) -> str:
    """A path as it is typed in the current folder."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
