"""Visitors who are logged in to the console in a browser, and checks of pages."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.running import PASSWORD, Instance, Served

WIDTHS = (360, 390, 768, 1440, 1920)
ROLES = ("user", "developer", "owner")  # in addition to guests and the administrator
ADMIN = "admin@example.org"
_RULES = {"runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa",
                                               "best-practice"]}}
# What depends on the colour scheme; all else is the same in both.
CONTRAST = {"runOnly": {"type": "rule", "values": ["color-contrast"]}}


def browser_program() -> str | None:
    """Returns the path of an installed Chromium, preferably of its headless shell, which takes less processor time."""
    names = ("chromium-headless-shell", "chromium", "google-chrome")
    return next((path for name in names if (path := shutil.which(name)) is not None), None)


def address(role: str) -> str:
    return ADMIN if role == "admin" else f"{role}@console.example.org"


def with_people(instance: Instance) -> Instance:
    """Adds a user of each of `ROLES`, with the password `PASSWORD`, and returns the instance."""
    for role in ROLES:
        done = instance.run("user", "add", address(role), "--role", role, "--name", f"A {role}",
                            "--password-file", "-", input=PASSWORD)
        assert done.returncode == 0, done.stderr
    return instance


@contextmanager
def demo(folder: Path, *arguments: str, people: bool = False, **settings: str) -> Iterator[Served]:
    """A service with invented rows and without rate limits. `people` adds `with_people`; `settings` are variables."""
    instance = Instance(folder / "instance", {"GATEPOST_RATE_LIMITS": "off", **settings})
    done = instance.run("init", "--admin-email", ADMIN, "--admin-password-file", "-", input=PASSWORD)
    assert done.returncode == 0, done.stderr
    with (with_people(instance) if people else instance).served(*arguments) as found:
        yield found


def cookies_of(browser: Any, url: str, role: str = "admin") -> Any:
    """The cookies of a user of this role after a login."""
    context = browser.new_context()
    log_in(context.new_page(), url, role)
    found = context.storage_state()
    context.close()
    return found


def log_in(page: Any, url: str, role: str = "admin") -> None:
    """Logs in to the console as a reader does, and opens its first page."""
    page.goto(f"{url}/console/login")
    page.get_by_label("E-mail").fill(address(role))
    page.get_by_label("Password").fill(PASSWORD)
    page.locator("main button").click()
    page.wait_for_url(lambda found: "/login" not in found)


def barriers(page: Any, rules: dict[str, Any] = _RULES) -> list[str]:
    """Returns the violations that axe reports for the page: rule and element."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page, options=rules).response["violations"]
    return [f"{one['id']}: {node['target']} {node['html'][:120]}" for one in found for node in one["nodes"]]


def overflow(page: Any) -> int:
    """Returns the pixels by which the page is wider than its window."""
    return int(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


def overflows(page: Any) -> dict[int, int]:
    """Returns the overflow in each window of `WIDTHS` that is too narrow for the page, and restores its size."""
    size, found = page.viewport_size, {}
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 800})
        if (over := overflow(page)) > 0:
            found[width] = over
    page.set_viewport_size(size)
    return found
