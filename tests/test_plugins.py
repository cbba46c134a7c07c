"""An installed plugin adds a collection. A broken one stops the start, and the error names it."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module, invalidate_caches
from pathlib import Path

import pytest

from gatepost.collections.plugins.contents import PluginError, serves
from gatepost.collections.plugins.discovery import discover
from models.engine.connect import open_database
from models.migrate import upgrade
from policies import PolicyError
from tests.apps import ROLES, Given, close, make_app, new_instance
from tests.databases import new_database
from tests.docs.documents import example
from tests.plugin_apps import installed, write_sample
from tests.running import ROOT, Instance

PLUGIN = ROOT / "tests" / "sample_plugin"
NO_RULES = "# no role may do anything yet\n# end\n"


@pytest.fixture
def sample(tmp_path) -> Iterator[Path]:
    """The folder of the sample plugin's package, which this process finds as if pip had installed it."""
    folder = write_sample(tmp_path / "sample")
    with installed(tmp_path / "sample", "sample_notes"):
        yield folder


@pytest.fixture
def instance(tmp_path) -> Instance:
    return Instance(tmp_path / "instance").made()


@pytest.mark.slow
def test_an_installed_plugin_passes_the_contract_with_its_one_test(tmp_path):
    source, target = tmp_path / "source", tmp_path / "installed"
    shutil.copytree(PLUGIN, source, ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--target"]
    done = subprocess.run([*command, target, source], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    tests = tmp_path / "tests"
    tests.mkdir()
    shutil.copy(PLUGIN / "tests" / "test_notes.py", tests)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error", tests]
    environ = Instance(tmp_path / "unused", {"PYTHONPATH": f"{target}:{ROOT}"}).environ()
    done = subprocess.run(command, env=environ, cwd=tests, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout
    assert "17 passed" in done.stdout


def test_an_installed_plugin_is_migrated_by_command_and_served(instance, sample):
    refused = instance.run("serve", "--port", "0")
    assert (refused.returncode, "gatepost migrate" in refused.stderr) == (1, True)
    waiting = instance.run("migrate", "--check")
    assert (waiting.returncode, waiting.stdout) == (
        1, "sample_notes/0001_notes: stop every node of an older version first\n")
    assert "Applied sample_notes/0001_notes" in instance.run("migrate").stdout
    assert instance.run("migrate", "--check").stdout == "Nothing to do.\n"
    with instance.answering() as service:
        token = service.log_in()
        status, note = service.call("POST", "/api/notes", {"text": "Buy milk"}, token)
        assert (status, note["status"]) == (201, "open")
        assert service.call("GET", "/api/notes")[0] == 401
        assert "/api/notes/{id}/finish" in service.call("GET", "/api/openapi.json")[1]["paths"]


def test_a_broken_plugin_stops_the_command_with_a_sentence(tmp_path, sample):
    (sample / "notes.csv").unlink()
    broken = Instance(tmp_path / "none").run("init", "--no-demo")
    assert broken.returncode == 1
    assert broken.stderr == ("Error: plugin notes (sample_notes.notes:Notes): notes.csv is missing; a collection "
                             "ships its rules beside its module\n")


def test_the_doctor_says_once_what_is_wrong_with_a_plugin(instance, sample):
    (sample / "notes.csv").unlink()
    found = instance.run("doctor")
    failing = [line.split()[1] for line in found.stdout.splitlines() if line.startswith("FAIL")]
    assert (found.returncode, failing, found.stdout.count("notes.csv is missing")) == (1, ["plugins"], 1)


def test_the_doctor_and_the_start_say_what_the_table_of_a_plugin_lacks(instance, sample):
    assert instance.run("migrate").returncode == 0
    with sqlite3.connect(instance.folder / "gatepost.db") as database:
        database.execute("DROP INDEX notes_updated_at")
    database.close()
    sentence = ("/sample_notes/notes.py:28: Notes can be sorted by 'updated_at', and no index serves that; "
                'a migration makes one with ddl.index(db, "notes", "updated_at")')
    found = instance.run("doctor")
    failing = [line.split()[1] for line in found.stdout.splitlines() if line.startswith("FAIL")]
    assert (found.returncode, failing, found.stdout.count(sentence)) == (1, ["plugins"], 1)
    refused = instance.run("serve", "--port", "0")
    assert (refused.returncode, refused.stderr.count(sentence), "Traceback" in refused.stderr) == (1, 1, False)


def test_rules_that_a_plugin_left_behind_are_named_with_the_way_out(instance, tmp_path):
    write_sample(tmp_path / "sample")
    with installed(tmp_path / "sample", "sample_notes"):
        assert instance.run("policy", "adopt", "notes").returncode == 0
    (instance.folder / "policy.last-good.json").unlink(missing_ok=True)
    without = instance.run("serve", "--port", "0")
    assert without.returncode == 1
    assert "notes.csv: no installed collection has these rules; if a plugin that had them" in without.stderr


# Plugins of this process: a package with its own name, and the files that pip writes.


@pytest.fixture
def plugin(tmp_path, monkeypatch, request):
    """Makes a plugin from the sample one: `edit` maps a file's name to its new text; None removes the file."""
    package = f"notes_of_test_{abs(hash(request.node.name))}"

    def make(edit=None, entry=None) -> Path:
        folder = tmp_path / "site" / package
        shutil.copytree(PLUGIN / "sample_notes", folder, ignore=shutil.ignore_patterns("__pycache__"))
        for name, text in (edit or {}).items():
            if text is None:
                (folder / name).unlink()
            else:
                (folder / name).parent.mkdir(exist_ok=True)
                (folder / name).write_text(text, encoding="utf-8")
        written = tmp_path / "site" / f"{package}-1.0.dist-info"
        written.mkdir()
        (written / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        point = entry or f"notes = {package}.notes:Notes"
        (written / "entry_points.txt").write_text(f"[gatepost.collections]\n{point.format(package=package)}\n")
        monkeypatch.syspath_prepend(tmp_path / "site")
        invalidate_caches()
        return folder

    yield make
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        del sys.modules[name]


def source(**replaced: str) -> str:
    """Returns the sample plugin's module with some words replaced."""
    text = (PLUGIN / "sample_notes" / "notes.py").read_text(encoding="utf-8")
    for old, new in replaced.items():
        assert f'"{old}"' in text
        text = text.replace(f'"{old}"', f'"{new}"')
    return text


@pytest.mark.parametrize(("edit", "entry", "sentence"), [
    ({"notes.csv": None}, None, r"^plugin notes \(.*\): notes\.csv is missing"),
    ({"notes.py": "import nowhere_to_be_found"}, None, "^plugin notes .* cannot be imported: .*nowhere_to_be_found"),
    ({"notes.py": "\n1 / 0"}, None, r"^plugin notes .* cannot be imported: division by zero \(.*/notes\.py:2\)$"),
    ({"notes.py": "\ndef"}, None, r"^plugin notes .* cannot be imported: .*\(.*/notes\.py:2\)$"),
    ({"notes.py": source().replace("def finish(self, note: Note)", "def finish(self)")}, None,
     r"cannot be imported: the method of the action 'finish' takes .* \(.*/notes\.py:\d+\)$"),
    ({}, "notes = {package}.notes:Missing", "^plugin notes .* cannot be imported: .*Missing"),
    ({"notes.py": source(notes="articles"), "articles.csv": NO_RULES}, None,
     r"^plugin notes .*/notes\.py:28: the name 'articles' is taken$"),
    ({"notes.py": source(notes="articles")}, None, r"^plugin notes .*/notes\.py:28: the name 'articles' is taken$"),
    ({"notes.py": source(note="article")}, None, r"^plugin notes .*/notes\.py:28: the resource 'article' is taken"),
    ({"notes.py": source(notes="roles"), "roles.csv": NO_RULES}, None, "^plugin notes .*: roles.csv is a policy file"),
    ({"notes.py": source(notes="policy"), "policy.csv": NO_RULES}, None, "^plugin notes .*: the name 'policy'"),
    ({"notes.py": source().replace("expand = ", 'search = ("text",)\n    expand = ')}, None,
     "^plugin notes .*: Notes.search and Note.searched differ"),
    ({"notes.py": "class Notes:\n    name = 'notes'\n"}, None, "^plugin notes .* is no Collection"),
    ({"notes.py": source().replace('name, resource = "notes", "note"', "")}, None,
     "^plugin notes .*(name|usable collection)"),
    ({"migrations/more.py": ""}, None, r"^plugin notes .*/migrations/more\.py: no number, so that nothing would run"),
    ({"migrations/0001_more.py": ""}, None, r"^plugin notes .*/0001_notes\.py: 0001_more\.py has the same number"),
    ({"translations/de.po": 'msgid "A"\nmsgstr "B\n'}, None, r"^plugin notes .*/translations/de\.po:2: this is no"),
    ({"translations/de.po": 'msgid "A"\nmsgstr B\n'}, None, r"^plugin notes .*/translations/de\.po:2: this is no"),
    ({"translations/de.po": 'msgid "A"\nmsgstr "B"\nC\n'}, None, r"/translations/de\.po:3: this is no line of a \.po"),
])
def test_a_plugin_that_cannot_be_used_is_named_with_the_reason(plugin, edit, entry, sentence):
    plugin(edit, entry)
    with pytest.raises(PluginError, match=sentence):
        discover()


def break_migrations(sample: Path) -> Path:
    """Adds a migration with a wrong statement."""
    file = sample / "migrations" / "0002_more.py"
    file.write_text("from gatepost import ddl\n\n\ndef up(migrator, db):\n    ddl.run(db, 'ALTER TABEL notes')\n")
    return file


def test_a_migrate_that_fails_says_where_and_which_backup_it_has_made(instance, sample):
    file = break_migrations(sample)
    failed = instance.run("migrate")
    saved, = (instance.folder / "backups").glob("*.tar*")
    first, _, last = failed.stderr.strip().partition("\n")
    assert (failed.returncode, first.partition(":5: ")[0], saved.name in last, "Traceback" in failed.stderr) == (
        1, f"Error: {file}", True, False), failed.stderr
    assert last.strip().startswith("A backup of before: ")


BROKEN = """
from gatepost import create_app
from gatepost.testing import served
from sample_notes.notes import Notes

app = served(create_app, Notes)

def test_it(app):
    pass
"""


@pytest.mark.slow
def test_a_migration_that_fails_in_a_test_is_told_by_its_file(tmp_path):
    file = break_migrations(write_sample(tmp_path / "sample"))
    (tmp_path / "test_broken.py").write_text(BROKEN)
    environ = Instance(tmp_path / "unused", {"PYTHONPATH": f"{tmp_path / 'sample'}:{ROOT}"}).environ()
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", tmp_path / "test_broken.py"],
                          env=environ, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300)
    assert f"MigrationError: {file}:5: " in done.stdout, done.stdout


def test_an_entry_point_may_name_a_module(plugin):
    plugin(entry="everything = {package}.notes")
    assert "notes" in discover().collections


def status_of(app, role: str, path: str = "/api/notes") -> int:
    from gatepost.testing import log_in

    caller = log_in(app, Given(app, "default").user(role)) if role != "guest" else None
    headers = caller.headers if caller else {}
    return app.test_client().get(path, headers=headers).status_code


def test_rules_that_grant_nothing_leave_a_plugin_to_the_admin(plugin, serving):
    plugin({"notes.csv": NO_RULES})
    app = serving()
    refused = {"guest": 401} | dict.fromkeys(ROLES[1:], 403)
    assert {role: status_of(app, role) for role in ROLES} == refused | {"admin": 200}


def test_rules_in_the_instance_replace_those_of_the_plugin(plugin, serving):
    plugin()
    app = serving(notes="p, guest, note.view, always, allow\n# end\n")
    assert status_of(app, "guest") == 200
    assert app.test_client().post("/api/notes", json={"text": "x"}).status_code == 401


def test_rules_of_a_plugin_that_are_broken_stop_the_start_by_file_and_line(plugin, serving):
    plugin({"notes.csv": "p, user, note.veiw, own, allow\n# end\n"})
    with pytest.raises(PolicyError, match=r"notes\.csv:1"):
        serving()


def test_rules_of_a_plugin_that_break_an_invariant_stop_the_start_and_name_its_file(plugin, serving):
    plugin({"notes.csv": "p, guest, note.create, always, allow\n# end\n"})
    with pytest.raises(PolicyError, match=r"notes\.csv: these rules come with a plugin \(.*notes\.csv\)") as error:
        serving()
    assert "notes.csv:1: with this rule guest may note.create; invariants.csv:" in str(error.value)


def test_a_plugin_says_its_errors_in_the_languages_that_it_brings(plugin, serving):
    from gatepost.testing import log_in

    plugin()
    caller = log_in(serving(), "user")
    note = caller.post("/api/notes", {"text": "Buy milk", "pinned": True}).get_json()["id"]
    refused = [caller.post(f"/api/notes/{note}/finish?lang={lang}") for lang in ("en", "de", "fr")]
    assert [answer.get_json()["detail"] for answer in refused] == [
        "A pinned note stays open.", "Eine angeheftete Notiz bleibt offen.", "A pinned note stays open."]
    assert caller.get("/api/notes?lang=de&limit=0").get_json()["title"] == "Ein Parameter ist ungültig"


ONCE = """
from gatepost import ddl

def up(migrator, db):
    ddl.index(db, "notes", "owner_id,text", unique=True)
"""


@pytest.mark.both_databases
def test_a_clash_of_several_columns_blames_what_the_client_has_sent(plugin, serving):
    from gatepost.testing import log_in

    plugin({"migrations/0002_once.py": ONCE})
    app = serving()
    caller, admin = log_in(app, "user"), log_in(app, "admin")
    first, second = (caller.post("/api/notes", {"text": text}).get_json() for text in ("One", "Two"))
    theirs = admin.post("/api/notes", {"text": "One"}).get_json()

    def blamed(answer) -> list[tuple[str, str]]:
        assert answer.status_code == 409, answer.text
        return [(one["pointer"], one["detail"]) for one in answer.get_json()["errors"]]

    text = [("/text", "Another object has this text.")]
    assert blamed(caller.post("/api/notes", {"text": "One"})) == text
    change = {"headers": {"Content-Type": "application/merge-patch+json"}}
    assert blamed(caller.patch(f"/api/notes/{second['id']}", {"text": "One"}, **change)) == text
    assert blamed(admin.patch(f"/api/notes/{theirs['id']}", {"owner_id": caller.id}, **change)) == [
        ("/owner_id", "Another object has this owner_id.")]
    refused = admin.post("/api/notes/import", data='{"text": "One"}\n',
                         headers={"Content-Type": "application/x-ndjson"})
    assert [one["pointer"] for one in refused.get_json()["errors"]] == ["/text"]
    assert first["text"] == "One"


# Other parts of the guide, beside the sample plugin's files.


def test_the_guide_s_own_test_passes(plugin, serving):
    plugin()
    found: dict[str, object] = {}
    exec(example("def test_a_pinned_note_stays_open"), found)
    found["test_a_pinned_note_stays_open"](serving())


@pytest.mark.both_databases
def test_notes_can_be_searched_as_the_guide_says(plugin, serving):
    from gatepost.testing import log_in

    searched = source().replace('text = pw.TextField()', 'text = pw.TextField()\n    searched = ("text",)')
    plugin({"notes.py": searched.replace("    expand = ", '    search = ("text",)\n    expand = '),
            "migrations/0002_search.py": example("ddl.searchable")})
    caller = log_in(serving(), "user")

    def found(word: str) -> list[str]:
        answer = caller.get(f"/api/notes?q={word}")
        assert answer.status_code == 200, answer.text
        return [note["text"] for note in answer.get_json()["items"]]

    note = caller.post("/api/notes", {"text": "Buy milk"}).get_json()
    caller.post("/api/notes", {"text": "Sell bread"})
    assert (found("milk"), found("bread")) == (["Buy milk"], ["Sell bread"])
    assert caller.patch(f"/api/notes/{note['id']}", {"text": "Buy butter"}, headers={
        "If-Match": f'"{note["version"]}"', "Content-Type": "application/merge-patch+json"}).status_code == 200
    assert (found("milk"), found("butter")) == ([], ["Buy butter"])
    path = f"/api/notes/{note['id']}"
    tag = caller.get(path).headers["ETag"]
    assert caller.delete(path, headers={"If-Match": tag}).status_code == 204
    assert found("butter") == []


SHARED = """
from gatepost import ddl

def up(migrator, db):
    ddl.run(db, "CREATE VIRTUAL TABLE notes_search USING fts5(text, content='notes', columnsize=0)"
                if db.dialect == "sqlite" else "ALTER TABLE notes ADD COLUMN search tsvector "
                "GENERATED ALWAYS AS (to_tsvector('simple', text)) STORED")
"""


@pytest.mark.both_databases
@pytest.mark.parametrize("dialect", ["sqlite", "postgres"])
@pytest.mark.parametrize("made", [{}, {"migrations/0002_search.py": SHARED}], ids=["none", "one for all tenants"])
def test_a_search_without_an_index_by_tenant_stops_the_start_until_a_migration_makes_one(
        plugin, tmp_path, request, made, dialect):
    searched = source().replace('text = pw.TextField()', 'text = pw.TextField()\n    searched = ("text",)')
    folder = plugin({"notes.py": searched.replace("    expand = ", '    search = ("text",)\n    expand = '), **made})
    url = new_database(dialect, request, migrated=False)
    migrated(url)
    new_instance(tmp_path / "instance", url, "default")
    with pytest.raises(PluginError, match=r"notes\.py:\d+: the words of notes have no index, or one of "):
        make_app(tmp_path / "instance", url)
    (folder / "migrations" / "0003_search.py").write_text(example("ddl.searchable"), encoding="utf-8")
    migrated(url)
    close(make_app(tmp_path / "instance", url))


def migrated(url: str) -> None:
    """Applies the migrations of all installed plugins."""
    database = open_database(url, pool_size=1, synchronous="normal", statement_timeout=10)
    upgrade(database, discover().migrations)
    database.close_all()


def test_routes_alone_are_served_for_a_test(tmp_path, monkeypatch):
    (tmp_path / "clock_of_the_guide.py").write_text(example('Routes("clock"'), encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    clock = import_module("clock_of_the_guide")
    found = discover([clock])
    assert found.routes["clock"] is clock.routes
    assert serves(found, clock)
    assert not serves(discover(), clock)
