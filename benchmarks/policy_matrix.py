"""The cost of the access matrix: for the roles, for 500 users, for one of them, and from the cache.

    python -m benchmarks.policy_matrix

The figures are milliseconds of processor time, the medians of some rounds. Each round uses a policy that was just
loaded and has decided nothing yet.

The three policies are the shipped one; 5 000 rules, which are the shipped ones and ten for each of 500 users; and 5 000
rules, two for each of 500 users and the rest spread over the roles, the permissions and the conditions.
"""

from __future__ import annotations

import argparse
import random
import statistics
from collections.abc import Callable
from functools import partial
from itertools import cycle, islice
from uuid import UUID

from benchmarks.policy_size import LINES, PERSONS, Files, policies, timed
from policies import Policy
from policies.invariants.lines import INVARIANTS_FILE
from policies.loading.loader import from_files
from policies.syntax.vocabulary import Vocabulary
from policies.tools.matrix import as_text, matrix, of_person, table_of

# Conditions that a line about any permission may have, and one for objects that have an owner.
_ANYWHERE, _OWNED = ("always", "office_hours", "intranet", "anonymous"), "own"

WORKS: dict[str, Callable[[Policy], object]] = {
    "roles": table_of,
    "one person": lambda policy: of_person(policy, "user", next(iter(policy.persons), ""),
                                           policy.vocabulary.by_permission),
    "roles and persons": matrix,
    "as text": lambda policy: as_text(matrix(policy)),
}


def spread(files: Files, vocabulary: Vocabulary) -> Files:
    """Returns the files with more rules: two for each of `PERSONS`, the rest over roles, permissions and conditions.

    The rules may violate the invariants.
    """
    policy, chance = from_files(files, vocabulary), random.Random(LINES)
    asked = [(permission, when) for permission, resource in vocabulary.by_permission.items()
             for when in (*_ANYWHERE, *((_OWNED,) if "owner_id" in resource.columns else ()))]
    people = [f"user:{UUID(int=chance.getrandbits(128))}" for _ in range(PERSONS)]
    whose = [*islice(cycle(people), 2 * PERSONS), *islice(cycle(policy.roles.names), LINES)]
    lines = (f"p, {who}, {permission}, {when}, {'deny' if when == 'anonymous' else 'allow'}"
             for who, (permission, when) in ((who, chance.choice(asked)) for who in whose[:LINES - len(policy.rules)]))
    return {**files, INVARIANTS_FILE: b"# end\n", "spread.csv": "\n".join([*lines, "# end\n"]).encode()}


def measured(files: Files, vocabulary: Vocabulary) -> dict[str, float]:
    """Each figure by its name."""
    figures = {name: timed(partial(work, from_files(files, vocabulary))) for name, work in WORKS.items()}
    policy = from_files(files, vocabulary)
    table_of(policy)
    figures["roles, kept"] = timed(partial(table_of, policy))
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="how often; the medians are printed")
    rounds = parser.parse_args().rounds
    known = policies()
    shipped, vocabulary = known["shipped"]
    asked = {name: known[name] for name in ("shipped", "persons")} | {
        "spread": (spread(shipped, vocabulary), vocabulary)}
    found = {name: [measured(*one) for _ in range(rounds)] for name, one in asked.items()}
    print(f"{'':18}" + "".join(f"{name:>10}" for name in found))
    for figure in found["shipped"][0]:
        print(f"{figure:18}" + "".join(f"{statistics.median(one[figure] for one in each):>10.2f}"
                                       for each in found.values()))


if __name__ == "__main__":
    main()
