"""A decision of the past, explained by its row of the audit trail and by the rules that were in force then."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

import click

from blueprints.commands.context import open_instance
from blueprints.commands.policy import folders
from blueprints.http.questions.names import Names
from blueprints.http.resources.collection import Collection
from models.base import Rows, is_id
from models.tables import policy_version
from models.tables.audit import Audit, of_all
from policies import Policy, PolicyError
from policies.explaining.explanation import MARK, Step
from policies.loading.loader import from_files
from policies.questions.judged import Answer, answer, covered, traced
from policies.questions.recorded import ALLOWED, COLUMNS, UNKNOWN, Entry, Recorded, decisions

_MOST_LINES = 5  # that did not hold
_OTHERWISE = {
    True: "the policy allowed it; what refused it is a rule in code, such as rank or state",
    False: "the rules of that version alone refuse it",
}


@dataclass(frozen=True)
class Past:
    """One decision of then: what was answered, and what the rules of then say alone.

    who      what to call the caller
    rule     the line that the row names
    version  of the policy of then
    covered  whether the scopes of then cover the permission that was decisive; True where they were not recorded
    lines    each line about that permission
    """

    decision: Recorded
    who: str
    rule: str | None
    version: str
    permission: str
    found: Answer
    covered: bool
    lines: tuple[Step, ...]

    @property
    def summary(self) -> str:
        """One sentence."""
        entry, decision = self.decision.entry, self.decision
        on = f" on {entry.resource_id}" if entry.resource_id else ""
        times = f", {decision.count} times" if decision.count > 1 else ""
        return (f"{self.who} ({decision.caller.role}) was {decision.answered or 'refused'} {decision.permission}{on} "
                f"at {entry.time}{times}: {self._because}")

    @property
    def agrees(self) -> bool | None:
        """Whether the rules of then alone say what was answered; None: that depends on what was not recorded."""
        if self.found.result == UNKNOWN or self.decision.answered is None:
            return None
        return (self.found.result == ALLOWED) is (self.decision.answered == ALLOWED)

    @property
    def decided_by(self) -> Step | None:
        """The line that allowed or denied; None when no line did."""
        effect = "allow" if self.found.result == ALLOWED else "deny"
        holding = [step for step in self.lines if step.holds and step.rule.eft == effect]
        return next((step for step in holding if step.rule.place == self.rule), holding[0] if holding else None)

    @property
    def misses(self) -> tuple[Step, ...]:
        """The lines that would have allowed it but for a fact, the nearest first; none where it was allowed."""
        if self.found.result == ALLOWED or not self.covered:
            return ()
        missing = [step for step in self.lines if step.rule.eft == "allow" and not step.holds]
        return tuple(sorted(missing, key=lambda step: len(step.missing))[:_MOST_LINES])

    @property
    def _because(self) -> str:
        if self.agrees is False:
            return _OTHERWISE[self.found.result == ALLOWED]
        if self.found.result == UNKNOWN:
            return f"why depends on what was not recorded ({', '.join(sorted(self.found.missing))})"
        if not self.covered:
            return "the token's scopes did not cover it"
        if (step := self.decided_by) is not None:
            return f"{step.rule.place} {'denies' if step.rule.eft == 'deny' else 'allows'} it ({step.rule.when})"
        if not self.decision.found:
            return "there was no such object"
        if self.misses:
            return self.misses[0].reason
        return f"no line gave {self.permission} to {self.decision.caller.role}"

    def as_lines(self) -> Iterator[str]:
        yield self.summary
        decided = self.decided_by
        for head, step in (*((("decided", decided),) if decided else ()), *(("not met", one) for one in self.misses)):
            yield f"  {head:<9} {step.rule.place}  {step.line}{f'  ({step.person})' if step.person else ''}"
            for fact in step.facts:
                yield f"            {MARK[fact.holds]} {fact.text}"
        yield f"  {'policy':<9} {self.version}"

    def as_json(self) -> dict[str, Any]:
        entry = self.decision.entry
        return {
            "audit": entry.id, "time": entry.time, "as": self.who, "role": entry.role, "summary": self.summary,
            "permission": self.decision.permission, "asked": list(self.decision.asked), "object": entry.resource_id,
            "count": self.decision.count, "answered": self.decision.answered, "policy_alone": self.found.result,
            "agrees": self.agrees, "not_recorded": sorted(self.found.missing),
            "decided_by": self.decided_by.as_json() if self.decided_by else None,
            "nearest_misses": [step.as_json() for step in self.misses], "policy_version": self.version,
        }


def past(id: str) -> list[Past]:
    """The decisions of the audit row with that id: of an import one for each group of its rows.

    Raises ClickException where there is no such row, where it tells no decision, or where the rules of then are gone.
    """
    with open_instance():
        row = of_all().where(Audit.id == id).first() if is_id(id) else None
        if row is None:
            raise click.ClickException(f"The audit trail has no row {id}.")
        entry = Entry(**{name: getattr(row, name) for name in COLUMNS})
        told = list(decisions(entry, folders.registry().vocabulary))
        if not told:
            raise click.ClickException(f"Row {id} ({entry.resource}.{entry.action}, {entry.result}"
                                       f"{f', {entry.reason}' if entry.reason else ''}) was no decision of the policy.")
        policy = _of_then(row.policy_version)
        return [_explained(policy, decision, row.rule) for decision in told]


def _of_then(version: str | None) -> Policy:
    """The policy of that version, from the ledger, or that of the instance if it is still the same."""
    kept = None if version is None else policy_version.named(version)
    if kept is None:
        policy = folders.policy_in(folders.folder(), whole=True)
        if version != policy.version:
            raise click.ClickException(f"The rules of then (version {version or 'unknown'}) are not kept any more.")
        return policy
    try:
        return from_files({name: text.encode() for name, text in kept.files.items()}, folders.registry().vocabulary)
    except PolicyError as error:
        raise click.ClickException(f"The rules of then (version {version}) cannot be used today:\n{error}") from None


def _explained(policy: Policy, decision: Recorded, rule: str | None) -> Past:
    entry, answered = decision.entry, answer(policy, decision)
    step = len(decision.asked) - 1 if answered.step is None else answered.step
    names = Names(any_row(entry.tenant_id))
    lines = traced(policy, decision, step, names.called(collection_of(entry.resource))) if decision.steps else []
    name = names.of("users", decision.who.removeprefix("user:"))
    permission = decision.steps[step][0] if decision.steps else decision.permission
    return Past(decision, name or decision.who, rule, policy.version, permission, answered,
                covered(policy, decision, permission) is not False, tuple(lines))


def collection_of(resource: str) -> Collection | None:
    """The collection of that resource; None where none has it."""
    return next((one for one in folders.registry().collections.values() if one.resource == resource), None)


def any_row(tenant_id: str) -> Callable[[str, str], Mapping[str, Any] | None]:
    """What finds a row of that tenant by the plural name of its collection and its id, whoever may view it."""
    def find(name: str, id: str) -> Mapping[str, Any] | None:
        row = Rows(folders.registry().collections[name].model, tenant_id).find(id)
        return None if row is None else cast(Mapping[str, Any], row.__data__)

    return find
