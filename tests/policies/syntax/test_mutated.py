"""A condition with mistakes is refused, or stock Casbin reads it like the engine."""

from __future__ import annotations

import random
import re
import warnings

import pytest

from policies import PolicyError
from policies.loading.oracle import sampled
from tests.policies.generated import WHO_AND_WHAT, assembled, model

CONDITIONS = (
    "r.obj.version == 1", "r.obj.version > -1", "(r.obj.status in['draft', 'in_review'])", "(r.obj.version in[1, -5])",
    "inGroup(r.sub, 'atlas')", "inGroup(r.sub, r.obj.department)", "!inGroup(r.sub, 'x')",
    "r.obj.created_at > r.env.now", "r.env.now <= '2026-11-21T10:00:00.000000Z'",
    "p.when == 'language:' + r.obj.title", "r.obj.owner_id == r.sub.id", "(r.sub.role in['user', 'editor'])",
    "g(r.sub.role, 'editor')", "ipMatch(r.env.ip, '10.0.0.0/8')", "shared(r.sub, r.obj, r.act)", "r.env.hour >= 8",
    "r.obj.department != r.sub.department",
)
PIECES = (
    "(", ")", "&&", "||", "!", "'a'", "in", "in[", "]", "[", "-", "+", "==", "!=", " ", "\\\n", "'a in b'", "p.when",
    "r.act", "r.obj.title", "true", "1", "0", "-1", "'language:'", "r.sub.groups", "globMatch(r.act, p.act)", "\t",
)
BEGINNINGS = ("p.when == 'odd' && ", "p.when == 'odd' && (", "p.when == 'language:' + r.obj.title && ", "")
RULES = [f"p, {who}, article.{verb}, {{when}}, {effect}" for who, verb, effect in (
    ("user", "view", "allow"), ("guest", "update", "allow"), ("editor", "*", "allow"), ("user", "view", "deny"))]
_TOKEN = re.compile(r"'[^']*'|[\w.]+|&&|\|\||[!=<>]=|[<>!+\-\[\](),]|\s+")
TRIED = 250


def mutated(chance: random.Random) -> str:
    """Conditions with up to three pieces removed, added or replaced."""
    whole = chance.choice((" && ", " || ")).join(chance.choice(CONDITIONS) for _ in range(chance.choice((1, 1, 2, 3))))
    tokens = _TOKEN.findall(whole)
    for _ in range(chance.choice((1, 1, 2, 3))):
        place = chance.randrange(len(tokens))
        tokens[place:place + chance.choice((0, 1))] = chance.choice(([], [chance.choice((*PIECES, *tokens))])) or [" "]
    beginning = chance.choice(BEGINNINGS)
    return beginning + "".join(tokens) + (")" if beginning.endswith("(") else "")


@pytest.mark.parametrize("seed", range(3))
def test_a_mistake_is_refused_or_read_alike_by_casbin(seed: int) -> None:
    chance, read = random.Random(seed), 0
    for number in range(TRIED):
        branch = mutated(chance)
        rules = [rule.format(when=chance.choice(("odd", "language:de", "always"))) for rule in RULES]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)  # Python's own, about numbers that run into words
            try:
                found = assembled(rules, None, model(f"{WHO_AND_WHAT} && (p.when == 'always' || {branch})"))
            except PolicyError:
                continue
        read += 1
        assert sampled(found, most=20, seed=number) == [], branch
    assert read > TRIED / 50
