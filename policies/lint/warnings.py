"""Warnings: rules that work as written but hardly as their author meant them. A policy with warnings is used."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import lru_cache

from ..comparison.prover import Undecided
from ..evaluation.policy import Policy
from ..invariants.remarks import remarks
from ..syntax.rules import Rule
from ..wording.finding import Finding, single_person
from .conditions import Conditions, passed
from .denies import Denies
from .endpoints import Endpoints
from .links import about_givers, about_roles, about_scopes, useless_roles
from .lists import Lists
from .matches import DENY, Matches
from .openings import Openings
from .redundant import Idle, redundancy
from .widened import about_trusted
from .words import listed, places, quoted, verb

# If one rule makes this many others idle, the warning is at that rule alone.
MANY = 3
UNDECIDED = ("the effect of this rule cannot be decided, there are too many cases: simplify the conditions of these "
             "rules")


def warnings(policy: Policy, held: frozenset[str] | None = None, at: datetime | None = None) -> tuple[Finding, ...]:
    """Returns every warning about a policy, in the order of its files.

    held  the roles that users have (None: unknown)
    at    the time, with its zone (None: now)

    A policy with closed rules has no warnings, because the effect of such a rule is not what its author meant.
    """
    if policy.closed:
        return ()
    used = frozenset(role for role in policy.roles.names if role in held) if held is not None else None
    of_files, reported = _of_files(policy)
    useless = {(one.file, one.line): one for one in useless_roles(policy, used)}
    # Nobody has a useless role, so its rules get no other warnings.
    others = (one for one in of_files if (one.file, one.line) not in useless)
    return tuple(sorted({*others, *useless.values(), *about_givers(policy, used),
                         *passed(policy, at or datetime.now(UTC), reported)}))


def find_early(policy: Policy) -> None:
    """Computes the warnings in advance: for a long policy that takes half a second."""
    _of_files(policy)


@lru_cache(maxsize=2)
def _of_files(policy: Policy) -> tuple[tuple[Finding, ...], frozenset[str]]:
    """Returns the warnings that depend on neither users nor the time, and the conditions that have such a warning.

    They are cached for the policy in force.
    """
    linter = _Linter(policy)
    findings = {
        Finding(rule.file, rule.line, message, "warning", single_person(rule.sub))
        for rule in policy.rules for message in linter.about(rule)
    }
    findings |= {*linter.beside_rules(), *policy.model.remarks, *policy.remarks, *remarks(policy)}
    return tuple(findings), linter.reported


class _Linter:
    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._matches = Matches(policy)
        self._conditions = Conditions(self._matches)
        self._redundant = redundancy(self._matches)
        self._never, self._undecided = frozenset(self._redundant.never), frozenset(self._redundant.undecided)
        self._denies, self._openings = Denies(self._matches), Openings(self._matches)
        self._endpoints = Endpoints(self._matches)
        self._lists = Lists(policy, [rule for rule in policy.rules if rule not in self._matches.out])
        self._idle = {idle.rule: idle for idle in self._redundant.idle}
        self._settles: dict[Rule, list[Rule]] = {}
        for idle in self._redundant.idle:
            if idle.alone is not None:
                self._settles.setdefault(idle.alone, []).append(idle.rule)
        self._opens = {rule: message for rule in policy.rules if (message := self._openings.by_rule(rule))}

    def about(self, rule: Rule) -> Iterator[str]:
        """Each warning at its rule."""
        if rule in self._redundant.copies:
            yield f"the same as {self._redundant.copies[rule].place}"
        elif rule in self._undecided:
            yield UNDECIDED
        elif rule in self._never:
            yield from filter(None, [self._conditions.never(rule)])
        elif rule in self._idle:
            if not self._is_reported_there(self._idle[rule]):
                yield _without_effect(self._idle[rule])
        else:
            yield from self._about_working(rule)

    @property
    def reported(self) -> frozenset[str]:
        """The conditions that have a finding as a whole."""
        return self._conditions.reported

    def beside_rules(self) -> Iterator[Finding]:
        """The warnings at lines of model.conf, of roles and of scopes."""
        yield from self._conditions.findings
        yield from self._lists.of_conditions
        yield from about_roles(self._policy, self._openings)
        yield from about_scopes(self._policy)
        yield from about_trusted(self._policy)

    def _about_working(self, rule: Rule) -> Iterator[str]:
        yield from _decided(lambda: self._conditions.always(rule))
        yield from filter(None, [self._conditions.misread(rule)])
        yield from _decided(lambda: self._endpoints.unused(rule))
        yield from _decided(lambda: self._endpoints.unseen(rule))
        inherited = list(_decided(lambda: self._denies.inherited(rule))) if rule.eft == DENY else []
        yield from inherited
        if rule.eft == DENY:
            yield from _decided(lambda: self._denies.missing(rule))
        settled = self._settles.get(rule, [])
        many = f"{len(settled)} rules are now without effect{_named(settled)}"
        widened = [one for one in settled if self._openings.widens(rule, one)]
        if rule in self._opens:
            advice = f"{self._opens[rule]}; name only those that are meant, or a narrower role"
            yield f"{advice}; {many}" if len(settled) >= MANY else advice
        elif len(settled) >= MANY and not inherited:
            yield f"because of this rule, {many}; narrow it, or take those out"
        elif widened:
            does = f"{verb(widened, 'gives', 'give')} to fewer callers or on a condition, and now without effect"
            yield f"this rule gives {rule.sub} what {places(widened)} {does}; narrow it, if that was not meant"
        yield from self._lists.about(rule)

    def _is_reported_there(self, idle: Idle) -> bool:
        """True if the warning is given at the other rule: that one settles many, or denies them to inheriting roles."""
        alone = idle.alone
        if alone is None:
            return False
        return len(self._settles[alone]) >= MANY or (idle.refused and alone.sub != idle.rule.sub)


def _without_effect(idle: Idle) -> str:
    if not idle.by:
        return "without effect: no rule allows what this denies; take it out"
    named = listed([quoted(rule) for rule in idle.by])
    if idle.refused:
        return f"without effect: {named} {verb(idle.by, 'denies', 'deny')} it anyway; take one of them out"
    does = verb(idle.by, "denies", "deny") if idle.rule.eft == DENY else verb(idle.by, "allows", "allow")
    return f"without effect: {named} {does} this already; take it out"


def _named(rules: list[Rule]) -> str:
    """The rules of roles among them: those about users are only for readers who may see them."""
    of_roles = [rule for rule in rules if not single_person(rule.sub)]
    return f" ({places(of_roles)})" if of_roles else ""


def _decided(find: Callable[[], str | None]) -> Iterator[str]:
    try:
        message = find()
    except Undecided:
        message = UNDECIDED
    if message:
        yield message
