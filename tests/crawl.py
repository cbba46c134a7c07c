"""A crawl of a service below a path, from its front page: it follows links, forms, scripts, style sheets, headers,
cookies and the URLs in JSON."""

from __future__ import annotations

import json
import re
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import urlencode, urljoin, urlsplit

from tests.http.console.edited import with_line
from tests.http.console.pages import Form, Seen

Send = Callable[[str, str, Mapping[str, str], bytes | None], tuple[int, Sequence[tuple[str, str]], bytes]]
"""Sends a request: method, path and query, headers, body. Its status, headers and body come back."""

ADMIN = "admin@example.org"
ELSEWHERE = ("https://opensource.org/license/mit",)  # URLs of other hosts in the service's answers
MOST = 2  # addresses that differ only in ids and values
# After these, other forms may fail.
_LAST = ("end", "disable", "delete", "revoke", "unshare", "apply", "revert", "logout")
_NAMED = ("href", "src", "action", "formaction", "spec-url")
_OWN = re.compile(r"(?:https?://|/(?:gate|api|docs|console|access|metrics|\.well-known)\b)[^\s<>{}]*")
_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{64}|\d+")


@dataclass
class Answer:
    """An answer, and the URL of its request."""

    url: str
    status: int
    headers: Sequence[tuple[str, str]]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def kind(self) -> str:
        return self.header("Content-Type").partition(";")[0]

    @cached_property
    def page(self) -> Seen:
        return Seen.of(self)

    def header(self, name: str) -> str:
        return next((value for key, value in self.headers if key.lower() == name.lower()), "")

    def references(self) -> Iterator[str]:
        """Yields every URL and path in the answer, unchanged."""
        for name, value in self.headers:
            if name.lower() in ("location", "content-location"):
                yield value
            elif name.lower() == "link":
                yield from re.findall(r"<([^>]*)>", value)
        if self.kind == "text/html":
            yield from (value for _, given in self.page.tags for name, value in given.items() if name in _NAMED)
        elif self.kind == "text/css":
            yield from (url.strip("'\"") for url in re.findall(r"url\(([^)]*)\)", self.text))
        elif self.kind == "text/javascript" and "rapidoc" not in self.url:
            yield from re.findall(r"""\b(?:from|import)\s*\(?["'](\.[^"']*)["']""", self.text)
        elif self.kind.endswith(("/json", "+json")):
            yield from (text for text in _texts(self.json) if _OWN.fullmatch(text))


@dataclass
class Crawl:
    """A browser and a program in one. `base` is the URL of the service with its path; `faults` are the errors."""

    send: Send
    base: str
    faults: list[str] = field(default_factory=list)
    asked: set[str] = field(default_factory=set)
    seen: set[str] = field(default_factory=set)  # the URLs that answered a GET
    forms: dict[tuple[str, str], Form] = field(default_factory=dict)  # by the shape of the address and by the address
    sent: set[str] = field(default_factory=set)  # shapes
    without: frozenset[str] = frozenset()  # words of paths whose forms are not sent
    token: str = ""
    _cookies: dict[str, tuple[str, str]] = field(default_factory=dict)  # name → value, path
    _waiting: deque[str] = field(default_factory=deque)
    _often: Counter[tuple[str, ...]] = field(default_factory=Counter)

    def ask(self, method: str, url: str, body: bytes | None = None, **headers: str) -> Answer:
        """Requests a URL, or a path below the service's, and collects the references in the answer."""
        url = urljoin(f"{self.base}/", url)
        parts = urlsplit(url)
        cookies = "; ".join(f"{name}={value}" for name, (value, path) in self._cookies.items()
                            if parts.path.startswith(path))
        sent = {"Cookie": cookies} if cookies else {}
        sent |= {key.replace("_", "-"): value for key, value in headers.items()}
        if self.token and "/api/" in parts.path:
            sent["Authorization"] = f"Bearer {self.token}"
        answer = Answer(url, *self.send(method, parts._replace(scheme="", netloc="", fragment="").geturl(), sent, body))
        for name, value in answer.headers:
            if name.lower() == "set-cookie":
                [(key, morsel)] = SimpleCookie(value).items()
                self._cookies[key] = morsel.value, morsel["path"]
                own = "/" if key.startswith("__Host-") else urlsplit(self.base).path + "/"
                if not f"{morsel['path']}/".startswith(own):
                    self.faults.append(f"a cookie for {morsel['path']} at {url}")
        if method == "GET" and answer.status < 400:
            self.seen.add(url)
        self._note(method, answer)
        return answer

    def ask_json(self, method: str, path: str, body: Any, **headers: str) -> Answer:
        return self.ask(method, path, json.dumps(body).encode(), Content_Type="application/json", **headers)

    def send_form(self, form: Form, action: str, **values: str) -> Answer:
        """Sends a form by one of its buttons."""
        parts = urlsplit(self.base)
        return self.ask("POST", action, urlencode({**form.fields, **values}).encode(),
                        Content_Type="application/x-www-form-urlencoded", Origin=f"{parts.scheme}://{parts.netloc}",
                        Referer=f"{self.base}/console")

    def page(self, path: str) -> Seen:
        """Returns an answered page."""
        answer = self.ask("GET", path)
        assert answer.status == 200, (path, answer.status, answer.header("Location"), answer.text)
        return answer.page

    def log_in(self, password: str) -> None:
        """Logs in as the administrator to the console, which needs no session, and to the API."""
        sent_away = self.ask("GET", "console/audit?resource=article")
        assert sent_away.status == 303, sent_away.text
        [form] = self.page(sent_away.header("Location")).forms
        self.sent.add(urlsplit(urljoin(self.base, form.action)).path)
        answer = self.send_form(form, form.action, email=ADMIN, password=password)
        assert answer.status == 303 and answer.header("Location").endswith("/gate/console/audit?resource=article"), (
            answer.status, answer.header("Location"), self.faults)
        self.token = self.ask_json("POST", "api/login", {"email": ADMIN, "password": password}).json["access_token"]

    def follow_all(self) -> None:
        """Follows every link recursively. A form without a method counts as a link."""
        while self._waiting:
            url = self._waiting.popleft()
            answer = self.ask("GET", url)
            if answer.status not in (200, 303):
                self.faults.append(f"GET {url} answers {answer.status}: {answer.text[:300]}")

    def send_all(self) -> None:
        """Sends every form unchanged, those last that end or delete something, and follows the results."""
        def ends(action: str) -> int:
            return next((place for place, word in enumerate(_LAST, 1) if word in urlsplit(action).path.split("/")), 0)

        while waiting := [one for one in self.forms if one[0] not in self.sent]:
            shape, action = min(waiting, key=lambda one: ends(one[1]))
            self.sent.add(shape)
            answer = self.send_form(self.forms[shape, action], action)
            # An object that another form deleted is a 404, as a page of the console.
            missing = answer.status == 404 and not (ends(action) and answer.kind == "text/html")
            if missing or answer.status in (401, 403, 405, 429) or answer.status >= 500:
                self.faults.append(f"POST {action} answers {answer.status}: {answer.text[-300:]}")
            self.follow_all()

    def _note(self, method: str, answer: Answer) -> None:
        if answer.kind == "text/html" and answer.status == 200 and method == "GET":
            for form in answer.page.forms:
                if form.action:  # others are a script's
                    self._note_form(answer, form)
        for reference in answer.references():
            if reference.startswith(("#", "data:", "otpauth:")) or reference in ELSEWHERE:
                continue
            url = urlsplit(urljoin(answer.url, reference))._replace(fragment="").geturl()
            if url != self.base and not url.startswith(f"{self.base}/"):
                self.faults.append(f"{reference} is outside of the path, at {method} {answer.url}")
            elif url != self.base and self._is_page(answer, reference):
                self._wait(url)

    def _note_form(self, answer: Answer, form: Form) -> None:
        for action in form.buttons or [form.action]:
            url = urljoin(answer.url, action)
            path = urlsplit(url).path
            if form.method != "post":
                self._wait(urlsplit(url)._replace(query=urlencode(form.fields)).geturl())
            elif not self.without.intersection(path.split("/")):
                self.forms.setdefault((_ID.sub("…", path), url), form)

    def _is_page(self, answer: Answer, reference: str) -> bool:
        """False for URLs that are only named, such as the endpoints of AuthZEN, and for targets of forms."""
        if answer.kind.endswith(("/json", "+json")):
            return answer.url == f"{self.base}/" or "/docs" in reference
        return answer.kind != "text/html" or all(
            reference not in (form.action, *form.buttons) for form in answer.page.forms)

    def _wait(self, url: str) -> None:
        parts = urlsplit(url)
        shape = (_ID.sub("…", parts.path), *sorted(one.partition("=")[0] for one in parts.query.split("&")))
        if url not in self.asked and self._often[shape] < MOST:
            self.asked.add(url)
            self._often[shape] += 1
            self._waiting.append(url)


def crawled(send: Send, base: str, password: str, *, rules: bool = True) -> Crawl:
    """Crawls the whole service as an administrator, with the setting `policy_edit` on.

    The administrator registers a user, creates a row, changes a rule, opens every page, sends every form and logs out.

    rules  False: do not change or try a rule, which takes seconds
    """
    crawl = Crawl(send, base, without=frozenset() if rules else frozenset({"try", "revert"}))
    for accepted in ("text/html", "application/json"):
        assert crawl.ask("GET", "", Accept=accepted).status == 200
    assert crawl.ask("GET", "api/nowhere").status == 404
    new = {"name": "Noor Visser", "email": "noor@example.org", "password": password}
    assert crawl.ask_json("POST", "api/register", new).status == 201
    crawl.log_in(password)
    _use_a_password_link(crawl, password)

    create = crawl.page("console/data/articles/create").form(f"{urlsplit(base).path}/console/data/articles/create")
    made = crawl.send_form(create, "console/data/articles/create", title="A kettle", slug="a-kettle", body="Tea.")
    assert made.status == 303, made.page.text
    if rules:
        _change_a_rule(crawl)

    article = crawl.ask_json("POST", "api/articles", {"title": "A pot", "slug": "a-pot", "body": "Soup."})
    assert article.status == 201 and crawl.ask("GET", article.header("Location")).json["title"] == "A pot"
    job = crawl.ask("GET", "api/articles/export", Prefer="respond-async")
    assert job.status == 202 and crawl.ask("GET", job.header("Location")).status == 200
    document = crawl.ask("GET", "api/openapi.json").json
    assert document["servers"] == [{"url": base}]
    ids = dict[str, str]()  # list → one of its rows
    for path, operations in sorted(document["paths"].items()):
        many, _, _ = path.partition("/{")
        if "get" in operations and (path == many or ids.get(many)):
            answer = crawl.ask("GET", re.sub(r"\{[^}]*\}", ids.get(many, ""), path[1:]))
            if path == many and answer.status == 200 and answer.kind == "application/json" and "items" in answer.json:
                ids[many] = next((row["id"] for row in answer.json["items"] if "id" in row), "")

    crawl.follow_all()
    crawl.send_all()
    return crawl


def _use_a_password_link(crawl: Crawl, password: str) -> None:
    """Creates a link for the registered user, opens it, and chooses a password with it."""
    [user] = crawl.ask("GET", "api/users?email=noor@example.org").json["items"]
    link = crawl.ask_json("POST", f"api/users/{user['id']}/password-link", {}).json["link"]
    assert link.startswith(f"{crawl.base}/console/password/"), link
    [form] = crawl.page(link).forms
    crawl.sent.add(urlsplit(link).path)  # it is valid once
    chosen = crawl.send_form(form, link, new_password=password, repeated=password)
    assert chosen.status == 303, chosen.page.text


def _change_a_rule(crawl: Crawl) -> None:
    edit = crawl.page("console/try?file=articles.csv").form(f"{urlsplit(crawl.base).path}/console/try")
    edit.fields["text"] = with_line(edit.fields["text"].removeprefix("\n"), "p, support, article.view, always, allow")
    tried = crawl.send_form(edit, "console/try").page
    [apply] = [form for form in tried.forms if any(button.endswith("/apply") for button in form.buttons)]
    applied = crawl.send_form(apply, "console/try/apply", text=apply.fields["text"].removeprefix("\n"))
    assert applied.status == 303, applied.page.text


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _texts(one)
