"""Users of two tenants with their rows and shares, and random policies for them."""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from flask import Flask

from blueprints.policy_changes.affected_rows import RowChange, RowChanges, Scope, compare_rows
from gatepost.http.request.access import Access
from gatepost.http.request.identity import guest, principal_of
from models.base import Record
from models.tables.article import Article
from models.tables.audience import Counts
from models.tables.order import Order
from models.tables.user import User
from policies import Policy, PolicyError
from policies.evaluation.principal import FixedEnvironment
from policies.loading.loader import from_files
from policies.loading.sample import TIMES
from policies.syntax.expression import columns
from policies.syntax.model import read_model
from policies.syntax.vocabulary import Function
from tests.apps import Given
from tests.policies.generated import GROWN, GROWN_CONDITIONS, WHO_AND_WHAT, model

AT = datetime(2026, 11, 23, 12, 0, tzinfo=UTC)
NAMES, MODELS = ("articles", "orders", "users"), {"article": Article, "order": Order, "user": User}
METHODS = {"view": ("GET", "read"), "update": ("PATCH", "write"), "delete": ("DELETE", "write")}
MORE = {
    "not_mine": "r.obj.owner_id != r.sub.id",
    "elsewhere": "!(inGroup(r.sub, 'press')) && r.obj.department != r.sub.department",
    "sales": "r.sub.department == 'sales' && !(inGroup(r.sub, 'press'))",
    "about_me": "r.obj.title == r.sub.id || r.obj.title == r.sub.key",
    "my_tenant": "r.obj.tenant_id == r.sub.tenant_id && r.obj.version > 0",
    "asked": "r.env.request == 'read' && r.sub.kind == 'user' && r.env.device != 'bot'",
    "same_department": "r.obj.department == r.sub.department",
    "shared": "shared(r.sub, r.obj, r.act)",
    "shared_or_own": "shared(r.sub, r.obj, r.act) || r.obj.owner_id == r.sub.id && r.env.hour < 13",
}
MODEL = model(f"{WHO_AND_WHAT} && ({GROWN} || "
              f"{' || '.join(f'p.when == {word!r} && ({condition})' for word, condition in MORE.items())})")
NOTHING_HERE = "p, admin, contact.delete, always, allow"  # a policy without rules is refused
LINKS = ("g, user, guest", "g, editor, user", "g, manager, editor", "g, admin, manager")
WORDS = (*GROWN_CONDITIONS, *MORE)
CONDITIONS = read_model(MODEL.encode())[0].conditions
ROLES = ("guest", "user", "editor")


USERS = int(os.environ.get("USERS", "4"))  # of each role, in each of two tenants


class World:
    """Users of three roles and two tenants, with their rows and rows of others, some of them shared."""

    def __init__(self, app: Flask, given: Given, elsewhere: Given) -> None:
        self.services = app.extensions["gatepost"]
        self.given, self.chance, self.kept = given, random.Random(7), dict[str, list[Record]]()
        for tenant in (given, elsewhere):
            self._fill(tenant)
        with given.database.connected():
            self.rows = {resource: list(table.select()) for resource, table in MODELS.items()}
        self.users = [user for user in self.rows["user"] if isinstance(user, User) and user.active]

    def _fill(self, tenant: Given) -> None:
        some, pick = self.chance, self.chance.choice
        departments = itertools.cycle((None, "sales", "press", "sales"))
        users = [tenant.user(role, department=next(departments), active=number % 4 < 3,
                             groups=some.sample(["press", "sales", "a'b", "head-press"], number % 3))
                 for role in ("user", "editor", "manager", "support") for number in range(USERS)]
        owners = (None, *(user.id for user in users[:6]))
        times = itertools.cycle((*TIMES, "2027-01-01T00:00:00.000000Z"))

        def more() -> dict[str, Any]:
            return {"owner_id": pick(owners), "department": pick((None, "sales", "press")),
                    "version": pick((1, -5, 0, 3)), "created_at": next(times), "updated_at": next(times)}

        rows: list[tuple[str, Record]] = []
        for status in ("draft", "in_review", "published") * 6:
            title = pick(("A title", users[0].id, f"user:{users[1].id}"))
            language = pick(("de", "en", "pt-BR"))
            rows.append(("article", tenant.article(status, title=title, language=language, **more())))
        rows += [("order", tenant.order("pending", **more())) for _ in range(6)]
        grantees = [*(f"user:{user.id}" for user in users), "group:press", "group:a'b", "role:editor", "role:user",
                    "role:guest", "guest"]
        tenant.share(*rows[0], "role:manager")
        for resource, row in some.sample(rows[1:], 18):
            tenant.share(resource, row, pick(grantees), pick(("read", "write", "manage")))

    def policy(self, lines: Iterable[str], links: Iterable[str]) -> Policy:
        """Returns the policy of these lines. Raises PolicyError."""
        files = {"model.conf": MODEL.encode(), "rules.csv": "\n".join((*lines, NOTHING_HERE, "# end\n")).encode(),
                 "roles.csv": "\n".join((*links, "# end\n")).encode()}
        return from_files(files, self.services.registry.vocabulary)

    def changes(self, old: Policy, new: Policy, names: Iterable[str] = NAMES, **scope: Any) -> RowChanges:
        with self.given.database.connected():
            return compare_rows(self.given.database, [self.services.collections[name] for name in names], old, new,
                                Scope(self.given.tenant_id, **scope), AT)

    def edited(self, seed: int) -> tuple[Policy, Policy]:
        """Returns two random policies that differ in a few lines about roles, users and lent roles."""
        chance = random.Random(seed)
        people = [f"user:{user.id}" for user in chance.sample(self.users, 3)]
        known = {resource: [word for word in WORDS if columns(CONDITIONS[word].expression)
                            <= self.services.registry.vocabulary.resources[resource].columns.keys()]
                 for resource in MODELS}

        def line() -> str:
            resource = chance.choice((*MODELS, "article"))
            who = chance.choice((*ROLES, "user", "manager", *people))
            what = chance.choice(("view", "view", "view", "update", "*"))
            effect = chance.choice(("allow", "allow", "allow", "deny"))
            return f"p, {who}, {resource}.{what}, {chance.choice(known[resource])}, {effect}"

        def links() -> list[str]:
            lent = [f"g, {chance.choice(people)}, {chance.choice(('editor', 'manager'))}"] * chance.randint(0, 1)
            return ["g, user, guest", f"g, editor, {chance.choice(('user', 'guest'))}", "g, manager, editor",
                    "g, admin, manager", *lent]

        while True:
            lines = [line() for _ in range(chance.randint(4, 10))]
            edited = [one for one in lines if chance.random() < 0.8]
            edited += [line() for _ in range(chance.randint(0, 2))]
            before = links()
            with suppress(PolicyError):  # for example a user who was lent their own role
                return self.policy(lines, before), self.policy(edited, chance.choice((before, links())))

    def expected(self, old: Policy, new: Policy, permission: str) -> dict[str, tuple[set[Any], set[Any]]]:
        """Key of a user or `guest` → rows that they lose although these stay visible, and rows that they gain."""
        resource, _, verb = permission.partition(".")
        method, request = METHODS[verb]
        env: Any = FixedEnvironment(ip=None).at(AT, UTC).having({"device": None, "method": method, "request": request})

        def allowed(policy: Policy, who: Any, *asked: str) -> set[str]:
            access = Access(policy, who, env)
            return {row.id for row in self.rows[resource] if row.tenant_id == who.tenant_id
                    and all(access.allows(one, row.__data__) for one in asked)}

        view = f"{resource}.view"

        found = {}
        with self.given.database.connected():
            for who in (guest(self.given.tenant_id), *map(principal_of, self.users)):
                before, after = (allowed(policy, who, view, permission) for policy in (old, new))
                gone = before - after if permission == view else (before & allowed(new, who, view)) - after
                found[who.key] = (gone, after - before)
        return found

    def check(self, old: Policy, new: Policy, resources: Iterable[str] = tuple(MODELS)) -> int:
        """Checks the counts of all changes. Returns the number of changes."""
        changes = self.changes(old, new, [f"{one}s" for one in resources])
        assert changes.not_counted == ()
        for resource, verb in itertools.product(resources, METHODS):
            permission = f"{resource}.{verb}"
            said = [one for one in changes.all if one.permission == permission]
            pairs = self.expected(old, new, permission)
            assert sorted(map(repr, said)) == sorted(map(repr, self._told(resource, permission, pairs, said)))
        return len(changes.all)

    def _told(self, resource: str, permission: str, pairs: Mapping[str, tuple[set[Any], set[Any]]],
              said: list[RowChange]) -> Iterator[RowChange]:
        apart = [one.persons for one in said if one.persons]
        roles = {f"user:{user.id}": user.role for user in self.users}
        named = set(itertools.chain(*apart))
        groups = [("guest", (), ["guest"])]
        groups += [(role, (), [key for key in roles if roles[key] == role and key not in named])
                   for role in ("user", "editor", "manager", "support")]
        groups += [(roles.get(keys[0], ""), keys, [key for key in keys if key in roles]) for keys in apart]
        for role, keys, members in groups:
            lost, gained = (self._counts(resource, [pairs[key][side] for key in members], role == "guest")
                            for side in (0, 1))
            if lost.rows or gained.rows:
                yield RowChange(role, tuple(keys), permission, f"{resource}s", lost, gained)

    def _counts(self, resource: str, found: list[set[Any]], guests: bool) -> Counts:
        ids = set[Any]().union(*found)
        owners = {row.owner_id for row in self.rows[resource] if row.id in ids} - {None}
        return Counts(len(ids), len(owners), None if guests else sum(map(bool, found)))


def under(world: World, *rules: str) -> Policy:
    return world.policy([f"p, {rule}" for rule in rules], LINKS)


def of_plugin(world: World, function: Function, rule: bytes) -> Policy:
    """One rule under the conditions `always` and `trusted`, which the function of a plugin answers."""
    text = model(f"{WHO_AND_WHAT} && (p.when == 'always' || p.when == 'trusted' && trusted(r.sub, r.obj, r.env))")
    return from_files({"model.conf": text.encode(), "roles.csv": "\n".join((*LINKS, "# end\n")).encode(),
                       "rules.csv": rule + b"\n# end\n"},
                      replace(world.services.registry.vocabulary, functions={"trusted": function}))
