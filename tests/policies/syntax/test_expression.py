"""The functions on expressions that treat atoms alone: `fold`, `rebuild`, `walk`, and what they list."""

from __future__ import annotations

from functools import partial
from itertools import product

import pytest

from policies.syntax.expression import (
    GROUPS,
    ID,
    AllOf,
    AnyOf,
    Atom,
    Attribute,
    Comparison,
    Expression,
    InGroup,
    Negation,
    Shared,
    asks_shares,
    atoms,
    attributes,
    conjuncts,
    disjuncts,
    fold,
    groups,
    rebuild,
    text,
    texts,
    walk,
)

OWN, DRAFT = Comparison("==", Attribute("obj", "owner_id"), ID), Comparison("==", Attribute("obj", "status"), "draft")
PRESS = InGroup("press")
SOME = AnyOf((AllOf((OWN, Negation(DRAFT))), Negation(AnyOf((Shared(), Negation(PRESS))))))
ATOMS = (OWN, DRAFT, Shared(), PRESS)


def holds(expression: Expression, answers: dict[Expression, bool]) -> bool:
    return fold(expression, lambda atom: answers.get(atom, atom is True), all, any, lambda part: not part)


def _answer(known: dict[Atom, bool], atom: Atom) -> Expression:
    return known.get(atom, atom)


def test_every_atom_attribute_and_text_is_listed_from_left_to_right() -> None:
    assert tuple(atoms(SOME)) == ATOMS
    assert attributes(SOME) == (OWN.left, ID, DRAFT.left, GROUPS)
    assert (texts(SOME), groups(SOME), asks_shares(SOME)) == ({"draft"}, {"press"}, True)
    assert not asks_shares(AllOf((OWN, PRESS)))


def test_a_part_is_listed_before_its_own_parts() -> None:
    assert [text(part) for part in walk(Negation(AllOf((OWN, DRAFT))))] == [
        f"!({text(OWN)} && {text(DRAFT)})", f"{text(OWN)} && {text(DRAFT)}", text(OWN), text(DRAFT)]
    assert list(walk(True)) == [True]


@pytest.mark.parametrize("expression", [True, False, OWN, Negation(SOME), SOME], ids=text)
def test_an_expression_with_answers_for_some_atoms_holds_when_the_whole_does(expression: Expression) -> None:
    for values in product((True, False), repeat=len(ATOMS)):
        answers: dict[Expression, bool] = dict(zip(ATOMS, values, strict=True))
        for number in range(len(ATOMS) + 1):
            known = dict(zip(ATOMS[:number], values, strict=False))
            rest = rebuild(expression, partial(_answer, known))
            assert known.keys().isdisjoint(atoms(rest))
            assert holds(rest, answers) is holds(expression, answers)


def test_below_an_odd_number_of_negations_atoms_are_replaced_by_the_other_function() -> None:
    plain, negated = [], []
    rebuild(SOME, lambda atom: plain.append(atom) or atom, lambda atom: negated.append(atom) or atom)
    assert (plain, negated) == ([OWN, PRESS], [DRAFT, Shared()])


def test_the_parts_of_a_whole_are_none_one_or_many() -> None:
    assert (conjuncts(True), conjuncts(OWN), conjuncts(AllOf((OWN, DRAFT)))) == ((), (OWN,), (OWN, DRAFT))
    assert (disjuncts(False), disjuncts(OWN), disjuncts(AnyOf((OWN, DRAFT)))) == ((), (OWN,), (OWN, DRAFT))
    assert (conjuncts(False), disjuncts(True)) == ((False,), (True,))
