"""Login, registration, changes of an account, and the limit of guessed passwords for a network."""

from __future__ import annotations

import json
import os
import threading
from dataclasses import replace
from fnmatch import fnmatchcase
from itertools import count

import jwt
import pytest
from argon2.exceptions import VerificationError

from gatepost.http.credentials import guessing, sessions
from gatepost.http.operations import counters
from gatepost.http.operations.limits import Limits
from gatepost.http.request.access import Access
from gatepost.http.request.identity import principal_of
from gatepost.http.security import access_tokens, passwords
from models.engine.errors import Contended
from models.tables.audit import Audit, of_tenant
from models.tables.user import User
from tests.apps import PASSWORD, Caller, close, make_app, new_instance
from tests.databases import new_database

_numbers = count(1)


def login(app, email, password=PASSWORD, **more):
    return app.test_client().post("/api/login", json={"email": email, "password": password}, **more)


def fresh_email():
    return f"applicant{next(_numbers)}@example.org"


@pytest.fixture
def limited(app, monkeypatch):
    """The app with new counters."""
    services = app.extensions["gatepost"]
    monkeypatch.setattr(counters, "monotonic", lambda: 0.0)  # a minute lasts as long as the test
    monkeypatch.setattr(services, "limits", Limits(replace(services.settings, rate_limits=True, login_attempts=3)))
    return app


def test_a_login_answers_with_tokens_that_no_cache_keeps(app, given):
    answer = login(app, given.user(password=PASSWORD).email)
    assert answer.status_code == 200 and answer.headers["Cache-Control"] == "no-store"
    assert set(answer.get_json()) == {"access_token", "token_type", "expires_in", "refresh_token", "scope"}


def claims_of(token):
    return jwt.decode(token, options={"verify_signature": False})


def test_an_access_token_ends_when_all_tokens_of_the_account_were_invalidated(app, given):
    """Also if its session was opened at the same time, and so was not ended."""
    user = given.user(password=PASSWORD)
    token = login(app, user.email).get_json()["access_token"]
    headers = {"Authorization": f"Bearer {token}"}
    assert app.test_client().get("/api/profile", headers=headers).status_code == 200
    with given.database.connected():
        User.update(token_version=User.token_version + 1).where(User.id == user.id).execute()
    answer = app.test_client().get("/api/profile", headers=headers)
    assert (answer.status_code, answer.get_json()["code"]) == (401, "invalid_token")


@pytest.mark.parametrize("role", ["user", "editor", "owner", "admin"])
def test_the_permissions_of_a_token_are_patterns_where_they_cover_a_resource(app, given, role):
    services, user = app.extensions["gatepost"], given.user(role, password=PASSWORD)
    token = login(app, user.email).get_json()["access_token"]
    said = claims_of(token)["permissions"]
    principal, known = principal_of(user), services.policy.current.vocabulary.by_permission
    held = {name for name in known if Access(services.policy.current, principal, None).may_ever(name)}
    assert {name for name in known if any(fnmatchcase(name, pattern) for pattern in said)} == held
    covered = {name.partition(".")[0] for name in known} - {name.partition(".")[0] for name in known.keys() - held}
    assert {pattern for pattern in said if "*" in pattern} == (
        {"*"} if held == known.keys() else {f"{resource}.*" for resource in covered})
    assert len(said) == len(set(said)) and (role != "admin" or (said == ["*"] and len(token) < 800))


def test_a_token_names_its_client_and_one_of_before_is_good(app, given, monkeypatch):
    user = given.user(password=PASSWORD)
    token = login(app, user.email).get_json()["access_token"]
    assert claims_of(token)["client_id"] == "gatepost"
    issued = []

    def as_before(identity, additional_claims, **more):
        issued.append({name: value for name, value in additional_claims.items() if name != "client_id"}
                      | {"permissions": ["article.view"]})
        return create(identity, additional_claims=issued[0], **more)

    create = access_tokens.create_access_token
    monkeypatch.setattr(access_tokens, "create_access_token", as_before)
    old = login(app, user.email).get_json()["access_token"]
    assert "client_id" not in claims_of(old)
    for each in (token, old):
        assert app.test_client().get("/api/profile", headers={"Authorization": f"Bearer {each}"}).status_code == 200


def test_a_login_is_decided_as_a_guests_until_it_is_committed(under, given, monkeypatch):
    app, tries = under("", {"session.csv": "p, user, session.create, always, deny"}), []

    def in_the_way(call, user):
        tries.append(user)
        answer = open_session(call, user)
        if len(tries) == 1:
            raise Contended("the transaction is repeated")
        return answer

    open_session = sessions.open_session
    monkeypatch.setattr(sessions, "open_session", in_the_way)
    assert login(app, given.user(password=PASSWORD).email).status_code == 200
    assert len(tries) == 2


@pytest.mark.both_databases
def test_an_address_is_the_same_in_any_case(app, given):
    email = given.user(password=PASSWORD).email
    assert login(app, f" {email.upper()} ").status_code == 200


def test_unknown_wrong_disabled_and_unusable_answer_alike(app, given):
    known, disabled = given.user(password=PASSWORD), given.user(password=PASSWORD, active=False)
    answers = [login(app, "nobody@example.org"), login(app, known.email, "wrong"), login(app, disabled.email),
               login(app, disabled.email, "wrong"), login(app, given.user().email)]
    documents = [answer.get_json() for answer in answers]
    for answer, document in zip(answers, documents, strict=True):
        assert answer.status_code == 401 and answer.headers["WWW-Authenticate"] == "Bearer"
        document.pop("request_id")
    assert documents == [documents[0]] * 5 and documents[0]["code"] == "invalid_credentials"


def test_each_of_them_costs_one_hash(app, given, monkeypatch):
    known, disabled = given.user(password=PASSWORD), given.user(password=PASSWORD, active=False)
    hashed = []
    real = passwords._slot
    monkeypatch.setattr(passwords, "_slot", lambda: hashed.append(1) or real())
    for email, password in (("nobody@example.org", "x"), (known.email, "x"), (disabled.email, PASSWORD)):
        hashed.clear()
        assert login(app, email, password).status_code == 401
        assert len(hashed) == 1


def test_what_stands_in_for_a_missing_account_is_made_like_a_real_hash(real_passwords):
    assert not passwords.outdated(passwords._DUMMY)


def test_an_outdated_hash_is_made_anew_at_the_next_login(app, given):
    weak = passwords.PasswordHasher(time_cost=1, memory_cost=16, parallelism=1).hash(PASSWORD)
    user = given.user(password_hash=weak)
    assert login(app, user.email).status_code == 200
    kept = given.found(User, user.id).password_hash
    assert kept != weak and not passwords.outdated(kept)
    assert login(app, user.email).status_code == 200


def test_with_every_slot_taken_a_login_gets_429_and_retry_after(app, given, monkeypatch):
    monkeypatch.setattr(passwords, "_slots", passwords.BoundedSemaphore(1))
    email = given.user(password=PASSWORD).email
    with passwords._slot():
        answer = login(app, email)
        assert (answer.status_code, answer.get_json()["code"]) == (429, "rate_limited")
        assert int(answer.headers["Retry-After"]) >= 1
        assert app.test_client().get("/api/articles").status_code == 200, "others are not kept waiting"
    assert login(app, email).status_code == 200


def test_while_passwords_cannot_be_checked_a_right_one_is_not_wrong(limited, given, monkeypatch):
    class Starved:
        def verify(self, kept, password):
            raise VerificationError("Memory allocation error")

    user, services = given.user(password=PASSWORD), limited.extensions["gatepost"]
    with monkeypatch.context() as starved:
        starved.setattr(passwords, "_hasher", Starved())
        answers = [login(limited, user.email) for _ in range(5)]
    assert [(answer.status_code, answer.get_json()["code"]) for answer in answers] == [(503, "unavailable")] * 5
    assert int(answers[0].headers["Retry-After"]) >= 1
    assert login(limited, user.email).status_code == 200, "none of them was a guess"
    services.audit_writer.flush()
    with services.database.connected():
        assert not of_tenant(user.tenant_id).where(Audit.result == "failed", Audit.resource_id == user.id).exists()


def test_few_threads_do_all_the_hashing(monkeypatch):
    """Each hashing thread keeps 19 MiB for its next hash."""
    seen = set()

    class Watched:
        def hash(self, password):
            seen.add(threading.current_thread().name)
            return "hash"

    monkeypatch.setattr(passwords, "_hasher", Watched())
    for _ in range(4 * (os.cpu_count() or 1)):
        thread = threading.Thread(target=passwords.hash_password, args=(PASSWORD,))
        thread.start()
        thread.join()
    assert seen and all(name.startswith("hashing") for name in seen) and len(seen) <= (os.cpu_count() or 1)


def test_a_child_of_a_process_that_hashed_can_hash(recwarn):
    passwords.hash_password(PASSWORD)
    child = os.fork()
    if child == 0:
        os._exit(not passwords.hash_password(PASSWORD).startswith("$argon2id$"))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


# Guessing


def login_from(app, address, email, password=PASSWORD):
    return login(app, email, password, environ_base={"REMOTE_ADDR": address})


def besieged(app, email):
    """Makes thirty guesses, three from each of ten networks. Returns the answer to one more."""
    for number in range(30):
        login_from(app, f"198.51.100.{number // 3}", email, "x")
    return login_from(app, "198.51.100.10", email, "x")


def test_no_network_locks_an_account_for_the_others(limited, given):
    email = given.user(password=PASSWORD).email
    assert [login_from(limited, "198.51.100.7", email, "x").status_code for _ in range(4)] == [401, 401, 401, 429]
    assert login_from(limited, "198.51.100.7", email).status_code == 429
    assert login_from(limited, "203.0.113.5", email).status_code == 200


def test_wrong_passwords_for_one_account_are_counted_loosely_from_wherever_they_come(limited, given):
    email = given.user(password=PASSWORD).email
    guesses = [login_from(limited, f"198.51.100.{number // 3}", email, "x").status_code for number in range(30)]
    last = login_from(limited, "198.51.100.10", email, "x")
    assert guesses == [401] * 30 and last.status_code == 429
    assert last.headers["RateLimit-Policy"] == '"account";q=30;w=60' and int(last.headers["Retry-After"]) <= 60
    assert login_from(limited, "203.0.113.5", email).status_code == 429, "there was no login from there"


@pytest.mark.parametrize(("then", "now"), [("203.0.113.5", "203.0.113.5"), ("2001:db8::5", "2001:db8::6")])
def test_beyond_that_the_owner_gets_in_from_a_network_that_is_known_as_theirs(limited, given, then, now):
    email = given.user(password=PASSWORD).email
    assert login_from(limited, then, email).status_code == 200
    besieged(limited, email)
    assert [login_from(limited, now, email).status_code for _ in range(5)] == [200] * 5
    assert [login_from(limited, now, email, "x").status_code for _ in range(4)] == [401, 401, 401, 429]
    assert login_from(limited, "203.0.113.6", email).status_code == 429, "another network"


def test_a_network_is_known_for_thirty_days_and_by_right_logins_of_this_account_alone(limited, given, monkeypatch):
    email, other = given.user(password=PASSWORD).email, given.user(password=PASSWORD).email
    assert login_from(limited, "203.0.113.5", email).status_code == 200
    assert login_from(limited, "203.0.113.6", email, "x").status_code == 401
    assert login_from(limited, "203.0.113.7", other).status_code == 200
    besieged(limited, email)
    limited.extensions["gatepost"].audit_writer.flush()
    known = {address: login_from(limited, address, email).status_code
             for address in ("203.0.113.5", "203.0.113.6", "203.0.113.7")}
    assert known == {"203.0.113.5": 200, "203.0.113.6": 429, "203.0.113.7": 429}
    monkeypatch.setattr(guessing, "REMEMBERED", 0.0)
    assert login_from(limited, "203.0.113.5", email).status_code == 429


@pytest.mark.parametrize("there", [True, False])
def test_an_account_that_is_not_there_is_refused_alike(limited, given, there):
    last = besieged(limited, given.user(password=PASSWORD).email if there else "nobody@example.org")
    assert (last.status_code, last.get_json()["code"]) == (429, "rate_limited")
    assert last.headers["RateLimit-Policy"] == '"account";q=30;w=60'


def test_guessing_many_accounts_makes_no_counter_for_each(limited):
    for number in range(20):
        login(limited, f"{number}{'x' * 200}@example.org", "x")
    counts = limited.extensions["gatepost"].limits._counters._own._counts
    accounts = [key for key in counts if key.startswith("account/")]
    assert len(accounts) == 3 and all(len(key) < 50 for key in accounts)


def test_the_old_password_is_guessed_no_more_often_by_changing_it(limited, given):
    user = given.user(password=PASSWORD)
    caller = Caller(limited.test_client(), user, login(limited, user.email).get_json()["access_token"])
    body = {"current_password": "wrong", "new_password": "another long walk"}
    answers = [caller.post("/api/profile/password", body).status_code for _ in range(4)]
    assert answers == [401, 401, 401, 429]
    assert login(limited, user.email, "x").status_code == 429, "they are guesses of the same password"
    assert login_from(limited, "203.0.113.5", user.email).status_code == 200, "and no other network is locked out"


def test_wrong_passwords_from_one_address_are_counted_whatever_they_aim_at(limited):
    answers = [login(limited, f"victim{number}@example.org", "x") for number in range(5)]
    assert [answer.status_code for answer in answers] == [401, 401, 401, 429, 429]
    assert answers[-1].get_json()["code"] == "rate_limited"
    assert 1 <= int(answers[-1].headers["Retry-After"]) <= 60


def test_the_limit_comes_before_the_hash(limited, monkeypatch):
    for number in range(3):
        login(limited, f"other{number}@example.org", "x")

    def hashed(*_):
        raise AssertionError("a password was hashed")

    monkeypatch.setattr(passwords, "verify", hashed)
    assert login(limited, "somebody@example.org", "x").status_code == 429


def test_right_passwords_are_not_counted(limited, given):
    email = given.user(password=PASSWORD).email
    assert [login(limited, email).status_code for _ in range(8)] == [200] * 8
    assert login(limited, email, "wrong").status_code == 401
    assert login(limited, email).status_code == 200


def test_accounts_are_opened_as_rarely(limited):
    bodies = [{"name": "N", "email": fresh_email(), "password": PASSWORD} for _ in range(5)]
    statuses = [limited.test_client().post("/api/register", json=body).status_code for body in bodies]
    assert statuses == [201, 201, 201, 429, 429]


@pytest.mark.parametrize(("proxies", "forwarded", "counted"), [
    (0, ["203.0.113.1", "203.0.113.2", "203.0.113.3", "203.0.113.4"], [401, 401, 401, 429]),
    (1, ["203.0.113.1", "203.0.113.2", "203.0.113.3", "203.0.113.4"], [401, 401, 401, 401]),
    (1, [f"203.0.113.{n}, 198.51.100.7" for n in range(4)], [401, 401, 401, 429]),
])
def test_an_address_is_only_believed_from_a_proxy_that_is_trusted(proxies, forwarded, counted, tmp_path, request):
    url = new_database("sqlite", request)
    app = make_app(new_instance(tmp_path / "instance", url, "default"), url, rate_limits="on", login_attempts=3,
                   trusted_proxies=proxies)
    try:
        answers = [login(app, f"v{number}@example.org", "x", headers={"X-Forwarded-For": said})
                   for number, said in enumerate(forwarded)]
        assert [answer.status_code for answer in answers] == counted
        services = app.extensions["gatepost"]
        services.audit_writer.flush()
        with services.database.connected():
            seen = {row.address for row in of_tenant(services.guest_tenant).where(Audit.result == "failed")}
        assert seen == ({"127.0.0.1"} if proxies == 0 else {said.rpartition(" ")[2] for said in forwarded})
    finally:
        close(app)


# Accounts


def test_a_guest_may_open_an_account_and_use_it(client, app, given):
    email = fresh_email()
    answer = client.post("/api/register", json={"name": "Ada", "email": email.upper(), "password": PASSWORD})
    made = answer.get_json()
    assert answer.status_code == 201 and made == {"id": made["id"], "name": "Ada", "role": "user"}
    token = login(app, email).get_json()["access_token"]
    mine = Caller(client, None, token).get("/api/profile").get_json()
    assert (mine["role"], mine["tenant_id"], mine["email"]) == ("user", given.tenant_id, email)
    again = client.post("/api/register", json={"name": "Eve", "email": email, "password": PASSWORD})
    assert (again.status_code, again.get_json()["code"]) == (409, "already_exists")


@pytest.mark.parametrize(("changes", "pointer"), [
    ({"role": "admin"}, "/role"), ({"tenant_id": "x"}, "/tenant_id"), ({"password": "password"}, "/password"),
    ({"password": "short"}, "/password"), ({"password": "Example-Ada-12"}, "/password"),
    ({"name": "A\u200bda"}, "/name"), ({"name": "\u202eadA"}, "/name"), ({"email": "nobody"}, "/email"),
    ({"name": "a\nb"}, "/name"), ({"active": True}, "/active"), ({"owner_id": "x"}, "/owner_id")])
def test_a_registration_with_a_wrong_or_privileged_field_is_refused(changes, pointer, client):
    body = {"name": "Ada", "email": fresh_email(), "password": PASSWORD, **changes}
    answer = client.post("/api/register", json=body)
    assert answer.status_code == 400
    assert [fault["pointer"] for fault in answer.get_json()["errors"]] == [pointer]


@pytest.mark.parametrize("hidden", ["\u200b", "\u200d", "\u2060", "\ufeff", "\u00ad", "\u202e", "\U000e0061"],
                         ids=ascii)
def test_no_address_looks_like_another_by_invisible_characters(hidden, client, as_user):
    email = f"victim{hidden}@example.org"
    for answer in (client.post("/api/register", json={"name": "Eve", "email": email, "password": PASSWORD}),
                   as_user("user").patch("/api/profile", {"email": email})):
        assert (answer.status_code, answer.get_json()["code"]) == (400, "invalid_field")
        assert answer.get_json()["errors"][0]["pointer"] == "/email"


def test_a_profile_is_one_s_own_account_in_full(as_user):
    user = as_user("user", department="news")
    shown = user.get("/api/profile").get_json()
    assert (shown["id"], shown["email"], shown["department"], shown["active"]) == (
        user.id, user.user.email, "news", True)
    assert "password" not in str(shown).lower()
    changed = user.patch("/api/profile", {"name": "Grace"})
    assert (changed.status_code, changed.get_json()["name"], changed.get_json()["version"]) == (200, "Grace", 2)
    assert user.patch("/api/profile", {}).get_json()["version"] == 2
    assert changed.headers["ETag"].startswith('"2-')
    assert user.patch("/api/profile", {"name": "X"}, headers={"If-Match": '"1"'}).status_code == 412


@pytest.mark.parametrize("field", ["role", "active", "department", "groups", "password", "id", "tenant_id"])
def test_a_profile_does_not_take_fields_that_decide_access(field, as_role):
    answer = as_role("user").patch("/api/profile", {field: "admin"})
    assert answer.status_code == 400


def test_a_new_password_is_not_one_s_own_name_or_address(app, given):
    user = given.user(password=PASSWORD, name="Augusta King")
    caller = Caller(app.test_client(), user, login(app, user.email).get_json()["access_token"])
    for weak in ("AugustaKing1", user.email, "gatepost-king1"):
        answer = caller.post("/api/profile/password", {"current_password": PASSWORD, "new_password": weak})
        assert (answer.status_code, answer.get_json()["errors"][0]["pointer"]) == (400, "/new_password"), weak
    assert login(app, user.email).status_code == 200


@pytest.mark.both_databases
def test_an_address_belongs_to_one_account(as_user):
    taken = as_user("user").user.email
    answer = as_user("user").patch("/api/profile", {"email": taken})
    assert (answer.status_code, answer.get_json()["errors"][0]["pointer"]) == (409, "/email")


@pytest.mark.parametrize(("body", "status", "code"), [
    ({"current_password": "wrong", "new_password": "another long walk"}, 401, "invalid_credentials"),
    ({"current_password": PASSWORD, "new_password": "password"}, 400, "invalid_field"),
    ({"new_password": "another long walk"}, 400, "missing_field"),
])
def test_a_password_change_needs_the_old_password_and_a_good_new_one(body, status, code, app, given):
    user = given.user(password=PASSWORD)
    caller = Caller(app.test_client(), user, login(app, user.email).get_json()["access_token"])
    answer = caller.post("/api/profile/password", body)
    assert (answer.status_code, answer.get_json()["code"]) == (status, code)
    assert login(app, user.email).status_code == 200


@pytest.mark.parametrize("path", ["/api/login", "/api/token/refresh", "/api/register"])
def test_secrets_are_never_kept_for_a_repeated_request(path, client, given):
    body = {"/api/login": {"email": given.user(password=PASSWORD).email, "password": PASSWORD},
            "/api/token/refresh": {"refresh_token": "x"},
            "/api/register": {"name": "N", "email": fresh_email(), "password": PASSWORD}}[path]
    answer = client.post(path, json=body, headers={"Idempotency-Key": "k1"})
    assert (answer.status_code, answer.get_json()["code"]) == (400, "idempotency_unsupported")


@pytest.mark.parametrize("path", ["/api/login", "/api/token/refresh", "/api/register"])
def test_what_guests_send_to_be_let_in_is_small(path, client):
    answer = client.post(path, data=b'{"a":"' + b"x" * 2**15 + b'"}', content_type="application/json")
    assert (answer.status_code, answer.get_json()["code"]) == (413, "body_too_large")


def test_a_login_with_the_longest_fields_is_looked_at(client):
    body = json.dumps({"email": "\N{GRINNING FACE}" * 254, "password": "\N{GRINNING FACE}" * 1024, "cookie": False})
    assert client.post("/api/login", data=body, content_type="application/json").status_code == 401


def test_of_many_unknown_fields_a_hundred_are_told(as_role):
    answer = as_role("editor").post("/api/articles", {f"field{number}": 1 for number in range(1000)})
    faults = answer.get_json()["errors"]
    assert answer.status_code == 400 and len(faults) == 100
    assert {fault["code"] for fault in faults} == {"unknown_field"} and faults[0]["pointer"] == "/field0"
