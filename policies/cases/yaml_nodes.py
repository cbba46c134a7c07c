"""Reading YAML as nodes with line numbers: a mistake becomes a finding at its line, and nothing is raised.

The module reads only shapes: mappings, lists, words and values. The reader of the file interprets them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from itertools import chain
from math import inf
from typing import Any

import yaml

from ..wording.finding import Finding
from ..wording.suggestions import did_you_mean

_LONGEST = 100  # characters of a number, a time or a truth value
MOST_REPEATED = 100_000  # nodes that the aliases of a file stand for
_TEXT = "tag:yaml.org,2002:str"
Entry = tuple[str, yaml.Node, yaml.Node]  # name, and the nodes of key and value
_WORDS = re.compile(r"'[^']{3,}'")  # that YAML's errors quote
_OPENED = {"while parsing a flow sequence": "list", "while parsing a flow mapping": "mapping"}
# What YAML's errors say → what to write.
_ADVICE = (
    ("found character '\\t'", "a tab is used where YAML requires blanks"),
    ("mapping values are not allowed here", "no colon is allowed here: put a text with a colon and a blank in quotes, "
                                               "and begin the lines of one mapping below each other"),
    ("could not find expected ':'", "this line is no `name: value`"),
    ("found unexpected end of stream", "the quote that begins here is not closed"),
    ("that cannot start any token", "a word that begins with @, % or ` must be in quotes"),
    ("but found another document", "`---` begins a second document; a file has one"),
    ("found undefined alias", "a word that begins with * must be in quotes, such as '*.view'"),
    ("expected <block end>", "this line does not fit the one above: check how far it is indented, and put a text that "
                             "contains a quote in double quotes"),
)


class Nodes:
    """The nodes of one file, with its errors (`findings`) and `warnings`, in the order of their discovery."""

    def __init__(self, text: str, file: str) -> None:
        self.text, self.file = text, file
        self.findings: list[Finding] = []
        self.warnings: list[Finding] = []

    def report(self, at: yaml.Node | int, message: str) -> None:
        self.findings.append(Finding(self.file, line_of(at), message))

    def warn(self, at: yaml.Node | int, message: str) -> None:
        self.warnings.append(Finding(self.file, line_of(at), message, "warning"))

    def root(self) -> yaml.Node | None:
        """Returns the node of the whole file; None if it is empty or no YAML."""
        try:
            root = yaml.compose(self.text, Loader=yaml.SafeLoader)
            sizes: dict[int, float] = {}
            if root is None or _size(root, sizes) - len(sizes) <= MOST_REPEATED:
                return root
            self.report(root, f"the aliases (*name) of the file stand for more than {MOST_REPEATED} words and lists; "
                              "make lists shorter")
        except yaml.MarkedYAMLError as error:
            self._report_syntax(error)
        except yaml.reader.ReaderError as error:
            line = self.text.count("\n", 0, error.position) + 1
            self.report(line, f"not YAML: this line holds the character U+{ord(self.text[error.position]):04X}")
        except yaml.YAMLError as error:
            self.report(1, f"not YAML: {error}")
        except RecursionError:
            self.report(1, "nested too deeply")
        return None

    def entries(self, node: yaml.Node | None, what: str, known: Collection[str] | None = None) -> Iterator[Entry]:
        """Yields the entries of a mapping. An unknown or repeated key is a finding."""
        if node is None or _is_empty(node):
            return
        if not isinstance(node, yaml.MappingNode):
            self.report(node, f"{what} must be a mapping (name: value)")
            return
        seen: dict[str, int] = {}
        for key, value in node.value:
            name = key.value if isinstance(key, yaml.ScalarNode) else ""
            if not name:
                self.report(key, f"a name in {what} must be a plain word")
            elif name in seen:
                self.report(key, f"{name!r} appears twice in {what}, first at line {seen[name]}")
            elif known is not None and name not in known:
                hint = "; a list is written [one, two]" if _is_empty(value) else did_you_mean(name, known)
                self.report(key, f"{what} knows no {name!r}{hint}")
            else:
                seen[name] = line_of(key)
                yield name, key, value

    def mapping(self, node: yaml.Node | None, what: str, known: Collection[str]) -> dict[str, yaml.Node]:
        """Returns the same entries as key → value."""
        return {name: value for name, _, value in self.entries(node, what, known)}

    def items(self, node: yaml.Node | None, what: str) -> list[yaml.Node]:
        if node is None or _is_empty(node):
            return []
        if not isinstance(node, yaml.SequenceNode):
            self.report(node, f"{what} must be a list, each item behind `- `")
            return []
        return list(node.value)

    def words(self, node: yaml.Node | None, what: str) -> list[tuple[str, yaml.Node]]:
        """Returns one word or a list of words, each with its node."""
        if node is None:
            return []
        words: list[tuple[str, yaml.Node]] = []
        for item in node.value if isinstance(node, yaml.SequenceNode) else [node]:
            if isinstance(item, yaml.ScalarNode) and item.value:
                words.append((str(item.value), item))
            else:
                self.report(item, f"{what} must be a word or a list of words")
        return words

    def word(self, node: yaml.Node | None, what: str) -> str | None:
        if node is None:
            return None
        if isinstance(node, yaml.ScalarNode) and node.value:
            return str(node.value)
        self.report(node, f"{what} must be one word or text")
        return None

    def value(self, node: yaml.Node) -> Any:
        """Returns the Python value of a scalar, as YAML 1.1 defines it; for other nodes, the node itself."""
        if not isinstance(node, yaml.ScalarNode):
            return node
        # Numbers on the base of 60, such as 1:59:59, take quadratic time.
        if len(node.value) > _LONGEST and node.tag != _TEXT:
            return node
        try:
            return yaml.SafeLoader("").construct_object(node)
        except (yaml.YAMLError, ArithmeticError, ValueError, LookupError, AttributeError):
            # A date that is none, an unknown tag, a tag that does not fit: PyYAML lets errors of its own code through.
            return node

    def _report_syntax(self, error: yaml.MarkedYAMLError) -> None:
        problem, context = error.problem or "", error.context or ""
        place = error.problem_mark.line + 1 if error.problem_mark else 1
        begun = error.context_mark.line + 1 if error.context_mark else place
        advice = next((text for phrase, text in _ADVICE if phrase in problem), _WORDS.sub("…", problem))
        if context in _OPENED and "expected" in problem:
            advice = f"the {_OPENED[context]} that begins here is not closed, or a comma is missing at line {place}"
        elif context == "while scanning an alias":
            advice, begun = "a word that begins with * must be in quotes, such as '*.view'", place
        elif context not in ("while scanning a simple key", "while scanning a quoted scalar"):
            begun = place
        self.report(begun, f"not YAML: {advice}")


def line_of(at: yaml.Node | int) -> int:
    return at if isinstance(at, int) else at.start_mark.line + 1


def _size(node: yaml.Node, sizes: dict[int, float]) -> float:
    """Returns the number of nodes below a node, with itself.

    An alias counts as all nodes that it repeats; an alias to one of its parents as infinite. `sizes` holds the results
    by the identity of the node.
    """
    if (size := sizes.get(id(node))) is None:
        sizes[id(node)] = inf
        parts = [] if isinstance(node, yaml.ScalarNode) else (
            chain.from_iterable(node.value) if isinstance(node, yaml.MappingNode) else node.value)
        size = sizes[id(node)] = 1 + sum(_size(part, sizes) for part in parts)
    return size


def _is_empty(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode) and node.value == "" and node.style is None
