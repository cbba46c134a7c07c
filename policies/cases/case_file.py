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

import yaml

from ..evaluation.policy import Policy
from ..evaluation.principal import FixedEnvironment
from ..loading.files import Unreadable, read_text
from ..syntax.vocabulary import Vocabulary
from ..wording.finding import Finding, PolicyError
from ..wording.suggestions import did_you_mean
from .case_run import run
from .case_world import World
from .cases import Case, Suite, Thing
from .yaml_nodes import line_of

OTHERS = "others"
MOST_ASKED = 50_000  # pairs of a principal and an object of all cases together
_PARTS = ("clock", "env", "principals", "objects", "cases")
_USUAL = datetime(2026, 11, 18, 10)  # on the wall, where no clock is given: a Wednesday morning
_NOTHING = ("nothing", "none", "no", "never", "-", "~", "null")


def read_suite(text: str, file: str, vocabulary: Vocabulary, scopes: Collection[str] | None = None,
               roles: Collection[str] | None = None, zone: tzinfo = UTC) -> Suite:
    """The suite that `text` describes; `file` names it in findings. `scopes` and `roles` are those that the rules have
    (None: not known). `zone` is the time zone of the settings.

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


class _Reader(World):
    """One pass over the nodes of a file of cases.

    used   the principals and objects that some case names
    asked  number of pairs of a principal and an object that the cases name
    """

    def __init__(self, text: str, file: str, vocabulary: Vocabulary, scopes: Collection[str] | None,
                 roles: Collection[str] | None, zone: tzinfo) -> None:
        super().__init__(text, file, vocabulary, scopes, roles, zone)
        self.used: set[str] = set()
        self.asked = 0

    def suite(self) -> Suite:
        root = self.root()
        if isinstance(root, yaml.MappingNode) and not any(key.value in _PARTS for key, _ in root.value):
            # It may be any file under this name: none of its words is shown.
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
            # By an alias, a short file repeats a long case as often as it likes.
            self.report(node, f"the cases ask about more than {MOST_ASKED} pairs of a principal and an object; make "
                              "lists shorter")
            who = ()
        # With an object that is not known, a permission of it cannot be known either.
        may = self.may(parts.get("may"), who, things, {*people, *objects}, whole=len(things) == len(objects))
        principals = tuple((word, self.principals[word]) for word in who)
        name = self.word(parts.get("name"), "name") or ""
        return Case(name, line_of(node), principals, things, may, self.environment(parts, default))

    def named(self, node: yaml.Node | None, kind: str, names: Collection[str]) -> list[str]:
        """Every word of `who` or `what`; one that is not known is a finding."""
        found = self.words(node, f"a {kind}")
        for word, item in found:
            if word not in names and word not in self.refused and (kind == "principal" or not self.is_gone(word)):
                self.report(item, f"there is no {kind} {word!r}{_as_list(word) or did_you_mean(word, names)}")
        return [word for word, _ in found]

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
        """The permissions that a list of patterns names, by the resource of the objects."""
        known = {resource: self.vocabulary.resources[resource].permissions for resource in resources}
        asked, granted = set[str]().union(*known.values()), set[str]()
        gone = {permission for permission in self.vocabulary.gone if permission.partition(".")[0] in resources}
        for pattern, item in self.words(node, "a permission (write [] for none)"):
            matched = {permission for permission in asked if fnmatchcase(permission, pattern)}
            granted |= matched
            if not matched and whole and resources and not any(fnmatchcase(one, pattern) for one in gone):
                hint = _as_list(pattern) or _hint(pattern, asked)
                self.report(item, f"{pattern!r} is no permission of this case's objects{hint}")
        return {resource: frozenset(granted & permissions) for resource, permissions in known.items()}

    def warn_of_unused(self, kind: str, names: Mapping[str, yaml.Node]) -> None:
        for name, key in names.items():
            if name not in self.used:
                self.warn(key, f"no case asks about the {kind} {name!r}")

    def warn_of_namesakes(self, cases: Iterable[Case]) -> None:
        first: dict[str, Case] = {}
        for case in cases:
            if (other := first.setdefault(case.name, case)) is not case and case.name:
                self.warn(case.line, f"the case at line {other.line} has the same name, {case.name!r}")


def _as_list(word: str) -> str:
    return f"; a list is written [{word}]" if ", " in word else ""


def _hint(pattern: str, asked: Collection[str]) -> str:
    """Suggests a replacement for an unknown permission: an empty list, the full name of a verb, or the nearest."""
    if pattern.lower() in _NOTHING:
        return "; write [] for none"
    for permission in sorted(asked):
        if permission.partition(".")[2] == pattern:
            return f"; did you mean {permission}?"
    return did_you_mean(pattern, asked)
