"""A clock for the waitress listener, which stands still unless a test moves it: no test depends on a fast machine."""

from __future__ import annotations

import pytest

from blueprints.http.servers.waitress import channel, dispatcher
from blueprints.http.servers.waitress import listener as waitress_listener
from tests.http.servers.waitress.connections import Clock


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock by which connections, listener and threads measure how long they have waited."""
    clock = Clock()
    for module in (channel, dispatcher, waitress_listener):
        monkeypatch.setattr(module, "monotonic", clock)
    return clock
