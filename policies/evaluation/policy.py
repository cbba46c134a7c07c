"""A policy: an immutable snapshot of the rules, which decides and plans."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from copy import copy
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

from ..syntax.attributes import Reads, reads_of
from ..syntax.conditions import Branch
from ..syntax.expression import (
    ADDRESS,
    EFFECT,
    Atom,
    Comparison,
    Expression,
    PluginCall,
    asks_shares,
    attributes,
    columns,
    conjunction,
    disjunction,
    negation,
    rebuild,
    text,
)
from ..syntax.model import Model
from ..syntax.roles import GUEST, Roles
from ..syntax.rules import Lines, Rule, ScopeRule
from ..syntax.vocabulary import Patterns, Vocabulary
from ..wording.finding import Finding
from .compiled import NO_OBJECT, Row, SharedWith, compiled, no_shares
from .index import Index
from .partial import PartialEvaluator
from .plan import NEVER, Plan
from .principal import Environment, Principal
from .residual import Residual, Uses
from .rule_trace import RuleTrace, trace_rule

# Answers for persons whom rules name that are remembered: all permissions of a hundred or two, the last who asked. The
# answers for roles, which most callers share, are as few as the policy has words, and are kept.
MOST_OF_PERSONS = 20_000

Line = tuple[Rule, Expression]
"""A rule, with its condition after evaluation."""

# For a role or a permission that is not in the vocabulary.
_NO_RULES = Residual("", ())
READABLE = Comparison("==", ADDRESS, ADDRESS)


class Policy:
    """A policy: `decide`, `plan` and `covers`, and its rules, roles, scopes and conditions with file and line."""

    def __init__(
        self, vocabulary: Vocabulary, model: Model, lines: Lines, files: Mapping[str, bytes], version: str,
        closed: frozenset[Rule] = frozenset(),
    ) -> None:
        """`closed` rules are no longer accepted: an `allow` never matches, a `deny` matches every object."""
        self.vocabulary, self.model = vocabulary, model
        self.files, self.version = dict(files), version
        self.closed = closed
        self.scopes: tuple[ScopeRule, ...] = tuple(lines.scopes)
        self.remarks: tuple[Finding, ...] = tuple(lines.remarks)
        self.left_out: tuple[Rule | ScopeRule, ...] = tuple(lines.left_out)
        self.roles = Roles(lines.links, lines.groups)
        self.conditions: Mapping[str, Branch] = model.conditions
        named = {rule.act for rule in lines.rules if rule.eft == "allow"}
        self.fallbacks: Mapping[str, str] = {
            permission: fallback for permission, fallback in vocabulary.fallbacks.items() if permission not in named}
        self.patterns = Patterns(vocabulary, self.fallbacks)
        self._evaluator = PartialEvaluator(_cautious(model.matcher), self.roles, self.patterns)
        self._scope_evaluator = PartialEvaluator(model.scope_matcher, self.roles, self.patterns)
        self._covered: dict[tuple[str, str], bool] = {}
        self._of_scopes: dict[str, tuple[ScopeRule, ...]] = {}
        self._take(tuple(lines.rules))

    def _take(self, rules: tuple[Rule, ...]) -> None:
        self.rules = rules
        self._index = Index(rules, self.model.matcher, self._evaluator, self.roles, self.patterns,
                            frozenset(self.vocabulary.by_permission))
        named = (*(rule.sub for rule in rules), *self.roles.parents, *self._index.quoted_names)
        # The keys that can be answered otherwise than their role.
        self._persons = frozenset(name for name in named if name not in self.roles or (
            name == GUEST and self._index.knows_key_of(GUEST)))
        self.uses = Uses()
        self._residuals: dict[tuple[str, str | None, str], Residual] = {}
        self._role_lines: dict[tuple[str, str], tuple[Line, ...]] = {}
        self._of_persons: deque[tuple[str, str, str]] = deque()
        self._looks: dict[tuple[str, ...], Reads] = {}

    def ends_fallback(self, rule: Rule) -> bool:
        """True if a rule allows by its own name what another permission would decide otherwise."""
        return rule.eft == "allow" and rule.act in self.vocabulary.fallbacks

    @cached_property
    def followers(self) -> frozenset[str]:
        """The permissions that are decided exactly as their fallback, for every caller and object."""
        if self._index.quotes_permissions:
            return frozenset()
        acts = {rule.act for rule in self.rules}
        return frozenset(one for one, fallback in self.fallbacks.items() if all(
            fallback in covered or one not in covered for covered in map(self.patterns.covered, acts)))

    def fallback_lines(self) -> Iterator[Rule | ScopeRule]:
        """Yields the lines that say in plain Casbin what the fallbacks in force mean, in the order of the files.

        Each is a line about the fallback of a permission, with this permission instead.
        """
        lines: tuple[Rule | ScopeRule, ...] = (*self.rules, *self.scopes)
        for line in lines:
            for permission in sorted(self.patterns.covered(line.act) - self.patterns.matching(line.act)):
                yield replace(line, act=permission)

    def only(self, rules: Iterable[Rule]) -> Policy:
        """Returns a copy of this policy with only these rules, in the order of the files. It shares the other parts.

        The fallbacks in force stay the same.
        """
        part = copy(self)
        for cached in ("persons", "followers"):
            part.__dict__.pop(cached, None)
        part._take(tuple(rules))
        return part

    def decide(
        self,
        principal: Principal,
        permission: str,
        obj: Row | None,
        env: Environment,
        shared: SharedWith = no_shares,
    ) -> bool:
        """May `principal` do this to `obj`, a mapping of all columns to values (None: there is no object)?

        `env` has the attributes of r.env; `shared(principal, obj, permission)` says whether a share gives it.
        A permission that is not in the vocabulary is never given. Raises KeyError for a row that lacks a column which
        a rule reads: a denial must not vanish because a query selected too few columns.
        """
        return self._rules_for(principal, permission).decide(principal, NO_OBJECT if obj is None else obj, env, shared)

    def settle(
        self, principal: Principal, permission: str, obj: Row | None, env: Environment, shared: SharedWith = no_shares
    ) -> bool:
        """Decides a real request like `decide`, and counts a use of the deciding rule in `uses`."""
        return self._rules_for(principal, permission).settle(principal, NO_OBJECT if obj is None else obj, env, shared)

    def is_certain(
        self, principal: Principal, permission: str, obj: Row | None, unknown: Set[str], env: Environment,
        shared: SharedWith = no_shares,
    ) -> bool:
        """True if `decide` says yes whatever the columns `unknown` of `obj` hold."""
        certain = self._rules_for(principal, permission).without(frozenset(unknown))
        return certain.decide(principal, NO_OBJECT if obj is None else obj, env, shared)

    def denies_by_name(
        self, principal: Principal, permission: str, obj: Row | None, unknown: Set[str], env: Environment,
        shared: SharedWith = no_shares,
    ) -> bool:
        """True if a rule denies this by the name of the permission, and not only by that of its fallback.

        A rule that reads one of the columns `unknown` counts as one that denies.
        """
        row = NO_OBJECT if obj is None else obj
        return any(rule.eft == "deny" and permission in self.patterns.matching(rule.act) and (
                       not unknown.isdisjoint(columns(condition))
                       or compiled(condition, permission)(principal, row, env, shared))
                   for rule, condition in self.matching_rules(principal.role, principal.key, permission))

    def glance(self, principal: Principal, permission: str, rows: Sequence[Mapping[str, Any]], env: Environment
               ) -> None:
        """Counts in `uses`, from time to time, the rules that show these rows of a list. A plan selected the rows."""
        self._rules_for(principal, permission).glance(principal, rows, env)

    def _rules_for(self, principal: Principal, permission: str) -> Residual:
        """The rules for a caller and a permission; none if the scopes do not cover it."""
        if principal.scopes is not None and not self.covers(principal, permission):
            return _NO_RULES
        role, key = principal.role, principal.key
        if role == GUEST and key != GUEST:  # a user: the rules of guests are remembered under this role
            return _NO_RULES
        residual = self._residuals.get((role, key if key in self._persons else None, permission))
        return self.residual(role, key, permission) if residual is None else residual

    def is_lost(self, principal: Principal) -> bool:
        """True if nothing is permitted because of the principal's role (`Roles.is_lost`)."""
        return self.roles.is_lost(principal.role, principal.key)

    def deciding(
        self, principal: Principal, permission: str, obj: Row | None, env: Environment, shared: SharedWith = no_shares
    ) -> Rule | None:
        """Returns the first rule that allows this. The audit log names it."""
        residual = self.residual(principal.role, principal.key, permission)
        return residual.deciding(principal, NO_OBJECT if obj is None else obj, env, shared)

    def plan(self, principal: Principal, permission: str, env: Environment) -> Plan:
        """The rows on which `principal` has this permission now: hashable, a key for caches."""
        return self._rules_for(principal, permission).plan(principal, env)

    def may_ever(self, principal: Principal, permission: str, env: Environment) -> bool:
        """True if there can be an object on which `principal` has this permission now."""
        return self.plan(principal, permission, env).outcome is not NEVER

    def covers(self, principal: Principal, permission: str) -> bool:
        """True if the scopes of a scoped principal include this permission; always, for an unscoped one."""
        scopes = principal.scopes
        return scopes is None or any(self._scope_covers(scope, permission) for scope in scopes)

    @cached_property
    def scope_names(self) -> frozenset[str]:
        """Every scope that a token may be given."""
        return frozenset(rule.scope for rule in self.scopes)

    @cached_property
    def written_scopes(self) -> frozenset[str]:
        """Every scope of the files: also those of collections that are left out."""
        return self.scope_names.union(rule.scope for rule in self.left_out if isinstance(rule, ScopeRule))

    def residual(self, role: str, key: str | None, permission: str) -> Residual:
        """The rules for a role, the user `key`, and a permission."""
        if self.roles.is_lost(role, key) or permission not in self.vocabulary.by_permission:
            return _NO_RULES
        person = key if key in self._persons else None
        residual = self._residuals.get((role, person, permission))
        if residual is None:
            residual = self._of_role(role, permission) if person is None else self._of_person(role, person, permission)
        return residual

    def matching_rules(self, role: str, key: str | None, permission: str) -> tuple[Line, ...]:
        """The rules that can match a role and the user `key`, each with its condition after evaluation.

        They are those of `residual`, for tools that compare rules. Nothing is prepared for decisions.
        """
        if self.roles.is_lost(role, key) or permission not in self.vocabulary.by_permission:
            return ()
        person = key if key in self._persons else None
        residual = self._residuals.get((role, person, permission))
        return self._lines_for(role, person, permission) if residual is None else residual.rules

    def _of_role(self, role: str, permission: str) -> Residual:
        residual = Residual(permission, self._lines_for(role, None, permission), self.uses, shareable=role != GUEST)
        # Of two threads that find it at the same time, both go on with the same one.
        return self._residuals.setdefault((role, None, permission), residual)

    def _of_person(self, role: str, person: str, permission: str) -> Residual:
        """The rules for a user: those of the role, unless a rule about the user makes a difference."""
        residual = self.residual(role, None, permission)
        if self._index.sets_apart(person, permission):
            lines = self._lines_for(role, person, permission)
            if lines != residual.rules:
                residual = Residual(permission, lines, self.uses, shareable=role != GUEST)
        self._residuals[role, person, permission] = residual
        # Threads append and remove one at a time, without a lock; nothing is iterated.
        self._of_persons.append((role, person, permission))
        if len(self._of_persons) > MOST_OF_PERSONS:
            self._residuals.pop(self._of_persons.popleft(), None)
        return residual

    def _lines_for(self, role: str, key: str | None, permission: str) -> tuple[Line, ...]:
        if key is not None and self._index.is_only_named(key):
            return self._lines_for_named(role, key, permission)
        lines = self._role_lines.get((role, permission)) if key is None else None
        if lines is None:
            lines = tuple(self._matching(self._index.bearing(role, key, permission), permission, role, key))
            if key is None:
                self._role_lines[role, permission] = lines
        return lines

    def _lines_for_named(self, role: str, key: str, permission: str) -> tuple[Line, ...]:
        """Returns the remaining conditions for a user who differs from others with the role only by rules.

        They are those of the role, and those of rules that name the user or a lent role.
        """
        of_role = self._lines_for(role, None, permission)
        own = self._index.naming(key, permission)
        if not own:
            return of_role
        names = self.roles.closure(key)
        kept = (line for line in of_role if line[0].sub not in names)
        return tuple(sorted((*kept, *self._matching(own, permission, role, key)), key=place_of))

    def _matching(self, rules: Iterable[Rule], permission: str, role: str, key: str | None) -> Iterator[Line]:
        """Yields each rule that can match, with its condition after evaluation."""
        for rule in rules:
            condition = self.condition_for(rule, permission, role, key)
            if condition is not False:
                yield rule, condition

    def beside(self, role: str, key: str, permission: str) -> tuple[Line, ...] | None:
        """Returns the rules that name a user, each with its condition after evaluation.

        Together with the rules of the role, they are all that matter to the user. Returns None if there may be others,
        because a role is lent to the user, or the matcher names the user.
        """
        if self.roles.is_lost(role, key):
            return ()
        if key in self.roles.parents or not self._index.is_only_named(key):
            return None
        return tuple(self._matching(self._index.naming(key, permission), permission, role, key))

    @property
    def asks_role(self) -> bool:
        """True if a condition can read the caller's role: then a rule that names a user depends on it."""
        return self._evaluator.asks_role

    def lines_on(self, who: str, permission: str) -> tuple[Line, ...]:
        """The rules that matter to a permission for `who`, in the order of the files, each with its condition after
        evaluation.

        For a role, these are the rules that can match it. For a user's key, these are the rules that name the user or
        a role that was lent to the user, without those of the user's own role.
        """
        if who in self.roles:
            rules = [rule for rule in self._index.bearing(who, who, permission) if rule.sub in self.roles]
        else:
            rules = self._index.naming(who, permission)
        return tuple(self._matching(rules, permission, who, who))

    @cached_property
    def persons(self) -> tuple[str, ...]:
        """The keys (`user:<id>`) that rules name, or calls of `g` in the matcher, sorted."""
        return tuple(sorted(name for name in self._persons if name not in self.roles))

    def permissions_of_lines(self, who: str) -> frozenset[str]:
        """Returns the permissions that rules about `who`, a role or a user's key, can matter to.

        Rules about what `who` inherits count too. For a user whom the matcher names, itself or by a lent role, these
        are all permissions.
        """
        if who in self._persons and who not in self.roles and self._index.sets_apart(who, ""):
            return frozenset(self.vocabulary.by_permission)
        return self._index.permissions(who)

    def permissions_of_line(self, rule: Rule) -> frozenset[str]:
        """Returns the permissions that a rule can matter to."""
        return self._index.permissions_of(rule.act)

    def condition_for(self, rule: Rule, permission: str, role: str, key: str | None = None) -> Expression:
        """The rest of the matcher for one rule, one permission and one role or user."""
        condition = self._evaluator.evaluate(self._constants(rule, permission, role=role, key=key or ""))
        if self.closed and rule in self.closed:
            return rule.eft == "deny" and condition is not False
        return condition

    def rule_traces(
        self,
        principal: Principal,
        permission: str,
        obj: Row | None,
        env: Environment,
        shared: SharedWith = no_shares,
    ) -> list[RuleTrace]:
        """Every rule about this caller and permission: whether it holds, and which facts it lacks."""
        lines = self.matching_rules(principal.role, principal.key, permission)
        # Hundreds of rules have the same few conditions.
        of: dict[Expression, RuleTrace] = {}
        for rule, condition in lines:
            if condition not in of:
                of[condition] = trace_rule(rule, condition, permission, principal, obj, env, shared)
        return [replace(of[condition], rule=rule) for rule, condition in lines]

    def reads(self, principal: Principal, permission: str) -> frozenset[tuple[str, str]]:
        """The attributes that the rules read for this caller and permission: `("obj", "owner_id")`, `("sub", "id")` …
        """
        lines = self.residual(principal.role, principal.key, permission).rules
        return frozenset(
            (attribute.root, attribute.name) for _, condition in lines for attribute in attributes(condition))

    def looks_at(self, permissions: tuple[str, ...]) -> Reads:
        """The attributes that rules about these permissions read, for any caller. Nothing else decides a request."""
        reads = self._looks.get(permissions)
        if reads is None:
            reads = self._looks[permissions] = reads_of(
                condition for permission in permissions for condition in self._conditions_about(permission))
        return reads

    def _conditions_about(self, permission: str) -> Iterator[Expression]:
        """The condition of each rule about a permission, for each role that it can match and each user it names."""
        for role in self.roles.names:
            yield from (condition for _, condition in self.residual(role, None, permission).rules)
        for rule in self.rules:
            if rule.sub not in self.roles and permission in self.permissions_of_line(rule):
                yield self.condition(rule, permission)

    def asks_shares(self, principal: Principal, permission: str) -> bool:
        """True if a rule for this caller and permission reads the shares of an object."""
        return any(
            asks_shares(condition) for _, condition in self.residual(principal.role, principal.key, permission).rules)

    def condition(self, rule: Rule, permission: str) -> Expression:
        """The condition of a rule for a permission, and for a caller with the role or key that the rule names."""
        return self.condition_for(rule, permission, rule.sub, rule.sub)

    def meant(self, condition: Branch, rule: Rule, permission: str) -> Expression:
        """The same for a condition alone, without what the matcher requires of every rule."""
        return PartialEvaluator(_cautious(condition.expression), self.roles, self.patterns).evaluate(
            self._constants(rule, permission, role=rule.sub))

    def _constants(self, rule: Rule, permission: str, **others: str) -> dict[str, str]:
        act = self.patterns.standing_for(rule.act, permission)
        return {"rule.sub": rule.sub, "rule.act": act, "rule.when": rule.when, "rule.eft": rule.eft,
                "act": permission, **others}

    def meaning(self, when: str) -> str:
        """The meaning of a word of the condition column, as model.conf would write it, with its parameter.

        Raises KeyError for an unknown word.
        """
        expression = self.conditions[when].expression
        return text(PartialEvaluator(expression, self.roles, self.patterns).evaluate({"rule.when": when}))

    def _scope_covers(self, scope: str, permission: str) -> bool:
        if scope not in self.scope_names:
            return False
        covered = self._covered.get((scope, permission))
        if covered is None:
            covered = any(
                self._scope_evaluator.evaluate(
                    {"rule.scope": rule.scope, "rule.act": self.patterns.standing_for(rule.act, permission),
                     "scope": scope, "act": permission}
                ) is True
                for rule in self._lines_of_scope(scope)
            )
            if permission in self.vocabulary.by_permission:
                self._covered[scope, permission] = covered
        return covered

    def _lines_of_scope(self, scope: str) -> tuple[ScopeRule, ...]:
        """Returns the scope rules that can cover a permission for a scope."""
        lines = self._of_scopes.get(scope)
        if lines is None:
            lines = self._of_scopes[scope] = tuple(
                rule for rule in self.scopes
                if self._scope_evaluator.leaves_any({"rule.scope": rule.scope, "scope": scope})
            )
        return lines


def _cautious(matcher: Expression) -> Expression:
    """The matcher with the unreadable address spelled out: an allow does not match by an address, and a deny does.

    Elsewhere a comparison with a missing value does not hold (decision 26): a row without an owner is ordinary data. An
    address is missing only if a proxy writes none, and the client behind it may be in any network. So an atom that
    reads the address also holds without one in deny rules; below a negation, in allow rules. In the others it
    does not hold, even if it calls a function of a plugin.
    """
    return rebuild(matcher, partial(_without_address, "deny"), partial(_without_address, "allow"))


def _without_address(closing: str, atom: Atom) -> Expression:
    if ADDRESS not in attributes(atom):
        return atom
    closed = conjunction((Comparison("==", EFFECT, closing), negation(READABLE)))
    return disjunction((conjunction((READABLE, atom)) if isinstance(atom, PluginCall) else atom, closed))


def place_of(line: tuple[Rule, object]) -> tuple[str, int]:
    """The file and number of a rule, to sort by: files are read in the order of their names."""
    return line[0].file, line[0].line
