"""Which collections and routes there are, and the words that policies may use of them.

Found, not registered: every module and package of `blueprints`, and every entry point of the group
`gatepost.collections` (a module, a package or a Collection class). What clashes stops the start with a sentence.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.metadata import entry_points
from importlib.resources.abc import Traversable
from pathlib import Path
from types import ModuleType
from typing import Any

import peewee as pw
from flask_smorest import Blueprint

import blueprints
from models import indexes, migrate
from models.base import Owned
from models.records.columns import IdField, JsonField, ListField, RoleField, TimeField
from policies import SHIPPED, Column, Resource, Vocabulary
from policies.loading import first_release
from policies.syntax.vocabulary import Function

from ..description.operations import operation_id
from ..jobs.hooks import Hook, hooks_of
from ..protocol import messages
from ..request.endpoint import Endpoint
from .collection import Collection
from .declarations import bad_erasure, bad_guard, functions_of, unknown_event, unusable
from .routes import Routes, blueprint

Plugin = ModuleType | type[Collection]  # what an entry point names: a package is a module, too
GROUP = "gatepost.collections"
NOT_COLLECTIONS = frozenset(("commands", "http", "testing"))  # packages of `blueprints` that serve collections
VERBS = ("view", "create", "update", "delete", "export", "import", "manage", "share")


class PluginError(Exception):
    """A plugin cannot be used; the sentence names it and says why."""


@dataclass(frozen=True, eq=False)
class Registry:
    """Everything that answers requests.

    functions        by name: what plugins bring to the matcher
    hooks            by name: what plugins have done as jobs
    plugin_policies  file name → the rules that a plugin ships
    migrations       name of a history → its directory of migrations: the shipped one, and one of each plugin
    translations     folders of translations: the shipped one, and one of each plugin
    extra            what `pkgutil.resolve_name` finds by: `package.module`, or `package.module:Collection`
    """

    collections: Mapping[str, Collection]
    routes: Mapping[str, Routes]
    functions: Mapping[str, Function]
    hooks: Mapping[str, Hook]
    plugin_policies: Mapping[str, Path]
    migrations: Mapping[str, Path]
    translations: tuple[Traversable, ...]
    extra: tuple[str, ...] = ()

    def endpoints(self) -> Iterable[tuple[str, str, list[Endpoint]]]:
        """(name, description, endpoints) of every group."""
        for name, routes in self.routes.items():
            yield name, routes.about, routes.endpoints
        for name, collection in self.collections.items():
            yield name, (type(collection).__doc__ or "").strip(), list(collection.endpoints())

    @cached_property
    def by_permission(self) -> Mapping[str, list[Endpoint]]:
        """The endpoints that need each permission; none for one that no request asks for alone."""
        found: dict[str, list[Endpoint]] = {}
        for _, _, endpoints in self.endpoints():
            for endpoint in endpoints:
                if endpoint.permission is not None:
                    found.setdefault(endpoint.permission, []).append(endpoint)
        return found

    def serves(self, plugin: Plugin) -> bool:
        """Whether all that the plugin declares is here already."""
        known = [*map(type, self.collections.values()), *self.routes.values(), *self.functions.values(),
                 *self.hooks.values()]
        modules = _modules_of(plugin)
        return all(found in known for found in (*_contents(plugin), *functions_of(modules), *hooks_of(modules)))

    @cached_property
    def subscribers(self) -> Mapping[str, Sequence[str]]:
        """Event → the kinds of the jobs that follow it; only events that somebody subscribes to."""
        found: dict[str, list[str]] = {}
        for name, hook in self.hooks.items():
            for event in hook.events:
                found.setdefault(event, []).append(name)
        return found

    def blueprints(self) -> list[Blueprint]:
        """One flask-smorest blueprint for every group of endpoints."""
        return [blueprint(*group) for group in self.endpoints()]

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The words of a policy: every permission that some endpoint asks for, and each collection's columns."""
        permissions: dict[str, set[str]] = {}
        for _, _, endpoints in self.endpoints():
            for endpoint in endpoints:
                if endpoint.permission is not None:
                    permissions.setdefault(endpoint.permission.partition(".")[0], set()).add(endpoint.permission)
        tables = {collection.resource: collection for collection in self.collections.values()}
        for collection in self.collections.values():
            if not collection.body_schema.load_fields.keys().isdisjoint(collection.managed):
                permissions[collection.resource] |= {collection.permission(verb) for verb in VERBS}
            permissions.setdefault(collection.resource, set()).update(collection.guarding)
        return Vocabulary({name: _resource(name, verbs, tables.get(name)) for name, verbs in permissions.items()},
                          self.functions)

    @property
    def required_policies(self) -> list[str]:
        """The shipped policy files that an instance always had: one that lacks one of them does not start."""
        return sorted(file.name for file in SHIPPED.iterdir() if file.name in first_release.FILES)


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
        for found in _contents(module):
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
        for function in functions_of(_modules_of(module)):
            if functions.setdefault(function.name, function) is not function:
                raise PluginError(f"{source}: the name of the function {function.name!r} is taken")
            if (reason := unusable(function)) is not None:
                raise PluginError(f"{source}: the function {function.name!r} cannot be used: {reason}")

        hooks.update((hook.name, hook) for hook in hooks_of(_modules_of(module)))

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
            policies.update(_policy_of(source, plugin))
            migrations.update(_migrations_of(plugin))
            if (brought := _beside(plugin, "translations")) is not None:
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
                        tuple(map(_place_of, besides)))
    operations = Counter(operation_id(group, endpoint)
                         for group, _, endpoints in registry.endpoints() for endpoint in endpoints)
    for name, claims in operations.items():
        if claims > 1:
            raise PluginError(f"the operation {name!r} is declared {claims} times; clients are generated from the name")
    return registry


def _contents(plugin: Plugin) -> list[Any]:
    """The routes and collections of a module, or of a package, whose collections may stand in modules of its own."""
    if isinstance(plugin, type):
        return [plugin]
    return [found for found in vars(plugin).values()
            if isinstance(found, Routes)
            or (isinstance(found, type) and issubclass(found, Collection)
                and f"{found.__module__}.".startswith(f"{plugin.__name__}."))]


def _policy_of(source: str, plugin: Plugin) -> dict[str, Path]:
    """The CSV that stands beside a plugin's module and is called like its collection."""
    shipped = {}
    for found in _contents(plugin):
        if isinstance(found, type) and issubclass(found, Collection):
            module = importlib.import_module(found.__module__)
            file = Path(module.__file__ or "").with_name(f"{found.name}.csv")
            if not file.is_file():
                raise PluginError(f"{source}: {file.name} is missing; a collection ships its rules beside its module")
            if SHIPPED.joinpath(file.name).is_file():
                raise PluginError(f"{source}: {file.name} is a policy file of Gatepost itself; choose another name")
            shipped[file.name] = file
    return shipped


def _migrations_of(plugin: Plugin) -> dict[str, Path]:
    """The folder `migrations` beside a plugin's module; its history is called like the package."""
    module = _module_of(plugin)
    name = (module.__package__ or module.__name__).replace(".", "_").lower()
    directory = _beside(plugin, "migrations")
    return {} if directory is None else {name: directory}


def _beside(plugin: Plugin, name: str) -> Path | None:
    """The folder of that name beside a plugin's module, if there is one."""
    directory = Path(_module_of(plugin).__file__ or "").with_name(name)
    return directory if directory.is_dir() else None


def _place_of(plugin: Plugin) -> str:
    return f"{plugin.__module__}:{plugin.__qualname__}" if isinstance(plugin, type) else plugin.__name__


def _module_of(plugin: Plugin) -> ModuleType:
    return importlib.import_module(plugin.__module__) if isinstance(plugin, type) else plugin


def _modules_of(plugin: Plugin) -> list[ModuleType]:
    """The module that a plugin is, or stands in, and those of its collections."""
    names = (found.__module__ for found in _contents(plugin) if isinstance(found, type))
    return [_module_of(plugin), *(importlib.import_module(name) for name in dict.fromkeys(names))]


def _resource(name: str, permissions: set[str], collection: Collection | None) -> Resource:
    if collection is None:
        return Resource(name, frozenset(permissions))
    # Conditions may ask for what a row answers, for whose it is and what is declared; never for a hash that it keeps.
    known = {*collection.body_schema.dump_fields, *Owned._meta.fields, *collection.judged}
    columns = {field.name: _described(field, collection) for field in collection.columns
               if field.name in known and not isinstance(field, ListField | JsonField)}
    return Resource(name, frozenset(permissions), columns,
                    lambda: indexes.shipped().get(collection.model._meta.table_name, ()))


def _described(field: pw.Field, collection: Collection) -> Column:
    """A column with what is known of its values: the states of actions, the choices of the schema."""
    column = column_of(field)
    if field.name == "owner_id" and issubclass(collection.model, Owned) and collection.model.owns_itself:
        return replace(column, same_as="id")
    if column.type is not str:
        return column
    return replace(column, values=collection.values_of(field.name))


def column_of(field: pw.Field) -> Column:
    """What a policy may know of a column from its kind alone."""
    match field:
        case IdField():
            return Column(str, field.null, "uuid")
        case TimeField():
            return Column(str, field.null, "date-time")
        case RoleField():
            return Column(str, field.null, "role")
        case pw.BooleanField():
            return Column(bool, field.null)
        case pw.IntegerField():
            return Column(int, field.null)
    return Column(str, field.null)
