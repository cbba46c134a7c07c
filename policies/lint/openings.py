"""Rules that open more than the author probably meant: everything to every caller, or nearly everything to one."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from ..comparison.prover import Undecided
from ..comparison.subjects import Subject
from ..evaluation.policy import Policy
from ..evaluation.rights import is_read
from ..syntax.expression import KIND, asks_shares, attributes
from ..syntax.roles import ADMIN, GUEST, USER, RoleLink
from ..syntax.rules import Rule
from ..wording.finding import single_person
from .matches import ALLOW, Cell, Matches

MOST_NAMED = 3  # permissions that a finding names
MANY_VERBS, MANY_RESOURCES = 3, 3  # of what every caller gains
# What a caller without credentials hardly may do to any row, on whatever condition.
CHANGES = ("update", "delete", "import", "manage")
# Fields that are shown or set by a permission of their own: given for one collection at a time.
SHOWN, SET = "view_private", "manage"


class Openings:
    """Findings about rules that open more than others do."""

    def __init__(self, matches: Matches) -> None:
        self._matches, self._policy = matches, matches.policy
        self._everyone = everyone(matches.policy)
        self._gains: dict[tuple[object, ...], tuple[str, ...]] = {}

    def by_rule(self, rule: Rule) -> str | None:
        """Says what a rule opens; None if it gives as much as rules usually do."""
        if rule.eft != ALLOW or rule in self._matches.out or rule.sub == ADMIN:
            return None
        if rule.sub not in self._everyone:
            most = self._policy.permissions_of_line(rule)
            gained = self._gained(rule) if self._nearly_all(most) else []
            return _sentence(rule.sub, gained, self._policy) if self._nearly_all(gained) else self._guarded(rule)
        gained = self._gained(rule)
        open_to_all = [name for name in gained if self._asks_nothing_of_the_caller(rule, name)]
        with_rows = [name for name in open_to_all if self._policy.vocabulary.by_permission[name].columns]
        resources = {name.partition(".")[0] for name in open_to_all}
        many = "*" in rule.act and len(with_rows) >= MANY_VERBS and not all(map(is_read, with_rows))
        changes = rule.sub == GUEST and any(name.partition(".")[2] in CHANGES for name in with_rows)
        wide = "*" in rule.act and len(resources) >= MANY_RESOURCES
        if many or changes or wide:
            return _sentence(rule.sub, gained, self._policy)
        return self._guarded(rule)

    def _guarded(self, rule: Rule) -> str | None:
        """Says that a pattern shows the guarded fields of several collections, or lets them be set, to every caller."""
        guarded = [name for name in self._policy.patterns.covered(rule.act) if name.partition(".")[2] in (SHOWN, SET)]
        gained = [name for name in (self._gained(rule) if _resources(guarded) > 1 else ())
                  if name in guarded and self._asks_nothing_of_the_caller(rule, name)]
        if _resources(gained) < 2:
            return None
        return (f"this rule gives {rule.sub} the guarded fields of {_resources(gained)} collections, and of each "
                f"future one ({_named(gained)})")

    def widens(self, rule: Rule, settled: Rule) -> bool:
        """True if a rule gives to every caller, or to every user, what another gives to fewer or on a condition."""
        if rule.sub not in self._everyone or rule.eft != ALLOW or single_person(settled.sub):
            return False
        return settled.sub not in self._everyone or settled.when != rule.when

    def by_link(self, link: RoleLink) -> str | None:
        """Says what a role or a user gains by inheriting a role, if that is hardly meant."""
        if link.name == ADMIN:
            return None
        everybody = link.name in self._everyone and link.inherits != GUEST and any(
            other.inherits == link.inherits and other.name != link.name and not single_person(other.name)
            for other in self._policy.roles.links)
        kept = self._policy.roles.closure_without(link) | (
            {GUEST} if link.name in self._everyone else self._everyone)
        most = self._policy.permissions_of_lines(link.inherits)
        gained = self._inherited(link.name, kept, most) if everybody or self._nearly_all(most) else ()
        if not gained or not (everybody or self._nearly_all(gained)):
            return None
        sentence = _sentence(link.name, gained, self._policy)
        return sentence if single_person(link.name) else f"{sentence}; was `g, {link.inherits}, {link.name}` meant?"

    def _gained(self, rule: Rule) -> list[str]:
        """Returns the permissions that the rule gives, at least in part, to the caller whom it names."""
        gained = []
        first = None
        for cell, number in self._matches.reached(rule):
            if first is None:
                first = cell.subject
            if cell.subject != first:
                break
            try:
                if self._matches.counts(cell, rule, number):
                    gained.append(cell.permission)
            except Undecided:
                continue
        return sorted(gained)

    def _inherited(self, name: str, kept: frozenset[str], most: frozenset[str]) -> tuple[str, ...]:
        """The permissions of which rules of roles beyond `kept` give something to a role or user. Of users who have
        no rules of their own, those who were lent the same are one question."""
        who = Subject(USER, name) if single_person(name) else Subject(name)
        lent = self._policy.roles.closure(name) - {name}
        alike = lent if who.key is not None and self._matches.is_plain(name) else name, kept - {name}, most
        gained = self._gains.get(alike)
        if gained is None:
            permissions = (one for one in most if self._gives_more(self._matches.cell(who, one), kept))
            gained = self._gains[alike] = tuple(sorted(permissions))
        return gained

    def _gives_more(self, cell: Cell, kept: frozenset[str]) -> bool:
        """True if rules of roles beyond `kept` allow in this cell what no other does."""
        new = {number for rule, number in cell.lines.items() if rule.eft == ALLOW and rule.sub not in kept}
        old = {number for rule, number in cell.lines.items() if rule.eft == ALLOW and rule.sub in kept}
        try:
            return any(not self._matches.implies(cell, number, (*old, *cell.denies)) for number in new)
        except Undecided:
            return False

    def _nearly_all(self, gained: Collection[str]) -> bool:
        return 2 * len(gained) >= len(self._policy.vocabulary.by_permission)

    def _asks_nothing_of_the_caller(self, rule: Rule, permission: str) -> bool:
        """True if the rule depends on neither the owner nor the caller."""
        condition = self._policy.condition(rule, permission)
        return not asks_shares(condition) and not any(
            one.root == "sub" and one != KIND for one in attributes(condition))


def everyone(policy: Policy) -> frozenset[str]:
    """The roles that are no distinction: guest, user, and what every other role inherits or is."""
    closures = [policy.roles.closure(role) for role in set(policy.roles.names) - {GUEST}]
    return frozenset((GUEST, USER)).union(frozenset.intersection(*closures) if closures else ())


def _sentence(who: str, gained: Sequence[str], policy: Policy) -> str:
    if len(gained) == 1:
        return f"this rule gives {who} {gained[0]}"
    many = f"{len(gained)} of {len(policy.vocabulary.by_permission)}"
    return f"this rule gives {who} {many} permissions ({_named(gained)})"


def _resources(permissions: Iterable[str]) -> int:
    return len({name.partition(".")[0] for name in permissions})


def _named(gained: Sequence[str]) -> str:
    return ", ".join(gained[:MOST_NAMED]) + (", …" if len(gained) > MOST_NAMED else "")
