"""What granian's worker looks through for clients that read too slowly: all of its descriptors."""

from __future__ import annotations

import os
from pathlib import Path
from time import monotonic

import pytest

from blueprints.http.servers.granian import transfers
from blueprints.http.servers.granian.transfers import Transfers

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="NOT TESTED: Linux only")


def test_a_descriptor_that_is_no_socket_is_left_alone_and_leaves_none_behind(tmp_path, monkeypatch):
    monkeypatch.setattr(transfers, "unacknowledged", lambda descriptor: 1)
    clients = Transfers(port=1)
    with (tmp_path / "file").open("w"):
        before = sorted(os.listdir("/proc/self/fd"))
        for _ in range(3):
            clients.look(monotonic())
        assert sorted(os.listdir("/proc/self/fd")) == before
