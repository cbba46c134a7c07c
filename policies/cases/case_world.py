"""Principals, objects and circumstances of the cases in tests.yaml, read from its nodes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import UTC, datetime, tzinfo
from typing import Any

import yaml

from ..evaluation.principal import FixedEnvironment, Principal
from ..evaluation.rights import RIGHTS
from ..syntax.addresses import normalized
from ..syntax.attributes import ENVIRONMENT, SUBJECT
from ..syntax.roles import GUEST, undeclared
from ..syntax.vocabulary import Patterns, Vocabulary
from ..wording.suggestions import did_you_mean, hint
from .cases import Thing
from .yaml_nodes import Nodes

_GRANTEES = ("user:", "group:", "role:")
_PRINCIPAL = ("id", "role", "department", "kind", "groups", "scopes")
# What a case may pin beside the time, with the values that there are; `ip` is any address.
_ENVIRONMENT: Mapping[str, Collection[object]] = {
    name: ENVIRONMENT[name].values for name in ("ip", "device", "method", "request")
}
_TYPES: dict[type, str] = {str: "text (put it in quotes)", int: "a whole number", bool: "true or false"}


class World(Nodes):
    """The nodes of one file of cases, and the meaning of those above `cases`.

    zone     the time zone of the settings
    refused  objects with a finding at their definition; a case that names them gets no second one
    gone     objects and resources of a plugin or collection that was removed
    """

    def __init__(self, text: str, file: str, vocabulary: Vocabulary, scopes: Collection[str] | None,
                 roles: Collection[str] | None, zone: tzinfo) -> None:
        super().__init__(text, file)
        self.vocabulary, self.scopes, self.roles, self.zone = vocabulary, scopes, roles, zone
        self.principals: dict[str, Principal] = {}
        self.things: dict[str, Thing] = {}
        self.refused: set[str] = set()
        self.gone: set[str] = set()
        self.patterns = Patterns(vocabulary)

    def environment(self, parts: Mapping[str, yaml.Node], default: FixedEnvironment) -> FixedEnvironment:
        values: dict[str, str | None] = {}
        for name, _, node in self.entries(parts.get("env"), "env", _ENVIRONMENT):
            word = self.word(node, name) or ""
            values[name] = normalized(word) if name == "ip" else word
            if values[name] is None:
                self.warn(node, f"{word!r} is no address; write one such as 203.0.113.7 or 2001:db8::1")
            elif name != "ip" and word not in _ENVIRONMENT[name]:
                self.warn(node, f"there is no {name} {word!r}; known are {', '.join(map(str, _ENVIRONMENT[name]))}")
        clock = parts.get("clock")
        if clock is None:
            return default.having(values)
        text = self.word(clock, "clock") or ""
        try:
            moment = datetime.fromisoformat(text)
            found = default.at(moment, self.zone)
        except (ValueError, OverflowError):  # the latter: in UTC it is before the first year, or after the last
            self.report(clock, "clock must be a time such as 2026-11-18T10:30:00, with or without an offset")
            return default.having(values)
        if ":" not in text and "T" not in text:
            self.warn(clock, f"this is midnight; write the time, too, such as {text}T10:30:00")
        if moment.tzinfo is None and (why := _changes(moment.replace(tzinfo=self.zone))):
            self.warn(clock, f"{why} in {self.zone}; write the offset, too, such as {found.now}")
        return found.having(values)

    def principal(self, name: str, key: yaml.Node, node: yaml.Node) -> Principal:
        parts = self.mapping(node, f"principal {name!r}", _PRINCIPAL)
        role = self.word(parts.get("role"), "role")
        known = role is not None and (self.roles is None or role in self.roles)
        if role is None:
            self.report(key, f"principal {name!r} needs a role")
        elif not known:
            self.report(parts["role"], f"there is no role {role!r}{undeclared(role, self.roles or ())}")
        kind = self.word(parts.get("kind"), "kind") or ("guest" if role == GUEST else "user")
        if kind not in SUBJECT["kind"].values:
            self.report(parts["kind"], f"there is no kind {kind!r}; use user, service or guest")
        elif (kind == "guest") is not (role == GUEST) and known:
            self.warn(parts.get("kind", key), f"there is no caller of the kind {kind} with the role {role}")
        identity = None if kind == "guest" else self.word(parts.get("id"), "id") or name
        for part in ("id", "department", "groups", "scopes"):
            if kind == "guest" and part in parts:
                self.warn(parts[part], f"a guest has no {part}")
        scopes = self.scopes_of(kind, key, parts.get("scopes"))
        return Principal(
            id=identity,
            key=GUEST if identity is None else f"user:{identity}",
            role=role or GUEST,
            tenant_id="default",
            department=self.word(parts.get("department"), "department"),
            kind=kind,
            groups=tuple(word for word, _ in self.words(parts.get("groups"), "groups")),
            scopes=scopes,
        )

    def scopes_of(self, kind: str, key: yaml.Node, node: yaml.Node | None) -> frozenset[str] | None:
        if node is None:
            if kind == "service":
                self.warn(key, "without scopes a service is its owner; write those of its token, such as "
                               "scopes: [read:articles]")
            return None
        if kind == "user":
            self.warn(node, "only a service has scopes; write kind: service")
        words = self.words(node, "scopes")
        for word, item in words:
            if self.scopes is not None and word not in self.scopes:
                self.warn(item, f"the rules have no scope {word!r}{did_you_mean(word, self.scopes)}")
        return frozenset(word for word, _ in words)

    def objects(self, resource: str, key: yaml.Node, node: yaml.Node) -> dict[str, yaml.Node]:
        """Read the objects of a resource; their names, each with its place."""
        found = list(self.entries(node, f"the objects of {resource}"))
        if resource in self.vocabulary.resources:
            for name, at, value in found:
                self.thing(resource, name, at, value)
        elif why := self.patterns.gone(f"{resource}.*"):
            if resource not in self.vocabulary.left_out:
                self.warn(key, f"{resource}: {why}; cases about it are left out")
            self.gone.update((resource, *(name for name, _, _ in found)))
        else:
            hint = did_you_mean(resource, self.vocabulary.resources) or "; is the plugin that has it installed?"
            self.report(key, f"there is no resource {resource!r}{hint}")
            self.refused.update(name for name, _, _ in found)
        return {name: at for name, at, _ in found}

    def thing(self, resource: str, name: str, at: yaml.Node, node: yaml.Node) -> None:
        known = self.vocabulary.resources[resource]
        if name in self.things or name in self.vocabulary.resources:
            self.report(at, f"two objects are called {name!r}")
        columns: dict[str, Any] = {column: None for column in known.columns}
        columns.update({"id": name, "tenant_id": "default"})
        shares: dict[str, str] = {}
        for column, _, value in self.entries(node, f"object {name!r}", {*known.columns, "shares"}):
            if column == "shares":
                shares = self.shares(value)
                continue
            columns[column] = found = self.value(value)
            wanted = known.columns[column].type
            if found is not None and type(found) is not wanted:
                given = f"{value.value!r} is none" if isinstance(value, yaml.ScalarNode) else "a list is none"
                self.report(value, f"{resource}.{column} holds {_TYPES[wanted]}; {given}")
            elif found is not None and (words := known.columns[column].values) and found not in words:
                self.warn(value, f"no {resource} has the {column} {found!r}{hint(str(found), map(str, words))}")
        self.things[name] = Thing(name, resource, columns, shares)

    def shares(self, node: yaml.Node) -> dict[str, str]:
        shares = {}
        for grantee, key, value in self.entries(node, "shares"):
            right = self.word(value, "a right") or ""
            if not grantee.startswith(_GRANTEES):
                self.report(key, f"{grantee!r} must be user:<id>, group:<name> or role:<name>")
            elif not any(grantee in self.grantees(principal) for principal in self.principals.values()):
                self.warn(key, f"no principal is {grantee}")
            if right not in RIGHTS:
                self.report(value, f"there is no right {right!r}; use {', '.join(RIGHTS)}")
            shares[grantee] = right
        return shares

    def grantees(self, principal: Principal) -> set[str]:
        """The names by which something may be shared with a principal: any role may be inherited, but `guest`."""
        if principal.kind == GUEST:
            return set()
        roles = {principal.role, *(self.roles or ())} - {GUEST}
        return {principal.key, *(f"role:{name}" for name in roles), *(f"group:{name}" for name in principal.groups)}


def _changes(moment: datetime) -> str | None:
    """Returns why a local time is not exactly one moment, on the nights when the clock changes; None if it is."""
    if moment.astimezone(UTC).astimezone(moment.tzinfo) != moment:
        return "the clock leaves this time out"
    if moment.utcoffset() != moment.replace(fold=1).utcoffset():
        return "the clock shows this time twice"
    return None
