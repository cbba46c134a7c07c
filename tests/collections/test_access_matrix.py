"""Every route answers every caller, for every kind of object, as in `access_matrix.txt`.

The changes of a call are rolled back, so that all calls share one set of rows.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from gatepost.http.operations import write_probe
from gatepost.http.request.endpoint import Endpoint
from models.base import Record, new_id, now
from models.tables.audit import Audit, append
from tests.apps import NO_ROW, PASSWORD, Caller, Given
from tests.databases import on_sqlite, undone  # noqa: F401 - the same on each database

COLLECTIONS = ("articles", "products", "orders", "comments", "categories", "pages", "users")
RESOURCES = {"articles": "article", "products": "product", "orders": "order", "comments": "comment",
             "categories": "category", "pages": "page", "users": "user"}


@dataclass(frozen=True)
class Row:
    """A line of the table: the answer to each caller for one question."""

    method: str
    path: str
    about: str
    expected: dict[str, int]


def read(name: str) -> list[Row]:
    rows, columns, method, path = [], [], "", ""
    for line in Path(__file__).with_name(name).read_text(encoding="utf-8").splitlines():
        if line.startswith("#   ") and line.split()[1] == "visitor" and "admin" in line.split():
            columns = line.split()[1:]
        elif line.startswith("  "):
            words = line.split()
            about = " ".join(words[: -len(columns)])
            rows.append(Row(method, path, about, dict(zip(columns, map(int, words[-len(columns):]), strict=True))))
        elif line and not line.startswith("#"):
            method, path = line.split()
    return rows


TABLE = read("access_matrix.txt")
ROLES = ("user", "support", "editor", "moderator", "manager", "developer", "owner", "admin")
LEAVING = ", leaving"  # below an object: the caller withdraws their own share


class World:
    """All callers and objects of the table, created at their first use."""

    def __init__(self, app, given: Given, elsewhere: Given, as_user, roles: Sequence[str] = ROLES) -> None:
        self.app, self.given, self.elsewhere = app, given, elsewhere
        self._objects: dict[tuple[str, ...], Record] = {}
        with given.database.connected():
            self.others = {home.tenant: home.user() for home in (given, elsewhere)}
            self.friend = {home.tenant: home.user() for home in (given, elsewhere)}
            self.article = {home.tenant: home.article() for home in (given, elsewhere)}
            self.product = {home.tenant: home.product(stock=1000) for home in (given, elsewhere)}
        self.callers = {"visitor": Caller(app.test_client())}
        for role in roles:
            self.callers[role] = as_user(role, password=PASSWORD)
        app.config["JWT_ACCESS_TOKEN_EXPIRES"] = timedelta(minutes=-5)
        self.callers["expired"] = as_user("admin")
        app.config["JWT_ACCESS_TOKEN_EXPIRES"] = timedelta(minutes=15)
        self.callers["stranger"] = as_user("admin", tenant="other", password=PASSWORD)
        for name, verb in (("reader", "read"), ("writer", "write")):
            scope = " ".join(f"{verb}:{area}" for area in (*COLLECTIONS, "profile"))
            self.callers[name] = as_user("admin", scope=scope, password=PASSWORD)
        for caller in self.callers.values():
            if caller.user is not None:
                home = self.home(caller)
                home.article(owner_id=caller.id)  # an owner of rows cannot be deleted
                home.share("user", caller.user, f"user:{self.friend[home.tenant].id}")
        self.refresh = self.callers["visitor"].post("/api/login", self.credentials("user")).json["refresh_token"]

    def credentials(self, role: str) -> dict[str, str]:
        return {"email": self.callers[role].user.email, "password": PASSWORD}

    def home(self, caller: Caller) -> Given:
        stranger = caller.user is not None and caller.user.tenant_id == self.elsewhere.tenant_id
        return self.elsewhere if stranger else self.given

    def path(self, row: Row, caller: Caller) -> str:
        """Returns the path of a row of the table, with the id of its object."""
        if row.path == "/docs/<name>":
            return "/docs/page.css"
        if row.path == "/api/admin/policy/explain":
            return f"{row.path}?as=user&permission=article.publish"
        if row.path == "/api/admin/policy/who":
            return f"{row.path}?permission=article.publish"
        if row.path == "/api/admin/policy/visible":
            return f"{row.path}?as=user&collection=articles"
        if row.path == "/api/admin/policy/versions/<version>":
            version: str = self.app.extensions["gatepost"].policy.current.version
            return row.path.replace("<version>", version)
        path = row.path.replace("<id>", self.id(row, caller)) if "<id>" in row.path else row.path
        if row.method == "DELETE" and path.endswith("/shares"):
            friend = self.friend[self.home(caller).tenant]
            path += "?grantee=me" if row.about.endswith(LEAVING) else f"?grantee=user:{friend.id}"
        return path

    def id(self, row: Row, caller: Caller) -> str:
        collection, about = row.path.split("/")[2], row.about.removesuffix(LEAVING)
        if about == "absent":
            return NO_ROW
        if about.startswith("slug of "):
            state = about.removeprefix("slug of ").removeprefix("a ")
            return "nothing" if state == "nothing" else self.found("pages", f"another's {state}", caller).slug
        if about == "oneself":
            return NO_ROW if caller.user is None else caller.id
        return self.found(collection, about, caller).id

    def found(self, collection: str, about: str, caller: Caller) -> Any:
        whose = about.partition(" ")[0] if about.split()[0] in ("own", "shared") else ""
        key = (collection, about, (caller.user.id if caller.user else "") if whose else "")
        if key not in self._objects:
            self._objects[key] = self.made(collection, about, caller)
        return self._objects[key]

    def made(self, collection: str, about: str, caller: Caller) -> Record:
        whose, _, state = about.partition(" ")
        mine = whose in ("own", "shared")
        home = self.home(caller) if mine else self.elsewhere if "foreign" in about else self.given
        owner = (None if caller.user is None else caller.id) if whose == "own" else self.others[home.tenant].id
        match collection:
            case "articles":
                row = home.article(state, owner_id=owner)
            case "products":
                row = home.product(state, owner_id=owner)
            case "orders":
                row = home.order(state, owner_id=owner, product=self.product[home.tenant])
            case "comments":
                row = home.comment(state, owner_id=owner, article_id=self.article[home.tenant].id)
            case "categories":
                row = home.category(owner_id=owner)
            case "pages":
                row = home.page(state, owner_id=owner)
            case "contact":
                row = home.contact_message()
            case "tokens":
                row = home.service_token(self.others[home.tenant] if caller.user is None or not mine else caller.user)
            case "sessions" if mine and caller.user is not None:
                row = home.session(caller.user)
            case "sessions":
                row = home.session(home.user("admin") if "administrator" in about else self.others[home.tenant])
            case "jobs":
                row = home.job(state.removeprefix("a "), owner_id=owner)
            case "audit" | "admin":  # an audit event, which `explain/<id>` reads, too
                row = Audit(id=new_id(), tenant_id=home.tenant_id, time=now(), principal=f"user:{owner}", role="user",
                            action="update", resource="profile", result="allowed")
                home.database.transact(lambda: append([row]))
            case "users":
                row = home.user("admin" if "administrator" in about else "user", active="disabled" not in about)
                home.second_factor(row)
        if collection in RESOURCES:
            home.share(RESOURCES[collection], row, f"user:{self.friend[home.tenant].id}")
            if whose == "shared" and caller.user is not None:
                home.share(RESOURCES[collection], row, f"user:{caller.id}", "manage")
        return row

    def body(self, row: Row, caller: Caller) -> dict[str, Any]:
        """Returns the content of a request: keywords of werkzeug's test client."""
        collection = row.path.split("/")[2] if row.path.count("/") > 1 else ""
        tenant = self.home(caller).tenant
        match row.method, row.path:
            case "GET" | "DELETE", _:
                return {}
            case _, "/api/login":
                return {"json": self.credentials("user")}
            case _, "/api/token/refresh":
                return {"json": {"refresh_token": self.refresh}}
            case _, "/api/register":
                return {"json": {"name": "New", "email": "new@example.org", "password": PASSWORD}}
            case "PATCH", "/api/profile":
                return {"json": {"name": "Another name"}}
            case _, "/api/profile/password":
                return {"json": {"current_password": PASSWORD, "new_password": "a short swim in the bay"}}
            case _, "/api/login/verify":
                return {"json": {"challenge": "A" * 43, "code": "123456"}}
            case _, "/api/profile/second-factor":
                return {"json": {}}
            case "POST", path if path.startswith("/api/profile/second-factor/"):
                return {"json": {"code": "123456"}}
            case _, "/api/password-links":
                return {"json": {"token": "A" * 43, "new_password": PASSWORD}}
            case _, "/api/email-verifications":
                return {"json": {"token": "A" * 43}}
            case _, "/api/password-resets":
                return {"json": {"email": "reader@example.org"}}
            case "POST", "/api/tokens":
                return {"json": {"name": "A program", "scopes": ["read:articles"]}}
            case "POST", "/api/admin/policy/try" | "/api/admin/policy/apply":
                return {"json": {}}
            case "POST", path if path.startswith("/access/"):
                return {"json": {"subject": {}}}
            case "POST", "/api/contact":
                return {"json": {"name": "A reader", "email": "reader@example.org", "subject": "S", "body": "B"}}
            case "PUT", path if path.endswith("/shares"):
                return {"json": {"grantee": f"user:{self.friend[tenant].id}", "right": "write"}}
            case "PATCH", _:
                return {"json": CHANGES[collection]}
            case "POST", path if path.endswith("/import"):
                return {"data": json.dumps(self.content(collection, tenant)), "content_type": "application/x-ndjson"}
            case "PUT", _:
                fixed = {"orders": ("items",), "users": ("password",), "comments": ("article_id",)}.get(collection, ())
                content = self.content(collection, tenant) | ({"note": "By PUT."} if collection == "orders" else {})
                return {"json": {name: value for name, value in content.items() if name not in fixed}}
            case "POST", path if "<id>" not in path and collection in COLLECTIONS:
                more = {"another's": {"owner_id": self.others[tenant].id}, "an administrator": {"role": "admin"}}
                return {"json": self.content(collection, tenant) | more.get(row.about, {})}
        return {}

    def content(self, collection: str, tenant: str) -> dict[str, Any]:
        """A new row."""
        match collection:
            case "articles":
                return {"title": "New", "slug": "new", "body": "Words."}
            case "products":
                return {"name": "New", "sku": "NEW", "price": 1, "currency": "EUR"}
            case "orders":
                return {"items": [{"product_id": self.product[tenant].id, "quantity": 1}]}
            case "comments":
                return {"article_id": self.article[tenant].id, "body": "Well said."}
            case "categories":
                return {"name": "New", "slug": "new"}
            case "pages":
                return {"slug": "new", "title": "New", "body": "Words.", "language": "en"}
        return {"name": "New", "email": "new@example.org", "password": PASSWORD}


CHANGES: dict[str, dict[str, Any]] = {
    "articles": {"title": "Changed"}, "products": {"name": "Changed"}, "orders": {"note": "Changed"},
    "comments": {"body": "Changed"}, "categories": {"name": "Changed"}, "pages": {"title": "Changed"},
    "users": {"name": "Changed"},
}


@pytest.fixture(scope="module")
def world(app, given, elsewhere, as_user) -> World:
    return World(app, given, elsewhere, as_user)


def test_every_caller_is_answered_as_the_table_says(app, world, monkeypatch):
    # Below, each request finds the write lock taken: the last write of the health check counts for all of them.
    monkeypatch.setattr(write_probe, "KEPT", float("inf"))
    assert app.test_client().get("/api/health").status_code == 200
    wrong = unlike(TABLE, world)
    assert not wrong, "\n".join(wrong)


def unlike(table: Iterable[Row], world: World) -> list[str]:
    """Asks for every row of a table as each of its callers, and lists the other answers."""
    wrong = []
    for row in table:
        for name in row.expected:
            caller = world.callers[name]
            path, body = world.path(row, caller), world.body(row, caller)
            with undone(world.given.database):
                answer = caller.call(row.method, path, **body)
            if answer.status_code != row.expected[name]:
                wrong.append(f"{row.method} {row.path} {row.about}, {name}: {answer.status_code}, not "
                             f"{row.expected[name]}: {answer.get_data(as_text=True)[:300]}")
    return wrong


def test_no_route_lacks_a_row(app):
    endpoints = [view.endpoint for view in app.view_functions.values() if isinstance(view.endpoint, Endpoint)]
    served = {(endpoint.method, endpoint.path) for endpoint in endpoints if endpoint.documented}
    assert served == {(row.method, row.path) for row in TABLE}


def test_every_object_of_every_route_of_a_collection_is_own_anothers_foreign_and_absent():
    asked: dict[tuple[str, str], set[str]] = {}
    for row in TABLE:
        if "<id>" in row.path:
            asked.setdefault((row.method, row.path), set()).add(row.about.removesuffix(LEAVING).split()[0])
    for route, whose in asked.items():
        if "/users/" in route[1]:
            assert whose == {"oneself", "a", "an", "absent"}, route
        elif "/contact/" in route[1]:
            assert whose == {"a", "absent"}, route
        else:
            assert {"own", "another's", "foreign", "absent"} <= whose, route
