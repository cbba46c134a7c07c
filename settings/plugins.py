"""Settings that plugins declare: `Setting`, what is declared under which names, and the values in force."""

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
    """Knows the values in force, as the services of an app and an open instance do."""

    @property
    def settings(self) -> Any: ...


class HasServices(Protocol):
    """Knows the services of an app, as a call and a task do."""

    @property
    def services(self) -> Any: ...


class Setting(Generic[T]):
    """One setting of a plugin, at the level of its module; `of` tells its value.

    name     small letters, digits and single underscores: `limit` of the plugin `notes` is `GATEPOST_NOTES_LIMIT`
    default  its value where no source has one
    field    the marshmallow field that reads and checks a value; the sentence of its error says what is allowed
    help     one line about it; a number's names its unit
    secret   whether its value is shown nowhere
    live     whether a running service takes a new value over from settings.toml
    """

    def __init__(self, name: str, default: T, field: fields.Field[Any], help: str, *, secret: bool = False,
                 live: bool = False) -> None:
        """Raises ValueError for a name of another form, a default that is not allowed, or no help."""
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

    def of(self, asked: HasServices | HasSettings) -> T:
        """The value in force, for whoever has a call, a task, the services or an open instance.

        Ask each time: a live one may have changed. Raises SettingError for a setting that stands in no plugin's module.
        """
        services: Any = getattr(asked, "services", asked)
        try:
            value: T = services.settings.of_plugins.values[self]
        except KeyError:
            raise SettingError(f"the setting {self.name!r} does not stand at the level of the module of a plugin that "
                               "is served, nor of one of its collections") from None
        return value

    # The kinds of values that Gatepost's own settings have.

    @staticmethod
    def whole(name: str, default: int, help: str, *, minimum: int, maximum: int,
              live: bool = False) -> Setting[int]:
        """A whole number within these bounds."""
        return Setting(name, default, kinds.whole(minimum, maximum), help, live=live)

    @staticmethod
    def seconds(name: str, default: float, help: str, *, minimum: float, maximum: float,
                live: bool = False) -> Setting[float]:
        """A number of seconds within these bounds."""
        return Setting(name, default, kinds.seconds(minimum, maximum), help, live=live)

    @staticmethod
    def switch(name: str, default: bool, help: str, *, live: bool = False) -> Setting[bool]:
        """`on` or `off`."""
        return Setting(name, default, kinds.switch(), help, live=live)

    @staticmethod
    def choice(name: str, default: str, help: str, *, among: Iterable[str],
               live: bool = False) -> Setting[str]:
        """One of some words."""
        return Setting(name, default, kinds.choice(*among), help, live=live)

    @staticmethod
    def text(name: str, default: str, help: str, *, pattern: str = r".*",
             allowed: str = "text of one line", secret: bool = False, live: bool = False) -> Setting[str]:
        """Text that a regular expression matches as a whole; `allowed` says in words what that is."""
        return Setting(name, default, kinds.text(pattern, allowed), help, secret=secret, live=live)

    @staticmethod
    def url(name: str, default: str, help: str, *, schemes: Iterable[str] = ("https",),
            secret: bool = False, live: bool = False) -> Setting[str]:
        """A URL of one of these schemes, or nothing."""
        return Setting(name, default, kinds.url_of(*schemes), help, secret=secret, live=live)


def name_of(entry_point: str) -> str:
    """What a plugin is called among the settings: its entry point's name, `my-notes` as `my_notes`."""
    return re.sub(r"[^a-z0-9]+", "_", entry_point.lower()).strip("_")


Plugins = Mapping[str, Mapping[str, Setting[Any]] | None]
"""Name of a plugin → its settings by name, or None where the plugin is not imported: what is said of it is not judged.
"""


@dataclass(frozen=True)
class PluginSettings:
    """The values in force; `declared` tells each setting as settings.toml and `gatepost settings` name it:
    `notes.limit`."""

    declared: Mapping[str, Setting[Any]] = field(default_factory=dict)
    values: Mapping[Setting[Any], Any] = field(default_factory=dict)

    @classmethod
    def of(cls, plugins: Plugins) -> Self:
        """The defaults."""
        declared = {f"{plugin}.{name}": one for plugin, settings in sorted(plugins.items())
                    for name, one in (settings or {}).items()}
        return cls(declared, {one: one.default for one in declared.values()})

    def changed(self, other: PluginSettings) -> dict[str, Any]:
        """The settings that have another value in `other`, by name, with that value."""
        return {name: other.values[one] for name, one in self.declared.items()
                if one in other.values and other.values[one] != self.values[one]}

    def with_values(self, new: Mapping[str, Any]) -> PluginSettings:
        """The same with other values of some, by name."""
        return PluginSettings(self.declared, {**self.values, **{self.declared[name]: new[name] for name in new}})


def flattened(source: Mapping[str, Any], plugins: Plugins) -> dict[str, Any]:
    """A source with the tables of plugins, `notes = {limit = 5}`, as names of their own: `notes.limit`."""
    flat: dict[str, Any] = {}
    for name, raw in source.items():
        if name in plugins and isinstance(raw, Mapping):
            flat |= {f"{name}.{entry}": value for entry, value in raw.items()}
        else:
            flat[name] = raw
    return flat


def imported(source: Mapping[str, Any], plugins: Plugins, between: str, known: Iterable[str]) -> dict[str, Any]:
    """A source less what it says of plugins that are not imported; `between` stands behind a plugin's name. The names
    of `known` settings stay."""
    unknown = tuple(f"{plugin}{between}" for plugin, settings in plugins.items() if settings is None)
    return {name: raw for name, raw in source.items() if name in known or not name.startswith(unknown)}


def clash(plugins: Plugins, ours: Iterable[str]) -> str | None:
    """Why the settings of these plugins cannot be told apart from each other, or from Gatepost's own (`ours`), if so.
    """
    taken = {name: f"Gatepost's setting {name}" for name in ours}
    for plugin, settings in plugins.items():
        if settings and plugin in taken:
            return f"the table [{plugin}] of its settings would be called like {taken[plugin]}"
        for one in settings or ():
            variable = f"{plugin}_{one}"
            if variable in taken:
                return f"{PREFIX}{variable.upper()} would be its setting {one}, and {taken[variable]}"
            taken[variable] = f"the setting {one} of the plugin {plugin}"
    return None
