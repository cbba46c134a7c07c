"""The output of commands: no text of the database or of a file can control a terminal or forge a line."""

from __future__ import annotations

import json
import logging
import os
import pty
import subprocess
import sys
import unicodedata
from importlib.metadata import EntryPoint
from urllib.parse import quote

import click
import pytest

from gatepost.commands import printing
from gatepost.commands.printing import json_visible, lines_visible, visible
from gatepost.http.operations.logs import JsonFormatter
from models.base import Rows, new_id, now
from models.engine.connect import open_database
from models.tables.article import Article
from models.tables.audit import Audit, append
from models.tables.job import Job
from models.tables.service_token import ServiceToken
from models.tables.tenant import Tenant
from models.tables.user import User
from policies import SHIPPED
from tests.apps import close
from tests.commands.test_help import below
from tests.running import GATEPOST, ROOT, SERVICE, Instance, cli

# A window title, a colour by C1, a carriage return, a delete, a reversed line, an invisible character, and a forged
# line by each kind of line break.
HOSTILE = ("\x1b]0;owned\x07\x9b31m\r\x7f\x00\u202e\u2066\u200b\u200f\ufeff\u2060\u3164\U000e0041"
           "\nforged\u2028forged\x85forged\x0bforged").replace("\x00", "")  # Postgres stores no NUL
EMAIL = f"eve{HOSTILE}@example.org"
JOB = "01930000-0000-7000-8000-0000000000f1"
NOT_SHOWN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def unseen(text: str) -> list[str]:
    return [one for one in text if one != "\n" and (unicodedata.category(one) in NOT_SHOWN or one in "\u3164\u2800")]


@pytest.fixture(scope="module")
def hostile(instance: Instance, tmp_path_factory: pytest.TempPathFactory) -> Instance:
    """An instance in which an attacker chose every text."""
    url = instance.environment.get("GATEPOST_DATABASE_URL", f"sqlite:///{instance.folder / 'gatepost.db'}")
    database = open_database(url, pool_size=1)

    def work() -> None:
        tenant = Tenant.by_name("default")
        assert tenant is not None
        Tenant.add(f"acme{HOSTILE}")
        user = Rows(User, tenant.id).insert(User(
            name=HOSTILE, email=EMAIL, role=f"user{HOSTILE}", department=HOSTILE, groups=[HOSTILE], password_hash="-"))
        Rows(ServiceToken, tenant.id).insert(ServiceToken(
            name=HOSTILE, scopes=[HOSTILE], token_hash=new_id(), owner_id=user.id))
        Rows(Article, tenant.id).insert(Article(title=HOSTILE, slug="hostile", body=HOSTILE, owner_id=user.id))
        append([Audit(tenant_id=tenant.id, principal=HOSTILE, role=HOSTILE, action=HOSTILE, resource=HOSTILE,
                      address=HOSTILE, result=HOSTILE, reason=HOSTILE, request_id=HOSTILE,
                      facts=json.dumps({"email": HOSTILE}))])
        Rows(Job, tenant.id).insert(Job(
            id=JOB, kind=HOSTILE, state="failed", run_at=now(), payload=json.dumps({"x": HOSTILE}), lease=HOSTILE,
            steps=[HOSTILE], result=json.dumps({"code": HOSTILE}), last_error=HOSTILE))

    database.transact(work)
    database.close_all()
    (instance.folder / "policies" / "tests.yaml").write_text(_cases(), encoding="utf-8")
    return instance


def _cases(permission: str = "audit.*") -> str:
    name = json.dumps(f"case {HOSTILE}")
    return (SHIPPED / "tests.yaml").read_text(encoding="utf-8") + (
        f"  - name: {name}\n    who: [olga]\n    what: audit\n    may: {{olga: [{permission}]}}\n")


LINES = f'{json.dumps({f"field{HOSTILE}": 1, "title": HOSTILE})}\n{HOSTILE}\n'
NONE = "01930000-0000-7000-8000-000000000000"

WALK = [
    ("init",), ("migrate",), ("migrate", "--check"), ("settings",), ("openapi",), ("doctor",), ("doctor", "--nodes"),
    ("demo", "--articles", "1"), ("worker", HOSTILE),
    ("user", "list"), ("user", "add", EMAIL), ("user", "password", EMAIL), ("user", "disable", EMAIL),
    ("user", "enable", EMAIL), ("user", "enable", HOSTILE), ("user", "list", "--tenant", HOSTILE),
    ("user", "add", "x@example.org", "--role", HOSTILE),
    ("user", "link", EMAIL), ("user", "link", HOSTILE), ("user", "remove-second-factor", EMAIL),
    ("user", "remove-second-factor", HOSTILE), ("user", "remove-passkeys", EMAIL),
    ("user", "remove-passkeys", HOSTILE), ("user", "set", HOSTILE, "--name", HOSTILE),
    ("user", "set", EMAIL, "--role", HOSTILE), ("user", "set", EMAIL, "--department", HOSTILE, "--group", HOSTILE),
    ("user", "set", EMAIL, "--group", "news"),
    ("user", "export", HOSTILE, "x"), ("user", "export", EMAIL, f"/{HOSTILE}/x"), ("user", "erase", HOSTILE),
    ("user", "erase", EMAIL, "--to", HOSTILE), ("user", "erasures", f"/{HOSTILE}/x"),
    ("tenant", "list"), ("tenant", "add", HOSTILE),
    ("token", "add", EMAIL, "--scope", "read:articles", "--name", HOSTILE), ("token", "list", EMAIL),
    ("token", "add", EMAIL, "--scope", HOSTILE), ("token", "revoke", HOSTILE),
    ("token", "release"), ("token", "release", HOSTILE), ("backup",), ("compact", "--yes"),
    ("mail", "test", HOSTILE),
    ("restore", __file__), ("restore", "--verify", __file__), ("move", "--to", HOSTILE),
    ("move", "--to", f"postgresql://127.0.0.1:1/{quote(HOSTILE)}", "--yes"),
    ("audit", "tail"), ("audit", "tail", "--tenant", HOSTILE), ("audit", "export"), ("audit", "export", "--heads"),
    ("audit", "export", "--since", HOSTILE), ("audit", "verify"),
    ("keys", "list"), ("keys", "rotate"),
    ("jobs", "list"), ("jobs", "show", JOB), ("jobs", "retry", JOB), ("jobs", "cancel", JOB), ("jobs", "show", HOSTILE),
    ("plugin", "list"), ("plugin", "new", HOSTILE), ("plugin", "new", "bookmarks", f"/{HOSTILE}"),
    ("plugin", "new", "bookmarks", "--singular", HOSTILE),
    ("policy", "check"), ("policy", "check", "--json"), ("policy", "matrix"), ("policy", "matrix", "--json"),
    ("policy", "matrix", "--role", HOSTILE), ("policy", "test"), ("policy", "test", "--json"), ("policy", "export"),
    ("policy", "test", "--junit", f"{HOSTILE}/x"), ("policy", "test", HOSTILE, "--json"),
    ("policy", "diff", "shipped"), ("policy", "diff", HOSTILE), ("policy", "adopt", HOSTILE),
    ("policy", "who", "article.update"), ("policy", "who", HOSTILE), ("policy", "who", "article.view", "--json"),
    ("policy", "unused"), ("policy", "unused", "--json"), ("policy", "review", "--csv", f"/{HOSTILE}"),
    ("policy", "log"), ("policy", "log", "--json"), ("policy", "show", HOSTILE), ("policy", "revert", HOSTILE),
    ("policy", "apply", HOSTILE), ("policy", "accept", "--note", HOSTILE),
    ("policy", "explain", "--as", EMAIL, "article.view"),
    ("policy", "explain", "--as", EMAIL, "article.view", "--json"),
    ("policy", "explain", "--as", "user", HOSTILE), ("policy", "explain", "--as", HOSTILE, "article.view", NONE),
    ("import", "articles", "-", "--format", "ndjson"), ("import", HOSTILE, "-"), ("export", HOSTILE, "-"),
    ("export", "articles", "--as", HOSTILE), ("serve", "--host", HOSTILE, "--port", "1"), ("serve", "--port", HOSTILE),
    (HOSTILE,), ("policy", HOSTILE), ("user", "list", f"--{HOSTILE}"),
]


def test_no_command_prints_what_steers_a_terminal(hostile):
    faults, app = {}, hostile.app()
    for arguments in WALK:
        done = hostile.run(*arguments, input=LINES, app=app)
        printed = done.stdout + done.stderr
        forged = [line for line in printed.splitlines() if line.startswith("forged")]
        if found := [*unseen(printed), *forged]:
            faults[arguments] = found
    close(app)
    assert faults == {}


def test_every_command_is_walked():
    walked = {" ".join(arguments) for arguments in WALK}
    every = [" ".join(path) for path, command in below(cli) if not isinstance(command, click.Group)]
    assert [command for command in every if not any(one.startswith(command) for one in walked)] == []


@pytest.mark.parametrize("line", [
    f"p, guest{HOSTILE}, article.view, always, allow", f"p, guest, article.{HOSTILE}, always, allow",
    f"c, {HOSTILE}, r.obj.status == '{HOSTILE}'"], ids=["role", "permission", "condition"])
def test_a_broken_policy_is_quoted_without_obeying_it(line, tmp_path):
    instance, faults = Instance(tmp_path / "instance").made(), {}
    articles = instance.folder / "policies" / "articles.csv"
    articles.write_bytes(articles.read_bytes().replace(b"# end", line.encode() + b"\n# end"))
    for arguments in (("policy", "check"), ("policy", "check", "--json"), ("policy", "matrix"), ("doctor",),
                      ("openapi",), ("serve", "--port", "0")):
        done = instance.run(*arguments)
        found = unseen(done.stdout + done.stderr)
        if found or done.returncode == 0:
            faults[arguments] = (done.returncode, found)
    assert faults == {}


def test_a_case_that_fails_is_named_without_obeying_it(tmp_path):
    instance = Instance(tmp_path / "instance").made()
    (instance.folder / "policies" / "tests.yaml").write_text(_cases("audit.view"), encoding="utf-8")
    for arguments in ("policy", "test"), ("policy", "check"), ("doctor",), ("openapi",):
        done = instance.run(*arguments)
        assert done.returncode != 0 and "case \\x1b]0;owned\\x07" in done.stdout + done.stderr
        assert unseen(done.stdout + done.stderr) == []


def test_a_policy_file_may_be_named_after_an_escape(tmp_path):
    instance = Instance(tmp_path / "instance").made()
    (instance.folder / "policies" / "x\x1b]0;owned\x07.csv").write_text("rubbish\n")
    done = instance.run("policy", "check")
    assert done.returncode == 1 and "x\\x1b]0;owned\\x07.csv" in done.stdout and unseen(done.stdout) == []


def test_plugins_are_listed_by_names_that_obey_nothing(hostile, monkeypatch):
    # The module, not the command of the same name that its package holds.
    monkeypatch.setattr(sys.modules["gatepost.commands.doctor"], "points_of",
                        lambda group: [EntryPoint(HOSTILE, "nothing:there", group)])
    done = hostile.run("doctor")
    assert "\\x1b]0;owned\\x07" in done.stdout and unseen(done.stdout + done.stderr) == []


# The visible replacements


def test_what_is_stored_can_still_be_read(hostile):
    listed = hostile.run("user", "list").stdout
    assert "eve\\x1b]0;owned\\x07\\x9b31m\\r\\x7f\\u202e\\u2066\\u200b" in listed
    assert "\\nforged\\u2028forged" in listed


def test_json_says_what_is_stored(hostile):
    rows = [json.loads(line) for line in hostile.run("audit", "export").stdout.split("\n") if line]
    row = next(row for row in rows if row["principal"] == HOSTILE)
    assert (row["facts"], row["count"]) == ({"email": HOSTILE}, 1)


@pytest.mark.parametrize(("text", "shown"), [
    ("Zoë Ðorđević 李四 مريم 😀", "Zoë Ðorđević 李四 مريم 😀"), ("a\tb", "a\\tb"), ("a\nb", "a\\nb"),
    ("\ud800", "\\ud800"), ("\U000e0041", "\\U000e0041"), ("\u00ad\u034f", "\\xad\\u034f"), ("a\\x1b", "a\\x1b")])
def test_text_that_can_be_seen_stays_and_all_else_is_named(text, shown):
    assert visible(text) == shown


def test_lines_stay_lines_and_json_stays_json():
    assert lines_visible("a\n\tb\r\x1b") == "a\n\tb\\r\\x1b"
    assert json_visible('{"a": "\x7f\u2028\U000e0041"}\n') == '{"a": "\\u007f\\u2028\\udb40\\udc41"}\n'
    assert json.loads(json_visible(json.dumps(HOSTILE, ensure_ascii=False))) == HOSTILE


@pytest.mark.parametrize("format", ["csv", pytest.param("ndjson", marks=pytest.mark.slow)])
def test_an_export_is_shown_to_a_terminal_and_given_to_a_file(format, hostile, tmp_path):
    kept = tmp_path / f"articles.{format}"
    assert hostile.run("export", "articles", str(kept)).returncode == 0
    assert "\u202e".encode() in kept.read_bytes(), "a file has what is stored"
    leader, follower = pty.openpty()
    command = [*GATEPOST, "export", "articles", "--format", format]
    with subprocess.Popen(command, env=hostile.environ(), cwd=ROOT, stdout=follower, stderr=subprocess.PIPE) as process:
        os.close(follower)
        shown = b""
        try:
            while piece := os.read(leader, 2**16):
                shown += piece
        except OSError:
            pass  # Linux's error if the other side is closed
        assert process.wait(60) == 0, process.stderr.read()
    os.close(leader)
    text = shown.decode().replace("\r\n", "\n")  # the line ends of a terminal
    assert "owned" in text and unseen(text) == []


def test_what_is_logged_while_a_command_runs_obeys_nothing():
    record = logging.LogRecord("x", logging.ERROR, __file__, 1, "bad: %s", (HOSTILE,), None)
    assert unseen(printing._Lines().format(record)) == []
    assert unseen(JsonFormatter().format(record)) == []
    assert json.loads(JsonFormatter().format(record))["message"] == f"bad: {HOSTILE}"


def test_only_printing_prints():
    printers = {file.name for file in SERVICE if "click.echo" in file.read_text(encoding="utf-8")}
    assert printers == {"printing.py"}
