"""A plugin with a second factor: attributes of the caller in rules, a step in the login, and the challenge of RFC 9470.

tests/policies/comparison compares proofs with decisions for such attributes, with random policies.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from flask import Flask

from blueprints.password_links.links import make
from gatepost import CallerAttribute, Feature, open_session
from gatepost.collections.plugins.contents import PluginError
from gatepost.collections.plugins.discovery import discover
from gatepost.http.request import stronger_login
from gatepost.testing import log_in
from models.base import Rows, later
from models.tables.audit import Audit
from models.tables.session import Session
from models.tables.user import User
from policies import Policy, PolicyError
from policies.cases.case_file import read_suite
from policies.cases.cases import run
from policies.invariants.lines import INVARIANTS_FILE
from policies.lint.warnings import warnings
from policies.loading.loader import load
from policies.loading.oracle import sampled
from policies.questions.recorded import Entry
from policies.questions.replay import replay as replayed
from policies.tools.matrix import matrix
from tests import sample_factor
from tests.apps import NO_ROW, PASSWORD, Given, close, make_app, new_instance
from tests.databases import new_database
from tests.http.console.pages import Seen, visit
from tests.policies.editing import add_line, shipped_copy

WITHOUT = ("accounts",)  # it declares the same attributes
WITH_MFA = "    p.when == 'with_mfa' && (r.sub.mfa == 1 || r.sub.kind == 'service') || \\"
FRESH_LOGIN = "    p.when == 'fresh_login' && (r.sub.auth_age < 600 || r.sub.kind == 'service') || \\"
RULES = ("p, user, product.create, with_mfa, allow", "p, user, category.create, fresh_login, allow",
         "p, user, article.update, own_with_mfa, allow", "p, user, category.export, with_mfa, allow")
OWN_WITH_MFA = "    p.when == 'own_with_mfa' && r.obj.owner_id == r.sub.id && r.sub.mfa == 1 || \\"


def edit(policies: Path) -> None:
    for branch in (WITH_MFA, FRESH_LOGIN, OWN_WITH_MFA):
        add_line(policies / "model.conf", branch)
    for rule in RULES:
        add_line(policies / "products.csv", rule)


def policy(tmp_path: Path, *lines: str) -> Policy:
    folder = shipped_copy(tmp_path / "policies")
    edit(folder)
    for line in lines:
        add_line(folder / "products.csv", line)
    return load(folder, discover((sample_factor,), WITHOUT).vocabulary)


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgres", marks=pytest.mark.both_databases)])
def app(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Flask]:
    new_url = new_database(request.param, request)
    folder = new_instance(tmp_path_factory.mktemp("logins") / "instance", new_url, "default")
    edit(folder / "policies")
    (folder / "policies" / INVARIANTS_FILE).unlink()
    made = make_app(folder, new_url, [sample_factor], without=WITHOUT)
    yield made
    close(made)


def user(app: Flask, name: str, role: str = "user") -> User:
    with app.extensions["gatepost"].database.connected():
        return Given(app, "default").user(role, password=PASSWORD, name=name)


def sent(app: Flask, path: str, body: dict[str, Any]) -> Any:
    return app.test_client().post(path, json=body)


def bearer(answer: Any) -> dict[str, str]:
    assert answer.status_code == 200, answer.text
    return {"Authorization": f"Bearer {answer.json['access_token']}"}


def two_steps(app: Flask, who: User) -> dict[str, str]:
    first = sent(app, "/api/login", {"email": who.email, "password": PASSWORD})
    assert first.status_code == 401 and first.json["code"] == "login_incomplete"
    assert "access_token" not in first.text and "Set-Cookie" not in first.headers
    challenge = first.json["errors"][0]["meta"]["challenge"]
    assert sent(app, "/api/login/code", {"challenge": challenge, "code": "1"}).status_code == 401
    return bearer(sent(app, "/api/login/code", {"challenge": challenge, "code": sample_factor.CODE}))


def product(app: Flask, token: dict[str, str], sku: str) -> Any:
    return app.test_client().post("/api/products", headers=token, json={
        "name": "Lamp", "sku": sku, "price": 5, "currency": "EUR"})


def test_a_login_that_needs_another_step_opens_no_session_before_it(app):
    who = user(app, "Two Steps")
    with app.extensions["gatepost"].database.connected():
        before = Session.select().count()
    token = two_steps(app, who)
    with app.extensions["gatepost"].database.connected():
        sessions = list(Session.select().where(Session.owner_id == who.id))
        assert Session.select().count() == before + 1 and sessions[0].login == {"mfa": True}
    assert product(app, token, "two").status_code == 201


def test_a_wrong_password_is_told_apart_from_no_second_step(app):
    wrong = sent(app, "/api/login", {"email": user(app, "Two Wrong").email, "password": "not this one at all"})
    assert wrong.status_code == 401 and wrong.json["code"] == "invalid_credentials"


def test_what_only_a_stronger_login_lacks_is_a_challenge(app):
    plain = bearer(sent(app, "/api/login", {"email": user(app, "Plain").email, "password": PASSWORD}))
    refused = product(app, plain, "one")
    assert refused.status_code == 401 and refused.json["code"] == "insufficient_user_authentication"
    assert refused.headers["WWW-Authenticate"] == 'Bearer error="insufficient_user_authentication", acr_values="mfa"'
    forbidden = app.test_client().post("/api/pages", headers=plain, json={"title": "T", "slug": "t", "body": "B"})
    assert forbidden.status_code == 403, "no login would allow this"
    assert app.test_client().post("/api/products", json={}).headers["WWW-Authenticate"] == "Bearer", "a guest logs in"


def test_a_permission_about_other_rows_is_refused_without_a_challenge(app):
    plain = bearer(sent(app, "/api/login", {"email": user(app, "Plain", role="developer").email, "password": PASSWORD}))
    refused = app.test_client().post("/api/factor/lamps", headers=plain)
    assert refused.status_code == 403 and "WWW-Authenticate" not in refused.headers


def test_a_failure_to_compute_the_challenge_leaves_the_refusal(app, monkeypatch, caplog):
    plain = bearer(sent(app, "/api/login", {"email": user(app, "Plain").email, "password": PASSWORD}))
    monkeypatch.setattr(stronger_login, "_needed", lambda *_: 1 / 0)
    assert product(app, plain, "one").status_code == 403
    assert "it is unknown if a stronger login may do product.create" in caplog.text


def test_a_form_of_another_origin_is_refused_before_the_caller_is_known(app):
    for path in ("/console/login", "/console/logout"):
        refused = app.test_client().post(path, data={}, headers={"Origin": "https://evil.example"})
        assert refused.status_code == 403, path


def test_an_old_login_is_told_the_greatest_age(app):
    who = user(app, "Plain")
    token = bearer(sent(app, "/api/login", {"email": who.email, "password": PASSWORD}))
    body = {"name": "Lamps", "slug": "lamps"}
    assert app.test_client().post("/api/categories", headers=token, json=body).status_code == 201
    with app.extensions["gatepost"].database.connected():
        Session.update(created_at=later(-601)).where(Session.owner_id == who.id).execute()
    body["slug"] = "lamps-2"
    refused = app.test_client().post("/api/categories", headers=token, json=body)
    assert refused.status_code == 401
    assert refused.headers["WWW-Authenticate"] == 'Bearer error="insufficient_user_authentication", max_age="599"'


def test_the_challenge_tells_nothing_of_rows(app):
    plain = bearer(sent(app, "/api/login", {"email": user(app, "Plain").email, "password": PASSWORD}))
    with app.extensions["gatepost"].database.connected():
        given = Given(app, "default")
        theirs, draft = given.article("published"), given.article("draft")
    change = {"title": "New"}
    answers = {id: app.test_client().patch(f"/api/articles/{id}", headers={**plain, "If-Match": "*"}, json=change)
               for id in (theirs.id, draft.id, "01930000-0000-7000-8000-000000000000")}
    assert answers[draft.id].status_code == answers["01930000-0000-7000-8000-000000000000"].status_code
    assert answers[draft.id].json["code"] == answers["01930000-0000-7000-8000-000000000000"].json["code"]
    strong = two_steps(app, user(app, "Two Steps"))
    seen = {id: app.test_client().patch(f"/api/articles/{id}", headers={**strong, "If-Match": "*"}, json=change)
            for id in answers}
    assert [seen[id].status_code for id in answers] == [403, 404, 404], "with the factor, the row decides"


def test_a_program_with_a_token_is_not_locked_out_where_the_condition_names_its_kind(app):
    services = app.extensions["gatepost"]
    with services.database.connected():
        owner = user(app, "Plain")
        from gatepost.http.request.identity import service_token
        from models.tables.service_token import ServiceToken
        row = ServiceToken(owner_id=owner.id, name="robot", scopes=["write:products"], expires_at=later(600))
        row.id, row.token_hash, text = service_token()
        Rows(ServiceToken, owner.tenant_id).insert(row)
    made = product(app, {"Authorization": f"Bearer {text}"}, "robot")
    assert made.status_code == 201, made.text


def test_decisions_are_recorded_with_the_login(app):
    one, two = user(app, "Plain"), user(app, "Two Steps")
    product(app, bearer(sent(app, "/api/login", {"email": one.email, "password": PASSWORD})), "one")
    assert product(app, two_steps(app, two), "recorded").status_code == 201
    services = app.extensions["gatepost"]
    services.audit_writer.flush()
    with services.database.connected():
        rows = list(Audit.select().where(Audit.resource == "product",
                                         Audit.principal.in_([f"user:{one.id}", f"user:{two.id}"])))
    facts = {row.result: row.facts["sub"]["mfa"] for row in rows}
    assert facts == {"refused": False, "allowed": True}
    assert next(row.reason for row in rows if row.result == "refused") == "insufficient_user_authentication"


def test_a_job_has_the_login_of_its_request(app):
    services, who = app.extensions["gatepost"], user(app, "Two Steps")
    strong = two_steps(app, who)

    def export(token: dict[str, str]) -> Any:
        return app.test_client().get("/api/categories/export", headers={**token, "Prefer": "respond-async"})

    started = export(strong)
    assert started.status_code == 202, started.text
    with services.database.connected():
        Session.delete().where(Session.owner_id == who.id).execute()
    services.jobs.run_due()
    strong = two_steps(app, who)
    job = app.test_client().get(started.headers["Location"], headers=strong).json
    assert job["state"] == "done", job
    plain = bearer(sent(app, "/api/login", {"email": user(app, "Plain").email, "password": PASSWORD}))
    assert export(plain).status_code == 401


def test_a_trial_of_rules_knows_the_login_of_its_caller(app):
    strong = two_steps(app, user(app, "Two Steps", role="admin"))
    tried = app.test_client().post("/api/admin/policy/try", headers=strong, json={
        "files": {"more.csv": "p, user, page.view, always, allow\n# end\n"}})
    assert tried.status_code == 200, tried.text


def test_authzen_takes_it_as_a_property_of_the_subject(app):
    who = user(app, "Plain")
    with app.extensions["gatepost"].database.connected():
        admin = Given(app, "default").user("admin")
    caller = log_in(app, admin)

    def decision(**subject: Any) -> bool:
        answer = caller.post("/access/v1/evaluation", json={
            "subject": {"type": "user", "id": who.id, **subject}, "action": {"name": "create"},
            "resource": {"type": "product", "id": "", "properties": {
                "name": "Lamp", "sku": "x", "price": 5, "currency": "EUR"}}})
        assert answer.status_code == 200, answer.text
        return answer.json["decision"]

    assert [decision(), decision(properties={"mfa": False}), decision(properties={"mfa": "yes"}),
            decision(properties={"mfa": True})] == [False, False, False, True]


def test_explanations_know_the_callers_own_login_and_no_other(app):
    who, admin = user(app, "Two Steps", role="developer"), user(app, "Two Steps", role="admin")

    def explained(caller: User) -> str:
        answer = app.test_client().get("/api/admin/policy/explain", headers=two_steps(app, caller), query_string={
            "as": who.email, "permission": "product.create"})
        assert answer.status_code == 200, answer.text
        return answer.text

    assert '"verdict":"allowed"' in explained(who)
    assert "the caller's mfa is missing" in explained(admin), explained(admin)


def test_who_lists_users_whom_some_login_would_allow(app):
    who = user(app, "Plain")
    with app.extensions["gatepost"].database.connected():
        admin = Given(app, "default").user("admin")
    answer = log_in(app, admin).get("/api/admin/policy/who?permission=product.create")
    assert answer.status_code == 200, answer.text
    assert who.id in answer.text


def test_the_console_leads_to_the_page_of_the_step(app):
    who, client = user(app, "Two Steps"), app.test_client()
    first = client.post("/console/login", data={"email": who.email, "password": PASSWORD},
                        headers={"Sec-Fetch-Site": "same-origin"})
    assert first.status_code == 303, first.text
    path = first.headers["Location"]
    assert re.search(r"/console/code/[0-9a-f-]+\?next=/console$", path) and "Set-Cookie" not in first.headers
    assert client.get(path).status_code == 200
    challenge = path.partition("?")[0].rpartition("/")[2]
    last = client.post("/console/code", data={"challenge": challenge, "code": sample_factor.CODE},
                       headers={"Sec-Fetch-Site": "same-origin"})
    assert last.status_code == 303 and "gatepost_console" in last.headers["Set-Cookie"], last.text


def test_a_page_that_only_a_stronger_login_lacks_leads_to_the_login(app):
    refused = visit(app, "developer").get("/console/lamps")
    assert refused.status_code == 401 and "/console/login?next=/console/lamps" in Seen.of(refused).links, refused.text
    assert "An administrator can change your role" not in refused.text


def test_the_attribute_is_unknown_without_the_feature(tmp_path):
    folder = shipped_copy(tmp_path / "policies")
    edit(folder)
    with pytest.raises(PolicyError, match=re.escape("r.sub.mfa is unknown")):
        load(folder, discover((), WITHOUT).vocabulary)


def test_it_has_a_type_and_values(tmp_path):
    folder = shipped_copy(tmp_path / "policies")
    add_line(folder / "model.conf", "    p.when == 'wrong' && r.sub.mfa == 'yes' || \\")
    with pytest.raises(PolicyError, match=re.escape("r.sub.mfa is a truth value; write r.sub.mfa == 1")):
        load(folder, discover((sample_factor,), WITHOUT).vocabulary)


def test_cases_can_name_it(tmp_path):
    suite = read_suite("""
principals:
  plain: {role: user}
  strong: {role: user, mfa: true}
  robot: {role: user, kind: service, scopes: ["write:products"]}
cases:
  - name: a product is made with a second factor
    who: [plain, strong, robot]
    what: product
    may: {plain: [], strong: [product.create], robot: [product.create]}
""", "tests.yaml", discover((sample_factor,), WITHOUT).vocabulary)
    assert run(policy(tmp_path), suite).failures == []


def test_a_recorded_decision_is_replayed_with_its_login(tmp_path):
    old = load(shipped_copy(tmp_path / "old"), discover((sample_factor,), WITHOUT).vocabulary)
    usual = Entry(id="1", time="2026-11-20T10:00:00.000000Z", tenant_id="t", principal=f"user:{NO_ROW}", role="user",
                  action="create", resource="product", resource_id=None, result="refused", reason="forbidden", count=1,
                  facts={"asked": ["product.create"], "obj": None, "sub": {"mfa": True}})
    rows = [usual, replace(usual, id="2", facts={**usual.facts, "sub": {"mfa": False}}),
            replace(usual, id="3", facts={**usual.facts, "sub": {"kind": "service", "mfa": None}}),
            replace(usual, id="4", facts={"asked": ["product.create"], "obj": None}),
            replace(usual, id="5", reason="insufficient_user_authentication",
                    facts={**usual.facts, "sub": {"mfa": False}})]
    found = replayed(old, policy(tmp_path / "new"), rows)
    assert [flip.count for flip in found.flips.values()] == [2], "the login with a factor, and the program"
    assert found.missing == {"r.sub.mfa": 1} and found.unchanged == 2, found


def test_the_warnings_say_that_a_deny_misses_callers_without_a_login(tmp_path):
    folder = shipped_copy(tmp_path / "policies")
    add_line(folder / "model.conf", "    p.when == 'without_mfa' && r.sub.mfa == 0 || \\")
    add_line(folder / "products.csv", "p, user, product.create, always, allow")
    add_line(folder / "products.csv", "p, user, product.create, without_mfa, deny")
    messages = [str(found) for found in warnings(load(folder, discover((sample_factor,), WITHOUT).vocabulary))]
    assert any("this denies nothing where the caller's mfa is missing" in message for message in messages), messages


def test_a_value_that_is_impossible_is_a_warning(tmp_path):
    folder = shipped_copy(tmp_path / "policies")
    add_line(folder / "model.conf", "    p.when == 'too_young' && r.sub.auth_age < 0 || \\")
    add_line(folder / "products.csv", "p, user, product.create, too_young, allow")
    messages = [str(found) for found in warnings(load(folder, discover((sample_factor,), WITHOUT).vocabulary))]
    assert any("r.sub.auth_age is at least 0" in message for message in messages), messages


def test_the_matrix_shows_the_word(tmp_path):
    cells = matrix(policy(tmp_path), ["user"], ["product"]).as_json()["permissions"]
    assert cells["product.create"]["user"]["allow"] == ["with_mfa"]


def test_casbin_answers_alike(tmp_path):
    assert sampled(policy(tmp_path), most=400) == []


def test_an_invariant_finds_a_request_with_it(tmp_path):
    folder = shipped_copy(tmp_path / "policies", invariants=True)
    edit(folder)
    with pytest.raises(PolicyError, match=re.escape(
            "article.update; invariants.csv:30, 31 (`atmost, user, article.update, own_draft`) forbids this; for "
            "example: the kind of caller is user, the caller's mfa is 1, owner_id is the caller's id")):
        load(folder, discover((sample_factor,), WITHOUT).vocabulary)


@pytest.mark.parametrize(("caller", "sentence"), [
    ({"role": sample_factor.feature.caller["mfa"]}, "the caller has an attribute 'role' already"),
    ({"Mfa": sample_factor.feature.caller["mfa"]}, "the attribute 'Mfa' of the caller must be small letters"),
    ({"mfa": 5}, "caller must be a mapping of names to CallerAttribute"),
    ({"level": CallerAttribute(int, len, True, str)}, "the attribute 'level' must be a bool, int or str"),
    ({"level": CallerAttribute(str, len, "high", str)}, "the attribute 'level' is a text and needs its values"),
])
def test_a_declaration_that_cannot_be_used_stops_the_start(caller, sentence):
    module = ModuleType("levels")
    module.__file__ = __file__
    module.__dict__["feature"] = Feature(name="levels", caller=caller)
    with pytest.raises(PluginError, match=re.escape(sentence)):
        discover((module,), WITHOUT)


def test_two_features_cannot_declare_the_same():
    module = ModuleType("levels")
    module.__file__ = __file__
    module.__dict__["feature"] = Feature(name="levels", caller=sample_factor.feature.caller)
    with pytest.raises(PluginError, match="the caller has an attribute 'auth_age' already"):
        discover((sample_factor, module), WITHOUT)


def test_notes_of_a_login_end_its_session_earlier_and_date_the_proof(app, monkeypatch):
    soon, earlier = later(60), later(-900)
    monkeypatch.setattr(sample_factor, "open_session", lambda call, user, login: open_session(
        call, user, {**login, "until": soon, "since": earlier}))
    first = app.test_client().post("/api/login", json={"email": user(app, "Two Notes").email, "password": PASSWORD})
    challenge = first.json["errors"][0]["meta"]["challenge"]
    assert app.test_client().post("/api/login/code", json={
        "challenge": challenge, "code": sample_factor.CODE}).status_code == 200
    with app.extensions["gatepost"].database.connected():
        session = Session.select().order_by(Session.id.desc()).first()
    assert (session.absolute_expires_at, session.expires_at, session.proved_at) == (soon, soon, earlier)


def badge(owner: str, scopes: str = "read:products+write:products", until: str | None = None) -> dict[str, str]:
    return {"Authorization": f"Bearer badge/{owner}/{scopes}/{until or later(600)}"}


def test_a_feature_accepts_a_token_of_a_program(app):
    who = user(app, "Plain")
    made = product(app, badge(who.id), "badge")
    assert made.status_code == 201, "the condition names programs"
    services = app.extensions["gatepost"]
    with services.database.connected():
        event = Audit.select().where(Audit.resource_id == made.json["id"]).get()
        assert not list(Session.select().where(Session.owner_id == who.id))
    assert (event.principal, "token of badges for the door" in event.reason) == (f"user:{who.id}", True)
    assert event.facts["sub"] == {"kind": "service", "mfa": None}


@pytest.mark.parametrize("scopes", ["+", "read:articles", "nothing:known", "*"])
def test_its_scopes_narrow_it(app, scopes):
    refused = product(app, badge(user(app, "Plain").id, scopes), "narrow")
    assert (refused.status_code, refused.json["code"]) == (403, "insufficient_scope")


def test_a_feature_refuses_a_token_that_it_knows(app):
    who = user(app, "Plain")
    for headers, code, detail in ((badge(who.id, ""), "invalid_token", "The badge is broken."),
                                  (badge(who.id, until=later(-5)), "token_expired", "The badge has expired."),
                                  ({"Authorization": "Bearer badge/1"}, "invalid_token",
                                   "This is not a valid access token.")):
        for path in ("/api/products", "/api/health", "/api/articles"):
            refused = app.test_client().get(path, headers=headers)
            assert (refused.status_code, refused.json["code"], refused.json["detail"]) == (401, code, detail)
            assert refused.headers["WWW-Authenticate"] == 'Bearer error="invalid_token"'


def test_the_user_must_be_active_whatever_a_feature_says(app):
    who = user(app, "Plain")
    with app.extensions["gatepost"].database.connected():
        User.update(active=False).where(User.id == who.id).execute()
    for owner in (who.id, NO_ROW, "nobody", ""):
        refused = product(app, badge(owner), "disabled")
        assert (refused.status_code, refused.json["code"]) == (401, "invalid_token"), owner
        assert refused.json["detail"] == "The account of this token is disabled, or does not exist."


def test_only_unknown_tokens_are_offered(app, monkeypatch):
    """A request with a token of the service costs nothing more."""
    services, offered = app.extensions["gatepost"], list[str]()
    monkeypatch.setattr(services, "bearers", (lambda _, token: offered.append(token),))
    who = user(app, "Plain")
    token = bearer(sent(app, "/api/login", {"email": who.email, "password": PASSWORD}))
    assert app.test_client().get("/api/profile", headers=token).status_code == 200
    assert app.test_client().get("/api/profile").status_code == 401
    assert app.test_client().post("/api/logout", headers=token).status_code == 204
    assert app.test_client().get("/api/profile", headers=token).status_code == 401, "its session has ended"
    assert app.test_client().get("/api/profile", headers={"Authorization": "Bearer gp_x"}).status_code == 401
    assert offered == []
    assert app.test_client().get("/api/profile", headers={"Authorization": "Bearer x"}).status_code == 401
    assert offered == ["x"]


@pytest.mark.parametrize("mailed", [True, False])
def test_the_first_proof_of_an_address_drops_its_credentials(app, mailed):
    who, other = user(app, "Two Steps"), user(app, "Two Others")
    for each in (who, other):
        assert sent(app, "/api/login", {"email": each.email, "password": PASSWORD}).status_code == 401
    services = app.extensions["gatepost"]
    token, _ = services.database.transact(lambda: make(services.settings, who, mailed=mailed))
    answer = sent(app, "/api/password-links", {"token": token, "new_password": "nine slow ferries at dawn"})
    assert answer.status_code == 204, answer.text
    kept = {who.id, other.id} & set(services.feature("factor").values())
    assert kept == ({other.id} if mailed else {who.id, other.id})
    with services.database.connected():
        [event] = Audit.select().where(Audit.action == "use_password_link", Audit.resource_id == who.id)
    assert (event.reason or "").endswith("removed: challenges (1)") == mailed
