"""Which policy files a command means, and the words to read them by; without the app, without a database."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import click

from blueprints.commands.context import load_settings, show_path
from policies import SHIPPED, Policy, PolicyError, Vocabulary, load

SHIPPED_WORD = "shipped"


def folder(directory: Path | None = None) -> Path:
    """The folder that was named, or the instance's. Raises ClickException when there is none."""
    found = directory or load_settings().policies
    if not found.is_dir():
        hint = "" if directory else " Name a folder, or run: gatepost init"
        raise click.ClickException(f"There is no folder {show_path(found)}.{hint}")
    return found


def named(word: str) -> Path:
    """A folder, or the one of the word `shipped`."""
    return SHIPPED if word == SHIPPED_WORD else folder(Path(word))


def vocabulary() -> Vocabulary:
    """The words of the installed collections. Imported late: other commands must run when a plugin cannot."""
    try:
        from blueprints import vocabulary as words
    except ImportError as error:
        raise click.ClickException(f"The collections cannot be read: {error}") from error
    return words()


def plugins() -> Mapping[str, Path]:
    """The rules that plugins ship, by file name."""
    import blueprints

    rules: Callable[[], Mapping[str, Path]] = getattr(blueprints, "plugin_rules", dict)
    return rules()


def shipped() -> dict[str, Path]:
    """The shipped policy files by name."""
    return {path.name: path for path in sorted((*SHIPPED.glob("*.csv"), *SHIPPED.glob("*.conf")))}


def policy_in(place: Path) -> Policy:
    """The policy of a folder. Raises ClickException with every finding when it cannot be used."""
    try:
        return load(place, vocabulary(), plugins=plugins())
    except PolicyError as error:
        raise click.ClickException(f"{show_path(place)} cannot be used:\n{error}") from None
