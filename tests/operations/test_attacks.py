"""A bounded sample of `make attacks`: an honest client is answered while others attack, and afterwards."""

from __future__ import annotations

from time import sleep

import pytest

from benchmarks.hostile.attacks import ATTACKS
from benchmarks.hostile.honest import Honest, asking
from benchmarks.hostile.server import ROOT, SERVERS, Checkout

SECONDS = 1.5
ARTICLES = 15_000  # an export of them is more than a server buffers for one client
CASES = [(server, name) for server in SERVERS for name, attack in ATTACKS.items() if server in attack.servers]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    made = Checkout(ROOT, tmp_path_factory.mktemp("attacked") / "instance")
    made.make(ARTICLES)
    return made


@pytest.mark.parametrize(("server", "name"), CASES, ids=[f"{server}: {name}" for server, name in CASES])
def test_while_a_client_attacks_the_others_are_answered(checkout, server, name):
    attack = ATTACKS[name]
    with checkout.served(server, descriptors=attack.descriptors) as served:
        page, live = Honest(served.port, "/api/articles?limit=1"), Honest(served.port, "/api/health/live")
        with attack.running(served, 2 * SECONDS), asking(page, live):
            sleep(SECONDS)
        after = Honest(served.port, "/api/articles?limit=1")
        with asking(after):
            sleep(0.2)
    assert set(page.statuses) == set(live.statuses) == set(after.statuses) == {200}
