"""The registry of everything that is served, and the vocabulary of policies."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.resources.abc import Traversable
from itertools import chain
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

import peewee as pw
from flask import Blueprint
from marshmallow import missing
from marshmallow.validate import Range

from models import indexes
from models.base import Owned, Record
from models.records.columns import EmailField, IdField, JsonField, ListField, RoleField, TimeField
from models.records.mailboxes import mailbox
from policies import SHIPPED, Column, Resource, Vocabulary
from policies.loading import first_release
from policies.syntax.vocabulary import Condition, Function
from settings import Setting, Settings

from ..features import Feature, Features
from ..http.openapi.operations import operation_id
from ..http.request.endpoint import Endpoint
from ..http.schemas.fields import Reference
from ..http.writing.writable import Writable
from ..jobs.hooks import Hook
from .collection import Collection
from .routes import Routes, blueprint, described

if TYPE_CHECKING:
    import flask_smorest

    from ..features import Around
    from ..http.request.call import Call

Group = tuple[str, str, Sequence[Endpoint]]
"""Name, description and endpoints of a group in the documentation."""

VERBS = ("view", "create", "update", "delete", "export", "import", "manage", "share")
SHARING = "sharing"  # the feature whose endpoints the collections declare


def surrounded(endpoint: Endpoint, around: Mapping[str, Sequence[Around]]) -> Endpoint:
    """Returns the endpoint with the functions of its name in the audit log around its handler."""
    functions = around.get(endpoint.recorded or endpoint.permission or "", ())
    if not functions or not endpoint.writes:
        return endpoint
    handler = endpoint.handler

    def handle(call: Call) -> Any:
        with ExitStack() as stack:
            for function in functions:
                stack.enter_context(function(call))
            return handler(call)

    return replace(endpoint, handler=handle)


def why_left_out(name: str, features: Container[str]) -> str:
    """Returns a clause about a collection, or one of these features, that the setting `without` names."""
    return f"the {'feature' if name in features else 'collection'} {name} is left out (setting without)"


@dataclass(frozen=True, eq=False)
class Registry:
    """Collections, routes, and all other declarations of an instance.

    functions        name → a plugin's function for the matcher
    hooks            name → a hook, whose jobs run after events
    plugin_policies  file name → the rules that a plugin ships
    migrations       name of a history → its directory of migrations: the shipped one, and one of each plugin
    translations     folders of translations: the shipped one, and one of each plugin
    settings         name of a plugin → its settings, by name
    gone             permission → why it no longer exists: those of removed plugins
    left_out         shipped collections that the setting `without` names: policies cannot name their permissions
    absent           shipped features that it names, likewise
    conditions       word → a plugin's condition for the condition column
    features         declarations of blueprints and plugins besides their endpoints
    around           name in the audit log → functions of features around the handlers of that name
    turned_off       name → routes that a setting turns off
    extra            names of further plugins for `pkgutil.resolve_name`: `package.module`, `package.module:Collection`
    """

    collections: Mapping[str, Collection]
    routes: Mapping[str, Routes]
    functions: Mapping[str, Function]
    hooks: Mapping[str, Hook]
    plugin_policies: Mapping[str, Path]
    migrations: Mapping[str, Path]
    translations: tuple[Traversable, ...]
    settings: Mapping[str, Mapping[str, Setting[Any]]] = field(default_factory=dict)
    left_out: Mapping[str, Collection] = field(default_factory=dict)
    extra: tuple[str, ...] = ()
    gone: Mapping[str, str] = field(default_factory=dict)
    conditions: Mapping[str, Condition] = field(default_factory=dict)
    features: Features = field(default_factory=lambda: Features(()))
    absent: Mapping[str, Feature] = field(default_factory=dict)
    around: Mapping[str, Sequence[Around]] = field(default_factory=dict)
    turned_off: Mapping[str, Routes] = field(default_factory=dict)

    def endpoints(self) -> Sequence[Group]:
        """Returns (name, description, endpoints) of every group."""
        return self._groups

    @cached_property
    def _groups(self) -> tuple[Group, ...]:
        groups: tuple[Group, ...] = (
            *((name, routes.about, routes.over(self.collections.values())) for name, routes in self.routes.items()),
            *((name, (type(collection).__doc__ or "").strip(), collection.served)
              for name, collection in self.collections.items()))
        if self.around:
            groups = tuple((name, about, [surrounded(endpoint, self.around) for endpoint in endpoints])
                           for name, about, endpoints in groups)
        if "jobs" in self.collections:
            return groups
        # Without the collection `jobs`, no client could get the result of an asynchronous request.
        return tuple((name, about, [replace(endpoint, deferred=None) for endpoint in endpoints])
                     for name, about, endpoints in groups)

    @cached_property
    def by_resource(self) -> Mapping[str, Collection]:
        """The collection of each resource that has rows."""
        return {collection.resource: collection for collection in self.collections.values()}

    @cached_property
    def by_permission(self) -> Mapping[str, list[Endpoint]]:
        """The documented endpoints that need each permission."""
        needing: dict[str, list[Endpoint]] = {}
        for _, _, endpoints in self.endpoints():
            for endpoint in endpoints:
                if endpoint.permission is not None and endpoint.documented:
                    needing.setdefault(endpoint.permission, []).append(endpoint)
        return needing

    @cached_property
    def paths(self) -> frozenset[str]:
        """The paths of all endpoints, as they are declared: `/api/articles/<id>`."""
        return frozenset(endpoint.path for _, _, endpoints in self.endpoints() for endpoint in endpoints)

    @cached_property
    def secret_paths(self) -> tuple[str, ...]:
        """The paths with variables that logs do not show, also those that a setting turns off: links may be under way.
        """
        collections = self.collections.values()
        turned_off = (routes.over(collections) for routes in self.turned_off.values())
        return tuple(dict.fromkeys(
            endpoint.path for endpoints in (*(group for _, _, group in self.endpoints()), *turned_off)
            for endpoint in endpoints if endpoint.secret_path))

    @cached_property
    def by_operation(self) -> Mapping[str, Endpoint]:
        """Every endpoint by its `operationId`."""
        return {operation_id(group, endpoint): endpoint
                for group, _, endpoints in self.endpoints() for endpoint in endpoints}

    @cached_property
    def subscribers(self) -> Mapping[str, Sequence[str]]:
        """Event → names of its hooks, which are the kinds of their jobs; only events with a hook."""
        names: dict[str, list[str]] = {}
        for name, hook in self.hooks.items():
            for event in hook.events:
                names.setdefault(event, []).append(name)
        return names

    @cached_property
    def blueprints(self) -> tuple[Blueprint, ...]:
        """One Flask blueprint for every group of endpoints."""
        return tuple(blueprint(name, endpoints) for name, _, endpoints in self.endpoints())

    def documented(self) -> list[flask_smorest.Blueprint]:
        """Creates one flask-smorest blueprint for every group of endpoints in the OpenAPI document."""
        groups = ((name, about, [endpoint for endpoint in endpoints if endpoint.documented])
                  for name, about, endpoints in self.endpoints())
        return [described(*group) for group in groups if group[2]]

    def served(self, settings: Settings) -> Registry:
        """Returns the registry without the routes that a setting turns off, and with functions around handlers."""
        routes = {name: group for name, group in self.routes.items() if group.when is None or group.when(settings)}
        around = self.features.around(settings)
        turned_off = {name: group for name, group in self.routes.items() if name not in routes}
        if around:
            return replace(self, routes=routes, around=around, turned_off=turned_off)
        # Apps of one process with the same routes share what is computed of them, such as the vocabulary.
        key = tuple(turned_off)
        if key and key not in self._narrowed:
            self._narrowed[key] = replace(self, routes=routes, turned_off=turned_off)
        return self._narrowed[key] if key else self

    @cached_property
    def _narrowed(self) -> dict[tuple[str, ...], Registry]:
        """The registries without some routes, by the names of these."""
        return {}

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The words of a policy: every permission of an endpoint, and the columns of every collection."""
        permissions: dict[str, set[str]] = {}
        collections = [*self.collections.values(), *self.left_out.values()]
        groups = [*(endpoints for _, _, endpoints in self.endpoints()),
                  *(absent.served for absent in self.left_out.values())]
        for endpoint in chain.from_iterable(groups):
            if endpoint.permission is not None:
                permissions.setdefault(endpoint.permission.partition(".")[0], set()).add(endpoint.permission)
        tables = {collection.resource: collection for collection in collections}
        names = {collection.name: collection.resource for collection in collections}
        methods = _methods(chain.from_iterable(groups))
        about_rows = {one.permission for one in chain.from_iterable(groups) if one.permission and one.rules}
        for collection in collections:
            if not collection.body_schema.load_fields.keys().isdisjoint(collection.managed):
                permissions[collection.resource] |= {
                    collection.permission(verb) for verb in VERBS if verb != "share" or collection.shares}
            permissions.setdefault(collection.resource, set()).update(
                collection.guards.values(), collection.managing.values(), collection.set_guards.values())
        resources = {name: _resource(name, verbs, tables.get(name), self.migrations, methods, names, about_rows)
                     for name, verbs in permissions.items()}
        left_out = {absent.resource: resources.pop(absent.resource) for absent in self.left_out.values()}
        gone = {permission: why_left_out(absent.collection, ())
                for absent in left_out.values() for permission in absent.permissions}
        for feature in self.absent.values():
            for name, table in feature.rows.items():
                columns = {column.name: column_of(column) for column in resolve_name(table)._meta.sorted_fields}
                if name in resources:  # a plugin's endpoint needs a permission on its rows
                    resources[name] = replace(resources[name], columns=columns)
                left_out[name] = Resource(name, frozenset(), columns, collection=name)
            permissions_of_feature = feature.permissions if feature.name != SHARING else [
                collection.permission("share") for collection in collections if type(collection).shares]
            for permission in set(permissions_of_feature).difference(*permissions.values()):
                gone[permission] = why_left_out(feature.name, self.absent)
                resource = permission.partition(".")[0]
                existing = left_out.get(resource, Resource(resource, frozenset(), collection=resource))
                left_out[resource] = replace(existing, permissions=existing.permissions | {permission})
        return Vocabulary(resources, self.functions, gone={**self.gone, **gone}, left_out=left_out,
                          conditions=self.conditions, shares=SHARING not in self.absent,
                          login={name: attribute.column for name, attribute in self.features.caller().items()})

    @property
    def required_policies(self) -> list[str]:
        """The policy files of the first release. An instance that lacks one of them does not start."""
        absent = {f"{name}.csv" for name in self.left_out}
        return sorted(file.name for file in SHIPPED.iterdir() if file.name in first_release.FILES - absent)


def _methods(endpoints: Iterable[Endpoint]) -> dict[str, frozenset[str]]:
    """Returns permission → the methods of the requests that need it.

    Permissions to view are left out, because every request about a row needs them. The methods of undocumented
    endpoints, such as console pages, count only if no documented endpoint needs the permission.
    """
    methods: dict[str, tuple[set[str], set[str]]] = {}
    for endpoint in endpoints:
        if endpoint.permission is not None and not endpoint.permission.partition(".")[2].startswith("view"):
            used = {endpoint.method} | ({"HEAD"} if endpoint.method == "GET" else set())
            methods.setdefault(endpoint.permission, (set(), set()))[endpoint.documented].update(used)
    return {permission: frozenset(documented or others) for permission, (others, documented) in methods.items()}


def _resource(name: str, permissions: set[str], collection: Collection | None, migrations: Mapping[str, Path],
              methods: Mapping[str, frozenset[str]], resources: Mapping[str, str], about_rows: set[str]) -> Resource:
    needed = {permission: methods[permission] for permission in sorted(permissions) if permission in methods}
    viewed = {permission for permission in permissions if permission.startswith(f"{name}.view_")}
    if collection is None:
        return Resource(name, frozenset(permissions), collection=name, methods=needed, on_viewed=frozenset(viewed))
    # Conditions may read fields of answers, the owner and `judged` columns. They can never read a password hash.
    readable = {*collection.body_schema.dump_fields, *Owned._meta.fields, *collection.judged}
    unset = null_at_create(collection)
    columns = {column.name: replace(_described(column, collection, resources), null_at_create=column.name in unset)
               for column in collection.columns
               if column.name in readable and not isinstance(column, ListField | JsonField)}
    defaults = {column.name: column.default for column in collection.columns if isinstance(column.default, str | int)}
    defaults["version"] = 1
    fallbacks = _fallbacks(collection)
    on_viewed = viewed | about_rows | _on_viewed(collection)
    on_viewed |= {permission for permission, fallback in fallbacks.items() if fallback in on_viewed}
    if collection.imports:  # an import makes and changes rows with one request
        needed |= {permission: needed[permission] | {"POST"}
                   for permission in map(collection.permission, ("create", "update")) if permission in needed}
    making, changing = (needed.get(collection.permission(verb), frozenset()) for verb in ("create", "update"))
    if making and changing:
        needed |= dict.fromkeys(collection.set_guards.values(), making | changing)
    return Resource(name, frozenset(permissions), columns,
                    lambda: indexes.made_by(migrations).get(collection.model._meta.table_name, ()),
                    {column.name: column for column in collection.columns}, collection.name, needed,
                    frozenset(on_viewed) & permissions, defaults, fallbacks)


def _fallbacks(collection: Collection) -> dict[str, str]:
    """Returns the permissions of fields that another permission decides until a rule names them."""
    return {**dict.fromkeys(collection.managing.values(), collection.manage),
            **dict.fromkeys(collection.set_guards.values(), collection.permission("update")),
            **dict.fromkeys(map(collection.permission, collection.view_guarded.values()), collection.view)}


def _on_viewed(collection: Collection) -> set[str]:
    """Returns the permissions that have an effect only on rows that the user may view.

    They belong to endpoints that load a row through `view`, to exports, and to guarded fields.
    """
    loading = {endpoint.permission for endpoint in collection.served
               if endpoint.permission and endpoint.load in (collection.load_record, collection.load_values)}
    others = map(collection.permission, ("view", "create", "import", "manage"))
    return {collection.permission("export"), *loading, *collection.guards.values()}.difference(others)


def unfilled(collection: Collection) -> dict[str, pw.Field]:
    """Returns the columns that get no value from a default and may get none from a body, by name."""
    sent = {name for name, field in collection.body_schema.load_fields.items()
            if field.required or field.load_default is not missing}
    return {name: column for name, column in collection.model._meta.fields.items()
            if not (name in Record._meta.fields or name in sent or column.null or column.default is not None)}


def null_at_create(collection: Collection) -> frozenset[str]:
    """Returns the columns that are null while the permission to create is decided.

    They are the declared ones, and those that only the collection's own `create` can fill.
    """
    kind = type(collection)
    by_create_alone = kind.create is not Writable.create and all(
        getattr(kind, name) is getattr(Writable, name) for name in ("draft", "stamp", "derive"))
    return frozenset((*kind.null_at_create, *(unfilled(collection) if by_create_alone else ())))


def _described(field: pw.Field, collection: Collection, resources: Mapping[str, str]) -> Column:
    """Returns a column with its possible values: states of actions, choices and bounds of the schema, id targets."""
    column, declared = column_of(field), collection.body_schema.fields.get(field.name)
    if column.format == "uuid":
        targets = {"id": collection.resource, "tenant_id": "tenant", "owner_id": "user"}
        row_of = resources.get(declared.collection) if isinstance(declared, Reference) else targets.get(field.name)
        column = replace(column, row_of=row_of)
    elif column.type is int:
        bounds = next((check for check in (declared.validators if declared else ()) if isinstance(check, Range)), None)
        return column if bounds is None else replace(column, least=bounds.min, most=bounds.max)
    if field.name == "owner_id" and issubclass(collection.model, Owned) and collection.model.owns_itself:
        return replace(column, same_as="id")
    if column.type is not str:
        return column
    return replace(column, values=collection.values_of(field.name))


def column_of(field: pw.Field) -> Column:
    """Returns the type, nullability and format of a column for policies, from its field type alone."""
    match field:
        case IdField():
            return Column(str, field.null, "uuid")
        case TimeField():
            return Column(str, field.null, "date-time")
        case RoleField():
            return Column(str, field.null, "role")
        case EmailField():
            return Column(str, field.null, spelled=mailbox)
        case pw.BooleanField():
            return Column(bool, field.null)
        case pw.IntegerField():
            return Column(int, field.null)
    return Column(str, field.null)
