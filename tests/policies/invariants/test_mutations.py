"""A sample of mutations: every edit of a shipped line that breaks an invariant is refused, and no other edit.

`make proofs` tries every edit.
"""

from __future__ import annotations

from policies import PolicyError
from policies.loading.loader import Broken, from_files
from tests.policies.invariants.mutations import (
    PERMISSIONS,
    SHIPPED,
    breaches,
    every_mutation,
    mutated,
    sample,
    wrongly_judged,
)
from tests.policies.shipped_vocabulary import VOCABULARY

SAMPLE = sample(20, 6)


def test_the_shipped_rules_keep_their_invariants_by_brute_force_as_well() -> None:
    assert next(breaches(SHIPPED, PERMISSIONS), None) is None


def test_each_line_is_changed_in_ten_ways_at_least() -> None:
    count: dict[tuple[str, int], int] = {}
    for file, number, _ in every_mutation():
        count[file, number] = count.get((file, number), 0) + 1
    assert min(count.values()) >= 10


def test_an_edit_is_refused_exactly_when_brute_force_finds_a_breach() -> None:
    assert [said for said in map(wrongly_judged, SAMPLE) if said is not None] == []


def test_the_sample_has_edits_of_both_kinds() -> None:
    refused = 0
    for mutation in SAMPLE:
        try:
            from_files(mutated(mutation), VOCABULARY)
        except Broken:
            refused += 1
        except PolicyError:
            continue
    assert len(SAMPLE) / 4 <= refused <= len(SAMPLE) * 3 / 4
