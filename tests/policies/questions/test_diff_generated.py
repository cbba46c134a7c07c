"""Generated pairs of policies: a diff lists exactly the requests that Casbin answers differently."""

from __future__ import annotations

import random

import pytest

import policies
from policies import Policy
from policies.loading.loader import from_files
from policies.questions.diff import diff
from tests.policies.generated import FILES, MODELS
from tests.policies.questions.diff_against_casbin import Tally, tried, unlisted, unproved
from tests.policies.shipped_vocabulary import VOCABULARY
from tests.samples import parts

PAIRS, QUESTIONS = 2, 150  # of each model; `make proofs` takes more


@pytest.mark.parametrize("name", MODELS)
def test_each_change_is_confirmed_by_casbin_and_none_is_missing(name: str) -> None:
    tally = Tally()
    for number in range(PAIRS):
        tried(name, number, tally, QUESTIONS)
    assert tally.changes + tally.undecided, "of several edits some change something"


@pytest.fixture(scope="module")
def shipped() -> Policy:
    return policies.load(policies.SHIPPED, VOCABULARY)


@pytest.mark.parametrize("name", sorted(name for name in FILES if name.endswith(".csv")))
@pytest.mark.parametrize("lines", parts(range(100), 4))
def test_each_shipped_line_that_is_taken_away_is_found_unless_others_give_the_same(
    shipped: Policy, name: str, lines: list[int]
) -> None:
    content = FILES[name].decode()
    assert content.count("\n") < 100
    for number, line in enumerate(content.splitlines(), 1):
        if number not in lines:
            continue
        if not line.startswith(("p,", "p2,", "g,")):
            continue
        left = content.replace(f"{line}\n", "", 1)
        if name == "roles.csv" and left.count(f"\ng, {line.split(', ')[1].split(',')[0]},") == 0:
            continue  # the only line that declares a role: the lines that name it report that
        new = from_files({**FILES, name: left.encode()}, VOCABULARY)
        found = diff(shipped, new)
        assert not found.undecided
        if found:
            assert all(f"{name}:{number}" in change.gone for change in found), f"{line}: the line itself is named"
            assert unproved(found, shipped, new) == []
        else:
            assert unlisted(found, shipped, new, random.Random(line), 10 * QUESTIONS) == []
