"""The address of a client is the same for rules, limits, explanations, AuthZEN and the audit log, in any spelling.

The rules of these tests read addresses. A proxy in front is trusted.
"""

from __future__ import annotations

import random
from ipaddress import ip_address, ip_network
from types import SimpleNamespace
from urllib.parse import quote

import pytest

from gatepost.health import checks
from gatepost.http.operations import addresses as operations
from gatepost.http.operations.logs import OFTEN, Repetitions
from gatepost.http.request.identity import principal_of
from models.base import now
from models.tables.audit import Audit, of_tenant
from policies.comparison.candidates import addresses_near
from policies.evaluation.principal import FixedEnvironment
from policies.syntax.addresses import within
from tests.addresses import FORMS, UNREADABLE
from tests.apps import Given, close, log_in, make_app, new_instance
from tests.http.operations.test_metrics import BEARER, TOKEN, numbers
from tests.rule_files import edit

NETWORKS = ("10.0.0.0/8", "203.0.113.0/24", "2001:db8::/32")
CONDITIONS = """    p.when == 'office' && ipMatch(r.env.ip, '10.0.0.0/8') || \\
    p.when == 'remote' && !ipMatch(r.env.ip, '10.0.0.0/8') || \\
    p.when == 'branch' && (ipMatch(r.env.ip, '2001:db8::/32') || r.env.ip == '10.1.2.3') || \\
    p.when == 'abroad' && r.sub.department == 'field' && ipMatch(r.env.ip, '203.0.113.0/24') || \\
    p.when == 'field_remote' && r.sub.department == 'field' && !ipMatch(r.env.ip, '10.0.0.0/8') || \\
    p.when == 'field_office' && r.sub.department == 'field' && ipMatch(r.env.ip, '10.0.0.0/8') || \\
"""
LINES = {
    "pages.csv": "p, user, page.view, office, allow",
    "categories.csv": "p, user, category.view, always, allow\np, user, category.view, abroad, deny",
    "products.csv": "p, user, product.view, remote, allow",
    "articles.csv": "p, user, article.view, branch, allow",
    "comments.csv": "p, user, comment.view, always, allow\np, user, comment.view, field_remote, deny",
    "orders.csv": "p, user, order.view, always, allow\np, user, order.view, field_office, deny",
}
COLLECTIONS = {"page": "pages", "category": "categories", "product": "products", "article": "articles",
               "comment": "comments", "order": "orders"}
# The results for an address of the office, abroad, of the branch, elsewhere, and for an unreadable one.
PLACES = ("10.1.2.3", "10.255.255.255", "203.0.113.7", "2001:db8::1", "198.51.100.1", None)
MAY = {"page": "110000", "category": "110110", "product": "001110", "article": "100100", "comment": "110000",
       "order": "001110"}


@pytest.fixture(scope="module")
def world(database_url, tmp_path_factory):
    """A service whose rules read addresses, its rows, an administrator, and a caller."""
    folder = new_instance(tmp_path_factory.mktemp("addresses") / "instance", database_url, "default")
    edit(folder / "policies", CONDITIONS, LINES, only=True)
    app = make_app(folder, database_url, trusted_proxies=1, metrics_token=TOKEN)
    given = Given(app, "default")
    field = given.user("user", department="field")
    rows = {"page": given.page(), "category": given.category(), "product": given.product(), "article": given.article(),
            "comment": given.comment(), "order": given.order()}
    made = SimpleNamespace(app=app, given=given, rows=rows, field=field, caller=log_in(app, field),
                           admin=log_in(app, given.user("admin")), services=app.extensions["gatepost"])
    yield made
    close(app)


@pytest.fixture
def answers(world):
    """`answers(resource, text)` returns part of the service → True if it allows the view of a row from this address."""
    def ask(resource, text, named=True):
        row, principal, forwarded = world.rows[resource], world.field, {"X-Forwarded-For": text}
        name, id = COLLECTIONS[resource], row.id
        question = {"subject": {"type": "user", "id": principal.id}, "action": {"name": "view"},
                    "resource": {"type": resource, "id": id}}
        explain = f"/api/admin/policy/explain?as={principal.id}&permission={resource}.view&id={id}"
        found = {
            "item": world.caller.get(f"/api/{name}/{id}", headers=forwarded).status_code == 200,
            "list": any(one["id"] == id for one in world.caller.get(
                f"/api/{name}?limit=100", headers=forwarded).get_json().get("items", ())),
            "explain of one's own address": told(world.admin.get(explain, headers=forwarded)) == "allowed",
            "AuthZEN of one's own address": told(world.admin.post(
                "/access/v1/evaluation", json=question, headers=forwarded), "decision"),
        }
        if named:
            found |= {
                "explain": told(world.admin.get(f"{explain}&ip={quote(text, safe='')}")) == "allowed",
                "AuthZEN": told(world.admin.post(
                    "/access/v1/evaluation", json={**question, "context": {"ip": text}}), "decision"),
            }
        return found

    return ask


def told(answer, name="verdict"):
    assert answer.status_code == 200, answer.get_json()
    return answer.get_json()[name]


@pytest.mark.parametrize("place", [place for place in PLACES if place])
def test_every_form_of_an_address_is_answered_alike_by_every_part_of_the_service(world, answers, place):
    for number, form in enumerate(FORMS):
        resource, text = [*MAY][number % len(MAY)], form(ip_address(place))
        found = answers(resource, text)
        assert set(found.values()) == {MAY[resource][PLACES.index(place)] == "1"}, (resource, text, found)


def test_whatever_the_address_and_its_form_service_explain_authzen_and_prover_agree(world, answers):
    chance, policy = random.Random(5), world.services.policy.current
    tried = addresses_near(("10.1.2.3",), NETWORKS, 1)
    for _ in range(60):
        network = ip_network(chance.choice((*NETWORKS, "0.0.0.0/0", "::/0", "10.1.2.3/32")))
        address, form = network[chance.randrange(network.num_addresses)], chance.choice(FORMS)
        resource, text = chance.choice([*MAY]), form(address)
        # The prover uses this address for all addresses in the same networks.
        same = next(other for other in tried if all(
            within(other, one) is within(str(address), one) for one in (*NETWORKS, "10.1.2.3/32")))
        expected = policy.decide(principal_of(world.field), f"{resource}.view", world.rows[resource].__data__,
                                 FixedEnvironment(ip=same))
        found = answers(resource, text)
        assert set(found.values()) == {expected}, (resource, text, found)


@pytest.mark.parametrize("text", UNREADABLE)
def test_an_unreadable_address_is_let_in_by_no_rule_about_addresses(world, answers, text):
    for resource, may in MAY.items():
        found = answers(resource, text, named=False)
        assert set(found.values()) == {may[-1] == "1"}, (resource, found)
    for path in (f"/api/admin/policy/explain?as=user&permission=page.view&ip={quote(text)}",
                 f"/api/admin/policy/who?permission=page.view&ip={quote(text)}"):
        assert world.admin.get(path).status_code == 400
    question = {"subject": {"type": "role", "id": "user"}, "action": {"name": "view"},
                "resource": {"type": "page", "id": ""}, "context": {"ip": text}}
    assert world.admin.post("/access/v1/evaluation", json=question).status_code == 400


@pytest.mark.parametrize(("said", "kept"), [
    ("::ffff:203.0.113.7", "203.0.113.7"), ("203.0.113.7:443", "203.0.113.7"), ("[2001:DB8::1]:443", "2001:db8::1"),
    ("fe80::1%eth0", "fe80::1"), ("198.51.100.9, [::ffff:203.0.113.7]", "203.0.113.7"),
    ('198.51.100.9, "[2001:db8::1]:443"', "2001:db8::1"), ("unknown", "unusable"), ("9" * 70, "unusable")])
def test_the_audit_log_keeps_one_spelling(world, said, kept):
    start = now()
    assert world.caller.post("/api/categories", {"name": "N"}, headers={"X-Forwarded-For": said}).status_code == 403
    world.services.audit_writer.flush(early=True)
    with world.given.database.connected():
        found = of_tenant(world.given.tenant_id).where(
            (Audit.principal == f"user:{world.field.id}") & (Audit.time >= start))
        assert [row.address for row in found] == [kept]


def test_the_server_without_a_proxy_says_it_too(world):
    for address, status in (("::ffff:10.1.2.3", 200), ("::ffff:203.0.113.7", 403), ("fe80::1%eth0", 403)):
        answer = world.caller.client.get(f"/api/pages/{world.rows['page'].id}", headers=world.caller.headers,
                                         environ_overrides={"REMOTE_ADDR": address})
        assert answer.status_code == status, address


def test_requests_from_an_unreadable_address_are_told_to_operators_and_are_no_flood(world, caplog, monkeypatch):
    monkeypatch.setattr(world.services.addresses, "_number", 0)
    before = counted(world)
    assert health(world) == ("ok", [])
    for number in range(3 * OFTEN):
        world.caller.get("/api/profile", headers={"X-Forwarded-For": f"made-up-{number}-{'x' * 500}\x7f"})
    state, findings = health(world)
    assert state == "degraded" and counted(world) - before == 3 * OFTEN
    (detail,) = findings
    assert f"{3 * OFTEN} requests" in detail and "X-Forwarded-For" in detail
    lines = [record for record in caplog.records if "cannot be read" in record.getMessage()]
    assert "made-up-0" in lines[0].getMessage() and max(len(line.getMessage()) for line in lines) < 200
    bound = Repetitions()
    assert sum(map(bound.filter, lines)) == OFTEN

    recent = operations.RECENT
    monkeypatch.setattr(operations, "RECENT", 0.0)
    assert health(world) == ("ok", []), "it is told for a while"
    assert recent > 60


def health(world):
    answer = world.admin.get("/api/health").get_json()
    state = answer["checks"]["addresses"]
    assert (answer["status"] == "degraded") is (state == "degraded")
    assert "addresses" not in world.app.test_client().get("/api/health").get_json()["checks"]
    return state, [one["detail"] for one in answer["findings"] if one["check"] == "addresses"]


def counted(world):
    text = world.app.test_client().get("/metrics", headers=BEARER).get_data(as_text=True)
    return numbers(text)["gatepost_unreadable_addresses_total",]


def test_what_was_never_asked_is_no_finding():
    assert checks.addresses(operations.UnreadableAddresses()).state == "ok"
