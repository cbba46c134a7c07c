"""Answer to a request that gets no thread: 503 after `PATIENCE`.

Each server has more threads than requests in progress (the setting `threads`). One of them is spare: if all others are
stuck, it answers `/api/health/live` and the refusals. `granian/application` and `waitress/dispatcher` implement this.
"""

from __future__ import annotations

from ..http.protocol.problems import Problem

PATIENCE = 2.0  # seconds that a request waits for a thread
LOOK = 0.25  # seconds between two checks for requests that have waited too long
LIVE = frozenset(("/api/health/live", "/api/v1/health/live"))


def overloaded() -> Problem:
    """Returns the answer to a request that has waited for `PATIENCE`."""
    return Problem("overloaded", "Too many requests are under way. Try again.")
