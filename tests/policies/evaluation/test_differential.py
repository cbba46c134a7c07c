"""Casbin answers every question as we do: generated policies, generated requests, hand-changed models."""

from __future__ import annotations

import itertools
import random
from collections import Counter

import casbin.util
import pytest

import policies
from policies import Policy
from policies.loading.oracle import Oracle, sample_questions, sampled
from policies.syntax.vocabulary import Patterns
from tests.policies.generated import MODELS, PATTERNS, policy
from tests.policies.shipped_vocabulary import VOCABULARY

POLICIES, QUESTIONS = 8, 70


def compare(subject: Policy, seed: int, count: int) -> Counter[bool]:
    """Ask both `count` questions; the answers, which must be the same."""
    oracle = Oracle(subject.files)
    answers: Counter[bool] = Counter()
    for rule, question in itertools.islice(sample_questions(subject, random.Random(seed)), count):
        expected = oracle.decide(*question)
        assert subject.decide(*question) is expected, (seed, rule, question)
        answers[expected] += 1
    return answers


@pytest.mark.parametrize("name", MODELS)
def test_generated_policies_are_decided_as_casbin_decides_them(name: str) -> None:
    """Ten models, eight policies each, seventy requests each: 5 600 pairs."""
    answers: Counter[bool] = Counter()
    for seed in range(POLICIES):
        answers += compare(policy(random.Random(f"{name}{seed}"), name), seed, QUESTIONS)
    assert answers.total() == POLICIES * QUESTIONS
    assert min(answers[True], answers[False]) > POLICIES * QUESTIONS / 50


def test_the_generated_pairs_are_at_least_five_thousand() -> None:
    assert len(MODELS) * POLICIES * QUESTIONS >= 5000


def test_the_shipped_policy_is_decided_as_casbin_decides_it() -> None:
    answers = compare(policies.load(policies.SHIPPED, VOCABULARY), 1, 1000)
    assert min(answers[True], answers[False]) > 100


def test_the_sample_at_load_finds_a_policy_that_answers_otherwise() -> None:
    shipped = policies.load(policies.SHIPPED, VOCABULARY)
    assert sampled(shipped, seconds=1) == []
    other = policies.load(policies.SHIPPED, VOCABULARY)
    other.files["articles.csv"] = other.files["articles.csv"].replace(b"published,    allow", b"published,    deny")
    # Bounded by the number of questions: on a busy machine few are asked in a few seconds.
    found = sampled(other, seconds=600)
    assert found
    assert {finding.severity for finding in found} == {"error"}


def test_patterns_cover_what_the_globs_of_casbin_cover() -> None:
    patterns = Patterns(VOCABULARY)
    permissions = sorted(VOCABULARY.by_permission)
    tried = {*PATTERNS, "*", "*.*", "*.view", "*e", "a*", "*a*e*", ".*", "*.", "article.v*w", "article*"}
    for pattern in sorted(tried):
        globbed = {permission for permission in permissions if casbin.util.glob_match(permission, pattern)}
        assert patterns.covered(pattern) == globbed, pattern
