"""Access tokens are verified once, and forgotten once they have expired."""

from __future__ import annotations

from time import time

import pytest

from gatepost.http.protocol.problems import Problem
from gatepost.http.security import access_tokens
from models.base import new_id


class Tokens:
    """The tokens of an app, with the number of verifications, and a time set by the test."""

    def __init__(self, app, user, monkeypatch):
        self.app, self.user, self.now = app, user, time()
        self.tokens = app.extensions["gatepost"].access_tokens
        self.tokens._renew()
        self.verified = 0
        verify = self.tokens._check_signature

        def counted(token):
            self.verified += 1
            return verify(token)

        monkeypatch.setattr(self.tokens, "_check_signature", counted)
        monkeypatch.setattr(access_tokens, "time", lambda: self.now)

    def issued(self, number):
        with self.app.app_context():
            return [self.tokens.issue(self.user, new_id(), []) for _ in range(number)]

    def verify(self, tokens):
        with self.app.app_context():
            return [self.tokens.verify(token).session_id for token in tokens]


@pytest.fixture
def world(app, given, monkeypatch):
    return Tokens(app, given.user(), monkeypatch)


def test_a_token_is_verified_once(world):
    tokens = world.issued(3)
    assert world.verify(tokens) == world.verify(tokens)
    assert world.verified == 3


def test_a_token_that_has_expired_is_refused_and_leaves_the_memory(world, monkeypatch):
    old = world.issued(50)
    world.verify(old)
    assert len(world.tokens._cache) == 50
    world.now += world.tokens.lifetime.total_seconds() + 1
    with pytest.raises(Problem) as refused:
        world.verify(old[:1])
    assert refused.value.code == "token_expired"
    monkeypatch.setattr(world.tokens, "_cache_size", 50)
    with pytest.raises(Problem):  # issued now, by a clock behind the one of this test
        world.verify(world.issued(1))
    assert len(world.tokens._cache) == 1


def test_many_tokens_that_are_in_use_stay_within_a_bound(world, monkeypatch):
    monkeypatch.setattr(access_tokens, "FEW", 4)
    monkeypatch.setattr(access_tokens, "MOST", 40)
    monkeypatch.setattr(world.tokens, "_cache_size", 4)
    tokens = world.issued(300)
    sizes = []
    for token in tokens:
        world.verify([token])
        sizes.append(len(world.tokens._cache))
    assert max(sizes) <= 40 and world.verified == 300
    assert world.verify(tokens[-1:]) and world.verified == 300
