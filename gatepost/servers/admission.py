"""Answer to a request for which no thread becomes free: 503 after `PATIENCE`.

Each server has more threads than requests are handled at a time (the setting `threads`), one of them for what must be
answered when all others are stuck: `/api/health/live`, and the refusals. `granian/application` and
`waitress/dispatcher` do it.
"""

from __future__ import annotations

from ..http.protocol.problems import Problem

PATIENCE = 2.0  # seconds that a request waits for a thread
LOOK = 0.25  # seconds between two looks for requests that have waited too long
LIVE = frozenset(("/api/health/live", "/api/v1/health/live"))


def overloaded() -> Problem:
    """Returns the answer to a request that has waited for `PATIENCE`."""
    return Problem("overloaded", "Too many requests are under way. Try again.")
