"""A policy of thousands of lines, for `make bench`: the shipped one, and what single persons may besides.

There are nine roles, so what makes a policy long in earnest is people. The caller that is measured is none of them and
sees the same rows under both.
"""

from __future__ import annotations

import uuid
from itertools import cycle, islice
from pathlib import Path

from gatepost.commands.policy_files import policy_in
from policies import Policy
from policies.invariants.lines import ONLY, lines_of
from policies.syntax.rules import Rule


def lengthen(policies: Path, lines: int, persons: int | None = None) -> int:
    """Give one person after another what a role may, until the folder has `lines` rules; how many it has then.

    `persons` share the lines evenly; by default each line names a person of its own.
    """
    policy = policy_in(policies)
    shipped = policy.rules
    granted = list(islice(cycle(_grantable(policy)), max(0, lines - len(shipped))))
    people = [uuid.uuid4() for _ in range(len(granted) if persons is None else persons)]
    given = [f"p, user:{people[number * len(people) // len(granted)]}, {rule.act}, {rule.when}, {rule.eft}\n"
             for number, rule in enumerate(granted)]
    (policies / "people.csv").write_text("".join([*given, "# end\n"]), encoding="utf-8")
    return len(shipped) + len(granted)


def _grantable(policy: Policy) -> list[Rule]:
    """The rules that any person may be given: invariants keep some permissions to roles."""
    kept = frozenset[str]().union(*(one.covered(policy.patterns) for one in lines_of(policy) if one.kind == ONLY))
    return [rule for rule in policy.rules if not policy.permissions_of_line(rule) & kept]
