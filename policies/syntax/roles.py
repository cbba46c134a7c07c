"""Which role inherits which: the `g` lines as a graph without cycles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..wording.finding import Finding, single_person

# Casbin gives up silently on a chain of ten links.
LONGEST_CHAIN = 9


@dataclass(frozen=True, slots=True)
class RoleLink:
    """One line `g, name, inherits`."""

    file: str
    line: int
    name: str
    inherits: str


class Roles:
    """The graph of roles and of the keys of single persons. Immutable."""

    def __init__(self, links: Iterable[RoleLink]) -> None:
        self.links = tuple(links)
        self.parents: Mapping[str, tuple[RoleLink, ...]] = {}
        parents: dict[str, list[RoleLink]] = {}
        for link in self.links:
            parents.setdefault(link.name, []).append(link)
        self.parents = {name: tuple(found) for name, found in parents.items()}
        self._closures: dict[str, frozenset[str]] = {}

    def closure(self, name: str) -> frozenset[str]:
        """The name itself and everything that it inherits."""
        known = self._closures.get(name)
        if known is not None:
            return known
        closure = self._reached(name, None)
        if name in self.parents:
            self._closures[name] = closure
        return closure

    def closure_without(self, link: RoleLink) -> frozenset[str]:
        """What the name of a link would inherit without it, and the name itself."""
        return self._reached(link.name, link)

    def _reached(self, name: str, without: RoleLink | None) -> frozenset[str]:
        reached, waiting = {name}, [name]
        while waiting:
            for link in self.parents.get(waiting.pop(), ()):
                if link is not without and link.inherits not in reached:
                    reached.add(link.inherits)
                    waiting.append(link.inherits)
        return frozenset(reached)

    def chain(self, name: str, ancestor: str) -> tuple[RoleLink, ...] | None:
        """The shortest way from `name` up to `ancestor`: empty when they are the same, None without a way."""
        ways: dict[str, tuple[RoleLink, ...]] = {name: ()}
        waiting = [name]
        for current in waiting:
            for link in self.parents.get(current, ()):
                if link.inherits not in ways:
                    ways[link.inherits] = (*ways[current], link)
                    waiting.append(link.inherits)
        return ways.get(ancestor)

    def check(self) -> list[Finding]:
        """Cycles, and chains longer than Casbin follows."""
        findings = []
        longest: dict[str, int] = {}
        for start in self.parents:
            findings += self._visit(start, longest, [])
        for name, length in longest.items():
            if length > LONGEST_CHAIN:
                link = self.parents[name][0]
                message = f"{name} inherits over {length} links; Casbin follows {LONGEST_CHAIN}"
                findings.append(Finding(link.file, link.line, message, person=single_person(name)))
        return findings

    def _visit(self, start: str, longest: dict[str, int], findings: list[Finding]) -> list[Finding]:
        """Depth first, with a stack of our own: a chain of thousands of roles must not overflow Python's."""
        path: list[str] = []
        stack: list[tuple[str, int]] = [(start, 0)]
        while stack:
            name, position = stack.pop()
            if position == 0:
                if name in longest:
                    continue
                path.append(name)
            links = self.parents.get(name, ())
            if position < len(links):
                stack.append((name, position + 1))
                link = links[position]
                if link.inherits in path:
                    findings += self._circle(path[path.index(link.inherits):])
                elif link.inherits not in longest:
                    stack.append((link.inherits, 0))
            else:
                path.pop()
                longest[name] = max((longest.get(link.inherits, 0) + 1 for link in links), default=0)
        return findings

    def _circle(self, names: list[str]) -> list[Finding]:
        """A finding at each line of a circle: any of them may be the one that is wrong."""
        circle = " → ".join([*names, names[0]])
        following = zip(names, [*names[1:], names[0]], strict=True)
        return [Finding(link.file, link.line, f"the roles inherit in a circle: {circle}")
                for name, inherits in following for link in self.parents[name] if link.inherits == inherits]
