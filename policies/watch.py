"""Keeps the policy of a running service: follows its files, and never gives up a good policy for a bad one.

A change is taken over once two polls have seen the same files, they load, Casbin agrees about a sample, and the
instance's own cases pass. Readers take `current` once per request; it is one reference, swapped whole.
"""

from __future__ import annotations

import hashlib
import logging
import os
import signal
import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType

from . import loading, snapshot
from .finding import Finding, PolicyError
from .oracle import sampled
from .policy import Policy
from .vocabulary import Vocabulary

CASES = "tests.yaml"
LAST_GOOD = "policy.last-good.json"
Cases = Callable[[Policy, Path], Collection[Finding]]

_log = logging.getLogger("gatepost.policy")


@dataclass(frozen=True, slots=True)
class Status:
    """The state of the policy: the version in use, and, while the files are broken, why they are not in use.

    `since` is when that began to be true, as RFC 3339 UTC.
    """

    version: str
    since: str
    error: str | None = None
    findings: tuple[Finding, ...] = ()


class Watcher:
    """`current` is the policy in use, `status` what health reports. Safe for any number of threads."""

    def __init__(
        self,
        directory: Path,
        vocabulary: Vocabulary,
        *,
        plugins: Mapping[str, Path] | None = None,
        required: Collection[str] = (),
        keep: Path | None = None,
        cases: Cases | None = None,
        interval: float = 1.0,
        sample: float = 0.2,
    ) -> None:
        """Load the policy in `directory`, or the last good one from the folder `keep` when that is broken.

        `cases` runs the instance's tests.yaml, when there is one; `interval` is the time between polls and
        `sample` how long Casbin may be asked at each load, both in seconds. Raises PolicyError when there is
        nothing to start on, or a required file is not there.
        """
        self._directory, self._vocabulary = directory, vocabulary
        self._plugins, self._required = dict(plugins or {}), tuple(required)
        self._keep = None if keep is None else keep / LAST_GOOD
        self._cases, self._interval, self._sample = cases, interval, sample
        self.failures = 0  # changes that were not taken over
        self._changing = threading.Lock()
        self._awake, self._asked = threading.Event(), False
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        # What the files were when last judged, and when last polled.
        self._judged = self._seen = self._fingerprint()
        self.current, self.status = self._first()

    def poll(self) -> Status:
        """Look at the files once; take them over when they are new and were the same at the last poll."""
        with self._changing:
            found = self._fingerprint()
            settled, self._seen = found == self._seen, found
            if settled and found != self._judged:
                self._take_over()
            return self.status

    def reload(self) -> Status:
        """Look at the files now, without waiting for them to settle."""
        with self._changing:
            self._seen = self._fingerprint()
            self._take_over()
            return self.status

    def start(self) -> None:
        """Poll in a thread of its own. Call it in the process that serves, after any fork."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="policy watcher", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """End the polling and wait for it."""
        self._stop.set()
        self._awake.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        self._stop.clear()
        self._awake.clear()

    def reload_on_hangup(self) -> None:
        """Reload when the process gets SIGHUP. Only in the main thread, and only while started."""
        signal.signal(signal.SIGHUP, self._on_hangup)

    def _on_hangup(self, number: int, frame: FrameType | None) -> None:
        # A handler interrupts anything, so it takes no lock: the thread does the work.
        self._asked = True
        self._awake.set()

    def _run(self) -> None:
        while not self._stop.is_set():
            self._awake.wait(self._interval)
            if self._stop.is_set():
                return
            asked, self._asked = self._asked, False
            self._awake.clear()
            try:
                if asked:
                    self.reload()
                else:
                    self.poll()
            except Exception:
                _log.exception("the policy could not be looked at; version %s stays", self.current.version)

    def _first(self) -> tuple[Policy, Status]:
        try:
            policy = self._loaded()
        except PolicyError as broken:
            # An upgrade that brought a file is not a slip of the pen: the operator decides about it.
            if any(not os.path.exists(self._directory / name) for name in self._required if name not in self._plugins):
                raise
            last = self._last_good(broken)
            _log.error("started on the last good policy %s, because the files are broken:\n%s", last.version, broken)
            return last, Status(last.version, _now(), str(broken), tuple(broken.findings))
        self._remember(policy)
        return policy, Status(policy.version, _now())

    def _last_good(self, broken: PolicyError) -> Policy:
        files = None if self._keep is None else snapshot.kept(self._keep)
        if files is None:
            raise broken
        try:
            return loading.from_files(files, self._vocabulary)
        except PolicyError:
            # Good for an older version of the service only: the present files say what is to be mended.
            raise broken from None

    def _take_over(self) -> None:
        judged = self._fingerprint()
        try:
            policy = self._loaded()
        except PolicyError as broken:
            self._judged = judged
            if self.status.error != str(broken):
                self.failures += 1
                _log.error("version %s stays, because the new files are broken:\n%s", self.current.version, broken)
                self.status = Status(self.current.version, _now(), str(broken), tuple(broken.findings))
            return
        if self._fingerprint() != judged:
            # Somebody is still writing: what was loaded may be half of two states.
            return
        self._judged = judged
        if policy.version != self.current.version:
            self._remember(policy)
            _log.warning("policy %s replaces %s", policy.version, self.current.version)
            self.current = policy
        if self.status.version != policy.version or self.status.error is not None:
            self.status = Status(policy.version, _now())

    def _loaded(self) -> Policy:
        """The policy in the directory, after every check. Raises PolicyError."""
        try:
            return self._checked()
        except PolicyError:
            raise
        except Exception as error:
            _log.exception("the policy files cannot be judged")
            raise PolicyError([Finding(str(self._directory), 0, f"the files cannot be judged: {error!r}")]) from error

    def _checked(self) -> Policy:
        policy = loading.load(self._directory, self._vocabulary, plugins=self._plugins, required=self._required)
        findings = sampled(policy, seconds=self._sample)
        cases = self._directory / CASES
        if self._cases is not None and cases.exists():
            findings += [finding for finding in self._cases(policy, cases) if finding.severity == "error"]
        if findings:
            raise PolicyError(findings)
        return policy

    def _remember(self, policy: Policy) -> None:
        if self._keep is not None:
            try:
                snapshot.keep(self._keep, policy.files)
            except OSError as error:
                _log.error("the last good policy cannot be kept in %s: %s", self._keep, error.strerror)

    def _fingerprint(self) -> bytes:
        """What the policy files and the cases hold now; unreadable counts as a state of its own."""
        findings: list[Finding] = []
        files = loading.read_files(self._directory, self._plugins, findings)
        cases = self._directory / CASES
        try:
            files[CASES] = cases.read_bytes()
        except OSError as error:
            files[CASES] = os.fsencode(error.strerror or "")
        whole = hashlib.sha256(loading.digest(files).encode())
        whole.update("\n".join(map(str, findings)).encode())
        return whole.digest()


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
