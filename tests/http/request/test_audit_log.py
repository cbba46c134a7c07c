"""The audit log: an event for every write and login, refusals merged, and no change without notice."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from math import inf
from threading import Event

import pytest
from peewee import fn

from gatepost.http.auditing import refusals
from gatepost.http.auditing.refusals import OWN, SOURCES, Refusal
from gatepost.http.auditing.writer import AuditWriter, sealer
from gatepost.http.operations.housekeeping import end_retention
from gatepost.testing import log_in
from models.base import later, new_id, now
from models.engine.connect import open_database
from models.engine.errors import Unavailable
from models.tables import seals
from models.tables.audit import Audit, Retention, Seal, append, of_tenant
from tests.apps import NO_ROW, PASSWORD, Caller, close, make_app, new_instance
from tests.databases import new_database
from tests.samples import sampled
from tests.tampering import disarmed, query


@pytest.fixture
def services(app):
    return app.extensions["gatepost"]


@pytest.fixture
def trail(services):
    """The app's audit log, with no event waiting to be stored."""
    services.audit_writer.flush(early=True)
    return services.audit_writer


def rows(given, *where):
    with given.database.connected():
        return [dict(row.__data__) for row in of_tenant(given.tenant_id).where(*where).order_by(Audit.seq)]


# What is recorded


def test_a_write_is_recorded_with_its_principal_its_object_and_its_rule(as_user, given, services):
    user = as_user("user")
    made = user.post("/api/articles", {"title": "T", "slug": "audited", "body": "b"},
                         headers={"X-Request-ID": "my-request"}).get_json()
    row, = rows(given, Audit.resource_id == made["id"])
    assert {name: row[name] for name in ("principal", "role", "action", "resource", "result", "request_id")} == {
        "principal": f"user:{user.id}", "role": "user", "action": "create", "resource": "article",
        "result": "allowed", "request_id": "my-request"}
    policy = services.policy.current
    rule = next(rule for rule in policy.rules if f"{rule.file}:{rule.line}" == row["rule"])
    assert (rule.sub, rule.act, rule.when) == ("user", "article.create", "own")
    assert (row["address"], row["policy_version"], row["count"]) == ("127.0.0.1", policy.version, 1)


@pytest.mark.parametrize(("role", "status", "when"), [
    ("editor", "published", "always"), ("user", "draft", "own_draft")])
def test_the_rule_is_that_of_the_row_before_it_was_changed(role, status, when, as_user, given, services):
    user = as_user(role)
    article = given.article(status, owner_id=user.id)
    assert user.patch(f"/api/articles/{article.id}", {"title": "New"}).status_code == 200
    row, = rows(given, Audit.resource_id == article.id)
    rule = next(rule for rule in services.policy.current.rules if f"{rule.file}:{rule.line}" == row["rule"])
    assert rule.when == when


def test_a_login_and_everything_that_a_session_goes_through_is_recorded(app, given, client):
    user = given.user(password=PASSWORD)
    login = client.post("/api/login", json={"email": user.email, "password": PASSWORD}).get_json()
    client.post("/api/token/refresh", json={"refresh_token": login["refresh_token"]})
    client.post("/api/token/refresh", json={"refresh_token": login["refresh_token"]})
    caller = Caller(client, user, login["access_token"])
    caller.patch("/api/profile", {"name": "New"})
    caller.post("/api/profile/password", {"current_password": PASSWORD, "new_password": "another long walk"})
    caller.post("/api/logout")
    recorded = rows(given, Audit.principal == f"user:{user.id}")
    assert [(row["resource"], row["action"], row["result"]) for row in recorded] == [
        ("session", "create", "allowed"), ("session", "refresh", "allowed"), ("profile", "update", "allowed"),
        ("profile", "password", "allowed"), ("session", "logout", "allowed"),
    ], "the repeated exchange had no effect"


def test_what_a_program_did_names_its_token(as_user, given):
    user = as_user("user")
    token = user.post("/api/tokens", {"name": "ci", "scopes": ["write:articles"]}).get_json()
    caller = Caller(user.client, user.user, token["token"])
    made = caller.post("/api/articles", {"title": "T", "slug": "by-a-program", "body": "b"}).get_json()
    row, = rows(given, Audit.resource_id == made["id"])
    assert row["principal"] == f"user:{user.id}"
    assert row["reason"] == f"{row['rule']}, service token {token['id']}"


@pytest.fixture(scope="module")
def taken(given):
    given.article(slug="taken")


@pytest.mark.parametrize(("method", "path", "body", "status"), [
    ("POST", "/api/articles", {"title": "T"}, 400),
    ("PATCH", "/api/articles/{article}", {"slug": "taken"}, 409),
    ("POST", "/api/articles/{article}/publish", {}, 409),
    ("GET", "/api/articles/{article}", {}, 200),
    ("GET", "/api/nothing", {}, 404),
])
def test_what_had_no_effect_leaves_no_row(method, path, body, status, taken, as_role, given):
    article, before = given.article(), len(rows(given))
    answer = as_role("editor").call(method, path.format(article=article.id), body)
    assert (answer.status_code, len(rows(given))) == (status, before)


def test_an_import_says_how_much_it_was(as_role, given):
    lines = "".join(f'{{"title":"T","slug":"imported-{number}","body":"b"}}\n' for number in range(3))
    answer = as_role("editor").call("POST", "/api/articles/import", data=lines,
                                    headers={"Content-Type": "application/x-ndjson"})
    assert answer.status_code == 200
    assert rows(given, Audit.action == "import")[-1]["reason"].endswith(", 3 imported, 0 updated")


# Refusals


def test_refusals_are_merged_and_stored_beside_the_requests(as_user, given, trail):
    user, article = as_user("user"), given.article()
    for _ in range(5):
        assert user.delete(f"/api/articles/{article.id}").status_code == 403
    trail.flush(early=True)
    found = rows(given, Audit.principal == f"user:{user.id}")
    assert sum(row["count"] for row in found) == 5 and len(found) <= 2
    assert (found[0]["resource_id"], found[0]["reason"].partition(" (")[0]) == (article.id, "forbidden")
    assert {(row["role"], row["action"], row["resource"], row["result"]) for row in found} == {
        ("user", "delete", "article", "refused")}
    trail.flush(early=True)
    assert rows(given, Audit.principal == f"user:{user.id}") == found, "each is stored once"


@pytest.mark.parametrize("id", ["x" * 16_000, "not-an-id", "01930000-0000-7000-8000-00000000000Z"])
def test_what_is_no_id_is_not_kept_as_one(id, as_user, given, trail):
    user = as_user("guest")
    assert user.delete(f"/api/articles/{id}").status_code == 403
    trail.flush(early=True)
    row, = rows(given, Audit.principal == f"user:{user.id}")
    assert (row["resource_id"], row["action"], row["resource"]) == (None, "delete", "article")


def test_an_address_that_a_proxy_made_up_is_not_kept(as_user, given, trail):
    user = as_user("user")
    for address in ("9" * 65, "1.2.3.4\0"):
        answer = user.client.get("/api/audit", headers=user.headers, environ_overrides={"REMOTE_ADDR": address})
        assert answer.status_code == 403
    trail.flush(early=True)
    assert {row["address"] for row in rows(given, Audit.principal == f"user:{user.id}")} == {"unusable"}


@pytest.mark.parametrize(("token", "path", "reason"), [
    (None, "/api/profile", "unauthenticated"), ("rubbish", "/api/articles", "invalid_token")])
def test_a_refusal_without_valid_credentials_is_a_guests(token, path, reason, client, given, trail):
    headers = {"X-Request-ID": new_id(), **({"Authorization": f"Bearer {token}"} if token else {})}
    assert client.get(path, headers=headers).status_code == 401
    trail.flush()
    row, = rows(given, Audit.request_id == headers["X-Request-ID"])
    assert (row["principal"], row["result"], row["reason"]) == ("guest", "refused", reason)


def test_a_failed_login_is_recorded_in_the_tenant_that_it_aimed_at(client, given, elsewhere, trail):
    for home in (given, elsewhere):
        user = home.user(password=PASSWORD)
        client.post("/api/login", json={"email": user.email, "password": "wrong"})
        trail.flush()
        row, = rows(home, Audit.resource_id == user.id)
        assert (row["principal"], row["action"], row["resource"], row["result"], row["reason"]) == (
            "guest", "create", "session", "failed", "invalid_credentials")


def refusal(given, **values):
    return Refusal(**{"tenant_id": given.tenant_id, "principal": "guest", "role": "guest", "action": "view",
                      "resource": "flood", "resource_id": None, "address": "192.0.2.1", "result": "refused",
                      "reason": "unauthenticated", "policy_version": "1", **values})


@pytest.fixture
def flooded(services, given, monkeypatch):
    """`flooded(refusals…, minutes=2)` repeats these refusals in each minute, and returns their audit events."""
    moment = 1000.0
    monkeypatch.setattr(refusals, "monotonic", lambda: moment)
    trail = AuditWriter(services.database, services.keys)

    def flood(*every, minutes=1):
        nonlocal moment
        before = len(rows(given))
        for _ in range(minutes):
            for number, each in enumerate(every):
                trail.refuse(each, "r")
                if number % 100 == 0:
                    trail.flush()
            moment += 60
            trail.flush()
        return rows(given)[before:]

    return flood


@pytest.mark.both_databases
def test_a_repeated_refusal_has_its_own_row_at_once_and_one_for_the_rest_of_the_minute(given, flooded):
    own, rest = flooded(*[refusal(given, resource_id=NO_ROW)] * 10_000)
    assert (own["count"], own["resource_id"], own["reason"]) == (1, NO_ROW, "unauthenticated")
    assert (rest["count"], rest["resource_id"]) == (9_999, None)
    assert rest["reason"] == "unauthenticated, more of the same minute (9999 times)"
    same = {"principal": "guest", "action": "view", "resource": "flood", "address": "192.0.2.1", "result": "refused"}
    assert {name: own[name] for name in same} == {name: rest[name] for name in same} == same


def test_a_source_makes_so_many_rows_a_minute_and_one_whatever_it_asks_for(given, flooded):
    found = flooded(*[refusal(given, resource_id=new_id()) for _ in range(1000)], minutes=3)
    assert len(found) == 3 * (OWN + 1)
    assert sum(row["count"] for row in found) == 3000
    assert [row["count"] for row in found if row["resource_id"] is None] == [1000 - OWN] * 3


def test_a_row_of_the_rest_says_only_what_all_of_it_has_in_common(given, flooded):
    *_, rest = flooded(*[refusal(given, resource_id=new_id(), action=action, reason=reason)
                         for action, reason in [("view", "unauthenticated")] * OWN + [("update", "invalid_token"),
                                                                                      ("delete", "invalid_token")]])
    assert (rest["action"], rest["resource"], rest["reason"], rest["count"]) == (
        "*", "flood", "invalid_token, more of the same minute (2 times)", 2)


def test_guests_of_one_network_are_one_source_and_principals_one_each(given, flooded):
    network = flooded(*[refusal(given, resource_id=new_id(), address=f"2001:db8::{number:x}") for number in range(60)])
    assert len(network) == OWN + 1 and network[-1]["address"] == "2001:db8::/64"
    people = flooded(*[refusal(given, principal=f"user:{number}", role="user") for number in range(60)])
    assert len(people) == 60


def test_beyond_a_thousand_sources_a_minute_the_rest_is_one(given, flooded):
    found = flooded(*[refusal(given, address=f"192.0.{number // 250}.{number % 250}") for number in range(2 * SOURCES)])
    assert len(found) == SOURCES + 1
    assert (found[-1]["principal"], found[-1]["address"], found[-1]["count"]) == ("*", None, SOURCES)


def test_many_networks_do_not_hide_the_refusals_of_a_principal(given, flooded):
    found = flooded(*[refusal(given, address=f"192.0.{number // 250}.{number % 250}") for number in range(2 * SOURCES)],
                    refusal(given, principal="user:1", role="user", resource_id=NO_ROW))
    row, = (row for row in found if row["principal"] == "user:1")
    assert row["resource_id"] == NO_ROW
    people = flooded(*[refusal(given, principal=f"user:{number}", role="user") for number in range(2 * SOURCES)])
    assert len(people) == SOURCES + 1, "they are bounded, too"


def test_the_account_whose_password_is_guessed_is_recorded_however_much_a_network_was_refused(client, given, trail):
    user = given.user(password=PASSWORD)
    for _ in range(OWN):
        assert client.delete(f"/api/articles/{new_id()}").status_code == 401
    for _ in range(5):
        assert client.post("/api/login", json={"email": user.email, "password": "a guess"}).status_code == 401
    trail.flush(early=True)
    # Their number may be in the event of the minute, because the service stores events each second.
    assert len(rows(given, Audit.resource_id == user.id, Audit.result == "failed")) == 1


def test_tenants_and_results_are_never_merged(given, elsewhere, flooded):
    before = len(rows(elsewhere))
    here = flooded(*[refusal(home, result=result, resource_id=new_id()) for _ in range(OWN + 5)
                     for home in (given, elsewhere) for result in ("failed", "refused")])
    for found in (here, rows(elsewhere)[before:]):
        assert {result: sum(row["count"] for row in found if row["result"] == result)
                for result in ("failed", "refused")} == {"failed": OWN + 5, "refused": OWN + 5}
        assert [row["result"] for row in found if row["resource_id"] is None] == ["failed", "refused"]


@pytest.mark.both_databases
def test_what_waits_while_the_database_is_away_is_bounded_and_nothing_goes_uncounted(services, given, monkeypatch):
    moment = 1000.0
    monkeypatch.setattr(refusals, "monotonic", lambda: moment)
    monkeypatch.setattr(refusals, "MOST", 120)
    trail = AuditWriter(services.database, services.keys)

    def gone(work):
        raise Unavailable("gone")

    with monkeypatch.context() as patched:
        patched.setattr(services.database, "transact", gone)
        for minute in range(5):
            for number in range(100):
                for resource in ("a", "b"):
                    trail.refuse(refusal(given, resource=resource, address=f"10.{minute}.0.{number}"), "r")
            moment += 60
            with pytest.raises(Unavailable):
                trail.flush()
    before = len(rows(given))
    trail.flush(early=True)
    found = rows(given)[before:]
    assert sum(row["count"] for row in found) == 5 * 200
    assert len(found) <= 2 * 120 + 1


def test_a_stop_stores_what_would_wait_for_the_end_of_the_minute(database_url, tmp_path, request):
    url = new_database("postgres" if database_url.startswith("postgres") else "sqlite", request)
    app = make_app(new_instance(tmp_path / "instance", url, "default"), url)
    for _ in range(3):
        assert app.test_client().get("/api/profile").status_code == 401
    app.extensions["gatepost"].audit_writer.flush()
    assert app.test_client().get("/api/profile").status_code == 401
    close(app)
    database = open_database(url, pool_size=1)
    with database.connected():
        assert Audit.select(fn.SUM(Audit.count)).scalar() == 4
    database.close_all()


@pytest.mark.both_databases
def test_a_database_that_cannot_be_reached_gets_the_refusals_later(services, given, monkeypatch):
    trail = AuditWriter(services.database, services.keys)
    trail.refuse(refusal(given, resource="outage"), "r")

    def gone(work):
        raise Unavailable("gone")

    with monkeypatch.context() as patched:
        patched.setattr(services.database, "transact", gone)
        with pytest.raises(Unavailable):
            trail.flush()
    trail.refuse(refusal(given, resource="outage"), "r")
    trail.flush()
    row, = rows(given, Audit.resource == "outage")
    assert row["count"] == 2


@pytest.mark.both_databases
def test_an_outage_while_rows_are_stored_one_by_one_loses_none(services, given, monkeypatch):
    trail, transact = AuditWriter(services.database, services.keys), services.database.transact
    trail.refuse(refusal(given, resource="poison", tenant_id=new_id()), "r")
    for number in range(3):
        trail.refuse(refusal(given, resource="halfway", address=f"192.0.2.{number}"), "r")
    left = iter([True, True, True])

    def breaking(work):
        if next(left, False):
            return transact(work)
        raise Unavailable("gone")

    with monkeypatch.context() as patched:
        patched.setattr(services.database, "transact", breaking)
        with pytest.raises(Unavailable):
            trail.flush()
    trail.flush()
    assert [row["count"] for row in rows(given, Audit.resource == "halfway")] == [1, 1, 1]


@pytest.mark.both_databases
def test_one_row_that_cannot_be_stored_does_not_keep_the_others_waiting(services, given, caplog):
    trail = AuditWriter(services.database, services.keys)
    for _ in range(3):
        trail.refuse(refusal(given, resource="poison", tenant_id=new_id()), "r")
    trail.refuse(refusal(given, resource="fine"), "r")
    trail.flush()
    assert len(rows(given, Audit.resource == "fine")) == 1
    assert "3 refusals could not be recorded" in caplog.text and len(caplog.records) == 1


# Reading it


@pytest.mark.both_databases
def test_the_trail_is_read_page_by_page_newest_first(as_role, given):
    for _ in range(3):
        as_role("editor").patch("/api/profile", {})
    first = as_role("owner").get("/api/audit?limit=2").get_json()
    assert set(first["items"][0]) == {"id", "time", "principal", "role", "action", "resource", "resource_id", "address",
                                      "result", "reason", "policy_version", "request_id", "facts", "count"}
    second = as_role("owner").get(f"/api/audit?limit=2&cursor={first['next_cursor']}").get_json()
    times = [row["time"] for row in first["items"] + second["items"]]
    assert len(times) == 4 and times == sorted(times, reverse=True)
    assert as_role("owner").get("/api/audit?limit=2&snapshot=true").status_code == 200


@pytest.mark.parametrize(("filters", "column"), [
    ("principal={principal}", "principal"), ("action=update", "action"), ("result=allowed", "result"),
    ("resource=profile", "resource"), ("resource_id={id}", "resource_id")])
def test_it_is_filtered(filters, column, as_role):
    editor = as_role("editor")
    editor.patch("/api/profile", {"name": "New"})
    wanted = filters.format(principal=f"user:{editor.id}", id=editor.id)
    items = as_role("owner").get(f"/api/audit?{wanted}").get_json()["items"]
    assert items and {row[column] for row in items} == {wanted.partition("=")[2]}


@pytest.mark.both_databases
def test_it_is_filtered_by_time(as_role):
    moment = now()
    as_role("editor").patch("/api/profile", {"name": "Newer"})
    after = as_role("owner").get("/api/audit", query_string={"time__gte": moment}).get_json()["items"]
    before = as_role("owner").get("/api/audit", query_string={"time__lt": moment}).get_json()["items"]
    assert after and before and min(row["time"] for row in after) >= moment > max(row["time"] for row in before)


def test_only_roles_with_audit_view_read_the_trail_each_of_their_tenant(as_role, given):
    as_role("editor").patch("/api/profile", {"name": "Seen"})
    for role in ("user", "editor", "support", "manager", "developer"):
        assert as_role(role).get("/api/audit").status_code == 403
    assert as_role("guest").get("/api/audit").status_code == 401
    other = as_role("owner", tenant="other").get("/api/audit?limit=200").get_json()["items"]
    assert not {row["id"] for row in other} & {row["id"] for row in rows(given)}
    for method in ("POST", "DELETE", "PUT"):
        assert as_role("admin").call(method, "/api/audit").status_code == 405


# Proving it


@pytest.fixture
def sealed(services, trail, monkeypatch):
    """Services whose audit log is sealed to the last event. Only the test seals later events."""
    [job] = (job for job in services.background._tasks if job.name == "sealing the audit log")
    monkeypatch.setattr(job, "every", inf)
    monkeypatch.setattr(job, "due", inf)
    # If the background task has already begun, it seals the events that this call does not.
    while verify(services).unsealed:
        trail.seal()
    return services


def verify(services, known=None):
    return seals.verify(services.database, sealer(services.keys), known)


def proved(caller, row):
    """Returns the `proved` of an event's seal; False if the event cannot be read at all."""
    answer = caller.get(f"/api/audit/{row.id}/seal")
    if answer.get_json().get("detail") == "The database cannot be read right now.":
        return False
    assert answer.status_code == 200, answer.text
    return answer.get_json()["proved"]


def test_a_row_is_proved_once_it_has_a_seal(sealed, given, as_role):
    as_role("editor").patch("/api/profile", {"name": "Somebody new"})
    path, admin = f"/api/audit/{rows(given)[-1]['id']}/seal", as_role("admin")
    assert admin.get(path).get_json() == {"created_at": None, "head": None, "proved": None}
    sealed.audit_writer.seal()
    found = admin.get(path).get_json()
    with sealed.database.connected():
        made = Seal.select().order_by(Seal.seq.desc())[0]
    assert found == {"created_at": made.created_at, "head": made.head, "proved": True}


def test_the_seal_of_a_row_is_for_those_who_may_see_the_row(sealed, given, as_role):
    path = f"/api/audit/{rows(given)[0]['id']}/seal"
    for role, tenant, status in (("user", "default", 403), ("owner", "other", 404), ("owner", "default", 200)):
        assert as_role(role, tenant=tenant).get(path).status_code == status
    assert as_role("guest").get(path).status_code == 401


def test_a_whole_trail_is_proved_to_the_last_row(sealed, as_role):
    as_role("editor").patch("/api/profile", {"name": "One more"})
    assert verify(sealed).unsealed >= 1
    sealed.audit_writer.seal()
    verdict = verify(sealed)
    assert verdict.findings == [] and verdict.unsealed == 0 and verdict.sealed > 0


DAMAGE = {
    "a changed row": ["UPDATE audit SET principal = 'forged' WHERE seq = {row}"],
    "a changed time": ["UPDATE audit SET time = '2020-01-01T00:00:00.000000Z' WHERE seq = {row}"],
    "a changed e-mail": ["""UPDATE audit SET facts = '{{"email":"forged@example.org"}}' WHERE seq = {row}"""],
    "removed facts": ["UPDATE audit SET facts = NULL WHERE seq = {row}"],
    "facts for a row that had none": ["UPDATE audit SET facts = '{{}}' WHERE seq = {row} + 1"],
    "empty facts for a row that had none": ["UPDATE audit SET facts = '' WHERE seq = {row} + 1"],
    "facts written in another way": ["""UPDATE audit SET facts = '{{"email": "a@example.org"}}' WHERE seq = {row}"""],
    "a removed row": ["DELETE FROM audit WHERE seq = {row}"],
    "a changed seal": ["UPDATE audit_seals SET head = previous || 'x' WHERE seq = {seal}"],
    "a removed seal": ["DELETE FROM audit_seals WHERE seq = {seal}"],
}


@pytest.mark.parametrize("damage", sampled(DAMAGE.values(), 2), ids=DAMAGE)
def test_verifying_finds_damage_and_each_row_says_whether_its_seal_proves_it(damage, database_url, tmp_path, request):
    url = new_database("postgres" if database_url.startswith("postgres") else "sqlite", request)
    app = make_app(new_instance(tmp_path / "instance", url, "default"), url)
    try:
        services = app.extensions["gatepost"]
        services.background._tasks = ()
        admin = log_in(app, "admin")
        for number in range(3):
            for thing in "abc":
                services.audit_writer.refuse(Refusal(services.guest_tenant, "guest", "guest", "view", thing, None, None,
                                              "refused", f"reason {number}", "1",
                                              '{"email":"a@example.org"}' if thing == "b" else None), "r")
            services.audit_writer.flush()
            services.audit_writer.seal()
        assert verify(services).findings == []
        with services.database.connected():
            rows = list(Audit.select().where(Audit.reason.startswith("reason")).order_by(Audit.seq))
            row = rows[4].seq
            seal = Seal.get(Seal.first_seq <= row, Seal.last_seq >= row).seq
        assert [proved(admin, one) for one in rows] == [True] * 9
        disarmed(services.database, *(statement.format(row=row, seal=seal) for statement in damage))
        assert verify(services).findings
        of_rows = not any("audit_seals" in statement for statement in damage)
        assert [proved(admin, one) for one in rows if one.seq != row] == [True] * 3 + [False] * 2 + [of_rows] * 3
    finally:
        close(app)


def test_a_trail_that_was_cut_off_is_found_by_the_heads_that_were_exported(sealed, as_role):
    as_role("editor").patch("/api/profile", {"name": "The last thing"})
    sealed.audit_writer.seal()
    with sealed.database.connected():
        known = {one.seq: one.head for one in seals.heads()}
        last = Seal.select().order_by(Seal.seq.desc()).first()
    assert verify(sealed, known).findings == []
    columns = "seq, first_seq, last_seq, rows, previous, head, created_at"
    kept = query(sealed.database, f"SELECT {columns} FROM audit_seals WHERE seq = {last.seq}")[0]
    disarmed(sealed.database, f"DELETE FROM audit_seals WHERE seq = {last.seq}")
    assert verify(sealed).findings == [], "nothing inside the database can tell"
    assert verify(sealed, known).findings == [f"seal {last.seq}, which was exported, is gone"]
    values = ", ".join(f"'{value}'" if isinstance(value, str) else str(value) for value in kept)
    disarmed(sealed.database, f"INSERT INTO audit_seals ({columns}) VALUES ({values})")


@pytest.mark.both_databases
def test_rows_go_after_their_time_and_the_rest_stays_proved(sealed, as_role):
    as_role("editor").patch("/api/profile", {"name": "Old"})
    sealed.audit_writer.seal()
    as_role("editor").patch("/api/profile", {"name": "New"})
    sealed.audit_writer.seal()
    with sealed.database.connected():
        before = Audit.select().count()
    assert seals.retire(sealed.database, later(-3600)) == 0, "nothing is that old"
    gone = seals.retire(sealed.database, now())
    verdict = verify(sealed)
    assert gone >= 1 and verdict.findings == [] and verdict.retired >= 1
    with sealed.database.connected():
        assert Audit.select().count() == before - gone >= 1, "the newest seal's rows stay"
        assert Retention.get().before <= now()
    assert end_retention(sealed.settings, sealed.database) == 0


@pytest.mark.both_databases
def test_several_sealers_at_once_make_one_chain(sealed, as_role):
    for number in range(20):
        as_role("editor").patch("/api/profile", {"name": f"N{number}"})
    trails = [AuditWriter(sealed.database, sealed.keys) for _ in range(4)]
    with ThreadPoolExecutor(4) as threads:
        assert sum(threads.map(AuditWriter.seal, trails)) >= 20
    assert verify(sealed).findings == []


@pytest.mark.both_databases
def test_a_row_that_is_committed_late_is_not_left_out(sealed, given):
    """On Postgres a row gets its number before its commit, and later rows may be committed earlier."""
    written, go_on = Event(), Event()

    def slow():
        append([Audit(**refusal(given, resource="slow")._asdict())])
        written.set()
        assert go_on.wait(60)

    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(sealed.database.transact, slow)
        assert written.wait(60)
        if sealed.database.dialect == "postgres":
            sealed.database.transact(lambda: append([Audit(**refusal(given, resource="quick")._asdict())]))
        assert sealed.audit_writer.seal() == 0, "the rows between may not be committed yet"
        go_on.set()
        waiting.result()
    assert sealed.audit_writer.seal() >= 1
    verdict = verify(sealed)
    assert (verdict.findings, verdict.unsealed) == ([], 0)
