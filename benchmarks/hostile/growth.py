"""The growth of an instance by one address, or one account: bytes stored by a request, times the allowed requests.

Stored bytes are pages of the database in use, with the log copied in, and the server's own log.
"""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import apsw

from .server import ADMIN, JSON, PASSWORD, Checkout, Served

ADDRESS, PRINCIPAL, TIGHT = 6000, 600, 10  # units a minute, as they are shipped
MINUTES, SECONDS = 24 * 60, 24 * 60 * 60  # of a day
HASHES = 35  # logins a second without another limit: the hashes of two cores
LARGE = "b" * 90_000


@dataclass(frozen=True)
class Growth:
    """Bytes that one request stores, and the number of such requests that a day allows."""

    each: float
    daily: float
    note: str = ""

    def __str__(self) -> str:
        gigabytes = self.each * self.daily / 1e9
        return f"{self.each:>8,.0f} B × {self.daily:>12,.0f} a day = {gigabytes:>8.3f} GB a day  {self.note}"


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: Any

    @property
    def limit(self) -> tuple[str, int]:
        """Returns the limit that the answer names, and its seconds."""
        policy = self.headers.get("ratelimit-policy", '"none";w=60')
        return policy.split('"')[1], int(policy.rpartition("w=")[2])

    @property
    def left(self) -> int:
        return int(self.headers["ratelimit"].partition("r=")[2].partition(";")[0])


def call(served: Served, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None) -> Answer:
    with closing(http.client.HTTPConnection("127.0.0.1", served.port, timeout=60)) as connection:
        connection.request(method, path, None if body is None else json.dumps(body), {**JSON, **(headers or {})})
        answer = connection.getresponse()
        content = answer.read()
        return Answer(answer.status, {name.lower(): value for name, value in answer.getheaders()},
                      json.loads(content) if content else None)


def grown(checkout: Checkout, send: Callable[[Served, int], object], count: int) -> float:
    """Returns the bytes that `count` requests store in total."""
    with checkout.served("waitress"):
        pass  # what a first start leaves
    before = _size(checkout)
    with checkout.served("waitress") as served:
        for number in range(count):
            send(served, number)
    return _size(checkout) - before + served.log.stat().st_size


def refusals_of_long_ids(checkout: Checkout) -> Growth:
    return _refusals(checkout, lambda number: f"{'x' * 16_000}{number}")


def refusals_of_ids(checkout: Checkout) -> Growth:
    return _refusals(checkout, lambda number: str(uuid4()))


def _refusals(checkout: Checkout, id: Callable[[int], str]) -> Growth:
    count = 3000
    left = grown(checkout, lambda served, number: call(served, "DELETE", f"/api/articles/{id(number)}"), count)
    with closing(apsw.Connection(str(checkout.instance / "gatepost.db"))) as database:
        rows = database.execute("SELECT count(*) FROM audit WHERE result = 'refused'").get
    if rows > count / 2:
        return Growth(left / count, ADDRESS * MINUTES)
    return Growth(left / rows, rows * MINUTES, f"{rows} rows a minute, for any number of refusals")


def logins(checkout: Checkout) -> Growth:
    body, count = {"email": ADMIN, "password": PASSWORD}, 50
    with checkout.served("waitress") as served:
        bearer = {"Authorization": f"Bearer {served.token()}"}
        cost = _cost(served, bearer, lambda: call(served, "POST", "/api/login", body))
    left = grown(checkout, lambda served, number: call(served, "POST", "/api/login", body), count)
    if cost < 1:
        return Growth(left / count, HASHES * SECONDS, "as fast as passwords are hashed")
    return Growth(left / count, PRINCIPAL / cost * MINUTES, f"{cost} units of the account each")


def refreshes(checkout: Checkout) -> Growth:
    tokens: list[str] = []

    def send(served: Served, number: int) -> None:
        if not tokens:
            login = call(served, "POST", "/api/login", {"email": ADMIN, "password": PASSWORD})
            tokens.append(login.body["refresh_token"])
        answer = call(served, "POST", "/api/token/refresh", {"refresh_token": tokens[-1]})
        if answer.status == 200:
            tokens.append(answer.body["refresh_token"])
        named.add(answer.limit[0])

    named: set[str] = set()
    left, counted = grown(checkout, send, 50), "principal" in named
    return Growth(left / (len(tokens) - 1), (PRINCIPAL / 10 if counted else ADDRESS) * MINUTES,
                  "10 units of the account each" if counted else "of the address alone")


def contact(checkout: Checkout) -> Growth:
    message = {"name": "N", "email": "n@example.org", "subject": "s" * 200, "body": "\N{SNOWMAN}" * 20_000}
    answers: list[Answer] = []
    # Otherwise the limit of a minute is reached first, and no answer names the limit of a day.
    generous = Checkout(checkout.folder, checkout.instance, {"GATEPOST_LOGIN_ATTEMPTS": "1000"})
    left = grown(generous, lambda served, number: answers.append(call(served, "POST", "/api/contact", message)), TIGHT)
    daily = answers[0].limit[1] == SECONDS
    return Growth(left / TIGHT, 50 if daily else TIGHT * MINUTES, "kept for a year" if daily else "kept for ever")


def idempotent(checkout: Checkout) -> Growth:
    made: list[str] = []

    def send(served: Served, number: int) -> None:
        bearer = {"Authorization": f"Bearer {served.token()}", "Idempotency-Key": f"key-{number}"}
        if not made:
            article = {"title": "t", "slug": "large", "body": LARGE}
            made.append(call(served, "POST", "/api/articles", article, bearer).headers["location"])
        else:
            call(served, "PATCH", made[0], {"title": f"t{number}"}, bearer)

    count = 300
    return Growth(grown(checkout, send, count) / count, PRINCIPAL * MINUTES, "keys for a day, audit rows for a year")


def creates(checkout: Checkout) -> Growth:
    def article(number: int) -> dict[str, str]:
        return {"title": "t", "slug": f"created-{number}", "body": LARGE}

    def send(served: Served, number: int) -> None:
        bearer = {"Authorization": f"Bearer {served.token()}"}
        call(served, "POST", "/api/articles", article(number), bearer)

    with checkout.served("waitress") as served:
        bearer = {"Authorization": f"Bearer {served.token()}"}
        cost = _cost(served, bearer, lambda: call(served, "POST", "/api/articles", article(-1), bearer))
    count = 80
    return Growth(grown(checkout, send, count) / count, PRINCIPAL / max(1, cost) * MINUTES, f"{cost} units each")


def _cost(served: Served, bearer: Mapping[str, str], ask: Callable[[], object]) -> int:
    """Returns the units that it costs the account, from two answers to a request that costs one unit."""
    before = call(served, "GET", "/api/profile", headers=bearer).left
    ask()
    return before - call(served, "GET", "/api/profile", headers=bearer).left - 1


def _size(checkout: Checkout) -> int:
    with closing(apsw.Connection(str(checkout.instance / "gatepost.db"))) as database:
        database.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        pages, free, size = (int(database.pragma(name)) for name in ("page_count", "freelist_count", "page_size"))
        return (pages - free) * size


MEASURES: Mapping[str, Callable[[Checkout], Growth]] = {
    "refusals, ids of 16 kB": refusals_of_long_ids,
    "refusals, real ids": refusals_of_ids,
    "right logins": logins,
    "refreshes": refreshes,
    "contact messages": contact,
    "PATCH by key, answers of 90 kB": idempotent,
    "creates of 90 kB": creates,
}
