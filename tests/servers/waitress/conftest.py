"""A clock for the waitress listener, which stands still unless a test moves it: no test depends on a fast machine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.servers.waitress.connections import Clock, standing_clock


@pytest.fixture(autouse=True)
def clock() -> Iterator[Clock]:
    with standing_clock() as clock:
        yield clock
