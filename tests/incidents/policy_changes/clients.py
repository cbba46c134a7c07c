"""Callers of several roles that write while policies change, and record the answer to each request."""

from __future__ import annotations

import http.client
import itertools
import json
import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import sleep
from typing import Any
from urllib.parse import urlsplit

from models.base import new_id
from tests.running import PASSWORD, Instance, Served

PAUSE = 0.1  # seconds at most between two requests of a caller
AGAIN = 0.1  # seconds until a caller without an answer sends the request again
MOST_KEPT = 20  # articles of one caller


@dataclass(frozen=True)
class Answered:
    """The answer to one request: its id, status and problem code. `principal` is the caller as the audit log names it.

    `status` is None if no answer came.
    """

    id: str
    principal: str
    status: int | None = None
    code: str | None = None


@dataclass
class Shop:
    """Objects to write to: ids of products, and ids of articles by owner. All callers share them."""

    products: list[str] = field(default_factory=list)
    articles: dict[str, list[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Caller:
    """A caller that writes: `principal` as the audit log names it, credentials, and the address of its connections."""

    name: str
    principal: str
    token: str | None = None
    source: str = "127.0.0.1"

    @property
    def is_guest(self) -> bool:
        return self.token is None


Request = tuple[str, str, Any]
"""Method, path and body."""


class Client:
    """One caller in a thread of its own. `answers` has all answers to it.

    where  returns the URL of the service, None while none runs
    """

    def __init__(self, caller: Caller, where: Callable[[], str | None], shop: Shop, chance: random.Random) -> None:
        self._caller, self._where, self._shop, self._chance = caller, where, shop, chance
        self._connection: http.client.HTTPConnection | None = None
        self._own = shop.articles.setdefault(caller.name, [])
        self._numbers = itertools.count()
        self.answers: list[Answered] = []

    def work(self, stop: threading.Event) -> None:
        """Sends requests until `stop` is set."""
        while not stop.wait(self._chance.uniform(0, PAUSE)):
            self._ask(*self._next())
            if self._chance.random() < 0.1:
                self._hang_up()  # the next connection may lead to another worker
        self._hang_up()

    def _next(self) -> Request:
        ways: list[Callable[[], Request]] = [
            self._new_product, self._new_article, self._change_product, self._change_product, self._change_another,
            self._delete_product, self._absent]
        if self._caller.is_guest:
            ways = [self._message, self._message, self._change_product, self._delete_product, self._change_another]
        elif self._caller.name.startswith("owner"):
            ways.append(self._new_administrator)
        if self._own:
            ways += [self._change_own, self._change_own]
        if len(self._own) > MOST_KEPT // 2:
            ways += [self._delete_own] * 2
        return self._chance.choice(ways)()

    def _new_product(self) -> Request:
        return "POST", "/api/products", a_product(self._chance)

    def _change_product(self) -> Request:
        changes: dict[str, Any] = {"price": self._chance.randrange(10_000)}
        if self._chance.random() < 0.5:
            changes = {"stock": self._chance.randrange(100)}
        return "PATCH", f"/api/products/{self._chance.choice(self._shop.products)}", changes

    def _delete_product(self) -> Request:
        # Most of them stay, for the other callers.
        ids = self._shop.products[40:] or [new_id()]
        return "DELETE", f"/api/products/{self._chance.choice(ids)}", None

    def _new_article(self) -> Request:
        slug = f"{self._caller.name}-{next(self._numbers)}-{new_id()[-12:]}"
        return "POST", "/api/articles", {"title": "Told", "slug": slug, "body": "text"}

    def _change_own(self) -> Request:
        return "PATCH", f"/api/articles/{self._chance.choice(self._own)}", {"title": f"No. {next(self._numbers)}"}

    def _delete_own(self) -> Request:
        return "DELETE", f"/api/articles/{self._own.pop(0)}", None

    def _change_another(self) -> Request:
        found = [id for ids in self._shop.articles.values() for id in ids[:MOST_KEPT]] or [new_id()]
        return "PATCH", f"/api/articles/{self._chance.choice(found)}", {"title": "Not mine"}

    def _absent(self) -> Request:
        return "DELETE", f"/api/products/{new_id()}", None

    def _message(self) -> Request:
        return "POST", "/api/contact", {"name": "A guest", "email": "guest@example.org", "subject": "S", "body": "B"}

    def _new_administrator(self) -> Request:
        return "POST", "/api/users", {"name": "N", "email": f"{new_id()}@example.org", "password": PASSWORD,
                                      "role": "admin"}

    def _ask(self, method: str, path: str, body: Any) -> None:
        id = new_id()
        headers = {"X-Request-ID": id, "Content-Type": "application/json"}
        if self._caller.token is not None:
            headers["Authorization"] = f"Bearer {self._caller.token}"
        try:
            if self._connection is None:
                self._connection = self._connect()
            self._connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = self._connection.getresponse()
            told = json.loads(answer.read() or b"null")
        except (OSError, http.client.HTTPException, ValueError):
            self._hang_up()
            self.answers.append(Answered(id, self._caller.principal))
            sleep(AGAIN)
            return
        self.answers.append(Answered(id, self._caller.principal, answer.status,
                                     told.get("code") if answer.status >= 400 else None))
        if answer.status == 201 and path in ("/api/products", "/api/articles"):
            (self._own if path == "/api/articles" else self._shop.products).append(told["id"])

    def _connect(self) -> http.client.HTTPConnection:
        if (url := self._where()) is None:
            raise ConnectionError("nothing is served")
        where = urlsplit(url)
        return http.client.HTTPConnection(str(where.hostname), where.port, timeout=60,
                                          source_address=(self._caller.source, 0))

    def _hang_up(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def a_product(chance: random.Random) -> dict[str, Any]:
    """A new product of any price."""
    return {"name": "P", "sku": new_id(), "price": chance.randrange(10_000), "currency": "EUR"}


def opened(instance: Instance, server: Served, shop: Shop, chance: random.Random) -> list[Caller]:
    """The callers, and the shop filled: three guests, users, support, an owner, an administrator, two programs."""
    admin = server.log_in()
    for number in range(40):
        status, made = server.call("POST", "/api/products", a_product(chance), admin)
        assert status == 201, made
        shop.products.append(made["id"])
        if number % 3:
            assert server.call("POST", f"/api/products/{made['id']}/publish", None, admin)[0] == 200
    callers = [Caller(f"guest-{number}", "guest", None, f"127.0.0.{number}") for number in (2, 3, 4)]
    for name in ("user-1", "user-2", "user-3", "user-4", "support-1", "owner-1"):
        email, role = f"{name}@example.org", name.partition("-")[0]
        done = instance.run("user", "add", email, "--role", role, "--password-file", "-", input=PASSWORD)
        assert done.returncode == 0, done.stderr
        callers.append(_logged_in(server, name, email))
    callers.append(_logged_in(server, "admin", "admin@example.org"))
    for owner, scopes in (("user-1", ["write:articles"]), ("admin", ["write:products"])):
        of = next(one for one in callers if one.name == owner)
        status, made = server.call("POST", "/api/tokens", {"name": "A program", "scopes": scopes}, of.token)
        assert status == 201, made
        callers.append(Caller(f"program-of-{owner}", of.principal, made["token"]))
    return callers


def _logged_in(server: Served, name: str, email: str) -> Caller:
    token = server.log_in(email)
    status, me = server.call("GET", "/api/profile", token=token)
    assert status == 200, me
    return Caller(name, f"user:{me['id']}", token)


@contextmanager
def working(clients: list[Client]) -> Iterator[None]:
    """Runs all callers until the block ends."""
    stop = threading.Event()
    threads = [threading.Thread(target=client.work, args=(stop,)) for client in clients]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join(timeout=90)
