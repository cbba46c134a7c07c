"""Shipped features that an instance leaves out (setting `without`): they are absent, and the rest works."""

from __future__ import annotations

import json
import logging
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from flask import Flask

from blueprints.policy_changes.affected_rows import Scope, compare_rows
from gatepost.assembly import load_registry
from gatepost.collections.plugins.discovery import discover
from gatepost.collections.plugins.leaving_out import OPTIONAL, REQUIRED
from gatepost.collections.plugins.shipped import features
from gatepost.collections.registry import SHARING
from gatepost.commands import policy_files
from models.tables.share import Share, of_object
from policies import SHIPPED, PolicyError, load
from policies.lint.warnings import warnings
from policies.loading.loader import from_files
from settings import DECLARED, SettingError
from tests.apps import Given, close, log_in, make_app, new_instance
from tests.databases import new_database
from tests.http.console.pages import visit
from tests.http.console.test_every_control import walked
from tests.running import PASSWORD, ROOT, Instance

REMOVABLE = [name for name in features() if name not in REQUIRED]
EVERYTHING = (*REMOVABLE, "contact", "pages")  # the six collections and sessions stay
COLLECTIONS = ["articles", "categories", "comments", "orders", "products", "users"]


def with_dependents(name: str) -> tuple[str, ...]:
    """Returns a feature and all features that need it."""
    found = {name}
    while more := {one.name for one in features().values() if found.intersection(one.needs)} - found:
        found |= more
    return tuple(sorted(found))


CASES = [*dict.fromkeys(map(with_dependents, REMOVABLE)), EVERYTHING]
OFTEN = (EVERYTHING,)  # the others are slow


def permissions_without(case: tuple[str, ...]) -> set[str]:
    """Returns the permissions that no endpoint needs any more."""
    return set(discover().vocabulary.by_permission) - set(discover(without=case).vocabulary.by_permission)


def test_a_feature_is_called_like_its_folder_and_names_what_there_is():
    assert [name for name in features() if not (ROOT / "blueprints" / name / "__init__.py").is_file()] == []
    every = discover().vocabulary.by_permission
    for feature in features().values():
        assert set(feature.permissions) <= set(every), feature.name
        assert set(feature.settings) <= set(DECLARED), feature.name
        assert set(feature.needs) | set(feature.extends) <= set(features()), feature.name


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(case)[:40])
def test_what_no_endpoint_asks_for_any_more_is_declared(case):
    vocabulary = discover(without=case).vocabulary
    lost = {name for name in permissions_without(case) if name.partition(".")[0] not in ("contact", "page")}
    declared = {name for one in case if one in features() for name in features()[one].permissions}
    others = {name for feature in features().values() if feature.name not in case for name in feature.permissions}
    asked = {name for _, _, endpoints in discover(without=case).endpoints() for one in endpoints
             if (name := one.permission) is not None}
    assert {name for name in lost if not (name.endswith(".share") and SHARING in case)} == declared - others - asked
    assert {name for name in lost if "(setting without)" not in vocabulary.gone.get(name, "")} == set()


@pytest.mark.parametrize("case", [
    pytest.param(case, id="all" if case == EVERYTHING else "-".join(case)[:40],
                 marks=() if case in OFTEN else pytest.mark.slow) for case in CASES])
def test_the_shipped_rules_about_it_are_no_findings(case):
    policy = load(SHIPPED, discover(without=case).vocabulary)
    lost = permissions_without(case)
    whole = load(SHIPPED, discover().vocabulary)
    assert warnings(policy) == warnings(whole)
    assert {rule.act for rule in policy.left_out} == {
        rule.act for rule in (*whole.rules, *whole.scopes) if lost and whole.patterns.covered(rule.act) <= lost}


@pytest.fixture(scope="module")
def app(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flask]:
    """An app without the features of its parameter."""
    url = new_database("sqlite", request)
    folder = new_instance(tmp_path_factory.mktemp("features") / "instance", url, "default")
    made = make_app(folder, url, without=request.param)
    yield made
    close(made)


each_app = pytest.mark.parametrize("app", [
    pytest.param(case, id="all" if case == EVERYTHING else "-".join(case),
                 marks=() if case in OFTEN else pytest.mark.slow) for case in CASES], indirect=True, scope="module")


@each_app
def test_it_serves_what_is_left_and_nothing_else(app: Flask, caplog):
    services = app.extensions["gatepost"]
    absent = [name for name in services.settings.without if name in features()]
    handlers = {rule.rule: app.view_functions[rule.endpoint].endpoint.handler for rule in app.url_map.iter_rules()}
    assert [path for path, handler in handlers.items()
            if getattr(handler, "__module__", "").startswith(tuple(f"blueprints.{name}." for name in absent))] == []
    assert not {one.name for one in services.registry.features}.intersection(absent)
    with services.database.connected():
        caller = log_in(app, Given(app, "default").user("admin"))
    wrong = {}
    for rule in app.url_map.iter_rules():
        if "GET" in rule.methods and "<" not in rule.rule:
            answer = caller.get(rule.rule)
            if answer.status_code >= 500:
                wrong[rule.rule] = answer.text
    assert wrong == {}
    assert {name: caller.get(f"/api/{name}").status_code for name in COLLECTIONS} == dict.fromkeys(COLLECTIONS, 200)
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


@each_app
def test_rows_are_created_changed_and_deleted(app: Flask):
    with app.extensions["gatepost"].database.connected():
        caller = log_in(app, Given(app, "default").user("admin"))
    made = caller.post("/api/articles", json={"title": "Still here", "slug": "still-here", "body": "It goes on."})
    assert made.status_code == 201, made.text
    path = f"/api/articles/{made.json['id']}"
    assert caller.patch(path, json={"title": "Changed"}).status_code == 200
    assert caller.get("/api/articles?q=changed").json["items"][0]["title"] == "Changed"
    exported = caller.get("/api/articles/export", headers={"Prefer": "respond-async"})
    jobs = "jobs" in app.extensions["gatepost"].registry.collections
    assert exported.status_code == (202 if jobs else 200), "without jobs nobody could ask what became of it"
    assert caller.delete(path).status_code == 204


@each_app
def test_every_link_of_the_console_leads_to_a_page(app: Flask):
    with app.extensions["gatepost"].database.connected():
        given = Given(app, "default")
        given.share("article", given.article("draft"), "role:support", "update")
        given.job("failed")
    visitor = visit(app, "admin") if "console" not in app.extensions["gatepost"].registry.absent else None
    if visitor is None:
        assert app.test_client().get("/console/login").status_code == 404
    else:
        found = walked(app, visitor, most=2)
        assert "\n".join(found.refused) == "" and len(found.pages) > 20


@pytest.fixture(autouse=True)
def fresh_registry() -> Iterator[None]:
    """Clears the registry, because commands cache the installed plugins for the life of their process."""
    policy_files.registry.cache_clear()
    yield
    policy_files.registry.cache_clear()


@pytest.fixture(scope="module")
def instance(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Instance:
    made = Instance(tmp_path_factory.mktemp("commands") / "instance", {"GATEPOST_WITHOUT": " ".join(request.param)})
    done = made.run("init", "--admin-email", "admin@example.org", "--admin-password-file", "-", input=PASSWORD)
    assert done.returncode == 0, done.stderr
    return made


each_instance = pytest.mark.parametrize("instance", [
    pytest.param(case, id="all" if case == EVERYTHING else "-".join(case),
                 marks=() if case in OFTEN else pytest.mark.slow) for case in CASES], indirect=True, scope="module")
COMMANDS = {
    "policy": ["policy check --strict", "policy test", "policy matrix", "policy matrix --json",
               "policy explain user.update --as admin"],
    "policy_changes": ["policy diff shipped", "policy diff shipped --rows", "policy log"],
    "access_review": ["policy who user.update", "policy unused --json"],
    "sessions": ["user list", "doctor", "settings", "openapi", "migrate --check", "keys list", "--help"],
    "privacy": ["user export admin@example.org {beside}/person.ndjson", "user erasures {beside}/erasures.ndjson"],
    "transfer": ["export articles {beside}/articles.ndjson"], "nodes": ["doctor --nodes"],
    "backups": ["backup"], "audit": ["audit verify"], "jobs": ["jobs list"], "demo": ["demo --articles 2"]}


@each_instance
def test_each_command_answers_or_says_that_its_feature_is_left_out(instance: Instance, tmp_path):
    without = instance.environment["GATEPOST_WITHOUT"].split()
    lost = permissions_without(tuple(without))
    named = re.compile("|".join(rf"(?<![\w.]){re.escape(name)}(?![\w.])" for name in lost) or r"(?!)")
    for feature, lines in COMMANDS.items():
        for line in lines:
            done = instance.run(*line.format(beside=tmp_path).split())
            if feature in without:
                assert done.returncode in (1, 2), line
                assert "is left out (setting without)" in done.stderr, done.stderr
            else:
                expected = (0, 1) if line.startswith(("policy unused", "demo")) else (0,)
                assert done.returncode in expected, f"{line}: {done.stdout}{done.stderr}"
                assert line == "openapi" or named.findall(done.stdout) == [], line


@each_instance
def test_its_commands_and_settings_are_not_listed(instance: Instance):
    without = [name for name in instance.environment["GATEPOST_WITHOUT"].split() if name in features()]
    listed = re.findall(r"^  ([a-z-]+) ", instance.run("--help").stdout, re.MULTILINE)
    assert not {words for name in without for words in features()[name].commands}.intersection(listed)
    shown = re.findall(r"^([a-z_]+) = ", instance.run("settings").stdout, re.MULTILINE)
    absent = {setting for name in without for setting in features()[name].settings}
    assert set(shown) == set(DECLARED) - absent
    assert f"Left out, with their settings: {', '.join(name for name in features() if name in without)}." in \
        instance.run("settings").stdout


STARTED = """
import json, sys
from app import create_app
app = create_app()
client = app.test_client()
answers = [client.get(path).status_code for path in ("/api/articles", "/api/products", "/api/nothing")]
app.extensions["gatepost"].stop()
print(json.dumps([answers, sorted(name for name in sys.modules if name.startswith("blueprints."))]))
"""


def test_its_modules_are_not_imported(tmp_path):
    made: Any = Instance(tmp_path / "instance", {"GATEPOST_WITHOUT": " ".join(EVERYTHING)}).made()
    done = subprocess.run([sys.executable, "-c", STARTED], env=made.environ(), cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    answers, imported = json.loads(done.stdout.splitlines()[-1])
    assert answers == [200, 200, 404]
    assert [name for name in imported if name.split(".")[1] in REMOVABLE and name.count(".") > 1] == []


@pytest.fixture(params=["sqlite", "postgres"])
def shared(request: pytest.FixtureRequest, tmp_path) -> Iterator[Any]:
    """`start(*without)` starts apps on one database, with a draft of Ann that is shared with Bob."""
    url, apps = new_database(request.param, request), []
    folder = new_instance(tmp_path / "instance", url, "default")

    def start(*without: str) -> Flask:
        apps.append(make_app(folder, url, without=without))
        return apps[-1]

    first = start()
    with first.extensions["gatepost"].database.connected():
        given = Given(first, "default")
        ann, bob, admin = given.user(), given.user(), given.user("admin")
        draft = given.article("draft", owner_id=ann.id)
        given.share("article", draft, f"user:{bob.id}", "write")
    yield start, first, draft, bob, admin
    for app in apps:
        close(app)


def test_stored_shares_count_for_nothing_without_sharing(shared):
    start, first, draft, bob, admin = shared
    without = start("sharing")
    path = f"/api/articles/{draft.id}"
    asked = {"as": bob.email, "permission": "article.update", "id": draft.id}
    for app, answers in ((first, True), (without, False)):
        caller, reader = log_in(app, bob), log_in(app, admin)
        assert caller.get(path).status_code == (200 if answers else 404)
        assert caller.patch(path, json={"title": "Bob was here"}).status_code == (200 if answers else 404)
        listed = caller.get("/api/articles?status=draft").json["items"]
        assert [one["id"] for one in listed] == ([draft.id] if answers else [])
        explained = reader.get("/api/admin/policy/explain", query_string=asked).json
        assert explained["verdict"] == ("allowed" if answers else "refused"), explained
        who = reader.get("/api/admin/policy/who", query_string={"permission": "article.update", "id": draft.id}).json
        assert (bob.id in str(who["items"])) is answers
        question = {"subject": {"type": "user", "id": bob.id}, "action": {"name": "update"},
                    "resource": {"type": "article", "id": draft.id}}
        assert reader.post("/access/v1/evaluation", json=question).json["decision"] is answers
        assert log_in(app, admin).get(f"{path}/shares").status_code == (200 if answers else 404)
    assert log_in(without, admin).get("/api/articles?shared=only").status_code == 400


def test_what_a_change_does_to_stored_rows_counts_no_share(shared):
    start, first, *_ = shared
    without = start("sharing")
    for app, answers in ((first, True), (without, False)):
        services = app.extensions["gatepost"]
        files = services.policy.current.files
        fewer = from_files({name: b"\n".join(line for line in text.splitlines() if not re.match(rb"p,.* shared", line))
                            for name, text in files.items()}, services.registry.vocabulary)
        with services.database.connected():
            found = compare_rows(services.database, services.registry.collections.values(), services.policy.current,
                                 fewer, Scope(services.guest_tenant), datetime.now(UTC))
        assert bool(found) is answers, found


def test_a_deleted_user_takes_the_shares_of_nobody_else_along(shared):
    start, first, draft, bob, admin = shared
    with first.extensions["gatepost"].database.connected():
        given = Given(first, "default")
        cy, dan = given.user(), given.user()
        for user, right, granter in ((cy, "manage", bob), (dan, "read", cy)):
            given.row(Share(resource="article", object_id=draft.id, grantee=f"user:{user.id}", right=right,
                            granted_by=granter.id))
    without = start("sharing")
    assert log_in(without, admin).delete(f"/api/users/{bob.id}").status_code == 204
    with first.extensions["gatepost"].database.connected():
        left = {one.grantee for one in of_object(draft.tenant_id, "article", draft.id)}
    assert left == {f"user:{dan.id}"}, "what was shared with Bob and what he granted is gone, and nothing else"


def shipped(**more: str) -> dict[str, bytes]:
    """Returns the shipped files, some with an additional line."""
    files = {file.name: file.read_bytes() for file in SHIPPED.iterdir() if file.suffix in (".csv", ".conf")}
    return files | {f"{name}.csv": with_line(files[f"{name}.csv"], line) for name, line in more.items()}


def with_line(content: bytes, line: str) -> bytes:
    """Returns a policy file with an additional line before its end."""
    return content.rstrip().removesuffix(b"# end") + f"{line}\n# end\n".encode()


def test_a_line_that_denies_by_shares_is_refused_without_sharing():
    files = shipped(articles="p, editor, article.update, shared, deny")
    files["invariants.csv"] = b"# end\n"
    assert from_files(files, discover().vocabulary)
    with pytest.raises(PolicyError, match="sharing is left out .setting without., so this rule would deny nothing"):
        from_files(files, discover(without=("sharing",)).vocabulary)


@pytest.mark.parametrize(("case", "files"), [
    (("stats",), shipped(scopes="p2, read:stats, stats.view")),
    (("authzen", "policy_changes"), shipped(invariants="never, support, policy.*, except policy.view")),
    (("authzen", "policy_changes"), shipped(admin="p, owner, policy.*, always, allow")),
    (("comments", "sharing"), shipped()), (("jobs",), shipped()), (("audit", "sharing"), shipped()),
], ids=["a scope", "exceptions of an invariant", "a pattern", "columns of comments", "jobs", "audit"])
def test_rules_that_are_also_about_it_have_no_finding_that_they_had_not_before(case, files):
    whole = {str(one) for one in warnings(from_files(files, discover().vocabulary))}
    assert {str(one) for one in warnings(from_files(files, discover(without=case).vocabulary))} <= whole


@pytest.mark.parametrize(("case", "column"), [(("jobs",), "state"), (("audit",), "result")])
def test_a_condition_may_ask_for_columns_of_rows_that_are_left_out(case, column):
    files = shipped()
    branch = f"(p.when == 'of_another_kind' && r.obj.{column} == 'failed')"
    files["model.conf"] = files["model.conf"].replace(b"p.when == 'always'", f"p.when == 'always' || {branch}".encode())
    name, line = {"jobs": ("jobs", "p, support, job.view, of_another_kind, allow"),
                  "audit": ("admin", "p, owner, audit.view, of_another_kind, allow")}[case[0]]
    files[f"{name}.csv"] = with_line(files[f"{name}.csv"], line)
    for vocabulary in (discover().vocabulary, discover(without=case).vocabulary):
        found = from_files(files, vocabulary)
        assert [one for one in warnings(found) if column in str(one)] == []


def test_rules_in_the_database_can_be_changed():
    with pytest.raises(SettingError, match="policy_changes cannot be left out, because the rules are in the database"):
        load_registry({"policy_source": "database", "without": ("policy_changes",)}, ())


def test_a_collection_and_a_feature_have_no_name_in_common():
    assert set(OPTIONAL).isdisjoint(features())
