"""The policy history: the first process that sees a policy stores it as a version before it decides requests.

A deny must not wait. So if the database cannot be written within `PATIENCE`, the policy is applied anyway. Its row is
kept as a file in the instance until a background task stores it.

A background task later computes the changes of each version and adds them to the audit log.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from threading import Event, Thread
from typing import Any

import peewee as pw

from models.base import new_id, now
from models.engine.database import Database
from models.engine.errors import RowError, TimedOut, Unavailable
from models.records.table import whole
from models.tables import policy_version
from models.tables.audit import add
from models.tables.policy_version import FILES, SYSTEM, PolicyVersion
from models.tables.user import User
from policies import Policy, PolicyError, Vocabulary
from policies.comparison.subjects import persons
from policies.loading import loader
from policies.loading.files import Unreadable, read_bytes
from policies.loading.loader import LARGEST_POLICY, from_files
from policies.loading.snapshot import LastGood
from policies.questions.changes import Changes
from policies.questions.diff import diff
from system.files import write

PATIENCE = 1.0  # seconds that a policy waits for its row to be stored
WAITING = "policy.ledger"  # the folder of waiting rows, in the instance
MOST_CHANGES = 200  # stored changes of one version
MOST_REPORTED = 10  # changes in the audit event
LONGEST = 90  # characters of each of these
_COLUMNS = {**dict.fromkeys(("id", "version", "applied_at", "cause", "author", "files", "packaged"), str), "late": bool}
Origin = Mapping[str, str | None] | None  # columns of the audit event, for a change over HTTP
_LARGEST_ROW = 8 * LARGEST_POLICY  # bytes

_STRAY = ("policy %s is of the files of this node alone, and is not written down: the rules of this instance are in "
          "the database (policy_source)")

_NOT_LOADED = ("policy {} cannot be loaded here: a plugin that it needs is not installed, or it is of another version "
               "of Gatepost ({})")

_log = logging.getLogger("gatepost.policy")


class HistoryWriter:
    """Stores the policy versions of one instance. Safe for any number of threads and processes."""

    def __init__(self, database: Database, instance: Path, vocabulary: Vocabulary, tenant_id: str,
                 plugins: Mapping[str, Path], policies: Path) -> None:
        """Stores the arguments.

        tenant_id  the tenant whose audit log gets the changes
        plugins    file name → the rules that a plugin's package ships; a file of that name in `policies` replaces them
        """
        self._database, self._waiting, self._vocabulary = database, instance / WAITING, vocabulary
        self._tenant_id, self._plugins, self._policies = tenant_id, plugins, policies

    def note(self, policy: Policy | LastGood, cause: str = FILES, author: str = SYSTEM, note: str | None = None,
             origin: Origin = None) -> None:
        """Stores a policy that is about to be applied. Never raises, and waits at most `PATIENCE` seconds."""
        row = self.row(policy, cause, author, note, origin)
        stored = Event()

        def work() -> None:
            try:
                with self._database.connected():
                    is_newest = policy_version.newest_version() == row.version
                if not is_newest:
                    self._append(row)
            except RowError:
                return
            except policy_version.Stray:
                _log.error(_STRAY, row.version)
            stored.set()
            self._drop(row.id)

        thread = Thread(target=work, name="policy history", daemon=True)
        thread.start()
        if not stored.wait(PATIENCE) and not stored.is_set():
            row.late = True
            self._keep(row)
            if stored.is_set():
                self._drop(row.id)

    def row(self, policy: Policy | LastGood, cause: str, author: str, note: str | None, origin: Origin = None
            ) -> PolicyVersion:
        """Returns the unstored row of a policy that is applied now."""
        files = {name: content.decode() for name, content in policy.files.items()}
        packaged = sorted(loader.packaged(self._policies, self._plugins) & files.keys())
        return PolicyVersion(id=new_id(), version=policy.version, applied_at=now(), cause=cause, author=author,
                             note=note, late=False, files=json.dumps(files), packaged=json.dumps(packaged),
                             origin=None if origin is None else json.dumps(origin))

    def store(self) -> None:
        """Stores the waiting rows in the order of time, then the changes of new versions. Raises `RowError`."""
        for row in sorted(self._waiting_rows(), key=lambda waiting_row: str(waiting_row.applied_at)):
            try:
                self._append(row)
            except (Unavailable, TimedOut):
                raise
            except policy_version.Stray:
                _log.error(_STRAY, row.version)
            except (RowError, pw.PeeweeException) as error:
                _log.error("%s/%s.json is not a policy version: %s", self._waiting, row.id, error)
                continue
            self._drop(row.id)
        with self._database.connected():
            numbers = list(policy_version.unreported())
        for seq in numbers:
            self._report(seq)

    @property
    def waiting(self) -> int:
        """The number of rows that wait for the database."""
        return len(self._files())

    def _append(self, row: PolicyVersion) -> None:
        self._database.transact(lambda: policy_version.append(row))

    def _report(self, seq: int) -> None:
        with self._database.connected():
            row = policy_version.by_number(seq)
            before = None if row is None else policy_version.predecessor(row)
        if row is None:
            return
        changes = [] if before is None else self._changes(before, row)

        def work() -> None:
            text = json.dumps(changes[:MOST_CHANGES])
            if policy_version.tell(seq, text) and before is not None:
                add(**{"role": row.author.partition(":")[0], **(row.origin or {})}, tenant_id=self._tenant_id,
                    principal=row.author, resource="policy", action="apply", resource_id=None, result="allowed",
                    reason=row.note, policy_version=row.version, facts=_facts(before.version, row, changes))

        self._database.transact(work)

    def _changes(self, before: PolicyVersion, row: PolicyVersion) -> list[dict[str, Any]]:
        policies = []
        for version in (before, row):
            try:
                policies.append(self.policy(version))
            except PolicyError as error:
                first = next((finding for finding in error.findings if finding.line), error.findings[0])
                return [{"change": "unknown", "detail": _NOT_LOADED.format(version.version, first)}]
        try:
            old, new = policies
            return _as_json(diff(old, new, self._roles(old, new)))
        except Exception as error:
            _log.exception("policy %s cannot be compared with %s", row.version, before.version)
            return [{"change": "unknown", "detail": f"they cannot be compared ({type(error).__name__})"}]

    def _roles(self, *policies: Policy) -> dict[str, str]:
        """Returns the stored role of each user whom rules name, by key (`user:<id>`)."""
        ids = [key.removeprefix("user:") for key in persons(*policies)]
        with self._database.connected():
            return {f"user:{id}": role for id, role in User.roles(ids).items()}

    def policy(self, row: PolicyVersion) -> Policy:
        """Loads the policy of a row. Raises PolicyError if this version of Gatepost cannot load it."""
        files = {name: text.encode() for name, text in row.files.items()}
        return from_files(files, self._vocabulary, closing=True)

    # Rows that wait

    def _keep(self, row: PolicyVersion) -> None:
        try:
            self._waiting.mkdir(mode=0o700, exist_ok=True)
            write(self._waiting / f"{row.id}.json", json.dumps(whole(row)).encode())
        except OSError as error:
            _log.error("policy %s is in force, but could not be added to the policy history: %s",
                       row.version, error.strerror)

    def _waiting_rows(self) -> list[PolicyVersion]:
        rows = []
        for file in self._files():
            try:
                fields = json.loads(read_bytes(file, _LARGEST_ROW))
                if not isinstance(fields, dict) or any(
                        type(fields.get(name)) is not kind for name, kind in _COLUMNS.items()):
                    raise ValueError("not a row")
                rows.append(PolicyVersion(**{name: fields.get(name) for name in (*_COLUMNS, "note", "origin")}))
            except Unreadable:
                continue  # another process has just stored it
            except (ValueError, KeyError):
                _log.error("%s is not a policy version", file)
        return rows

    def _files(self) -> list[Path]:
        return [file for file in self._waiting.glob("*.json") if not file.name.startswith(".")]

    def _drop(self, id: str) -> None:
        (self._waiting / f"{id}.json").unlink(missing_ok=True)


def _as_json(changes: Changes) -> list[dict[str, Any]]:
    entries = [{name: value for name, value in change.as_json().items() if name not in ("gained", "lost")}
               for change in changes]
    return [*entries, *({"change": "invariant", "line": line} for line in changes.invariants),
            *({"change": "group", "line": line} for line in changes.groups)]


def _facts(before: str, row: PolicyVersion, changes: list[dict[str, Any]]) -> str:
    """Returns the facts of the audit event as JSON, with a line for each of the first changes."""
    lines = [_line(change) for change in changes]
    return json.dumps({"from": before, "to": row.version, "cause": row.cause, "changes": lines[:MOST_REPORTED],
                       "more": max(0, len(lines) - MOST_REPORTED)})


def _line(change: Mapping[str, Any]) -> str:
    if "permission" not in change:
        return str(change.get("line") or change.get("detail"))[:LONGEST]
    before, after = (change[name] or "never" for name in ("before", "after"))
    return f"{change['permission']}: {before} → {after}, for {', '.join(change['who'])}"[:LONGEST]
