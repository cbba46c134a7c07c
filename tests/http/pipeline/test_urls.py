"""Answers have absolute URLs if the URL of the service is known, by `public_url` or a trusted proxy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from gatepost.http.operations.deprecation import Deprecation
from tests.apps import Given, close, fresh_registry, make_app, new_instance
from tests.databases import new_database

OLD = Deprecation(since=date(2026, 11, 1), sunset=date(2100, 1, 1), successor="/docs#q")
PUBLIC = {"public_url": "https://api.example.org/gate/"}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Callable[..., Flask]]:
    """Apps on one database with two articles, one app for each settings. A filter of articles is deprecated."""
    url, made = new_database("sqlite", request), dict[str, Flask]()
    folder: Path = new_instance(tmp_path_factory.mktemp("base") / "instance", url, "default")

    def serve(**settings: Any) -> Flask:
        if repr(settings) in made:
            return made[repr(settings)]
        app = make_app(folder, url, **settings)
        if not made:
            for _ in range(2):
                Given(app, "default").article(status="published", title="A kettle")
        made[repr(settings)] = app
        for _, _, endpoints in app.extensions["gatepost"].registry.endpoints():
            for endpoint in endpoints:
                if (endpoint.method, endpoint.path) == ("GET", "/api/articles") and endpoint.query is not None:
                    field = endpoint.query.fields["title__contains"]
                    field.metadata = {**field.metadata, **OLD.metadata()}
        return app

    with fresh_registry():
        yield serve
    for app in made.values():
        close(app)


@pytest.mark.parametrize(("settings", "headers", "base"), [
    ({}, {}, ""),
    ({}, {"Host": "api.example.org"}, ""),
    ({}, {"X-Forwarded-Host": "evil.example", "X-Forwarded-Proto": "https"}, ""),
    (PUBLIC, {}, "https://api.example.org/gate"),
    (PUBLIC | {"trusted_proxies": 1}, {"X-Forwarded-Host": "other.example"}, "https://api.example.org/gate"),
    ({"trusted_proxies": 1}, {"X-Forwarded-Host": "api.example.org", "X-Forwarded-Proto": "https"},
     "https://api.example.org"),
    ({"trusted_proxies": 1}, {"X-Forwarded-Host": "api.example.org:8443"}, "http://api.example.org:8443"),
    ({"trusted_proxies": 1}, {"X-Forwarded-Host": "evil.example, api.example.org"}, "http://api.example.org"),
    ({"trusted_proxies": 2}, {"X-Forwarded-Host": "api.example.org, inner"}, "http://api.example.org"),
    ({"trusted_proxies": 2}, {"X-Forwarded-Host": "evil.example"}, ""),
    ({"trusted_proxies": 1}, {}, ""),
    ({"trusted_proxies": 1}, {"X-Forwarded-Host": 'a>; rel="next", <//evil'}, ""),
    ({"trusted_proxies": 1}, {"X-Forwarded-Host": "api.example.org", "X-Forwarded-Proto": "javascript"}, ""),
], ids=str)
def test_links_are_whole_where_the_host_is_known(served, settings, headers, base):
    client = served(**settings).test_client()
    for sent in ("/api/articles", "/api/v1/articles"):
        answer = client.get(f"{sent}?limit=1&title__contains=kettle", headers=headers)
        links = [link.partition(">")[0] for link in answer.headers["Link"].split(", <")]
        assert links[0] == f"<{base}/docs#q"
        assert len(links) >= 2 and all(link.startswith(f"{base}{sent}?") for link in links[1:]), links


@pytest.mark.parametrize(("settings", "type", "instance"), [
    ({}, "/docs/errors#not_found", "/api/nowhere"),
    (PUBLIC, "https://api.example.org/gate/docs/errors#not_found", "/gate/api/nowhere"),
    ({"trusted_proxies": 1}, "/docs/errors#not_found", "/api/nowhere")], ids=["nothing", "public_url", "a proxy"])
def test_the_type_of_a_problem_is_whole_where_the_setting_says_the_url(served, settings, type, instance):
    client = served(**settings).test_client()
    answer = client.get("/api/nowhere", headers={"X-Forwarded-Host": "api.example.org"})
    assert answer.json["type"] == type
    assert answer.json["instance"] == instance


def test_the_setting_is_live(served):
    app = served()
    live = app.extensions["gatepost"].live
    file = live.current.instance / "settings.toml"
    try:
        file.write_text('public_url = "https://new.example.org/new"', "utf-8")
        live.reload()
        client = app.test_client()
        assert client.get("/api/articles").headers["Link"].startswith("<https://new.example.org/new/api/articles>")
        assert client.get("/api/nowhere").json["type"].startswith("https://new.example.org/new/docs/errors#")
        assert client.get("/console").headers["Location"] == "/new/console/login"
    finally:
        file.unlink()
        live.reload()
    assert app.test_client().get("/console").headers["Location"] == "/console/login"


def test_what_is_gone_names_its_successor_below_the_path(served, monkeypatch):
    app = served(**PUBLIC)
    monkeypatch.setattr(Deprecation, "over", True)
    answer = app.test_client().get("/api/ping")
    assert (answer.status_code, answer.json["detail"]) == (410, "Use /gate/api/health.")
