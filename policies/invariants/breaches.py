"""Breaches of the invariants by a policy, proved for every request, with an example of each.

The proof covers each role with all that it inherits, and each user whom rules name. The role of a user is stored in
the database. So each user is tried with every role that the invariant does not mention.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from ..comparison.prover import Prover, Undecided, Witness
from ..comparison.subjects import Subject, allowed, by_role, persons, told_apart
from ..evaluation.grants import ALWAYS_WORD
from ..evaluation.policy import Policy
from ..syntax.expression import Expression, conjunction, disjunction
from ..syntax.roles import GUEST
from .lines import ALWAYS, ATMOST, NEVER, ONLY, Invariant


@dataclass(frozen=True, eq=False)
class Breach:
    """A request that an invariant rules out and the policy allows; for `always` one that the policy refuses.

    lines    the invariants that are read together
    witness  the request; None: the search gave up
    """

    lines: tuple[Invariant, ...]
    subject: Subject
    permission: str
    witness: Witness | None


class BreachSearch:
    """Asks a policy about every invariant."""

    def __init__(self, policy: Policy, invariants: Iterable[Invariant], most: int) -> None:
        """`most` bounds each search (`Prover`)."""
        self._policy, self._prover = policy, Prover(policy, most=most)
        self._roles = sorted(policy.roles.names)
        self._by_kind: dict[str, list[Invariant]] = {}
        for one in invariants:
            self._by_kind.setdefault(one.kind, []).append(one)

    def breaches(self) -> Iterator[Breach]:
        """Yields every breach, and every question that stayed undecided."""
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
        groups: dict[tuple[str, ...], tuple[Invariant, ...]] = {}
        for one in self._by_kind.get(kind, ()):
            for permission in self._covered(one):
                key = (permission,) if kind == ONLY else (one.who, permission)
                groups[key] = (*groups.get(key, ()), one)
        return groups

    def _covered(self, one: Invariant) -> list[str]:
        return sorted(one.covered(self._policy.patterns))

    def _condition(self, one: Invariant, permission: str) -> Expression:
        return self._policy.condition_for(one.rule, permission, one.who)

    def _promised(self, one: Invariant, permission: str) -> Expression:
        """Returns the condition that an `always` line promises, without what the matcher requires of every rule."""
        if one.when == ALWAYS_WORD:
            return True
        return self._policy.meant(self._policy.conditions[one.when], one.rule, permission)

    def _never(self, one: Invariant, permission: str) -> Iterator[Breach]:
        if one.who in self._roles:
            yield from self._by_role((one,), one.who, permission, False)
        else:
            yield from self._first((one,), one.who, self._roles, permission)

    def _by_role(self, lines: tuple[Invariant, ...], role: str, permission: str, bound: Expression) -> Iterator[Breach]:
        """The breach by a role alone, else by a person whom conditions name."""
        breaches = list(self._breach(lines, Subject(role), permission, allowed(self._policy, Subject(role), permission),
                                  bound))
        yield from breaches or self._by_condition(
            lines, role, permission, lambda one: (by_role(self._policy, one, permission)[0], bound))

    def _always(self, one: Invariant, permission: str) -> Iterator[Breach]:
        subject, wanted = Subject(one.who), self._promised(one, permission)
        breaches = list(self._breach((one,), subject, permission, wanted, allowed(self._policy, subject, permission)))
        yield from breaches or self._by_condition(
            (one,), one.who, permission,
            lambda person: (conjunction((wanted, by_role(self._policy, person, permission)[1])), False))

    def _by_condition(
        self, lines: tuple[Invariant, ...], role: str, permission: str,
        bounds: Callable[[Subject], tuple[Expression, Expression]],
    ) -> Iterator[Breach]:
        """Yields the first breach by the role's rules for a user whom rules and conditions name.

        A subject that is only a role is none of these users.
        """
        for person in self._in_conditions if role != GUEST else ():
            subject = Subject(role, person)
            if breaches := list(self._breach(lines, subject, permission, *bounds(subject))):
                yield from breaches
                return

    def _only(self, lines: tuple[Invariant, ...], permission: str) -> Iterator[Breach]:
        roles, listed = self._policy.roles, {one.who for one in lines}
        others = [role for role in self._roles if not roles.closure(role) & listed]
        sound = []
        for role in others:
            breaches = list(self._given(lines, Subject(role), permission))
            yield from breaches
            if not breaches:
                sound.append(role)
        for person in self._persons.get(permission, ()):
            if not roles.closure(person) & listed:
                yield from self._first(lines, person, sound, permission)

    def _first(
        self, lines: tuple[Invariant, ...], person: str, roles: Iterable[str], permission: str
    ) -> Iterator[Breach]:
        """Yields the breach by a user with the first of the roles that leads to one."""
        for role in roles:
            if role != GUEST and (breaches := list(self._given(lines, Subject(role, person), permission))):
                yield from breaches
                return

    def _given(self, lines: tuple[Invariant, ...], subject: Subject, permission: str) -> Iterator[Breach]:
        yield from self._breach(lines, subject, permission, allowed(self._policy, subject, permission), False)

    def _breach(
        self, lines: tuple[Invariant, ...], subject: Subject, permission: str, narrow: Expression, wide: Expression
    ) -> Iterator[Breach]:
        try:
            witness = self._prover.exception(narrow, wide, subject, permission)
        except Undecided:
            yield Breach(lines, subject, permission, None)
            return
        if witness is not None:
            # A request that the policy itself does not answer so proves nothing.
            holds = witness.answer(self._policy) is (lines[0].kind != ALWAYS)
            yield Breach(lines, subject, permission, witness if holds else None)

    @cached_property
    def _persons(self) -> dict[str, list[str]]:
        """Users by permission: those whom its rules name, and those who are named in a condition."""
        by_permission: dict[str, list[str]] = {}
        for person in persons(self._policy):
            for permission in (self._policy.vocabulary.by_permission if person in self._in_conditions
                               else self._policy.permissions_of_lines(person)):
                by_permission.setdefault(permission, []).append(person)
        return by_permission

    @cached_property
    def _in_conditions(self) -> list[str]:
        """The users whom both rules and conditions name."""
        return sorted(told_apart(self._policy))
