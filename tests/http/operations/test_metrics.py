"""Metrics for Prometheus: the callers who may read them, their values, and the sum of several processes."""

from __future__ import annotations

import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event

import pytest
import yaml
from flask import Flask
from prometheus_client.parser import text_string_to_metric_families

from models.tables import backup
from tests.apps import Given, close, make_app, new_instance
from tests.databases import new_database
from tests.docs.documents import anchors
from tests.running import ROOT, Instance, Served, wait_until

TOKEN = "what-prometheus-knows"
BEARER = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture(scope="module")
def database_url(request: pytest.FixtureRequest) -> str:
    """One database is enough: metrics do not depend on it."""
    return new_database("sqlite", request)


@contextmanager
def made(folder: Path, database_url: str) -> Iterator[Flask]:
    """An app whose metrics start at zero."""
    copy = folder / "gatepost.db"
    copy.write_bytes(Path(database_url.removeprefix("sqlite:///")).read_bytes())
    url = f"sqlite:///{copy}"
    made = make_app(new_instance(folder / "instance", url, "default", "other"), url, metrics_token=TOKEN)
    yield made
    close(made)


@pytest.fixture
def app(tmp_path: Path, database_url: str) -> Iterator[Flask]:
    """An app for one test, whose metrics start at zero."""
    with made(tmp_path, database_url) as app:
        yield app


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, database_url: str) -> Iterator[Flask]:
    """An app for tests that do not depend on earlier counts."""
    with made(tmp_path_factory.mktemp("shared"), database_url) as app:
        yield app


def numbers(text: str) -> dict[tuple[str, ...], float]:
    """Returns every sample by name and label values."""
    return {(sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
            for family in text_string_to_metric_families(text) for sample in family.samples}


def scrape(app: Flask) -> dict[tuple[str, ...], float]:
    answer = app.test_client().get("/metrics", headers=BEARER)
    assert (answer.status_code, answer.mimetype) == (200, "text/plain")
    return numbers(answer.get_data(as_text=True))


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Basic {TOKEN}"}])
def test_without_its_token_nothing_is_told(shared, headers):
    answer = shared.test_client().get("/metrics", headers=headers)
    assert (answer.status_code, answer.get_json()["code"]) == (401, "invalid_token")
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")


def test_requests_are_counted_by_template_method_and_status(app):
    client = app.test_client()
    for id in ("01930000-0000-7000-8000-000000000000", "01930000-0000-7000-8000-000000000001", "nonsense"):
        client.get(f"/api/articles/{id}")
    client.get("/api/v1/health/live")
    found = scrape(app)
    assert found["gatepost_requests_total", "GET", "/api/articles/<id>", "404"] == 2
    assert found["gatepost_requests_total", "GET", "/api/articles/<id>", "400"] == 1
    assert found["gatepost_requests_total", "GET", "/api/health/live", "200"] == 1
    assert found["gatepost_request_seconds_count", "GET", "/api/articles/<id>"] == 3


def test_no_client_can_make_a_label(app):
    client = app.test_client()
    for number in range(5):
        client.open(f"/nowhere/{number}", method=f"M{number}")
        client.get(f"/api/v{number}/x")
    labels = {(method, route) for name, method, route, *_ in (key for key in scrape(app) if len(key) == 4)
              if name == "gatepost_requests_total"}
    assert {route for _, route in labels} <= {"none"}
    assert {method for method, _ in labels} <= {"GET", "other"}


def test_decisions_are_counted_by_their_result(app):
    client = app.test_client()
    client.get("/api/articles")
    client.get("/api/orders")
    client.get("/api/profile")
    found = scrape(app)
    assert found["gatepost_decisions_total", "allowed"] == 1
    assert found["gatepost_decisions_total", "refused"] == 2


def test_stages_are_timed(app):
    app.test_client().get("/api/articles")
    found = scrape(app)
    assert {"limit_by_address", "identify", "admit", "act", "answer"} <= {
        stage for name, *rest in found if name == "gatepost_stage_seconds_count" for stage in rest}


def test_a_policy_that_is_not_taken_over_is_seen(app):
    services = app.extensions["gatepost"]
    before = scrape(app)
    assert before["gatepost_policy_info", services.policy.current.version] == 1
    assert (before["gatepost_policy_broken",], before["gatepost_policy_reload_failures_total",]) == (0, 0)
    file = services.settings.policies / "articles.csv"
    file.write_text(file.read_text("utf-8").replace("allow", "alow"), "utf-8")
    services.policy.reload()
    after = scrape(app)
    assert (after["gatepost_policy_broken",], after["gatepost_policy_reload_failures_total",]) == (1, 1)
    assert after["gatepost_limits_degraded",] == 0


def test_no_secret_and_no_principal_is_told(shared):
    user = Given(shared, "default").user(password="a long walk along the shore")
    client = shared.test_client()
    body = {"email": user.email, "password": "a long walk along the shore"}
    token = client.post("/api/login", json=body).get_json()["access_token"]
    client.get("/api/profile", headers={"Authorization": f"Bearer {token}"})
    text = client.get("/metrics", headers=BEARER).get_data(as_text=True)
    for secret in (TOKEN, token, user.id, user.email, "shore"):
        assert secret not in text


def test_without_a_token_in_the_settings_there_is_no_page(tmp_path, database_url):
    app = make_app(new_instance(tmp_path / "instance", database_url, "default"), database_url)
    try:
        assert app.test_client().get("/metrics", headers=BEARER).status_code == 404
    finally:
        close(app)


def scrape_served(service: Served) -> dict[tuple[str, ...], float]:
    with urllib.request.urlopen(urllib.request.Request(f"{service.url}/metrics", headers=BEARER), timeout=10) as answer:
        return numbers(answer.read().decode())


@pytest.mark.slow
def test_several_processes_add_up_from_nothing_at_each_start(tmp_path):
    instance = Instance(tmp_path / "instance", {"GATEPOST_METRICS_TOKEN": TOKEN}).made()
    for _ in range(2):  # the second start begins at zero
        with instance.served("--workers", "2") as service:
            for _ in range(24):
                assert service.call("GET", "/api/health/live")[0] == 200
            # The server sends one request itself, before it reports that it is ready.
            assert scrape_served(service)["gatepost_requests_total", "GET", "/api/health/live", "200"] == 24 + 1
    files = list((instance.folder / "metrics").glob("*.db"))
    workers = {re.search(r"_(\d+)\.db", file.name)[1] for file in files if file.name.startswith("counter")}
    assert len(workers) >= 2, "both workers counted"


OPERATOR = (
    "gatepost_build_info", "gatepost_check", "gatepost_disk_free_bytes", "gatepost_database_bytes",
    "gatepost_database_log_bytes", "gatepost_export_files_bytes", "gatepost_backups_bytes", "gatepost_jobs",
    "gatepost_jobs_oldest_seconds",
    "gatepost_sessions", "gatepost_imports_open", "gatepost_audit_unsealed_rows", "gatepost_audit_unsealed_seconds",
    "gatepost_backup_failed", "gatepost_database_wait_seconds_count", "gatepost_database_refusals_total",
    "gatepost_checkpoint_seconds_count", "gatepost_checkpoints_held_back_total")


def test_an_operator_is_told_how_the_instance_is(shared):
    assert set(OPERATOR) - {key[0] for key in scrape(shared)} == set()


def test_each_check_has_its_state(app):
    found = {key[1]: value for key, value in scrape(app).items() if key[0] == "gatepost_check"}
    assert found == {"database": 0, "keys": 0, "clock": 0, "jobs": 0, "backups": 0, "disk": 0}


BACKUP_AGES = {"gatepost_backup_age_seconds", "gatepost_backup_proved_age_seconds",
               "gatepost_backup_scheduled_age_seconds"}


def test_a_backup_and_its_proof_have_an_age(app):
    before = scrape(app)
    assert not any(key[0].startswith("gatepost_backup") and key[0].endswith("age_seconds") for key in before)
    services = app.extensions["gatepost"]

    def made() -> None:
        backup.note_made(backup.begin() or "", "somewhere", "digest", 1, 1.0)
        backup.note_proof("digest")

    services.database.transact(made)
    after = scrape(app)
    assert 0 <= after["gatepost_backup_age_seconds",] < 60 and 0 <= after["gatepost_backup_proved_age_seconds",] < 60


def test_a_writer_that_has_to_wait_is_told(app):
    database = app.extensions["gatepost"].database
    held, done = Event(), Event()

    def hold() -> None:
        with database.writing():
            held.set()
            done.wait(60)

    def waits() -> bool:
        with database.places._mutex:
            return bool(database.places._taken)

    database.places.moment, before = 0.01, scrape(app)
    with ThreadPoolExecutor(2) as threads:
        threads.submit(hold)
        held.wait(60)
        waiting = threads.submit(database.transact, lambda: None)
        wait_until(waits)  # it occupies a slot after a moment
        done.set()
        waiting.result(60)
    found = scrape(app)
    assert found["gatepost_database_wait_seconds_count",] > before["gatepost_database_wait_seconds_count",]
    assert found["gatepost_database_wait_seconds_sum",] >= before["gatepost_database_wait_seconds_sum",] + 0.01


def test_the_rest_is_told_while_the_database_is_away(app):
    database = app.extensions["gatepost"].database
    database.close_all()
    away = database.path.rename(database.path.with_suffix(".away"))
    try:
        found = scrape(app)
    finally:
        away.rename(database.path)
    assert found["gatepost_check", "database"] == 2
    assert ("gatepost_disk_free_bytes",) in found and ("gatepost_sessions",) not in found


ALERTS = yaml.safe_load((ROOT / "deploy" / "prometheus-alerts.yml").read_text(encoding="utf-8"))
RULES = [rule for group in ALERTS["groups"] for rule in group["rules"]]


def test_an_alert_rule_asks_for_what_is_there_and_says_what_to_do(shared):
    shared.test_client().get("/api/health/live")
    names = {key[0] for key in scrape(shared)} | BACKUP_AGES
    faults = {}
    for rule in RULES:
        asked = set(re.findall(r"gatepost_\w+", rule["expr"]))
        notes, severity = rule["annotations"], rule["labels"]["severity"]
        document, _, anchor = notes["runbook"].partition("#")
        text = (ROOT / document).read_text(encoding="utf-8")
        right = {"names": asked <= names and (asked or rule["expr"].startswith("up")),
                 "texts": notes["summary"] and notes["description"],
                 "heading": not anchor or anchor in anchors(text),
                 "severity": severity in ("page", "ticket")}
        if wrong := [what for what, holds in right.items() if not holds]:
            faults[rule["alert"]] = wrong
    assert RULES and faults == {}


def test_every_metric_of_the_documentation_is_served_and_every_one_served_is_documented(shared):
    monitoring = (ROOT / "docs/running/monitoring.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"^\| `(gatepost_\w+)", monitoring, re.MULTILINE))
    families = {family.name + ("_total" if family.type == "counter" else "")
                for family in text_string_to_metric_families(
                    shared.test_client().get("/metrics", headers=BEARER).get_data(as_text=True))}
    served = families | BACKUP_AGES
    assert documented == {name for name in served if name.startswith("gatepost_") and not name.endswith("_created")}
