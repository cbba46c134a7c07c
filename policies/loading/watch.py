"""Keeps the policy of a running service: follows its source, and never gives up a good policy for a bad one.

The source is a folder of files (`folder`), or whatever else is a `Source`. A change is taken over once it loads, Casbin
agrees about a sample, and the cases pass; one of files only once two polls have seen the same. Readers take `current`
once per request; it is one reference, swapped whole.

A folder on a mount that hangs blocks the thread that looks at it, and nothing else: `current`, `status`, `trouble` and
`drift` take no lock, a stop does not wait for that thread, and a start waits `PATIENCE` seconds. The thread has no
other work: chores wait for the database, half a minute while another process writes, and an edit must not wait with
them.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic

from system.worker import Worker

from ..evaluation.policy import Policy
from ..syntax.vocabulary import date_time
from ..wording.finding import Finding, PolicyError
from . import loader, snapshot
from .folder import Source
from .outdated import UNTIL_CHANGED
from .snapshot import LastGood

PATIENCE = 10.0  # seconds in which the folder must answer at the start
OVERDUE = 10  # intervals after which a look that has not ended is reported
STOP_PATIENCE = 1.0  # seconds that a stop waits for the thread

_log = logging.getLogger("gatepost.policy")


class Overdue(Exception):
    """The folder of the policy files has not answered for too long; what is in them now is not known."""


@dataclass(frozen=True, slots=True)
class Status:
    """The state of the policy: the version in use, and, while the files are broken, why they are not in use.

    `since` is when that began to be true, as RFC 3339 UTC. `outdated` is true if the files are in use, but for rules
    that only an older version accepted; `error` names them.
    """

    version: str
    since: str
    error: str | None = None
    findings: tuple[Finding, ...] = ()
    outdated: bool = False


class Watcher:
    """Follows a source: `current` is the policy in use, `status` the state of the source. It is thread-safe.

    looked    when a look at the files was last completed, by the monotonic clock
    drift     a sentence about an operator's changes without effect at that time; None: there were none
    announce  called with a policy before it comes into use; the watcher waits for it
    """

    announce: Callable[[Policy], None] | None = None

    def __init__(self, source: Source, *, keep: Path | None = None, interval: float = 1.0) -> None:
        """Load the policy of `source`, or the last good one from the folder `keep` when that is broken.

        `interval` is the time between polls in seconds. Raises PolicyError when there is nothing to start on, or a
        required file is not there and was not there before. A source that does not answer counts as broken.
        """
        self._source = source
        self._keep = None if keep is None else keep / snapshot.LAST_GOOD
        self._interval = interval
        self._worker = Worker("policy watcher", self._look, interval)
        self._packaged: frozenset[str] = frozenset()  # files of the policy in use that came with plugins
        self._refused: snapshot.Stamp | None = None  # of the last good policy, when files were checked
        self.failures = 0  # changes that were not taken over
        self._changing = threading.Lock()
        # Fingerprints of the files when last checked, and when last polled.
        self._checked = self._seen = b""
        self.current, self.status = self._first()
        self.drift = source.drift
        self.looked = monotonic()

    @property
    def age(self) -> float:
        """Seconds since the last completed look at the files; 0 while they are not followed."""
        return monotonic() - self.looked if self._worker.running else 0.0

    @property
    def trouble(self) -> str | None:
        """The reason why the policy in use may differ from the source: the source is broken, or does not answer."""
        if self.status.error is not None:
            return self.status.error
        try:
            self.prove_followed()
        except Overdue as error:
            return str(error)
        return None

    def settle(self) -> bool:
        """True if the policy in use is the one that the source holds now, so that a change of it can be made.

        A policy that another process has accepted is taken over first.
        """
        if self._is_current() and self._source.fingerprint() != self._checked and self._is_accepted():
            self.reload()
        return self._is_current() and self._source.fingerprint() == self._checked

    def _is_current(self) -> bool:
        return self.trouble is None or self.status.outdated

    def prove_followed(self) -> None:
        """Raises Overdue when the last completed look at the files is too long ago."""
        if (age := self.age) > OVERDUE * self._interval:
            raise Overdue(f"{self._source.place}: {self._silent}, for {age:.0f} s now; "
                          f"policy {self.current.version} stays")

    def poll(self) -> Status:
        """Look at the source once; take it over when it is new and, unless it is `whole`, was so at the last poll."""
        with self._changing:
            fingerprint = self._source.fingerprint()
            settled, self._seen = self._source.whole or fingerprint == self._seen, fingerprint
            if settled and (fingerprint != self._checked or self._may_be_accepted()):
                self._take_over()
            self.drift = self._source.drift
            self.looked = monotonic()
            return self.status

    def reload(self) -> Status:
        """Look at the files now, without waiting for them to settle."""
        with self._changing:
            self._seen = self._source.fingerprint()
            self._take_over()
            self.drift = self._source.drift
            self.looked = monotonic()
            return self.status

    def start(self) -> None:
        """Poll in a thread of this process. A second call does nothing."""
        if not self._worker.running:
            self.looked = monotonic()
            self._worker.start()

    def stop(self) -> None:
        """End the polling. A look that hangs is left behind after `STOP_PATIENCE` seconds."""
        self._worker.stop(STOP_PATIENCE)

    def look_soon(self) -> None:
        """Have the thread look at the files without waiting for them to settle. The handler of a signal may call this:
        it waits for nothing."""
        self._worker.wake()

    def _look(self) -> None:
        if self._worker.woken:
            self.reload()
        else:
            self.poll()

    def _first(self) -> tuple[Policy, Status]:
        answers = self._answers()
        kept = None if self._keep is None else snapshot.kept(self._keep)
        try:
            if not answers:
                raise PolicyError([Finding(self._source.place, 0, f"{self._silent}, for {PATIENCE:.0f} s")])
            policy, status = self._first_loaded(kept)
        except PolicyError as broken:
            if isinstance(broken, loader.Broken) and (
                    kept is None or not broken.of_plugins.items() <= kept.files.items()):
                raise  # no edit that waits to be mended: a plugin came, or was changed, whose rules break an invariant
            # Required since an upgrade: the operator decides about it.
            if answers and kept is not None and self._source.missing - kept.files.keys() - kept.absent:
                raise
            last = self._last_good(broken, kept)
            _log.error("started on the last good policy %s: the files cannot be used:\n%s", last.version, broken)
            return last, Status(last.version, _now(), str(broken), tuple(broken.findings))
        self._remember(policy)
        return policy, status

    def _first_loaded(self, kept: LastGood | None) -> tuple[Policy, Status]:
        """The policy of the source; its rules are closed that only an older version accepted.

        Of files that differ from the last good ones no version accepted anything: they are an edit that was refused."""
        try:
            policy = self._source.load(kept)
        except PolicyError as refused:
            if not (_is_outdated(refused) and (self._is_accepted() or (kept is None and refused.outdated))):
                raise
            policy = self._source.load(kept, closing=True)
            _log.error("these rules are no longer accepted; until they are changed, %s:\n%s", UNTIL_CHANGED, refused)
            return policy, _outdated(policy.version, refused)
        return policy, Status(policy.version, _now())

    def _answers(self) -> bool:
        """Look at the files for the first time, in a thread that may hang; whether that ended in time."""
        fingerprints: list[bytes] = []
        look = self._source.fingerprint
        first = threading.Thread(target=lambda: fingerprints.append(look()), name="first look", daemon=True)
        first.start()
        first.join(PATIENCE)
        if fingerprints:
            self._checked = self._seen = fingerprints[0]
        return bool(fingerprints)

    def _last_good(self, broken: PolicyError, kept: LastGood | None) -> Policy:
        if kept is None:
            raise broken
        try:
            return loader.from_files(kept.files, self._source.vocabulary, closing=True)
        except PolicyError:
            # Good for an older version of the service only: the present files say what is to be mended.
            raise broken from None

    def _is_accepted(self) -> bool:
        """True if one look at the source is enough: it is `whole`, or another process accepted its present state."""
        accepted = None if self._keep is None else snapshot.kept(self._keep)
        return self._source.whole or (accepted is not None and accepted.version == self._source.version)

    @property
    def _silent(self) -> str:
        return f"{self._source.noun} does not answer"

    def _may_be_accepted(self) -> bool:
        """True if another process has kept a last good policy since these files were refused."""
        return self.status.error is not None and self._keep is not None and snapshot.stamp(self._keep) != self._refused

    def _take_over(self) -> None:
        fingerprint = self._source.fingerprint()
        self._refused = None if self._keep is None else snapshot.stamp(self._keep)
        try:
            # Another process may have accepted other files.
            kept = None if self._keep is None else snapshot.kept(self._keep)
            policy = self._source.load(kept or LastGood(self.current.files, self._packaged))
        except PolicyError as broken:
            self._checked = fingerprint
            if _is_outdated(broken) and self._source.version == self.current.version:
                if not self.status.outdated:  # an edit was undone: the files are those in use since the start
                    self.status = _outdated(self.current.version, broken)
            elif self.status.outdated or self.status.error != str(broken):
                self.failures += 1
                _log.error("version %s stays, because the new files are broken:\n%s", self.current.version, broken)
                self.status = Status(self.current.version, _now(), str(broken), tuple(broken.findings))
            return
        if self._source.fingerprint() != fingerprint:
            # The files still change: what was loaded may be half of two states.
            return
        self._checked = fingerprint
        if policy.version != self.current.version:
            self._remember(policy)
            if self.announce is not None:
                self.announce(policy)
            _log.warning("policy %s replaces %s", policy.version, self.current.version)
            self.current = policy
        elif self.status.error is not None:
            _log.warning("the files are mended: they are version %s, which is in use", policy.version)
        if self.status.version != policy.version or self.status.error is not None:
            self.status = Status(policy.version, _now())

    def _remember(self, policy: Policy) -> None:
        for remark in policy.remarks:
            _log.warning("%s", remark)
        self._packaged = self._source.packaged
        if self._keep is not None:
            try:
                snapshot.keep(self._keep, LastGood(policy.files, self._packaged, self._source.missing))
            except OSError as error:
                _log.error("the last good policy cannot be kept in %s: %s", self._keep, error.strerror)


def _is_outdated(refused: PolicyError) -> bool:
    """True if an older version may have accepted what is refused: a line, or what no proof of it spoke against."""
    return refused.outdated or isinstance(refused, loader.Broken)


def _outdated(version: str, refused: PolicyError) -> Status:
    """The status of a policy that is in use but for the rules that `refused` names."""
    return Status(version, _now(), str(refused), tuple(refused.findings), outdated=True)


def _now() -> str:
    return date_time(datetime.now(UTC))
