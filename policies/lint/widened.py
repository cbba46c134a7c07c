"""Conditions that give more than the shipped ones of the same name, where an invariant trusts the name.

`atmost, user, article.update, own_draft` means what model.conf says of `own_draft` now: widening the condition opens
the door without touching the rule.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from ..comparison.prover import Prover, Undecided, Witness
from ..comparison.subjects import Subject
from ..evaluation.policy import Policy
from ..invariants.lines import ATMOST, Invariant, lines_of
from ..syntax.conditions import Branch
from ..syntax.model import MODEL_FILE, read_model
from ..wording.finding import Finding

_SHIPPED = Path(__file__).parents[1] / MODEL_FILE


def about_trusted(policy: Policy) -> Iterator[Finding]:
    """A warning for each condition of an `atmost` rule that holds where the shipped one does not."""
    shipped, prover, reported = _shipped(), Prover(policy), set[str]()
    for one in lines_of(policy):
        mine, theirs = policy.conditions.get(one.when), shipped.get(one.when)
        if one.kind != ATMOST or mine is None or theirs is None or one.when in reported:
            continue
        if mine.expression != theirs.expression and (example := _example(policy, prover, one, mine, theirs)):
            reported.add(one.when)
            message = f"`{one.when}` gives more than the shipped condition of that name, and {one.place} (`{one}`) " \
                      f"allows whatever it gives; for example: {example}"
            yield Finding(MODEL_FILE, mine.line, message, "warning")


def _example(
    policy: Policy, prover: Prover, one: Invariant, mine: Branch, theirs: Branch
) -> Witness | None:
    """A request on which one condition holds and the other does not."""
    for permission in sorted(one.covered(policy.patterns)):
        narrow, wide = (policy.meant(condition, one.rule, permission) for condition in (mine, theirs))
        try:
            witness = prover.exception(narrow, wide, Subject(one.who), permission)
        except Undecided:
            continue
        if witness is not None:
            return witness
    return None


@cache
def _shipped() -> Mapping[str, Branch]:
    model, _ = read_model(_SHIPPED.read_bytes())
    return model.conditions if model is not None else {}
