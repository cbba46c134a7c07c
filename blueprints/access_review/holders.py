"""Holders of permissions: active users of one tenant, and guests, as far as the viewer may view users.

One condition on users covers all roles. One more statement reads the users whom rules name, and each of these is
checked alone. Owners of service tokens are checked likewise if rules treat tokens and logins differently. So the
number of statements does not depend on the number of users.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import and_, or_
from typing import Any, cast

import peewee as pw

from gatepost.http.request.access import Access, Narrowing
from gatepost.http.request.active import active, is_active
from gatepost.http.request.implied import ImpliedRequests
from gatepost.http.request.on_users import OnUsers, names_one
from models.base import Record, Rows
from models.engine.database import Database
from models.tables import share
from models.tables.audience import Users
from models.tables.service_token import ServiceToken
from models.tables.user import User
from policies import Policy, Principal
from policies.comparison.subjects import Lines, Subject
from policies.comparison.substitution import Value
from policies.evaluation.grants import ALWAYS_WORD
from policies.evaluation.plan import branches
from policies.evaluation.sql import Where, not_true
from policies.questions.holders import HolderQuestion, line_holds, of_guest, of_user, somewhen, whenever
from policies.syntax.attributes import REQUESTS
from policies.syntax.expression import (
    DEPARTMENT,
    GROUPS,
    KIND,
    Comparison,
    Expression,
    attributes,
    conjunction,
    disjunction,
    text,
)
from policies.syntax.roles import ADMIN, GUEST
from policies.syntax.rules import Rule

GUARDED = frozenset((DEPARTMENT, GROUPS))  # what conditions look at of callers that not everybody may see
SEEN = frozenset(one.name for one in GUARDED)
_BY_TOKEN = Comparison("==", KIND, "service")


@dataclass(frozen=True)
class Reason:
    """The reason why a user may do it: a rule that allows it, and its condition as in model.conf; None: always."""

    line: Rule | None
    when: str | None


@dataclass(frozen=True, eq=False)
class _Given:
    """The condition under which a caller has the permissions, and the rules about the last of them."""

    goal: Expression
    subject: Subject
    rules: Lines


class Holders:
    """The callers who have the permissions of `question`.

    viewer   caller: only users that they may view count, and conditions read no hidden fields; None: all
    guards   field of a user → the permission that shows it
    ranks    roles that may do it by rank; None: rank does not matter
    guests   true if guests act in the tenant
    certain  true if a user counts only if the viewer may see that the user is active; otherwise a user whose state is
             hidden from the viewer counts as active
    """

    def __init__(self, database: Database, policy: Policy, question: HolderQuestion, *, viewer: Access | None = None,
                 guards: Mapping[str, str] | None = None, ranks: Collection[str] | None = None,
                 guests: bool = True, certain: bool = False,
                 tokens: Callable[[], Iterable[ServiceToken]] | None = None) -> None:
        self._database, self._policy, self._question = database, policy, question
        self._viewer, self._guards, self._ranks, self._has_guests = viewer, guards or {}, ranks, guests
        self._certain, self._tokens = certain, tokens
        self._users = Users(database.dialect)
        self._writer = OnUsers(self._users)
        self._by_caller: dict[tuple[object, ...], _Given] = {}
        self._allowing_rules: dict[_Given, list[tuple[Rule, Expression]]] = {}
        self._memory: dict[Expression, Expression] = {}

    @property
    def permissions(self) -> tuple[str, ...]:
        """The permissions that each of them has."""
        return self._question.permissions

    @cached_property
    def narrowing(self) -> Narrowing | None:
        """The users, as what a list is narrowed by; None where there can be none. Raises Undetermined."""
        view = None if self._viewer is None else self._viewer.narrow("user.view", User)
        if self._viewer is not None and view is None:
            return None
        branches = [*self._of_roles(), *self._of_persons(), *self._of_tokens()]
        if not branches:
            return None
        denies, values = active(User, self._viewer, self._guards, certain=self._certain)
        if view is not None:
            denies.append(view.where.expression())
            values |= view.values
        if self._seen is not None:
            values |= self._seen.values
        return Narrowing(Where(tuple(allow for allow, _ in branches), tuple(denies),
                               tuple(by_id for _, by_id in branches)), values)

    def permits(self, user: User) -> bool:
        """True if a user of the tenant, whom the viewer may view, is one of them."""
        return is_active(user, self._viewer, self._guards, certain=self._certain) and self._may(user)

    def reason(self, user: Mapping[str, Any]) -> Reason:
        """The reason why one of these users may. Of `user` it reads id, role, department and groups.

        A user without the last two is one whose department and groups the viewer may not see. Alternatives that look at
        them are left out then, because the reason that is given would reveal them.
        """
        if self._programs is not None and not self._lets_in(user) and self._programs._lets_in(user):
            return self._programs._reason(*_about(user), always=_BY_TOKEN)
        return self._reason(*_about(user))

    def lets_in_tokens(self, user: Mapping[str, Any]) -> bool:
        """Returns true if tokens whose scopes suffice may do it for one of these users, given as in `reason`."""
        return self._programs is None or self._programs._lets_in(user)

    def _lets_in(self, user: Mapping[str, Any]) -> bool:
        subject, about = _about(user)
        return self._settled(about(self._goal(subject)), subject) is not False

    @cached_property
    def guests(self) -> Reason | None:
        """Why guests may; None where they may not."""
        subject = Subject(GUEST)
        if not self._has_guests or self._ranks is not None:
            return None
        if self._settled(of_guest(self._goal(subject)), subject) is False:
            return None
        return self._reason(subject, of_guest)

    def _reason(self, subject: Subject, about: Callable[[Expression], Expression], always: Expression = True) -> Reason:
        """`always` is a condition that stands before the others."""
        given = self._given(subject)
        line = next((rule for rule, condition in self._allowing(given)
                     if self._settled(about(condition), subject) is not False), None)
        condition = conjunction((always, about(given.goal)))
        return Reason(line, None if isinstance(condition, bool) else text(condition))

    def _allowing(self, given: _Given) -> list[tuple[Rule, Expression]]:
        """Returns the rules that allow it, with the condition of each.

        Those that always match come first, because they explain more than one for some objects or times.
        """
        if given not in self._allowing_rules:
            lines = [(rule, line_holds(self._policy, given.subject, self._question, condition))
                     for rule, condition in given.rules if rule.eft == "allow"]
            lines.sort(key=lambda one: one[0].when != ALWAYS_WORD)
            self._allowing_rules[given] = [(rule, condition) for rule, condition in lines if condition is not False]
        return self._allowing_rules[given]

    def _of_roles(self) -> Iterable[tuple[pw.Expression, bool]]:
        """A condition for all roles that are given the same, and whether it names users."""
        alike: dict[Expression, list[str]] = {}
        for role in self._policy.roles.of_users:
            if self._ranks is None or role in self._ranks:
                subject = Subject(role)
                alike.setdefault(self._settled(self._goal(subject), subject), []).append(role)
        others = not_true(self._users.among([*self._persons])) if self._persons else None
        for condition, roles in alike.items():
            alternatives = branches(condition)
            for sought in (True, False):
                mine = [one for one in alternatives if (one is not True and names_one(one)) is sought]
                written = [one for one in map(self._written, mine) if one is not None]
                if written and condition is not False:
                    parts = [User.role.in_(roles), *([] if others is None else [others])]
                    if not any(one is True for one in written):
                        parts.append(reduce(or_, written))
                    yield cast(pw.Expression, reduce(and_, parts)), sought

    def _written(self, condition: Expression) -> Any:
        """Returns the SQL of one alternative; None if it reads a field that is hidden from the viewer for all users."""
        if condition is True:
            return True
        clause = self._writer.expression(condition)
        if self._viewer is None or not _looks_at_guarded(condition):
            return clause
        return None if self._seen is None else clause & self._seen.where.expression()

    @cached_property
    def _seen(self) -> Narrowing | None:
        """The users of whom the viewer may see everything that conditions look at."""
        if self._viewer is None:
            return None
        needed = {self._guards[one.name] for one in GUARDED if one.name in self._guards}
        narrowings = [self._viewer.narrow(permission, User) for permission in needed]
        return narrowings[0] if len(narrowings) == 1 else None

    def _of_persons(self) -> Iterable[tuple[pw.Expression, bool]]:
        allowed = [id for id, may in self._persons.items() if may]
        if allowed:
            yield cast(pw.Expression, self._users.among(allowed)), True

    def _of_tokens(self) -> Iterable[tuple[pw.Expression, bool]]:
        """The users whom a service token alone lets in."""
        if self._programs is None or self._tokens is None:
            return
        owners = {token.owner_id for token in self._tokens() if self.covers(token)}
        rows = Rows(User, self._question.tenant_id).select().where(self._users.among([*owners]))
        if ids := [user.id for user in rows if not self._may(user) and self._programs._may(user)]:
            yield cast(pw.Expression, self._users.among(ids)), True

    def covers(self, token: ServiceToken) -> bool:
        """Returns true if the scopes of a token suffice."""
        holder = Principal(token.owner_id, f"user:{token.owner_id}", "user", self._question.tenant_id, kind="service",
                           scopes=frozenset(token.scopes))
        return all(self._policy.covers(holder, permission) for permission in self._question.permissions)

    @cached_property
    def _programs(self) -> Holders | None:
        """Returns the same question about tokens instead of logins.

        It is None if tokens do not count, or if no rule reads the kind of the caller, or their login.
        """
        reads = self._policy.looks_at(self._question.permissions)
        if self._tokens is None or (KIND.name not in reads.sub and not reads.login):
            return None
        return Holders(self._database, self._policy, replace(self._question, kind="service"), viewer=self._viewer,
                       guards=self._guards, ranks=self._ranks, certain=self._certain)

    @cached_property
    def _persons(self) -> Mapping[str, bool]:
        """The users with lines of their own, by id, and whether they may."""
        keys = [key for key in self._policy.persons if self._is_apart(key)]
        if not keys:
            return {}
        mine = self._users.among([key.removeprefix("user:") for key in keys])
        rows = Rows(User, self._question.tenant_id).select().where(mine)
        return {user.id: self._may(user) for user in rows}

    def _is_apart(self, key: str) -> bool:
        return not self._policy.permissions_of_lines(key).isdisjoint(self._question.permissions)

    def _may(self, user: User) -> bool:
        if user.role not in self._policy.roles.of_users or (self._ranks is not None and user.role not in self._ranks):
            return False
        subject = Subject(user.role, f"user:{user.id}")
        goal = self._goal(subject)
        seen = self._viewer is None or not _looks_at_guarded(goal) or all(
            self._viewer.allows(self._guards[one.name], user.__data__) for one in GUARDED)
        return any(self._settled(of_user(one, user.id, user.department, user.groups), subject) is not False
                   for one in branches(goal) if seen or not _looks_at_guarded(one))

    def _goal(self, subject: Subject) -> Expression:
        return self._given(subject).goal

    def _given(self, subject: Subject) -> _Given:
        """Returns the conditions for a caller. Callers with the same rules share one computation."""
        apart = subject.key is not None and self._is_apart(subject.key)
        reaching = [self._policy.matching_rules(subject.role, subject.key if apart else None, permission)
                    for permission in self._question.permissions]
        lent = self._policy.roles.closure(subject.key) - {subject.key} if subject.key and apart else frozenset[str]()
        key = (subject.role, lent, *(
            tuple((rule.place, rule.eft, condition) for rule, condition in lines) for lines in reaching)
        ) if apart else (subject.role,)
        if key not in self._by_caller:
            alike = subject if apart else Subject(subject.role)
            self._by_caller[key] = _Given(whenever(self._policy, alike, self._question), alike, reaching[-1])
        return self._by_caller[key]

    def _settled(self, goal: Expression, subject: Subject) -> Expression:
        if goal not in self._memory:
            self._memory[goal] = somewhen(goal, self._policy, subject, self._question.permissions[-1])
        return self._memory[goal]


def _about(user: Mapping[str, Any]) -> tuple[Subject, Callable[[Expression], Expression]]:
    """The subject that a user is, and what is left of an expression for them, as far as the viewer may see them."""
    hidden = not user.keys() >= SEEN

    def about(expression: Expression) -> Expression:
        rest = disjunction(one for one in branches(expression) if not _looks_at_guarded(one)) if hidden else \
            expression
        return of_user(rest, user["id"], user.get("department"), user.get("groups", ()))

    return Subject(user["role"], f"user:{user['id']}"), about


def _looks_at_guarded(condition: Expression) -> bool:
    return any(one in GUARDED for one in attributes(condition))



def asked_about(requests: ImpliedRequests, row: Record | None, tenant_id: str, environment: Mapping[str, Value], *,
                each: bool = False, shares: Sequence[tuple[str, str]] | None = None,
                login: Mapping[str, Value] | None = None) -> HolderQuestion:
    """Returns the question that these requests put to the policy.

    row          row of the requests; None: any object
    environment  known attributes besides the method
    each         true if each of the requests must be allowed, and not just one
    shares       (grantee, right) of the row's shares; None: they are read from the database
    login        known attributes of the users' login, the others are missing; None: any login
    """
    permission = requests.needed[-1]
    constants, methods = {**environment}, requests.methods
    if len(methods) == 1:
        constants |= {"method": methods[0], "request": REQUESTS[methods[0]]}
        methods = ()
    if shares is None:
        resource = permission.partition(".")[0]
        shares = () if row is None else share.in_effect(tenant_id, resource, [row.id]).get(row.id, ())
    return HolderQuestion(permissions=requests.needed, tenant_id=tenant_id, row=None if row is None else row.__data__,
                 shares=shares, environment=constants, methods=methods, each=each, login=login)


def ranks(policy: Policy, permission: str, collection: Any, row: Record | None) -> frozenset[str] | None:
    """The roles that may decide about the user that a row is; None where rank does not matter."""
    if not isinstance(row, User) or not collection.restricted(permission.partition(".")[2]):
        return None
    roles = policy.roles
    return frozenset(one for one in roles.of_users if one == ADMIN or (
        row.role in roles.of_users and row.role in roles.closure(one)))
