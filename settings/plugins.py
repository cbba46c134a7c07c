"""Settings that plugins declare: `Setting`, the names of plugins' settings, and their current values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, Self, TypeVar

from marshmallow import ValidationError, fields

from settings import kinds
from settings.sources import PREFIX, SettingError

T = TypeVar("T")
_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")


class HasSettings(Protocol):
    """An object with current settings: the services of an app, or an open instance."""

    @property
    def settings(self) -> Any: ...


class HasServices(Protocol):
    """An object with the services of an app: a call or a task."""

    @property
    def services(self) -> Any: ...


class Setting(Generic[T]):
    """One setting of a plugin, declared as a variable of its module; `of` returns its value.

    name     small letters, digits and single underscores: `limit` of the plugin `notes` is `GATEPOST_NOTES_LIMIT`
    default  its value if no source has one
    field    the marshmallow field that reads and checks a value; its error message describes the allowed values
    help     one line about it; for a number, it names the unit
    secret   true if its value is never shown
    live     true if a running service takes over a new value from settings.toml
    """

    def __init__(self, name: str, default: T, field: fields.Field[Any], help: str, *, secret: bool = False,
                 live: bool = False) -> None:
        """Declares a setting. Raises ValueError for an invalid name or default, or for a help that is not one line."""
        if not _NAME.fullmatch(name):
            raise ValueError(f"the setting {name!r}: a name has small letters, digits and single underscores")
        if not help.strip() or "\n" in help:
            raise ValueError(f"the setting {name!r}: its help is one line")
        try:
            field.deserialize(default)
        except ValidationError as error:
            raise ValueError(f"the setting {name!r}: the default {default!r} is not allowed: {error}") from None
        self.name, self.default, self.field, self.help = name, default, field, help
        self.secret, self.live = secret, live

    def of(self, holder: HasServices | HasSettings) -> T:
        """Returns the current value. `asked` is a call, a task, the services or an open instance.

        Call it each time, because a live setting may change. Raises SettingError for a setting that is not a variable
        of a served plugin's module.
        """
        services: Any = getattr(holder, "services", holder)
        try:
            value: T = services.settings.of_plugins.values[self]
        except KeyError:
            raise SettingError(f"the setting {self.name!r} does not stand at the level of the module of a plugin that "
                               "is served, nor of one of its collections") from None
        return value

    # The same kinds of values as Gatepost's own settings.

    @staticmethod
    def whole(name: str, default: int, help: str, *, minimum: int, maximum: int,
              live: bool = False) -> Setting[int]:
        """Declares a setting for a whole number within these bounds."""
        return Setting(name, default, kinds.whole(minimum, maximum), help, live=live)

    @staticmethod
    def seconds(name: str, default: float, help: str, *, minimum: float, maximum: float,
                live: bool = False) -> Setting[float]:
        """Declares a setting for a number of seconds within these bounds."""
        return Setting(name, default, kinds.seconds(minimum, maximum), help, live=live)

    @staticmethod
    def switch(name: str, default: bool, help: str, *, live: bool = False) -> Setting[bool]:
        """Declares a setting for `on` or `off`."""
        return Setting(name, default, kinds.switch(), help, live=live)

    @staticmethod
    def choice(name: str, default: str, help: str, *, among: Iterable[str],
               live: bool = False) -> Setting[str]:
        """Declares a setting for one of some words."""
        return Setting(name, default, kinds.choice(*among), help, live=live)

    @staticmethod
    def text(name: str, default: str, help: str, *, pattern: str = r".*",
             allowed: str = "text of one line", secret: bool = False, live: bool = False) -> Setting[str]:
        """Declares a setting for text that matches a whole regular expression; `allowed` describes it in words."""
        return Setting(name, default, kinds.text(pattern, allowed), help, secret=secret, live=live)

    @staticmethod
    def url(name: str, default: str, help: str, *, schemes: Iterable[str] = ("https",),
            secret: bool = False, live: bool = False) -> Setting[str]:
        """Declares a setting for a URL of one of these schemes, or the empty text."""
        return Setting(name, default, kinds.url_of(*schemes), help, secret=secret, live=live)


def name_of(entry_point: str) -> str:
    """Returns the settings name of a plugin from its entry point: `my_notes` for `my-notes`."""
    return re.sub(r"[^a-z0-9]+", "_", entry_point.lower()).strip("_")


Plugins = Mapping[str, Mapping[str, Setting[Any]] | None]
"""Name of a plugin → its settings by name; None: the plugin is not imported, and values for it are not checked."""


@dataclass(frozen=True)
class PluginSettings:
    """The current values of plugins' settings.

    declared  name in settings.toml and `gatepost settings`, such as `notes.limit` → setting
    values    setting → its value
    """

    declared: Mapping[str, Setting[Any]] = field(default_factory=dict)
    values: Mapping[Setting[Any], Any] = field(default_factory=dict)

    @classmethod
    def of(cls, plugins: Plugins) -> Self:
        """Returns the settings of these plugins with their defaults."""
        declared = {f"{plugin}.{name}": setting for plugin, settings in sorted(plugins.items())
                    for name, setting in (settings or {}).items()}
        return cls(declared, {setting: setting.default for setting in declared.values()})

    def changed(self, other: PluginSettings) -> dict[str, Any]:
        """Returns name → the other value, for each setting with another value in `other`."""
        return {name: other.values[setting] for name, setting in self.declared.items()
                if setting in other.values and other.values[setting] != self.values[setting]}

    def with_values(self, new: Mapping[str, Any]) -> PluginSettings:
        """Returns a copy with new values of some settings, by name."""
        return PluginSettings(self.declared, {**self.values, **{self.declared[name]: new[name] for name in new}})


def flattened(source: Mapping[str, Any], plugins: Plugins) -> dict[str, Any]:
    """Returns a source with each table of a plugin, `notes = {limit = 5}`, replaced by names such as `notes.limit`."""
    flat: dict[str, Any] = {}
    for name, raw in source.items():
        if name in plugins and isinstance(raw, Mapping):
            flat |= {f"{name}.{entry}": value for entry, value in raw.items()}
        else:
            flat[name] = raw
    return flat


def imported(source: Mapping[str, Any], plugins: Plugins, between: str, kept_names: Iterable[str]) -> dict[str, Any]:
    """Returns a source without the settings of plugins that are not imported.

    `between` is the separator after a plugin's name. Names in `known` are kept.
    """
    unknown = tuple(f"{plugin}{between}" for plugin, settings in plugins.items() if settings is None)
    return {name: raw for name, raw in source.items() if name in kept_names or not name.startswith(unknown)}


def clash(plugins: Plugins, ours: Iterable[str]) -> str | None:
    """Describes the first conflict of names among these plugins' settings and Gatepost's own (`ours`); else None."""
    used = {name: f"Gatepost's setting {name}" for name in ours}
    for plugin, settings in plugins.items():
        if settings and plugin in used:
            return f"the table [{plugin}] of its settings would be called like {used[plugin]}"
        for setting in settings or ():
            variable = f"{plugin}_{setting}"
            if variable in used:
                return f"{PREFIX}{variable.upper()} would be its setting {setting}, and {used[variable]}"
            used[variable] = f"the setting {setting} of the plugin {plugin}"
    return None
