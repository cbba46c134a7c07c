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
from .openings import Openings
from .redundant import Idle, redundancy
from .standing import DENY, Standing
from .widened import about_trusted
from .words import listed, places, quoted, verb

# If one rule makes this many others idle, the warning is at that rule alone.
MANY = 3
UNDECIDED = "what this line does cannot be decided, there are too many cases: simplify the conditions of these lines"


def warnings(policy: Policy, held: frozenset[str] | None = None, at: datetime | None = None) -> tuple[Finding, ...]:
    """Returns every warning about a policy, in the order of its files.

    held  the roles that users have (None: unknown)
    at    the time, with its zone (None: now)

    A policy with closed rules has no warnings, because the effect of such a rule is not what its author meant.
    """
    if policy.closed:
        return ()
    known = frozenset(role for role in policy.roles.names if role in held) if held is not None else None
    found, told = _of_files(policy)
    useless = {(one.file, one.line): one for one in useless_roles(policy, known)}
    # Nobody has a useless role, so its rules get no other warnings.
    others = (one for one in found if (one.file, one.line) not in useless)
    return tuple(sorted({*others, *useless.values(), *about_givers(policy, known),
                         *passed(policy, at or datetime.now(UTC), told)}))


def find_early(policy: Policy) -> None:
    """Computes the warnings in advance: for a long policy that takes half a second."""
    _of_files(policy)


@lru_cache(maxsize=2)
def _of_files(policy: Policy) -> tuple[tuple[Finding, ...], frozenset[str]]:
    """Returns the warnings that depend on neither users nor the time, and the conditions that have such a warning.

    They are cached for the policy in force.
    """
    linter = _Linter(policy)
    found = {
        Finding(rule.file, rule.line, message, "warning", single_person(rule.sub))
        for rule in policy.rules for message in linter.about(rule)
    }
    found |= {*linter.beside_rules(), *policy.model.remarks, *policy.remarks, *remarks(policy)}
    return tuple(found), linter.told


class _Linter:
    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._standing = Standing(policy)
        self._conditions = Conditions(self._standing)
        self._found = redundancy(self._standing)
        self._never, self._undecided = frozenset(self._found.never), frozenset(self._found.undecided)
        self._denies, self._openings = Denies(self._standing), Openings(self._standing)
        self._endpoints = Endpoints(self._standing)
        self._lists = Lists(policy, [rule for rule in policy.rules if rule not in self._standing.out])
        self._idle = {idle.rule: idle for idle in self._found.idle}
        self._settles: dict[Rule, list[Rule]] = {}
        for idle in self._found.idle:
            if idle.alone is not None:
                self._settles.setdefault(idle.alone, []).append(idle.rule)
        self._opens = {rule: message for rule in policy.rules if (message := self._openings.by_rule(rule))}

    def about(self, rule: Rule) -> Iterator[str]:
        """Each warning at the line of a rule."""
        if rule in self._found.copies:
            yield f"the same as {self._found.copies[rule].place}"
        elif rule in self._undecided:
            yield UNDECIDED
        elif rule in self._never:
            yield from filter(None, [self._conditions.never(rule)])
        elif rule in self._idle:
            if not self._told_there(self._idle[rule]):
                yield _without_effect(self._idle[rule])
        else:
            yield from self._about_working(rule)

    @property
    def told(self) -> frozenset[str]:
        """The conditions that have a finding as a whole."""
        return self._conditions.told

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
        many = f"{len(settled)} lines are now without effect{_named(settled)}"
        widened = [one for one in settled if self._openings.widens(rule, one)]
        if rule in self._opens:
            advice = f"{self._opens[rule]}; name only those that are meant, or a narrower role"
            yield f"{advice}; {many}" if len(settled) >= MANY else advice
        elif len(settled) >= MANY and not inherited:
            yield f"by this line {many}; narrow it, or take those out"
        elif widened:
            does = f"{verb(widened, 'gives', 'give')} to fewer callers or on a condition, and now without effect"
            yield f"this line gives {rule.sub} what {places(widened)} {does}; narrow it, if that was not meant"
        yield from self._lists.about(rule)

    def _told_there(self, idle: Idle) -> bool:
        """True if the warning is given at the other rule: that one settles many, or denies them to inheriting roles."""
        alone = idle.alone
        if alone is None:
            return False
        return len(self._settles[alone]) >= MANY or (idle.refused and alone.sub != idle.rule.sub)


def _without_effect(idle: Idle) -> str:
    if not idle.by:
        return "without effect: no line allows what this denies; take it out"
    named = listed([quoted(rule) for rule in idle.by])
    if idle.refused:
        return f"without effect: {named} {verb(idle.by, 'denies', 'deny')} it anyway; take one of them out"
    does = verb(idle.by, "denies", "deny") if idle.rule.eft == DENY else verb(idle.by, "allows", "allow")
    return f"without effect: {named} {does} this already; take it out"


def _named(rules: list[Rule]) -> str:
    """The lines of roles among them: those about persons are told to whom may see them alone."""
    of_roles = [rule for rule in rules if not single_person(rule.sub)]
    return f" ({places(of_roles)})" if of_roles else ""


def _decided(find: Callable[[], str | None]) -> Iterator[str]:
    try:
        message = find()
    except Undecided:
        message = UNDECIDED
    if message:
        yield message
