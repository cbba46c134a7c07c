"""Checks the policy history and the audit log afterwards: they must record every event without a gap."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from models.engine.database import Database
from models.tables import policy_version
from models.tables.audit import Audit, of_all
from models.tables.policy_version import START, PolicyVersion
from policies import Policy
from policies.loading.loader import from_files
from policies.questions.evaluated import answer, traced
from policies.questions.recorded import ALLOWED, COLUMNS, UNKNOWN, Entry, Recorded, decisions
from tests.incidents.policy_changes.clients import Answered
from tests.incidents.policy_changes.ways import Expected
from tests.policies.shipped_vocabulary import VOCABULARY

TOLD = (401, 403, 404)  # refusals that the audit log keeps
_MINUTE = "more of the same minute"


@dataclass
class Account:
    """The results of the comparison: `wrong` has a sentence for each disagreement.

    agreeing    decisions that the policy of that time makes again with the same answer
    in_code     refusals by a rule in code, which the policy alone would allow
    unexplained decisions whose facts are not in the audit log, by reason
    unsure      writes that were done although the answer was that the database is unavailable
    agrees      audit event id → true if the policy of that time gives the recorded answer
    """

    wrong: list[str] = field(default_factory=list)
    policies: int = 0
    late: int = 0
    rows: int = 0
    agreeing: int = 0
    in_code: int = 0
    answers: int = 0
    matched: int = 0
    unsure: int = 0
    unexplained: Counter[str] = field(default_factory=Counter)
    agrees: dict[str, bool] = field(default_factory=dict)

    def __str__(self) -> str:
        unexplained = ", ".join(f"{number}× {why}" for why, number in sorted(self.unexplained.items())) or "none"
        return (f"{self.policies} policies in the policy history, {self.late} late; {self.rows} rows of decisions: "
                f"{self.agreeing} agree, {self.in_code} refused by a rule in code, not recorded: {unexplained}; "
                f"{self.answers} answers, {self.matched} with a row of their own, {self.unsure} unsure; "
                f"{len(self.wrong)} wrong")


def account(database: Database, told: Sequence[Expected], answers: Sequence[Answered]) -> Account:
    """Compares the policy history with the changes, and the audit log with the policy history and the answers."""
    with database.connected():
        history = list(reversed(list(policy_version.listed())))
        chain = list(_chain())
        log = list(of_all())
    found = Account(policies=len(history), late=sum(row.late for row in history))
    found.wrong += _history(history, chain, told)
    _decisions(found, history, log)
    _answers(found, log, answers)
    return found


def _chain() -> Iterator[PolicyVersion]:
    """Yields the policies from the newest to the first, by their predecessors."""
    row = policy_version.newest()
    while row is not None:
        yield row
        row = policy_version.predecessor(row)


def _history(
        history: Sequence[PolicyVersion], chain: Sequence[PolicyVersion], told: Sequence[Expected]) -> Iterator[str]:
    # On a busy machine any row may be late; a row that should be late must be.
    late = {number for number, one in enumerate(told) if one.late}
    kept = [Expected(row.version, row.cause, row.late and number in late) for number, row in enumerate(history)]
    if kept != list(told):
        yield "the policy history has other changes than were made:\n  " + "\n  ".join(
            f"{'  ' if one == other else '!='} {one} {other}" for one, other in _side_by_side(kept, told))
    if [row.seq for row in chain] != [row.seq for row in reversed(history)]:
        yield "the rows before each row are not all rows"
    if history and history[0].cause != START:
        yield f"the first policy has the cause {history[0].cause}"
    for before, after in pairwise(history):
        if before.version == after.version:
            yield f"{after.version} is told twice in a row"


def _side_by_side(kept: Sequence[Expected], told: Sequence[Expected]) -> Iterable[tuple[object, object]]:
    for number in range(max(len(kept), len(told))):
        yield (kept[number] if number < len(kept) else None), (told[number] if number < len(told) else None)


def _decisions(found: Account, history: Sequence[PolicyVersion], log: Sequence[Audit]) -> None:
    since: dict[str, str] = {}
    policies: dict[str, Policy] = {}
    for row in history:
        if row.version not in policies:
            since[row.version] = row.applied_at
            files = {name: text.encode() for name, text in row.files.items()}
            policies[row.version] = from_files(files, VOCABULARY)
    for one in log:
        if one.policy_version is not None and one.policy_version not in policies:
            found.wrong.append(f"row {one.id} is of {one.policy_version}, which the policy history does not have")
            continue
        if one.policy_version is not None and one.time < since[one.policy_version]:
            found.wrong.append(f"row {one.id} is of {one.policy_version}, which was not in force yet at {one.time}")
        if one.principal == "system" or one.principal == "operator":
            continue
        entry = Entry(**{name: getattr(one, name) for name in COLUMNS})
        for decision in decisions(entry, VOCABULARY):
            found.rows += 1
            _check(found, one, decision, policies.get(one.policy_version or ""))


def _check(found: Account, row: Audit, decision: Recorded, policy: Policy | None) -> None:
    """Makes the decision again by the policy of that time."""
    if policy is None or not decision.facts or decision.answered is None:
        found.unexplained[_why(row, decision)] += 1
        return
    again = answer(policy, decision)
    if again.result == UNKNOWN:
        found.wrong.append(f"{_called(row, decision)}, and its policy looks at {sorted(again.missing)}, not recorded")
    elif again.result == decision.answered:
        found.agreeing += 1
        found.agrees[row.id] = True
        if decision.answered == ALLOWED and not _names_its_line(row, decision, policy):
            found.wrong.append(f"row {row.id}: {row.rule} of {row.policy_version} does not allow {decision.permission}")
    elif again.result == ALLOWED and row.resource == "user" and row.reason.startswith("forbidden"):
        found.in_code += 1
        found.agrees[row.id] = False
    else:
        found.wrong.append(f"{_called(row, decision)}, and its policy says {again.result}")


def _called(row: Audit, decision: Recorded) -> str:
    return (f"row {row.id} ({row.principal}, {decision.permission}, {row.reason}, policy {row.policy_version}, "
            f"{row.count} times, {json.dumps(row.facts)}) was answered {decision.answered}")


def _why(row: Audit, decision: Recorded) -> str:
    if _MINUTE in (row.reason or ""):
        return "the rest of a minute's refusals"
    return "refusals under several policies" if row.policy_version is None else f"{decision.permission} without facts"


def _names_its_line(row: Audit, decision: Recorded, policy: Policy) -> bool:
    """True if the rule that the audit event names is one that allowed it."""
    lines = traced(policy, decision, len(decision.asked) - 1)
    return row.rule in {step.rule.place for step in lines if step.holds and step.rule.eft == "allow"}


def _answers(found: Account, log: Sequence[Audit], answers: Sequence[Answered]) -> None:
    rows: defaultdict[str, list[Audit]] = defaultdict(list)
    for row in log:
        if row.request_id:
            rows[row.request_id].append(row)
    for one in answers:
        if one.status is None:
            continue
        found.answers += 1
        found.wrong += _answer(found, one, rows.get(one.id, []))
    for principal in {one.principal for one in answers}:
        mine = [one for one in answers if one.principal == principal]
        refused = sum(one.status in TOLD for one in mine)
        unheard = sum(one.status is None for one in mine)
        kept = sum(row.count for row in log if row.principal == principal and row.result == "refused")
        if not refused <= kept <= refused + unheard:
            found.wrong.append(f"{principal} was refused {refused} times, and the audit log has {kept}")


def _answer(found: Account, one: Answered, rows: Sequence[Audit]) -> Iterator[str]:
    """Yields the errors in the audit events of one request."""
    results = [(row.result, None if row.result == ALLOWED else (row.reason or "").partition(" ")[0].partition(",")[0])
               for row in rows]
    status = one.status or 0
    if status < 300:
        if results != [(ALLOWED, None)]:
            yield f"request {one.id} was answered {status}, and the audit log says {results}"
        found.matched += bool(rows)
    elif status in TOLD:
        # A refusal like another of the same second has no audit event of its own.
        if any(result not in (("refused", one.code), ("refused", _MINUTE.split()[0])) for result in results):
            yield f"request {one.id} was answered {status} {one.code}, and the audit log says {results}"
        found.matched += bool(rows)
    elif results == [(ALLOWED, None)] and status == 503:
        found.unsure += 1
    elif results:
        yield f"request {one.id} was answered {status} {one.code}, and the audit log says {results}"
