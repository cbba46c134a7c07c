"""Settings that a running service reloads: which ones change, which are kept, and no part keeps an old value."""

from __future__ import annotations

import ast
import logging
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from app import create_app
from gatepost.http.request.call import Services
from gatepost.testing import log_in
from settings import DECLARED, LiveSettings, SettingError, Settings
from tests.apps import Given, close, new_instance
from tests.databases import new_database
from tests.running import ROOT, wait_until

LIVE = {name for name, declared in DECLARED.items() if declared.metadata["live"]}


@pytest.fixture
def base(tmp_path: Path) -> Settings:
    return Settings.load(tmp_path, environ={})


def following(found: Settings, *followers: Callable[[Settings], object]) -> LiveSettings:
    """Returns live settings whose sources give `found` from now on."""
    live = LiveSettings(Settings.load(found.instance, environ={}), lambda: found)
    live.followers.extend(followers)
    return live


def test_live_values_are_taken_over_and_others_stay(base, caplog):
    seen: list[Settings] = []
    live = following(replace(base, page_size=7, threads=3), seen.append)
    before = live.current
    live.reload()
    assert (live.current.page_size, live.current.threads) == (7, 8)
    assert seen == [live.current] and before.page_size == 20, "the old object is as it was"
    assert caplog.messages == ["settings are in force as settings.toml has them now: page_size",
                               "settings have changed that need a restart: threads"]


def test_what_needs_a_restart_is_named_every_time(base, caplog):
    live = following(replace(base, threads=3))
    live.reload()
    live.reload()
    assert caplog.messages == ["settings have changed that need a restart: threads"] * 2


def test_sources_that_are_wrong_change_nothing_until_they_are_mended(base, caplog):
    said: list[Settings | Exception] = [SettingError("port: no"), replace(base, page_size=7)]

    def read() -> Settings:
        found = said.pop(0)
        if isinstance(found, Exception):
            raise found
        return found

    seen: list[Settings] = []
    live = LiveSettings(base, read)
    live.followers.append(seen.append)
    live.reload()
    assert (live.current, live.trouble, seen) == (base, "port: no", [])
    live.reload()
    assert (live.current.page_size, live.trouble, len(seen)) == (7, None, 1)


@pytest.mark.parametrize(("make", "said"), [
    (lambda file: os.mkfifo(file), "not a regular file"),
    (lambda file: file.symlink_to("/dev/zero"), "not a regular file"),
    (lambda file: file.mkdir(), "directory"),
    (lambda file: file.symlink_to(file.name), "symbolic links"),
    (lambda file: file.write_bytes(b"#" * (1 << 20) + b"\n"), "more than 1 MiB"),
    (lambda file: file.write_text("a = " + "[" * 100_000), "nested too deep"),
], ids=["a FIFO", "a device", "a folder", "a loop", "a large file", "a deep one"])
def test_a_file_that_is_none_of_settings_holds_nobody_up_and_changes_nothing(tmp_path, caplog, make, said):
    file = tmp_path / "settings.toml"
    file.write_text("page_size = 7")
    live = LiveSettings(Settings.load(tmp_path, environ={}), lambda: Settings.load(tmp_path, environ={}))
    live.start()
    try:
        file.unlink()
        make(file)
        live.look_soon()
        wait_until(lambda: live.trouble is not None)
        assert said in live.trouble and live.current.page_size == 7
        file.rmdir() if file.is_dir() and not file.is_symlink() else file.unlink()
        file.write_text("page_size = 9")
        live.look_soon()
        wait_until(lambda: live.current.page_size == 9)
        assert live.trouble is None
    finally:
        live.stop()


def test_a_follower_that_fails_keeps_no_other_from_the_new_values(base, caplog):
    seen: list[Settings] = []

    def fails(_: Settings) -> None:
        raise RuntimeError("full")

    live = following(replace(base, page_size=7), fails, seen.append)
    live.reload()
    assert seen == [live.current] and live.current.page_size == 7
    assert "restart it" in caplog.messages[0]


def test_no_value_is_logged(base, caplog):
    live = following(replace(base, backup_command="copy --password s3cret", metrics_token="s3cret" * 4,
                             database_url="postgresql://u:s3cret@h/d"))
    live.reload()
    assert "backup_command" in caplog.text and "metrics_token" in caplog.text and "s3cret" not in caplog.text


def test_a_process_that_is_forked_before_another_has_read_reads_by_itself(base):
    """Forks like a worker that granian starts just after a SIGHUP of the first process."""
    live = following(replace(base, page_size=7))
    live.look_soon()  # no thread has begun
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        live.followers.append(lambda settings: os.write(write, b"%d\n" % settings.page_size))
        live.start()
        wait_until(lambda: live.current.page_size == 7)
        live.stop()
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as told:
        assert told.read().split()[-1] == b"7"
    assert os.waitpid(child, 0)[1] == 0
    assert live.current.page_size == 20


# Code that uses a live setting reads it each time.

FOLLOWED = {"log_level", "owner_rows"}  # kept, and renewed by a follower
KEPT = [  # a module that creates lasting objects, and its functions that keep a value only during a call
    ("app.py", set()), ("gatepost/assembly.py", {"_follow"}), ("gatepost/commands/server.py", {"serve"})]


@pytest.mark.parametrize(("file", "free"), KEPT)
def test_nothing_that_lasts_is_made_of_a_live_setting(file, free):
    tree = ast.parse((ROOT / file).read_text("utf-8"))
    read = {node.attr for function in ast.walk(tree) if isinstance(function, ast.FunctionDef)
            and function.name not in free for node in ast.walk(function)
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "settings"}
    assert read & LIVE <= FOLLOWED


@pytest.fixture(scope="module")
def app(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flask]:
    url = new_database("sqlite", request)
    folder = new_instance(tmp_path_factory.mktemp("live") / "instance", url, "default")
    made = create_app({"instance": folder, "database_url": url, "synchronous": "normal", "run_jobs": "off",
                       "trusted_proxies": 1})
    yield made
    close(made)


@pytest.fixture
def says(app: Flask) -> Iterator[Callable[[str], None]]:
    """Writes settings.toml and reloads. Empties it at the end."""
    services: Services = app.extensions["gatepost"]
    file = services.settings.instance / "settings.toml"

    def says(toml: str) -> None:
        file.write_text(toml, "utf-8")
        services.live.reload()
        assert services.live.trouble is None
        assert services.settings is services.live.current

    says("")
    yield says
    says("")


SECURE = {"X-Forwarded-Proto": "https"}
ORIGIN = {"Origin": "https://app.example.org"}


def test_cors(app, says):
    client = app.test_client()
    assert "Access-Control-Allow-Origin" not in client.get("/api/articles", headers=ORIGIN).headers
    says('cors_origins = "https://app.example.org"')
    assert client.get("/api/articles", headers=ORIGIN).headers["Access-Control-Allow-Origin"] == ORIGIN["Origin"]
    says('cors_origins = "https://other.example.org"')
    assert "Access-Control-Allow-Origin" not in client.get("/api/articles", headers=ORIGIN).headers


def test_headers_of_ones_own_for_cors(app, says):
    client, preflight = app.test_client(), ORIGIN | {"Access-Control-Request-Method": "GET"}
    own = '\ncors_headers = "X-Shop-Session X-Edge"'
    for toml, there in (("", False), (own, True), ("", False)):
        says('cors_origins = "https://app.example.org"' + toml)
        sent = client.options("/api/articles", headers=preflight).headers["Access-Control-Allow-Headers"].split(", ")
        read = client.get("/api/articles", headers=ORIGIN).headers["Access-Control-Expose-Headers"].split(", ")
        assert ({"X-Shop-Session", "X-Edge"} <= {*sent} & {*read}) is there
        assert "Authorization" in sent and "ETag" in read
    says("cors_headers = 'X-Edge'")
    assert not [name for name, _ in client.get("/api/articles", headers=ORIGIN).headers if "Access-Control" in name]


@pytest.mark.parametrize("text", ["X-Edge,X-Other", "X-Edge\nSet-Cookie", "X Edge:", "ä"])
def test_what_is_no_name_of_a_header_is_refused(tmp_path, text):
    with pytest.raises(SettingError, match="cors_headers"):
        Settings.load(tmp_path, {"cors_headers": text}, environ={})


def test_hsts(app, says):
    client = app.test_client()
    assert "Strict-Transport-Security" not in client.get("/api/articles", headers=SECURE).headers
    says("hsts_seconds = 60")
    assert client.get("/api/articles", headers=SECURE).headers["Strict-Transport-Security"] == "max-age=60"


def test_the_documentation(app, says):
    client = app.test_client()
    assert client.get("/docs").status_code == client.get("/api/openapi.json").status_code == 200
    says("docs = false")
    assert client.get("/docs").status_code == client.get("/api/openapi.json").status_code == 404


def test_server_timing(app, says):
    assert "Server-Timing" not in app.test_client().get("/api/articles").headers
    says("server_timing = true")
    assert "Server-Timing" in app.test_client().get("/api/articles").headers


def test_limits_and_whether_they_are_counted(app, says):
    client = app.test_client()
    assert client.get("/api/articles").headers["RateLimit-Policy"] == '"address";q=6000;w=60'
    says("address_units = 5000")
    assert client.get("/api/articles").headers["RateLimit-Policy"] == '"address";q=5000;w=60'
    says("rate_limits = false")
    assert "RateLimit-Policy" not in client.get("/api/articles").headers


def test_what_was_counted_of_a_minute_stays(app, says):
    client, address = app.test_client(), {"X-Forwarded-For": "203.0.113.77"}
    for _ in range(4):
        assert client.get("/api/articles", headers=address).status_code == 200
    says("address_units = 3")
    assert client.get("/api/articles", headers=address).status_code == 429
    says("")
    assert client.get("/api/articles", headers=address).status_code == 200


@pytest.fixture
def caller(app: Flask) -> Any:
    return log_in(app, "admin")


def test_page_sizes(app, says, caller):
    given = Given(app, "default")
    for _ in range(5):
        given.article()
    says("page_size = 3\n[page_sizes]\nadmin = 4")
    assert len(app.test_client().get("/api/articles").get_json()["items"]) == 3
    assert caller.get("/api/articles?limit=5").status_code == 400
    says("")
    assert caller.get("/api/articles?limit=5").status_code == 200


def test_what_a_write_needs_and_what_a_user_may_own(app, says):
    author = log_in(app, "user")

    def create(number: int) -> Any:
        return author.post("/api/articles", {"title": "T", "slug": f"live-{number}", "body": "x"})

    made = create(1)
    assert made.status_code == 201
    says("require_if_match = true\nowner_rows = 1")
    path = f"/api/articles/{made.get_json()['id']}"
    assert author.patch(path, {"title": "U"}).status_code == 428
    # The count of the previous minute is used first, so the first of these may still fit.
    refused = [create(number) for number in (2, 3)][-1]
    assert (refused.status_code, refused.get_json()["code"]) == (409, "conflict")
    says("")
    assert author.patch(path, {"title": "U"}).status_code == 200
    assert create(4).status_code == 201


def test_whether_refusals_are_explained(app, says):
    user = log_in(app, "user")
    assert "meta" not in user.get("/api/audit").get_json()
    says('explain_refusals = "self"')
    assert user.get("/api/audit").get_json()["meta"]["reason"]


def test_how_long_a_token_may_be_valid(app, says):
    user = log_in(app, "user")
    asked = {"name": "t", "scopes": ["read:articles"], "expires_in": 5 * 86400}
    says("token_max_days = 3")
    assert user.post("/api/tokens", asked).status_code == 400
    says("")
    assert user.post("/api/tokens", asked).status_code in (201, 403)


def test_the_schedule_of_backups(app, says, monkeypatch):
    from blueprints.backups import schedule

    services: Services = app.extensions["gatepost"]
    asked: list[int] = []
    monkeypatch.setattr(schedule.backups, "is_due", lambda hours: asked.append(hours) or False)
    chore = next(each for each in services.background._tasks if each.name == "making backups")
    chore.run()
    says("backup_hours = 5")
    chore.run()
    assert asked == [5]


def test_how_long_rows_are_kept(app, says, monkeypatch):
    from gatepost import assembly

    kept: list[int] = []
    monkeypatch.setattr(assembly, "end_retention", lambda settings, database: kept.append(settings.audit_days))
    services: Services = app.extensions["gatepost"]
    chore = next(each for each in services.background._tasks if each.name.startswith("deleting audit events"))
    chore.run()
    says("audit_days = 9")
    chore.run()
    assert kept == [365, 9]


def test_what_create_app_was_given_wins(app, says, caplog):
    with caplog.at_level(logging.WARNING):
        says("trusted_proxies = 3\npage_size = 5")
    assert "page_size" in caplog.text and "trusted_proxies" not in caplog.text
