"""A second factor in a browser: it is set up, and the next login asks for a code of the app."""

from __future__ import annotations

import os
from pathlib import Path
from time import sleep, time
from typing import Any

import pyotp
import pytest

from tests.console.visits import barriers, log_in, overflow
from tests.running import PASSWORD

pytestmark = pytest.mark.slow  # a browser and a served instance

PAGE = "/console/account/second-factor"
PICTURES = os.environ.get("GATEPOST_PICTURES_OF_TESTS", "")  # a folder, to look at them


def looked_at(page: Any, name: str) -> None:
    """Checks the page of the moment at two widths, in light and dark."""
    for width in (390, 1440):
        page.set_viewport_size({"width": width, "height": 900})
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            assert barriers(page) == [], (name, width, scheme)
            assert overflow(page) == 0, (name, width)
            if PICTURES:
                page.screenshot(path=Path(PICTURES) / f"{name}-{width}-{scheme}.png", full_page=True)


def code_after(app: pyotp.TOTP, used: str) -> str:
    """Waits for the next code, if the present one was used."""
    while (code := app.now()) == used:
        sleep(30 - time() % 30 + 0.1)
    return code


def test_a_user_sets_it_up_and_logs_in_with_a_code(watched):
    watched.expected |= {401, 400}
    page = watched.page()
    log_in(page, watched.url, "admin")
    page.goto(f"{watched.url}/console/account")
    page.get_by_role("link", name="Second factor").click()
    looked_at(page, "not-set-up")
    page.get_by_role("button", name="Set up second factor").click()
    app = pyotp.TOTP(page.get_by_label("Or type this secret into the app").input_value())
    image = page.get_by_role("img", name="QR code with the secret below")
    assert image.evaluate("each => each.decode().then(() => each.naturalWidth)") > 100
    looked_at(page, "secret")
    page.get_by_label("Code").fill("000000")
    page.get_by_role("button", name="Confirm").click()
    page.get_by_text("The code is wrong.").first.wait_for()
    looked_at(page, "wrong")
    used = app.now()
    page.get_by_label("Code").fill(used)
    page.get_by_role("button", name="Confirm").click()
    recovery_code = page.locator("main code").first.inner_text()
    looked_at(page, "recovery-codes")
    page.get_by_role("link", name="Done").click()
    page.get_by_text("10 left").first.wait_for()
    looked_at(page, "state")

    visitor = watched.page(390)
    visitor.goto(f"{watched.url}{PAGE}")
    visitor.get_by_label("E-mail").fill("admin@example.org")
    visitor.get_by_label("Password").fill(PASSWORD)
    visitor.locator("main button").click()
    visitor.wait_for_url(lambda url: "/console/login/code/" in url)
    looked_at(visitor, "login")
    visitor.get_by_label("Code").fill("000000")
    visitor.locator("main button").click()
    visitor.get_by_text("The code is wrong").first.wait_for()
    visitor.get_by_label("Code").fill(code_after(app, used))
    visitor.locator("main button").click()
    visitor.wait_for_url(f"**{PAGE}")
    visitor.locator("#remove-code").fill(recovery_code)
    visitor.get_by_role("button", name="Remove", exact=True).click()
    visitor.get_by_text("The second factor was removed.").first.wait_for()
    looked_at(visitor, "removed")
