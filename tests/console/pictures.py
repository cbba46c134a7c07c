"""Photographs of the console for the documents: `make pictures` writes docs/console-<page>.png.

They show the demo, whose rows have the same names each time.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from time import sleep
from typing import Any

from playwright.sync_api import sync_playwright

from tests.console.conftest import ARGUMENTS
from tests.console.visits import browser_program, demo, log_in
from tests.running import ROOT, Served

DOCS = ROOT / "docs"
PAGES = {
    "rules": "/console/rules?resource=article",
    "why": "/console/why?as=user&permission=article.publish&at=2026-11-20T12%3A00",
    "running": "/console/running",
    "people": "/console/people",
    "audit": "/console/audit",
    "history": "/console/history",
    "data": "/console/data/articles",
}
LINE = "p, support, article.publish, office_hours, allow"
SIZE = {"width": 1280, "height": 800}


def photograph(browser: Any, url: str) -> None:
    """Takes the picture of each page, and of a try of a change, as the administrator sees it."""
    page = browser.new_context(viewport=SIZE, reduced_motion="reduce", locale="en-GB").new_page()
    log_in(page, url)
    for name, path in PAGES.items():
        page.goto(url + path)
        page.screenshot(path=DOCS / f"console-{name}.png")
    page.goto(f"{url}/console/try?file=articles.csv")
    editor = page.locator("textarea").first
    editor.fill(editor.input_value().replace("# end", f"{LINE}\n# end"))
    page.get_by_role("button", name="Try").first.click()
    page.get_by_text("support").first.wait_for()
    page.screenshot(path=DOCS / "console-try.png")


def make_busy(service: Served) -> None:
    """Sends requests, so that pages show them. They are stored some seconds later."""
    for number in range(400):
        service.call("GET", "/api/articles" if number % 9 else "/api/admin/stats")
    sleep(12)


def main() -> None:
    program = browser_program()
    if program is None:
        sys.exit("There is no chromium on this machine.")
    os.environ["TZ"] = "UTC"
    with (tempfile.TemporaryDirectory() as folder, demo(Path(folder), GATEPOST_POLICY_EDIT="on") as service,
          sync_playwright() as play):
        make_busy(service)
        browser = play.chromium.launch(executable_path=program, args=list(ARGUMENTS))
        photograph(browser, service.url)
        browser.close()


if __name__ == "__main__":
    main()
