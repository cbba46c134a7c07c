"""Clients that create articles as fast as they get answers, and record the answers."""

from __future__ import annotations

import http.client
import itertools
import threading
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from tests.running import Served

SERVERS = {"waitress": (), "granian": ("--workers", "2")}


@dataclass
class Load:
    """`with Load(service, token) as load:` writes until the server is gone or `stop` is set.

    created  slugs that were acknowledged with 201
    others   other statuses
    cut      answers that were cut short
    """

    service: Served
    token: str
    clients: int = 4
    name: str = "load"
    created: list[str] = field(default_factory=list)
    others: list[int] = field(default_factory=list)
    cut: list[Exception] = field(default_factory=list)
    stop: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Load:
        self._grown = threading.Condition()
        self._threads = [threading.Thread(target=self._write, args=(number,)) for number in range(self.clients)]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *error: Any) -> None:
        self.stop.set()
        for thread in self._threads:
            thread.join(timeout=60)

    def wait(self, count: int) -> None:
        """Waits until `count` objects are created."""
        with self._grown:
            assert self._grown.wait_for(lambda: len(self.created) >= count, timeout=60), self.others

    def _write(self, client: int) -> None:
        where = urlsplit(self.service.url)
        with closing(http.client.HTTPConnection(where.hostname, where.port, timeout=60)) as connection:
            for number in itertools.count():
                if self.stop.is_set():
                    return
                try:
                    self._create(connection, f"{self.name}-{client}-{number}")
                except (http.client.RemoteDisconnected, ConnectionError):
                    return  # no answer had begun; the database shows if its handler had begun
                except http.client.HTTPException as error:
                    self.cut.append(error)
                    return

    def _create(self, connection: http.client.HTTPConnection, slug: str) -> None:
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        body = f'{{"title": "Load", "slug": "{slug}", "body": "text"}}'
        connection.request("POST", "/api/articles", body, headers)
        answer = connection.getresponse()
        answer.read()
        if answer.status == 201:
            with self._grown:
                self.created.append(slug)
                self._grown.notify_all()
        else:
            self.others.append(answer.status)


def kept(service: Served, token: str, name: str) -> set[str]:
    """Returns the slugs of a load in the database."""
    found, cursor = set(), ""
    while cursor is not None:
        status, page = service.call("GET", f"/api/articles?limit=200&fields=slug&title=Load{cursor}", token=token)
        assert status == 200, page
        found |= {row["slug"] for row in page["items"] if row["slug"].startswith(f"{name}-")}
        cursor = f"&cursor={page['next_cursor']}" if page["has_next"] else None
    return found
