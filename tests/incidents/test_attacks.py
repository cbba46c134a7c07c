"""A sample of `make attacks`: an honest client gets answers during and after attacks.

The speed of the answers depends on the machine: `make attacks` measures it, and counts refusals.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import pytest

from benchmarks.hostile.attacks import ATTACKS, Attack
from benchmarks.hostile.server import GUARDED, ROOT, Checkout, Served
from tests.running import wait_until

pytestmark = pytest.mark.slow

ARTICLES = 15_000  # an export of them is more than a server buffers for one client
TIMES = 5  # requests of the honest client
LONGEST = 600.0  # seconds after which an attack would end by itself
ATTACKER = "0200007F:"  # its address, as /proc/net/tcp writes it


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    made = Checkout(ROOT, tmp_path_factory.mktemp("attacked") / "instance")
    made.make(ARTICLES)
    return made


@pytest.fixture(scope="module", params=GUARDED)
def served(request: pytest.FixtureRequest, checkout: Checkout) -> Iterator[Served]:
    with checkout.served(request.param) as found:
        yield found


@contextmanager
def attacked(served: Served, attack: Attack) -> Iterator[None]:
    """Attacks from another process while the block runs."""
    arguments = served.port, LONGEST, attack.tokens(served)
    attacker = get_context("fork").Process(target=attack.send, args=arguments, daemon=True)
    attacker.start()
    try:
        wait_until(lambda: ATTACKER in Path("/proc/net/tcp").read_text("ascii"))
        yield
    finally:
        attacker.kill()
        attacker.join()


def answered(served: Served, path: str) -> bool:
    """True if this request gets 200; False if the client has to repeat it, by a 503 or a closed connection."""
    try:
        with urlopen(served.url + path, timeout=60) as answer:
            answer.read()
            return answer.status == 200
    except HTTPError as error:
        with error:
            assert error.code == 503 and error.headers["Retry-After"]
    except ConnectionError:
        pass
    except URLError as error:
        assert isinstance(error.reason, ConnectionError)
    return False


def check(served: Served, attack: Attack) -> None:
    with attacked(served, attack):
        for _ in range(TIMES):
            wait_until(lambda: answered(served, "/api/health/live"))
            wait_until(lambda: answered(served, "/api/articles?limit=1"))
    wait_until(lambda: answered(served, "/api/articles?limit=1"))


@pytest.mark.parametrize("name", [name for name, attack in ATTACKS.items() if attack.descriptors is None])
def test_while_a_client_attacks_the_others_are_answered(served, name):
    check(served, ATTACKS[name])


@pytest.mark.parametrize("attack", [attack for attack in ATTACKS.values() if attack.descriptors is not None],
                         ids=lambda attack: attack.name)
def test_while_a_client_takes_all_descriptors_the_others_are_answered(checkout, attack):
    for server in attack.servers:
        with checkout.served(server, descriptors=attack.descriptors) as served:
            check(served, attack)
