"""A reused answer of other subjects equals the result of a comparison of these subjects."""

from __future__ import annotations

import random

from policies import Policy
from policies.comparison.prover import Comparison, Witness
from policies.questions.answers import Answers
from policies.questions.changes import LESS, MORE, OTHER, UNDECIDED
from tests.policies import generated
from tests.policies.comparison.worlds import subjects, worlds
from tests.policies.shipped_vocabulary import VOCABULARY


def checked(old: Policy, new: Policy, permissions: list[str]) -> set[str]:
    """Compares each answer with the comparison's own, and returns the kinds of answers."""
    answers, kinds = Answers(old, new), set()
    for subject in subjects(old, new):
        for permission in permissions:
            answer = answers.answer(subject, permission)
            difference = Comparison(old, new).between(subject, permission)
            expected = "" if not difference else UNDECIDED if difference.undecided else \
                OTHER if difference.gained and difference.lost else MORE if difference.gained else LESS
            assert (answer.kind if answer else "") == expected, (subject, permission)
            kinds.add(expected)
            if answer is None or difference.undecided:
                continue
            examples = answers.examples(subject, permission, answer)
            assert [example and example.facts for example in examples] == [
                example and example.facts for example in (difference.gained, difference.lost)]
            change = answers.change(subject, permission, answer)
            assert {*change.lines, *change.gone}
            for example, gives, refuses in zip(examples, (new, old), (old, new), strict=True):
                assert example is None or _is_tried(example, gives, refuses, str(subject))
    return kinds


def _is_tried(example: Witness, gives: Policy, refuses: Policy, who: str) -> bool:
    return str(example.ground.subject) == who and (example.answer(gives), example.answer(refuses)) == (True, False)


def test_answers_are_those_of_the_comparison() -> None:
    kinds = set()
    for name, (text, conditions) in (generated.MODELS | generated.OF_PLUGINS).items():
        chance = random.Random(name)
        vocabulary = generated.WITH_FUNCTIONS if name in generated.OF_PLUGINS else VOCABULARY
        links, rules = generated.lines(chance, conditions, 40)
        kept = [rule for rule in rules if chance.random() < 0.7]
        policies = (generated.assembled(lines, links, text, vocabulary) for lines in (rules, kept))
        kinds |= checked(*policies, ["article.view", "order.update", "user.view"])
    assert kinds == {"", MORE, LESS, OTHER}


def test_answers_about_worlds_are_those_of_the_comparison() -> None:
    for world in worlds(4000, 6):
        checked(world.old, world.new, [*world.vocabulary.by_permission])
