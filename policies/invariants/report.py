"""Findings about broken invariants: the rules at fault, the invariant that they break, and an example."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from heapq import heapify, heappop, heappush

from ..comparison.prover import EVERY_CASE, MOST_NODES
from ..comparison.subjects import Subject, named_in
from ..evaluation.grants import ALWAYS_WORD
from ..evaluation.policy import Policy
from ..syntax.model import MODEL_FILE
from ..syntax.roles import GUEST, RoleLink
from ..syntax.rules import Rule
from ..wording.finding import Finding, single_person
from .breaches import Breach, BreachSearch
from .lines import ALWAYS, INVARIANTS_FILE, NEVER, Invariant

MOST_FINDINGS = 5  # about one invariant: a broad edit breaks it at once for a hundred permissions

Cause = Rule | RoleLink


def broken(policy: Policy, invariants: Iterable[Invariant], most: int = MOST_NODES) -> list[Finding]:
    """Returns the errors about a policy that breaks invariants.

    An error is at the rule or the link of roles whose removal would mend the breach. If there is none, it is at the
    line of the invariant. `most` bounds each search (`Prover`).
    """
    by_lines: dict[tuple[Invariant, ...], list[Breach]] = {}
    for breach in BreachSearch(policy, invariants, most).breaches():
        by_lines.setdefault(breach.lines, []).append(breach)
    return [finding for breaches in by_lines.values() for finding in _Report(policy, breaches).findings()]


def mending(causes: Mapping[Breach, Sequence[Cause | None]]) -> list[tuple[Cause | None, list[Breach]]]:
    """Causes that together explain all breaches, each with those that no earlier one explains: the cause of most
    breaches first; of causes alike a rule, which gives something by itself, and then the first."""
    places = {breach: place for place, breach in enumerate(causes)}
    of: dict[Cause | None, list[Breach]] = {}
    for breach, possible in causes.items():
        for cause in possible:
            of.setdefault(cause, []).append(breach)

    def order(cause: Cause | None) -> tuple[int, bool, int, int]:
        """Returns the sort key of a cause. Breaches that are mended meanwhile only move it back."""
        remaining = of[cause] = [breach for breach in of[cause] if breach in places]
        if not remaining:
            return 0, True, 0, 0
        return -len(remaining), not isinstance(cause, Rule), places[remaining[0]], causes[remaining[0]].index(cause)

    heap = [(order(cause), number, cause) for number, cause in enumerate(of)]
    heapify(heap)
    guilty = []
    while heap:
        earlier, number, cause = heappop(heap)
        now = order(cause)
        if now != earlier:
            heappush(heap, (now, number, cause))
        elif of[cause]:
            guilty.append((cause, of[cause]))
            for breach in of[cause]:
                del places[breach]
    return guilty


class _Report:
    """Findings about the breaches of invariants that are read together."""

    def __init__(self, policy: Policy, breaches: Sequence[Breach]) -> None:
        self._policy, self._breaches = policy, breaches
        self._lines = breaches[0].lines
        self._kind = self._lines[0].kind
        self._by_roles = {(one.subject.role, one.permission) for one in breaches if one.subject.key is None}

    def findings(self) -> Iterator[Finding]:
        causes = {breach: self._causes(breach) or (None,) for breach in self._breaches if breach.witness is not None}
        guilty = mending(causes)
        findings = [*(self._finding(*one) for one in guilty[:MOST_FINDINGS]), *self._undecided()]
        yield from findings[:MOST_FINDINGS]
        more = len(findings) + len(guilty[MOST_FINDINGS:]) - MOST_FINDINGS
        if more > 0:
            yield self._own(self._breaches[0], f"`{self._lines[0]}` is broken by {more} more rules than are named")

    def _causes(self, breach: Breach) -> tuple[Cause, ...]:
        """Returns the causes whose removal alone would mend a breach; if there are none, the rules that match."""
        witness = breach.witness
        assert witness is not None
        held = [*witness.matching(self._policy)]
        allows, denies = ([rule for rule in held if rule.eft == effect] for effect in ("allow", "deny"))
        if self._kind == ALWAYS:
            return tuple(denies) if allows else ()
        ways = [self._way(rule, breach) for rule in allows]
        alone = [cause for cause in ways[0] if all(cause in way for way in ways)]
        return tuple(alone or dict.fromkeys(cause for way in ways for cause in way[:1]))

    def _way(self, rule: Rule, breach: Breach) -> tuple[Cause, ...]:
        """Returns the causes that give a rule to a subject, the most likely first.

        For a role these are the rule and the links by which the role inherits it. If the role that the rule names
        breaks the invariant itself, it is the rule alone. For a user these are links of this user, or the rule if it
        names the user in its first column or in its condition. Rules about the role are not the fault of the user.
        """
        subject = breach.subject
        links = self._links(rule, subject)
        if subject.key is not None:
            return links or ((rule,) if rule.sub == subject.key or self._concerns(rule, breach, subject.key) else ())
        return (rule,) if links and (rule.sub, breach.permission) in self._by_roles else (rule, *links)

    def _concerns(self, rule: Rule, breach: Breach, person: str) -> bool:
        """True if the condition of a role's rule is another for a user than for others with the role."""
        condition = partial(self._policy.condition_for, rule, breach.permission, breach.subject.role)
        return bool(named_in(condition(person), (person,))) or condition(person) != condition()

    def _links(self, rule: Rule, subject: Subject) -> tuple[RoleLink, ...]:
        """The links by which a subject inherits a rule; none for a person who has it by the role as well."""
        if subject.key is not None and rule.sub in self._policy.roles.closure(subject.role):
            return ()
        return self._policy.roles.chain(subject.key or subject.role, rule.sub) or ()

    def _finding(self, cause: Cause | None, breaches: Sequence[Breach]) -> Finding:
        ways = {breach: self._links(cause, breach.subject) if isinstance(cause, Rule) else () for breach in breaches}
        first = min(breaches, key=lambda breach: len(ways[breach]))
        more = f" (and {len(breaches) - 1} more like that)" if len(breaches) > 1 else ""
        given = f"{first.subject} {'may not' if self._kind == ALWAYS else 'may'} {first.permission}{more}"
        witness = str(first.witness)
        example = "; in every case" if witness == EVERY_CASE else f"; for example: {witness}"
        if cause is None and self._kind == ALWAYS and (given_always := self._asks_more(first)):
            message = f"{given}, though {given_always} gives it on `{ALWAYS_WORD}`: the matcher has a further " \
                      f"condition; {self._places} (`{self._lines[0]}`) promises otherwise{example}"
            model, always = self._policy.model, self._policy.conditions[ALWAYS_WORD]
            return Finding(MODEL_FILE, model.matcher_line if always.expression is True else always.line, message)
        if cause is None:
            return self._own(first, f"{self._reason(given)}{self._advice(first)}{example}")
        named = f"{self._places} (`{self._lines[0]}`)"
        verb = "promises otherwise" if self._kind == ALWAYS else "forbids this"
        way = ", by way of " + ", ".join(f"{link.file}:{link.line}" for link in ways[first]) if ways[first] else ""
        message = f"with this rule {given}{way}; {named} {verb}{self._advice(first, cause)}{example}"
        person = first.subject.key or single_person(cause.sub if isinstance(cause, Rule) else cause.name)
        return Finding(cause.file, cause.line, message, person=person)

    def _asks_more(self, breach: Breach) -> str:
        """Returns the place of a rule that gives the permission without a condition; "" if there is none."""
        names = self._policy.roles.closure(breach.subject.role)
        return next((rule.place for rule in self._policy.rules if rule.sub in names and rule.when == ALWAYS_WORD and
                     rule.eft == "allow" and breach.permission in self._policy.patterns.covered(rule.act)), "")

    def _reason(self, given: str) -> str:
        return f"{given}: no rule gives it" if self._kind == ALWAYS else given

    def _advice(self, breach: Breach, cause: Cause | None = None) -> str:
        if self._kind == NEVER and breach.subject.key:
            line = f"p, {breach.subject.key}, {self._lines[0].act}, always, deny"
            return f"; whatever role the user has, `{line}` would deny it"
        inherited = isinstance(cause, Rule) and cause.sub not in (breach.subject.role, breach.subject.key)
        if self._kind == ALWAYS and isinstance(cause, Rule) and inherited:
            if cause.sub == GUEST:
                return "; every role inherits guest: use the condition `anonymous` for guests only"
            return (f"; a deny is inherited: to take it from {cause.sub} alone, narrow or take out the rule that "
                    "allows it")
        return ""

    def _undecided(self) -> Iterator[Finding]:
        for breach in self._breaches:
            if breach.witness is None:
                yield self._own(breach, f"`{self._lines[0]}` cannot be proved for {breach.subject} and "
                                        f"{breach.permission}: simplify the conditions of the rules that give it")

    def _own(self, breach: Breach, message: str) -> Finding:
        """A finding at the invariant's own line."""
        person = breach.subject.key or single_person(self._lines[0].who)
        return Finding(INVARIANTS_FILE, self._lines[0].line, message, person=person)

    @property
    def _places(self) -> str:
        return f"{INVARIANTS_FILE}:{', '.join(str(one.line) for one in self._lines)}"
