"""`gatepost settings`: what is set, and what it means."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import click

from gatepost.collections.plugins.shipped import features
from gatepost.commands.context import load_settings, plugin_settings
from gatepost.commands.printing import echo
from settings import DECLARED, REDACTED, Settings

_PASSWORD = re.compile(r"([^=]*passw(?:or)?d)=.*", re.DOTALL | re.IGNORECASE)  # a parameter of libpq or of Redis


@click.command()
def settings() -> None:
    """Show every setting, its value and its meaning.

    They come from GATEPOST_* in the environment and from settings.toml in the instance; notes.limit is of the plugin
    notes, GATEPOST_NOTES_LIMIT, or limit in the table [notes]. Secrets are not shown. A
    running service takes those marked [live] over from settings.toml when it gets SIGHUP; the others need a restart.

    \b
    Example: GATEPOST_PORT=9000 gatepost settings
    """
    broken: click.ClickException | None = None
    try:
        found = load_settings(plugin_settings())
    except click.ClickException as error:
        # What is wrong may be a plugin: Gatepost's own settings can be shown all the same.
        found, broken = load_settings(), error
    for name, value, help in describe(found):
        echo(f" = {value}", mark=click.style(name, bold=True))
        echo(f"    {help}")
    if absent := [name for name in features() if name in found.without]:
        echo(f"Left out, with their settings: {', '.join(absent)}.")
    if broken is not None:
        raise broken


def describe(settings: Settings) -> Iterator[tuple[str, str, str]]:
    """Name, value as text and help of every setting, those of a plugin as `notes.limit`; secrets are redacted. Settings
    of features that are left out are none."""
    absent = {setting for name, feature in features().items() if name in settings.without
              for setting in feature.settings}
    for name, declared in DECLARED.items():
        if name in absent:
            continue
        value = getattr(settings, name)
        if declared.metadata["secret"] and value:
            value = without_password(value)
        yield name, _shown(value), _help(declared.metadata["help"], live=declared.metadata["live"])
    for name, setting in settings.of_plugins.declared.items():
        value = settings.of_plugins.values[setting]
        # Also of a URL nothing is shown: the path of a webhook is often its secret.
        yield name, REDACTED if setting.secret and value else _shown(value), _help(setting.help, live=setting.live)


def _help(help: str, *, live: bool) -> str:
    return f"{help}{' [live]' if live else ''}"


def without_password(value: str) -> str:
    """A URL keeps its host, so that one can still tell where the rows are."""
    # Not `urlsplit`: several hosts of Postgres are no URL of RFC 3986.
    front, mark, query = value.partition("?")
    scheme, separator, rest = front.partition("://")
    if not separator:
        return REDACTED
    authority, slash, path = rest.partition("/")
    user, at, hosts = authority.rpartition("@")
    name, colon, _ = user.partition(":")
    shown = "&".join(_PASSWORD.sub(rf"\1={REDACTED}", each) for each in query.split("&"))
    return f"{scheme}://{name}{colon}{REDACTED if colon else ''}{at}{hosts}{slash}{path}{mark}{shown}"


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={inner}" for key, inner in sorted(value.items()))
    return " ".join(value) if isinstance(value, tuple) else str(value)
