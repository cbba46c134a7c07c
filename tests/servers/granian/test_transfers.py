"""Transfers of a granian worker: it looks through all of its descriptors for clients that read too slowly."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from time import monotonic
from typing import NamedTuple

import pytest

from gatepost.servers.granian import transfers
from gatepost.servers.granian.transfers import Transfers
from gatepost.servers.pace import CREDIT, RATE, WINDOW, unacknowledged
from tests.running import wait_until

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="NOT TESTED: Linux only")

STEP = 2**16  # bytes
BUFFER = 4096  # bytes that the client's kernel takes before it reads


class Transfer(NamedTuple):
    """A connection on which the server has more to send than buffers hold, as far as the kernel takes it.

    looks  closes it where the client has read too slowly
    """

    server: socket.socket
    client: socket.socket
    looks: Transfers

    def send(self) -> None:
        """Give the kernel what it takes."""
        try:
            while self.server.send(b"x" * STEP):
                pass
        except BlockingIOError:
            pass

    def read(self, size: int) -> None:
        """Read so much at the client, and wait until the server's kernel knows."""
        known, rest = self._acknowledged, size
        while rest:
            rest -= len(self.client.recv(min(rest, STEP)))
            self.send()
        wait_until(lambda: self._acknowledged >= known + size - BUFFER)

    @property
    def _acknowledged(self) -> int:
        size = transfers._ACKED.size
        acknowledged, = transfers._ACKED.unpack(self.server.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, size))
        return acknowledged

    @property
    def closed(self) -> bool:
        return self.server.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] != 1  # not ESTABLISHED


@pytest.fixture
def transfer() -> Iterator[Transfer]:
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        client = stack.enter_context(socket.socket())
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER)
        client.settimeout(60)
        client.connect(listener.getsockname())
        server = stack.enter_context(listener.accept()[0])
        server.setblocking(False)
        made = Transfer(server, client, Transfers(listener.getsockname()[1]))
        made.send()
        wait_until(lambda: unacknowledged(server))
        yield made


def test_a_descriptor_that_is_no_socket_is_left_alone_and_leaves_none_behind(tmp_path, monkeypatch):
    monkeypatch.setattr(transfers, "unacknowledged", lambda descriptor: 1)
    clients = Transfers(port=1)
    with (tmp_path / "file").open("w"):
        before = sorted(os.listdir("/proc/self/fd"))
        for _ in range(3):
            clients.look(monotonic())
        assert sorted(os.listdir("/proc/self/fd")) == before


def test_a_client_that_reads_nothing_is_closed(transfer):
    transfer.looks.look(0)
    assert not transfer.closed
    transfer.looks.look(WINDOW - 1)
    assert not transfer.closed
    transfer.looks.look(WINDOW + CREDIT + 1)
    assert transfer.closed


def test_a_client_that_reads_a_little_faster_than_the_least_rate_is_not_closed(transfer):
    now = 0.0
    transfer.looks.look(now)
    while now < 20 * WINDOW:
        transfer.read(STEP)
        now += 0.9 * STEP / RATE
        transfer.looks.look(now)
        assert not transfer.closed


def test_a_client_that_has_read_fast_may_pause_for_longer_and_is_closed_all_the_same(transfer):
    transfer.looks.look(0)
    transfer.read(16 * STEP)
    transfer.looks.look(1)
    transfer.looks.look(0.9 * CREDIT)
    assert not transfer.closed
    transfer.looks.look(2 * CREDIT + 1)
    assert transfer.closed
