"""Lines of invariants.csv that promise less than they seem to: warnings, each at its line.

Each line is compared with the promises of the others, for the roles and conditions of this policy and any rules.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cached_property

from ..comparison.prover import Prover, Undecided
from ..comparison.subjects import Subject, allowed, named_in, persons
from ..evaluation.grants import ALWAYS_WORD
from ..evaluation.policy import Policy
from ..syntax.expression import Expression, conjunction, disjunction, negation
from ..syntax.roles import ADMIN, GUEST
from ..wording.finding import Finding, quoted, single_person
from .lines import ALWAYS, ATMOST, INVARIANTS_FILE, NEVER, ONLY, Invariant, lines_of

MOST_NAMED = 3  # permissions that a finding names
MOST_NODES = 3_000  # of the search for one example; what takes longer is not told
_EVERYTHING = f"{ALWAYS}, {ADMIN}, *, {ALWAYS_WORD}"


def remarks(policy: Policy) -> tuple[Finding, ...]:
    """Every warning about the invariants of a policy; none where it has no such file."""
    if INVARIANTS_FILE not in policy.files:
        return ()
    collector = _Remarks(policy)
    return (*(Finding(INVARIANTS_FILE, one.line, message, "warning", single_person(one.who))
              for one, message in collector.about_lines()), *collector.about_administrators())


class _Remarks:
    def __init__(self, policy: Policy) -> None:
        self._policy, self._prover = policy, Prover(policy, most=MOST_NODES)
        self._lines = lines_of(policy)
        self._covered = {one: one.covered(policy.patterns) for one in self._lines}
        speaking = [one for one in self._lines if self._covered[one]]
        self._empty = {one: message for one in speaking if (message := self._nothing(one))}
        self._speaking = [one for one in speaking if one not in self._empty]

    def about_lines(self) -> Iterator[tuple[Invariant, str]]:
        """Yields a sentence for each problem of a line."""
        for one in self._lines:
            yield from ((one, message) for message in self._patterns(one))
        for one, message in self._empty.items():
            undone = [other for other in self._speaking if self._together(one, other)
                      and self._covered[one] & self._covered[other]]
            also = f", and undoes {_named(undone)}" if undone else ""
            meant = "role" if one.kind == ONLY else "condition"
            yield one, f"{message}{also}; take it out, or write the {meant} that is meant"
        yield from self._implied()

    def about_administrators(self) -> Iterator[Finding]:
        """Yields a warning where administrators have permissions that no line promises them."""
        promised = frozenset().union(*(self._covered[one] for one in self._speaking
                                       if (one.kind, one.who) == (ALWAYS, ADMIN)))
        permissions, admin = self._policy.patterns.permissions, Subject(ADMIN)
        unpromised = [name for name in sorted(permissions - promised)
                if self._possible(allowed(self._policy, admin, name), ADMIN, name)]
        if unpromised:
            named = ", ".join(unpromised[:MOST_NAMED]) + (", …" if len(unpromised) > MOST_NAMED else "")
            message = (f"no invariant promises administrators {len(unpromised)} of {len(permissions)} permissions "
                       f"({named}), so an edit could take them away, and nobody could give them back; write "
                       f"`{_EVERYTHING}`, or a narrower condition where a denial is meant")
            yield Finding(INVARIANTS_FILE, 0, message, "warning")

    # One line by itself

    def _patterns(self, one: Invariant) -> Iterator[str]:
        patterns = self._policy.patterns
        for act in (one.act, *one.exceptions):
            if not patterns.covered(act) and not patterns.left_out(act):
                yield f"{quoted(act)} matches no permission, and has no effect here"
        spoken = patterns.covered(one.act)
        if any(map(patterns.awaits, (one.act, *one.exceptions))):
            return  # what is left out is a part of what it says
        if spoken and not self._covered[one]:
            yield f"the exceptions leave nothing of {quoted(one.act)}, so this invariant says nothing; take it out, " \
                  f"or an exception"
        elif spoken:
            yield from (f"{quoted(one.act)} has nothing of {quoted(act)}; take the exception out, or correct it"
                        for act in one.exceptions if patterns.covered(act) and spoken.isdisjoint(patterns.covered(act)))

    def _nothing(self, one: Invariant) -> str | None:
        """Returns why a line promises nothing, whatever the rules are."""
        covered = self._covered[one]
        if one.kind == ONLY and one.who == GUEST:
            return f"every role inherits {GUEST}, so this invariant keeps nobody out"
        if one.kind == ATMOST and all(self._holds(one, name) for name in covered):
            return f"`{one.when}` always holds for {one.who}, so this invariant forbids nothing"
        if one.kind == ALWAYS and not any(self._possible(self._meaning(one, name), one.who, name) for name in covered):
            return f"`{one.when}` never holds for {one.who}, so this invariant promises nothing"
        return None

    # Several lines

    def _implied(self) -> Iterator[tuple[Invariant, str]]:
        """Yields lines that repeat others, the last one first, and lines that make others superfluous."""
        kept = list(self._speaking)
        undone: dict[Invariant, list[Invariant]] = {}
        for one in reversed(self._speaking):
            if self._policy.patterns.awaits(one.act):
                continue
            others = [other for other in kept if other is not one]
            if not (by := self._by(one, others)):
                continue
            kept.remove(one)
            if len(by) > 1 or one.kind not in (ONLY, ATMOST) or not self._together(one, by[0]):
                yield one, f"without effect: {_named(by)} {'says' if len(by) == 1 else 'say'} this already; take it out"
            elif self._by(by[0], [one]):
                yield one, f"the same as {by[0].place}; take it out"
            else:
                undone.setdefault(by[0], []).append(one)
        for wide, narrow in undone.items():
            yield wide, (f"undoes {_named(narrow)}: lines of one kind are read together, and this one lets through all "
                         f"that {'it does' if len(narrow) == 1 else 'they do'}; take one of them out")

    def _by(self, one: Invariant, others: Iterable[Invariant]) -> list[Invariant]:
        """Returns the lines that say the same as a line of each of its permissions, and of those that a plugin may add:
        one line where one suffices, none where they do not."""
        lines: dict[Invariant, None] = {}
        for other in others:
            if _reaches(other, one) and self._covered[one] <= self._covered[other] and all(
                    self._says(one, [other], name) for name in self._covered[one]):
                return [other]
        for name in sorted(self._covered[one]):
            about = [other for other in others if name in self._covered[other]]
            alone = [other for other in about if self._says(one, [other], name)]
            if not alone and not self._says(one, about, name):
                return []
            lines.update(dict.fromkeys(alone[:1] or about))
        return list(lines) if any(_reaches(other, one) for other in lines) or "*" not in one.act else []

    def _says(self, one: Invariant, others: list[Invariant], name: str) -> bool:
        """True if others make a line superfluous for a permission: they promise the same, or are read together with it
        and let the same through."""
        about = [other for other in others if name in self._covered[other]]
        alike = [other for other in about if self._together(one, other)]
        closure = self._policy.roles.closure(one.who)
        if one.kind == ONLY:
            return any(other.who in closure for other in alike)
        if one.kind == NEVER and alike:
            return True
        if one.kind in (ATMOST, ALWAYS) and alike:
            wide = disjunction(self._meaning(other, name) for other in alike)
            if not self._possible(conjunction((self._meaning(one, name), negation(wide))), one.who, name):
                return True
        return one.kind in (NEVER, ATMOST) and self._kept_out(one, about, name)

    def _kept_out(self, one: Invariant, about: list[Invariant], name: str) -> bool:
        """True if lines keep a role from a permission altogether."""
        if any(one.kind == ATMOST and (other.kind, other.who) == (NEVER, one.who) for other in about):
            return True
        # All of `only` are read together; a person whom conditions name may have it by a role that is listed.
        return (any(other.kind == ONLY for other in about) and one.who in self._policy.roles
                and self._only[name].isdisjoint(self._policy.roles.closure(one.who)) and not self._in_conditions)

    @staticmethod
    def _together(one: Invariant, other: Invariant) -> bool:
        """True if two lines about one permission are read together."""
        return one is not other and one.kind == other.kind and (one.kind == ONLY or one.who == other.who)

    # Conditions

    def _meaning(self, one: Invariant, name: str) -> Expression:
        """The condition of a line, as `BreachSearch` understands it."""
        if one.kind == ATMOST:
            return self._policy.condition_for(one.rule, name, one.who)
        return one.when == ALWAYS_WORD or self._policy.meant(self._policy.conditions[one.when], one.rule, name)

    def _holds(self, one: Invariant, name: str) -> bool:
        """True if the condition of a line holds on every object. False where that takes too long to know."""
        try:
            witness = self._prover.example(negation(self._meaning(one, name)), Subject(one.who), name)
        except Undecided:
            return False
        return witness is None or (witness.row is None and bool(self._policy.vocabulary.by_permission[name].columns))

    def _possible(self, goal: Expression, who: str, name: str) -> bool:
        """True if a condition can hold, or where that takes too long to know."""
        try:
            return self._prover.possible(goal, Subject(who), name)
        except Undecided:
            return True

    @cached_property
    def _only(self) -> dict[str, set[str]]:
        """Permission → those for whom lines of `only` reserve it."""
        by_permission: dict[str, set[str]] = {}
        for one in self._speaking:
            for name in self._covered[one] if one.kind == ONLY else ():
                by_permission.setdefault(name, set()).add(one.who)
        return by_permission

    @cached_property
    def _in_conditions(self) -> bool:
        return bool(named_in(self._policy.model.matcher, persons(self._policy)))


def _reaches(wide: Invariant, narrow: Invariant) -> bool:
    """True if the pattern of a line matches all that the other pattern matches, without regard to exceptions."""
    return bool(re.fullmatch(".*".join(map(re.escape, wide.act.split("*"))), narrow.act))


def _named(lines: Iterable[Invariant]) -> str:
    """`invariants.csv:26 (`only, owner, audit.*`)`, `invariants.csv:34, 35`. A line about a person is not quoted."""
    first, *others = sorted(lines, key=lambda one: one.line)
    quoted_line = "" if others or single_person(first.who) else f" (`{first}`)"
    return ", ".join((first.place, *(str(one.line) for one in others))) + quoted_line
