"""Metrics for Prometheus: the callers who may read them, their values, and the sum of several processes."""

from __future__ import annotations

import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask import Flask
from prometheus_client.parser import text_string_to_metric_families

from tests.apps import Given, as_user, close, make_app, new_instance  # noqa: F401 - a fixture
from tests.databases import new_database
from tests.running import Instance, Served

TOKEN = "what-prometheus-knows"
BEARER = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture(scope="module")
def database_url(request: pytest.FixtureRequest) -> str:
    """One database is enough: numbers know none."""
    return new_database("sqlite", request)


@pytest.fixture
def app(tmp_path: Path, database_url: str) -> Iterator[Flask]:
    """An app whose numbers start at nothing."""
    known = Path(database_url.removeprefix("sqlite:///"))
    copy = tmp_path / "gatepost.db"
    copy.write_bytes(known.read_bytes())
    url = f"sqlite:///{copy}"
    made = make_app(new_instance(tmp_path / "instance", url, "default", "other"), url, metrics_token=TOKEN)
    yield made
    close(made)


def numbers(text: str) -> dict[tuple[str, ...], float]:
    """Every sample by its name and its labels' values."""
    return {(sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
            for family in text_string_to_metric_families(text) for sample in family.samples}


def scrape(app: Flask) -> dict[tuple[str, ...], float]:
    answer = app.test_client().get("/metrics", headers=BEARER)
    assert (answer.status_code, answer.mimetype) == (200, "text/plain")
    return numbers(answer.get_data(as_text=True))


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Basic {TOKEN}"}])
def test_without_its_token_nothing_is_told(app, headers):
    answer = app.test_client().get("/metrics", headers=headers)
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


def test_no_secret_and_no_principal_is_told(app):
    user = Given(app, "default").user(password="a long walk along the shore")
    client = app.test_client()
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


def test_several_processes_add_up_from_nothing_at_each_start(tmp_path):
    instance = Instance(tmp_path / "instance", {"GATEPOST_METRICS_TOKEN": TOKEN}).made()
    for _ in range(2):  # the second start begins at nothing
        with instance.served("--workers", "2") as service:
            for _ in range(24):
                assert service.call("GET", "/api/health/live")[0] == 200
            assert scrape_served(service)["gatepost_requests_total", "GET", "/api/health/live", "200"] == 24
    files = list((instance.folder / "metrics").glob("*.db"))
    workers = {re.search(r"_(\d+)\.db", file.name)[1] for file in files if file.name.startswith("counter")}
    assert len(workers) >= 2, "both workers counted"
