"""The tables of docs/reference.md, each from the list that the code itself uses."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import MISSING
from functools import cache
from typing import Any

import click

from gatepost.collections.collection import Collection
from gatepost.collections.plugins.discovery import discover
from gatepost.collections.registry import Registry
from gatepost.commands.features import commands_of
from gatepost.commands.lazy import loaded
from gatepost.http.pipeline.browsers import REQUEST_HEADERS
from gatepost.http.protocol.problems import CATALOGUE
from gatepost.http.reading.filters import parameter
from gatepost.http.schemas.guarded import Guards
from gatepost_start.command import cli
from policies import SHIPPED, Policy, load
from settings import DECLARED, PREFIX
from tests.docs.reference import Table
from tests.running import ROOT, SERVICE

HEADER = re.compile(
    r"[A-Z][A-Za-z]*(?:-[A-Z][A-Za-z0-9]*)+|Accept|Allow|Deprecation|ETag|Link|Location|RateLimit|Sunset|Vary")
# Reads of a request's header in the code, by its WSGI name or its own name.
_READ = (re.compile(r'"HTTP_([A-Z_]+)"'), re.compile(r'request\.headers\.get\("([\w-]+)"'),
         re.compile(r'"([\w-]+)" (?:not )?in (?:call\.)?request\.headers'), re.compile(r'"(X_FORWARDED_FOR)"'))


@cache
def registry() -> Registry:
    return discover()


@cache
def policy() -> Policy:
    """The shipped rules, with the vocabulary of the shipped collections."""
    return load(SHIPPED, registry().vocabulary)


def tables() -> list[Table]:
    """Every table of the reference, in its order."""
    return [made() for made in (_settings, _commands, _errors, _collections, _permissions, _public, _roles, _conditions,
                                _scopes, _request_headers, _answer_headers, _parameters, _lists)]


def _code(text: str) -> str:
    return f"`{text}`"


def _codes(texts: Iterable[str]) -> str:
    return ", ".join(map(_code, texts)) or "–"


# Settings and commands

def _settings() -> Table:
    def default(name: str) -> str:
        declared = DECLARED[name]
        value = declared.default if declared.default is not MISSING else declared.default_factory()  # type: ignore[misc]
        if isinstance(value, bool):
            return _code("on" if value else "off")
        if isinstance(value, dict):
            return _codes(f"{key}={inner}" for key, inner in sorted(value.items()))
        return _code(str(value)) if str(value) and value != () else "–"

    rows = {_code(PREFIX + name.upper()): (default(name), "live" if declared.metadata["live"] else "restart",
                                           declared.metadata["help"])
            for name, declared in DECLARED.items()}
    return Table("Settings", ("Variable", "Default", "Change", "Meaning"), rows)


def commands(group: click.Group = cli, path: str = "gatepost") -> Iterator[tuple[str, click.Command]]:
    """Yields every command that does something, with its full name."""
    for name, deferred in commands_of(group).items():
        command = loaded(deferred)
        if isinstance(command, click.Group):
            yield from commands(command, f"{path} {name}")
        else:
            yield f"{path} {name}", command


def _commands() -> Table:
    def row(path: str, command: click.Command) -> tuple[str, tuple[str, str]]:
        context = click.Context(command)
        arguments = [one.make_metavar(context) for one in command.params if isinstance(one, click.Argument)]
        options = [_option(one, context) for one in command.params if isinstance(one, click.Option)]
        return _code(" ".join((path, *arguments))), (command.get_short_help_str(200), _codes(options))

    return Table("Commands", ("Command", "What it does", "Options"), dict(row(*found) for found in commands()))


def _option(option: click.Option, context: click.Context) -> str:
    names = "/".join((*option.opts, *option.secondary_opts))
    return names if option.is_flag else f"{names} {option.make_metavar(context)}"


# Tables of the policy and the collections

def _errors() -> Table:
    rows = {_code(code): (str(status),) for code, (status, _) in CATALOGUE.items()}
    return Table("Error codes", ("Code", "Status", "When"), rows, explained=True)


def _collections() -> Table:
    def fields(collection: Collection) -> tuple[str, str, str]:
        known = collection.body_schema.fields
        can = [f"*{_code(name)}*" if name in collection.managed else f"**{_code(name)}**" if field.required
               else _code(name) for name, field in known.items() if not field.dump_only]
        fixed = [name for name, field in known.items() if field.dump_only]
        actions = [f"`{found.name}`: {', '.join(map(_state, found.transitions))} → "
                   f"{', '.join(dict.fromkeys(map(_state, found.transitions.values())))}"
                   for found in collection.actions]
        return ", ".join(can) or "–", _codes(fixed), "; ".join(actions) or "–"

    rows = {_code(name): fields(collection) for name, collection in sorted(registry().collections.items())}
    return Table("Collections", ("Collection", "Can be sent", "Read-only", "Actions"), rows)


def _state(state: Any) -> str:
    return {True: "active", False: "inactive"}.get(state, str(state))


def _permissions() -> Table:
    asked: dict[str, dict[str, list[str]]] = {name: {} for name in sorted(registry().vocabulary.by_permission)}
    for endpoint in _endpoints():
        if endpoint.permission is not None:
            asked[endpoint.permission].setdefault(_path(endpoint), []).append(endpoint.method)
    shown = {group.permission: f"shows {_codes(sorted(group.fields))}"
             for collection in registry().collections.values() for group in Guards(collection.guards).groups}
    for collection in registry().collections.values():
        for name, permission in {**collection.managing, **collection.set_guards}.items():
            shown[permission] = f"sets `{name}`"
    unasked = {"manage": "asked besides another permission: for fields, columns and shares that others may not set"}
    of_collection = {found.resource: f"/api/{found.name}" for found in registry().collections.values()}
    names: dict[tuple[str, str], list[str]] = {}
    for name, paths in asked.items():
        resource, _, verb = name.partition(".")
        base = of_collection.get(resource, "")
        endpoints = _codes(f"{', '.join(methods)} {path}" for path, methods in paths.items())
        cell = endpoints if paths else shown.get(name) or unasked.get(verb, "none")
        names.setdefault((verb, cell.replace(base, "/api/{collection}") if base else cell), []).append(name)
    return Table("Permissions", ("Permission", "Endpoints that ask for it"), {
        _codes(alike): (cell if len(alike) > 1 else _alone(cell, of_collection.get(alike[0].partition(".")[0], "")),)
        for (_, cell), alike in sorted(names.items(), key=lambda found: found[1])})


def _alone(cell: str, base: str) -> str:
    """Returns the cell of a permission whose endpoints no other collection has."""
    return cell.replace("/api/{collection}", base)


def _public() -> Table:
    return Table("Endpoints without a permission", ("Endpoint", "Because"), {
        _code(f"{endpoint.method} {_path(endpoint)}"): (endpoint.public,)
        for endpoint in _endpoints() if endpoint.permission is None})


def _endpoints() -> Iterator[Any]:
    return (endpoint for _, _, endpoints in registry().endpoints() for endpoint in endpoints if endpoint.documented)


def _path(endpoint: Any) -> str:
    return str(endpoint.path).replace("<", "{").replace(">", "}")


def _roles() -> Table:
    granted: dict[str, list[str]] = {name: [] for name in policy().roles.names}
    for rule in policy().rules:
        deny = "deny " if rule.eft == "deny" else ""
        granted[rule.sub].append(deny + _code(rule.act) + ("" if rule.when == "always" else f" {rule.when}"))
    parents = {name: [link.inherits for link in links] for name, links in policy().roles.parents.items()}
    ranked = sorted(granted, key=lambda name: (len(policy().roles.closure(name)), name))
    return Table("Roles", ("Role", "Inherits", "Is granted by the shipped files"), {
        _code(name): (", ".join(parents.get(name, ())) or "–", ", ".join(granted[name])) for name in ranked})


def _conditions() -> Table:
    rows = {_code(name): (_code(found.source),) for name, found in policy().conditions.items()}
    return Table("Conditions", ("Condition", "As `model.conf` has it"), rows)


def _scopes() -> Table:
    covered: dict[str, list[str]] = {}
    for line in policy().scopes:
        covered.setdefault(line.scope, []).append(line.act)
    return Table("Scopes", ("Scope", "Covers"), {_code(name): (_codes(covered[name]),) for name in sorted(covered)})


# Headers and parameters

@cache
def headers() -> tuple[frozenset[str], frozenset[str]]:
    """Returns the request headers that the code reads, and all others that it names, which are of answers."""
    read, named = set(REQUEST_HEADERS.split(", ")), set()
    letters = ROOT / "blueprints/mail/letters.py"  # its headers are those of mail
    for file in (ROOT / "app.py", *(file for file in SERVICE if file != letters)):
        text = file.read_text(encoding="utf-8")
        named |= {node.value for node in ast.walk(ast.parse(text))
                  if isinstance(node, ast.Constant) and isinstance(node.value, str) and HEADER.fullmatch(node.value)}
        read |= {name.replace("_", "-") for pattern in _READ for name in pattern.findall(text)}
    spelling = {name.upper(): name for name in (*named, *REQUEST_HEADERS.split(", "))}
    read = {spelling.get(name.upper(), name.title()) for name in read}
    return frozenset(read), frozenset(named - (read - _BOTH) - {"YOUR-PASSWORD"})


_BOTH = {"Accept", "Accept-Encoding", "API-Version", "Content-Encoding", "Content-Type", "X-Request-ID"}


def _request_headers() -> Table:
    return _headers("Request headers", headers()[0])


def _answer_headers() -> Table:
    return _headers("Answer headers", headers()[1])


def _headers(title: str, names: Iterable[str]) -> Table:
    rows = {_code(name): () for name in sorted(names, key=str.lower)}
    return Table(title, ("Header", "Meaning"), rows, explained=True)


def _parameters() -> Table:
    found: dict[str, set[str]] = {"lang": {"every endpoint"}}
    for name, endpoint in _asked():
        kind = {"list": "lists", "get": "single objects", "export": "exports", "import": "imports",
                "shares": "shares", "unshare": "shares"}.get(endpoint.name, _code(_path(endpoint)))
        found.setdefault(name, set()).add(kind)
    paged = found["cursor"]

    def where(name: str) -> str:
        of_pages = name != "cursor" and paged <= found[name]
        others = sorted(found[name] - paged if of_pages else found[name], reverse=True)
        return ", ".join((["as `cursor`"] if of_pages else []) + others)

    return Table("Query parameters", ("Parameter", "Where", "Meaning"), {
        _code(name): (where(name),) for name in sorted(found)}, explained=True)


def _asked() -> Iterator[tuple[str, Any]]:
    """Yields every query parameter except filters, with its endpoints."""
    for group, _, endpoints in registry().endpoints():
        filters = {parameter(name, operator) for name, operators in _filters(group) for operator in operators}
        for endpoint in (one for one in endpoints if one.documented):
            for name, field in (endpoint.query.fields if endpoint.query is not None else {}).items():
                if name not in filters:
                    yield field.data_key or name, endpoint


def _filters(group: str) -> Iterable[tuple[str, tuple[str, ...]]]:
    collection = registry().collections.get(group)
    return () if collection is None else collection.filters.items()


def _lists() -> Table:
    def row(collection: Collection) -> tuple[str, ...]:
        filters = [f"`{name}` ({', '.join(operators)})" for name, operators in collection.filters.items()]
        orders = [_code(order) + (" (default)" if order == collection.default_sort else "")
                  for order in dict.fromkeys((collection.default_sort, *collection.sort))]
        return ", ".join(filters) or "–", ", ".join(orders), _codes(collection.search), _codes(collection.expand)

    rows = {_code(name): row(collection) for name, collection in sorted(registry().collections.items())}
    return Table("Filters and sort orders", ("Collection", "Filters", "`sort`", "`q` searches", "`expand`"), rows)
