"""Rules about roles (`g`) and scopes (`p2`) that change nothing, or hardly mean what they say."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from ..evaluation.policy import Policy
from ..evaluation.rights import is_read
from ..invariants.lines import lines_of
from ..syntax.expression import texts
from ..syntax.roles import ADMIN, GUEST, OWNER, USER, RoleLink
from ..syntax.rules import Rule, ScopeRule
from ..wording.finding import Finding, single_person
from .openings import Openings
from .words import listed

_READ, _MANAGE = "read:", "manage"


def about_roles(policy: Policy, openings: Openings) -> Iterator[Finding]:
    """Roles that inherit twice, or too much."""
    out: set[RoleLink] = set()  # those whose removal changes nothing
    for link in reversed(policy.roles.links):
        others = [one for one in policy.roles.parents[link.name] if one is not link and one not in out]
        message = (_superfluous(policy, link, {*out, link}) if others else None) or _common(policy, link)
        if message and others:
            out.add(link)
        message = message or openings.by_link(link)
        if message:
            yield Finding(link.file, link.line, message, "warning", single_person(link.name))


def useless_roles(policy: Policy, held: frozenset[str] | None) -> Iterator[Finding]:
    """Yields the roles that have no effect. `held` are the roles that users have (None: unknown)."""
    for name, link in _unused(policy, held):
        message = (f"no rule names the role {name}, no role inherits it, and nobody has it; take it out"
                   if held is not None else
                   f"no rule names the role {name}, and no role inherits it; take it out, unless users have it")
        user = f"; if {name} is a user, write user:<id> (`gatepost user list` shows the id)"
        yield Finding(link.file, link.line, message + user, "warning")


def about_givers(policy: Policy, held: frozenset[str] | None) -> Iterator[Finding]:
    """Roles that none but administrators can give. `held` as above."""
    by_roles = {link.inherits for link in policy.roles.links if not single_person(link.name)}
    unused = {name for name, _ in _unused(policy, held)}
    for name, link in _declared(policy):
        if name not in by_roles | unused:
            yield Finding(link.file, link.line, _only_by_admin(policy, name), "warning")


def _unused(policy: Policy, held: frozenset[str] | None) -> Iterator[tuple[str, RoleLink]]:
    """The roles that no rule names, none inherits and nobody has, each with its first line."""
    rules = (*policy.rules, *policy.left_out)
    named = {rule.sub for rule in rules if isinstance(rule, Rule)} | texts(policy.model.matcher)
    named |= {one.who for one in lines_of(policy)}
    given = (one.role for one in policy.roles.groups)
    used = named.union((link.inherits for link in policy.roles.links), given, held or ())
    return ((name, link) for name, link in _declared(policy) if name not in used)


def _declared(policy: Policy) -> Iterator[tuple[str, RoleLink]]:
    """The roles that the service itself does not name, each with its first line."""
    return ((name, policy.roles.parents[name][0]) for name in policy.roles.names
            if name in policy.roles.parents and name not in (USER, ADMIN))


def _only_by_admin(policy: Policy, name: str) -> str:
    """Says how to let others give a role, or how to declare that only administrators give it."""
    also = f"`g, {OWNER}, {name}` if owners shall, or " if OWNER in policy.roles and name != OWNER else ""
    return (f"only {ADMIN} can give the role {name}, because no other role inherits it; write {also}"
            f"`g, {ADMIN}, {name}` if nobody else shall")


def about_scopes(policy: Policy) -> Iterator[Finding]:
    """Rules that other rules of the same scope contain, and scopes with which a token can do more than their name says.
    """
    kept: dict[str, dict[str, list[ScopeRule]]] = {}
    for rule in policy.scopes:
        kept.setdefault(rule.scope, {}).setdefault(rule.act, []).append(rule)
    for rule in reversed(policy.scopes):
        acts = kept[rule.scope]
        if by := _covering(policy, rule, acts):
            acts[rule.act].remove(rule)
            named = listed([f"{one.file}:{one.line} ({one.scope}, {one.act})" for one in by])
            yield Finding(rule.file, rule.line, _idle(rule, by, named), "warning")
        if message := _beyond_name(policy, rule, policy.patterns.covered(rule.act)):
            yield Finding(rule.file, rule.line, message, "warning")


def _beyond_name(policy: Policy, rule: ScopeRule, covered: frozenset[str]) -> str | None:
    """Says that a rule gives a token more than the name of its scope: another collection, reserved fields, or writes
    with a scope to read."""
    verb, _, area = rule.scope.partition(":")
    of = policy.vocabulary.by_permission
    own = {resource.name for resource in of.values() if area in (resource.collection, resource.name)}
    others = sorted(name for name in covered if of[name].name not in own)
    if own and others:
        another = of[others[0]].collection or of[others[0]].name
        return f"a scope of {area} gives {listed(others)}: those have scopes of their own, such as {verb}:{another}"
    # A scope with a name of its own may be of several collections, but not of those to come.
    if "*" in rule.act.partition(".")[0] and len({of[name].name for name in covered}) > 1:
        return f"a scope of {area} gives {listed(others)}, and what is to come; name the permissions that are meant"
    writes = sorted(name for name in covered if not is_read(name))
    if rule.scope.startswith(_READ) and writes:
        return f"a scope to read gives {listed(writes)}: a token that shall only read can change things with it"
    if verb != _MANAGE and (reserved := [name for name in writes if name.endswith(f".{_MANAGE}")]):
        return (f"a scope to {verb} gives {listed(reserved)}: a token sets with it what is reserved, such as whose a "
                f"row is; name the other permissions, or write {_MANAGE}:{area}")
    return None


def _superfluous(policy: Policy, link: RoleLink, out: Collection[RoleLink]) -> str | None:
    """Says how a role or a user inherits the same without this link and others."""
    chain = policy.roles.chain(link.name, link.inherits, out)
    if not chain:
        return None
    named = listed([f"{one.file}:{one.line}" for one in chain])
    if len(chain) == 1:
        return f"the same as {named}"
    return f"without effect: {link.name} inherits {link.inherits} already, by {named}; take it out"


def _common(policy: Policy, link: RoleLink) -> str | None:
    """Says that a user is lent a role that every user has."""
    roles = set(policy.roles.names) - {GUEST}
    if single_person(link.name) and all(link.inherits in policy.roles.closure(role) for role in roles):
        return f"without effect: every user is {link.inherits} already; take it out"
    return None


def _covering(policy: Policy, rule: ScopeRule, acts: Mapping[str, Sequence[ScopeRule]]) -> list[ScopeRule]:
    """The first other rule that covers all that a rule does, or those that do together; none when they do not. `acts`
    are the rules of the scope, by their permission column."""
    covered = policy.patterns.covered(rule.act)
    others = {act: [one for one in lines[:2] if one is not rule] for act, lines in acts.items()}
    alone = [lines[0] for act, lines in others.items() if lines and covered <= policy.patterns.covered(act)]
    if alone:
        return [min(alone, key=_place)]
    having = [act for act, lines in others.items() if lines and covered & policy.patterns.covered(act)]
    together = frozenset().union(*map(policy.patterns.covered, having))
    return sorted((one for act in having for one in acts[act]), key=_place) if covered <= together else []


def _place(rule: ScopeRule) -> tuple[str, int]:
    return rule.file, rule.line


def _idle(rule: ScopeRule, by: list[ScopeRule], named: str) -> str:
    if len(by) == 1 and by[0].act == rule.act:
        return f"the same as {by[0].file}:{by[0].line}"
    return f"without effect: {named} {'covers' if len(by) == 1 else 'cover'} this already; take it out"
