"""Two identical instances, which then differ in one value that a caller may not see."""

from __future__ import annotations

import hashlib
import itertools
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any
from unittest import mock

from flask import Flask

from blueprints.policy import circumstances
from gatepost.collections.plugins.discovery import discover
from gatepost.http.operations import write_probe
from gatepost.http.request import environment, identity
from gatepost.http.security.keys import create_key_file
from models import migrate
from models.base import Record, new_id
from models.engine.connect import open_database
from models.records import ids, times
from models.records.table import Table
from models.tables.audit import Audit, append_missing
from models.tables.comment import Comment
from models.tables.order import Order
from models.tables.product import Product
from models.tables.service_token import ServiceToken
from models.tables.user import User
from tests import apps
from tests.apps import Caller, Given, close, log_in, make_app, new_instance
from tests.http.resources.letters.letters import Letter, Letters
from tests.rule_files import edit

OWNED = {"articles": "article", "orders": "order", "products": "product", "pages": "page", "comments": "comment",
         "categories": "category"}
_MORE = {"article": ("import", "submit", "publish", "archive"), "order": ("approve", "cancel", "ship"),
         "product": ("import", "publish", "archive"), "page": ("import", "publish", "archive"),
         "comment": ("import", "approve", "reject"), "category": ("import",)}
_VIEWED = {"order": ("view_total",), "product": ("view_stock",), "comment": ("view_owner",)}
CONDITIONS = ("    p.when == 'in_sales' && r.sub.department == 'sales' || \\\n"
              "    p.when == 'of_atlas' && inGroup(r.sub, 'atlas') || \\\n"
              "    p.when == 'for_sales' && r.obj.department == 'sales' || \\\n")
# Broad permissions, so that only the hiding of fields protects them. No condition reads a row's hidden field.
RULES = {
    "users.csv": "".join(f"p, support, user.{verb}, always, allow\n" for verb in (
        "update", "delete", "disable", "enable", "export", "import", "share", "create")),
    **{f"{path}.csv": f"p, guest, {resource}.export, always, allow\n" + "".join(
        f"p, support, {resource}.{verb}, always, allow\n" for verb in (
            "view", "create", "update", "delete", "share", *_MORE[resource])) + "".join(
        f"p, guest, {resource}.{verb}, own, allow\n" for verb in _VIEWED.get(resource, ()))
       for path, resource in OWNED.items()},
    "admin.csv": "p, support, audit.view, always, allow\np, support, stats.view, always, allow\n",
    "letters.csv": "p, user, letter.view, always, allow\np, user, letter.create, always, allow\n"
                   "p, user, letter.update, always, allow\np, user, letter.export, always, allow\n"
                   "p, user, letter.import, always, allow\np, manager, letter.view_code, always, allow\n",
    # Rules for `explain`: each reads a property of the user in the question.
    "roles.csv": "g, member, user\ng, support, member\n",
    "own.csv": "p, member, page.archive, in_sales, allow\np, member, article.approve, of_atlas, allow\n"
               "p, member, category.create, for_sales, allow\n",
}
FACTS = ('{"fields":["role"]}', '{"fields":["owner_id"]}')  # the audit log is never changed: they differ from the start
SCOPES = ("write:users", "write:articles", "write:orders", "read:comments")


class Clock:
    """Time and random numbers of its thread: the same moment always gives the same values."""

    def __init__(self) -> None:
        self._start, self._thread = time.time_ns() // 10**9 * 10**9, threading.get_ident()
        self.at(0)

    def at(self, moment: int) -> None:
        """Sets the moment. Each request has its own, a hundredth of a second after the previous one."""
        self._moment, self._ticks = moment, 0

    def time_ns(self) -> int:
        if threading.get_ident() != self._thread:
            return time.time_ns()
        self._ticks += 1
        return self._start + self._moment * 10**7 + self._ticks * 1000

    def time(self) -> float:
        return self.time_ns() / 10**9

    def urandom(self, size: int) -> bytes:
        return hashlib.shake_256(str(self.time_ns()).encode()).digest(size)

    def token_urlsafe(self, size: int) -> str:
        return self.urandom(size).hex()

    @contextmanager
    def ticking(self) -> Iterator[Clock]:
        """Makes ids, times and secrets from this clock."""
        clock = self

        class Moment(datetime):
            @classmethod
            def now(cls, tz: Any = None) -> datetime:
                return datetime.fromtimestamp(clock.time(), tz)

        with ExitStack() as stack:
            for module, name, value in ((ids, "time", self), (ids, "urandom", self.urandom), (times, "time", self),
                                        (times, "datetime", Moment), (environment, "datetime", Moment),
                                        (circumstances, "datetime", Moment), (identity, "secrets", self),
                                        (write_probe, "monotonic", lambda: 0.0)):
                stack.enter_context(mock.patch.object(module, name, value))
            yield self


@dataclass(frozen=True)
class Secret:
    """The differing value: `column` of the row `id` is `values[0]` on one instance and `values[1]` on the other.

    path  the collection of the row
    """

    path: str
    model: type[Table]
    column: str
    id: str
    values: tuple[Any, Any]

    def __str__(self) -> str:
        return f"{self.path}.{self.column}"


@dataclass
class Twin:
    """One of the two instances: its app, its rows, and its callers."""

    app: Flask
    given: Given
    rows: dict[str, Record] = field(default_factory=dict)
    callers: dict[str, Caller] = field(default_factory=dict)

    def hold(self, secret: Secret, value: Any) -> None:
        """Stores a value of the secret, unless it is an audit event, which nothing changes."""
        if secret.model is Audit:
            return
        column = secret.model._meta.fields[secret.column]
        self.given.database.transact(
            lambda: secret.model.update({column: value}).where(secret.model.id == secret.id).execute())

    def settle(self) -> None:
        """Stores the waiting audit events now."""
        self.app.extensions["gatepost"].audit_writer.flush(early=True)

    def enter(self) -> None:
        """Logs all callers in again, because access tokens last only minutes."""
        names = {"user": "reader", "mate": "mate", "support": "support", "developer": "developer", "foreign": "foreign"}
        self.callers = {name: log_in(self.app, self.rows[row]) for name, row in names.items()}  # type: ignore[arg-type]
        self.callers["guest"] = Caller(self.app.test_client())
        self.callers["scoped"] = log_in(self.app, self.rows["support"],  # type: ignore[arg-type]
                                        scope=" ".join(SCOPES))
        id, secret = new_id(), "s" * 43
        self.given.row(ServiceToken(id=id, name="A program", token_hash=identity.hashed(secret), scopes=list(SCOPES),
                                    owner_id=self.rows["support"].id, expires_at=times.later(86_400)))
        self.callers["service"] = Caller(self.app.test_client(), None, f"gp_{id}_{secret}")


@contextmanager
def twins(folder: Path, urls: Sequence[str], clock: Clock) -> Iterator[tuple[Twin, Twin]]:
    """Two instances on two empty databases, with the same keys, rules, rows and ids."""
    made: list[Twin] = []
    keys = folder / "secret.key"
    keys.parent.mkdir(parents=True, exist_ok=True)
    create_key_file(keys)
    try:
        for number, url in enumerate(urls):
            database = open_database(url, pool_size=1, synchronous="normal", statement_timeout=10)
            migrate.upgrade(database, discover([Letters]).migrations)
            database.close_all()
            clock.at(1)
            instance = new_instance(folder / str(number), url, "default", "other", keys=keys)
            edit(instance / "policies", CONDITIONS, RULES)
            app = make_app(instance, url, [Letters], explain_refusals="self")
            services = app.extensions["gatepost"]
            services.cursors._clock = clock.time
            services.background._tasks = ()  # the audit log is stored here, between two requests
            made.append(Twin(app, Given(app, "default")))
            made[-1].rows = _rows(made[-1], clock, number)
        first, second = made
        yield first, second
    finally:
        for twin in made:
            close(twin.app)


def _rows(twin: Twin, clock: Clock, number: int) -> dict[str, Record]:
    """Creates the same rows on each instance: `eve`, who owns them, and the callers."""
    clock.at(2)
    given = twin.given
    with mock.patch.object(apps, "_numbers", itertools.count(1)):
        eve = given.user("member", name="Eve", email="eve@example.org", department="sales", groups=["atlas"])
        found: dict[str, Record] = {"users": eve, "eve": eve}
        for name in ("reader", "mate", "support", "developer"):
            found[name] = given.user("user" if name in ("reader", "mate") else name, name=name.capitalize(),
                                     email=f"{name}@example.org", department="harbour")
        found["foreign"] = Given(twin.app, "other").user("editor", name="Foreign", email="foreign@example.org")
        whose: dict[str, Any] = {"owner_id": eve.id, "department": "sales"}
        found["categories"] = given.category(**whose)
        found["articles"] = given.article(category_id=found["categories"].id, **whose)
        found["products"] = given.product(category_id=found["categories"].id, **whose)
        found["pages"] = given.page(**whose)
        found["comments"] = given.comment(article_id=found["articles"].id, **whose)
        found["orders"] = given.order(product=found["products"], **whose)  # type: ignore[arg-type]
        found["letters"] = given.row(Letter(text="Dear Eve", code="A1", place="shelf"))
        for path, resource in OWNED.items():
            another = getattr(given, resource)(owner_id=found["reader"].id, department="harbour")
            given.share(resource, another, "group:atlas", "manage")
            found[f"another {resource}"] = another
            given.share(resource, found[path], f"user:{found['mate'].id}", "manage")
        given.share("page", found["pages"], "group:atlas", "write")
        found["eva"] = given.user("user", name="Eve", email="another@example.org", department="sales")
        noted = Audit(id=new_id(), time=times.now(), tenant_id=given.tenant_id, principal=f"user:{eve.id}",
                      role="member", action="update", resource="article", resource_id=found["articles"].id,
                      result="refused", facts=FACTS[number])
        given.database.transact(lambda: append_missing([noted]))
    return found


def secrets_of(twin: Twin) -> list[Secret]:
    """Returns a secret for every field that is hidden from the callers, with a row that has the field."""
    eve = twin.rows["eve"].id
    people: dict[str, tuple[Any, Any]] = {
        "email": ("eve@example.org", "eva@example.org"), "department": ("sales", "harbour"),
        "groups": (["atlas"], []), "active": (True, False), "version": (3, 8),
        "created_at": ("2026-01-02T03:04:05.000000Z", "2025-11-12T13:14:15.000000Z"),
        "updated_at": ("2026-10-02T03:04:05.000000Z", "2026-10-12T13:14:15.000000Z")}
    found = [Secret("users", User, column, eve, values) for column, values in people.items()]
    found += [Secret("users", User, "department", eve, (None, "sales")),
              Secret("users", User, "created_at", eve, ("2999-01-02T03:04:05.000000Z", people["created_at"][0]))]
    for path in OWNED:
        row = twin.rows[path]
        found += [Secret(path, type(row), "department", row.id, values)
                  for values in (("sales", "harbour"), (None, "sales"))]
    found += [Secret("orders", Order, "total", twin.rows["orders"].id, (1999, 2999)),
              Secret("products", Product, "stock", twin.rows["products"].id, (900, 950)),
              Secret("comments", Comment, "owner_id", twin.rows["comments"].id, (eve, twin.rows["eva"].id))]
    found.append(Secret("letters", Letter, "code", twin.rows["letters"].id, ("A1", "B2")))
    with twin.given.database.connected():
        noted = Audit.get(Audit.tenant_id == twin.given.tenant_id)
    return [*found, Secret("audit", Audit, "facts", noted.id, FACTS)]
