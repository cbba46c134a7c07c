"""A process killed in the middle of its work: every effect has its audit event, and the chain is intact."""

from __future__ import annotations

import random
import signal
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from http.client import HTTPException
from threading import Lock

import pytest

from models.engine.connect import open_database
from models.tables.article import Article
from models.tables.audit import Audit
from models.tables.session import Session
from tests.databases import new_database
from tests.running import PASSWORD, Instance, Served, wait_until

pytestmark = pytest.mark.slow

REQUESTS, CLIENTS = 500, 6


@dataclass
class Load:
    """Mixed requests to one server, and the effects that it acknowledged."""

    served: Served
    token: str
    seed: int
    effects: int = 0
    answered: int = 0
    articles: list[str] = field(default_factory=list)
    lock: Lock = field(default_factory=Lock)

    def one(self, number: int) -> None:
        choice = random.Random(self.seed * REQUESTS + number)
        kind = choice.choices(("create", "change", "publish", "delete", "read", "refused", "wrong", "login"),
                              (30, 20, 10, 5, 20, 6, 6, 3))[0]
        with self.lock:
            article = choice.choice(self.articles) if self.articles else None
        kind = kind if article else "create"
        body = {"title": "T", "slug": f"a-{self.seed}-{number}", "body": "b"}
        if kind == "login":
            credentials = {"email": "admin@example.org", "password": PASSWORD}
            status, answer = self.served.call("POST", "/api/login", credentials)
        elif kind == "create":
            status, answer = self.served.call("POST", "/api/articles", body, self.token)
        elif kind == "change":
            status, answer = self.served.call("PATCH", f"/api/articles/{article}", {"title": f"T{number}"}, self.token)
        elif kind == "publish":
            status, answer = self.served.call("POST", f"/api/articles/{article}/publish", None, self.token)
        elif kind == "delete":
            status, answer = self.served.call("DELETE", f"/api/articles/{article}", None, self.token)
        elif kind == "refused":
            status, answer = self.served.call("DELETE", f"/api/articles/{article}")
        elif kind == "wrong":
            status, answer = self.served.call("POST", "/api/articles", {"title": 7}, self.token)
        else:
            status, answer = self.served.call("GET", "/api/articles", None, self.token)
        with self.lock:
            self.answered += 1
            self.effects += status < 300 and kind != "read"
            if status == 201:
                self.articles.append(answer["id"])

    def attempt(self, number: int) -> None:
        # Without an answer the effect of this request is unknown.
        with suppress(OSError, HTTPException):
            self.one(number)

    def run(self, count: int) -> None:
        with ThreadPoolExecutor(CLIENTS) as threads:
            list(threads.map(self.attempt, range(count)))


@pytest.mark.parametrize("dialect", ["sqlite", "postgres"])
def test_audit_rows_are_effects_and_logins_even_when_the_server_is_killed(dialect, tmp_path, request):
    environment = {"GATEPOST_RATE_LIMITS": "off", "GATEPOST_SYNCHRONOUS": "normal"}
    if dialect == "postgres":
        environment["GATEPOST_DATABASE_URL"] = new_database("postgres", request, migrated=False)
    instance = Instance(tmp_path / "instance", environment).made()
    url = environment.get("GATEPOST_DATABASE_URL", f"sqlite:///{instance.folder / 'gatepost.db'}")

    with instance.served() as served:
        first = Load(served, served.log_in(), seed=1)
        first.run(REQUESTS)
    assert first.answered == REQUESTS
    acknowledged = first.effects + 1
    assert effects_and_rows(url) == (acknowledged, acknowledged)

    with instance.served() as served:
        second = Load(served, served.log_in(), seed=2)
        with ThreadPoolExecutor(1) as threads:
            running = threads.submit(second.run, REQUESTS)
            wait_until(lambda: second.answered >= REQUESTS // 2)
            served.process.send_signal(signal.SIGKILL)
            running.result()
    assert REQUESTS // 2 <= second.answered < REQUESTS
    effects, rows = effects_and_rows(url)
    assert effects == rows, "each effect has its row, and no row is without its effect"
    acknowledged += second.effects + 1
    assert acknowledged <= rows <= acknowledged + CLIENTS, "what was answered is there"

    proved = instance.run("audit", "verify")
    assert proved.returncode == 0, proved.stdout
    assert " 0 are too new" in proved.stdout


def effects_and_rows(url):
    """Returns (effects counted in the tables, audit events of allowed requests)."""
    database = open_database(url, pool_size=1)
    try:
        with database.connected():
            audited = [row for row in Audit.select() if row.result == "allowed"]
            here = {article.id: article.version for article in Article.select()}
            # A deleted article took its versions with it: only the audit log still has its changes.
            gone = {row.resource_id for row in audited if row.action == "delete"}
            assert not gone & here.keys()
            lost = sum(row.resource_id in gone for row in audited)
            return sum(here.values()) + lost + Session.select().count(), len(audited)
    finally:
        database.close_all()
