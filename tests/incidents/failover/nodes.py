"""Three nodes of one service, each with an instance folder of its own, one Redis, and nginx in front."""

from __future__ import annotations

import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.databases import free_port
from tests.incidents.failover.cluster import Cluster
from tests.incidents.faults.fault import Place
from tests.incidents.proxies import behind, program
from tests.running import Instance, wait_until

NODES = 3
STATEMENT_TIMEOUT = 3  # seconds: a client's wait for a primary that has just become silent, minus 1


@dataclass(frozen=True)
class Nodes:
    """The running nodes; `proxy` is the HTTPS port of nginx."""

    each: list[Place]
    proxy: int

    def restart(self, number: int) -> None:
        """Kills a node, and starts it again."""
        self.each[number].end(kill=True)
        said = self.each[number].start()
        assert not said, said


@contextmanager
def running_nodes(cluster: Cluster, folder: Path) -> Iterator[Nodes]:
    """Yields running nodes. Skips without nginx or Redis."""
    with ExitStack() as stack:
        environment = {
            "GATEPOST_DATABASE_URL": cluster.url, "GATEPOST_REDIS_URL": stack.enter_context(_redis()),
            "GATEPOST_STATEMENT_TIMEOUT": str(STATEMENT_TIMEOUT), "GATEPOST_TRUSTED_PROXIES": "1",
            # Redis counts requests and refuses none.
            "GATEPOST_ADDRESS_UNITS": str(10**9), "GATEPOST_PRINCIPAL_UNITS": str(10**9),
            "GATEPOST_ROLE_UNITS__ADMIN": str(10**9), "GATEPOST_OWNER_ROWS": "0"}
        nodes: list[Place] = []
        for number in range(NODES):
            instance = Instance(folder / str(number) / "instance", environment)
            if nodes:
                _copy(nodes[0].folder, instance.folder)
            else:
                instance.folder.parent.mkdir()
                instance.made()
            nodes.append(Place(instance, "waitress"))
            stack.callback(nodes[-1].end, kill=True)
            said = nodes[-1].start()
            assert not said, said
        front = folder / "nginx"
        front.mkdir()
        yield Nodes(nodes, stack.enter_context(behind("nginx", [node.url for node in nodes], front)))


def _copy(first: Path, other: Path) -> None:
    """Copies what all nodes share: the key ring and the rules."""
    other.mkdir(parents=True, mode=0o700)
    shutil.copy2(first / "secret.key", other)
    shutil.copytree(first / "policies", other / "policies")


@contextmanager
def _redis() -> Iterator[str]:
    """Yields the URL of a private Redis."""
    port = free_port()
    process = subprocess.Popen([program("redis-server"), "--port", str(port), "--save", "", "--bind", "127.0.0.1"],
                               stdout=subprocess.DEVNULL)
    try:
        wait_until(lambda: _listens(port))
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        process.kill()
        process.wait()


def _listens(port: int) -> bool:
    with suppress(OSError):
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
        return True
    return False
