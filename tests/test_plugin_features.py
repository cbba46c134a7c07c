"""A plugin with a feature: a background task, a health check, an endpoint, and a console page."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import pytest
from flask import Flask

from gatepost import Feature
from gatepost.collections.plugins.contents import PluginError
from gatepost.collections.plugins.discovery import discover
from gatepost.features import FeatureError
from tests.apps import Given, close, log_in, make_app, new_instance
from tests.databases import new_database
from tests.http.console.pages import Seen, visit
from tests.plugin_apps import installed

SAMPLE = Path(__file__).parent / "sample_rates"


@pytest.fixture
def start(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Callable[..., Flask]]:
    """Starts apps with the plugin, as if installed by pip."""
    site = tmp_path / "site"
    shutil.copytree(SAMPLE, site / "sample_rates", ignore=shutil.ignore_patterns("__pycache__"))
    written = site / "sample_rates-1.0.dist-info"
    written.mkdir()
    (written / "METADATA").write_text("Metadata-Version: 2.1\nName: sample-rates\nVersion: 1.0\n")
    (written / "entry_points.txt").write_text("[gatepost.collections]\nrates = sample_rates\n")
    made: list[Flask] = []

    def serve(**settings: object) -> Flask:
        url = new_database("sqlite", request)
        folder = new_instance(tmp_path / str(len(made)), url, "default")
        made.append(make_app(folder, url, **settings))
        return made[-1]

    with installed(site, "sample_rates"):
        yield serve
        for app in made:
            close(app)


def test_its_task_check_endpoint_and_page_are_there(start):
    app = start()
    services = app.extensions["gatepost"]
    next(one for one in services.background._tasks if one.name == "fetching rates").attempt()
    with services.database.connected():
        admin = log_in(app, Given(app, "default").user("admin"))
    assert admin.get("/api/rates").json == {"rates": {"CHF": 0.93, "<USD>": 1.08}}
    assert admin.get("/api/health").json["checks"]["rates"] == "ok"
    visitor = visit(app, "admin")
    page = Seen.of(visitor.get("/console/rates"))
    assert "CHF: 0.93" in page.text and "<USD>: 1.08" in page.text, "what it shows is escaped by itself"
    assert "/console/rates" in Seen.of(visitor.get("/console/rules")).links, "the navigation leads there"
    assert page.links.index("/console/running") < page.links.index("/console/rates"), "after the shipped ones"


def test_its_page_is_for_those_who_may_see_it(start):
    app = start()
    visitor = visit(app, "user")
    refused = visitor.get("/console/rates")
    assert refused.status_code == 403 and "/console/rates" not in Seen.of(refused).links
    guest = app.test_client().get("/console/rates")
    assert guest.status_code == 303 and guest.headers["Location"].endswith("/console/login?next=/console/rates")


@pytest.mark.parametrize("settings", [{"without": ("console",)}, {"console": False}], ids=["without", "off"])
def test_without_the_console_the_rest_of_it_is_served(start, settings):
    app = start(**settings)
    assert app.test_client().get("/console/rates").status_code == 404
    assert app.test_client().get("/api/rates").status_code == 401
    assert ("sample_rates.pages" in sys.modules) == ("without" not in settings)


@pytest.mark.parametrize("name", ["", "Rates", 5])
def test_a_name_that_is_none_stops_the_start_with_a_sentence(name):
    module = plugin()
    module.__dict__["feature"] = Feature(name=name)
    with pytest.raises(PluginError, match="its name must be small letters, digits and _"):
        discover((module,))


def test_the_name_of_a_shipped_feature_is_taken_also_where_that_is_left_out():
    module = plugin()
    module.__dict__["feature"] = Feature(name="audit")
    with pytest.raises(PluginError, match="the name of the feature 'audit' is taken"):
        discover((module,), without=("audit",))


def plugin(**parts: object) -> ModuleType:
    module = ModuleType("rates")
    module.__file__ = __file__
    module.__dict__["feature"] = Feature(name="rates", **parts)
    return module


@pytest.mark.parametrize(("parts", "sentence"), [
    ({"extends": {"console": "nowhere.pages"}}, "the feature 'rates': nowhere.pages cannot be imported: No module"),
    ({"extends": {"consle": "nowhere.pages"}},
     "the feature 'rates' extends 'consle', and there is no such feature; did you mean console?"),
    ({"extends": ["console"]}, "the feature 'rates': extends must name a module for each feature"),
    ({"extends": {"console": 5}}, "the feature 'rates': extends must name a module for each feature"),
    ({"needs": None}, "the feature 'rates': needs must be names of features"),
    ({"checks": ["x"]}, "the feature 'rates': checks, doctor, left_out and sections must be mappings by name"),
    ({"needs": ("exchange",)}, "the feature 'rates' needs the feature 'exchange', which is not served"),
    ({"permissions": ("rate.view",)}, "the feature 'rates' declares permissions, which only shipped features do"),
    ({"settings": ("port",)}, "the feature 'rates' declares settings, which only shipped features do"),
])
def test_what_cannot_be_used_stops_the_start_with_a_sentence(parts, sentence):
    with pytest.raises(PluginError, match=re.escape(sentence)):
        discover((plugin(**parts),))


def test_a_function_around_a_handler_runs_in_its_transaction(tmp_path, request):
    seen = []

    @contextmanager
    def around(call):
        before = call.row.title
        yield
        seen.append((before, call.row.title, call.services.database.in_transaction()))

    module = plugin(around=lambda settings: {"article.update": around})
    url = new_database("sqlite", request)
    app = make_app(new_instance(tmp_path / "instance", url, "default"), url, [module])
    try:
        given = Given(app, "default")
        article, admin = given.article(title="Old"), log_in(app, given.user("admin"))
        assert admin.patch(f"/api/articles/{article.id}", {"title": "New"}).status_code == 200
        assert admin.patch(f"/api/articles/{article.id}", {"title": ""}).status_code == 400
        assert admin.get(f"/api/articles/{article.id}").status_code == 200
    finally:
        close(app)
    assert seen == [("Old", "New", True)]


@pytest.mark.parametrize("functions", [None, [], {"article.update": 5}])
def test_what_is_no_function_around_a_handler_stops_the_start(functions, tmp_path, request):
    module = plugin(around=lambda settings: functions)
    url = new_database("sqlite", request)
    folder = new_instance(tmp_path / "instance", url, "default")
    with pytest.raises(FeatureError, match="the feature 'rates': around returns .* and no functions by name"):
        make_app(folder, url, [module])


def test_what_extends_a_feature_that_is_left_out_is_not_imported():
    found = discover((plugin(extends={"console": "nowhere.pages"}),), without=("console",))
    assert "rates" in {feature.name for feature in found.features}
