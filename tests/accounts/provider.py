"""An identity provider for the tests: it follows OpenID Connect, or misbehaves as a test wants."""

from __future__ import annotations

import json
import secrets
import ssl
import time
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, parse_qsl, unquote_plus, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

CLIENT, SECRET, API = "gate", "a s:cret+%", "https://gate.example.org/api"
_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
LOGOUT = "http://schemas.openid.net/event/backchannel-logout"


class Provider:
    """State of the provider.

    keys      kid → key that signs; the last one is used
    document  values that replace those of the discovery document; None removes one
    claims    values that replace those of ID tokens; None removes one
    claims_of nonce → values that replace those of one ID token
    header    values that are added to the header of tokens
    profile   claims of the userinfo endpoint
    jwks      the key set, if it is not made from `keys`
    misbehave path → function that answers instead, with the handler
    asked     path of each request, in their order
    hosts     values of `Host`
    """

    def __init__(self, port: int) -> None:
        self._port = port
        self.begin_anew()

    def begin_anew(self) -> None:
        """Forgets what was asked, and how a test wanted it to answer."""
        self.__dict__ = {"_port": self._port}  # without the methods that a test has replaced
        self.issuer = f"http://127.0.0.1:{self._port}"
        self.keys: dict[str, Any] = {"one": _KEY}
        self.document: dict[str, Any] = {}
        self.claims: dict[str, Any] = {}
        self.claims_of: dict[str, dict[str, Any]] = {}
        self.header: dict[str, Any] = {}
        self.profile: dict[str, Any] = {}
        self.jwks: dict[str, Any] | None = None
        self.misbehave: dict[str, Callable[[BaseHTTPRequestHandler], None]] = {}
        self.asked: list[str] = []
        self.hosts: set[str] = set()
        self.requests: list[dict[str, str]] = []
        self.codes: dict[str, dict[str, str]] = {}
        self.answer: dict[str, Any] = {}

    def discovery(self) -> dict[str, Any]:
        document = {"issuer": self.issuer, "authorization_endpoint": f"{self.issuer}/auth",
                    "token_endpoint": f"{self.issuer}/token", "jwks_uri": f"{self.issuer}/jwks",
                    "userinfo_endpoint": f"{self.issuer}/userinfo",
                    "authorization_response_iss_parameter_supported": True, **self.document}
        return {name: value for name, value in document.items() if value is not None}

    def key_set(self) -> dict[str, Any]:
        return self.jwks or {"keys": [
            {**jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key(), as_dict=True), "kid": kid, "use": "sig"}
            for kid, key in self.keys.items()]}

    def authorize(self, url: str) -> str:
        """Plays the browser at the provider's page. Returns the path and query that it leads back to."""
        parts = urlsplit(self.leads_back(url))
        return f"{parts.path}?{parts.query}"

    def leads_back(self, url: str) -> str:
        """Returns the URL that the provider's page leads back to, with a new code."""
        asked = dict(parse_qsl(urlsplit(url).query))
        self.requests.append(asked)
        code = secrets.token_urlsafe(16)
        self.codes[code] = asked
        back = {"code": code, "state": asked["state"], "iss": self.issuer, "session_state": "unknown to Gatepost"}
        return f"{asked['redirect_uri']}?{urlencode(back)}"

    def sign(self, claims: dict[str, Any], **header: Any) -> str:
        kid, key = next(reversed(self.keys.items()))
        kept = {name: value for name, value in {"kid": kid, **self.header, **header}.items() if value is not None}
        return jwt.encode({name: value for name, value in claims.items() if value is not None}, key,
                          kept.pop("alg", "RS256"), kept)

    def id_token(self, nonce: str) -> str:
        moment = int(time.time())
        return self.sign({"iss": self.issuer, "sub": "248289761001", "aud": CLIENT, "exp": moment + 300, "iat": moment,
                          "nonce": nonce, "auth_time": moment, "sid": "session one", "email": "noor@example.org",
                          "email_verified": True, "name": "Noor Visser", **self.claims,
                          **self.claims_of.get(nonce, {})})

    def access_token(self, scope: str | None = "read:articles", **claims: Any) -> str:
        """An access token for the API `API` (RFC 9068). A claim that is None is left out."""
        moment = int(time.time())
        return self.sign({"iss": self.issuer, "sub": "248289761001", "aud": API, "exp": moment + 300, "iat": moment,
                          "jti": secrets.token_hex(8), "client_id": "reports", "scope": scope, **claims},
                         typ=self.header.get("typ", "at+jwt"))

    def logout_token(self, **claims: Any) -> str:
        return self.sign({"iss": self.issuer, "aud": CLIENT, "iat": int(time.time()), "jti": secrets.token_hex(8),
                          "events": {LOGOUT: {}}, **claims}, typ=self.header.get("typ", "logout+jwt"))

    def exchange(self, form: dict[str, str], authorization: str) -> tuple[int, dict[str, Any]]:
        user, _, password = b64decode(authorization.removeprefix("Basic ")).decode().partition(":")
        asked = self.codes.pop(form.get("code", ""), None)
        if asked is None:
            return 400, {"error": "invalid_grant"}
        challenge = urlsafe_b64encode(sha256(form["code_verifier"].encode()).digest()).rstrip(b"=").decode()
        if (asked["code_challenge"], asked["redirect_uri"]) != (challenge, form["redirect_uri"]):
            return 400, {"error": "invalid_grant"}
        if (unquote_plus(user), unquote_plus(password)) != (CLIENT, SECRET):
            return 401, {"error": "invalid_client"}
        return 200, {"access_token": "an access token", "token_type": "Bearer",
                     "id_token": self.id_token(asked["nonce"]), **self.answer}


@contextmanager
def serving(tls: ssl.SSLContext | None = None) -> Iterator[Provider]:
    """Serves a provider on a port of its own; with `tls`, at https://localhost."""
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = urlsplit(self.path).path
            if path == "/auth":
                self._show(f'<a href="{escape(provider.leads_back(self.path))}">Go on</a>')
                return
            answers = {"/.well-known/openid-configuration": provider.discovery, "/jwks": provider.key_set,
                       "/userinfo": lambda: provider.profile}
            self._answer(path, 200 if path in answers else 404, answers.get(path, dict))

        def do_POST(self) -> None:
            form = dict(parse_qsl(self.rfile.read(int(self.headers["Content-Length"])).decode()))
            result = provider.exchange(form, self.headers.get("Authorization", ""))
            self._answer(self.path, result[0], lambda: result[1])

        def _answer(self, path: str, status: int, make: Callable[[], Any]) -> None:
            provider.asked.append(path)
            provider.hosts.add(self.headers["Host"])
            with suppress(OSError):
                if path in provider.misbehave:
                    provider.misbehave[path](self)
                    return
                content = json.dumps(make()).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

        def _show(self, page: str) -> None:
            content = f"<!doctype html><title>Provider</title>{page}".encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    provider = Provider(server.server_address[1])
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
        provider.issuer = f"https://localhost:{server.server_address[1]}"
    thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def parameters(url: str) -> dict[str, list[str]]:
    """Returns the parameters of a URL."""
    return parse_qs(urlsplit(url).query)
