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
    collections: dict[str, Collection] = {}
    routes: dict[str, Routes] = {}
    functions: dict[str, Function] = {}
    conditions: dict[str, Condition] = {}
    words = Words()
    hooks: dict[str, Hook] = {}
    features: dict[str, Feature] = {}
    paths: set[tuple[str, str]] = set()
    settings: dict[str, dict[str, Setting[Any]]] = {}
    policies: dict[str, Path] = {}
    migrations: dict[str, Path] = dict(migrate.SHIPPED)
    translations: list[Traversable] = [messages.SHIPPED]

    def add(source: str, module: Plugin) -> None:
        for content in contents(module):
            if isinstance(content, Blueprint):
                content = routes_of(source, content)
            if isinstance(content, Routes):
                claim(source, routes, content.name, content)
                for endpoint in content.endpoints:
                    claim_path(source, endpoint.handler, endpoint)
            else:
                collection = made(source, content)
                claim(source, collections, content.name, collection)
                for endpoint in collection.served:
                    claim_path(source, content, endpoint)
        for function in functions_of(modules_of(module)):
            if functions.setdefault(function.name, function) is not function:
                raise PluginError(f"{source}: the name of the function {function.name!r} is taken "
                                  f"({place(function.holds)})")
            if (reason := unusable(function)) is not None:
                raise PluginError(f"{source}: the function {function.name!r} cannot be used: {reason} "
                                  f"({place(function.holds)})")
        add_conditions(source, modules_of(module))
        hooks.update((hook.name, hook) for hook in hooks_of(modules_of(module)))
        add_features(source, modules_of(module))

    def add_features(source: str, modules: list[ModuleType]) -> None:
        for feature in features_of(modules):
            if (wrong_parts := malformed(feature)) is not None:
                raise PluginError(f"{source}: the feature {feature.name!r}: {wrong_parts} "
                                  f"({place_among(modules, feature)})")
            check_names = {name for other in features.values() if other is not feature for name in other.checks}
            if feature.name in shipped.features() or features.setdefault(feature.name, feature) is not feature:
                raise PluginError(f"{source}: the name of the feature {feature.name!r} is taken "
                                  f"({place_among(modules, feature)})")
            if reserved := [name for name in ("commands", "permissions", "rows", "settings") if getattr(feature, name)]:
                raise PluginError(f"{source}: the feature {feature.name!r} declares {reserved[0]}, which only shipped "
                                  f"features do ({place_among(modules, feature)})")
            if wrong := [name for name in (*feature.checks, *feature.doctor) if not _CHECK.fullmatch(name)]:
                raise PluginError(f"{source}: the name of the check {wrong[0]!r} must be small letters, digits and _ "
                                  f"({place_among(modules, feature)})")
            if clashing := sorted((check_names | OWN_CHECKS) & feature.checks.keys()):
                raise PluginError(f"{source}: the name of the check {clashing[0]!r} is taken "
                                  f"({place_among(modules, feature)})")

    def add_conditions(source: str, modules: list[ModuleType]) -> None:
        for function in functions_of(modules):
            if (reason := words.taken([function], [])) is not None:
                raise PluginError(f"{source}: {reason} ({place(function.holds)})")
        for condition in conditions_of(modules):
            if (reason := unreadable(condition, functions) or words.taken([], [condition])) is not None:
                raise PluginError(f"{source}: the condition {condition.word!r} cannot be used: {reason} "
                                  f"({place_among(modules, condition)})")
            conditions[condition.word] = condition

    def made(source: str, declared: type[Collection]) -> Collection:
        if (reason := bad_names(declared)) is not None:
            raise PluginError(f"{source}: {place(declared)}: {declared.__name__}.{reason}")
        if (reason := bad_filter(declared)) is not None:
            raise PluginError(f"{source}: {place(declared)}: {declared.__name__}.{reason}")
        if (reason := bad_expansion(declared)) is not None:
            raise PluginError(f"{source}: {place(declared)}: {reason}")
        collection = declared.__new__(declared)
        if SHARING in without:  # on the object, not the class; and before `__init__`, which makes the endpoints
            collection.shares = False  # type: ignore[misc]
        collection.__init__()  # type: ignore[misc]
        if (wrong := bad_action(collection)) is not None:
            raise PluginError(f"{source}: {place(wrong[0].method)}: {wrong[1]}")
        ours = shipped.is_shipped(declared.__module__)
        if (reason := wrong_with(collection) or (None if ours else bad_null(collection))) is not None:
            raise PluginError(f"{source}: {place(declared)}: {reason}")
        return collection

    def claim(source: str, group: dict[str, Any], name: str, declared: Any) -> None:
        if name in collections or name in routes:
            raise PluginError(f"{source}: {place(declared)}: the name {name!r} is taken")
        resource = getattr(declared, "resource", None)
        if resource is not None and any(resource == other.resource for other in collections.values()):
            raise PluginError(f"{source}: {place(declared)}: the resource {resource!r} is taken")
        group[name] = declared

    def claim_path(source: str, declared: Any, endpoint: Endpoint) -> None:
        way = endpoint.method, _VARIABLE.sub("<>", endpoint.path)
        if way in paths:
            raise PluginError(f"{source}: {place(declared)}: {endpoint.method} {endpoint.path} is taken")
        paths.add(way)

    def add_settings(source: str, name: str, plugin: Plugin) -> None:
        existing = {setting_of_plugin for declared in settings.values() for setting_of_plugin in declared.values()}
        mine = settings.setdefault(name, {})
        for setting in settings_of(modules_of(plugin)):
            if setting not in existing and mine.setdefault(setting.name, setting) is not setting:
                raise PluginError(f"{source}: the name of the setting {setting.name!r} is taken")
        if (reason := clash(settings, DECLARED)) is not None:
            raise PluginError(f"{source}: {reason}; choose another name")

    def add_plugin(source: str, name: str, plugin: Plugin) -> None:
        if not isinstance(plugin, ModuleType | Routes | Blueprint) and not (
                isinstance(plugin, type) and issubclass(plugin, Collection)):
            raise PluginError(f"{source} is no Collection, no Routes, no Blueprint, and no module of one")
        try:
            for found in contents(plugin):  # first, because a taken name is the better message than missing rules
                if found.name in collections or found.name in routes:
                    raise PluginError(f"{source}: {place(found)}: the name {found.name!r} is taken")
            policies.update(policy_of(source, plugin))
            migrations.update(migrations_of(source, plugin))
            if (folder := translations_of(source, plugin)) is not None:
                translations.append(folder)
            add(source, plugin)
            add_settings(source, name, plugin)
        except (AttributeError, KeyError, TypeError) as error:
            at = f" ({place(plugin)})" if isinstance(plugin, type) else ""
            raise PluginError(f"{source} does not declare a usable collection: {error}{at}") from error

    def imported(source: str, load: Callable[[], Any], module: str) -> Any:
        try:
            return load()
        except Exception as error:
            at = raised_at(error, module)
            raise PluginError(f"{source} cannot be imported: {error}{'' if at is None else f' ({at})'}") from error

    def add_extension(feature: Feature, name: str) -> None:
        source = f"the feature {feature.name!r}"
        module = imported(f"{source}: {name}", lambda: importlib.import_module(name), name)
        if not shipped.is_shipped(name):
            policies.update(policy_of(source, module))
        add(source, module)

    def extend(names: Iterable[str]) -> None:
        for feature in [feature for name, feature in features.items() if name in set(names)]:
            for other, module in feature.extends.items():
                if other in features:
                    add_extension(feature, module)
                elif other not in absent:
                    raise PluginError(f"the feature {feature.name!r} extends {other!r}, and there is no such feature"
                                      f"{did_you_mean(other, features)}")

    for module in shipped.collections():
        add(module.__name__, module)
    absent = {name: feature for name, feature in shipped.features().items() if name in without}
    for name, feature in shipped.features().items():
        if name not in absent:
            features[name] = feature
            if (endpoints := shipped.endpoints_of(name)) is not None:
                add(name, endpoints)
    extend(shipped.features())
    # Sort by name, so that documents and clients do not change when a blueprint moves.
    collections, routes = dict(sorted(collections.items())), dict(sorted(routes.items()))
    for point in points:
        source = f"plugin {point.name} ({point.value})"
        add_plugin(source, name_of(point.name), imported(source, point.load, point.module))
    for plugin in extra:
        add_plugin(place_of(plugin), named(plugin), plugin)
    refuse_unusable(without, collections)
    for feature in features.values():
        if needed := [name for name in feature.needs if name not in features]:
            raise PluginError(f"the feature {feature.name!r} needs the feature {needed[0]!r}, which is not served")
    extend(features.keys() - shipped.features().keys())
    for collection in collections.values():
        if (reason := leads_nowhere(collection, collections)) is not None:
            raise PluginError(f"{place(collection)}: {reason}")
    left_out = {name: collections.pop(name) for name in sorted(without - absent.keys())}
    for hook in hooks.values():
        if (reason := unknown_event(hook, collections.values())) is not None:
            why = next((f"; {why_left_out(name, absent)}" for name in sorted(without)
                        if any(event.startswith(f"{name}.") for event in hook.events)), "")
            raise PluginError(f"{hook.name}: {reason}{why} ({place(hook.handle)})")
    registry = Registry(collections, routes, functions, hooks, policies, migrations, tuple(translations),
                        settings, left_out, tuple(map(place_of, extra)), conditions=conditions,
                        features=Features(features.values()), absent=absent)
    operations = Counter(operation_id(group, endpoint)
                         for group, _, endpoints in registry.endpoints() for endpoint in endpoints)
    for name, claims in operations.items():
        if claims > 1:
            raise PluginError(f"the operation {name!r} is declared {claims} times; clients are generated from the name")
    return registry
