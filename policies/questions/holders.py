"""The callers with a role who have a permission on an object, or on any object at all, in some environment.

The rules are evaluated for the object, and the rest is a condition on the caller alone: id, key, department and groups.
`r.sub.department == r.sub.department` says that the caller has a department, and `r.sub.groups == r.sub.groups` that
the caller is in some group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from ..comparison.candidates import METHOD, REQUEST, Ground, Variable
from ..comparison.prover import MOST_NODES
from ..comparison.subjects import Lines, Subject, condition_of
from ..comparison.substitution import Facts, Input, Value, inputs, put
from ..evaluation.plan import branches
from ..evaluation.policy import Policy
from ..evaluation.rights import rights_to
from ..syntax.attributes import REQUESTS, is_of_login
from ..syntax.expression import (
    DEPARTMENT,
    GROUPS,
    ID,
    KEY,
    KIND,
    ROLE,
    TENANT,
    Atom,
    Attribute,
    Comparison,
    Expression,
    InGroup,
    PluginCall,
    Prefixed,
    Shared,
    atoms,
    attributes,
    conjunction,
    disjunction,
    groups,
    negation,
    reads_object,
    rebuild,
)
from ..syntax.roles import GUEST


class Undetermined(Exception):
    """Error: the users who may do this cannot be determined.

    function  function of a plugin that reads the caller, the time, the address or the device; "" if conditions on
              these are too many or compare them with the caller. A question that names them can be answered.
    """

    def __init__(self, function: str = "") -> None:
        self.function = function
        why = f"the function {function} of a plugin must be called for each caller" if function else \
            "there are too many conditions"
        super().__init__(why)


@dataclass(frozen=True, kw_only=True)
class HolderQuestion:
    """A question: the callers who have these permissions at the same time.

    permissions  in the order in which a request needs them: an object that may not be viewed does not exist for them
    tenant_id    of the callers
    row          the object, by column; None: any that there could be
    shares       of the object: (grantee, right)
    environment  what is known of it, by attribute: `hour`; the rest may be anything
    methods      by which it can be question for, where `environment` does not say one; empty: by any
    each         each of the methods must be allowed, and not just one of them
    kind         of the callers who are no guests: `user`, or `service` for tokens that act for a user
    login        attributes of the login of users, others are missing; None: of any login
    """

    permissions: tuple[str, ...]
    tenant_id: str
    row: Mapping[str, Any] | None = None
    shares: Sequence[tuple[str, str]] = ()
    environment: Mapping[str, Value] = field(default_factory=dict)
    methods: tuple[str, ...] = ()
    each: bool = False
    kind: str = "user"
    login: Mapping[str, Value] | None = None

    @cached_property
    def facts(self) -> Facts:
        """The facts that are the same for every caller."""
        facts: dict[Input, Value] = {Attribute("env", name): value for name, value in self.environment.items()}
        for name, value in (self.row or {}).items():
            facts[Attribute("obj", name)] = value
        return facts

    def grantees(self, permission: str, fallbacks: Mapping[str, str]) -> tuple[str, ...]:
        """The grantees of shares of the object that give a permission."""
        rights = rights_to(permission, fallbacks)
        return tuple(dict.fromkeys(grantee for grantee, right in self.shares if right in rights))


def whenever(policy: Policy, subject: Subject, question: HolderQuestion) -> Expression:
    """The condition under which a caller has the permissions. It reads the caller and the environment.

    Raises Undetermined if a plugin's function would have to be called.
    """
    lines = ((permission, policy.matching_rules(subject.role, subject.key, permission))
             for permission in question.permissions)
    return _by_methods(conjunction(_given(policy, subject, question, permission, rules) for permission, rules in lines),
                       question)


def line_holds(policy: Policy, subject: Subject, question: HolderQuestion, condition: Expression) -> Expression:
    """The same for one rule that allows the last of the permissions; `condition` is its condition after evaluation."""
    permission, possible = question.permissions[-1], _AnyObject(subject).possible
    return _by_methods(_rest(condition, policy, subject, question, permission, possible), question)


def _by_methods(goal: Expression, question: HolderQuestion) -> Expression:
    """Puts the methods of the question into the goal.

    Where the goals differ and one method is enough, each goal names its method.
    """
    goals = {method: put(goal, {METHOD: method, REQUEST: REQUESTS[method]}) for method in question.methods}
    if not goals:
        return goal
    if question.each:
        return conjunction(goals.values())
    first, *others = goals.values()
    if all(one == first for one in others):
        return first
    return disjunction(conjunction((Comparison("==", METHOD, method), one)) for method, one in goals.items())


def somewhen(goal: Expression, policy: Policy, subject: Subject, permission: str) -> Expression:
    """Returns the condition under which `goal` holds in some environment.

    Raises Undetermined if that takes too long, or if the goal compares caller and environment with each other.
    """
    of_request = _of_request(goal)
    if not of_request:
        return goal
    if any(not of_request.isdisjoint(read) and any(one.root == "sub" and one not in of_request for one in read)
           for read in map(attributes, atoms(goal))):
        raise Undetermined
    ground = Ground(subject, permission, policy.vocabulary.by_permission[permission], login=policy.vocabulary.login)
    variables = [_of_user(one) for one in ground.variables(goal) if of_request & set(one.inputs)]
    return _eliminated(goal, variables)


def _of_user(variable: Variable) -> Variable:
    """Returns the variable with the values of users only, if it has the kind of caller: only users have a login."""
    if KIND not in variable.inputs:
        return variable
    place = variable.inputs.index(KIND)
    return replace(variable, values=[values for values in variable.values if values[place] == "user"])


def _eliminated(goal: Expression, variables: Iterable[Variable]) -> Expression:
    """The disjunction of the goal over all values of the variables: equal remainders are followed once."""
    remainders = {goal: None}
    for variable in variables:
        concerned = [one for one in remainders if not set(variable.inputs).isdisjoint(inputs(one))]
        followed = {one: None for one in remainders if one not in concerned}
        for one in concerned:
            for values in variable.values:
                followed[put(one, dict(zip(variable.inputs, values, strict=True)))] = None
        remainders = {one: None for one in followed if one is not False}
        if True in remainders:
            return True
        if len(remainders) > MOST_NODES:
            raise Undetermined
    return disjunction(remainders)


def _of_request(goal: Expression) -> set[Attribute]:
    """Returns the attributes that differ between requests of one caller: the environment, and the login."""
    return {one for one in attributes(goal) if one.root == "env" or is_of_login(one)}


def _given(policy: Policy, subject: Subject, question: HolderQuestion, permission: str, lines: Lines) -> Expression:
    whatever = _AnyObject(subject)
    if question.row is not None:
        return _rest(condition_of(lines), policy, subject, question, permission, whatever.possible)
    allows = disjunction(condition for rule, condition in lines if rule.eft == "allow")
    denies = disjunction(condition for rule, condition in lines if rule.eft == "deny")
    # As a list is planned: of alternatives, those that contradict themselves are none.
    given = disjunction(_rest(one, policy, subject, question, permission, whatever.possible)
                        for one in branches(allows))
    return conjunction((given, negation(_rest(denies, policy, subject, question, permission, whatever.certain))))


def _rest(expression: Expression, policy: Policy, subject: Subject, question: HolderQuestion, permission: str,
          abstract: Callable[[Expression], Expression]) -> Expression:
    rest = put(_answered(expression, policy, subject, question, permission),
                {**question.facts, **_of(policy, subject, question)})
    return rest if question.row is not None else put(abstract(rest), question.facts)


def _of(policy: Policy, subject: Subject, question: HolderQuestion) -> Facts:
    kind = "guest" if subject.is_guest else question.kind
    login = question.login if kind == "user" else {}
    values: Facts = {} if login is None else {
        Attribute("sub", name): login.get(name) for name in policy.vocabulary.login}
    return {ROLE: subject.role, TENANT: question.tenant_id, KIND: kind, **values}


def _answered(expression: Expression, policy: Policy, subject: Subject, question: HolderQuestion, permission: str
              ) -> Expression:
    """The expression with the shares of the object and the answers of plugins for the atoms that ask for them."""
    def leaf(atom: Atom) -> Expression:
        match atom:
            case Shared() if subject.is_guest or not rights_to(permission, policy.vocabulary.fallbacks):
                return False
            case Shared() if question.row is not None:
                return _shared(policy, subject, question.grantees(permission, policy.vocabulary.fallbacks))
            case PluginCall() if question.row is not None or not reads_object(atom):
                return _of_plugin(atom, question)
        return atom

    return rebuild(expression, leaf)


def _shared(policy: Policy, subject: Subject, grantees: Iterable[str]) -> Expression:
    roles = policy.roles.shared_as(subject.role, subject.key)
    alternatives: list[Expression] = []
    for grantee in grantees:
        kind, _, name = grantee.partition(":")
        match kind:
            case "role":
                alternatives.append(name in roles)
            case "group":
                alternatives.append(InGroup(name))
            case _:
                alternatives.append(Comparison("==", KEY, grantee))
    return disjunction(alternatives)


def _of_plugin(call: PluginCall, question: HolderQuestion) -> Expression:
    """The answer of a plugin's function that looks at nothing of the caller."""
    read = [Attribute(root, name) for root, name in call.function.reads]
    if any(one not in question.facts for one in read):
        raise Undetermined(call.function.name)
    return bool(call.function.holds(*(question.facts[one] for one in read), *call.literals))


@dataclass(frozen=True)
class _AnyObject:
    """Removes the object from an expression, for a caller of this kind."""

    subject: Subject

    def possible(self, expression: Expression) -> Expression:
        """The condition under which it may hold, for some object."""
        return rebuild(expression, self._possible, self._certain)

    def certain(self, expression: Expression) -> Expression:
        """The condition under which it holds for every object."""
        return rebuild(expression, self._certain, self._possible)

    def _possible(self, atom: Atom) -> Expression:
        if not reads_object(atom):
            return atom
        # No column of the object is missing if it could have a value; an attribute of the caller may be missing.
        if isinstance(atom, InGroup) and atom.prefix:
            return InGroup(Prefixed(atom.prefix, GROUPS))
        return True if isinstance(atom, PluginCall) else conjunction(map(self._there, attributes(atom)))

    @staticmethod
    def _certain(atom: Atom) -> Expression:
        return False if reads_object(atom) else atom

    def _there(self, attribute: Attribute) -> Expression:
        if attribute.root == "obj" or (attribute in (ID, KEY) and not self.subject.is_guest):
            return True
        return Comparison("==", attribute, attribute)


def of_user(expression: Expression, id: str, department: str | None, own: Iterable[str]) -> Expression:
    """The rest of an expression for one user in the groups `own`. It reads the environment alone."""
    return _of_caller(expression, {ID: id, KEY: f"user:{id}", DEPARTMENT: department}, frozenset(own))


def of_guest(expression: Expression) -> Expression:
    """The rest of an expression for guests."""
    return _of_caller(expression, {ID: None, KEY: GUEST, DEPARTMENT: None}, frozenset())


def _of_caller(expression: Expression, facts: Facts, own: frozenset[str]) -> Expression:
    rest = put(expression, {**facts, GROUPS: "some" if own else None})
    # The values of `known` may name a group, too.
    about_groups: dict[Input, Value] = {InGroup(name): name in own for name in groups(rest)}
    about_groups |= {atom: any(name.startswith(atom.prefix) for name in own) for atom in atoms(rest)
                     if isinstance(atom, InGroup) and atom.prefix}
    return put(rest, about_groups)
