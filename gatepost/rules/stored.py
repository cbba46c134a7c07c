"""The policy in the database, which all nodes of an instance use: the newest version in the policy history."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from models.engine.database import Database
from models.scratch import scratch
from models.tables import policy_version
from models.tables.policy_version import START, SYSTEM, PolicyVersion
from policies import Finding, Policy, PolicyError, Vocabulary
from policies.cases.case_file import failures
from policies.loading.folder import SAMPLE, Cases, Folder, Source
from policies.loading.loader import CASES_FILE
from policies.loading.snapshot import LastGood
from policies.questions.diff import decide_alike
from settings import LiveSettings

from .change import STRAY, Changing, InDatabase, InFiles, Installed
from .exported import Export, is_policy_file, packaged_of, texts_of, unknown_file

_EMPTY = "the database has no policy yet"


class StoredPolicy:
    """The `Source` of a watcher whose rules are in the database. It exports each loaded policy to the policy folder."""

    noun, whole = "the database", True
    place = "the policy in the database"
    missing = frozenset[str]()  # no file is required, so that all nodes can use the same policy

    def __init__(self, database: Database, vocabulary: Vocabulary, export: Export, cases: Cases) -> None:
        self.vocabulary = vocabulary
        self._database, self._export, self._cases = database, export, cases
        self.packaged: frozenset[str] = frozenset()

    @property
    def version(self) -> str:
        with self._database.connected():
            return policy_version.newest_version() or ""

    @property
    def drift(self) -> str | None:
        return self._export.drift

    def fingerprint(self) -> bytes:
        """Returns the id of the newest row. Raises `RowError`."""
        with self._database.connected():
            return (policy_version.newest_id() or "").encode()

    def load(self, before: LastGood | None, *, closing: bool = False) -> Policy:
        """Loads, checks and exports the policy of the newest row. Raises PolicyError, `RowError`."""
        with self._database.connected():
            row = policy_version.newest()
        if row is None:
            raise PolicyError([Finding("", 0, _EMPTY)])
        policy = checked(row, self.vocabulary, self._cases, closing=closing)
        self.packaged = frozenset(row.packaged)
        new = before is None or before.version != row.version
        self._export.write(row.version, texts_of(row), packaged_of(row), new=new)
        return policy


def source_of(live: LiveSettings, installed: Installed, database: Database, tenant_id: str) -> Source:
    """Returns the source of an instance's rules. An empty policy history gets the rules of the policy folder.

    `tenant_id` is the tenant whose audit log gets the changes. Raises PolicyError, `RowError`.
    """
    settings = live.current

    def cases(policy: Policy, path: Path) -> Collection[Finding]:
        return failures(policy, path, live.current.zone)

    changing = Changing.of(settings, installed, database, tenant_id)
    if isinstance(changing, InFiles):
        if changing.is_stray:
            raise PolicyError([Finding("policy_source", 0, STRAY)])
        return Folder(settings.policies, installed.vocabulary, plugins=installed.plugin_policies, sample=SAMPLE,
                      required=installed.required_policies, cases=cases, alike=decide_alike)
    assert isinstance(changing, InDatabase)
    if changing.in_force() is None:
        # Does nothing if another node that starts at the same time was first.
        changing.begin(changing.candidate({}), START, SYSTEM)
    changing.take_over()
    return StoredPolicy(database, installed.vocabulary, Export(settings.policies, installed.plugin_policies), cases)


def checked(row: PolicyVersion, vocabulary: Vocabulary, cases: Cases, *, closing: bool = False) -> Policy:
    """Loads the policy of a row, with the checks of `Folder.load`.

    Raises PolicyError, also for a file that this version does not read, because the rest would be another policy.
    """
    if unknown := [unknown_file(name) for name in sorted(row.files) if not is_policy_file(name) or name == CASES_FILE]:
        raise PolicyError(unknown)
    with scratch() as place:
        for name, text in row.files.items():
            (place / name).write_bytes(text.encode())
        if row.cases is not None:
            (place / CASES_FILE).write_bytes(row.cases.encode())
        # Without the rules of this node's plugins: the row has them, the same for all nodes.
        return Folder(place, vocabulary, cases=cases, sample=SAMPLE).load(None, closing=closing)
