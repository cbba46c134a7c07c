"""Reading tests.yaml, strictly: a misspelt word is a finding with its line, not a case that passes by luck.

The format is described for administrators in README.md, "Testing a policy"; this module turns it into a
`Suite`. What a suite means, and how it is run, is in cases.py.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import yaml

from ..evaluation.policy import Policy
from ..evaluation.principal import FixedEnvironment, Principal
from ..evaluation.rights import RIGHTS
from ..syntax.files import Unreadable, read_text
from ..syntax.finding import Finding, PolicyError
from ..syntax.vocabulary import Vocabulary
from .cases import Case, Suite, Thing, run

OTHERS = "others"
_GRANTEES = ("user:", "group:", "role:")
_PARTS = ("clock", "env", "principals", "objects", "cases")
_WORDS = re.compile(r"'[^']{3,}'")  # that YAML's errors quote
_ENVIRONMENT = ("ip", "device", "method", "request")
_PRINCIPAL = ("id", "role", "department", "kind", "groups", "scopes")


def read_suite(text: str, file: str, vocabulary: Vocabulary) -> Suite:
    """The suite that `text` describes; `file` names it in findings.

    Raises PolicyError with every finding at once (`file:line: message`).
    """
    reader = _Reader(text, file, vocabulary)
    suite = reader.suite()
    if reader.findings:
        raise PolicyError(reader.findings)
    return suite


def failures(policy: Policy, path: Path) -> list[Finding]:
    """Read the cases in `path` and run them: what is wrong with the file, or with the policy's answers."""
    try:
        suite = read_suite(read_text(path), path.name, policy.vocabulary)
    except Unreadable as error:
        return [Finding(path.name, 0, str(error))]
    except PolicyError as error:
        return list(error.findings)
    return run(policy, suite).failures


class _Reader:
    """One pass over the YAML nodes, which know their lines; findings are collected, not raised."""

    def __init__(self, text: str, file: str, vocabulary: Vocabulary) -> None:
        self.text, self.file, self.vocabulary = text, file, vocabulary
        self.findings: list[Finding] = []
        self.principals: dict[str, Principal] = {}
        self.things: dict[str, Thing] = {}

    def report(self, node: yaml.Node | None, message: str) -> None:
        line = node.start_mark.line + 1 if node is not None else 1
        self.findings.append(Finding(self.file, line, message))

    def suite(self) -> Suite:
        root = self._root()
        if isinstance(root, yaml.MappingNode) and not any(key.value in _PARTS for key, _ in root.value):
            # It may be any file under this name: none of its words is shown.
            self.report(root, f"these are no cases; known are {', '.join(_PARTS)}")
            return Suite(self.file, ())
        parts = self.mapping(root, "the file", _PARTS)
        environment = self.environment(parts, FixedEnvironment())
        for name, node in self.mapping(parts.get("principals"), "principals").items():
            self.principals[name] = self.principal(name, node)
        for resource, objects in self.mapping(parts.get("objects"), "objects").items():
            for name, node in self.mapping(objects, f"the objects of {resource}").items():
                self.thing(resource, name, node)
        for resource in self.vocabulary.resources:
            self.things.setdefault(resource, Thing(resource, resource, None, {}))
        cases = [self.case(node, environment) for node in self.items(parts.get("cases"), "cases")]
        if not cases and not self.findings:
            self.report(root, "the file has no cases")
        return Suite(self.file, tuple(cases))

    def _root(self) -> yaml.Node | None:
        try:
            return yaml.compose(self.text, Loader=yaml.SafeLoader)
        except yaml.MarkedYAMLError as error:
            line = error.problem_mark.line + 1 if error.problem_mark else 1
            self.findings.append(Finding(self.file, line, f"not YAML: {_WORDS.sub('…', error.problem or '')}"))
        except yaml.YAMLError as error:
            self.findings.append(Finding(self.file, 1, f"not YAML: {error}"))
        except RecursionError:
            self.findings.append(Finding(self.file, 1, "nested too deeply"))
        return None

    # Nodes

    def mapping(
        self, node: yaml.Node | None, what: str, known: Collection[str] | None = None
    ) -> dict[str, yaml.Node]:
        """The entries of a mapping; an unknown or repeated key is a finding."""
        entries: dict[str, yaml.Node] = {}
        if node is None:
            return entries
        if not isinstance(node, yaml.MappingNode):
            self.report(node, f"{what} must be a mapping (name: value)")
            return entries
        for key, value in node.value:
            name = key.value if isinstance(key, yaml.ScalarNode) else ""
            if not name:
                self.report(key, f"a name in {what} must be a plain word")
            elif name in entries:
                self.report(key, f"{name!r} stands twice in {what}")
            elif known is not None and name not in known:
                self.report(key, f"{what} knows no {name!r}{_hint(name, known)}")
            else:
                entries[name] = value
        return entries

    def items(self, node: yaml.Node | None, what: str) -> list[yaml.Node]:
        if node is None:
            return []
        if not isinstance(node, yaml.SequenceNode):
            self.report(node, f"{what} must be a list")
            return []
        return list(node.value)

    def words(self, node: yaml.Node | None, what: str) -> Iterator[tuple[str, yaml.Node]]:
        """One word or a list of words, each with its node."""
        if node is None:
            return
        for item in node.value if isinstance(node, yaml.SequenceNode) else [node]:
            if isinstance(item, yaml.ScalarNode) and item.value:
                yield item.value, item
            else:
                self.report(item, f"{what} must be a word or a list of words")

    def word(self, node: yaml.Node | None, what: str) -> str | None:
        if node is None:
            return None
        if isinstance(node, yaml.ScalarNode) and node.value:
            return str(node.value)
        self.report(node, f"{what} must be one word")
        return None

    def scalar(self, node: yaml.Node) -> Any:
        """The Python value of a scalar node, as YAML 1.1 reads it."""
        loader = yaml.SafeLoader("")
        try:
            return loader.construct_object(node, deep=True)
        except (yaml.YAMLError, ValueError) as error:
            self.report(node, f"not a value: {error}")
            return None

    # Parts

    def environment(self, parts: Mapping[str, yaml.Node], default: FixedEnvironment) -> FixedEnvironment:
        values = {}
        for name, node in self.mapping(parts.get("env"), "env", _ENVIRONMENT).items():
            values[name] = self.word(node, name) or ""
        clock = parts.get("clock")
        if clock is not None:
            try:
                moment = datetime.fromisoformat(self.word(clock, "clock") or "")
            except ValueError:
                self.report(clock, "clock must be a time such as 2026-11-18T10:30:00Z")
            else:
                return default.at(moment).having(values)
        return default.having(values)

    def principal(self, name: str, node: yaml.Node) -> Principal:
        parts = self.mapping(node, f"principal {name!r}", _PRINCIPAL)
        role = self.word(parts.get("role"), "role")
        if role not in self.vocabulary.roles:
            message = f"principal {name!r} needs a role" if role is None else f"there is no role {role!r}"
            self.report(parts.get("role", node), message + _hint(role or "", self.vocabulary.roles))
        kind = self.word(parts.get("kind"), "kind") or ("guest" if role == "guest" else "user")
        if kind not in ("user", "service", "guest"):
            self.report(parts["kind"], f"there is no kind {kind!r}; use user, service or guest")
        identity = None if kind == "guest" else self.word(parts.get("id"), "id") or name
        scopes = parts.get("scopes")
        return Principal(
            id=identity,
            key="guest" if identity is None else f"user:{identity}",
            role=role or "guest",
            tenant_id="default",
            department=self.word(parts.get("department"), "department"),
            kind=kind,
            groups=tuple(word for word, _ in self.words(parts.get("groups"), "groups")),
            scopes=None if scopes is None else frozenset(word for word, _ in self.words(scopes, "scopes")),
        )

    def thing(self, resource: str, name: str, node: yaml.Node) -> None:
        known = self.vocabulary.resources.get(resource)
        if known is None:
            hint = _hint(resource, self.vocabulary.resources)
            self.report(node, f"there is no resource {resource!r}{hint}")
            return
        if name in self.things or name in self.vocabulary.resources:
            self.report(node, f"two objects are called {name!r}")
        columns: dict[str, Any] = {column: None for column in known.columns}
        columns.update({"id": name, "tenant_id": "default"})
        shares: dict[str, str] = {}
        for key, value in self.mapping(node, f"object {name!r}", {*known.columns, "shares"}).items():
            if key == "shares":
                shares = self.shares(value)
            else:
                columns[key] = found = self.scalar(value)
                wanted = known.columns[key].type
                if found is not None and type(found) is not wanted:
                    self.report(value, f"{resource}.{key} holds {_TYPES[wanted]}; {value.value!r} is none")
        self.things[name] = Thing(name, resource, columns, shares)

    def shares(self, node: yaml.Node) -> dict[str, str]:
        shares = {}
        for grantee, value in self.mapping(node, "shares").items():
            right = self.word(value, "a right") or ""
            if not grantee.startswith(_GRANTEES):
                self.report(value, f"{grantee!r} must be user:<id>, group:<name> or role:<name>")
            if right not in RIGHTS:
                self.report(value, f"there is no right {right!r}; use {', '.join(RIGHTS)}")
            shares[grantee] = right
        return shares

    def case(self, node: yaml.Node, default: FixedEnvironment) -> Case:
        parts = self.mapping(node, "a case", ("name", "who", "what", "may", "clock", "env"))
        for required in ("name", "who", "what", "may"):
            if required not in parts and isinstance(node, yaml.MappingNode):
                self.report(node, f"a case needs {required!r}")
        who = tuple(self.known(parts.get("who"), "principal", self.principals))
        what = tuple(self.known(parts.get("what"), "object or resource", self.things))
        for key in ("who", "what"):
            if key in parts and isinstance(parts[key], yaml.SequenceNode) and not parts[key].value:
                self.report(parts[key], f"{key} names nobody" if key == "who" else "what names nothing")
        name = self.word(parts.get("name"), "name") or ""
        principals = tuple((word, self.principals[word]) for word in who)
        things = tuple(self.things[word] for word in what)
        may = self.may(parts.get("may"), who, things)
        line = node.start_mark.line + 1
        return Case(name, line, principals, things, may, self.environment(parts, default))

    def known(self, node: yaml.Node | None, kind: str, names: Collection[str]) -> Iterator[str]:
        for word, item in self.words(node, f"a {kind}"):
            if word in names:
                yield word
            else:
                self.report(item, f"there is no {kind} {word!r}{_hint(word, names)}")

    def may(
        self, node: yaml.Node | None, who: tuple[str, ...], things: tuple[Thing, ...]
    ) -> dict[tuple[str, str], frozenset[str]]:
        """What each `who` may do to each `what`: one list for all, or lists by principal or by object."""
        pairs = [(name, thing) for name in who for thing in things]
        if not isinstance(node, yaml.MappingNode):
            everything = self.permissions(node, things)
            return {(name, thing.name): everything[thing.name] for name, thing in pairs}
        what = tuple(thing.name for thing in things)
        listed = self.mapping(node, "may", {*who, *what, OTHERS})
        by_object = any(name in what for name in listed)
        if by_object and any(name in who for name in listed):
            self.report(node, "may lists principals or objects, not both")
        granted = {name: self.permissions(value, things) for name, value in listed.items()}
        others = granted.get(OTHERS, {})
        return {
            (name, thing.name): granted.get(thing.name if by_object else name, others).get(
                thing.name, frozenset()
            )
            for name, thing in pairs
        }

    def permissions(self, node: yaml.Node | None, things: Collection[Thing]) -> dict[str, frozenset[str]]:
        """The permissions that a list of patterns names, for each thing those of its resource."""
        granted: dict[str, set[str]] = {thing.name: set() for thing in things}
        for pattern, item in self.words(node, "a permission"):
            matched = False
            for thing in things:
                known = self.vocabulary.resources[thing.resource].permissions
                found = {permission for permission in known if fnmatchcase(permission, pattern)}
                granted[thing.name] |= found
                matched = matched or bool(found)
            if not matched and things:
                asked = {p for thing in things for p in self.vocabulary.resources[thing.resource].permissions}
                hint = _hint(pattern, asked)
                self.report(item, f"{pattern!r} is no permission of this case's objects{hint}")
        return {name: frozenset(found) for name, found in granted.items()}


_TYPES: dict[type, str] = {str: "text (put it in quotes)", int: "a whole number", bool: "true or false"}


def _hint(word: str, known: Collection[str]) -> str:
    near = difflib.get_close_matches(word, list(known), 1)
    return f"; did you mean {near[0]!r}?" if near else ""
