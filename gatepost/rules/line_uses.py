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
        self._stored: dict[Policy, dict[tuple[Rule, str], int]] = {policy: {}}
        self._process, self._id, self._since, self._said = 0, "", "", 0.0

    def follow(self, policy: Policy) -> None:
        """Starts to count for this policy."""
        with self._lock:
            self._stored.setdefault(policy, {})

    def store(self, *, ended: bool = False) -> None:
        """Adds the new counts to the tables. If that fails, they are added the next time.

        Each use is stored at most once: after a COMMIT without an answer, the counts are not added again.
        """
        self._begin()
        with self._lock:
            followed = dict(self._stored)
        counted = {policy: policy.uses.counts() for policy in followed}
        uses: Counter[tuple[str, str]] = Counter()
        for policy, counts in counted.items():
            for (rule, permission), count in counts.items():
                # Two threads that count at once may lose a use, so that the count is below the stored one.
                if new := max(0, count - followed[policy].get((rule, permission), 0)):
                    uses[digest(rule), permission] += new
        if not uses and (self._said == _NEVER if ended else monotonic() - self._said < IDLE):
            return
        done = False

        def work() -> None:
            nonlocal done
            done = False
            note_uses(self._id, self._since, uses, ended=ended)
            done = True

        try:
            self._database.transact(work)
        finally:
            if done:
                self._said = monotonic()
                self._remember(counted)

    def end(self) -> None:
        """Stores the rest, and that this process has ended normally."""
        self.store(ended=True)

    def _begin(self) -> None:
        """Starts a new row after a fork."""
        if self._process != os.getpid():
            self._process, self._id, self._since, self._said = os.getpid(), new_id(), now(), _NEVER

    def _remember(self, counted: dict[Policy, dict[tuple[Rule, str], int]]) -> None:
        with self._lock:
            self._stored.update(counted)
            for policy in list(self._stored)[:-_FOLLOWED]:
                del self._stored[policy]
