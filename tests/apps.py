"""A served app for the tests: its callers, its rows, and scenarios as rows of a table.

`app` is `create_app` on a new instance with the shipped policies, for each module and on each database. `as_role` and
`as_user` return callers who are logged in (by a session and a token, so that no password is hashed). `given` and
`elsewhere` put rows into the default tenant and into another one, without HTTP and without the policy. Authorisation is
on in every test.
"""

from __future__ import annotations

import ast
import itertools
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache, lru_cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

import pytest
from argon2 import PasswordHasher
from casbin.util import builtin_operators, expression
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from app import create_app
from blueprints.backups import schedule
from gatepost.collections.plugins import discovery
from gatepost.http.operations import deprecation
from gatepost.http.request.call import Services
from gatepost.http.security import known_keys, passwords
from gatepost.http.security.keys import Keys, create_key_file
from gatepost.testing import Caller, log_in
from gatepost.testing.serving import ABSENT
from models.base import Record, Rows, later, new_id, now
from models.engine.connect import open_database
from models.tables.article import Article
from models.tables.category import Category
from models.tables.comment import Comment
from models.tables.contact import ContactMessage
from models.tables.job import Job
from models.tables.order import Order, OrderItem
from models.tables.page import Page
from models.tables.product import Product
from models.tables.second_factor import SecondFactor
from models.tables.service_token import ServiceToken
from models.tables.session import Session
from models.tables.share import Share
from models.tables.tenant import Tenant
from models.tables.user import User
from policies import Policy
from policies.invariants import report
from policies.loading import loader, oracle
from policies.loading.loader import CASES_FILE, digest, from_files
from policies.loading.oracle import sampled
from policies.loading.rule_sets import FULL, files_of
from policies.syntax.vocabulary import Vocabulary
from policies.wording.finding import Finding
from tests.http.held import HeldClient

ROLES = ("guest", "user", "support", "editor", "moderator", "manager", "developer", "owner", "admin")
PASSWORD = "a long walk along the shore"
SHIPPED_HASHER, SHIPPED_DUMMY = passwords._hasher, passwords._DUMMY
NO_ROW = "01930000-0000-7000-8000-000000000000"  # an id that no row has

T = TypeVar("T", bound=Record)
_numbers = itertools.count(1)


def new_instance(folder: Path, database_url: str, *tenants: str, keys: Path | None = None, rules: str = FULL) -> Path:
    """Creates an instance folder with a key, or a copy of `keys`, and the policies of a shipped rule set.

    Its tenants are in a migrated database.
    """
    (folder / "policies").mkdir(parents=True)
    for name, file in files_of(rules).items():
        if name != CASES_FILE:
            shutil.copy(file, folder / "policies")
    if keys is None:
        create_key_file(folder / "secret.key")
    else:
        shutil.copy(keys, folder)
    database = open_database(database_url, pool_size=1, synchronous="normal", statement_timeout=10)
    with database.connected():
        for name in tenants:
            if Tenant.by_name(name) is None:
                Tenant.add(name)
        # Another instance with other keys may have used the database before.
        known_keys.adopt(database, Keys.load(folder / "secret.key"))
    database.close_all()
    return folder


def make_app(folder: Path, database_url: str, collections: Any = (), **settings: Any) -> Flask:
    """Makes an app for tests on an instance of `new_instance`: no rate limits, no wait for the disk, no job runner."""
    made = create_app({"instance": folder, "database_url": database_url, "rate_limits": "off",
                       "synchronous": "normal", "run_jobs": "off", **settings}, collections)
    made.test_client_class = HeldClient
    return made


@contextmanager
def fresh_registry() -> Iterator[None]:
    """Discovers the shipped collections again, for apps of which a test changes what they serve.

    Other apps of the process share one registry.
    """
    discovery._shipped.cache_clear()
    try:
        yield
    finally:
        discovery._shipped.cache_clear()


def close(app: Flask) -> None:
    """Stops the background threads of the app, and closes its connections."""
    services: Services = app.extensions["gatepost"]
    services.stop()


class Given:
    """Rows in one tenant. Each method creates one; values that are not given are invented."""

    def __init__(self, app: Flask, tenant: str) -> None:
        services: Services = app.extensions["gatepost"]
        self.database, self.tenant = services.database, tenant
        with self.database.connected():
            found = Tenant.by_name(tenant)
            assert found is not None
            self.tenant_id: str = found.id

    def row(self, row: T) -> T:
        """Stores any row."""
        return self.database.transact(lambda: Rows(type(row), self.tenant_id).insert(row))

    def found(self, model: type[T], id: str) -> T | None:
        """Returns the row as it is in the database now."""
        with self.database.connected():
            return Rows(model, self.tenant_id).find(id)

    def user(self, role: str = "user", *, password: str | None = None, **values: Any) -> User:
        """A user. With `password` they can log in; without one they need a token of `as_user`."""
        number = next(_numbers)
        kept = passwords.UNUSABLE if password is None else _hashed(password)
        return self.row(User(**{"name": f"{role} {number}", "email": f"{role}{number}@example.org", "role": role,
                                "password_hash": kept} | values))

    def category(self, **values: Any) -> Category:
        number = next(_numbers)
        return self.row(Category(**{"name": f"Category {number}", "slug": f"category-{number}"} | values))

    def article(self, status: str = "published", **values: Any) -> Article:
        number = next(_numbers)
        published_at = now() if status in ("published", "archived") else None
        return self.row(Article(**{"title": f"Article {number}", "slug": f"article-{number}", "body": "Words.",
                                   "status": status, "published_at": published_at} | values))

    def comment(self, status: str = "approved", **values: Any) -> Comment:
        if "article_id" not in values:
            values["article_id"] = self.article().id
        return self.row(Comment(**{"body": "Well said.", "status": status} | values))

    def page(self, status: str = "published", **values: Any) -> Page:
        number = next(_numbers)
        return self.row(Page(**{"slug": f"page-{number}", "language": "en", "title": f"Page {number}",
                                "body": "Words.", "status": status} | values))

    def product(self, status: str = "active", **values: Any) -> Product:
        number = next(_numbers)
        return self.row(Product(**{"name": f"Product {number}", "sku": f"SKU-{number}", "price": 1999,
                                   "currency": "EUR", "stock": 10, "status": status} | values))

    def order(self, status: str = "pending", *, product: Product | None = None, quantity: int = 1,
              **values: Any) -> Order:
        """An order of one product, whose stock does not change."""
        bought = product or self.product()
        order = self.row(Order(**{"total": bought.price * quantity, "currency": bought.currency,
                                  "status": status} | values))
        self.row(OrderItem(order_id=order.id, position=0, product_id=bought.id, quantity=quantity,
                           unit_price=bought.price))
        return order

    def contact_message(self, **values: Any) -> ContactMessage:
        return self.row(ContactMessage(**{"name": "A reader", "email": "reader@example.org", "subject": "Hello",
                                          "body": "Words."} | values))

    def second_factor(self, owner: User) -> SecondFactor:
        """A second factor of which no code is known."""
        return self.row(SecondFactor(owner_id=owner.id, secret="-", confirmed_at=now()))

    def service_token(self, owner: User, **values: Any) -> ServiceToken:
        """A service token whose secret no test knows."""
        return self.row(ServiceToken(**{"name": "A program", "token_hash": new_id(), "scopes": ["read:articles"],
                                        "owner_id": owner.id} | values))

    def share(self, resource: str, row: Record, grantee: str, right: str = "read") -> Share:
        """A share. `grantee` is `user:<id>`, `group:<name>` or `role:<name>`."""
        return self.row(Share(resource=resource, object_id=row.id, grantee=grantee, right=right))

    def session(self, user: User) -> Session:
        """An open session whose refresh token no test knows."""
        id = new_id()
        return self.row(Session(id=id, owner_id=user.id, family=id, token_hash=new_id(), expires_at=later(86_400),
                                absolute_expires_at=later(86_400)))

    def job(self, state: str = "waiting", **values: Any) -> Job:
        """A job of a kind that nothing runs."""
        return self.row(Job(**{"kind": "articles.export", "state": state, "run_at": now()} | values))


@cache
def _hashed(password: str) -> str:
    return passwords.hash_password(password)


@pytest.fixture(autouse=True, scope="session")
def short_second_opinion() -> Iterator[None]:
    """Makes the first app with a policy ask Casbin one question at its start, not for a tenth of a second.

    Tests start many apps, most of them with the same policy.
    """
    agreed = set[str]()  # versions

    def once(policy: Policy, seconds: float) -> list[Finding]:
        if policy.version in agreed:
            return []
        findings = sampled(policy, most=1)
        agreed.update([] if findings else [policy.version])
        return findings

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(oracle, "sampled", once)
        yield


@pytest.fixture(autouse=True, scope="session")
def casbin_parses_once() -> Iterator[None]:
    """Makes Casbin parse a matcher and a pattern once, not for each question, which took two thirds of its time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(expression, "ast", SimpleNamespace(parse=lru_cache(ast.parse)))
        patch.setattr(builtin_operators, "glob_match", lru_cache(maxsize=10_000)(builtin_operators.glob_match))
        yield


@pytest.fixture(autouse=True, scope="session")
def policies_load_once() -> Iterator[None]:
    """Reads and checks the same files once: most apps and commands of tests have the same policy."""
    kept: dict[Any, Policy] = {}

    def once(files: Mapping[str, bytes], vocabulary: Vocabulary, findings: list[Finding] | None = None, *,
             closing: bool = False) -> Policy:
        if findings:
            return from_files(files, vocabulary, findings, closing=closing)
        key = (digest(files), *files, id(vocabulary), closing, report.broken)  # some tests replace the last one
        if key not in kept:
            if len(kept) >= 20:
                kept.clear()
            kept[key] = from_files(files, vocabulary, closing=closing)  # which keeps the vocabulary, and its id
        policy = copy(kept[key])
        policy.files = dict(policy.files)
        policy._take(policy.rules)  # its own counts and caches
        return policy

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loader, "from_files", once)
        yield


@pytest.fixture(autouse=True, scope="session")
def no_backup() -> Iterator[None]:
    """Starts nothing where an app in this process would start the process of a backup; it takes it for ended."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schedule, "_process", lambda *_: SimpleNamespace(poll=lambda: 0, returncode=0))
        yield


@pytest.fixture(autouse=True, scope="session")
def cheap_passwords() -> Iterator[None]:
    """Hashes passwords in this process with the least memory and work of Argon2, because tests log in often."""
    cheap = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passwords, "_hasher", cheap)
        patch.setattr(passwords, "_DUMMY", cheap.hash("nobody's password"))
        yield


@pytest.fixture
def real_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hashes passwords with the parameters of the service."""
    monkeypatch.setattr(passwords, "_hasher", SHIPPED_HASHER)
    monkeypatch.setattr(passwords, "_DUMMY", SHIPPED_DUMMY)


@pytest.fixture(scope="module")
def instance_folder(database_url: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new instance with the shipped policies and the tenants `default` and `other`."""
    return new_instance(tmp_path_factory.mktemp("served") / "instance", database_url, "default", "other")


@pytest.fixture(scope="module")
def app(instance_folder: Path, database_url: str) -> Iterator[Flask]:
    """The app of one module, on each database. The tests of the module share its rows."""
    made = make_app(instance_folder, database_url)
    yield made
    close(made)


@pytest.fixture
def after_sunset(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets the date after the sunset of all deprecations."""
    class Later(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime(2027, 11, 1, tzinfo=tz)

    monkeypatch.setattr(deprecation, "datetime", Later)


@pytest.fixture
def answers_otherwise() -> Iterator[None]:
    """Allows the service to answer what its OpenAPI document does not promise."""
    with HeldClient.not_held():
        yield


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    """Flask's own test client, without credentials."""
    return app.test_client()


@pytest.fixture(scope="module")
def given(app: Flask) -> Given:
    """Rows in the tenant `default`."""
    return Given(app, "default")


@pytest.fixture(scope="module")
def elsewhere(app: Flask) -> Given:
    """Rows in the tenant `other`."""
    return Given(app, "other")


AsUser = Callable[..., Caller]
AsRole = Callable[..., Caller]


@pytest.fixture(scope="module")
def as_user(app: Flask, given: Given, elsewhere: Given) -> AsUser:
    """`as_user(row)` logs in that user; `as_user("editor", department="news")` a new one.

    `tenant="other"` makes them up in the other tenant, `scope="read:articles"` narrows the access token.
    """
    tenants = {"default": given, "other": elsewhere}

    def caller(who: User | str = "user", *, tenant: str = "default", scope: str = "*", **values: Any) -> Caller:
        user = tenants[tenant].user(who, **values) if isinstance(who, str) else who
        return log_in(app, user, scope=scope)

    return caller


@pytest.fixture(scope="module")
def as_role(app: Flask, as_user: AsUser) -> AsRole:
    """`as_role("editor")`, `as_role("guest")`, `as_role("owner", tenant="other")`: one caller for each, always
    the same within a module."""

    @cache
    def caller(role: str, tenant: str = "default") -> Caller:
        if role == "guest":
            assert tenant == "default", "guests act in the default tenant"
            return Caller(app.test_client())
        return as_user(role, tenant=tenant)

    return caller


@dataclass(frozen=True)
class Scenario:
    """One row of a table: the caller, the request and the answer."""

    name: str
    who: str
    method: str
    path: str
    body: Any = ABSENT
    headers: Mapping[str, str] = field(default_factory=dict)
    status: int = 200
    code: str | None = None

    def play(self, caller: Caller, **names: str) -> TestResponse:
        """Sends the request and checks the answer; `names` fill `{…}` in the path."""
        answer = caller.call(self.method, self.path.format(**names), self.body, self.headers)
        assert answer.status_code == self.status, answer.get_data(as_text=True)
        if self.code is not None:
            assert answer.mimetype == "application/problem+json"
            assert answer.get_json()["code"] == self.code
        return answer


def scenarios(*rows: Scenario) -> pytest.MarkDecorator:
    """Runs a test once for each row, as `scenario`; the names are the tests' ids."""
    return pytest.mark.parametrize("scenario", rows, ids=[row.name for row in rows])
