"""A served instance with invented rows, and Chromium to open its pages.

Needs Debian's package `chromium-headless-shell` or `chromium`, and `make .venv/console.stamp`; `make test-console` runs
these tests. Without Chromium they are skipped, with CI=true that is a failure.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.console.visits import browser_program, cookies_of, demo
from tests.running import Served

ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
             "--disable-component-update", "--disable-sync")


def missing(reason: str) -> None:
    """Skips the test, or fails if nothing may be skipped."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A service with users, articles and a shop, and an administrator with `PASSWORD`."""
    with demo(tmp_path_factory.mktemp("console"), GATEPOST_RATE_LIMITS="on") as found:
        yield found


@pytest.fixture(scope="session")
def unlimited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The same without rate limits, in another time zone, for modules that each change other rows."""
    with demo(tmp_path_factory.mktemp("unlimited"), GATEPOST_TIME_ZONE="Europe/Berlin") as found:
        yield found


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    program = browser_program()
    if program is None:
        missing("no chromium on this machine")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("playwright is not installed: make .venv/console.stamp")
    with sync_playwright() as play:
        found = play.chromium.launch(executable_path=program, args=list(ARGUMENTS))
        yield found
        found.close()


class Watched:
    """Pages of one visitor, and all errors on them."""

    def __init__(self, browser: Any, url: str) -> None:
        self._browser, self.url = browser, url
        self._contexts: list[Any] = []
        self.expected: set[int] = set()  # statuses of expected refusals
        self.wrong: list[str] = []

    def page(self, width: int = 1440, **options: Any) -> Any:
        """A blank page of a new visitor; `options` are those of a browser context."""
        context = self._browser.new_context(viewport={"width": width, "height": 900}, **options)
        self._contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: self._note(message.type, message.text))
        page.on("pageerror", lambda error: self.wrong.append(f"error: {error}"))
        page.on("requestfailed", self._failed)
        page.on("request", lambda request: self._host(request.url))
        return page

    def open(self, path: str = "/docs", width: int = 1440, **options: Any) -> Any:
        """Opens the page at a path, and waits until its operations are drawn."""
        page = self.page(width, **options)
        page.goto(self.url + path)
        page.wait_for_selector("#operations .group", state="attached")
        return page

    def close(self) -> None:
        for context in self._contexts:
            context.close()
        assert self.wrong == []

    def _note(self, kind: str, text: str) -> None:
        # Chromium itself logs every refusal. A violation of the Content-Security-Policy is an error, too.
        if kind in ("error", "warning") and not any(f"status of {status} " in text for status in self.expected):
            self.wrong.append(f"{kind}: {text}")

    def _failed(self, request: Any) -> None:
        # Chromium aborts the loads of a page when its visitor opens another one.
        if request.failure != "net::ERR_ABORTED":
            self.wrong.append(f"failed: {request.url} ({request.failure})")

    def _host(self, url: str) -> None:
        if urlsplit(url).scheme not in ("data", "blob") and not url.startswith(f"{self.url}/"):
            self.wrong.append(f"another host: {url}")


@pytest.fixture
def visitor(browser: Any, served: Served) -> Iterator[Watched]:
    """Opens pages. Checks at the end that there was no error, no violation and no request to another host."""
    found = Watched(browser, served.url)
    yield found
    found.close()


@pytest.fixture(scope="module")
def service(served: Served) -> Served:
    """The service whose pages a module visits."""
    return served


@pytest.fixture(scope="module")
def state(browser: Any, service: Served) -> Any:
    """The cookies of the administrator after a login."""
    return cookies_of(browser, service.url)


@pytest.fixture
def watched(browser: Any, service: Served) -> Iterator[Watched]:
    """Yields a watched browser at `service`, and closes it."""
    found = Watched(browser, service.url)
    yield found
    found.close()
