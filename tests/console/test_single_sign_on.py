"""Logins with an identity provider in Chromium: its cookies, its script, and a provider that is another site."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.accounts.provider import CLIENT, SECRET, Provider, serving
from tests.console.visits import barriers, demo, log_in, overflows
from tests.databases import free_port
from tests.running import PASSWORD

IDENTITIES = "/console/account/identities"
CONNECT = f"{IDENTITIES}/connect"


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with serving() as provider:
        yield provider


@pytest.fixture(scope="module")
def url(provider: Provider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of the service. The provider is at 127.0.0.1, which is another site."""
    url = f"http://localhost:{(port := free_port())}"
    table = {"ISSUER": provider.issuer, "CLIENT_ID": CLIENT, "CLIENT_SECRET": SECRET, "PRIVATE": "on",
             "LABEL": "The Team"}
    with demo(tmp_path_factory.mktemp("sso"), "--port", str(port), GATEPOST_PUBLIC_URL=url,
              **{f"GATEPOST_OIDC__TEAM__{name}": value for name, value in table.items()}):
        yield url


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    context = browser.new_context(viewport={"width": 390, "height": 800})
    page = context.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda message: wrong.append(message.text) if "Content Security" in message.text else None)
    yield page
    context.close()
    assert wrong == []


def begin(page: Any, url: str) -> None:
    """Goes from the login to the provider's page, and back."""
    page.goto(f"{url}/console/login")
    page.get_by_role("link", name="Log in with The Team").click()
    page.get_by_role("link", name="Go on").click()


def test_an_identity_is_connected_and_logs_in(page: Any, url: str, provider: Provider) -> None:
    begin(page, url)
    page.get_by_role("heading", name="Not connected yet").wait_for()
    assert barriers(page) == []
    assert overflows(page) == {}
    page.get_by_role("link", name="Log in with your password").click()
    assert barriers(page) == []
    page.get_by_label("E-mail").fill("admin@example.org")
    page.get_by_label("Password").fill(PASSWORD)
    page.locator("main button").click()
    page.wait_for_url(f"{url}{CONNECT}")
    assert barriers(page) == []
    assert overflows(page) == {}
    page.get_by_role("button", name="Connect").click()
    page.wait_for_url(f"{url}{IDENTITIES}?saved=1")
    assert barriers(page) == []
    assert overflows(page) == {}
    page.context.clear_cookies()
    begin(page, url)
    page.wait_for_url(lambda found: "/login" not in found)
    assert page.url.startswith(f"{url}/console"), "the strict cookie is sent at once"
    cookies = {cookie["name"]: cookie["sameSite"] for cookie in page.context.cookies()}
    assert (cookies["gatepost_console"], cookies["gatepost_flow"]) == ("Strict", "Lax")


def test_a_login_that_is_refused_has_a_way_back(page: Any, url: str) -> None:
    page.goto(f"{url}/console/login/with/team/back?error=access_denied")
    assert barriers(page) == []
    assert overflows(page) == {}
    page.get_by_role("link", name="Back to the login").click()
    page.wait_for_url(f"{url}/console/login")


def test_without_script_a_button_goes_on(browser: Any, url: str, provider: Provider) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    begin(page, url)
    assert "/back?code=" in page.url
    page.get_by_role("button", name="Continue").click()
    page.wait_for_url(lambda found: "?code=" not in found)
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_login_page_is_readable(browser: Any, url: str, scheme: str) -> None:
    context = browser.new_context(color_scheme=scheme)
    page = context.new_page()
    page.goto(f"{url}/console/login")
    assert barriers(page) == []
    log_in(page, url)
    for path in (IDENTITIES, CONNECT, "/console/account"):
        page.goto(f"{url}{path}")
        assert barriers(page) == [], path
        assert overflows(page) == {}, path
    context.close()
