"""Usage counts of rules: counted in memory when requests are decided (`policies.evaluation`), stored by a background
task.

A killed process loses its counts since it last stored them: `EVERY` seconds, or more if the database could not be
written. The row of the process has the time up to which its counts are stored.
"""

from __future__ import annotations

import os
from collections import Counter
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING

from models.base import new_id, now
from models.tables.policy_use import note_uses
from policies.usage.lines import digest

if TYPE_CHECKING:
    from models.engine.database import Database
    from policies import Policy
    from policies.syntax.rules import Rule

EVERY = 10.0  # seconds between two writes of the counts
IDLE = 60.0  # seconds between two writes of a process without counts
_NEVER = float("-inf")
_FOLLOWED = 4  # the current policy, and earlier ones that running requests may still use


class LineUses:
    """Usage counts of one process, for each policy that it uses."""

    def __init__(self, database: Database, policy: Policy) -> None:
        self._database = database
        self._lock = Lock()
        self._stored_counts: dict[Policy, dict[tuple[Rule, str], int]] = {policy: {}}
        self._process, self._id, self._started_at, self._last_write = 0, "", "", 0.0

    def follow(self, policy: Policy) -> None:
        """Starts to count for this policy."""
        with self._lock:
            self._stored_counts.setdefault(policy, {})

    def store(self, *, ended: bool = False) -> None:
        """Adds the new counts to the tables. If that fails, they are added the next time.

        Each use is stored at most once: after a COMMIT without an answer, the counts are not added again.
        """
        self._begin()
        with self._lock:
            stored = dict(self._stored_counts)
        counts_by_policy = {policy: policy.uses.counts() for policy in stored}
        uses: Counter[tuple[str, str]] = Counter()
        for policy, counts in counts_by_policy.items():
            for (rule, permission), count in counts.items():
                # Two threads that count at once may lose a use, so that the count is below the stored one.
                if new := max(0, count - stored[policy].get((rule, permission), 0)):
                    uses[digest(rule), permission] += new
        if not uses and (self._last_write == _NEVER if ended else monotonic() - self._last_write < IDLE):
            return
        committed = False

        def work() -> None:
            nonlocal committed
            committed = False
            note_uses(self._id, self._started_at, uses, ended=ended)
            committed = True

        try:
            self._database.transact(work)
        finally:
            if committed:
                self._last_write = monotonic()
                self._remember(counts_by_policy)

    def end(self) -> None:
        """Stores the rest, and that this process has ended normally."""
        self.store(ended=True)

    def _begin(self) -> None:
        """Starts a new row after a fork."""
        if self._process != os.getpid():
            self._process, self._id, self._started_at, self._last_write = os.getpid(), new_id(), now(), _NEVER

    def _remember(self, counts_by_policy: dict[Policy, dict[tuple[Rule, str], int]]) -> None:
        with self._lock:
            self._stored_counts.update(counts_by_policy)
            for policy in list(self._stored_counts)[:-_FOLLOWED]:
                del self._stored_counts[policy]
