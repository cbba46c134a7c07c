"""Visitors of the console. They behave like a browser without JavaScript."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import unescape
from html.parser import HTMLParser
from typing import Any

from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from gatepost.http.request.identity import hashed
from gatepost.testing import log_in
from models.base import Rows, later, new_id
from models.tables.session import CONSOLE, Session
from models.tables.user import User

ORIGIN = {"Origin": "http://localhost"}
COOKIE = "gatepost_console"
GUEST = "guest"


@dataclass
class Visitor:
    """A user with a browser; `user` is None for a guest."""

    client: FlaskClient
    user: User | None = None

    def get(self, path: str, **more: Any) -> TestResponse:
        return self.client.get(path, **more)

    def post(self, path: str, values: Mapping[str, Any] | None = None, headers: Mapping[str, str] | None = None,
             **more: Any) -> TestResponse:
        """Sends a form like a page of the service's own origin."""
        return self.client.post(path, data=dict(values or {}), headers={**ORIGIN, **(headers or {})}, **more)

    def page(self, path: str) -> Seen:
        """Returns the page at a path, which must be answered."""
        answer = self.get(path)
        assert answer.status_code == 200, (answer.status_code, answer.headers.get("Location"), answer.text)
        return Seen.of(answer)


def visit(app: Flask, who: User | str = GUEST) -> Visitor:
    """Returns a visitor. `who` is a user, or the role of a new one. The session is real, but needs no password."""
    client = app.test_client()
    if who == GUEST:
        return Visitor(client)
    user = log_in(app, who).user
    assert user is not None
    id, secret = new_id(), secrets.token_urlsafe(32)
    token = f"gc_{id}_{secret}"
    session = Session(id=id, owner_id=user.id, family=id, kind=CONSOLE, token_hash=hashed(token),
                      expires_at=later(3600), absolute_expires_at=later(7200))
    app.extensions["gatepost"].database.transact(lambda: Rows(Session, user.tenant_id).insert(session))
    client.set_cookie(COOKIE, token, path="/console")
    return Visitor(client, user)


@dataclass
class Form:
    """A form of a page: its address, its method, and what it sends, by name: a list for a name that occurs repeatedly.
    """

    action: str
    method: str
    fields: dict[str, Any] = field(default_factory=dict)
    buttons: list[str] = field(default_factory=list)

    def add(self, name: str, value: str) -> None:
        before = self.fields.get(name)
        self.fields[name] = value if before is None else [*(before if isinstance(before, list) else [before]), value]


class Seen(HTMLParser):
    """The parts of a page that a reader sees."""

    def __init__(self) -> None:
        super().__init__()
        self.text, self.forms, self.links, self.ids = "", list[Form](), list[str](), list[str]()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self._inside: list[str] = []
        self._textarea: tuple[Form, str] | None = None
        self._select: tuple[Form, str, list[str]] | None = None  # with the selected value, or else the first one
        self._open: Form | None = None
        self._by_id: dict[str, Form] = {}

    @classmethod
    def of(cls, answer: TestResponse) -> Seen:
        made = cls()
        made.feed(answer.text)
        made.text = re.sub(r"\s+", " ", made.text).strip()
        return made

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.tags.append((tag, given))
        if "id" in given:
            self.ids.append(given["id"])
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag == "form":
            self._open = Form(given.get("action", ""), given.get("method", "get"))
            self.forms.append(self._open)
            self._by_id[given.get("id", "")] = self._open
        owner = self._by_id.get(given["form"]) if "form" in given else self._open
        if owner is not None and tag == "input" and "name" in given and (
                given.get("type") != "checkbox" or "checked" in given):
            owner.add(given["name"], given.get("value", ""))
        if owner is not None and tag == "select" and "name" in given:
            self._select = owner, given["name"], []
        if self._select is not None and tag == "option" and (not self._select[2] or "selected" in given):
            self._select[2][:] = [given.get("value", "")]
        if owner is not None and tag == "textarea":
            self._textarea = owner, given.get("name", "")
            owner.fields[given.get("name", "")] = ""
        if owner is not None and tag == "button":
            owner.buttons.append(given.get("formaction", owner.action))
        if tag in ("script", "style"):
            self._inside.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self._inside:
            self._inside.remove(tag)
        if tag == "textarea":
            self._textarea = None
        if tag == "select" and self._select is not None:
            form, name, values = self._select
            form.add(name, "".join(values))
            self._select = None
        if tag == "form":
            self._open = None

    def handle_data(self, data: str) -> None:
        if self._textarea is not None:
            form, name = self._textarea
            form.fields[name] += data
        if not self._inside:
            self.text += data

    def form(self, action: str) -> Form:
        """Returns the form whose address is this path."""
        return next(one for one in self.forms if one.action == action)


def shown(text: str) -> str:
    """The text of some HTML."""
    return unescape(re.sub(r"<[^>]+>", "", text))
