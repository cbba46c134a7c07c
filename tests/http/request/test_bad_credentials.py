"""Invalid credentials of every kind: 401 with the right challenge, and never anything else."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jwt
import pytest

from models.base import new_id
from tests.apps import NO_ROW, PASSWORD, Caller
from tests.samples import sampled

INVALID = 'Bearer error="invalid_token"'
_ABSENT = object()


@dataclass(frozen=True)
class World:
    """The means of a forger: the real keys, a valid token, and everything else that we sign."""

    app: Any
    caller: Caller
    other_tenant: str
    refresh: str
    service: str

    @property
    def services(self) -> Any:
        return self.app.extensions["gatepost"]

    @property
    def good(self) -> dict[str, Any]:
        return jwt.decode(self.caller.token, options={"verify_signature": False})

    def token(self, *, header: Mapping[str, Any] | None = None, key: Any = None, algorithm: str = "HS256",
              **changes: Any) -> str:
        """The good token with other claims (`_ABSENT` leaves one out), signed with the real key unless another is
        given."""
        claims = {name: value for name, value in {**self.good, **changes}.items() if value is not _ABSENT}
        kid, secret = self.services.keys.ring("access token")[0]
        headers = {name: value for name, value in {"typ": "at+jwt", "kid": kid, **(header or {})}.items()
                   if value is not _ABSENT}
        if "typ" not in headers:
            headers["typ"] = None
        body = b".".join(_base64(json.dumps(part).encode()) for part in ({"alg": algorithm, **headers}, claims))
        signer = jwt.get_algorithm_by_name(algorithm)
        signature = signer.sign(body, signer.prepare_key(secret if key is None else key))
        return b".".join((body, _base64(signature))).decode()


def _base64(raw: bytes) -> bytes:
    return base64.urlsafe_b64encode(raw).rstrip(b"=")


@pytest.fixture(scope="module")
def world(app, given, elsewhere, as_user) -> World:
    user = given.user("editor", password=PASSWORD)
    login = app.test_client().post("/api/login", json={"email": user.email, "password": PASSWORD}).get_json()
    caller = Caller(app.test_client(), user, login["access_token"])
    made = caller.post("/api/tokens", {"name": "ci", "scopes": ["read:articles"]}).get_json()
    return World(app, caller, elsewhere.tenant_id, login["refresh_token"], made["token"])


REQUIRED = ("iss", "aud", "sub", "exp", "iat", "jti", "sid", "role", "permissions", "tenant", "scope", "ver")
OF_ANOTHER_KIND: Mapping[str, Any] = {
    "iss": 7, "aud": ["gatepost"], "sub": 7, "exp": "tomorrow", "iat": "now", "jti": 7, "sid": ["x"], "role": None,
    "permissions": "article.view", "tenant": 7, "scope": ["*"], "ver": "1",
}
WRONG: Mapping[str, Callable[[World], Any]] = {
    "iss": lambda world: "another-issuer",
    "aud": lambda world: "another-service",
    "sub": lambda world: NO_ROW,
    "iat": lambda world: int(time.time()) + 2 * 86_400,
    "nbf": lambda world: int(time.time()) + 2 * 86_400,
    "sid": lambda world: new_id(),
    "permissions": lambda world: [7],
    "tenant": lambda world: world.other_tenant,
    "ver": lambda world: world.good["ver"] + 1,
    "ver, a boolean": lambda world: True,
}

Forgery = Callable[[World], str]
FORGERIES: dict[str, Forgery] = {
    "nothing behind the scheme": lambda world: "",
    "three dots": lambda world: "...",
    "not a token": lambda world: "letmein",
    "beyond ASCII": lambda world: "t\xf6ken",
    "ten thousand letters": lambda world: "x" * 10_000,
    "changed in one letter": lambda world: world.caller.token[:-10] + (
        "A" if world.caller.token[-10] != "A" else "B") + world.caller.token[-9:],
    "without a signature": lambda world: world.caller.token.rpartition(".")[0] + ".",
    "alg none": lambda world: _base64(b'{"alg":"none","typ":"at+jwt"}').decode() + "." + _base64(
        json.dumps(world.good).encode()).decode() + ".",
    "alg None with a kid": lambda world: world.token(algorithm="none", key=""),
    "another algorithm, the same key": lambda world: world.token(algorithm="HS384"),
    "another key": lambda world: world.token(key=b"k" * 32),
    "the key of another purpose": lambda world: world.token(key=world.services.keys.derive("cursor")),
    "an unknown kid": lambda world: world.token(header={"kid": "0123456789ab"}),
    "a kid that is no text": lambda world: world.token(header={"kid": 7}),
    "without a kid": lambda world: world.token(header={"kid": _ABSENT}),
    "another type of token": lambda world: world.token(header={"typ": "JWT"}),
    "without a type of token": lambda world: world.token(header={"typ": _ABSENT}),
    "a refresh token": lambda world: world.refresh,
    "a refresh token by its claim": lambda world: world.token(type="refresh"),
    "a cursor": lambda world: world.services.cursors.write("articles", "question", (NO_ROW,)),
    "a service token without its secret": lambda world: world.service.rpartition("_")[0] + "_",
    "a service token with another secret": lambda world: f"gp_{world.service[3:39]}_{'x' * 43}",
    "a service token that does not exist": lambda world: f"gp_{NO_ROW}_{'x' * 43}",
    "a service token without an id": lambda world: "gp_secret",
    "a service token twice": lambda world: world.service * 2,
    **{f"without {claim}": lambda world, claim=claim: world.token(**{claim: _ABSENT}) for claim in REQUIRED},
    **{f"{claim} of another kind": lambda world, claim=claim: world.token(**{claim: OF_ANOTHER_KIND[claim]})
       for claim in REQUIRED},
    **{f"wrong {claim}": lambda world, claim=claim, value=value: world.token(**{claim.partition(",")[0]: value(world)})
       for claim, value in WRONG.items()},
}


def test_a_token_that_was_issued_before_the_clock_was_set_back_goes_on_being_valid(world, client):
    before = int(time.time()) + 3 * 3600
    token = world.token(iat=before, nbf=before, exp=before + 900)
    assert client.get("/api/profile", headers={"Authorization": f"Bearer {token}"}).status_code == 200


@pytest.mark.parametrize("forgery", sampled(FORGERIES.values(), 2), ids=FORGERIES)
def test_a_token_that_is_not_valid_is_refused_even_where_none_is_needed(forgery, world, client):
    for path in ("/api/profile", "/api/articles", "/api/health"):
        answer = client.get(path, headers={"Authorization": f"Bearer {forgery(world)}"})
        assert (answer.status_code, answer.get_json()["code"]) == (401, "invalid_token"), path
        assert answer.headers.getlist("WWW-Authenticate") == [INVALID], path


def test_the_same_made_without_a_change_is_accepted(world, client):
    answer = client.get("/api/profile", headers={"Authorization": f"Bearer {world.token()}"})
    assert answer.status_code == 200


@pytest.mark.parametrize("seconds", [0, 1, 3600])
def test_an_expired_token_says_so(seconds, world, client):
    token = world.token(exp=int(time.time()) - seconds)
    answer = client.get("/api/profile", headers={"Authorization": f"Bearer {token}"})
    assert (answer.status_code, answer.get_json()["code"]) == (401, "token_expired")
    assert answer.headers["WWW-Authenticate"] == INVALID


HEADERS: dict[str, Callable[[str], Any]] = {
    "another scheme": lambda token: [("Authorization", "Basic dXNlcjpwYXNz")],
    "no scheme": lambda token: [("Authorization", token)],
    "the scheme alone": lambda token: [("Authorization", "Bearer")],
    "empty": lambda token: [("Authorization", "")],
    "two headers": lambda token: [("Authorization", f"Bearer {token}")] * 2,
    "two tokens": lambda token: [("Authorization", f"Bearer {token} {token}")],
    "a good one and a bad one": lambda token: [("Authorization", f"Bearer {token}"), ("Authorization", "Bearer x")],
}


@pytest.mark.parametrize("headers", HEADERS.values(), ids=HEADERS)
def test_a_header_that_is_no_bearer_token_is_refused(headers, world, client):
    for path in ("/api/profile", "/api/articles"):
        answer = client.get(path, headers=headers(world.caller.token))
        assert (answer.status_code, answer.get_json()["code"]) == (401, "invalid_token")
        assert answer.headers["WWW-Authenticate"] == INVALID


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER", "bEaReR"])
@pytest.mark.parametrize("spaces", [" ", "   "])
def test_the_scheme_may_be_written_in_any_case(scheme, spaces, world, client):
    answer = client.get("/api/profile", headers={"Authorization": f"{scheme}{spaces}{world.caller.token}"})
    assert answer.status_code == 200


@pytest.mark.parametrize("parameter", ["access_token", "token", "authorization", "jwt"])
def test_a_token_in_the_query_string_is_not_looked_at(parameter, world, client):
    answer = client.get("/api/profile", query_string={parameter: world.caller.token})
    assert (answer.status_code, answer.get_json()["code"]) == (401, "unauthenticated")
    assert answer.headers["WWW-Authenticate"] == "Bearer", "no error code: no credentials were sent (RFC 6750, 3)"


def test_a_token_in_a_cookie_or_in_the_body_is_not_looked_at(world, app):
    client = app.test_client()
    for name in ("access_token_cookie", "access_token", "session"):
        client.set_cookie(name, world.caller.token)
    answer = client.patch("/api/profile", json={"name": "Eve", "access_token": world.caller.token})
    assert (answer.status_code, answer.get_json()["code"]) == (401, "unauthenticated")


NOT_REFRESH_TOKENS: dict[str, Forgery] = {
    "an access token": lambda world: world.caller.token,
    "a service token": lambda world: world.service,
    "a cursor": lambda world: world.services.cursors.write("articles", "question", (NO_ROW,)),
    "nothing": lambda world: "",
    "no session's": lambda world: f"gr_{NO_ROW}_{'x' * 65}",
    "another secret": lambda world: world.refresh[:-60] + "x" * 60,
    "too short": lambda world: world.refresh[:-1],
    "too long": lambda world: world.refresh + "x",
    "beyond ASCII": lambda world: world.refresh[:-1] + "ö",
}


@pytest.mark.parametrize("forgery", NOT_REFRESH_TOKENS.values(), ids=NOT_REFRESH_TOKENS)
def test_what_is_no_refresh_token_is_not_exchanged_and_ends_nothing(forgery, world, client):
    answer = client.post("/api/token/refresh", json={"refresh_token": forgery(world)})
    assert (answer.status_code, answer.get_json()["code"]) == (401, "invalid_token")
    assert answer.headers["WWW-Authenticate"] == INVALID
    assert world.caller.get("/api/profile").status_code == 200


def test_the_role_in_a_token_is_not_what_counts(world, client):
    bearer = {"Authorization": f"Bearer {world.token(role='admin', permissions=['user.disable'])}"}
    answer = client.post(f"/api/users/{world.caller.id}/disable", headers=bearer)
    assert (answer.status_code, answer.get_json()["code"]) == (403, "forbidden")


@pytest.mark.parametrize("tail", ["=", "!", "!" * 5, ".", "\u00e9", "~=!" * 1000], ids=ascii)
def test_a_good_token_with_anything_after_it_is_no_token(world, tail):
    sent = {"Authorization": f"Bearer {world.caller.token}{tail}"}
    answer = world.app.test_client().get("/api/profile", headers=sent)
    assert (answer.status_code, answer.get_json()["code"]) == (401, "invalid_token")
