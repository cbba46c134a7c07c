"""Putting a policy in force on purpose: what a command or a request proposes is checked as an edit is, then written.

The ledger comes first, then the last good policy, then the files: the processes that follow the folder find there what
was accepted already, and a file that is gone is no broken edit.
"""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

from models.engine.database import Database
from policies import Finding, Policy, PolicyError, Vocabulary
from policies.cases.case_file import failures
from policies.loading import snapshot
from policies.loading.files import Unreadable, fresh_file, read_bytes
from policies.loading.folder import Folder
from policies.loading.loader import CASES_FILE, FILE_NAME
from policies.loading.snapshot import LAST_GOOD, LastGood
from policies.syntax.model import MODEL_FILE
from settings import Settings

from .ledger import Ledger

Files = Mapping[str, bytes | None]
"""File name → its content, or None where the file is to go."""


class Overtaken(Exception):
    """Another policy is in force, or other files are there, than those that a change was made for."""


@dataclass(frozen=True)
class Candidate:
    """A policy that may come into force, after every check.

    before  the files of the folder that it was made from; `files` are those that differ
    """

    policy: Policy
    before: Mapping[str, bytes]
    files: Files


class Installed(Protocol):
    """The words that rules may use, and the files that there must be: the `Registry` of `resources`."""

    @property
    def vocabulary(self) -> Vocabulary: ...
    @property
    def plugin_policies(self) -> Mapping[str, Path]: ...
    @property
    def required_policies(self) -> Collection[str]: ...


class Changing:
    """Puts policies in force for one instance: `folder` has its files, `instance` its last good policy."""

    def __init__(self, folder: Folder, instance: Path, ledger: Ledger) -> None:
        self._folder, self._instance, self._ledger = folder, instance, ledger

    @classmethod
    def of(cls, settings: Settings, installed: Installed, database: Database, tenant_id: str) -> Changing:
        """That of the instance which has these settings. `tenant_id` is the tenant whose trail tells of changes."""
        folder = Folder(settings.policies, installed.vocabulary, plugins=installed.plugin_policies,
                        required=installed.required_policies, cases=failures)
        return cls(folder, settings.instance, Ledger(database, settings.instance, installed.vocabulary, tenant_id,
                                                     installed.plugin_policies, settings.policies))

    def files(self) -> dict[str, bytes]:
        """The policy files of the folder, and the cases. Raises PolicyError for one that cannot be read."""
        found, findings = {}, []
        for place in sorted(self._folder.directory.iterdir()):
            if is_policy_file(place.name):
                try:
                    found[place.name] = read_bytes(place)
                except Unreadable as error:
                    findings.append(Finding(place.name, 0, str(error)))
        if findings:
            raise PolicyError(findings)
        return found

    def candidate(self, files: Files) -> Candidate:
        """The folder with these files in the place of its own, checked. Raises PolicyError, OSError."""
        before = self.files()
        changed = {name: content for name, content in files.items() if before.get(name) != content}
        after = {name: content for name, content in {**before, **files}.items() if content is not None}
        with TemporaryDirectory(prefix="gatepost-policy-") as scratch:
            for name, content in after.items():
                (Path(scratch) / name).write_bytes(content)
            return Candidate(self._folder.at(Path(scratch)).load(None), before, changed)

    def instead(self, files: Mapping[str, bytes]) -> Candidate:
        """`candidate` of these files alone: what else the folder has goes, but for the cases."""
        gone = {name: None for name in self.files() if name not in files and name != CASES_FILE}
        return self.candidate({**gone, **files})

    def put_in_force(self, candidate: Candidate, cause: str, author: str, note: str | None = None) -> None:
        """Write a candidate down, and its files. Raises Overtaken where the folder was changed meanwhile; OSError."""
        with self._alone():
            if self.files() != candidate.before:
                raise Overtaken("The policy files were changed meanwhile. Look at them, and try again.")
            with self._written(candidate.files) as fresh:
                self._ledger.note(candidate.policy, cause, author, note)
                after = {name for name, content in {**candidate.before, **candidate.files}.items()
                         if content is not None}
                packaged = frozenset(name for name in candidate.policy.files if name not in after)
                snapshot.keep(self._instance / LAST_GOOD, LastGood(candidate.policy.files, packaged))
                for place, file in fresh.items():
                    os.replace(file, place)
                for name in (name for name, content in candidate.files.items() if content is None):
                    (self._folder.directory / name).unlink(missing_ok=True)

    @contextmanager
    def _written(self, files: Files) -> Iterator[dict[Path, Path]]:
        """The new files on the disk, by where each is to go: a folder that cannot be written is noticed before anything
        is said to be in force. Those that are not moved are gone at the end."""
        directory = self._folder.directory
        with ExitStack() as stack:
            fresh = {}
            for name, content in files.items():
                if content is not None:
                    # What a link leads to is written, as it is what is read.
                    place = (directory / name).resolve()
                    like = os.stat(place if place.exists() else directory / MODEL_FILE)
                    fresh[place] = stack.enter_context(fresh_file(place, content))
                    os.chown(fresh[place], like.st_uid, like.st_gid)
                    fresh[place].chmod(stat.S_IMODE(like.st_mode))
            yield fresh

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Hold the folder, so that of two changes at once the second sees what the first has made."""
        descriptor = os.open(self._folder.directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


def is_policy_file(name: str) -> bool:
    """Whether a file of this name is one of a policy, or the cases."""
    return name in (MODEL_FILE, CASES_FILE) or FILE_NAME.fullmatch(name) is not None
