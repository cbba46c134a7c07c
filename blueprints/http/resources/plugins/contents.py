"""What a plugin is made of: what stands in its module, and the files beside it."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType
from typing import Any

from policies import SHIPPED

from ...jobs.hooks import hooks_of
from ..collection import Collection
from ..registry import Registry
from ..routes import Routes
from .declarations import functions_of

Plugin = ModuleType | type[Collection]  # what an entry point names: a package is a module, too


class PluginError(Exception):
    """A plugin cannot be used; the sentence names it and says why."""


def contents(plugin: Plugin) -> list[Any]:
    """The routes and collections of a module, or of a package, whose collections may stand in modules of its own."""
    if isinstance(plugin, type):
        return [plugin]
    return [found for found in vars(plugin).values()
            if isinstance(found, Routes)
            or (isinstance(found, type) and issubclass(found, Collection)
                and f"{found.__module__}.".startswith(f"{plugin.__name__}."))]


def policy_of(source: str, plugin: Plugin) -> dict[str, Path]:
    """The CSV that stands beside a plugin's module and is called like its collection."""
    shipped = {}
    for found in contents(plugin):
        if isinstance(found, type) and issubclass(found, Collection):
            module = importlib.import_module(found.__module__)
            file = Path(module.__file__ or "").with_name(f"{found.name}.csv")
            if not file.is_file():
                raise PluginError(f"{source}: {file.name} is missing; a collection ships its rules beside its module")
            if SHIPPED.joinpath(file.name).is_file():
                raise PluginError(f"{source}: {file.name} is a policy file of Gatepost itself; choose another name")
            shipped[file.name] = file
    return shipped


def migrations_of(plugin: Plugin) -> dict[str, Path]:
    """The folder `migrations` beside a plugin's module; its history is called like the package."""
    module = _module_of(plugin)
    name = (module.__package__ or module.__name__).replace(".", "_").lower()
    directory = beside(plugin, "migrations")
    return {} if directory is None else {name: directory}


def beside(plugin: Plugin, name: str) -> Path | None:
    """The folder of that name beside a plugin's module, if there is one."""
    directory = Path(_module_of(plugin).__file__ or "").with_name(name)
    return directory if directory.is_dir() else None


def place_of(plugin: Plugin) -> str:
    """What `pkgutil.resolve_name` finds the plugin by: `package.module`, or `package.module:Collection`."""
    return f"{plugin.__module__}:{plugin.__qualname__}" if isinstance(plugin, type) else plugin.__name__


def _module_of(plugin: Plugin) -> ModuleType:
    return importlib.import_module(plugin.__module__) if isinstance(plugin, type) else plugin


def modules_of(plugin: Plugin) -> list[ModuleType]:
    """The module that a plugin is, or stands in, and those of its collections."""
    names = (found.__module__ for found in contents(plugin) if isinstance(found, type))
    return [_module_of(plugin), *(importlib.import_module(name) for name in dict.fromkeys(names))]


def serves(registry: Registry, plugin: Plugin) -> bool:
    """Whether all that the plugin declares is here already."""
    known = [*map(type, registry.collections.values()), *registry.routes.values(), *registry.functions.values(),
             *registry.hooks.values()]
    modules = modules_of(plugin)
    return all(found in known for found in (*contents(plugin), *functions_of(modules), *hooks_of(modules)))
