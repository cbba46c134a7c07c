"""Passkeys in Chromium, with its virtual authenticator: add one, log in with it, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from tests.console.conftest import Watched
from tests.console.visits import ADMIN, barriers, demo, log_in, overflows
from tests.databases import free_port
from tests.running import Served

pytestmark = pytest.mark.slow  # a browser and a served instance


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A service whose pages are at http://localhost, where browsers allow passkeys without TLS."""
    pytest.importorskip("webauthn")
    port = free_port()
    url = f"http://localhost:{port}"
    with demo(tmp_path_factory.mktemp("passkeys"), "--port", str(port), GATEPOST_RP_ID="localhost",
              GATEPOST_PUBLIC_URL=url) as found:
        yield replace(found, url=url)


@pytest.fixture
def watched(browser: Any, service: Served) -> Iterator[Watched]:
    found = Watched(browser, service.url)
    yield found
    found.close()


class Authenticator:
    """A virtual device of one page."""

    def __init__(self, page: Any, *, verified: bool = True) -> None:
        self._protocol = page.context.new_cdp_session(page)
        self._protocol.send("WebAuthn.enable")
        self.id = self._protocol.send("WebAuthn.addVirtualAuthenticator", {"options": {
            "protocol": "ctap2", "transport": "internal", "hasResidentKey": True, "hasUserVerification": True,
            "isUserVerified": verified, "automaticPresenceSimulation": True}})["authenticatorId"]

    def credentials(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._protocol.send(
            "WebAuthn.getCredentials", {"authenticatorId": self.id})["credentials"]
        return found

    def verify(self, verified: bool) -> None:
        self._protocol.send("WebAuthn.setUserVerified", {"authenticatorId": self.id, "isUserVerified": verified})


def add(page: Any, url: str, name: str) -> None:
    page.goto(f"{url}/console/account")
    page.locator("main").get_by_role("link", name="Passkeys").click()
    page.get_by_role("button", name="Add passkey").click()
    page.get_by_label("Name").fill(name)
    page.get_by_role("button", name="Create passkey").click()


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (390, "dark")])
def test_a_passkey_is_added_logs_in_and_is_removed(width: int, scheme: str, watched: Watched) -> None:
    page = watched.page(width, color_scheme=scheme)
    device, name = Authenticator(page), f"Laptop {scheme}"
    log_in(page, watched.url)
    add(page, watched.url, name)
    page.wait_for_url("**/console/account/passkeys?done=1")
    assert name in page.locator("main").inner_text()
    assert barriers(page) == []
    assert overflows(page) == {}
    [credential] = device.credentials()
    assert (credential["rpId"], credential["isResidentCredential"]) == ("localhost", True)
    page.get_by_role("button", name="Log out").click()
    page.get_by_role("link", name="Log in with a passkey").click()
    assert barriers(page) == []
    assert overflows(page) == {}
    page.get_by_role("button", name="Use passkey").click()
    page.wait_for_url(lambda found: "/login" not in found)
    page.goto(f"{watched.url}/console/account")
    assert ADMIN in page.locator("main").inner_text()
    assert device.credentials()[0]["signCount"] > credential["signCount"]
    page.goto(f"{watched.url}/console/account/passkeys")
    card = page.locator("section.card", has_text=name)
    card.locator("summary").click()
    card.get_by_role("button", name="Remove passkey").click()
    page.wait_for_url("**/console/account/passkeys?done=1")
    assert name not in page.locator("main").inner_text()
    watched.expected.add(401)
    page.goto(f"{watched.url}/console/login/passkey")
    page.get_by_role("button", name="Use passkey").click()
    page.get_by_text("This passkey is not known here").wait_for()


def test_a_user_who_is_not_verified_gets_no_passkey(watched: Watched) -> None:
    page = watched.page()
    device = Authenticator(page, verified=False)
    log_in(page, watched.url)
    add(page, watched.url, "Key")
    page.get_by_text("The browser created no passkey.").wait_for()
    assert device.credentials() == []
    device.verify(True)
    page.get_by_role("button", name="Create passkey").click()
    page.wait_for_url("**/console/account/passkeys?done=1")
    page.get_by_role("button", name="Log out").click()
    device.verify(False)
    page.goto(f"{watched.url}/console/login/passkey")
    page.get_by_role("button", name="Use passkey").click()
    page.get_by_text("The browser gave no passkey.").wait_for()


def test_another_origin_gets_no_passkey_and_no_login(watched: Watched, service: Served) -> None:
    """The address 127.0.0.1 is another origin than localhost: the browser refuses the domain."""
    port = service.url.rpartition(":")[2]
    watched.url = f"http://127.0.0.1:{port}"
    page = watched.page()
    Authenticator(page)
    page.goto(f"{watched.url}/console/login/passkey")
    page.get_by_role("button", name="Use passkey").click()
    page.get_by_text("The browser gave no passkey.").wait_for()


def test_without_script_the_page_says_so(watched: Watched) -> None:
    page = watched.page(java_script_enabled=False)
    page.goto(f"{watched.url}/console/login/passkey")
    assert "Passkeys need JavaScript." in page.locator("main").inner_text()
