"""Shipped collections that an instance leaves out (setting `without`): nothing of them is served, the rest goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from flask import Flask

from blueprints.commands.context import registry
from blueprints.http.resources.plugins.discovery import discover
from blueprints.http.resources.plugins.leaving_out import OPTIONAL
from settings import SettingError, Settings
from tests.apps import Given, close, log_in, make_app, new_instance
from tests.databases import new_database
from tests.running import Instance


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def serve(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Flask]]:
    made: list[Flask] = []

    def start(*without: str) -> Flask:
        url = new_database(request.param, request)
        folder = new_instance(tmp_path_factory.mktemp("left_out") / "instance", url, "default")
        made.append(make_app(folder, url, without=without))
        return made[-1]

    yield start
    for app in made:
        close(app)


@pytest.mark.parametrize("names", [("comments", "pages"), OPTIONAL], ids=["two", "all that can be"])
def test_nothing_of_it_is_served_and_the_rest_goes_on(serve, names):
    app = serve(*names)
    caller = log_in(app, Given(app, "default").user("admin"))
    assert {name: caller.get(f"/api/{name}").status_code for name in names} == dict.fromkeys(names, 404)
    paths = caller.get("/api/openapi.json").get_json()["paths"]
    assert [path for path in paths if path.split("/")[2:3] and path.split("/")[2] in names] == []
    left = [*app.extensions["gatepost"].registry.collections]
    assert {name: caller.get(f"/api/{name}").status_code for name in left} == dict.fromkeys(left, 200)
    permissions = caller.get("/api/profile").get_json()["permissions"]
    assert permissions == ["*"], "all that something asks for"
    plain = [path for path, methods in paths.items() if "{" not in path and "get" in methods]
    wrong = {path: answer.status_code for path in plain
             if (answer := caller.get(path)).status_code >= 500 or (path == "/" and answer.status_code != 200)}
    assert wrong == {}


def test_its_permissions_are_asked_for_by_nothing(serve):
    app = serve("comments")
    services = app.extensions["gatepost"]
    assert not [name for name in services.registry.by_permission if name.startswith("comment.")]
    user = log_in(app, Given(app, "default").user("user")).get("/api/profile").get_json()["permissions"]
    assert not [name for name in user if name.startswith("comment.")] and "article.create" in user
    # They stay words, so that the files of the instance are as good as before.
    assert "comment.view" in services.registry.vocabulary.by_permission
    assert "comments" in registry().collections, "an export and an erasure of a person still see the rows"
    assert services.registry.migrations == discover().migrations


@pytest.mark.parametrize(("names", "sentence"), [
    (["comnts"], "^without: there is no shipped collection 'comnts'; did you mean comments?"),
    (["users"], "^without: users cannot be left out, because Gatepost itself needs them"),
    (["jobs"], "^without: jobs cannot be left out"),
    (["articles"],
     r"^without: articles cannot be left out, because comments refer to them \(article_id\); leave out both"),
    (["products"], r"^without: products .* because orders refer to them \(items.product_id\)"),
    (["categories", "articles", "comments"], "^without: categories .* because products refer to them"),
])
def test_what_others_need_is_not_left_out(names, sentence):
    with pytest.raises(SettingError, match=sentence):
        discover(without=names)


@pytest.mark.parametrize(("said", "read"), [
    ('without = ["comments", "pages"]', ("comments", "pages")), ('without = "comments pages"', ("comments", "pages")),
    ("without = []", ()), ('without = ["pages", "pages"]', ("pages",))])
def test_names_are_a_list_or_stand_between_spaces(tmp_path, said, read):
    (tmp_path / "settings.toml").write_text(said)
    assert Settings.load(tmp_path, environ={}).without == read
    assert Settings.load(tmp_path, environ={"GATEPOST_WITHOUT": "a,b c"}).without == ("a", "b", "c")


@pytest.mark.parametrize("said", ["without = 5", "without = [5]", "without = {comments = true}"])
def test_anything_else_is_no_list_of_names(tmp_path, said):
    (tmp_path / "settings.toml").write_text(said)
    with pytest.raises(SettingError, match="a list of names"):
        Settings.load(tmp_path, environ={})


@pytest.fixture(scope="module")
def without(tmp_path_factory: pytest.TempPathFactory) -> Instance:
    environment: dict[str, Any] = {"GATEPOST_WITHOUT": "comments"}
    return Instance(tmp_path_factory.mktemp("commands") / "instance", environment).made()


@pytest.fixture(autouse=True)
def fresh_registry() -> Iterator[None]:
    """Commands remember what is installed as long as their process lives."""
    from blueprints.commands.policy import folders

    folders.registry.cache_clear()
    yield
    folders.registry.cache_clear()


def test_the_check_of_the_rules_says_once_for_each_file_that_they_have_no_effect(without):
    checked = without.run("policy", "check")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    told = [line for line in checked.stdout.splitlines() if "left out" in line]
    assert len(told) == 1
    assert told[0].startswith("comments.csv:5: warning: `comment.view`: the collection comments is left out (setting "
                              "without); this line has no effect, and neither have ")


def test_its_rules_may_be_taken_out(without):
    rules = without.folder / "policies" / "comments.csv"
    kept = rules.read_text()
    rules.unlink()
    try:
        checked = without.run("policy", "check")
        assert "comments.csv: the file is missing" not in checked.stdout + checked.stderr
    finally:
        rules.write_text(kept)


def test_a_command_says_that_there_is_none(without):
    refused = without.run("export", "comments")
    assert refused.returncode == 1 and "There is no export of comments. Choose from: articles" in refused.stderr
