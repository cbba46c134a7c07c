"""Two policies side by side: on which requests of a subject for a permission they answer differently."""

from __future__ import annotations

from dataclasses import dataclass

from ..evaluation.policy import Policy
from ..syntax.expression import Expression
from .prover import Prover
from .search import MOST_NODES, Undecided
from .subjects import Lines, Subject, condition_of
from .witness import Witness


@dataclass(frozen=True, slots=True)
class Difference:
    """What the new policy gives to a subject that the old one does not, and the reverse: an example of each.

    undecided  whether that could not be found out: then nothing is known
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
    """What decides, wherever it stands: each effect with its condition. Equal ones answer alike."""
    return frozenset((rule.eft, left) for rule, left in lines)
