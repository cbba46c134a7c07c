"""Shipped collections that an instance leaves out (setting `without`): they are not served, and the rest works."""

from __future__ import annotations

import json
import logging
import re
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from flask import Flask

from gatepost.collections.plugins.discovery import discover
from gatepost.collections.plugins.leaving_out import OPTIONAL
from gatepost.commands.context import registry
from settings import SettingError, Settings
from tests.apps import Given, close, log_in, make_app, new_instance
from tests.databases import new_database
from tests.http.console.pages import visit
from tests.policies.editing import add_line
from tests.running import PASSWORD, Instance


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


def test_its_permissions_are_no_words(serve):
    app = serve("comments")
    services = app.extensions["gatepost"]
    assert not [name for name in services.registry.by_permission if name.startswith("comment.")]
    user = log_in(app, Given(app, "default").user("user")).get("/api/profile").get_json()["permissions"]
    assert not [name for name in user if name.startswith("comment.")] and "article.create" in user
    assert "comment.view" not in services.registry.vocabulary.by_permission
    assert "read:comments" not in services.policy.current.scope_names
    assert "comments" in registry(whole=True).collections, "an export and an erasure of a person still see the rows"
    assert services.registry.migrations == discover().migrations


def test_what_the_api_tells_of_the_rules_does_not_know_it(serve):
    app = serve("comments")
    given = Given(app, "default")
    admin = log_in(app, given.user("admin"))
    asked = {"as": "editor", "permission": "comment.view"}
    for path in ("explain", "who"):
        answer = admin.get(f"/api/admin/policy/{path}", query_string=asked)
        assert (answer.status_code, answer.mimetype) == (400, "application/problem+json"), answer.text
    for path in ("", "/matrix", "/review", "/unused"):
        answer = admin.get(f"/api/admin/policy{path}")
        assert (answer.status_code, "comment." in answer.text.replace("comment.csv", "")) == (200, False), path
    refused = admin.post("/api/tokens", json={"name": "n", "scopes": ["read:comments"]})
    assert [fault["code"] for fault in refused.json["errors"]] == ["unknown_scope"], refused.json
    assert admin.post("/api/tokens", json={"name": "n", "scopes": ["read:articles"]}).status_code == 201


@pytest.mark.parametrize(("names", "sentence"), [
    (["comnts"], "^without: there is no shipped collection or feature 'comnts'; did you mean comments?"),
    (["users"], "^without: users cannot be left out, because Gatepost itself needs it"),
    (["sessions"], "^without: sessions cannot be left out"),
    (["policy"], "^without: policy cannot be left out, because others need it; leave out these, too: "
                 "policy_changes access_review authzen"),
    (["articles"],
     r"^without: articles cannot be left out, because comments refer to them \(article_id\); leave out both"),
    (["products"], r"^without: products .* because orders refer to them \(items.product_id\)"),
    (["categories", "articles", "comments"], "^without: categories .* because products refer to them"),
])
def test_what_others_need_is_not_left_out(names, sentence):
    with pytest.raises(SettingError, match=sentence):
        discover(without=names)


@pytest.mark.parametrize(("names", "sentence"), [
    ("articles", "articles cannot be left out"), ("article", "there is no shipped collection or feature 'article'")])
def test_init_makes_no_instance_that_could_not_be_served(tmp_path, names, sentence):
    refused = Instance(tmp_path / "instance", {"GATEPOST_WITHOUT": names}).run("init")
    assert refused.returncode == 1 and f"Error: without: {sentence}" in refused.stderr
    assert not (tmp_path / "instance").exists()


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
    """Clears the registry, because commands cache the installed plugins for the life of their process."""
    from gatepost.commands import policy_files

    policy_files.registry.cache_clear()
    yield
    policy_files.registry.cache_clear()


def test_the_check_of_the_rules_says_once_what_has_no_effect(without):
    checked = without.run("policy", "check")
    assert (checked.returncode, len(checked.stdout.splitlines())) == (0, 1), checked.stdout + checked.stderr
    assert "0 warnings, 22 rules without effect, about parts that are left out (comments), version" in checked.stdout


@pytest.mark.parametrize("command", ["explain --as admin", "who"])
def test_a_question_about_it_is_told_why_there_is_none(without, command):
    refused = without.run("policy", *command.split(), "comment.view")
    assert refused.returncode == 2
    assert "There is no permission 'comment.view': the collection comments is left out (setting without)." \
        in refused.stderr


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


# Each optional collection, with the collections that refer to it.
WITH_REFERRERS = [
    ("comments",), ("contact",), ("orders",), ("pages",), ("articles", "comments"), ("orders", "products"),
    ("articles", "categories", "comments", "orders", "products"), OPTIONAL]


@pytest.fixture(scope="module", params=[
    pytest.param(names, id="-".join(names), marks=() if names in (("comments",), OPTIONAL) else pytest.mark.slow)
    for names in WITH_REFERRERS])
def instance(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Instance:
    """An instance with the rows of the demo and without some collections."""
    made = Instance(tmp_path_factory.mktemp("some") / "instance", {"GATEPOST_WITHOUT": " ".join(request.param)})
    done = made.run("init", "--admin-email", "admin@example.org", "--admin-password-file", "-", input=PASSWORD)
    assert done.returncode == 0, done.stderr
    first = re.search(r"http://\S+/api/(\S+)", done.stdout)
    assert first is not None and first[1] not in request.param
    return made


def left_out(instance: Instance) -> list[str]:
    return instance.environment["GATEPOST_WITHOUT"].split()


def naming(instance: Instance) -> re.Pattern[str]:
    """Returns permissions, scopes, paths and files of the left-out collections."""
    every = discover().collections
    return re.compile("|".join(
        rf"(?<![\w.]){every[name].resource}\.[a-z*]|:{name}\b|/{name}\b|(?<![\w/]){name}\.[a-z]"
        for name in left_out(instance)))


@pytest.mark.parametrize("command", [
    "policy check --strict", "policy check --json", "policy test", "policy matrix", "policy matrix --json",
    "policy diff shipped", "policy diff shipped --rows", "policy explain user.update --as admin",
    "policy who user.update", "policy unused --json", "doctor", "openapi", "settings"])
def test_a_command_answers_without_a_word_about_it(instance, command):
    done = instance.run(*command.split())
    assert done.returncode == 0 or command.startswith("policy unused"), done.stdout + done.stderr
    assert re.sub("No tests.yaml in .*\n", "", done.stderr) == ""
    assert naming(instance).findall(done.stdout) == []


def test_a_difference_is_none_of_what_is_left_out(instance, tmp_path):
    shutil.copytree(instance.folder / "policies", changed := tmp_path / "policies")
    for name in left_out(instance):
        (changed / f"{name}.csv").write_text("# end\n")
    add_line(changed / "admin.csv", "p, support, stats.view, always, allow")
    done = instance.run("policy", "diff", str(instance.folder), str(changed))
    assert "stats.view" in done.stdout and naming(instance).findall(done.stdout) == []


def test_rows_to_try_are_of_what_is_served(instance):
    done = instance.run("demo", "--articles", "3")
    if "articles" in left_out(instance):
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == "Error: No articles are served: the collection articles is left out (setting without).\n"
    else:
        assert done.returncode == 0 and "Added 3 articles" in done.stdout
    with instance.answering() as service, service.app.extensions["gatepost"].database.connected():
        assert [name for name in left_out(instance) if discover().collections[name].model.select().exists()] == []


def test_the_service_and_its_documents_do_not_name_it(instance, caplog):
    with instance.answering() as service:
        assert [record.message for record in caplog.records if record.levelno >= logging.WARNING] == []
        token = service.log_in()
        page = service.exchange("GET", "/docs")[1].decode()
        for name in ("openapi.json", "openapi-3.0.json"):
            status, described = service.call("GET", f"/api/{name}")
            assert (status, naming(instance).findall(json.dumps(described))) == (200, [])
            of_gone = {schema for collection in left_out(instance) for schema in (
                type(discover().collections[collection].body_schema).__name__.removesuffix("Schema"),)}
            assert of_gone.isdisjoint(described["components"]["schemas"])
            assert set(left_out(instance)).isdisjoint(tag["name"] for tag in described["tags"])
        first = re.search(r'data-ask="(/api/[^"?]+\?[^"]+)"', page)
        assert first is not None
        assert re.findall(rf"/api/({'|'.join(left_out(instance))})\\b", page) == []
        assert service.call("GET", first[1], token=token)[0] == 200


def test_the_pages_of_the_console_do_not_list_it(instance):
    with instance.answering() as service:
        visitor = visit(service.app, "admin")
        for path in ("/console/rules", "/console/data", "/console/people", "/console/people/who?permission=user.update",
                     "/console/why", "/console/try", "/console/running", "/console/audit"):
            answer = visitor.get(path)
            assert answer.status_code == 200, path
            without_files = re.sub(r"\w+\.csv", "", answer.text)
            assert (path, naming(instance).findall(without_files)) == (path, [])
