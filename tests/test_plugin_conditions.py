"""A plugin's condition, from its declaration to every answer: lists, explanations, matrix, cases and the export."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType

import peewee as pw
import pytest

from gatepost import Condition, Function
from gatepost.collections.plugins import discovery
from gatepost.collections.plugins.contents import PluginError
from gatepost.collections.plugins.discovery import discover
from gatepost.commands import policy_files
from gatepost.testing import log_in
from gatepost.testing.halves import disagreements
from models.engine.connect import open_database
from models.migrate import upgrade
from policies.evaluation.grants import Grants
from policies.loading.loader import from_files
from policies.syntax.attributes import ENVIRONMENT, SUBJECT
from tests.apps import close, make_app, new_instance
from tests.databases import new_database
from tests.plugin_apps import HALVES, SAMPLE, installed, write_sample
from tests.policies.editing import add_line
from tests.running import ROOT, Instance
from tests.samples import sampled_rows

BRANCH = "    p.when == 'for_all' && begins(r.sub, r.obj, r.env, 'For all') || \\"
LINE = "p, user, note.view, for_all, allow"
WORD_IS_UNKNOWN = "`for_all` is no condition yet; add this line to the matcher of model.conf"


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """A folder with the sample plugin, as if installed by pip."""
    folder = tmp_path_factory.mktemp("site")
    write_sample(folder)
    return folder


@pytest.fixture(scope="module")
def notes(site) -> ModuleType:
    """The plugin's module, in this process."""
    with installed(site, "sample_notes"):
        yield import_module("sample_notes.notes")


def with_condition(policies: Path) -> None:
    """Adds the condition's branch, and a rule that uses it, as an administrator does."""
    add_line(policies / "model.conf", BRANCH)
    shutil.copyfile(SAMPLE / "notes.csv", policies / "notes.csv")
    add_line(policies / "notes.csv", LINE)


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def app(request, notes, tmp_path_factory):
    url = new_database(request.param, request)
    folder = new_instance(tmp_path_factory.mktemp("conditions") / "instance", url, "default")
    with_condition(folder / "policies")
    database = open_database(url, pool_size=1, synchronous="normal", statement_timeout=10)
    upgrade(database, discover().migrations)
    database.close_all()
    made = make_app(folder, url)
    yield made
    close(made)


TEXTS = ("For all: we meet at ten", "for all in small letters", "Not For all", "Buy milk", "For all")
OPEN = {"For all: we meet at ten", "For all"}


@pytest.fixture(scope="module")
def written(app) -> dict[str, str]:
    """Text → id of the notes that a user wrote."""
    writer = log_in(app, "user")
    return {text: writer.post("/api/notes", {"text": text}).get_json()["id"] for text in TEXTS}


def test_each_object_is_shown_as_the_function_answers(app, written):
    reader = log_in(app, "user")
    assert {text: reader.get(f"/api/notes/{id}").status_code for text, id in written.items()} == {
        text: 200 if text in OPEN else 404 for text in TEXTS}


@pytest.mark.both_databases
def test_a_list_and_its_total_hold_the_rows_that_the_function_answers(app, written):
    reader = log_in(app, "user")
    own = reader.post("/api/notes", {"text": "Mine alone"}).get_json()
    found = reader.get("/api/notes?page=1&limit=100", headers={"Prefer": "count=exact"}).get_json()
    assert {note["text"] for note in found["items"]} == {*OPEN, "Mine alone"}
    assert found["total"] == 3
    page = reader.get("/api/notes?limit=2").get_json()
    rest = reader.get(f"/api/notes?limit=2&cursor={page['next_cursor']}").get_json()
    assert [note["text"] for note in (*page["items"], *rest["items"])] == [
        "Mine alone", *(text for text in reversed(TEXTS) if text in OPEN)]
    assert reader.delete(f"/api/notes/{own['id']}").status_code == 204


def test_an_explanation_names_the_line_and_what_the_function_read(app, written):
    admin, reader = log_in(app, "admin"), log_in(app, "user")

    def why(text: str) -> str:
        answer = admin.get(f"/api/admin/policy/explain?as={reader.id}&permission=note.view&id={written[text]}")
        assert answer.status_code == 200, answer.text
        return answer.text

    assert LINE in why("For all")
    assert "begins(r.sub, r.obj, r.env, 'For all') does not hold: text is Buy milk" in why("Buy milk")


def test_an_explanation_does_not_tell_what_a_function_read_in_a_guarded_field(app, written, notes, monkeypatch):
    """A note shows its `department` only to its owner. A developer may ask about rules."""
    watcher = app.extensions["gatepost"].policy
    policy = watcher.current
    asks_department = replace(notes.begins, reads=(("obj", "department"),))
    monkeypatch.setattr(watcher, "current", from_files(policy.files | {"notes.csv": (
        policy.files["notes.csv"].replace(b"# end", b"p, developer, note.view, always, allow\n# end"))},
        replace(policy.vocabulary, functions={"begins": asks_department})))
    developer, reader = log_in(app, "developer"), log_in(app, "user")
    path = f"/api/admin/policy/explain?permission=note.view&id={written['Buy milk']}&as="
    answer = developer.get(path + "user")
    assert answer.status_code == 403
    assert answer.get_json()["detail"] == "The reasons would tell department, which you may not see."
    assert log_in(app, "admin").get(path + reader.id).status_code == 200


def test_a_half_that_raises_is_an_internal_error_that_shows_nothing(app, written, notes, monkeypatch):
    reader = log_in(app, "user")
    watcher = app.extensions["gatepost"].policy
    policy = watcher.current
    loaded: list[bool] = []  # a function that fails for invented values is refused before
    broken = replace(
        notes.begins, holds=lambda text, start: 1 // 0 if loaded else False,
        where=lambda text, start: 1 // 0 if loaded else notes.begins.where(text, start))
    monkeypatch.setattr(watcher, "current", from_files(
        policy.files, replace(policy.vocabulary, functions={"begins": broken})))
    loaded.append(True)
    for path in ("/api/notes", f"/api/notes/{written['For all']}", f"/api/notes/{written['Buy milk']}"):
        answer = reader.get(path)
        assert (answer.status_code, answer.get_json()["code"]) == (500, "internal_error")
        assert "For all" not in answer.text


def test_the_matrix_names_the_word_and_the_vocabulary_the_function(app, notes):
    policy = app.extensions["gatepost"].policy.current
    assert Grants(policy).of("user", "note.view").words == "own, for_all"
    assert policy.vocabulary.functions == {"begins": notes.begins}


@pytest.mark.parametrize("dialect", ["sqlite", "postgres"])
def test_both_halves_of_the_sample_agree_on_both_databases(request, notes, dialect):
    database = open_database(new_database(dialect, request, migrated=False), synchronous="normal")
    database.create()
    try:
        samples = {"text": ["For all: we meet at ten"]}
        assert disagreements(database, notes.begins, notes.Note, ("For all",), samples) == []
    finally:
        database.close_all()


@pytest.mark.parametrize("read", [*(("sub", name) for name in SUBJECT), *(("env", name) for name in ENVIRONMENT)],
                         ids="{0[0]}.{0[1]}".format)
def test_whatever_a_function_reads_of_the_request_its_halves_can_be_tested(notes, tmp_path, read):
    function = Function("agree", (("obj", "text"), read), (), lambda text, other: text is not None,
                        lambda text, other: text.is_null(False))
    database = open_database(f"sqlite:///{tmp_path / 'halves.db'}", synchronous="normal")
    database.create()
    found = disagreements(database, function, notes.Note, (), {})
    database.close_all()
    assert found == []


@pytest.mark.parametrize(("function", "literals", "wrong"), [
    # LIKE ignores case in SQLite, a missing text is not an empty one, and the condition has an OR.
    (Function("a", (("obj", "text"),), (str,), lambda text, start: (text or "").startswith(start),
              lambda text, start: text.startswith(start)), ("For",), "'for'"),
    (Function("b", (("obj", "text"),), (), lambda text: not text, lambda text: text == ""), (), "None"),
    (Function("c", (("obj", "pinned"), ("sub", "role")), (), lambda pinned, role: pinned is True or role == "x",
              lambda pinned, role: pinned), (), None),
    (Function("d", (("obj", "created_at"), ("env", "now")), (), lambda at, now: at is not None and at < (now or ""),
              lambda at, now: at < now), (), None),
    (Function("e", (("obj", "owner_id"), ("sub", "id")), (), lambda owner, id: owner == id,
              lambda owner, id: owner == id), (), "None"),
    (Function("f", (("env", "hour"), ("sub", "department")), (int,),
              lambda hour, department, most: hour is not None and hour < most), (5,), None),
])
def test_the_contract_of_a_function_finds_what_differs(notes, tmp_path, function, literals, wrong):
    database = open_database(f"sqlite:///{tmp_path / 'halves.db'}", synchronous="normal")
    database.create()
    found = disagreements(database, function, notes.Note, literals, {})
    database.close_all()
    assert bool(found) is (wrong is not None), found
    assert wrong is None or any(wrong in said for said in found)


# By the commands of an administrator.


@pytest.fixture
def instance(notes, tmp_path) -> Instance:
    """An instance whose commands run in this process, which finds the plugin."""
    policy_files.registry.cache_clear()
    yield Instance(tmp_path / "instance").made()
    policy_files.registry.cache_clear()


CASES = """
principals:
  ann: {role: user}
  bob: {role: user}
objects:
  note:
    a note for all: {owner_id: ann, text: "For all: we meet at ten"}
    a note of one's own: {owner_id: ann, text: "Buy milk"}
    a note without words: {owner_id: ann}
cases:
  - {name: what is for all is seen by all, who: bob, what: a note for all, may: [note.view]}
  - {name: the rest is not, who: bob, what: [a note of one's own, a note without words], may: []}
# end
"""


def test_a_word_whose_branch_is_missing_is_answered_with_the_branch(instance):
    shutil.copyfile(SAMPLE / "notes.csv", instance.folder / "policies" / "notes.csv")
    add_line(instance.folder / "policies" / "notes.csv", LINE)
    done = instance.run("policy", "check")
    assert (done.returncode, WORD_IS_UNKNOWN in done.stdout + done.stderr) == (1, True)
    assert BRANCH.strip() in done.stdout + done.stderr


@pytest.mark.parametrize(("more", "said"), [
    (0, "|| \\\n"), (1, "|| \\ (1 more rule)\n"), (3, "|| \\ (3 more rules)\n")])
def test_a_word_whose_branch_is_missing_is_told_once(instance, more, said):
    shutil.copyfile(SAMPLE / "notes.csv", instance.folder / "policies" / "notes.csv")
    for permission in ("view", "update", "delete", "finish")[:more + 1]:
        add_line(instance.folder / "policies" / "notes.csv", f"p, user, note.{permission}, for_all, allow")
    done = instance.run("policy", "check")
    told = done.stdout + done.stderr
    assert (done.returncode, told.count(WORD_IS_UNKNOWN), said in told) == (1, 1, True), told


def test_the_commands_know_the_condition(instance):
    with_condition(instance.folder / "policies")
    checked = instance.run("policy", "check")
    assert checked.returncode == 0
    assert "no index of note serves lists by text; they will be slow" in checked.stdout + checked.stderr
    matrix = instance.run("policy", "matrix", "--role", "user", "--resource", "note").stdout
    assert "for_all  begins(r.sub, r.obj, r.env, 'For all')" in matrix
    assert "begins(r.sub, r.obj, r.env, 'For all') must hold" in instance.run(
        "policy", "explain", "--as", "user", "note.view").stdout
    (instance.folder / "policies" / "tests.yaml").write_text(CASES)
    tested = instance.run("policy", "test")
    assert tested.returncode == 0, tested.stdout
    exported = json.loads(instance.run("policy", "export", "--json").stdout)
    assert "begins: (sub, obj, env, literal1) => false," in exported["functions"]
    assert "begins(r.sub, r.obj, r.env, 'For all')" in exported["model"]


@pytest.mark.parametrize(("matcher", "branch"), [
    ("r.obj.text == r.sub.department", "r.obj.text == r.sub.department"),
    ("r.obj.text == 'a' || begins(r.sub, r.obj, r.env, 'b')",
     "(r.obj.text == 'a' || begins(r.sub, r.obj, r.env, 'b'))"),
])
def test_a_comparison_as_a_word_of_a_plugin_is_proposed_and_then_used(instance, notes, monkeypatch, matcher, branch):
    monkeypatch.setattr(notes, "mine", Condition("mine", matcher), raising=False)
    shutil.copyfile(SAMPLE / "notes.csv", instance.folder / "policies" / "notes.csv")
    add_line(instance.folder / "policies" / "notes.csv", "p, user, note.view, mine, allow")
    line = f"p.when == 'mine' && {branch} || \\"
    refused = instance.run("policy", "check")
    assert (refused.returncode, line in refused.stdout + refused.stderr) == (1, True), refused.stderr
    add_line(instance.folder / "policies" / "model.conf", f"    {line}")
    assert instance.run("policy", "check").returncode == 0
    assert "mine" in instance.run("policy", "explain", "--as", "user", "note.view").stdout


def test_the_shipped_policy_is_compared_with_the_words_of_plugins(instance, monkeypatch, tmp_path):
    found = replace(policy_files.registry(), plugin_policies={"notes.csv": tmp_path / "notes.csv"})
    monkeypatch.setattr(policy_files, "registry", cache(lambda: found))
    shutil.copyfile(SAMPLE / "notes.csv", tmp_path / "notes.csv")
    add_line(tmp_path / "notes.csv", LINE)
    add_line(instance.folder / "policies" / "model.conf", BRANCH)
    same = instance.run("policy", "diff", "shipped", str(instance.folder / "policies"))
    assert (same.returncode, same.stderr) == (0, ""), same.stdout
    (instance.folder / "policies" / "notes.csv").write_text("# end\n")
    other = instance.run("policy", "diff", "shipped", str(instance.folder / "policies"))
    assert (other.returncode, "note.view" in other.stdout) == (1, True), other.stderr


@pytest.mark.parametrize("half", [
    {"holds": lambda text, start: text.startswith(start)}, {"holds": lambda text, start: 1 / 0 > 1},
    {"where": lambda text, start: text.begins(start)}], ids=["holds without none", "holds", "where"])
def test_check_and_test_refuse_a_function_that_serving_would_refuse(instance, notes, monkeypatch, half):
    with_condition(instance.folder / "policies")
    (instance.folder / "policies" / "tests.yaml").write_text(CASES)
    monkeypatch.setattr(notes, "begins", replace(notes.begins, **half))
    policy_files.registry.cache_clear()
    for command in (("policy", "check"), ("policy", "check", "--json"), ("policy", "test"), ("serve",)):
        done = instance.run(*command)
        assert done.returncode == (2 if command == ("policy", "test") else 1), (command, done.stdout, done.stderr)
        assert "the function begins of a plugin fails" in done.stdout + done.stderr


FORGOTTEN = "notes.csv: warning: only those who may do everything have note.finish; add a rule that grants it"


@pytest.mark.parametrize(("line", "told"), [
    ("", True),
    ("p, user, note.finish, own, allow\n", False),
    ("p, user, note.*, own, allow\n", False),
    ("# The administrator alone finishes them: note.finish\n", False),
    ("# note.finished is another word\n", True),
])
def test_an_action_that_no_line_of_a_plugin_grants_is_a_warning_unless_it_is_named(instance, line, told):
    rules = (SAMPLE / "notes.csv").read_text().replace("p, user, note.finish, own,    allow\n", line)
    (instance.folder / "policies" / "notes.csv").write_text(rules)
    done = instance.run("policy", "check")
    assert (done.returncode, FORGOTTEN in done.stdout + done.stderr) == (0, told), done.stdout + done.stderr
    assert "note.import" not in done.stdout + done.stderr


def test_without_the_plugin_the_matcher_is_refused_by_name(instance, monkeypatch):
    with_condition(instance.folder / "policies")
    (instance.folder / "policies" / "notes.csv").unlink()
    monkeypatch.setattr(discovery, "points_of", lambda group: [])
    done = instance.run("policy", "check")
    assert (done.returncode, "`begins` is a function of no installed plugin" in done.stdout + done.stderr) == (1, True)


@pytest.mark.slow
def test_the_contract_serves_a_plugin_whose_own_rules_use_its_word(site, tmp_path):
    shutil.copytree(site, tmp_path / "site")
    add_line(tmp_path / "site" / "sample_notes" / "notes.csv", LINE)
    test = (SAMPLE.parent / "tests" / "test_notes.py").read_text(encoding="utf-8")
    (tmp_path / "test_notes.py").write_text(test + HALVES, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "deleted or begins", tmp_path],
        env=Instance(tmp_path / "unused", {"PYTHONPATH": f"{tmp_path / 'site'}:{ROOT}"}).environ(), cwd=tmp_path,
        capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, "2 passed" in done.stdout) == (0, True), done.stdout


# Declarations that stop the start.


@pytest.mark.parametrize(("change", "sentence"), sampled_rows([
    ({"name": "begins_with"}, "letters and digits, with a small letter first"),
    ({"name": "Begins"}, "letters and digits, with a small letter first"),
    *(({"name": name}, "has a meaning of its own in a matcher") for name in (
        "g", "g2", "ipMatch", "globMatch", "keyMatch", "regexMatch", "shared", "inGroup", "eval", "in", "true", "int")),
    ({"reads": ()}, "`reads` must name what it looks at"),
    ({"reads": (("sub", "departmnt"),)}, "did you mean department?"),
    ({"reads": (("sub", "groups"),)}, "`reads` has ('sub', 'groups')"),
    ({"reads": (("row", "text"),)}, "the first is obj, sub or env"),
    ({"reads": [("obj", "text")]}, "does not declare a usable collection: unhashable"),
    ({"literals": (bool,)}, "`literals` must be types, each of them str or int"),
    ({"where": None}, "it reads a column and lacks `where`"),
    ({"words": {"for_all": (5,)}}, "`words` must have words of the condition column, each with its literals"),
    ({"words": {"For all": ("x",)}}, "`words` must have words of the condition column"),
], 3))
def test_a_function_that_cannot_be_called_stops_the_start_with_a_sentence(notes, monkeypatch, change, sentence):
    monkeypatch.setattr(notes, "begins", replace(notes.begins, **change))
    with pytest.raises(PluginError, match="^plugin notes .*") as error:
        discover()
    assert sentence in str(error.value)


@pytest.mark.parametrize(("word", "matcher", "sentence"), [
    ("own", "r.obj.owner_id == r.sub.id", "the word 'own' is a condition of Gatepost itself; choose another"),
    ("for_all", "r.obj.text == 'For all'",
     "the word 'for_all' means something else already: p.when == 'for_all' && begins(r.sub, r.obj, r.env, 'For all')"),
    ("For all", "r.obj.text == 'For all'", "its word must be small letters, digits and _, with a letter first"),
    ("mine", "r.obj.owner_id = r.sub.id", "`=` is no operator of a matcher; write =="),
    ("mine", "ends(r.sub, r.obj, r.env)", "`ends` is a function of no installed plugin"),
    ("mine", "p.sub == 'user'", "`p.sub`"),
    ("mine", "r.obj.text == 'a' ||\n r.obj.text == 'b'", "its matcher must be one line"),
])
def test_a_condition_that_cannot_be_stops_the_start_with_its_file_and_line(notes, monkeypatch, word, matcher, sentence):
    monkeypatch.setattr(notes, "mine", Condition(word, matcher), raising=False)
    said = r"^plugin notes .*: the condition .* cannot be used: .*notes\.py\)$"
    with pytest.raises(PluginError, match=said) as error:
        discover()
    assert sentence in str(error.value)


def test_a_condition_is_named_by_the_line_that_declares_it(tmp_path, monkeypatch):
    text = "from gatepost import Condition\n\nlender = Condition('own', 'r.obj.id == 1')\n"
    (tmp_path / "lending.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(PluginError, match=r"^lending: .* \(.*lending\.py:3\)$"):
        discover([import_module("lending")])


def test_a_function_may_not_take_a_word_of_gatepost_s_own(notes, monkeypatch):
    monkeypatch.setattr(notes, "begins", replace(notes.begins, words={"own": ("x",)}))
    with pytest.raises(PluginError, match="the word 'own' is a condition of Gatepost itself"):
        discover()


def test_two_functions_of_one_name_stop_the_start(notes):
    other = ModuleType("other_plugin")
    other.__file__ = notes.__file__
    other.begins = replace(notes.begins, where=lambda text, start: pw.SQL("1 = 1"))
    taken = r"^other_plugin: the name of the function 'begins' is taken \(.*notes\.py:\d+\)$"
    with pytest.raises(PluginError, match=taken):
        discover([other])
    again = ModuleType("other_plugin")
    again.__file__ = notes.__file__
    again.begins = notes.begins
    assert discover([again]).functions == {"begins": notes.begins}
