"""Audit events without a write: probes, guesses, fields that cannot be set, exports, reads of the audit log."""

from __future__ import annotations

import json

import pytest

from gatepost.http.auditing.refusals import OWN
from gatepost.http.auditing.writer import AuditWriter
from gatepost.http.request.audit import LONGEST_FIELD, MOST_FIELDS
from models.base import new_id
from models.records.ids import id_within, is_id
from models.tables.audit import Audit, of_tenant
from tests.apps import NO_ROW, PASSWORD, close, make_app, new_instance
from tests.running import Instance

NDJSON = {"Content-Type": "application/x-ndjson"}


@pytest.fixture
def services(app):
    return app.extensions["gatepost"]


@pytest.fixture
def noted(services, given):
    """`noted(conditions…)` stores waiting events and returns those since the test began, the oldest first."""
    services.audit_writer.flush(early=True)
    with given.database.connected():
        before = Audit.select(Audit.seq).order_by(Audit.seq.desc()).limit(1).scalar() or 0

    def rows(*where, home=given):
        services.audit_writer.flush(early=True)
        with home.database.connected():
            found = of_tenant(home.tenant_id).where(Audit.seq > before, *where).order_by(Audit.seq)
            return [dict(row.__data__) for row in found]

    return rows


def said(row):
    return {name: row[name] for name in (
        "principal", "role", "action", "resource", "address", "result", "reason", "facts", "count")}


# Probes


@pytest.mark.parametrize(("method", "path", "action"), [
    ("GET", "/api/articles/{id}", "view"), ("HEAD", "/api/articles/{id}", "view"),
    ("PATCH", "/api/articles/{id}", "update"), ("DELETE", "/api/articles/{id}", "delete"),
    ("POST", "/api/articles/{id}/submit", "submit"), ("GET", "/api/articles/{id}/shares", "share"),
    ("DELETE", "/api/articles/{id}/shares?grantee=me", "leave")])
def test_a_probe_of_a_hidden_row_and_of_an_absent_one_are_noted_alike(method, path, action, as_user, given, noted):
    user, hidden = as_user("user"), given.article("draft")
    for id in (hidden.id, NO_ROW):
        assert user.call(method, path.format(id=id), {}).status_code == 404
    first, second = noted(Audit.principal == f"user:{user.id}")
    assert (first["resource_id"], second["resource_id"]) == (hidden.id, NO_ROW)
    facts = [first["facts"], second["facts"]]
    assert said(first | {"facts": None}) == said(second | {"facts": None}) == {
        "principal": f"user:{user.id}", "role": "user", "action": action, "resource": "article",
        "address": "127.0.0.1", "result": "refused", "reason": "not_found", "facts": None, "count": 1}
    # Only a caller who sees facts can distinguish them: by the question to the rules.
    assert facts == [None, None] if action == "leave" else (
        [facts[0]["obj"]["status"], facts[1]["obj"]] == ["draft", "absent"])


def test_options_asks_for_no_row_and_is_not_noted(as_user, noted):
    user = as_user("user")
    assert user.call("OPTIONS", f"/api/articles/{NO_ROW}").status_code == 204
    assert noted(Audit.principal == f"user:{user.id}") == []


def test_probes_and_all_other_refusals_of_one_source_have_one_bound(as_user, noted):
    user = as_user("user")
    for number in range(OWN):
        assert user.get(f"/api/articles/{new_id()}").status_code == 404
        assert user.post("/api/articles", {f"field{number}": 1}).status_code == 400
        assert user.get("/api/audit").status_code == 403
    found = noted(Audit.principal == f"user:{user.id}")
    assert len(found) == OWN + 1 and sum(row["count"] for row in found) == 3 * OWN
    assert (found[-1]["resource_id"], found[-1]["facts"]) == (None, None)


# Fields that cannot be set


@pytest.mark.parametrize(("body", "reason", "fields"), [
    ({"title": "T", "slug": "s", "body": "b", "status": "published"}, "read_only_field", ["status"]),
    ({"title": "T", "slug": "s", "body": "b", "owner_id": NO_ROW, "id": NO_ROW}, "read_only_field", ["id", "owner_id"]),
    ({"title": "T", "slug": "s", "body": "b", "is_admin": True}, "unknown_field", ["is_admin"]),
    ({"\x1b[31m\u202e<b>": 1}, "unknown_field", ["??31m??b?"]),
    ({"x" * 500: 1}, "unknown_field", ["x" * LONGEST_FIELD]),
])
def test_an_attempt_to_set_what_cannot_be_set_names_the_fields(body, reason, fields, as_user, noted):
    user = as_user("user")
    assert user.post("/api/articles", body).status_code == 400
    row, = noted(Audit.principal == f"user:{user.id}")
    assert (row["action"], row["resource"], row["result"], row["reason"], row["facts"]) == (
        "create", "article", "refused", reason, {"fields": fields})


def test_of_many_fields_some_are_named_and_the_others_counted(as_user, noted):
    user = as_user("user")
    assert user.post("/api/articles", {f"f{number:02}": 1 for number in range(30)}).status_code == 400
    row, = noted(Audit.principal == f"user:{user.id}")
    assert row["facts"] == {"fields": [f"f{number:02}" for number in range(MOST_FIELDS)], "more": 30 - MOST_FIELDS}


def test_a_mistake_in_a_field_that_can_be_set_is_no_attempt(as_user, noted):
    user = as_user("user")
    assert user.post("/api/articles", {"title": 7}).status_code == 400
    assert noted(Audit.principal == f"user:{user.id}") == []


def test_a_file_that_is_refused_for_such_fields_is_one_entry(as_user, noted):
    editor = as_user("editor")
    lines = "".join(f'{{"title":"T","slug":"f{number}","body":"b","secret":1}}\n' for number in range(40))
    assert editor.call("POST", "/api/articles/import", data=lines, headers=NDJSON).status_code == 400
    row, = noted(Audit.principal == f"user:{editor.id}")
    assert (row["action"], row["reason"], row["facts"], row["count"]) == (
        "import", "unknown_field", {"fields": ["secret"]}, 1)


def test_lines_that_an_import_leaves_out_for_such_fields_are_told_with_the_import(as_user, noted):
    editor = as_user("editor")
    lines = '{"title":"T","slug":"left-out","body":"b","secret":1}\n{"title":"T","slug":"taken-in","body":"b"}\n'
    answer = editor.call("POST", "/api/articles/import?on_error=skip", data=lines, headers=NDJSON)
    assert (answer.status_code, answer.get_json()["imported"]) == (200, 1)
    row, = noted(Audit.principal == f"user:{editor.id}")
    assert (row["action"], row["result"], row["facts"]["fields"]) == ("import", "allowed", ["secret"])


def test_a_file_without_a_header_tells_the_trail_nothing_of_its_first_row(as_user, noted):
    """The first row may hold a password, which would look like the name of an unknown column."""
    admin = as_user("admin")
    rows = "Bob,bob@example.org,walk-along-the-shore\nAnn,ann@example.org,sit-by-the-sea\n"
    answer = admin.call("POST", "/api/users/import", data=rows, headers={"Content-Type": "text/csv"})
    assert (answer.status_code, answer.get_json()["detail"]) == (
        400, "The first line must have the names of the columns.")
    assert noted(Audit.principal == f"user:{admin.id}") == []


# Guesses


@pytest.mark.parametrize(("tried", "kept"), [
    ("Nobody@Example.org", {"email": "nobody@example.org"}), ("hunter2", None), ("P@ssw0rd", None),
    ("p@ss word.de", None), ("a@b\u202e.org", None), ("@", None), ("a@" + "b" * 200 + ".org", None)])
def test_a_failed_login_names_the_e_mail_and_never_a_text_that_may_be_a_password(tried, kept, client, noted):
    assert client.post("/api/login", json={"email": tried, "password": "a guess"}).status_code == 401
    row, = noted(Audit.result == "failed")
    assert (row["facts"], row["resource_id"]) == (kept, None)


def test_a_wrong_password_of_an_account_names_its_e_mail_in_its_own_tenant(client, elsewhere, noted):
    user = elsewhere.user(password=PASSWORD, email="root@localhost")
    assert client.post("/api/login", json={"email": "ROOT@localhost", "password": "a guess"}).status_code == 401
    row, = noted(Audit.result == "failed", home=elsewhere)
    assert (row["facts"], row["resource_id"]) == ({"email": "root@localhost"}, user.id)
    assert noted(Audit.result == "failed") == []


@pytest.fixture
def throttled(database_url, tmp_path):
    """The services of an app that allows two guesses a minute from one network."""
    made = make_app(new_instance(tmp_path / "throttled", database_url, "default"), database_url,
                    rate_limits="on", login_attempts=2)
    yield made
    close(made)


def test_guesses_that_are_refused_unchecked_are_noted_with_the_e_mails(throttled, noted):
    client, emails = throttled.test_client(), [f"ada{number}@example.org" for number in range(OWN + 10)]
    answers = [client.post("/api/login", json={"email": email, "password": "a guess"}).status_code for email in emails]
    assert answers == [401] * 2 + [429] * (OWN + 8)
    throttled.extensions["gatepost"].audit_writer.flush(early=True)
    *own, rest = noted(Audit.action == "refuse")
    assert [row["facts"]["email"] for row in own] == emails[2:OWN], "with the two that failed, so many are told apart"
    assert {(row["resource"], row["principal"], row["result"], row["reason"]) for row in own} == {
        ("session", "guest", "refused", "rate_limited")}
    assert (rest["count"], rest["facts"]) == (10, None)


def test_guesses_of_ones_own_password_that_are_refused_unchecked_are_noted(throttled, given, noted):
    user = given.user(password=PASSWORD)
    client = throttled.test_client()
    token = client.post("/api/login", json={"email": user.email, "password": PASSWORD}).get_json()["access_token"]
    guess = {"current_password": "a guess", "new_password": "another long walk"}
    answers = [client.post("/api/profile/password", json=guess,
                           headers={"Authorization": f"Bearer {token}"}).status_code for _ in range(3)]
    assert answers == [401, 401, 429]
    throttled.extensions["gatepost"].audit_writer.flush(early=True)
    # The number is in the same event or in that of the minute, because events are stored each second.
    failed, refused = noted(Audit.principal == f"user:{user.id}", Audit.result != "allowed")[:2]
    assert (failed["action"], failed["reason"].split()[0], failed["facts"]) == ("password", "invalid_credentials", None)
    assert (refused["resource"], refused["action"], refused["reason"], refused["facts"]) == (
        "session", "refuse", "rate_limited", None)


def test_other_limits_are_no_guesses(database_url, tmp_path, noted):
    made = make_app(new_instance(tmp_path / "busy", database_url, "default"), database_url,
                    rate_limits="on", address_units=1)
    try:
        assert [made.test_client().get("/api/health").status_code for _ in range(2)] == [200, 429]
        made.extensions["gatepost"].audit_writer.flush(early=True)
    finally:
        close(made)
    assert noted() == []


# Exports


@pytest.mark.both_databases
def test_an_export_is_noted_with_its_filters_and_the_number_of_rows(as_user, given, noted):
    editor = as_user("editor")
    for _ in range(3):
        given.article(owner_id=editor.id)
    selected = f"owner_id={editor.id}&status=published"
    with editor.get(f"/api/articles/export?{selected}&fields=title&sort=-created_at") as file:
        assert len(file.get_data().splitlines()) == 3
    row, = noted(Audit.principal == f"user:{editor.id}")
    assert said(row) == {
        "principal": f"user:{editor.id}", "role": "editor", "action": "export", "resource": "article",
        "address": "127.0.0.1", "result": "allowed", "reason": None, "count": 1,
        "facts": {"filters": {"owner_id": editor.id, "status": "published"}, "count": 3}}


def test_an_export_whose_client_goes_away_is_noted_with_what_it_got(app, as_user, given, noted):
    editor = as_user("editor")
    for _ in range(260):
        given.article(owner_id=editor.id, body="b" * 1000)
    file = app.test_client().get(f"/api/articles/export?owner_id={editor.id}", headers=editor.headers, buffered=False)
    next(file.iter_encoded())
    file.close()
    row, = noted(Audit.principal == f"user:{editor.id}")
    assert row["facts"]["count"] == 250, "the rows that were read at a time"


def test_the_head_of_an_export_hands_out_nothing(as_user, given, noted):
    editor = as_user("editor")
    given.article(owner_id=editor.id)
    editor.call("HEAD", "/api/articles/export").close()
    row, = noted(Audit.principal == f"user:{editor.id}")
    assert row["facts"] == {"filters": {}, "count": 0}


def test_an_export_by_a_program_names_its_token(as_user, noted):
    editor = as_user("editor")
    token = editor.post("/api/tokens", {"name": "ci", "scopes": ["read:articles"]}).get_json()
    editor.client.get("/api/articles/export", headers={"Authorization": f"Bearer {token['token']}"}).close()
    row = noted(Audit.principal == f"user:{editor.id}", Audit.action == "export")[0]
    assert row["reason"] == f"service token {token['id']}"


def test_facts_that_are_too_long_say_so(as_user, noted):
    editor = as_user("editor")
    editor.get("/api/articles/export", query_string={"q": "ж" * 200, "title__contains": "ж" * 200}).close()
    row, = noted(Audit.principal == f"user:{editor.id}")
    assert row["facts"] == {"filters": "too long", "count": 0}


def test_no_number_of_refusals_hides_an_export(as_user, noted):
    editor = as_user("editor")
    for _ in range(OWN + 5):
        assert editor.get(f"/api/articles/{new_id()}").status_code == 404
    editor.get("/api/articles/export?status=draft").close()
    row, = noted(Audit.principal == f"user:{editor.id}", Audit.result == "allowed")
    assert row["facts"]["filters"] == {"status": "draft"}


def test_an_export_that_is_refused_is_a_refusal(as_user, noted):
    user = as_user("user")
    assert user.get("/api/articles/export").status_code == 403
    row, = noted(Audit.principal == f"user:{user.id}")
    assert (row["result"], row["reason"], row["facts"]) == ("refused", "forbidden", {"obj": "any"})


# Reads of the audit log


@pytest.mark.both_databases
def test_looks_at_the_trail_are_one_row_of_a_principal_and_hour_whichever_process_answers(
        as_user, services, given, noted):
    owner, other = as_user("owner"), as_user("owner")
    for caller in (owner, owner, other, owner):
        assert caller.get("/api/audit?limit=1").status_code == 200
    first = noted(Audit.resource == "audit")
    assert [(row["principal"], row["action"], row["result"], row["count"]) for row in first] == [
        (f"user:{owner.id}", "view", "allowed", 1), (f"user:{other.id}", "view", "allowed", 1)]
    another = AuditWriter(services.database, services.keys)
    another.look(tenant_id=given.tenant_id, principal=f"user:{owner.id}", role="owner", resource="audit", action="view",
                 result="allowed")
    another.flush()
    assert owner.get("/api/audit?limit=1").status_code == 200
    assert noted(Audit.resource == "audit") == first


def test_the_id_of_an_hour_is_one_of_its_principal_alone():
    made = [id_within(3600, "audit.view", "tenant", who) for who in ("user:1", "user:2", "user:1")]
    assert made[0] == made[2] != made[1] and is_id(made[0])
    assert abs(int(made[0][:8] + made[0][9:13], 16) / 1000 - int(new_id()[:8] + new_id()[9:13], 16) / 1000) <= 3600


# Who sees facts


def test_facts_are_seen_with_a_permission_of_their_own(as_role, client, noted, under):
    client.post("/api/login", json={"email": "eve@example.org", "password": "a guess"})
    noted()
    for role in ("owner", "admin"):
        item = as_role(role).get("/api/audit?result=failed&limit=1").get_json()["items"][0]
        assert (item["facts"], item["count"]) == ({"email": "eve@example.org"}, 1)
    lent = under(lines={"admin.csv": "p, developer, audit.view, always, allow"})
    page = lent.test_client().get("/api/audit?result=failed&limit=1&fields=id,facts,count",
                                  headers=as_role("developer").headers)
    assert set(page.get_json()["items"][0]) == {"id", "count"}


@pytest.mark.parametrize("query", ["facts=x", "facts__isnull=true", "sort=facts"])
def test_facts_are_neither_searched_nor_sorted(query, as_role):
    assert as_role("admin").get(f"/api/audit?{query}").status_code == 400


# Seals


@pytest.mark.slow
@pytest.mark.parametrize("server", [(), ("--workers", "2")], ids=["waitress", "granian"])
def test_every_server_and_process_notes_what_is_no_write(server, tmp_path):
    instance = Instance(tmp_path / "instance").made()
    with instance.served(*server) as served:
        token = served.log_in()
        assert served.call("POST", "/api/login", {"email": "eve@example.org", "password": "a guess"})[0] == 401
        assert served.call("GET", f"/api/articles/{NO_ROW}", token=token)[0] == 404
        assert served.call("POST", "/api/articles", {"admin": True}, token)[0] == 400
        assert served.call("GET", "/api/users/export?role=admin", token=token)[0] == 200
        for _ in range(6):
            assert served.call("GET", "/api/audit", token=token)[0] == 200
    rows = [json.loads(line) for line in instance.run("audit", "export").stdout.splitlines()]
    assert sorted((f"{row['resource']}.{row['action']}", row["result"], json.dumps(row["facts"])) for row in rows) == [
        ("article.create", "refused", '{"fields": ["admin"]}'), ("article.view", "refused", '{"obj": "absent"}'),
        ("audit.view", "allowed", "null"),
        ("session.create", "allowed", '{"obj": null, "sub": {"key": "guest", "role": "guest"}}'),
        ("session.create", "failed", '{"email": "eve@example.org"}'),
        ("user.export", "allowed", '{"filters": {"role": "admin"}, "count": 1}')]
