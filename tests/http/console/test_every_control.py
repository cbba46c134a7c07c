"""The service allows every control that a page shows: the test follows links and sends forms, role by role."""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from urllib.parse import urlencode, urlsplit

import pytest
from flask import Flask
from werkzeug.exceptions import NotFound
from werkzeug.routing import RequestRedirect
from werkzeug.test import TestResponse

from blueprints.console.naming import MOST_FOUND
from gatepost.http.request.endpoint import Endpoint
from models.tables.audit import Audit
from tests.apps import NO_ROW, Given
from tests.databases import each_database, on_sqlite, undone  # noqa: F401 - pytest finds fixtures by name
from tests.http.console.pages import COOKIE, Form, Seen, Visitor, visit

ROLES = ("user", "support", "editor", "moderator", "manager", "developer", "owner", "admin")
EVERYBODY = ("guest", *ROLES)
FIRST = "/console"
SCRIPT = '"><script>alert(1)</script>\N{RIGHT-TO-LEFT OVERRIDE}'
# Forms that exist only after a change of the policy: test_try.py and test_history.py test them.
WAITING = ["/console/history/<version>/revert", "/console/history/<version>/revert/try", "/console/try/apply"]
# The page of a password link, which nothing links to: tests/password_links/test_pages.py tests it.
BY_LINK = ["/console/password", "/console/password/<token>"]
# Pages of a second factor, which nobody here has: tests/accounts/test_pages.py tests them.
SECOND_FACTOR = ["/console/account/second-factor/confirm", "/console/account/second-factor/recovery-codes",
                 "/console/account/second-factor/remove", "/console/people/<id>/remove-second-factor",
                 "/console/login/code/<token>"]
# A list of names is typed in inputs only while the policy names none.
UNUSED = "/console/data/tokens/create/again"
MOST = 12  # addresses of one page that differ only in values, and forms of one address
COUNTED = {"audit", "audit_seals", "sessions", "activity", "heartbeat", "nodes", "policy_uses", "policy_counters"}
# The service never gives these answers if the caller may use the endpoint.
REFUSED = {401, 403, 404, 405, 429}

# A user and an administrator see most; the others see parts of the same pages.
each_role = pytest.mark.parametrize("role", [
    role if role in ("user", "admin") else pytest.param(role, marks=pytest.mark.slow) for role in ROLES])


@dataclass
class Walk:
    """All pages that a user reaches by the links of the console, and the forms on them."""

    visitor: Visitor
    pages: dict[str, Seen] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)
    changed: set[str] = field(default_factory=set)  # tables

    def controls(self) -> Iterator[tuple[str, Form, str]]:
        """Yields (page, form, address of one of its buttons), each address once."""
        known = set[tuple[str, str]]()
        for page, seen in self.pages.items():
            for form in seen.forms:
                for action in form.buttons or [form.action]:
                    address = urlsplit(action)._replace(fragment="").geturl()
                    if (form.method, address) not in known:
                        known.add((form.method, address))
                        yield page, form, address


@pytest.fixture(scope="module")
def world(app: Flask, given: Given, elsewhere: Given) -> None:
    """Rows of every collection, in several states, of several users and of another tenant; some texts are hostile."""
    ann, bob = given.user(name=f"Ann {SCRIPT}", department="news"), given.user("editor", name="Bo Berg")
    for owner in (ann, bob):
        given.share("article", given.article("draft", owner_id=owner.id, title=SCRIPT), "role:support", "update")
        given.share("product", given.product("draft", owner_id=owner.id), "role:support")
        given.share("order", given.order(owner_id=owner.id), "role:support")
        given.share("comment", given.comment(owner_id=owner.id), "role:support")
        given.share("page", given.page(owner_id=owner.id), "role:support")
        for status in ("in_review", "published", "archived"):
            given.article(status, owner_id=owner.id, body=SCRIPT)
        given.comment("pending", owner_id=owner.id, body=SCRIPT)
        for status in ("draft", "active", "archived"):
            given.product(status, owner_id=owner.id, name=SCRIPT)
        for status in ("draft", "published"):
            given.page(status, owner_id=owner.id, title=SCRIPT)
        for status in ("pending", "approved", "shipped"):
            given.order(status, owner_id=owner.id)
        given.job("failed", owner_id=owner.id)
        given.session(owner)
        given.service_token(owner, name=SCRIPT)
    given.share("category", given.category(owner_id=ann.id, name=SCRIPT), "role:support")
    given.share("user", given.user(active=False), "role:support")
    given.contact_message(subject=SCRIPT)
    for number in range(MOST_FOUND + 1):  # too many for a list to choose from: forms have a search
        given.user(name=f"~{number}")
    elsewhere.article("draft", title="Of another tenant")
    # Writes that a thread would make a second after the start.
    chores = {chore.name: chore for chore in app.extensions["gatepost"].background._tasks}
    chores["writing the policy history"].attempt()


@pytest.fixture(scope="module")
def walk(app: Flask, world: None, given: Given):
    """`walk(role)` returns the walk of a new user of a role."""
    @cache
    def made(role: str) -> Walk:
        visitor = visit(app, role)
        if visitor.user is not None:
            given.service_token(visitor.user)
        before = tables(app)
        found, after = walked(app, visitor), tables(app)
        found.changed = {name for name in before if before[name] != after[name]}
        return found

    return made


def walked(app: Flask, visitor: Visitor, most: int = MOST) -> Walk:
    """Follows the links of the console; at most `most` addresses of one page that differ only in values."""
    found, seen, often = Walk(visitor), {FIRST}, Counter[tuple[str, ...]]()
    waiting = deque([FIRST])
    while waiting:
        address = waiting.popleft()
        answer = visitor.get(address, follow_redirects=True)
        if answer.status_code != 200:
            found.refused.append(f"{answer.status_code} {address}")
            continue
        if answer.mimetype != "text/html":
            continue
        # The front page has links to both.
        page = found.pages[address] = found.pages[answer.request.path] = Seen.of(answer)
        gets = [f"{form.action}?{urlencode(form.fields)}" for form in page.forms if form.method != "post"]
        for link in [*page.links, *gets]:
            parts = urlsplit(link)
            shape = (*pattern(app, parts.path, "GET"), *sorted(one.partition("=")[0] for one in parts.query.split("&")))
            address = parts._replace(fragment="").geturl()
            if parts.path.startswith(FIRST) and address not in seen and often[shape] < most:
                seen.add(address)
                often[shape] += 1
                waiting.append(address)
    return found


def served(app: Flask) -> list[Endpoint]:
    """The endpoints of the console."""
    found = [getattr(view, "endpoint", None) for view in app.view_functions.values()]
    return [one for one in found if isinstance(one, Endpoint) and one.path.startswith(FIRST)]


def pattern(app: Flask, path: str, method: str) -> tuple[str, ...]:
    """Returns the path of the endpoint at an address; an empty tuple if there is none."""
    try:
        name, _ = app.url_map.bind("localhost").match(path, method)
    except (RequestRedirect, NotFound):
        return ()
    endpoint = getattr(app.view_functions[name], "endpoint", None)
    return (endpoint.path,) if isinstance(endpoint, Endpoint) else (name,)


def tables(app: Flask) -> dict[str, list[str]]:
    """Returns table → all stored rows as text."""
    database = app.extensions["gatepost"].database
    with database.connected():
        return {name: sorted(map(repr, database.execute_sql(f'SELECT * FROM "{name}"').fetchall()))
                for name in database.get_tables() if not name.startswith("sqlite_")}  # statistics change by themselves


@each_role
def test_every_link_that_is_drawn_leads_to_a_page(role, walk):
    assert "\n".join(walk(role).refused) == ""


@pytest.mark.slow
@each_database
def test_the_administrator_sees_all_of_them_on_each_database(walk):
    assert "\n".join(walk("admin").refused) == ""


@each_role
def test_every_form_that_is_drawn_is_allowed_by_the_service(role, app, walk, here):
    """Sends each form, and rolls its changes back."""
    database = app.extensions["gatepost"].database
    found, often, refused = walk(role), Counter[str](), []
    cookie = found.visitor.client.get_cookie(COOKIE, path=FIRST)
    for page, form, address in found.controls():
        if form.method != "post":
            continue
        # A logout, or the end of the user's own session, deletes the cookie.
        found.visitor.client.set_cookie(COOKIE, cookie.value, path=FIRST)
        [path] = pattern(app, urlsplit(address).path, "POST")
        often[path] += 1
        if often[path] <= MOST:
            with undone(database):
                answer: TestResponse = found.visitor.post(address, form.fields)
            if answer.status_code in REFUSED or answer.status_code >= 500:
                refused.append(f"{answer.status_code} {address} on {page}: {Seen.of(answer).text[-300:]}")
    assert refused == []
    found.visitor.client.set_cookie(COOKIE, cookie.value, path=FIRST)
    assert found.visitor.get(f"{FIRST}/data").status_code == 200, "nobody was logged out meanwhile"


@each_role
def test_hostile_texts_are_texts_on_every_page(role, walk):
    """The page has no element of such a text, and no character of it changes the reading direction of others."""
    for address, page in walk(role).pages.items():
        assert [given["src"] for tag, given in page.tags if tag == "script"] == ["/console/static/console.js"], address
        typed = {text.strip() for form in page.forms for value in form.fields.values()
                 for text in (value if isinstance(value, list) else [value])}
        assert "\N{RIGHT-TO-LEFT OVERRIDE}" not in re.sub("|".join(map(re.escape, typed)), "", page.text), address
        assert not [given for _, given in page.tags if any(name.startswith("on") for name in given)], address


@each_role
def test_a_look_at_every_page_changes_nothing(role, walk, given):
    """Exceptions: the last use of a session, audit events of reading and of a download, and counts."""
    found = walk(role)
    assert found.changed <= COUNTED
    with given.database.connected():
        done = {row.action for row in Audit.select().where(Audit.principal == f"user:{found.visitor.user.id}")}
    assert done <= {"view", "view_as", "export"}


@pytest.mark.slow
def test_every_page_and_every_form_is_come_to_by_somebody(app, walk):
    come_to = {("GET", *pattern(app, urlsplit(address).path, "GET")) for role in EVERYBODY
               for address in walk(role).pages}
    come_to |= {(form.method.upper(), *pattern(app, urlsplit(address).path, form.method.upper()))
                for role in EVERYBODY for _, form, address in walk(role).controls()}
    missing = {one.path for one in served(app) if (one.method, one.path) not in come_to
               and "text/csv" not in one.produces}
    assert missing == {*WAITING, *BY_LINK, *SECOND_FACTOR, UNUSED, "/console/static/<name>", "/console/account/export",
                       "/console/<path:unknown>"}


def test_no_form_is_taken_from_a_page_of_another_origin(app, walk):
    visitor, forms = walk("admin").visitor, [
        one for one in served(app) if one.method == "POST" and one.path not in BY_LINK]
    assert len(forms) > 50
    for form in forms:
        path = re.sub("<[a-z]+>", NO_ROW, form.path)
        for headers in ({}, {"Origin": "https://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"},
                        {"Sec-Fetch-Site": "same-site"}, {"Origin": "http://localhost.evil.example"}):
            with undone(app.extensions["gatepost"].database):
                answer = visitor.client.post(path, headers=headers)
            assert answer.status_code == 403, (path, headers, answer.status_code)


def test_no_page_and_no_refusal_may_be_framed_or_kept(app, walk):
    for visitor in (walk("admin").visitor, walk("user").visitor, walk("guest").visitor):
        for one in served(app):
            path = re.sub("<[a-z]+>", NO_ROW, one.path)
            answer = visitor.post(path) if one.method == "POST" else visitor.get(path)
            policy = answer.headers["Content-Security-Policy"]
            if answer.mimetype == "text/html":
                assert "frame-ancestors 'none'" in policy and "default-src 'none'" in policy, (path, policy)
                assert answer.headers["Cache-Control"] == "no-store", path
