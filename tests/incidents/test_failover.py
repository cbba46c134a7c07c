"""A sample of `tests.incidents.failover`: a primary is killed, its standby promoted, and then it comes back."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from tests.incidents.failover.cluster import Cluster, running_cluster
from tests.incidents.failover.nodes import Nodes, running_nodes
from tests.incidents.failover.play import play

pytestmark = pytest.mark.slow

PLAYED = 30


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with running_cluster() as cluster:
        yield cluster


@pytest.fixture(scope="module")
def nodes(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    with running_nodes(cluster, tmp_path_factory.mktemp("nodes")) as nodes:
        yield nodes


def test_nothing_acknowledged_is_lost_when_the_primary_is_killed_and_comes_back_beside_the_new_one(cluster, nodes):
    seen = play(cluster, nodes, "killed and back", "killed", random.Random(1), print, PLAYED)
    print(seen)
    assert seen.wrong == []
    assert seen.writes > 4 * PLAYED
    assert len(seen.after) == len(nodes.each), "each node writes again without a restart"
    assert set(seen.revoked) == {"logout", "token", "disable"}
    # The old primary is the standby now.
    assert cluster.primary is cluster.b and cluster.standby is cluster.a


def test_nothing_is_acknowledged_while_the_standby_is_gone(cluster, nodes):
    seen = play(cluster, nodes, "standby gone", "gone", random.Random(1), print, PLAYED)
    print(seen)
    assert seen.wrong == []


@pytest.mark.parametrize("command", ["doctor", "migrate --check", "backup", "settings", "user list"])
def test_a_command_takes_a_url_of_two_servers_whose_second_is_the_primary(nodes, command):
    done = nodes.each[1].instance.run(*command.split())
    assert done.returncode == 0, done.stdout + done.stderr
