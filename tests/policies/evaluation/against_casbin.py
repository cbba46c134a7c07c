"""Every decision against Casbin: `python -m tests.policies.evaluation.against_casbin --decisions 20000 --seed 1`.

Random policies under each of the models, and random requests close to their rules: `casbin.Enforcer` must make the same
decisions as the policy.
"""

from __future__ import annotations

import argparse
import itertools
import random
from collections import Counter

from policies import Policy
from policies.loading.oracle import Oracle
from policies.loading.sample import sample_questions
from tests.policies.generated import MODELS, OF_PLUGINS, policy

QUESTIONS = 70  # about each policy


def compare(subject: Policy, seed: int | str, count: int) -> Counter[bool]:
    """Compares the answers of both to `count` questions, and returns them. Raises AssertionError."""
    oracle = Oracle.of(subject)
    answers: Counter[bool] = Counter()
    for rule, question in itertools.islice(sample_questions(subject, random.Random(seed)), count):
        expected = oracle.decide(*question)
        assert subject.decide(*question) is expected, (seed, rule, question)
        answers[expected] += 1
    return answers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--decisions", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    answers: Counter[bool] = Counter()
    policies = 0
    for number in itertools.count():
        for name in (*MODELS, *OF_PLUGINS):
            seed = f"{options.seed} {number} {name}"
            answers += compare(policy(random.Random(seed), name), seed, QUESTIONS)
            policies += 1
        if answers.total() >= options.decisions:
            break
    print(f"{answers.total()} decisions of {policies} policies as pycasbin decides them, {answers[True]} of them allow")


if __name__ == "__main__":
    main()
