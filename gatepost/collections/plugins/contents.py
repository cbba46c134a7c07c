"""The parts of a plugin: the declarations in its modules, and the files beside them."""

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

Plugin = ModuleType | type[Collection] | Routes | Blueprint  # the target of an entry point; a package is a module


class PluginError(Exception):
    """Error of a plugin that cannot be used. The message names it and has the reason."""


def contents(plugin: Plugin) -> list[Any]:
    """Lists the routes and collections of a module or package. A package may have its collections in submodules."""
    if not isinstance(plugin, ModuleType):
        return [plugin]
    return [value for value in vars(plugin).values()
            if isinstance(value, Routes)
            or (isinstance(value, Blueprint) and _is_of(value.import_name, plugin))
            or (isinstance(value, type) and issubclass(value, Collection) and _is_of(value.__module__, plugin))]


def _is_of(module: str, plugin: ModuleType) -> bool:
    """True if the module belongs to the plugin. If the plugin is a module `endpoints`, its package counts."""
    return f"{module}.".startswith(f"{plugin.__name__.removesuffix('.endpoints')}.")


def policy_of(source: str, plugin: Plugin) -> dict[str, Path]:
    """Returns the rule files beside a plugin's modules, by file name: one for each collection, routes or Blueprint.

    Raises `PluginError` if a collection has no file, or if a file has the name of a shipped one.
    """
    shipped = {}
    for content in contents(plugin):
        file = Path(_module_of(content).__file__ or "").with_name(f"{content.name}.csv")
        if not file.is_file():
            if isinstance(content, type):
                raise PluginError(f"{source}: {file.name} is missing; a collection ships its rules beside its module")
            continue  # routes need none if they are public, or if the administrator writes the rules
        if SHIPPED.joinpath(file.name).is_file():
            raise PluginError(f"{source}: {file.name} is a policy file of Gatepost itself; choose another name")
        shipped[file.name] = file
    return shipped


def migrations_of(source: str, plugin: Plugin) -> dict[str, Path]:
    """Returns {name of the history: folder `migrations` beside the module}; the name is that of the package.

    Raises `PluginError` for a file in the folder whose name gives no certain order.
    """
    module = _module_of(plugin)
    name = (module.__package__ or module.__name__).replace(".", "_").lower()
    directory = beside(plugin, "migrations")
    if directory is not None and (reason := misnamed(directory)) is not None:
        raise PluginError(f"{source}: {reason}")
    return {} if directory is None else {name: directory}


def beside(plugin: Plugin, name: str) -> Path | None:
    """Returns the folder of that name beside a plugin's module; None if there is none."""
    directory = Path(_module_of(plugin).__file__ or "").with_name(name)
    return directory if directory.is_dir() else None


def translations_of(source: str, plugin: Plugin) -> Path | None:
    """Returns the folder `translations` beside a plugin's module; None if there is none.

    Raises `PluginError` for a file in it that cannot be read.
    """
    directory = beside(plugin, "translations")
    for file in () if directory is None else sorted(directory.glob("*.po")):
        try:
            read_texts(file, file.stem)
        except Unreadable as error:
            raise PluginError(f"{source}: {error}") from error
    return directory


def place_of(plugin: Plugin) -> str:
    """Returns the plugin's name for `pkgutil.resolve_name`: `package.module`, or `package.module:Collection`.

    Raises `PluginError` for routes that are not a variable of their module.
    """
    if isinstance(plugin, ModuleType):
        return plugin.__name__
    if isinstance(plugin, type):
        return f"{plugin.__module__}:{plugin.__qualname__}"
    module = _module_of(plugin)
    name = next((name for name, value in vars(module).items() if value is plugin), None)
    if name is None:
        raise PluginError(f"{module.__name__}: {plugin.name!r} does not stand at the level of the module")
    return f"{module.__name__}:{name}"


def _module_of(plugin: Plugin) -> ModuleType:
    if isinstance(plugin, ModuleType):
        return plugin
    return importlib.import_module(plugin.import_name if isinstance(plugin, Blueprint) else plugin.__module__)


def modules_of(plugin: Plugin) -> list[ModuleType]:
    """Lists the plugin's own module and those of its contents."""
    names = (_module_of(content).__name__ for content in contents(plugin))
    return [_module_of(plugin), *(importlib.import_module(name) for name in dict.fromkeys(names))]


def serves(registry: Registry, plugin: Plugin) -> bool:
    """True if the registry has every declaration of the plugin."""
    routes = registry.routes.values()
    served = [*map(type, registry.collections.values()), *routes, *(group.made_of for group in routes),
              *registry.functions.values(), *registry.conditions.values(), *registry.hooks.values(),
              *registry.features, *(setting for group in registry.settings.values() for setting in group.values())]
    modules = modules_of(plugin)
    return all(declared in served for declared in (
        *contents(plugin), *functions_of(modules), *conditions_of(modules), *hooks_of(modules),
        *features_of(modules), *settings_of(modules)))


def named(plugin: Plugin) -> str:
    """Returns the settings name of a plugin without an entry point: the last part of its module's name."""
    return name_of(_module_of(plugin).__name__.rpartition(".")[2])
