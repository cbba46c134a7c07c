"""Access tokens of an identity provider for the API (RFC 9068), and the metadata of the resource (RFC 9728)."""

from __future__ import annotations

import json
import re
import time
from base64 import urlsafe_b64encode
from contextlib import ExitStack
from threading import Thread

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from blueprints.accounts.single_sign_on import checks
from gatepost.features import Installation
from gatepost.health.check_result import State
from gatepost.http.request.identity import as_of_now, identify
from gatepost.testing import Caller, run_jobs
from models.tables.audit import Audit
from models.tables.identity import Identity
from models.tables.job import Job
from models.tables.session import Session
from models.tables.user import User
from policies.invariants.lines import INVARIANTS_FILE
from settings import SettingError, Settings
from tests.accounts.conftest import app_with, forget_providers
from tests.accounts.provider import API, CLIENT, serving
from tests.accounts.test_provider_requests import raw
from tests.accounts.test_single_sign_on import SUBJECT, connect
from tests.apps import PASSWORD
from tests.http.console.pages import visit
from tests.policies.editing import add_line

pytestmark = pytest.mark.usefixtures("no_identities")

PATH = "/.well-known/oauth-protected-resource"
METADATA = f'resource_metadata="http://localhost{PATH}"'
INVALID = f'Bearer error="invalid_token", {METADATA}'


@pytest.fixture(scope="module")
def api_of_module(instance_folder, database_url, provider_of_module):
    with app_with(instance_folder, database_url, provider_of_module, audience=API) as app:
        yield app


@pytest.fixture
def api(api_of_module):
    return forget_providers(api_of_module)


@pytest.fixture
def with_rules(instance_folder, database_url, provider):
    """Returns a function that makes the app with further lines of model.conf and of a file of rules."""
    files = [instance_folder / "policies" / name for name in ("model.conf", "products.csv", INVARIANTS_FILE)]
    model, products, invariants = files
    before = [file.read_bytes() for file in files]

    def make(*rules, conditions=()):
        invariants.write_text("# end\n", encoding="utf-8")
        for line in conditions:
            add_line(model, line)
        for line in rules:
            add_line(products, line)
        return made.enter_context(app_with(instance_folder, database_url, provider, audience=API))

    with ExitStack() as made:
        yield make
    for file, content in zip(files, before, strict=True):
        file.write_bytes(content)


@pytest.fixture
def user(given, provider):
    user = given.user("editor", password=PASSWORD)
    connect(given, provider, user)
    return user


def program(app, token):
    return Caller(app.test_client(), None, token)


def refused(answer, code="invalid_token"):
    assert (answer.status_code, answer.get_json()["code"]) == (401, code), answer.text
    assert answer.headers.getlist("WWW-Authenticate") == [INVALID]
    return answer.get_json()["detail"]


def events(given, **columns):
    with given.database.connected():
        where = [getattr(Audit, name) == value for name, value in columns.items()]
        return list(Audit.select().where(*where).order_by(Audit.seq))


def encode(part):
    return urlsafe_b64encode(part if isinstance(part, bytes) else json.dumps(part).encode()).rstrip(b"=").decode()


def claims(provider, **changes):
    return jwt.decode(provider.access_token(**changes), options={"verify_signature": False})


# What a token may do


@pytest.mark.both_databases
def test_a_token_acts_for_the_user_of_its_identity(api, given, provider, user):
    caller = program(api, provider.access_token("openid write:articles read:profile"))
    assert caller.get("/api/profile").get_json()["id"] == user.id
    answer = caller.post("/api/articles", {"title": "T", "slug": "by-a-program", "body": "b"})
    assert (answer.status_code, answer.get_json()["owner_id"]) == (201, user.id), answer.text
    [event] = events(given, resource_id=answer.get_json()["id"])
    assert (event.principal, event.role) == (f"user:{user.id}", "editor")
    assert 'token of team for "reports"' in event.reason
    assert caller.get("/api/products").get_json()["code"] == "insufficient_scope"


@pytest.mark.parametrize(("scope", "method", "path", "status"), [
    ("read:articles", "GET", "/api/articles", 200), ("read:articles", "POST", "/api/articles", 403),
    ("read:articles write:articles", "POST", "/api/articles", 201), ("write:profile", "PATCH", "/api/profile", 200),
    ("openid email nothing:known read:articles", "GET", "/api/articles", 200),
    (None, "GET", "/api/articles", 403), ("", "GET", "/api/articles", 403), ("*", "GET", "/api/articles", 403),
    ("article.view", "GET", "/api/articles", 403), ("READ:articles", "GET", "/api/articles", 403),
    ("read:articles\u00a0write:articles", "POST", "/api/articles", 403),
    ("read:articles,write:articles", "GET", "/api/articles", 403), ("read:*", "GET", "/api/articles", 403),
    ("read:articles\twrite:articles", "GET", "/api/articles", 403), ("manage:articles", "GET", "/api/users", 403)])
def test_its_scopes_narrow_like_those_of_a_service_token(api, provider, user, scope, method, path, status):
    body = {"/api/articles": {"title": "T", "slug": "narrowed", "body": "b"}, "/api/profile": {"name": "New"}}[path] \
        if method != "GET" else None
    answer = program(api, provider.access_token(scope)).call(method, path, **({} if body is None else {"body": body}))
    assert answer.status_code == status, answer.text
    if status == 403:
        assert answer.get_json()["code"] == "insufficient_scope"


def test_it_is_a_program_without_a_login(with_rules, provider, user):
    api = with_rules("p, editor, product.create, with_mfa_alone, allow", "p, editor, category.create, programs, allow",
             conditions=("    p.when == 'with_mfa_alone' && r.sub.mfa == 1 || \\",
                         "    p.when == 'programs' && r.sub.kind == 'service' || \\"))
    caller = program(api, provider.access_token("write:products write:categories", acr="mfa", amr=["mfa"],
                                                auth_time=int(time.time())))
    assert caller.post("/api/products", {"name": "T", "sku": "S", "price": 5, "currency": "EUR"}).status_code == 403
    assert caller.post("/api/categories", {"name": "T", "slug": "of-a-program"}).status_code == 201


def test_its_groups_and_roles_change_nothing(api, given, provider, user):
    token = provider.access_token("read:profile", groups=["admins"], roles=["admin"], role="admin",
                                  realm_access={"roles": ["admin"]}, permissions=["user.disable"])
    profile = program(api, token).get("/api/profile").get_json()
    assert (profile["role"], given.found(User, user.id).groups) == ("editor", [])


def test_what_needs_the_password_needs_it(api, given, provider, user):
    """A token counts for as long as its provider says, so it is no recent login."""
    caller = program(api, provider.access_token("write:profile", auth_time=int(time.time())))
    for body in ({"email": "new@example.org"}, {"email": "new@example.org", "current_password": "wrong"}):
        assert caller.patch("/api/profile", body).status_code == 403
    assert caller.patch("/api/profile", {"email": "new@example.org", "current_password": PASSWORD}).status_code == 200
    assert caller.post("/api/tokens", {"name": "x", "scopes": []}).get_json()["code"] == "insufficient_scope"


def test_it_changes_no_second_factor_and_makes_no_password_link(with_rules, given, provider, user):
    api = with_rules("p, editor, user.*, always, allow", "p2, write:profile, user.*")
    caller = program(api, provider.access_token("write:profile"))
    other = given.user("user")
    assert caller.post("/api/profile/second-factor", {}).status_code == 403
    for path in ("remove-second-factor", "password-link"):
        assert caller.post(f"/api/users/{other.id}/{path}").status_code == 403, path


@pytest.mark.both_databases
def test_it_has_no_session(api, given, provider, user):
    """A logout ends none, and none is kept where all others end."""
    caller = program(api, provider.access_token("write:profile"))
    passwords = {"current_password": PASSWORD, "new_password": "seven green lanterns"}
    for path, body, ends in (("logout", {}, False), ("logout", {"all": True}, True), ("end-other-sessions", None, True),
                             ("password", passwords, True)):
        visitor = visit(api, user)
        answer = caller.post(f"/api/{path}" if path == "logout" else f"/api/profile/{path}",
                             **({} if body is None else {"body": body}))
        assert answer.status_code == 204, answer.text
        assert (visitor.get("/console/account").status_code == 200) is not ends, path
    assert caller.get("/api/profile").status_code == 200
    with given.database.connected():
        assert Session.select().where(Session.owner_id == user.id, Session.revoked_at.is_null()).count() == 0


@pytest.mark.both_databases
def test_it_disconnects_its_own_identity(api, given, provider, user):
    caller = program(api, provider.access_token("write:profile"))
    [identity] = caller.get("/api/profile/identities").get_json()["data"]
    assert caller.delete(f"/api/profile/identities/{identity['id']}").status_code == 204
    refused(caller.get("/api/profile"))


def test_the_console_does_not_take_it(api, provider, user):
    answer = api.test_client().get("/console/account", headers={"Authorization": f"Bearer {provider.access_token()}"})
    assert answer.status_code in (303, 401)


def test_an_idempotency_key_belongs_to_the_client(api, provider, user):
    body, key = {"title": "T", "slug": "once", "body": "b"}, {"Idempotency-Key": "k" * 20}

    def send(**more):
        return program(api, provider.access_token("write:articles", **more)).post("/api/articles", body, headers=key)

    first, again = send(), send()
    assert (first.status_code, again.status_code, again.get_json()) == (201, 201, first.get_json()), "a newer token"
    assert send(client_id="another").status_code == 409, "of another program: it runs, and the slug is taken"


@pytest.mark.both_databases
def test_a_job_acts_with_the_same_rights(with_rules, given, provider, user):
    api = with_rules("p, editor, article.export, programs, allow", "p, editor, article.import, always, allow",
             conditions=("    p.when == 'programs' && r.sub.kind == 'service' || \\",))
    caller = program(api, provider.access_token("openid manage:articles read:jobs nothing:known"))
    asked = caller.get("/api/articles/export", headers={"Prefer": "respond-async"})
    assert asked.status_code == 202, asked.text
    run_jobs(api)
    done = caller.get(asked.headers["Location"]).get_json()
    assert done["state"] == "done", done
    asked_for, made = events(given, action="export", result="allowed", principal=f"user:{user.id}")
    assert 'token of team for "reports"' in asked_for.reason
    assert 'token of team for "reports", job ' in made.reason
    with given.database.connected():
        [job] = Job.select()
    assert (job.token_id, sorted(job.scopes)) == (None, ["manage:articles", "read:jobs"])
    caller.get("/api/articles/export", headers={"Prefer": "respond-async"})
    with given.database.connected():
        User.update(active=False).where(User.id == user.id).execute()
    with pytest.raises(AssertionError, match="no longer active"):
        run_jobs(api)


def test_slow_work_asks_again_for_the_user(api, given, provider, user):
    services = api.extensions["gatepost"]
    with api.test_request_context(headers={"Authorization": f"Bearer {provider.access_token()}"}) as context, \
            given.database.connected():
        principal, credential = identify(services, context.request)
        assert as_of_now(services, principal, credential) == principal
        User.update(active=False).where(User.id == user.id).execute()
        with pytest.raises(Exception, match="invalid_token"):
            as_of_now(services, principal, credential)


@pytest.mark.both_databases
def test_an_import_with_it_takes_effect(with_rules, provider, user):
    api = with_rules("p, editor, article.import, always, allow")
    line = json.dumps({"title": "T", "slug": "imported", "body": "b"})
    answer = program(api, provider.access_token("manage:articles")).call(
        "POST", "/api/articles/import", data=line, headers={"Content-Type": "application/x-ndjson"})
    assert (answer.status_code, answer.get_json()["imported"]) == (200, 1), answer.text


# Whose token it is


@pytest.mark.both_databases
def test_a_user_of_another_tenant_acts_there(api, given, elsewhere, provider):
    someone = elsewhere.user("editor")
    connect(elsewhere, provider, someone)
    here, there = given.article(), elsewhere.article()
    caller = program(api, provider.access_token("read:articles write:articles"))
    shown = [each["id"] for each in caller.get("/api/articles?limit=100").get_json()["items"]]
    assert (there.id in shown, here.id in shown) == (True, False)
    assert caller.get(f"/api/articles/{here.id}").status_code == 404
    [event] = events(given, resource_id=caller.post(
        "/api/articles", {"title": "T", "slug": "there", "body": "b"}).get_json()["id"])
    assert event.tenant_id == elsewhere.tenant_id


@pytest.mark.both_databases
def test_an_identity_without_an_account_gets_none(api, given, provider, user):
    with given.database.connected():
        before = User.select().count()
    token = provider.access_token(sub="somebody else", email=user.email, email_verified=True)
    assert "connected" in refused(program(api, token).get("/api/articles"))
    with given.database.connected():
        assert User.select().count() == before
        assert Identity.select().where(Identity.issuer == provider.issuer).count() == 1


@pytest.mark.both_databases
def test_a_disconnected_identity_is_refused_at_once(api, given, provider, user):
    caller = program(api, provider.access_token())
    assert caller.get("/api/articles").status_code == 200
    with given.database.connected():
        Identity.delete().where(Identity.owner_id == user.id).execute()
    refused(caller.get("/api/articles"))


@pytest.mark.both_databases
def test_a_disabled_user_is_refused_at_once(api, given, provider, user):
    caller = program(api, provider.access_token())
    assert caller.get("/api/articles").status_code == 200
    with given.database.connected():
        User.update(active=False).where(User.id == user.id).execute()
    assert "disabled" in refused(caller.get("/api/articles"))


def test_the_role_of_the_account_counts(api, given, provider, user):
    caller = program(api, provider.access_token("write:articles"))
    with given.database.connected():
        User.update(role="no-such-role").where(User.id == user.id).execute()
    assert caller.get("/api/articles").status_code == 403


# What no token is


# Refused before a key is needed, so that they cannot make the service ask the provider.
CHEAP = {
    "alg none": lambda p: sign_nothing(p),
    "alg None": lambda p: sign_nothing(p, header={"alg": "None"}),
    "an expired one, unsigned": lambda p: sign_nothing(p, exp=1),
    "HS256 with the public key": lambda p: hmac_with_public_key(p),
    "an algorithm that is not in the list": lambda p: p.sign(claims(p), typ="at+jwt", alg="RS512"),
    "crit": lambda p: p.sign(claims(p), typ="at+jwt", crit=["exp"]),
    "a kid that is no text": lambda p: rewritten(p, header={"kid": 7}),
    "an ID token": lambda p: p.id_token("nonce"),
    "an ID token for the API": lambda p: p.sign({**claims(p), "nonce": "n"}),
    "a logout token": lambda p: p.logout_token(sub=SUBJECT, aud=API, client_id="reports", exp=int(time.time()) + 60),
    "typ JWT": lambda p: p.sign(claims(p), typ="JWT"),
    "no typ": lambda p: rewritten(p, header={"typ": None}),
    "typ as a list": lambda p: rewritten(p, header={"typ": ["at+jwt"]}),
    "for the client": lambda p: p.access_token(aud=CLIENT),
    "for another API": lambda p: p.access_token(aud="https://other.example.org"),
    "for a part of the audience": lambda p: p.access_token(aud=API[:-1]),
    "for more than the audience": lambda p: p.access_token(aud=f"{API}/"),
    "for an audience in capitals": lambda p: p.access_token(aud=API.upper()),
    "for a list without it": lambda p: p.access_token(aud=[CLIENT, "https://other.example.org"]),
    "for an empty list": lambda p: p.access_token(aud=[]),
    "for a list in a list": lambda p: p.access_token(aud=[[API]]),
    "for an object": lambda p: p.access_token(aud={API: True}),
    "of another issuer": lambda p: p.access_token(iss="https://other.example.org"),
    "of an issuer with a slash": lambda p: p.access_token(iss=f"{p.issuer}/"),
    "of a list of issuers": lambda p: rewritten(p, iss=[p.issuer]),
    **{f"without {name}": lambda p, name=name: p.access_token(**{name: None}) for name in ("iss", "aud", "exp")},
    **{f"exp as {value!r}": lambda p, value=value: rewritten(p, exp=value) for value in ("soon", [], {}, None)},
    "a number for its claims": lambda p: p.access_token().split(".")[0] + ".NQ." + p.access_token().split(".")[2],
    "nested JSON": lambda p: ".".join((encode({"alg": "RS256", "typ": "at+jwt", "kid": "one"}),
                                       encode(b"[" * 30_000), encode(b"x"))),
    "a nested header": lambda p: ".".join((encode(b'{"alg":' + b"[" * 30_000), encode({}), encode(b"x"))),
    "beyond ASCII": lambda p: p.access_token()[:-3] + "\xe9\xe9",
    "huge": lambda p: p.access_token(filling="x" * 100_000),
    "five parts": lambda p: "a.b.c.d.e",
}
FORGERIES = {
    **CHEAP,
    "no signature": lambda p: p.access_token().rpartition(".")[0] + ".",
    "another signature": lambda p: p.access_token().rpartition(".")[0] + "." + encode(b"x" * 256),
    "the signature of another one": lambda p: ".".join(
        (*p.access_token().split(".")[:2], p.access_token().split(".")[2])),
    "a foreign key in jwk": lambda p: foreign(p, jwk=True),
    "a foreign key behind jku": lambda p: foreign(p, jku="https://evil.example.org/jwks"),
    "a foreign key behind x5u": lambda p: foreign(p, x5u="https://evil.example.org/x"),
    "a foreign key with the kid": lambda p: foreign(p),
    "an unknown kid": lambda p: p.sign(claims(p), typ="at+jwt", kid="unknown"),
    "a kid that is a path": lambda p: p.sign(claims(p), typ="at+jwt", kid="../../etc/passwd"),
    "issued in the future": lambda p: p.access_token(iat=int(time.time()) + 3600),
    "not valid yet": lambda p: p.access_token(nbf=int(time.time()) + 3600),
    "one that never ends": lambda p: rewritten(p, exp=float("inf")),
    "half a character as sub": lambda p: rewritten(p, sub="\ud800"),
    "a program alone, with the id of a user": lambda p: p.access_token(client_id=SUBJECT),
    "a program alone, named as in an ID token": lambda p: p.access_token(client_id=None, azp=SUBJECT),
    **{f"without {name}": lambda p, name=name: p.access_token(**{name: None})
       for name in ("sub", "iat", "jti", "client_id")},
    "bound to a key of the client": lambda p: p.access_token(cnf={"jkt": "x" * 43}),
    **{f"{name} as {str(value)[:20]!r}": lambda p, name=name, value=value: rewritten(p, **{name: value})
       for name, values in {"iat": ("now", [], {}), "sub": (7, "", "x" * 300, [SUBJECT]),
                            "jti": (7, "", "x" * 2000, []), "client_id": (7, "", "x" * 2000, ["reports"]),
                            "scope": (7, ["read:articles"], {}), "nbf": ("x",)}.items() for value in values},
}


def sign_nothing(provider, header=None, **changes):
    head = {"alg": "none", "typ": "at+jwt", **(header or {})}
    return f"{encode(head)}.{encode({**claims(provider), **changes})}."


def hmac_with_public_key(provider):
    pem = provider.keys["one"].public_key().public_bytes(serialization.Encoding.PEM,
                                                         serialization.PublicFormat.SubjectPublicKeyInfo)
    body = f"{encode({'alg': 'HS256', 'typ': 'at+jwt', 'kid': 'one'})}.{encode(claims(provider))}".encode()
    signer = jwt.get_algorithm_by_name("HS256")
    return f"{body.decode()}.{encode(signer.sign(body, pem))}"


FOREIGN = rsa.generate_private_key(public_exponent=65537, key_size=2048)


def foreign(provider, jwk=False, **header):
    if jwk:
        header["jwk"] = jwt.algorithms.RSAAlgorithm.to_jwk(FOREIGN.public_key(), as_dict=True)
    return jwt.encode(claims(provider), FOREIGN, "RS256", {"typ": "at+jwt", "kid": "one", **header})


def rewritten(provider, header=None, **changes):
    """A token with these values, whatever they are, signed by the provider."""
    head = {"alg": "RS256", "typ": "at+jwt", "kid": "one", **(header or {})}
    body = f"{encode(head)}.{encode({**claims(provider), **changes})}".encode()
    signer = jwt.get_algorithm_by_name("RS256")
    return f"{body.decode()}.{encode(signer.sign(body, provider.keys['one']))}"


def test_forgeries_are_refused(api, provider, user):
    """One app for all of them, so that none leaves behind what lets another one in."""
    wrong = {}
    for name, forge in FORGERIES.items():
        answer = api.test_client().get("/api/articles", headers={"Authorization": f"Bearer {forge(provider)}"})
        seen = answer.status_code, (answer.get_json(silent=True) or {}).get("code")
        if seen != (401, "invalid_token"):
            wrong[name] = seen
    assert wrong == {}
    assert provider.asked.count("/jwks") <= 1
    assert program(api, rewritten(provider)).get("/api/articles").status_code == 200, "made in the same way"


@pytest.mark.parametrize("aud", [API, [API], ["https://other.example.org", API], [API, CLIENT]], ids=str)
def test_one_audience_among_several_is_enough(api, provider, user, aud):
    assert program(api, provider.access_token(aud=aud)).get("/api/articles").status_code == 200


@pytest.mark.parametrize("typ", ["at+jwt", "AT+JWT", "application/at+jwt"])
def test_the_type_may_be_written_as_a_media_type(api, provider, user, typ):
    provider.header = {"typ": typ}
    assert program(api, provider.access_token()).get("/api/articles").status_code == 200


@pytest.mark.both_databases
def test_the_client_may_be_named_as_in_an_id_token(api, given, provider, user):
    """Keycloak leaves `client_id` out, unlike RFC 9068."""
    answer = program(api, provider.access_token("write:articles", client_id=None, azp='a "b", c')).post(
        "/api/articles", {"title": "T", "slug": "named", "body": "b"})
    [event] = events(given, resource_id=answer.get_json()["id"])
    assert event.reason.endswith('token of team for "a \\"b\\", c"'), event.reason
    for azp in (7, "", ["a"]):
        refused(program(api, rewritten(provider, client_id=None, azp=azp)).get("/api/articles"))


def test_an_expired_token_says_so(api, provider, user):
    for exp in (int(time.time()) - 120, 1, -1, 0.5):
        answer = program(api, provider.access_token(exp=exp)).get("/api/articles")
        assert "Get another one from The Team." in refused(answer, "token_expired")
    assert program(api, provider.access_token(exp=int(time.time()) - 20)).get("/api/articles").status_code == 200


def test_nothing_is_asked_for_a_token_that_is_wrong_anyway(api, provider, user):
    for forge in (*CHEAP.values(), lambda p: p.access_token(exp=1)):
        api.test_client().get("/api/articles", headers={"Authorization": f"Bearer {forge(provider)}"})
    assert provider.asked == []


def test_a_token_of_one_provider_is_none_of_another(instance_folder, database_url, given, provider):
    """Each has its own keys and its own users."""
    with serving() as other, app_with(instance_folder, database_url, provider, {"oidc": {
            "team": {"issuer": provider.issuer, "client_id": CLIENT, "private": True, "audience": API},
            "other": {"issuer": other.issuer, "client_id": CLIENT, "private": True, "audience": API}}}) as app:
        other.keys = {"two": FOREIGN}
        user = given.user("editor")
        connect(given, provider, user)
        assert program(app, provider.access_token()).get("/api/articles").status_code == 200
        refused(program(app, other.access_token(iss=provider.issuer)).get("/api/articles"))
        other.keys = {"one": FOREIGN}
        refused(program(app, other.access_token(iss=provider.issuer)).get("/api/articles"))
        refused(program(app, provider.access_token(iss=other.issuer)).get("/api/articles"))
        assert "connected" in refused(program(app, other.access_token()).get("/api/articles"))


def test_two_clients_of_one_provider_may_share_it(instance_folder, database_url, given, provider, user):
    table = {"issuer": provider.issuer, "client_id": CLIENT, "private": True}
    with app_with(instance_folder, database_url, provider, {"oidc": {
            "a": table, "b": {**table, "client_id": "other", "audience": API}}}) as app:
        assert program(app, provider.access_token()).get("/api/articles").status_code == 200
        for aud in ("", CLIENT, "other"):
            refused(program(app, provider.access_token(aud=aud)).get("/api/articles"))


def test_a_provider_without_an_audience_gives_no_access(instance_folder, database_url, given, provider, user):
    for settings, entries in (({}, {}), ({"public_url": ""}, {"audience": API}), ({"without": "accounts"},
                                                                               {"audience": API})):
        with app_with(instance_folder, database_url, provider, settings, **entries) as app:
            answer = program(app, provider.access_token()).get("/api/articles")
            assert (answer.status_code, answer.get_json()["code"]) == (401, "invalid_token")
            assert answer.headers["WWW-Authenticate"] == 'Bearer error="invalid_token"'
            assert app.test_client().get(PATH).status_code == 404
    assert provider.asked == []


def test_a_token_of_the_service_itself_needs_no_provider(api, provider, user):
    login = api.test_client().post("/api/login", json={"email": user.email, "password": PASSWORD}).get_json()
    assert program(api, login["access_token"]).get("/api/profile").status_code == 200
    assert provider.asked == []


# The provider's keys


def test_keys_are_fetched_once(api, provider, user):
    for _ in range(3):
        assert program(api, provider.access_token()).get("/api/articles").status_code == 200
    assert provider.asked == ["/.well-known/openid-configuration", "/jwks"]
    for _ in range(3):
        refused(program(api, provider.sign(claims(provider), typ="at+jwt", kid="unknown")).get("/api/articles"))
    assert provider.asked.count("/jwks") == 1, "once a minute"


def test_a_provider_that_is_away_is_a_clean_503(api, provider, user, caplog):
    provider.misbehave = {"/jwks": raw(b"HTTP/1.0 500 No\r\n\r\n")}
    for _ in range(2):
        answer = program(api, provider.access_token()).get("/api/articles")
        assert (answer.status_code, answer.get_json()["code"]) == (503, "unavailable")
        assert answer.headers["Retry-After"] == "5"
    assert provider.asked.count("/jwks") == 1
    assert "cannot be checked: " in caplog.text
    assert api.test_client().get("/api/articles").status_code == 200


@pytest.mark.parametrize("path", ["/api/health", "/", "/.well-known/authzen-configuration"])
def test_what_works_without_the_database_works_without_the_provider(api, provider, user, path):
    """A monitor with such a token would otherwise take the service for broken. The caller counts as a guest."""
    assert program(api, "nonsense").get(path).status_code == 401
    provider.misbehave["/jwks"] = raw(b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n")
    answer = program(api, provider.access_token()).get(path)
    assert (answer.status_code, answer.get_data()) == (200, api.test_client().get(path).get_data()), answer.text


def test_a_provider_that_hangs_holds_half_of_the_threads(instance_folder, database_url, given, provider, user):
    provider.misbehave = {"/.well-known/openid-configuration": lambda handler: time.sleep(3)}
    with app_with(instance_folder, database_url, provider, audience=API, timeout=1.0) as app:
        token, answers = provider.access_token(), []

        def ask():
            began = time.monotonic()
            answer = program(app, token).get("/api/articles")
            answers.append((answer.status_code, answer.get_json()["code"], time.monotonic() - began < 0.8))

        threads = [Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert {(status, code) for status, code, _ in answers} == {(503, "unavailable"), (503, "overloaded")}
    assert sum(code == "overloaded" for _, code, _ in answers) == 4, answers
    assert all(quick for _, code, quick in answers if code == "overloaded")


def test_cached_keys_need_no_place_among_those_who_wait(api, provider, user):
    caller = program(api, provider.access_token())
    assert caller.get("/api/articles").status_code == 200
    busy = api.extensions["gatepost"].feature("accounts").busy
    while busy.acquire(blocking=False):
        pass
    assert caller.get("/api/articles").status_code == 200
    answer = program(api, provider.sign(claims(provider), typ="at+jwt", kid="unknown")).get("/api/articles")
    assert (answer.status_code, answer.get_json()["code"]) == (503, "overloaded")


# Metadata


def test_the_metadata_says_where_to_get_a_token(api, provider):
    answer = api.test_client().get(PATH, headers={"Authorization": "Bearer nonsense"})
    assert (answer.status_code, answer.mimetype) == (200, "application/json")
    assert answer.headers["Cache-Control"] == "public, max-age=300"
    told = answer.get_json()
    assert {name: told[name] for name in told if name != "scopes_supported"} == {
        "resource": "http://localhost", "authorization_servers": [provider.issuer],
        "bearer_methods_supported": ["header"], "resource_name": "Gatepost"}
    assert told["scopes_supported"] == sorted(api.extensions["gatepost"].policy.current.scope_names)
    assert "read:articles" in told["scopes_supported"]
    assert provider.asked == []


def test_challenges_lead_to_it(api, provider, given, as_role):
    client = api.test_client()
    assert client.get("/api/profile").headers["WWW-Authenticate"] == f"Bearer {METADATA}"
    assert client.get("/api/profile", headers={"Authorization": "Bearer x"}).headers["WWW-Authenticate"] == INVALID
    assert "WWW-Authenticate" not in client.get("/api/articles/nothing").headers
    assert "WWW-Authenticate" not in client.get("/console/account").headers


def test_below_a_path_it_names_its_address_there(instance_folder, database_url, provider):
    with app_with(instance_folder, database_url, provider, {"public_url": "https://gate.example.org/gate/"},
                  audience=API) as app:
        told = app.test_client().get(PATH)
        assert told.get_json()["resource"] == "https://gate.example.org/gate"
        answer = app.test_client().get("/api/profile", headers={"Host": "evil.example.org"})
        assert answer.headers["WWW-Authenticate"] == (
            f'Bearer resource_metadata="https://gate.example.org/gate{PATH}"')


# Settings


@pytest.mark.parametrize(("entries", "said"), [
    ({"audience": CLIENT}, "oidc.team.audience must differ from oidc.team.client_id"),
    ({"audience": "\u00e4"}, "oidc.team.audience: text in ASCII"), ({"audience": 5}, "oidc.team.audience")])
def test_an_audience_that_lets_others_in_is_refused(tmp_path, entries, said):
    table = {"issuer": "https://login.example.org", "client_id": CLIENT, **entries}
    with pytest.raises(SettingError, match=re.escape(said)):
        Settings.load(tmp_path, {"oidc": {"team": table}}, {})


def test_an_issuer_has_one_audience(tmp_path):
    tables = {name: {"issuer": "https://login.example.org", "client_id": name, "audience": API} for name in ("a", "b")}
    with pytest.raises(SettingError, match=re.escape("oidc.b has the issuer of oidc.a: only one of them")):
        Settings.load(tmp_path, {"oidc": tables}, {})
    del tables["b"]["audience"]
    assert Settings.load(tmp_path, {"oidc": tables}, {}).oidc["a.audience"] == API


def test_the_doctor_says_which_providers_give_access(tmp_path, given, provider):
    where = Installation(Settings.load(tmp_path, {"public_url": "http://localhost", "oidc": {"team": {
        "issuer": provider.issuer, "client_id": CLIENT, "private": True, "audience": API}}}, {}), given.database)
    assert checks.check(where) == (State.OK, "ready: team; access tokens for the API: team")
