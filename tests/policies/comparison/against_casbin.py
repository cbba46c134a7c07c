"""The comparison against Casbin and chance: `python -m tests.policies.comparison.against_casbin --pairs 500 --seed 1`.

For each pair of policies, caller and permission: if a difference is reported, Casbin answers its example differently
under the two policies. If none is reported, random requests find none.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from policies.comparison.prover import Comparison
from policies.loading.oracle import Oracle
from tests.policies.comparison.worlds import VOCABULARY, World, subjects, worlds

QUESTIONS = 2000  # random requests a pair of policies


@dataclass(slots=True)
class Tally:
    """Counts of the comparison."""

    pairs: int = 0
    witnesses: int = 0
    equal: int = 0
    undecided: int = 0
    asked: int = 0

    def __str__(self) -> str:
        return (f"{self.pairs} pairs of policies: {self.witnesses} examples, {self.equal} proofs that there is none, "
                f"{self.undecided} undecided, {self.asked} random requests")


def tried(world: World, tally: Tally, questions: int = QUESTIONS) -> None:
    """Compares one pair, and tries to refute the comparison. Raises AssertionError."""
    comparison = Comparison(world.old, world.new)
    before, after = ((one, Oracle.of(one)) for one in (world.old, world.new))
    same = []
    for subject in subjects(world.old, world.new):
        for permission in VOCABULARY.by_permission:
            found = comparison.between(subject, permission)
            tally.undecided += found.undecided
            for witness, gives, refuses in ((found.gained, after, before), (found.lost, before, after)):
                if witness is not None:
                    tally.witnesses += 1
                    example = world.example(witness)
                    # Casbin's own ipMatch fails without an address.
                    answers = tuple(policy.decide(*example) if example[3].ip is None else oracle.decide(*example)
                                    for policy, oracle in (gives, refuses))
                    assert answers == (True, False), (str(witness), str(world))
            if not found:
                same.append((subject, permission))
    tally.pairs += 1
    tally.equal += len(same)
    for _ in range(questions if same else 0):
        request = world.request(*world.chance.choice(same))
        tally.asked += 1
        assert world.old.decide(*request) is world.new.decide(*request), (request, str(world))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pairs", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    tally = Tally()
    for world in worlds(options.seed, options.pairs):
        tried(world, tally)
    print(tally)


if __name__ == "__main__":
    main()
