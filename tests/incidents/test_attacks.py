"""A bounded sample of `make attacks`: an honest client is answered while others attack, and afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from time import sleep

import pytest

from benchmarks.hostile.attacks import ATTACKS, Attack
from benchmarks.hostile.honest import Honest, asking
from benchmarks.hostile.server import ROOT, SERVERS, Checkout, Served

pytestmark = pytest.mark.slow

SECONDS = 0.3
ARTICLES = 15_000  # an export of them is more than a server buffers for one client


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    made = Checkout(ROOT, tmp_path_factory.mktemp("attacked") / "instance")
    made.make(ARTICLES)
    return made


@pytest.fixture(scope="module", params=SERVERS)
def served(request: pytest.FixtureRequest, checkout: Checkout) -> Iterator[Served]:
    with checkout.served(request.param) as found:
        yield found


def check(served: Served, attack: Attack) -> None:
    page, live = Honest(served.port, "/api/articles?limit=1"), Honest(served.port, "/api/health/live")
    with attack.running(served, 3 * SECONDS):
        sleep(SECONDS)
        with asking(page, live):
            sleep(SECONDS)
    after = Honest(served.port, "/api/articles?limit=1")
    with asking(after):
        sleep(0.2)
    assert set(page.statuses) == set(live.statuses) == set(after.statuses) == {200}


@pytest.mark.parametrize("name", [name for name, attack in ATTACKS.items() if attack.descriptors is None])
def test_while_a_client_attacks_the_others_are_answered(served, name):
    check(served, ATTACKS[name])


@pytest.mark.parametrize("attack", [attack for attack in ATTACKS.values() if attack.descriptors is not None],
                         ids=lambda attack: attack.name)
def test_while_a_client_takes_all_descriptors_the_others_are_answered(checkout, attack):
    for server in attack.servers:
        with checkout.served(server, descriptors=attack.descriptors) as served:
            check(served, attack)
