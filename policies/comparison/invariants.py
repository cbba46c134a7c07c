"""Whether a policy keeps its invariants: proved for every request; where it does not, the guilty lines and an example.

Decided for each role alone, with all that it inherits, and for each person whom lines name. A person's role stands in
the database, so a person is tried with every role that the invariant does not speak of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from ..evaluation.fold import Folder
from ..evaluation.grants import ALWAYS_WORD
from ..evaluation.policy import Policy
from ..syntax.expression import Expression, conjunction, disjunction
from ..syntax.finding import Finding, single_person
from ..syntax.model import MODEL_FILE
from ..syntax.roles import RoleLink
from ..syntax.rules import Rule
from .invariant_lines import ALWAYS, ATMOST, INVARIANTS_FILE, NEVER, ONLY, Invariant
from .prover import Prover
from .search import MOST_NODES, Undecided
from .subjects import GUEST, Subject, allowed, by_role, named_in, persons
from .witness import EVERY_CASE, Witness

MOST_FINDINGS = 5  # about one invariant: a broad edit breaks it at once for a hundred permissions

Cause = Rule | RoleLink


@dataclass(frozen=True, eq=False)
class Breach:
    """A request that an invariant rules out and the policy allows; for `always` one that the policy refuses.

    lines    the invariants that are read together
    witness  None: it could not be decided whether there is such a request
    """

    lines: tuple[Invariant, ...]
    subject: Subject
    permission: str
    witness: Witness | None


def broken(policy: Policy, invariants: Iterable[Invariant], most: int = MOST_NODES) -> list[Finding]:
    """What stands against a policy: errors at the rule lines, and links of roles, without which it would keep these
    invariants, or at an invariant's own line where there is none. `most` bounds each search (`search.example`)."""
    by_lines: dict[tuple[Invariant, ...], list[Breach]] = {}
    for breach in _Judge(policy, invariants, most).breaches():
        by_lines.setdefault(breach.lines, []).append(breach)
    return [finding for breaches in by_lines.values() for finding in _Report(policy, breaches).findings()]


class _Judge:
    def __init__(self, policy: Policy, invariants: Iterable[Invariant], most: int) -> None:
        self._policy, self._prover = policy, Prover(policy, most=most)
        self._roles = sorted(policy.vocabulary.roles)
        self._by_kind: dict[str, list[Invariant]] = {}
        for one in invariants:
            self._by_kind.setdefault(one.kind, []).append(one)

    def breaches(self) -> Iterator[Breach]:
        for one in self._by_kind.get(NEVER, ()):
            for permission in self._covered(one):
                yield from self._never(one, permission)
        for (permission,), lines in self._together(ONLY).items():
            yield from self._only(lines, permission)
        for (who, permission), lines in self._together(ATMOST).items():
            bound = disjunction(self._condition(one, permission) for one in lines)
            yield from self._by_role(lines, who, permission, bound)
        for one in self._by_kind.get(ALWAYS, ()):
            for permission in self._covered(one):
                yield from self._always(one, permission)

    def _together(self, kind: str) -> dict[tuple[str, ...], tuple[Invariant, ...]]:
        """The lines that are read together: those of one permission and, for `atmost`, of one role."""
        found: dict[tuple[str, ...], tuple[Invariant, ...]] = {}
        for one in self._by_kind.get(kind, ()):
            for permission in self._covered(one):
                key = (permission,) if kind == ONLY else (one.who, permission)
                found[key] = (*found.get(key, ()), one)
        return found

    def _covered(self, one: Invariant) -> list[str]:
        return sorted(one.covered(self._policy.patterns))

    def _condition(self, one: Invariant, permission: str) -> Expression:
        return self._policy.folded(one.rule, permission, one.who)

    def _promised(self, one: Invariant, permission: str) -> Expression:
        """What a line of `always` promises: the condition itself, whatever else the matcher asks of every line."""
        if one.when == ALWAYS_WORD:
            return True
        folder = Folder(self._policy.conditions[one.when].expression, self._policy.roles, self._policy.patterns)
        return folder.fold({"act": permission, "role": one.who, "rule.sub": one.who, "rule.act": one.act,
                            "rule.when": one.when, "rule.eft": one.rule.eft})

    def _never(self, one: Invariant, permission: str) -> Iterator[Breach]:
        if one.who in self._roles:
            yield from self._by_role((one,), one.who, permission, False)
        else:
            yield from self._first((one,), one.who, self._roles, permission)

    def _by_role(self, lines: tuple[Invariant, ...], role: str, permission: str, bound: Expression) -> Iterator[Breach]:
        """The breach by a role alone, else by a person whom conditions name."""
        found = list(self._breach(lines, Subject(role), permission, allowed(self._policy, Subject(role), permission),
                                  bound))
        yield from found or self._by_condition(
            lines, role, permission, lambda one: (by_role(self._policy, one, permission)[0], bound))

    def _always(self, one: Invariant, permission: str) -> Iterator[Breach]:
        subject, wanted = Subject(one.who), self._promised(one, permission)
        found = list(self._breach((one,), subject, permission, wanted, allowed(self._policy, subject, permission)))
        yield from found or self._by_condition(
            (one,), one.who, permission,
            lambda person: (conjunction((wanted, by_role(self._policy, person, permission)[1])), False))

    def _by_condition(
        self, lines: tuple[Invariant, ...], role: str, permission: str,
        asked: Callable[[Subject], tuple[Expression, Expression]],
    ) -> Iterator[Breach]:
        """The first breach by the role's lines on a condition that names one of the persons whom other lines name,
        too: by a role alone no such person asks."""
        for person in self._in_conditions if role != GUEST else ():
            subject = Subject(role, person)
            if found := list(self._breach(lines, subject, permission, *asked(subject))):
                yield from found
                return

    def _only(self, lines: tuple[Invariant, ...], permission: str) -> Iterator[Breach]:
        roles, listed = self._policy.roles, {one.who for one in lines}
        others = [role for role in self._roles if not roles.closure(role) & listed]
        sound = []
        for role in others:
            found = list(self._given(lines, Subject(role), permission))
            yield from found
            if not found:
                sound.append(role)
        for person in self._persons.get(permission, ()):
            if not roles.closure(person) & listed:
                yield from self._first(lines, person, sound, permission)

    def _first(
        self, lines: tuple[Invariant, ...], person: str, roles: Iterable[str], permission: str
    ) -> Iterator[Breach]:
        """The breach by a person with the first of the roles with which there is one."""
        for role in roles:
            if role != GUEST and (found := list(self._given(lines, Subject(role, person), permission))):
                yield from found
                return

    def _given(self, lines: tuple[Invariant, ...], subject: Subject, permission: str) -> Iterator[Breach]:
        yield from self._breach(lines, subject, permission, allowed(self._policy, subject, permission), False)

    def _breach(
        self, lines: tuple[Invariant, ...], subject: Subject, permission: str, narrow: Expression, wide: Expression
    ) -> Iterator[Breach]:
        try:
            found = self._prover.exception(narrow, wide, subject, permission)
        except Undecided:
            yield Breach(lines, subject, permission, None)
            return
        if found is not None:
            # A request that the policy itself does not answer so proves nothing.
            tried = found.answer(self._policy) is (lines[0].kind != ALWAYS)
            yield Breach(lines, subject, permission, found if tried else None)

    @cached_property
    def _persons(self) -> dict[str, list[str]]:
        """For each permission the persons on whom lines about it bear, or may by a condition that names them."""
        found: dict[str, list[str]] = {}
        for person in persons(self._policy):
            for permission in (self._policy.vocabulary.by_permission if person in self._in_conditions
                               else self._policy.permissions_of_lines(person)):
                found.setdefault(permission, []).append(person)
        return found

    @cached_property
    def _in_conditions(self) -> list[str]:
        """The persons of lines whom the matcher names as well."""
        return sorted(named_in(self._policy.model.matcher, persons(self._policy)))


class _Report:
    """Findings about the breaches of invariants that are read together."""

    def __init__(self, policy: Policy, breaches: Sequence[Breach]) -> None:
        self._policy, self._breaches = policy, breaches
        self._lines = breaches[0].lines
        self._kind = self._lines[0].kind
        self._by_roles = {(one.subject.role, one.permission) for one in breaches if one.subject.key is None}

    def findings(self) -> Iterator[Finding]:
        found = [*self._guilty(), *self._undecided()]
        yield from found[:MOST_FINDINGS]
        if len(found) > MOST_FINDINGS:
            more = f"broken by {len(found) - MOST_FINDINGS} more lines than are named"
            yield self._own(self._breaches[0], f"`{self._lines[0]}` is {more}")

    def _guilty(self) -> Iterator[Finding]:
        """A finding for each guilty line, the one with most breaches first."""
        causes = {breach: self._causes(breach) for breach in self._breaches if breach.witness is not None}
        left = list(causes)
        while left:
            count: dict[Cause | None, list[Breach]] = {}
            for breach in left:
                for cause in causes[breach] or (None,):
                    count.setdefault(cause, []).append(breach)
            # Of lines alike a rule, which gives something by itself.
            best = max(count, key=lambda cause: (len(count[cause]), isinstance(cause, Rule)))
            yield self._finding(best, count[best])
            mended = frozenset(count[best])
            left = [breach for breach in left if breach not in mended]

    def _causes(self, breach: Breach) -> tuple[Cause, ...]:
        """The lines each of which would mend a breach by going; where none would alone, the rules that hold."""
        witness = breach.witness
        assert witness is not None
        traces = self._policy.rule_traces(witness.principal, breach.permission, witness.row, witness.environment,
                                          witness.shared)
        allows, denies = ([trace.rule for trace in traces if trace.matched and trace.rule.eft == effect]
                          for effect in ("allow", "deny"))
        if self._kind == ALWAYS:
            return tuple(denies) if allows else ()
        ways = [self._way(rule, breach) for rule in allows]
        alone = [cause for cause in ways[0] if all(cause in way for way in ways)]
        return tuple(alone or dict.fromkeys(cause for way in ways for cause in way[:1]))

    def _way(self, rule: Rule, breach: Breach) -> tuple[Cause, ...]:
        """What gives a rule to a subject, the most likely first: the rule, and the links by which it is inherited,
        unless the role that it names breaks the invariant itself. Of a person the lines about that person alone, in
        their first column or by their condition: what a role may do is no fault of them."""
        subject = breach.subject
        links = self._links(rule, subject)
        if subject.key is not None:
            return links or ((rule,) if rule.sub == subject.key or self._concerns(rule, breach, subject.key) else ())
        return (rule,) if links and (rule.sub, breach.permission) in self._by_roles else (rule, *links)

    def _concerns(self, rule: Rule, breach: Breach, person: str) -> bool:
        """Whether a line of a role says something else to a person than to others of the role."""
        of_all, asks = (self._policy.folded(rule, breach.permission, breach.subject.role, one) for one in ("", person))
        return bool(named_in(asks, (person,))) or asks != of_all

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
        said = str(first.witness)
        example = "; in every case" if said == EVERY_CASE else f"; for example: {said}"
        if cause is None and self._kind == ALWAYS and (given_always := self._asks_more(first)):
            message = f"{given}, though {given_always} gives it on `{ALWAYS_WORD}`: the matcher asks something more; " \
                      f"{self._places} (`{self._lines[0]}`) promises otherwise{example}"
            model, always = self._policy.model, self._policy.conditions[ALWAYS_WORD]
            return Finding(MODEL_FILE, model.matcher_line if always.expression is True else always.line, message)
        if cause is None:
            return self._own(first, f"{self._reason(given)}{self._advice(first)}{example}")
        named = f"{self._places} (`{self._lines[0]}`)"
        verb = "promises otherwise" if self._kind == ALWAYS else "rules that out"
        way = ", by way of " + ", ".join(f"{link.file}:{link.line}" for link in ways[first]) if ways[first] else ""
        message = f"with this line {given}{way}; {named} {verb}{self._advice(first, cause)}{example}"
        person = first.subject.key or single_person(cause.sub if isinstance(cause, Rule) else cause.name)
        return Finding(cause.file, cause.line, message, person=person)

    def _asks_more(self, breach: Breach) -> str:
        """The place of a line that gives the permission on no condition, as its columns say; "" where none does."""
        names = self._policy.roles.closure(breach.subject.role)
        return next((rule.place for rule in self._policy.rules if rule.sub in names and rule.when == ALWAYS_WORD and
                     rule.eft == "allow" and breach.permission in self._policy.patterns.covered(rule.act)), "")

    def _reason(self, given: str) -> str:
        return f"{given}: no line gives it" if self._kind == ALWAYS else given

    def _advice(self, breach: Breach, cause: Cause | None = None) -> str:
        if self._kind == NEVER and breach.subject.key:
            line = f"p, {breach.subject.key}, {self._lines[0].act}, always, deny"
            return f"; whatever role a person has, `{line}` would refuse it"
        inherited = isinstance(cause, Rule) and cause.sub not in (breach.subject.role, breach.subject.key)
        if self._kind == ALWAYS and isinstance(cause, Rule) and inherited:
            if cause.sub == GUEST:
                return "; every role inherits guest: use the condition `anonymous` for guests only"
            return (f"; a deny is inherited: to take it from {cause.sub} alone, narrow or take out the line that "
                    "allows it")
        return ""

    def _undecided(self) -> Iterator[Finding]:
        for breach in self._breaches:
            if breach.witness is None:
                yield self._own(breach, f"`{self._lines[0]}` cannot be proved for {breach.subject} and "
                                        f"{breach.permission}: simplify the conditions of the lines that give it")

    def _own(self, breach: Breach, message: str) -> Finding:
        """A finding at the invariant's own line."""
        person = breach.subject.key or single_person(self._lines[0].who)
        return Finding(INVARIANTS_FILE, self._lines[0].line, message, person=person)

    @property
    def _places(self) -> str:
        return f"{INVARIANTS_FILE}:{', '.join(str(one.line) for one in self._lines)}"
