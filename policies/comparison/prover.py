"""Search for facts on which an expression holds for a caller and a permission."""

from __future__ import annotations

from dataclasses import dataclass

from policies.comparison import pools
from policies.comparison.candidates import Ground
from policies.comparison.search import MOST_NODES, Undecided, example, normal
from policies.comparison.subjects import Lines, Subject, condition_of, named_in, persons
from policies.comparison.substitution import Facts, Input, Value, inputs, put
from policies.comparison.witness import Witness, witness
from policies.evaluation.policy import Policy
from policies.syntax.expression import (
    Attribute,
    Expression,
    PluginCall,
    Shared,
    columns,
    conjunction,
    negation,
    reads_object,
)

_Found = tuple[Facts, bool] | None
_ANYBODY = f"user:{pools.person(0xF2)}"


class Prover:
    """Finds witnesses for policies of one vocabulary.

    It remembers what it found, because many permissions have the same conditions.
    """

    def __init__(self, *policies: Policy, most: int = MOST_NODES) -> None:
        """Takes policies of one vocabulary; `most` bounds the work on one expression (`search.example`)."""
        self._vocabulary, self._most = policies[0].vocabulary, most
        self._named = frozenset(persons(*policies))
        self._known: dict[tuple[object, ...], _Found | Undecided] = {}
        # Resources with equal columns have equal facts, but for what new rows lack. A first permission stands for all.
        kinds: dict[tuple[object, ...], str] = {}
        self._kind_of = {
            permission: kinds.setdefault((frozenset(resource.columns.items()), resource.unset(permission),
                                          resource.may_lack(permission)), permission)
            for permission, resource in self._vocabulary.by_permission.items()}

    def kind(self, permission: str) -> str:
        """The same for permissions for which a goal has the same facts."""
        return self._kind_of[permission]

    def example(self, goal: Expression, subject: Subject, permission: str) -> Witness | None:
        """A request of this subject for this permission on which `goal` holds; None when there is none.

        Raises Undecided when it takes too long to know, or when an unusual matcher makes `goal` read a column that
        the resource has not.
        """
        found = self._facts(goal, subject, permission)
        if found is None:
            return None
        facts, with_object = found
        named = facts if subject.key is None else _of_person(facts, subject.key)
        ground = Ground(subject, permission, self._vocabulary.by_permission[permission], self._named)
        return witness(ground, named, with_object=with_object)

    def possible(self, goal: Expression, subject: Subject, permission: str) -> bool:
        """True if there is an example. Raises Undecided, like `example`."""
        return self._facts(goal, subject, permission) is not None

    def exception(self, narrow: Expression, wide: Expression, subject: Subject, permission: str) -> Witness | None:
        """A request on which `narrow` holds and `wide` does not; None where the one implies the other.

        Raises Undecided.
        """
        if narrow == wide:
            return None
        return self.example(conjunction((narrow, negation(wide))), subject, permission)

    def _facts(self, goal: Expression, subject: Subject, permission: str) -> _Found:
        """Returns the facts of an example. If the goal does not name the user, they are facts about any user."""
        if goal is False:
            return None
        resource = self._vocabulary.by_permission[permission]
        # All users whom the goal does not name have the same facts: five hundred users are one search.
        alike = subject if subject.key is None or named_in(goal, (subject.key,)) else Subject(subject.role, _ANYBODY)
        ground = Ground(alike, permission, resource, self._named)
        key = (goal, self._kind_of[permission], alike.is_guest, alike.key, ground.shareable)
        if key not in self._known:
            self._known[key] = self._normal(goal, ground, key[1:])
        found = self._known[key]
        if isinstance(found, Undecided):
            raise found
        return found

    def _normal(self, goal: Expression, ground: Ground, like: tuple[object, ...]) -> _Found | Undecided:
        """Returns the facts for the normal form of a goal. Many goals share one normal form."""
        if ground.resource.columns and not columns(goal) <= ground.resource.columns.keys():
            return Undecided()
        simple = normal(goal)
        if simple is False:
            return None
        key = ("normal", simple, *like)
        if key not in self._known:
            self._known[key] = self._search(simple, ground)
        return self._known[key]

    def _search(self, goal: Expression, ground: Ground) -> _Found | Undecided:
        try:
            if ground.resource.columns:
                found = example(goal, ground.variables(goal), self._most)
                if found is not None:
                    return found, True
            without = normal(put(goal, _nothing(goal)))
            found = example(without, ground.variables(without), self._most)
            return None if found is None else (found, False)
        except Undecided as undecided:
            return undecided


def _of_person(facts: Facts, person: str) -> Facts:
    """Returns facts about any user as facts about this one."""
    names = {_ANYBODY: person, _ANYBODY.removeprefix("user:"): person.removeprefix("user:")}
    return {one: names.get(value, value) if isinstance(value, str) else value for one, value in facts.items()}


def _nothing(goal: Expression) -> Facts:
    """Returns the values of columns, shares and plugin calls in the absence of an object."""
    found: dict[Input, Value] = {}
    for one in inputs(goal):
        if isinstance(one, Attribute):
            found |= {one: None} if one.root == "obj" else {}
        elif isinstance(one, Shared | PluginCall) and reads_object(one):
            found[one] = False
    return found


@dataclass(frozen=True, slots=True)
class Difference:
    """One example that only the new policy allows to a subject, and one that only the old policy allows.

    undecided  true if the search gave up; both examples are then unknown
    """

    gained: Witness | None
    lost: Witness | None
    undecided: bool = False

    def __bool__(self) -> bool:
        return self.undecided or self.gained is not None or self.lost is not None


SAME = Difference(None, None)


class Comparison:
    """Compares two policies of one vocabulary, exactly.

    prover  remembers what was found about their conditions
    """

    def __init__(self, old: Policy, new: Policy, most: int = MOST_NODES) -> None:
        self.old, self.new = old, new
        self.prover = Prover(old, new, most=most)

    def between(self, subject: Subject, permission: str) -> Difference:
        """The difference for one subject and one permission; each example was tried on both policies."""
        old, new = (policy.reaching(subject.role, subject.key, permission) for policy in (self.old, self.new))
        if _meaning(old) == _meaning(new):
            return SAME
        before, after = condition_of(old), condition_of(new)
        try:
            gained = self._tried(self.prover.exception(after, before, subject, permission), self.new, self.old)
            lost = self._tried(self.prover.exception(before, after, subject, permission), self.old, self.new)
        except Undecided:
            return Difference(None, None, undecided=True)
        return Difference(gained, lost)

    @staticmethod
    def _tried(found: Witness | None, gives: Policy, refuses: Policy) -> Witness | None:
        """The same witness, once one policy has allowed it and the other one has not. Raises Undecided."""
        if found is not None and (found.answer(gives), found.answer(refuses)) != (True, False):
            raise Undecided
        return found


def _meaning(lines: Lines) -> frozenset[tuple[str, Expression]]:
    """Returns the pairs of effect and condition, without their places. Rules with equal pairs answer alike."""
    return frozenset((rule.eft, left) for rule, left in lines)
