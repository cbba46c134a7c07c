"""Changes of the policy by a command or a request: the new policy is checked like an edit of files, then applied.

If the rules are in files, it is written to the policy history first, then as last good policy, then to the files. So
the processes that watch the folder know the policy already, and accept a removed file. If the rules are in the
database, the row of the policy history is all.
"""

from __future__ import annotations

import fcntl
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol, TypeVar

from models.engine.database import Database
from models.engine.errors import RowError
from models.scratch import scratch
from models.tables import policy_version
from models.tables.instance import note_policy_in_database, policy_is_in_database
from models.tables.policy_version import START, SYSTEM, PolicyVersion
from policies import Finding, Policy, PolicyError, Vocabulary
from policies.cases.case_file import failures
from policies.loading import snapshot
from policies.loading.files import Unreadable, own_text, read_bytes
from policies.loading.folder import Folder
from policies.loading.loader import CASES_FILE
from policies.loading.snapshot import LAST_GOOD, LastGood
from policies.syntax.model import MODEL_FILE
from settings import Settings
from settings.declared import DATABASE
from system.files import FreshFile, fresh_file

from .exported import Export, is_policy_file, texts_of
from .history import HistoryWriter, Origin

STRAY = ('the rules of this instance are in the database: set policy_source = "database" here, too. To go back to '
         "files, stop every node, set policy_source of each, and run: gatepost policy accept")

Text = TypeVar("Text", str, bytes)
Files = Mapping[str, bytes | None]
"""File name → its new content; None: the file is removed."""


class Overtaken(Exception):
    """Error if the policy or its files have changed since the change was prepared."""


@dataclass(frozen=True)
class Candidate:
    """A policy that has passed every check and can be applied.

    before  the files that it was made from
    files   the changed files
    """

    policy: Policy
    before: Mapping[str, bytes]
    files: Files

    @property
    def after(self) -> dict[str, bytes]:
        """The files after the change, cases included."""
        return {name: content for name, content in {**self.before, **self.files}.items() if content is not None}

    @property
    def packaged(self) -> frozenset[str]:
        """The names of the policy's files that come from plugins."""
        return frozenset(self.policy.files.keys() - self.after.keys())


class Installed(Protocol):
    """The words that rules may use, and the required files. `Registry` implements it."""

    @property
    def vocabulary(self) -> Vocabulary: ...
    @property
    def plugin_policies(self) -> Mapping[str, Path]: ...
    @property
    def required_policies(self) -> Collection[str]: ...


class Changing(ABC):
    """Applies policies for one instance. Its folder `instance` has the last good policy."""

    def __init__(self, folder: Folder, history: HistoryWriter, instance: Path) -> None:
        self._folder, self._history, self._last_good = folder, history, instance / LAST_GOOD

    @staticmethod
    def of(settings: Settings, installed: Installed, database: Database, tenant_id: str) -> Changing:
        """Returns the implementation for an instance. `tenant_id` is the tenant whose audit log gets the changes."""
        folder = Folder(settings.policies, installed.vocabulary, plugins=installed.plugin_policies,
                        required=installed.required_policies, cases=partial(failures, zone=settings.zone))
        history = HistoryWriter(database, settings.instance, installed.vocabulary, tenant_id, installed.plugin_policies,
                        settings.policies)
        if settings.policy_source == DATABASE:
            return InDatabase(folder, history, settings.instance, database,
                              Export(settings.policies, installed.plugin_policies))
        return InFiles(folder, history, settings.instance, database)

    @abstractmethod
    def files(self) -> dict[str, bytes]:
        """Returns the policy files to change, cases included. Raises PolicyError for an unreadable file, `RowError`."""

    @abstractmethod
    def in_force(self) -> Mapping[str, bytes] | None:
        """Returns all files of the current policy; None if it is unknown. Raises `RowError`."""

    @abstractmethod
    def put_in_force(self, candidate: Candidate, cause: str, author: str, note: str | None = None,
                     origin: Origin = None) -> None:
        """Adds a candidate to the policy history and writes its files.

        Raises Overtaken if the files have changed in the meantime; OSError, `RowError`.
        """

    def candidate(self, files: Files, *, absent: Collection[str] = ()) -> Candidate:
        """Checks the present files with these changes, and returns them as a candidate.

        Required files may be missing if their loss was accepted, or if they are in `absent`. Raises PolicyError,
        OSError, `RowError`.
        """
        before = self.files()
        changed = {name: content for name, content in files.items() if before.get(name) != content}
        after = {name: content for name, content in {**before, **files}.items() if content is not None}
        with scratch() as place:
            for name, content in after.items():
                (place / name).write_bytes(content)
            folder = self._folder.at(place, absent={*absent, *self._accepted_losses()})
            return Candidate(folder.load(None), before, changed)

    def _accepted_losses(self) -> frozenset[str]:
        last = snapshot.kept(self._last_good)
        return frozenset() if last is None else last.absent

    def instead(self, files: Mapping[str, bytes]) -> Candidate:
        """Returns a `candidate` of these files alone. Other files are removed, except for the cases."""
        return self.candidate(replacing(self.files(), files))


class InDatabase(Changing):
    """Changes of rules in the database. Each is also exported to the policy folder."""

    def __init__(self, folder: Folder, history: HistoryWriter, instance: Path, database: Database,
                 export: Export) -> None:
        super().__init__(folder, history, instance)
        self._database, self._export = database, export

    def files(self) -> dict[str, bytes]:
        row = self._newest()
        return files_in(self._folder.directory) if row is None else texts_of(row)

    def in_force(self) -> Mapping[str, bytes] | None:
        row = self._newest()
        return None if row is None else {name: text.encode() for name, text in row.files.items()}

    def put_in_force(self, candidate: Candidate, cause: str, author: str, note: str | None = None,
                     origin: Origin = None) -> None:
        if self._newest() is None:
            self._begin_before(candidate)
        row = self._row(candidate, cause, author, note, origin)
        if not self._database.transact(lambda: policy_version.append_after(
                row, lambda newest: newest is None or texts_of(newest) == candidate.before)):
            raise Overtaken("Another policy was put in force meanwhile. Look at it, and try again.")
        packaged = {name: candidate.policy.files[name] for name in candidate.packaged}
        self._export.write(row.version, candidate.after, packaged, new=True)

    def begin(self, candidate: Candidate, cause: str, author: str) -> bool:
        """Applies the first policy; False if another node has just done so. Raises `RowError`."""
        row = self._row(candidate, cause, author, None)
        return self._database.transact(lambda: policy_version.append_after(row, lambda newest: newest is None))

    def take_over(self) -> None:
        """Makes the newest policy version, which was one of files, that of every node. Raises `RowError`."""
        with self._database.connected():
            if policy_is_in_database():
                return
        # Policies that were applied while the database could not be written are versions, too.
        self._history.store()
        self._database.transact(policy_version.take_over)

    def _begin_before(self, candidate: Candidate) -> None:
        """Starts the history with the files that a candidate replaces, if they are valid."""
        with suppress(PolicyError):
            before = self.candidate({})
            if before.policy.version != candidate.policy.version:
                self.begin(before, START, SYSTEM)

    def _row(self, candidate: Candidate, cause: str, author: str, note: str | None, origin: Origin = None
             ) -> PolicyVersion:
        row = self._history.row(candidate.policy, cause, author, note, origin)
        row.packaged = json.dumps(sorted(candidate.packaged))
        cases = candidate.after.get(CASES_FILE)
        row.cases = None if cases is None else cases.decode()
        return row

    def _newest(self) -> PolicyVersion | None:
        with self._database.connected():
            return policy_version.newest()


class InFiles(Changing):
    """Changes of the files of an instance."""

    def __init__(self, folder: Folder, history: HistoryWriter, instance: Path, database: Database) -> None:
        super().__init__(folder, history, instance)
        self._database = database

    @property
    def is_stray(self) -> bool:
        """True if the rules of the instance are in the database, so that these files do not count. Raises `RowError`.
        """
        with self._database.connected():
            return policy_is_in_database()

    def leave_database(self) -> None:
        """Records that the rules of the instance are in files from now on. Raises `RowError`."""
        self._database.transact(lambda: note_policy_in_database(False))

    def files(self) -> dict[str, bytes]:
        return files_in(self._folder.directory)

    def in_force(self) -> Mapping[str, bytes] | None:
        last = snapshot.kept(self._last_good)
        return None if last is None else last.files

    def begin_history(self, *, shipped: bool = False) -> None:
        """Starts the policy history with the present files, if it is empty and they are valid.

        `shipped` files are not checked. Raises `RowError`.
        """
        with self._database.connected():
            has_history = policy_version.newest_version() is not None
        if not has_history:
            with suppress(PolicyError):
                self._history.note(self._folder.unjudged() if shipped else self._folder.read(closing=True), START)

    def put_in_force(self, candidate: Candidate, cause: str, author: str, note: str | None = None,
                     origin: Origin = None) -> None:
        with self._locked():
            if self.files() != candidate.before:
                raise Overtaken("The policy files were changed meanwhile. Look at them, and try again.")
            with self._fresh_files(candidate.files) as fresh:
                with suppress(RowError):  # a change must not wait for the start of the history
                    self.begin_history()
                self._history.note(candidate.policy, cause, author, note, origin)
                absent = self._folder.required - candidate.policy.files.keys()
                snapshot.keep(self._last_good, LastGood(candidate.policy.files, candidate.packaged, absent))
                for file in fresh:
                    file.replace()
                for name in (name for name, content in candidate.files.items() if content is None):
                    (self._folder.directory / name).unlink(missing_ok=True)

    @contextmanager
    def _fresh_files(self, files: Files) -> Iterator[list[FreshFile]]:
        """Writes the new files beside the old ones. So an unwritable folder raises before the policy is applied."""
        directory = self._folder.directory
        with ExitStack() as stack:
            fresh = []
            for name, content in files.items():
                if content is not None:
                    # Write the target of a link, because it is what is read.
                    place = (directory / name).resolve()
                    like = os.stat(place if place.exists() else directory / MODEL_FILE)
                    fresh.append(stack.enter_context(fresh_file(place, like=like)))
                    fresh[-1].file.write(content)
                    fresh[-1].sync()
            yield fresh

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Locks the folder during the block, so that of two changes at once the second sees the first."""
        descriptor = os.open(self._folder.directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


def replacing(present: Collection[str], files: Mapping[str, Text]) -> dict[str, Text | None]:
    """Returns the changes that replace the present files with these. Other files are removed, except for the cases."""
    return {**{name: None for name in present if name not in files and name != CASES_FILE}, **files}


def files_in(directory: Path) -> dict[str, bytes]:
    """Reads the policy files and the cases of a folder, by name. Raises PolicyError if one cannot be read."""
    texts, findings = {}, []
    for place in sorted(directory.iterdir()):
        if is_policy_file(place.name):
            try:
                texts[place.name] = own_text(read_bytes(place))
            except Unreadable as error:
                findings.append(Finding(place.name, 0, str(error)))
    if findings:
        raise PolicyError(findings)
    return texts
