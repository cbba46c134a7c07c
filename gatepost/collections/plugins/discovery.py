"""Collects the shipped blueprints, as `blueprints` lists them, and plugins into a registry.

A plugin is an entry point of the group `gatepost.collections`: a module, a package, a Collection class, `Routes` or a
Flask `Blueprint`. A conflict stops the start with a sentence.
"""

from __future__ import annotations

import importlib
import re
from collections import Counter, abc
from collections.abc import Callable, Iterable
from functools import cache
from importlib.metadata import EntryPoint
from importlib.resources.abc import Traversable
from pathlib import Path
from types import ModuleType
from typing import Any

from flask import Blueprint

from models import migrate
from policies.syntax.vocabulary import Condition, Function
from policies.wording.suggestions import did_you_mean
from settings import DECLARED, Setting
from settings.plugins import clash, name_of

from ...features import Feature, Features, malformed
from ...health.checks import OWN as OWN_CHECKS
from ...http.openapi.operations import operation_id
from ...http.protocol import messages
from ...http.request.endpoint import Endpoint
from ...jobs.hooks import Hook, hooks_of
from ..collection import Collection
from ..registry import SHARING, Registry, why_left_out
from ..routes import Routes
from . import shipped
from .columns import bad_names
from .contents import (
    Plugin,
    PluginError,
    contents,
    migrations_of,
    modules_of,
    named,
    place_of,
    policy_of,
    translations_of,
)
from .declarations import (
    Words,
    bad_action,
    bad_filter,
    bad_null,
    conditions_of,
    features_of,
    functions_of,
    settings_of,
    unknown_event,
    unreadable,
    unusable,
    wrong_with,
)
from .entry_points import COLLECTIONS, points_of
from .leaving_out import refuse_unusable
from .places import place, place_among, raised_at
from .plain import routes_of
from .references import bad_expansion, leads_nowhere

_CHECK = re.compile(r"[a-z][a-z0-9_]*", re.ASCII)
_VARIABLE = re.compile("<[^>]*>")


def discover(extra: Iterable[Plugin] = (), without: abc.Collection[str] = (),
             points: Iterable[EntryPoint] | None = None) -> Registry:
    """Returns the registry of all blueprints, of installed plugins, and of `extra`.

    without  names of shipped collections and features to leave out; only the declarations of features are imported
    points   entry points of plugins; None: all that are installed

    Without plugins, the registry is made once per process. Raises `PluginError` for an import error, for a name or path
    that two declare, and for missing rules; `SettingError` for a name in `without` that cannot be left out.
    """
    plugins = points_of(COLLECTIONS) if points is None else tuple(points)
    besides = tuple(extra)
    return _discover(besides, frozenset(without), plugins) if plugins or besides else _shipped(frozenset(without))


@cache
def _shipped(without: frozenset[str]) -> Registry:
    return _discover((), without, ())


def _discover(extra: tuple[Plugin, ...], without: frozenset[str], points: tuple[EntryPoint, ...]) -> Registry:
    builder = _RegistryBuilder(without)
    builder.add_shipped()
    for point in points:
        source = f"plugin {point.name} ({point.value})"
        builder.add_plugin(source, name_of(point.name), _imported(source, point.load, point.module))
    for plugin in extra:
        builder.add_plugin(place_of(plugin), named(plugin), plugin)
    return builder.build(extra)


class _RegistryBuilder:
    """Collects declarations, and raises `PluginError` for the first that conflicts with another."""

    def __init__(self, without: frozenset[str]) -> None:
        self._without = without
        self._absent = {name: feature for name, feature in shipped.features().items() if name in without}
        self._collections: dict[str, Collection] = {}
        self._routes: dict[str, Routes] = {}
        self._functions: dict[str, Function] = {}
        self._conditions: dict[str, Condition] = {}
        self._words = Words()
        self._hooks: dict[str, Hook] = {}
        self._features: dict[str, Feature] = {}
        self._paths: set[tuple[str, str]] = set()
        self._settings: dict[str, dict[str, Setting[Any]]] = {}
        self._policies: dict[str, Path] = {}
        self._migrations: dict[str, Path] = dict(migrate.SHIPPED)
        self._translations: list[Traversable] = [messages.SHIPPED]

    def add_shipped(self) -> None:
        """Adds the shipped collections and features, and what these add to each other."""
        for module in shipped.collections():
            self._add(module.__name__, module)
        for name, feature in shipped.features().items():
            if name not in self._absent:
                self._features[name] = feature
                if (endpoints := shipped.endpoints_of(name)) is not None:
                    self._add(name, endpoints)
        self._extend(shipped.features())
        # Sort by name, so that documents and clients do not change when a blueprint moves.
        self._collections, self._routes = dict(sorted(self._collections.items())), dict(sorted(self._routes.items()))

    def add_plugin(self, source: str, name: str, plugin: Plugin) -> None:
        """Adds a plugin with its rules, migrations, translations and settings."""
        if not isinstance(plugin, ModuleType | Routes | Blueprint) and not (
                isinstance(plugin, type) and issubclass(plugin, Collection)):
            raise PluginError(f"{source} is no Collection, no Routes, no Blueprint, and no module of one")
        try:
            for content in contents(plugin):  # first, because a taken name is the better message than missing rules
                if content.name in self._collections or content.name in self._routes:
                    raise PluginError(f"{source}: {place(content)}: the name {content.name!r} is taken")
            self._policies.update(policy_of(source, plugin))
            self._migrations.update(migrations_of(source, plugin))
            if (folder := translations_of(source, plugin)) is not None:
                self._translations.append(folder)
            self._add(source, plugin)
            self._add_settings(source, name, plugin)
        except (AttributeError, KeyError, TypeError) as error:
            at = f" ({place(plugin)})" if isinstance(plugin, type) else ""
            raise PluginError(f"{source} does not declare a usable collection: {error}{at}") from error

    def build(self, extra: tuple[Plugin, ...]) -> Registry:
        """Returns the registry, after the checks that need all declarations."""
        refuse_unusable(self._without, self._collections)
        for feature in self._features.values():
            if needed := [name for name in feature.needs if name not in self._features]:
                raise PluginError(f"the feature {feature.name!r} needs the feature {needed[0]!r}, which is not served")
        self._extend(self._features.keys() - shipped.features().keys())
        for collection in self._collections.values():
            if (reason := leads_nowhere(collection, self._collections)) is not None:
                raise PluginError(f"{place(collection)}: {reason}")
        left_out = {name: self._collections.pop(name) for name in sorted(self._without - self._absent.keys())}
        self._check_events()
        registry = Registry(self._collections, self._routes, self._functions, self._hooks, self._policies,
                            self._migrations, tuple(self._translations), self._settings, left_out,
                            tuple(map(place_of, extra)), conditions=self._conditions,
                            features=Features(self._features.values()), absent=self._absent)
        _refuse_repeated_operations(registry)
        return registry

    def _add(self, source: str, module: Plugin) -> None:
        for content in contents(module):
            if isinstance(content, Blueprint):
                content = routes_of(source, content)
            if isinstance(content, Routes):
                self._claim(source, self._routes, content.name, content)
                for endpoint in content.endpoints:
                    self._claim_path(source, endpoint.handler, endpoint)
            else:
                collection = self._made(source, content)
                self._claim(source, self._collections, content.name, collection)
                for endpoint in collection.served:
                    self._claim_path(source, content, endpoint)
        modules = modules_of(module)
        self._add_functions(source, modules)
        self._add_conditions(source, modules)
        self._hooks.update((hook.name, hook) for hook in hooks_of(modules))
        self._add_features(source, modules)

    def _made(self, source: str, declared: type[Collection]) -> Collection:
        """Returns the object of a collection's class, if its declaration is usable."""
        if (reason := bad_names(declared)) is not None:
            raise PluginError(f"{source}: {place(declared)}: {declared.__name__}.{reason}")
        if (reason := bad_filter(declared)) is not None:
            raise PluginError(f"{source}: {place(declared)}: {declared.__name__}.{reason}")
        if (reason := bad_expansion(declared)) is not None:
            raise PluginError(f"{source}: {place(declared)}: {reason}")
        collection = declared.__new__(declared)
        if SHARING in self._without:  # on the object, not the class; and before `__init__`, which makes the endpoints
            collection.shares = False  # type: ignore[misc]
        collection.__init__()  # type: ignore[misc]
        if (wrong := bad_action(collection)) is not None:
            raise PluginError(f"{source}: {place(wrong[0].method)}: {wrong[1]}")
        ours = shipped.is_shipped(declared.__module__)
        if (reason := wrong_with(collection) or (None if ours else bad_null(collection))) is not None:
            raise PluginError(f"{source}: {place(declared)}: {reason}")
        return collection

    def _claim(self, source: str, group: dict[str, Any], name: str, declared: Any) -> None:
        if name in self._collections or name in self._routes:
            raise PluginError(f"{source}: {place(declared)}: the name {name!r} is taken")
        resource = getattr(declared, "resource", None)
        if resource is not None and any(resource == other.resource for other in self._collections.values()):
            raise PluginError(f"{source}: {place(declared)}: the resource {resource!r} is taken")
        group[name] = declared

    def _claim_path(self, source: str, declared: Any, endpoint: Endpoint) -> None:
        route = endpoint.method, _VARIABLE.sub("<>", endpoint.path)
        if route in self._paths:
            raise PluginError(f"{source}: {place(declared)}: {endpoint.method} {endpoint.path} is taken")
        self._paths.add(route)

    def _add_functions(self, source: str, modules: list[ModuleType]) -> None:
        for function in functions_of(modules):
            if self._functions.setdefault(function.name, function) is not function:
                raise PluginError(f"{source}: the name of the function {function.name!r} is taken "
                                  f"({place(function.holds)})")
            if (reason := unusable(function)) is not None:
                raise PluginError(f"{source}: the function {function.name!r} cannot be used: {reason} "
                                  f"({place(function.holds)})")
            if (reason := self._words.taken([function], [])) is not None:
                raise PluginError(f"{source}: {reason} ({place(function.holds)})")

    def _add_conditions(self, source: str, modules: list[ModuleType]) -> None:
        for condition in conditions_of(modules):
            reason = unreadable(condition, self._functions) or self._words.taken([], [condition])
            if reason is not None:
                raise PluginError(f"{source}: the condition {condition.word!r} cannot be used: {reason} "
                                  f"({place_among(modules, condition)})")
            self._conditions[condition.word] = condition

    def _add_features(self, source: str, modules: list[ModuleType]) -> None:
        for feature in features_of(modules):
            if (reason := self._wrong_with(feature)) is not None:
                raise PluginError(f"{source}: {reason} ({place_among(modules, feature)})")
            self._features[feature.name] = feature

    def _wrong_with(self, feature: Feature) -> str | None:
        """Returns why a plugin's feature cannot be used, or None."""
        if (malformed_parts := malformed(feature)) is not None:
            return f"the feature {feature.name!r}: {malformed_parts}"
        if feature.name in shipped.features() or self._features.get(feature.name, feature) is not feature:
            return f"the name of the feature {feature.name!r} is taken"
        for name in ("commands", "permissions", "rows", "settings"):
            if getattr(feature, name):
                return f"the feature {feature.name!r} declares {name}, which only shipped features do"
        for name in (*feature.checks, *feature.doctor):
            if not _CHECK.fullmatch(name):
                return f"the name of the check {name!r} must be small letters, digits and _"
        for other in self._features.values():
            if other is not feature and (taken := sorted(other.caller.keys() & feature.caller.keys())):
                return f"the caller has an attribute {taken[0]!r} already"
        others = {name for other in self._features.values() if other is not feature for name in other.checks}
        if taken := sorted((others | OWN_CHECKS) & feature.checks.keys()):
            return f"the name of the check {taken[0]!r} is taken"
        return None

    def _add_settings(self, source: str, name: str, plugin: Plugin) -> None:
        declared_before = {setting for declared in self._settings.values() for setting in declared.values()}
        own = self._settings.setdefault(name, {})
        for setting in settings_of(modules_of(plugin)):
            if setting not in declared_before and own.setdefault(setting.name, setting) is not setting:
                raise PluginError(f"{source}: the name of the setting {setting.name!r} is taken")
        if (reason := clash(self._settings, DECLARED)) is not None:
            raise PluginError(f"{source}: {reason}; choose another name")

    def _extend(self, names: Iterable[str]) -> None:
        """Adds what the features `names` declare for other features."""
        for feature in [feature for name, feature in self._features.items() if name in set(names)]:
            for other, module in feature.extends.items():
                if other in self._features:
                    self._add_extension(feature, module)
                elif other not in self._absent:
                    raise PluginError(f"the feature {feature.name!r} extends {other!r}, and there is no such feature"
                                      f"{did_you_mean(other, self._features)}")

    def _add_extension(self, feature: Feature, name: str) -> None:
        source = f"the feature {feature.name!r}"
        module = _imported(f"{source}: {name}", lambda: importlib.import_module(name), name)
        if not shipped.is_shipped(name):
            self._policies.update(policy_of(source, module))
        self._add(source, module)

    def _check_events(self) -> None:
        """Raises `PluginError` for a hook on an event that no collection has."""
        for hook in self._hooks.values():
            if (reason := unknown_event(hook, self._collections.values())) is not None:
                why = next((f"; {why_left_out(name, self._absent)}" for name in sorted(self._without)
                            if any(event.startswith(f"{name}.") for event in hook.events)), "")
                raise PluginError(f"{hook.name}: {reason}{why} ({place(hook.handle)})")


def _imported(source: str, load: Callable[[], Any], module: str) -> Any:
    try:
        return load()
    except Exception as error:
        at = raised_at(error, module)
        raise PluginError(f"{source} cannot be imported: {error}{'' if at is None else f' ({at})'}") from error


def _refuse_repeated_operations(registry: Registry) -> None:
    operations = Counter(operation_id(group, endpoint)
                         for group, _, endpoints in registry.endpoints() for endpoint in endpoints)
    for name, count in operations.items():
        if count > 1:
            raise PluginError(f"the operation {name!r} is declared {count} times; clients are generated from the name")
