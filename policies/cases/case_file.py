"""Reading tests.yaml, strictly: a misspelt word is a finding with its line, not a case that passes by luck.

The format is described for administrators in README.md, "Testing a policy"; this module turns it into a
`Suite`. An unknown word is an error. An entry that tests nothing (an object that no case names, an invalid
address) is a warning, and the rules are accepted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime, tzinfo
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import yaml

from ..evaluation.policy import Policy
from ..evaluation.principal import FixedEnvironment, LoggedIn, Login, Principal
from ..evaluation.rights import RIGHTS
from ..loading.files import Unreadable, read_text
from ..syntax.addresses import normalized
from ..syntax.attributes import ENVIRONMENT, SUBJECT
from ..syntax.roles import GUEST, undeclared
from ..syntax.vocabulary import Patterns, Vocabulary
from ..wording.finding import Finding, PolicyError
from ..wording.suggestions import did_you_mean, hint
from .cases import Case, Suite, Thing, run
from .yaml_nodes import Nodes, line_of

OTHERS = "others"
MOST_ASKED = 50_000  # pairs of a principal and an object, of all cases together
_PARTS = ("clock", "env", "principals", "objects", "cases")
_USUAL = datetime(2026, 11, 18, 10)  # the local time of cases without a clock: a Wednesday morning
_NOTHING = ("nothing", "none", "no", "never", "-", "~", "null")
_GRANTEES = ("user:", "group:", "role:")
_PRINCIPAL = ("id", "role", "department", "kind", "groups", "scopes")
# What a case may pin beside the time, with the values that there are; `ip` is any address.
_ENVIRONMENT: Mapping[str, Collection[object]] = {
    name: ENVIRONMENT[name].values for name in ("ip", "device", "method", "request")
}
_TYPES: dict[type, str] = {str: "text (put it in quotes)", int: "a whole number", bool: "true or false"}


def read_suite(text: str, file: str, vocabulary: Vocabulary, scopes: Collection[str] | None = None,
               roles: Collection[str] | None = None, zone: tzinfo = UTC) -> Suite:
    """Returns the suite that `text` describes.

    `file` is its name in findings. `scopes` and `roles` are those of the rules (None: unknown). `zone` is the time zone
    of the settings.

    Raises PolicyError with every finding at once (`file:line: message`).
    """
    reader = _Reader(text, file, vocabulary, scopes, roles, zone)
    suite = reader.suite()
    if reader.findings:
        raise PolicyError([*reader.findings, *reader.warnings])
    return suite


def failures(policy: Policy, path: Path, zone: tzinfo = UTC) -> list[Finding]:
    """Runs the cases in `path`, for that time zone, and returns the faults of the file or of the answers."""
    try:
        suite = read_suite(read_text(path), path.name, policy.vocabulary, policy.written_scopes, policy.roles.names,
                           zone)
    except Unreadable as error:
        return [Finding(path.name, 0, str(error))]
    except PolicyError as error:
        return list(error.findings)
    return run(policy, suite).findings


class _Reader(Nodes):
    """One pass over the nodes of a file of cases.

    zone     the time zone of the settings
    refused  objects with a finding at their definition; a case that names them gets no second one
    gone     objects and resources of a plugin or collection that was removed
    used     the principals and objects that some case names
    asked    number of pairs of a principal and an object that the cases name
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
        self.used: set[str] = set()
        self.asked = 0

    def suite(self) -> Suite:
        root = self.root()
        if isinstance(root, yaml.MappingNode) and not any(key.value in _PARTS for key, _ in root.value):
            # It may be any file with this name, so none of its content is shown.
            self.report(root, f"these are no cases; known are {', '.join(_PARTS)}")
            return Suite(self.file, ())
        parts = self.mapping(root, "the file", _PARTS)
        environment = self.environment(parts, FixedEnvironment().at(_USUAL, self.zone))
        people = {}
        for name, key, value in self.entries(parts.get("principals"), "principals"):
            people[name] = key
            self.principals[name] = self.principal(name, key, value)
        objects = [(resource, key, self.objects(resource, key, value))
                   for resource, key, value in self.entries(parts.get("objects"), "objects")]
        for resource in self.vocabulary.resources:
            self.things.setdefault(resource, Thing(resource, resource, None, {}))
        cases = [self.case(node, environment) for node in self.items(parts.get("cases"), "cases")]
        if not cases and not self.findings:
            self.report(root if root is not None else 1, "the file has no cases")
        self.warn_of_unused("principal", people)
        for resource, key, names in objects:
            if self.used.isdisjoint(names):
                self.warn(key, f"no case asks about an object of {resource}")
            else:
                self.warn_of_unused("object", names)
        self.warn_of_namesakes(cases)
        return Suite(self.file, tuple(cases), tuple(sorted(self.warnings)))

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
            environment = default.at(moment, self.zone)
        except (ValueError, OverflowError):  # the latter: in UTC it is before the first year, or after the last
            self.report(clock, "clock must be a time such as 2026-11-18T10:30:00, with or without an offset")
            return default.having(values)
        if ":" not in text and "T" not in text:
            self.warn(clock, f"this is midnight; write the time, too, such as {text}T10:30:00")
        if moment.tzinfo is None and (why := _changes(moment.replace(tzinfo=self.zone))):
            self.warn(clock, f"{why} in {self.zone}; write the offset, too, such as {environment.now}")
        return environment.having(values)

    def principal(self, name: str, key: yaml.Node, node: yaml.Node) -> Principal:
        parts = self.mapping(node, f"principal {name!r}", (*_PRINCIPAL, *self.vocabulary.login))
        role = self.word(parts.get("role"), "role")
        is_role = role is not None and (self.roles is None or role in self.roles)
        if role is None:
            self.report(key, f"principal {name!r} needs a role")
        elif not is_role:
            self.report(parts["role"], f"there is no role {role!r}{undeclared(role, self.roles or ())}")
        kind = self.word(parts.get("kind"), "kind") or ("guest" if role == GUEST else "user")
        if kind not in SUBJECT["kind"].values:
            self.report(parts["kind"], f"there is no kind {kind!r}; use user, service or guest")
        elif (kind == "guest") is not (role == GUEST) and is_role:
            self.warn(parts.get("kind", key), f"there is no caller of the kind {kind} with the role {role}")
        identity = None if kind == "guest" else self.word(parts.get("id"), "id") or name
        for part in ("id", "department", "groups", "scopes"):
            if kind == "guest" and part in parts:
                self.warn(parts[part], f"a guest has no {part}")
        scopes = self.scopes_of(kind, key, parts.get("scopes"))
        return LoggedIn(
            id=identity,
            key=GUEST if identity is None else f"user:{identity}",
            role=role or GUEST,
            tenant_id="default",
            department=self.word(parts.get("department"), "department"),
            kind=kind,
            groups=tuple(word for word, _ in self.words(parts.get("groups"), "groups")),
            scopes=scopes,
            login=self.login(kind, parts),
        )

    def login(self, kind: str, parts: Mapping[str, yaml.Node]) -> Login:
        """Reads the attributes that features declare. An omitted one is false for a user, or missing."""
        login = Login()
        for name, column in self.vocabulary.login.items():
            if name not in parts:
                login[name] = False if kind == "user" and column.type is bool else None
                continue
            if kind != "user":
                self.warn(parts[name], f"only a user has {name}; a {kind} has no login")
            login[name] = value = self.value(parts[name])
            if value is not None and (type(value) is not column.type or (column.values and value not in column.values)):
                self.report(parts[name], f"{name} is {_TYPES[column.type]}")
        return login

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
        """Reads the objects of a resource, and returns name → node."""
        objects = list(self.entries(node, f"the objects of {resource}"))
        if resource in self.vocabulary.resources:
            for name, at, value in objects:
                self.thing(resource, name, at, value)
        elif why := self.patterns.gone(f"{resource}.*"):
            if resource not in self.vocabulary.left_out:
                self.warn(key, f"{resource}: {why}; cases about it are left out")
            self.gone.update((resource, *(name for name, _, _ in objects)))
        else:
            hint = did_you_mean(resource, self.vocabulary.resources) or "; is the plugin that has it installed?"
            self.report(key, f"there is no resource {resource!r}{hint}")
            self.refused.update(name for name, _, _ in objects)
        return {name: at for name, at, _ in objects}

    def thing(self, resource: str, name: str, at: yaml.Node, node: yaml.Node) -> None:
        declared = self.vocabulary.resources[resource]
        if name in self.things or name in self.vocabulary.resources:
            self.report(at, f"two objects are called {name!r}")
        columns: dict[str, Any] = {column: None for column in declared.columns}
        columns.update({"id": name, "tenant_id": "default"})
        shares: dict[str, str] = {}
        for column, _, value in self.entries(node, f"object {name!r}", {*declared.columns, "shares"}):
            if column == "shares":
                shares = self.shares(value)
                continue
            columns[column] = content = self.value(value)
            column_type = declared.columns[column].type
            if content is not None and type(content) is not column_type:
                stated = f"{value.value!r} is none" if isinstance(value, yaml.ScalarNode) else "a list is none"
                self.report(value, f"{resource}.{column} holds {_TYPES[column_type]}; {stated}")
            elif content is not None and (words := declared.columns[column].values) and content not in words:
                self.warn(value, f"no {resource} has the {column} {content!r}{hint(str(content), map(str, words))}")
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
        """Returns the grantees of shares that reach a principal. Any role except `guest` may be inherited."""
        if principal.kind == GUEST:
            return set()
        roles = {principal.role, *(self.roles or ())} - {GUEST}
        return {principal.key, *(f"role:{name}" for name in roles), *(f"group:{name}" for name in principal.groups)}

    def case(self, node: yaml.Node, default: FixedEnvironment) -> Case:
        parts = self.mapping(node, "a case", ("name", "who", "what", "may", "clock", "env"))
        for required in ("name", "who", "what", "may"):
            if required not in parts and isinstance(node, yaml.MappingNode):
                self.report(node, f"a case needs {required!r}")
        people = self.named(parts.get("who"), "principal", self.principals)
        objects = self.named(parts.get("what"), "object or resource", self.things)
        for key in ("who", "what"):
            if key in parts and isinstance(parts[key], yaml.SequenceNode) and not parts[key].value:
                self.report(parts[key], f"{key} names nobody" if key == "who" else "what names nothing")
        who = tuple(word for word in people if word in self.principals)
        things = tuple(self.things[word] for word in objects if word in self.things)
        self.used.update(people, objects)
        self.asked += len(who) * len(things)
        if self.asked > MOST_ASKED:
            # With aliases, a short file can repeat a long case many times.
            self.report(node, f"the cases ask about more than {MOST_ASKED} pairs of a principal and an object; make "
                              "lists shorter")
            who = ()
        # The permissions of an unknown object are unknown, too.
        may = self.may(parts.get("may"), who, things, {*people, *objects}, whole=len(things) == len(objects))
        principals = tuple((word, self.principals[word]) for word in who)
        name = self.word(parts.get("name"), "name") or ""
        return Case(name, line_of(node), principals, things, may, self.environment(parts, default))

    def named(self, node: yaml.Node | None, kind: str, names: Collection[str]) -> list[str]:
        """Returns every word of `who` or `what`. An unknown one is a finding."""
        words = self.words(node, f"a {kind}")
        for word, item in words:
            if word not in names and word not in self.refused and (kind == "principal" or not self.is_gone(word)):
                self.report(item, f"there is no {kind} {word!r}{_as_list(word) or did_you_mean(word, names)}")
        return [word for word, _ in words]

    def is_gone(self, word: str) -> bool:
        """True if `what` is an object or a resource of a plugin that was removed."""
        return word in self.gone or ("." not in word and self.patterns.gone(f"{word}.*") is not None)

    def may(
        self, node: yaml.Node | None, who: tuple[str, ...], things: tuple[Thing, ...], named: set[str], *, whole: bool
    ) -> dict[tuple[str, str], frozenset[str]]:
        """Reads the permissions of each `who` on each `what`: one list for all, or lists by principal or by object."""
        pairs = [(name, thing) for name in who for thing in things]
        resources = {thing.resource for thing in things}
        if not isinstance(node, yaml.MappingNode):
            everything = self.permissions(node, resources, whole)
            return {(name, thing.name): everything[thing.resource] for name, thing in pairs}
        listed = self.mapping(node, "may", {*named, OTHERS})
        by_object = not listed.keys().isdisjoint(thing.name for thing in things)
        if by_object and not listed.keys().isdisjoint(who):
            self.report(node, "may lists principals or objects, not both")
        granted = {name: self.permissions(value, resources, whole) for name, value in listed.items()}
        others = granted.get(OTHERS, {})
        return {
            (name, thing.name): granted.get(thing.name if by_object else name, others).get(thing.resource, frozenset())
            for name, thing in pairs
        }

    def permissions(self, node: yaml.Node | None, resources: Collection[str], whole: bool) -> dict[str, frozenset[str]]:
        """Returns the permissions that a list of patterns names, by the resource of the objects."""
        by_resource = {resource: self.vocabulary.resources[resource].permissions for resource in resources}
        names, granted = set[str]().union(*by_resource.values()), set[str]()
        gone = {permission for permission in self.vocabulary.gone if permission.partition(".")[0] in resources}
        for pattern, item in self.words(node, "a permission (write [] for none)"):
            matched = {permission for permission in names if fnmatchcase(permission, pattern)}
            granted |= matched
            if not matched and whole and resources and not any(fnmatchcase(name, pattern) for name in gone):
                hint = _as_list(pattern) or _hint(pattern, names)
                self.report(item, f"{pattern!r} is no permission of this case's objects{hint}")
        return {resource: frozenset(granted & permissions) for resource, permissions in by_resource.items()}

    def warn_of_unused(self, kind: str, names: Mapping[str, yaml.Node]) -> None:
        for name, key in names.items():
            if name not in self.used:
                self.warn(key, f"no case asks about the {kind} {name!r}")

    def warn_of_namesakes(self, cases: Iterable[Case]) -> None:
        first: dict[str, Case] = {}
        for case in cases:
            if (other := first.setdefault(case.name, case)) is not case and case.name:
                self.warn(case.line, f"the case at line {other.line} has the same name, {case.name!r}")


def _changes(moment: datetime) -> str | None:
    """Returns why a local time is not exactly one moment, on the nights when the clock changes; None if it is."""
    if moment.astimezone(UTC).astimezone(moment.tzinfo) != moment:
        return "the clock leaves this time out"
    if moment.utcoffset() != moment.replace(fold=1).utcoffset():
        return "the clock shows this time twice"
    return None


def _as_list(word: str) -> str:
    return f"; a list is written [{word}]" if ", " in word else ""


def _hint(pattern: str, permissions: Collection[str]) -> str:
    """Suggests a replacement for an unknown permission: an empty list, the full name of a verb, or the nearest."""
    if pattern.lower() in _NOTHING:
        return "; write [] for none"
    for permission in sorted(permissions):
        if permission.partition(".")[2] == pattern:
            return f"; did you mean {permission}?"
    return did_you_mean(pattern, permissions)
