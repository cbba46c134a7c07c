"""Finds the collections and routes that there are.

Found, not registered: every module and package of `blueprints`, and every entry point of the group
`gatepost.collections` (a module, a package or a Collection class). What clashes stops the start with a sentence.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections import Counter
from collections.abc import Iterable
from importlib.metadata import entry_points
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import blueprints
from models import migrate
from policies.syntax.vocabulary import Function

from ...description.operations import operation_id
from ...jobs.hooks import Hook, hooks_of
from ...protocol import messages
from ..collection import Collection
from ..registry import Registry
from ..routes import Routes
from .contents import Plugin, PluginError, beside, contents, migrations_of, modules_of, place_of, policy_of
from .declarations import bad_erasure, bad_guard, functions_of, unknown_event, unusable

GROUP = "gatepost.collections"
NOT_COLLECTIONS = frozenset(("commands", "http", "testing"))  # packages of `blueprints` that serve collections


def discover(extra: Iterable[Plugin] = ()) -> Registry:
    """Everything in `blueprints`, in installed plugins, and in `extra`.

    Raises `PluginError` for an import error, for what two of them claim, and for rules that are missing.
    """
    collections: dict[str, Collection] = {}
    routes: dict[str, Routes] = {}
    functions: dict[str, Function] = {}
    hooks: dict[str, Hook] = {}
    policies: dict[str, Path] = {}
    migrations: dict[str, Path] = dict(migrate.SHIPPED)
    translations: list[Traversable] = [messages.SHIPPED]

    def add(source: str, module: Plugin) -> None:
        for found in contents(module):
            if isinstance(found, Routes):
                claim(source, routes, found.name, found)
            else:
                collection = found()
                if (reason := bad_guard(collection)) is not None:
                    raise PluginError(f"{source}: {found.__name__}.guarded {reason}")
                if (reason := bad_erasure(collection)) is not None:
                    raise PluginError(f"{source}: {found.__name__}.{reason}")
                if collection.search != collection.model.searched:
                    raise PluginError(f"{source}: {found.__name__}.search and {collection.model.__name__}.searched "
                                      "differ; only what a new row is indexed by can be searched for")
                claim(source, collections, found.name, collection)
        for function in functions_of(modules_of(module)):
            if functions.setdefault(function.name, function) is not function:
                raise PluginError(f"{source}: the name of the function {function.name!r} is taken")
            if (reason := unusable(function)) is not None:
                raise PluginError(f"{source}: the function {function.name!r} cannot be used: {reason}")

        hooks.update((hook.name, hook) for hook in hooks_of(modules_of(module)))

    def claim(source: str, taken: dict[str, Any], name: str, found: Any) -> None:
        if name in collections or name in routes:
            raise PluginError(f"{source}: the name {name!r} is taken")
        resource = getattr(found, "resource", None)
        if resource is not None and any(resource == other.resource for other in collections.values()):
            raise PluginError(f"{source}: the resource {resource!r} is taken")
        taken[name] = found

    def add_plugin(source: str, plugin: Plugin) -> None:
        if isinstance(plugin, type) and not issubclass(plugin, Collection):
            raise PluginError(f"{source} is no Collection, and no module of one")
        try:
            policies.update(policy_of(source, plugin))
            migrations.update(migrations_of(plugin))
            if (brought := beside(plugin, "translations")) is not None:
                translations.append(brought)
            add(source, plugin)
        except (AttributeError, KeyError, TypeError) as error:
            raise PluginError(f"{source} does not declare a usable collection: {error}") from error

    for info in pkgutil.iter_modules(blueprints.__path__):
        if info.name not in NOT_COLLECTIONS:
            add(info.name, importlib.import_module(f"blueprints.{info.name}"))
    for point in entry_points(group=GROUP):
        try:
            plugin = point.load()
        except Exception as error:
            raise PluginError(f"plugin {point.name} ({point.value}) cannot be imported: {error}") from error
        add_plugin(f"plugin {point.name} ({point.value})", plugin)
    besides = tuple(extra)
    for plugin in besides:
        add_plugin(plugin.__name__, plugin)
    for hook in hooks.values():
        if (reason := unknown_event(hook, collections.values())) is not None:
            raise PluginError(f"{hook.name}: {reason}")
    registry = Registry(collections, routes, functions, hooks, policies, migrations, tuple(translations),
                        tuple(map(place_of, besides)))
    operations = Counter(operation_id(group, endpoint)
                         for group, _, endpoints in registry.endpoints() for endpoint in endpoints)
    for name, claims in operations.items():
        if claims > 1:
            raise PluginError(f"the operation {name!r} is declared {claims} times; clients are generated from the name")
    return registry
