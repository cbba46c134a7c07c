"""Roles that inherit: no cycle, and no chain that is too long for Casbin."""

from __future__ import annotations

import itertools
import random

import pytest

import policies
from policies import Policy, PolicyError
from policies.loading.loader import from_files
from policies.loading.oracle import Oracle
from policies.loading.sample import environment
from tests.policies.generated import MODEL, RULE, findings_of
from tests.policies.shipped_vocabulary import VOCABULARY


@pytest.mark.parametrize(
    ("links", "message"),
    [
        (["g, user, user"], "the roles inherit in a circle: user → user"),
        (["g, user, editor", "g, editor, owner", "g, owner, user"], "in a circle"),
    ],
)
def test_roles_that_inherit_in_a_circle_are_refused(links: list[str], message: str) -> None:
    assert any(message in finding for finding in findings_of([RULE], links))


def test_a_chain_of_roles_that_casbin_gives_up_on_is_refused() -> None:
    def chained(length: int) -> Policy:
        chain = [*(f"r{n}" for n in range(length)), "guest"]
        links = "".join(f"g, {name}, {inherits}\n" for name, inherits in itertools.pairwise(chain))
        links += "g, user, guest\ng, admin, user\n"
        rules = b"p, guest, article.view, always, allow\n# end\n"
        return from_files(
            {"model.conf": MODEL.encode(), "roles.csv": f"{links}# end\n".encode(), "a.csv": rules},
            VOCABULARY,
        )

    first = policies.Principal("1", "user:1", "r0", "t")
    row = VOCABULARY.resources["article"].row()
    longest = chained(9)
    assert longest.decide(first, "article.view", row, None)
    assert Oracle.of(longest).decide(first, "article.view", row, environment(random.Random(0)))
    with pytest.raises(PolicyError, match="inherits over 10 links"):
        chained(10)
