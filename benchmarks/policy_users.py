"""Measures the tools for thousands of users with rules of their own, hardly two of them alike.

    python -m benchmarks.policy_users [--sizes 100 1000 5000 47000]

The figures are seconds of processor time for policies of these numbers of rules: the shipped rules, and about nine for
each user with broad patterns, and random conditions and effects. This is the worst case of a policy with rules for
users. For users with rules of a few kinds see `benchmarks.policy_size`.
"""

from __future__ import annotations

import argparse
import random
from functools import partial
from uuid import UUID

from benchmarks.policy_size import Files, redefined, timed
from gatepost.commands import policy_files
from policies import Policy
from policies.invariants.lines import INVARIANTS_FILE
from policies.lint.warnings import warnings
from policies.loading import check
from policies.loading.folder import SAMPLE
from policies.loading.loader import from_files
from policies.loading.oracle import sampled
from policies.questions.diff import diff
from policies.syntax.rules import Rule
from policies.syntax.vocabulary import Vocabulary
from policies.tools.matrix import matrix
from policies.usage.unused import unused

SIZES = (100, 1_000, 5_000, 47_000)
EACH = 9.4  # rules of a user
_VERBS = ("*.view", "*.update", "*.delete", "*.create")


def files_of(size: int, shipped: Policy) -> Files:
    """The shipped files, without invariants, which such rules would break, and rules of users: `size` in all."""
    chance, asked = random.Random(size), _broad(shipped)
    count = max(1, size - len(shipped.rules))
    users = [UUID(int=chance.getrandbits(128)) for _ in range(max(1, round(count / EACH)))]
    drawn = sorted((str(chance.choice(users)), *chance.choice(asked), chance.random()) for _ in range(count))
    lines = (f"p, user:{user}, {act}, {when}, {'deny' if luck < 0.15 else 'allow'}" for user, act, when, luck in drawn)
    return {**shipped.files, INVARIANTS_FILE: b"# end\n", "people.csv": "\n".join([*lines, "# end\n"]).encode()}


def _broad(policy: Policy) -> list[tuple[str, str]]:
    """Patterns of permissions, each with the conditions that fit all that it covers."""
    acts = ("*", *_VERBS, *(f"{name}.*" for name, resource in policy.vocabulary.resources.items()
                            if len(resource.permissions) > 1))
    rules = [Rule("people.csv", 1, "user", act, when, "allow") for act in acts for when in policy.conditions]
    return [(rule.act, rule.when) for rule in rules if not check.conditions(
        policy.model, [rule], policy.patterns, policy.vocabulary, frozenset(policy.roles.names))]


def measured(files: Files, vocabulary: Vocabulary) -> dict[str, float]:
    """Seconds by the name of each tool."""
    loaded: list[Policy] = []
    figures = {"load": timed(lambda: loaded.append(from_files(files, vocabulary)))}
    policy, other = loaded[0], from_files(redefined(files), vocabulary)
    stored = dict.fromkeys(policy.persons, "user")
    tools = {"diff of own": partial(diff, other), "with stored roles": partial(diff, other, stored=stored),
             "lint": warnings, "unused": lambda policy: unused(policy, "", {}, (), ()), "matrix": matrix,
             "sample of Casbin": partial(sampled, seconds=SAMPLE)}
    for name, tool in tools.items():
        figures[name] = timed(partial(tool, from_files(files, vocabulary)))
    return {name: figure / 1e3 for name, figure in figures.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="of how many rules")
    shipped = policy_files.shipped_policy()
    for size in parser.parse_args().sizes:
        figures = measured(files_of(size, shipped), shipped.vocabulary)
        print(f"{size:>7} rules  " + "  ".join(f"{name} {figure:.2f}" for name, figure in figures.items()), flush=True)


if __name__ == "__main__":
    main()
