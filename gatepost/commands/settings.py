"""`gatepost settings`: shows every setting with its value and meaning."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import click

from gatepost.collections.plugins.shipped import features
from gatepost.commands.context import load_settings, plugin_settings
from gatepost.commands.printing import echo
from settings import DECLARED, REDACTED, Settings
from settings.providers import shown

_PASSWORD = re.compile(r"([^=]*passw(?:or)?d)=.*", re.DOTALL | re.IGNORECASE)  # a parameter of libpq or of Redis


@click.command()
def settings() -> None:
    """Show every setting, its value and its meaning.

    Values come from GATEPOST_* in the environment and from settings.toml in the instance. The setting limit of the
    plugin notes is notes.limit here, GATEPOST_NOTES_LIMIT in the environment, and limit in the table [notes] of the
    file. Secrets are not shown. On SIGHUP a running service applies the settings marked [live]; others need a restart.

    \b
    Example: GATEPOST_PORT=9000 gatepost settings
    """
    broken: click.ClickException | None = None
    try:
        loaded = load_settings(plugin_settings())
    except click.ClickException as error:
        # If only a plugin is broken, Gatepost's own settings can still be shown.
        loaded, broken = load_settings(), error
    for name, value, help in describe(loaded):
        echo(f" = {value}", mark=click.style(name, bold=True))
        echo(f"    {help}")
    if absent := [name for name in features() if name in loaded.without]:
        echo(f"Left out, with their settings: {', '.join(absent)}.")
    if broken is not None:
        raise broken


def describe(settings: Settings) -> Iterator[tuple[str, str, str]]:
    """Yields (name, value as text, help) of every setting. Secrets are redacted.

    A plugin's setting is named `notes.limit`. Settings of absent features are skipped.
    """
    absent = {setting for name, feature in features().items() if name in settings.without
              for setting in feature.settings}
    for name, declared in DECLARED.items():
        if name in absent:
            continue
        value = getattr(settings, name)
        if declared.metadata["secret"] and value:
            value = shown(value, REDACTED) if isinstance(value, Mapping) else without_password(value)
        yield name, _as_text(value), _help(declared.metadata["help"], live=declared.metadata["live"])
    for name, setting in settings.of_plugins.declared.items():
        value = settings.of_plugins.values[setting]
        # A secret URL is redacted as a whole, because the path of a webhook is often its secret.
        yield name, REDACTED if setting.secret and value else _as_text(value), _help(setting.help, live=setting.live)


def _help(help: str, *, live: bool) -> str:
    return f"{help}{' [live]' if live else ''}"


def without_password(value: str) -> str:
    """Returns a URL with its password redacted; `REDACTED` for other text."""
    # `urlsplit` cannot parse a Postgres URL with several hosts, which RFC 3986 does not allow.
    front, mark, query = value.partition("?")
    scheme, separator, rest = front.partition("://")
    if not separator:
        return REDACTED
    authority, slash, path = rest.partition("/")
    user, at, hosts = authority.rpartition("@")
    name, colon, _ = user.partition(":")
    parameters = "&".join(_PASSWORD.sub(rf"\1={REDACTED}", parameter) for parameter in query.split("&"))
    return f"{scheme}://{name}{colon}{REDACTED if colon else ''}{at}{hosts}{slash}{path}{mark}{parameters}"


def _as_text(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={_as_text(inner)}" for key, inner in sorted(value.items()))
    return " ".join(value) if isinstance(value, tuple) else str(value)
