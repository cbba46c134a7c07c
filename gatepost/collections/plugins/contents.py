"""What a plugin is made of: what stands in its module, and the files beside it."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType
from typing import Any

from flask import Blueprint

from models.migrate import misnamed
from policies import SHIPPED
from settings.plugins import name_of

from ...http.protocol.messages import Unreadable, read_texts
from ...jobs.hooks import hooks_of
from ..collection import Collection
from ..registry import Registry
from ..routes import Routes
from .declarations import conditions_of, features_of, functions_of, settings_of

Plugin = ModuleType | type[Collection] | Routes | Blueprint  # what an entry point names: a package is a module, too


class PluginError(Exception):
    """A plugin cannot be used; the sentence names it and says why."""


def contents(plugin: Plugin) -> list[Any]:
    """The routes and collections of a module, or of a package, whose collections may stand in modules of its own."""
    if not isinstance(plugin, ModuleType):
        return [plugin]
    return [found for found in vars(plugin).values()
            if isinstance(found, Routes)
            or (isinstance(found, Blueprint) and _is_of(found.import_name, plugin))
            or (isinstance(found, type) and issubclass(found, Collection) and _is_of(found.__module__, plugin))]


def _is_of(module: str, plugin: ModuleType) -> bool:
    """Whether a module belongs to a plugin. The module `endpoints` of a package speaks for the whole package."""
    return f"{module}.".startswith(f"{plugin.__name__.removesuffix('.endpoints')}.")


def policy_of(source: str, plugin: Plugin) -> dict[str, Path]:
    """The CSV files that stand beside a plugin's module, called like its collections, routes and Blueprints."""
    shipped = {}
    for found in contents(plugin):
        file = Path(_module_of(found).__file__ or "").with_name(f"{found.name}.csv")
        if not file.is_file():
            if isinstance(found, type):
                raise PluginError(f"{source}: {file.name} is missing; a collection ships its rules beside its module")
            continue  # routes may need none: what is public, or left to the administrator
        if SHIPPED.joinpath(file.name).is_file():
            raise PluginError(f"{source}: {file.name} is a policy file of Gatepost itself; choose another name")
        shipped[file.name] = file
    return shipped


def migrations_of(source: str, plugin: Plugin) -> dict[str, Path]:
    """The folder `migrations` beside a plugin's module; its history is called like the package. Raises `PluginError`
    for a file in it that would not be run, or in no certain order."""
    module = _module_of(plugin)
    name = (module.__package__ or module.__name__).replace(".", "_").lower()
    directory = beside(plugin, "migrations")
    if directory is not None and (reason := misnamed(directory)) is not None:
        raise PluginError(f"{source}: {reason}")
    return {} if directory is None else {name: directory}


def beside(plugin: Plugin, name: str) -> Path | None:
    """The folder of that name beside a plugin's module, if there is one."""
    directory = Path(_module_of(plugin).__file__ or "").with_name(name)
    return directory if directory.is_dir() else None


def translations_of(source: str, plugin: Plugin) -> Path | None:
    """The folder `translations` beside a plugin's module. Raises `PluginError` for a file in it that cannot be read."""
    directory = beside(plugin, "translations")
    for file in () if directory is None else sorted(directory.glob("*.po")):
        try:
            read_texts(file, file.stem)
        except Unreadable as error:
            raise PluginError(f"{source}: {error}") from error
    return directory


def place_of(plugin: Plugin) -> str:
    """What `pkgutil.resolve_name` finds the plugin by: `package.module`, or `package.module:Collection`.

    Raises `PluginError` for routes that do not stand at the level of their module.
    """
    if isinstance(plugin, ModuleType):
        return plugin.__name__
    if isinstance(plugin, type):
        return f"{plugin.__module__}:{plugin.__qualname__}"
    module = _module_of(plugin)
    name = next((name for name, found in vars(module).items() if found is plugin), None)
    if name is None:
        raise PluginError(f"{module.__name__}: {plugin.name!r} does not stand at the level of the module")
    return f"{module.__name__}:{name}"


def _module_of(plugin: Plugin) -> ModuleType:
    if isinstance(plugin, ModuleType):
        return plugin
    return importlib.import_module(plugin.import_name if isinstance(plugin, Blueprint) else plugin.__module__)


def modules_of(plugin: Plugin) -> list[ModuleType]:
    """The module that a plugin is, or stands in, and those of what it holds."""
    names = (_module_of(found).__name__ for found in contents(plugin))
    return [_module_of(plugin), *(importlib.import_module(name) for name in dict.fromkeys(names))]


def serves(registry: Registry, plugin: Plugin) -> bool:
    """Whether all that the plugin declares is here already."""
    routes = registry.routes.values()
    known = [*map(type, registry.collections.values()), *routes, *(found.made_of for found in routes),
             *registry.functions.values(), *registry.conditions.values(), *registry.hooks.values(),
             *registry.features, *(one for settings in registry.settings.values() for one in settings.values())]
    modules = modules_of(plugin)
    return all(found in known for found in (*contents(plugin), *functions_of(modules), *conditions_of(modules),
                                            *hooks_of(modules), *features_of(modules), *settings_of(modules)))


def named(plugin: Plugin) -> str:
    """What a plugin without an entry point is called among the settings: the last part of its module's name."""
    return name_of(_module_of(plugin).__name__.rpartition(".")[2])
