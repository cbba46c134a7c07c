"""Sources of a policy: the protocol `Source`, and `Folder`, the folder of policy files."""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Protocol

from ..evaluation.policy import Policy
from ..syntax.vocabulary import Vocabulary
from ..wording.finding import Finding, PolicyError
from . import loader, snapshot
from .files import Unreadable, read_bytes
from .loader import CASES_FILE
from .snapshot import LastGood

Cases = Callable[[Policy, Path], Collection[Finding]]

SAMPLE = 0.1  # seconds for which a service asks Casbin at each load

_log = logging.getLogger("gatepost.policy")


class Source(Protocol):
    """Source of a policy, such as `Folder`.

    place       its location, for the operator; `noun` names it as the subject of a sentence
    whole       true if it never contains half of a change, so that one look at it is enough
    vocabulary  names that its rules may use
    packaged    names of the files that it takes from the package of a plugin
    missing     names of files that the service requires and that do not exist
    version     version of its present content, valid or not
    drift       a sentence about changes of an operator that have no effect; None: there are none
    """

    noun: str
    whole: bool
    @property
    def place(self) -> str: ...
    @property
    def vocabulary(self) -> Vocabulary: ...
    @property
    def packaged(self) -> frozenset[str]: ...
    @property
    def missing(self) -> frozenset[str]: ...
    @property
    def version(self) -> str: ...
    @property
    def drift(self) -> str | None: ...
    def fingerprint(self) -> bytes: ...
    def load(self, before: LastGood | None, *, closing: bool = False) -> Policy: ...


class Folder:
    """The policy files of an instance, with their checks: the `Source` of a watcher.

    plugins   file name → the rules that a plugin's package ships, used unless the folder has a file of that name
    required  names of files that must be there, unless an operator has accepted their loss
    cases     runs the instance's tests.yaml, when there is one
    alike     returns whether two policies answer every request alike; None: unknown
    sample    seconds for which Casbin may be asked at each load
    """

    noun, whole = "the policy folder", False
    drift: str | None = None

    def __init__(self, directory: Path, vocabulary: Vocabulary, *, plugins: Mapping[str, Path] | None = None,
                 required: Collection[str] = (), cases: Cases | None = None, alike: snapshot.Alike | None = None,
                 sample: float = 0.2) -> None:
        self.directory, self.vocabulary = directory, vocabulary
        self._plugins, self._required = dict(plugins or {}), tuple(required)
        self._cases, self._alike, self._sample = cases, alike, sample

    def at(self, directory: Path, *, absent: Collection[str] = ()) -> Folder:
        """Another folder that is checked in the same way; the required files that are `absent` may be missing."""
        required = [name for name in self._required if name not in absent]
        return Folder(directory, self.vocabulary, plugins=self._plugins, required=required, cases=self._cases,
                      alike=self._alike, sample=self._sample)

    @property
    def place(self) -> str:
        return str(self.directory)

    @property
    def packaged(self) -> frozenset[str]:
        """The names of the files that are those of a plugin's package."""
        return loader.packaged(self.directory, self._plugins)

    @property
    def required(self) -> frozenset[str]:
        return frozenset(self._required)

    @property
    def missing(self) -> frozenset[str]:
        return frozenset(name for name in self._required
                         if name not in self._plugins and not os.path.lexists(self.directory / name))

    def load(self, before: LastGood | None, *, closing: bool = False) -> Policy:
        """The policy in the folder, after every check; `before` is the last good one. Raises PolicyError.

        With `closing`, rules that only an older version accepted are closed, and the cases are not run: some may expect
        what these rules said.
        """
        try:
            return self._checked(before, closing)
        except PolicyError:
            raise
        except Exception as error:
            _log.exception("the policy files cannot be checked")
            message = f"the files cannot be checked ({type(error).__name__}); the log says more"
            raise PolicyError([Finding(str(self.directory), 0, message)]) from error

    def read(self, *, absent: Collection[str] = (), closing: bool = False) -> Policy:
        """The policy in the folder, without the checks of its answers: Casbin and the cases. The required files that
        are `absent` may be missing. Raises PolicyError."""
        required = [name for name in self._required if name not in absent]
        return loader.load(self.directory, self.vocabulary, plugins=self._plugins, required=required, closing=closing)

    def _checked(self, before: LastGood | None, closing: bool) -> Policy:
        policy = self.read(absent=before.absent if before else (), closing=closing)
        if before is not None and (gone := snapshot.gone(
                before, policy, self.packaged, lambda: self._is_alike(before, policy))):
            raise PolicyError(gone)
        from .oracle import sampled  # Casbin takes a while to import, and most commands do without
        findings = sampled(policy, seconds=self._sample)
        cases = self.directory / CASES_FILE
        # A link that leads nowhere is there, too: cases that cannot be read must not count as passed.
        if self._cases is not None and not closing and os.path.lexists(cases):
            findings += [finding for finding in self._cases(policy, cases) if finding.severity == "error"]
        if findings:
            raise PolicyError(findings)
        return policy

    def _is_alike(self, before: LastGood, policy: Policy) -> bool:
        if self._alike is None:
            return False
        try:
            return self._alike(loader.from_files(before.files, self.vocabulary, closing=True), policy)
        except PolicyError:
            return False  # the last good one is of another age

    @property
    def version(self) -> str:
        """Returns the version of the present files, valid or not."""
        return self.unjudged().version

    def unjudged(self) -> LastGood:
        """The files as they are now, whether they can be used or not."""
        return LastGood(loader.read_files(self.directory, self._plugins, []), self.packaged)

    def fingerprint(self) -> bytes:
        """Returns a digest of the present policy files and cases. An unreadable file has a digest of its own."""
        findings: list[Finding] = []
        files = loader.read_files(self.directory, self._plugins, findings)
        try:
            files[CASES_FILE] = read_bytes(self.directory / CASES_FILE)
        except Unreadable as error:
            files[CASES_FILE] = str(error).encode()
        whole = hashlib.sha256(loader.digest(files).encode())
        whole.update("\n".join(map(str, findings)).encode())
        return whole.digest()
