"""A policy of thousands of rules, for `make bench`: the shipped one, and permissions of single users.

There are nine roles, so real policies become long by rules for users. No rule names the caller of the benchmark, who
sees the same rows under both policies.
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
    """Gives permissions of roles to users until the folder has `lines` rules. Returns the number of rules.

    `persons` users share the rules evenly. By default each rule names another user.
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
    """Returns the rules that any user may get. Invariants reserve some permissions for roles."""
    kept = frozenset[str]().union(*(one.covered(policy.patterns) for one in lines_of(policy) if one.kind == ONLY))
    return [rule for rule in policy.rules if not policy.permissions_of_line(rule) & kept]
