"""Trial of a policy change: whom it lets in and refuses in general, in last week's requests, and on stored rows.

The work takes many seconds, and hostile texts could make it take forever. So it runs in a process of its own
(`child`).
"""

from __future__ import annotations

import pkgutil
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from traceback import print_exc
from types import FrameType
from typing import Any

from blueprints.policy_changes.affected_rows import Scope, compare_rows
from gatepost.collections.plugins.discovery import discover
from gatepost.collections.plugins.leaving_out import ignored
from gatepost.collections.registry import Registry
from gatepost.http.request.access import Access
from gatepost.rules.change import Changing
from gatepost.rules.left_over import left_over
from models.engine.connect import open_database
from models.engine.database import Database
from models.tables.audit import told_since
from models.tables.user import User
from policies import Policy, PolicyError, Principal
from policies.comparison.subjects import persons
from policies.evaluation.principal import FixedEnvironment
from policies.lint.warnings import warnings
from policies.loading.loader import from_files
from policies.questions.changes import LESS, MORE, OTHER, UNDECIDED, Change
from policies.questions.diff import diff
from policies.questions.recorded import COLUMNS, Entry
from policies.questions.replay import replay
from settings import Settings

JUDGING = 5.0  # seconds of a processor to load and compare the policies, and as many for each of `rows` and `replay`
STATEMENT = 2.0  # seconds of one statement about the rows
FINDINGS, COMPARISON, ROWS, REPLAY = "findings", "changes", "rows", "replay"
INCOMPLETE, TIMEOUT, FAILED = "incomplete", "timeout", "failed"
SIGNS = {MORE: "+", LESS: "-", OTHER: "~", UNDECIDED: "?"}
_PERSON, _SCOPE = "user:", "scope "  # prefixes of users and of scopes in a diff
Tell = Callable[[str, Any], None]


@dataclass(frozen=True, kw_only=True)
class Question:
    """Question of a trial: the effects of these files in place of those in the policy folder.

    extra         additional collections, as `Registry.extra` names them
    files         file name → its text; None removes the file
    live          files of the policy in force
    guest_tenant  tenant whose rows guests see
    viewer        caller, in the `environment`: only rows and users that they may view are counted
    parts         parts besides the findings: some of `COMPARISON`, `ROWS` and `REPLAY`
    since         start of the replay
    """

    settings: Settings
    extra: tuple[str, ...]
    files: Mapping[str, str | None]
    live: Mapping[str, bytes]
    guest_tenant: str
    viewer: Principal
    environment: FixedEnvironment
    parts: tuple[str, ...]
    since: str | None = None


class _Overrun(BaseException):
    """Error: the time is up. It is no `Exception`, so no handler catches it by accident."""


def answer(question: Question, tell: Tell) -> None:
    """Passes the findings and each requested part to `tell`; for an unfinished one (part, why) as `INCOMPLETE`."""
    registry = discover([pkgutil.resolve_name(place) for place in question.extra], question.settings.without)
    settings = replace(question.settings, statement_timeout=min(STATEMENT, question.settings.statement_timeout))
    database = open_database(settings.database_url, pool_size=settings.pool_size, synchronous=settings.synchronous,
                             statement_timeout=settings.statement_timeout, ignored=ignored(settings.without))
    try:
        with database.connected():
            registry = replace(registry, gone=left_over(database, registry))
            _Trial(question, registry, database).tell(tell)
    finally:
        database.close_all()


class _Trial:
    def __init__(self, question: Question, registry: Registry, database: Database) -> None:
        self._question, self._registry, self._database = question, registry, database
        self._live = from_files(question.live, registry.vocabulary, closing=True)

    def tell(self, tell: Tell) -> None:
        new: list[Policy] = []
        with _part(FINDINGS, tell):
            candidate = self._loaded()
            if isinstance(candidate, Policy):
                new.append(candidate)
                held = User.held_roles(self._database)
                tell(FINDINGS, [_finding(each) for each in warnings(candidate, held)] if self._question.parts else [])
            else:
                tell(FINDINGS, [_finding(each) for each in candidate.findings])
        for policy in new:
            for part, work in ((COMPARISON, self._compared), (ROWS, self._rows), (REPLAY, self._replayed)):
                if part in self._question.parts:
                    with _part(part, tell):
                        tell(part, work(policy))

    def _loaded(self) -> Policy | PolicyError:
        changing = Changing.of(self._question.settings, self._registry, self._database, self._question.guest_tenant)
        files = {name: None if text is None else text.encode() for name, text in self._question.files.items()}
        try:
            return changing.candidate(files).policy
        except PolicyError as error:
            return error

    def _compared(self, new: Policy) -> dict[str, Any]:
        ids = [key.removeprefix("user:") for key in persons(self._live, new)]
        changes = diff(self._live, new, {f"user:{id}": role for id, role in User.roles(ids).items()})
        return {"version": new.version, "changes": [item for change in changes for item in _each(change)],
                "invariants": list(changes.invariants), "groups": list(changes.groups)}

    def _rows(self, new: Policy) -> dict[str, Any]:
        scope = Scope(self._question.guest_tenant, self._access, self._registry.collections["users"].guards)
        return compare_rows(self._database, self._registry.collections.values(), self._live, new, scope,
                            datetime.now(self._question.settings.zone), seconds=JUDGING).as_json()

    def _replayed(self, new: Policy) -> dict[str, Any]:
        return replay(self._live, new, self._entries()).as_json()

    def _entries(self) -> Iterator[Entry]:
        """Yields the audit events that the viewer may see. Facts hidden from the viewer count as unknown."""
        audits, access, question = self._registry.collections["audit"], self._access, self._question
        columns = dict.fromkeys((*COLUMNS, *self._registry.vocabulary.resources[audits.resource].columns))
        for row in told_since(question.viewer.tenant_id, str(question.since), tuple(columns)):
            if access.allows(audits.view, row):
                visible = {name: row[name] for name in COLUMNS}
                if not access.allows(audits.guards["facts"], row):
                    visible["facts"] = None
                yield Entry(**visible)

    @property
    def _access(self) -> Access:
        return Access(self._live, self._question.viewer, self._question.environment)


@contextmanager
def _part(name: str, tell: Tell) -> Iterator[None]:
    """Reports a part that takes too long or fails, and raises nothing. The traceback goes to standard error."""
    def stop(number: int, frame: FrameType | None) -> None:
        raise _Overrun

    # Only processor time counts, so other work on the machine does not matter.
    before = signal.signal(signal.SIGPROF, stop)
    # The statements about rows have their own limit, and report what was not counted.
    signal.setitimer(signal.ITIMER_PROF, JUDGING + STATEMENT if name == ROWS else JUDGING)
    try:
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.signal(signal.SIGPROF, before)
    except _Overrun:
        tell(INCOMPLETE, (name, TIMEOUT))
    except Exception:
        print_exc()
        tell(INCOMPLETE, (name, FAILED))


def _each(change: Change) -> Iterator[dict[str, Any]]:
    """Yields a change for each role, user or scope that it affects."""
    for who in change.who:
        person, scope = who.startswith(_PERSON), who.startswith(_SCOPE)
        yield {
            "role": None if person or scope else who, "user": who.removeprefix(_PERSON) if person else None,
            "scope": who.removeprefix(_SCOPE) if scope else None, "having": list(change.having),
            "permission": change.permission, "sign": SIGNS[change.kind],
            "before": change.before or None, "after": change.after or None,
            "example": {"gained": change.gained and str(change.gained), "lost": change.lost and str(change.lost)},
            "lines": list(change.lines), "lines_before": list(change.gone),
        }


def _finding(finding: Any) -> dict[str, Any]:
    return {"file": finding.file, "line": finding.line, "message": finding.message, "severity": finding.severity,
            "person": finding.person}
