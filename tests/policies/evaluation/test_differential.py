"""Casbin makes the same decisions: generated policies, generated requests, models changed by hand."""

from __future__ import annotations

import random
from collections import Counter

import casbin.util
import pytest

import policies
from policies.loading.oracle import sampled
from policies.syntax.vocabulary import Patterns
from tests.policies.evaluation.against_casbin import QUESTIONS, compare
from tests.policies.generated import (
    GROWN_CONDITIONS,
    GROWN_MODEL,
    MODELS,
    OF_PLUGINS,
    PATTERNS,
    PATTERNS_OF,
    assembled,
    policy,
)
from tests.policies.shipped_vocabulary import VOCABULARY
from tests.samples import parts

POLICIES = 8


@pytest.mark.parametrize("name", [*MODELS, *OF_PLUGINS])
@pytest.mark.parametrize("seeds", parts(range(POLICIES), 4))
def test_generated_policies_are_decided_as_casbin_decides_them(name: str, seeds: list[int]) -> None:
    """Compares eight policies of each model, with seventy requests each; `make proofs` takes more."""
    answers: Counter[bool] = Counter()
    for seed in seeds:
        answers += compare(policy(random.Random(f"{name}{seed}"), name), seed, QUESTIONS)
    assert answers.total() == len(seeds) * QUESTIONS
    assert min(answers[True], answers[False]) > len(seeds) * QUESTIONS / 100


@pytest.mark.parametrize("condition", GROWN_CONDITIONS)
def test_each_condition_of_the_grown_grammar_holds_for_some_and_not_for_others(condition: str) -> None:
    what = PATTERNS_OF.get(condition, PATTERNS)[0]
    alone = assembled([f"p, guest, {what}, {condition}, allow"], ["g, user, guest", "g, editor, user"], GROWN_MODEL)
    answers = compare(alone, 1, 60)
    assert answers[True] and (answers[False] or condition == "always")


def test_the_generated_pairs_are_at_least_five_thousand() -> None:
    assert len(MODELS) * POLICIES * QUESTIONS >= 5000


def test_the_shipped_policy_is_decided_as_casbin_decides_it() -> None:
    answers = compare(policies.load(policies.SHIPPED, VOCABULARY), 1, 200)
    assert min(answers[True], answers[False]) > 20


def test_the_sample_at_load_finds_a_policy_that_answers_otherwise() -> None:
    shipped = policies.load(policies.SHIPPED, VOCABULARY)
    assert sampled(shipped) == []
    other = policies.load(policies.SHIPPED, VOCABULARY)
    other.files["articles.csv"] = other.files["articles.csv"].replace(b"published,    allow", b"published,    deny")
    found = sampled(other, most=1200)
    assert found
    assert {finding.severity for finding in found} == {"error"}


def test_patterns_cover_what_the_globs_of_casbin_cover() -> None:
    patterns = Patterns(VOCABULARY)
    permissions = sorted(VOCABULARY.by_permission)
    tried = {*PATTERNS, "*", "*.*", "*.view", "*e", "a*", "*a*e*", ".*", "*.", "article.v*w", "article*"}
    for pattern in sorted(tried):
        globbed = {permission for permission in permissions if casbin.util.glob_match(permission, pattern)}
        assert patterns.covered(pattern) == globbed, pattern
