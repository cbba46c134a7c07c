"""`gatepost policy …`: the output of the administrator's commands, and their exit codes."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import click
import pytest
from click.testing import CliRunner, Result

from app import create_app
from blueprints.policy.commands.group import policy
from gatepost.collections.plugins.discovery import discover
from gatepost.commands import policy_files
from models.base import Rows
from models.engine.connect import open_database
from models.tables import share
from models.tables.article import Article
from models.tables.tenant import Tenant
from models.tables.user import User
from policies import SHIPPED, load
from policies.loading import first_release
from policies.loading.folder import Folder
from policies.loading.snapshot import LAST_GOOD, keep
from policies.loading.watch import Watcher
from system.files import write
from tests.policies.editing import add_line, remove_line, replace, shipped_copy
from tests.policies.shipped_vocabulary import VOCABULARY
from tests.running import Instance
from tests.samples import sampled_rows

Run = Callable[..., Result]
COMMANDS = ["check", "explain", "matrix", "test", "diff", "export", "adopt"]


def no_app(*_: Any) -> None:
    raise AssertionError("this command must work without the app")


@pytest.fixture
def instance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An instance with only policies: no database, no keys, no app that could start."""
    monkeypatch.setenv("GATEPOST_INSTANCE", str(tmp_path / "instance"))
    shipped = SimpleNamespace(
        vocabulary=VOCABULARY,
        plugin_policies={},
        required_policies=sorted(path.name for path in SHIPPED.glob("*.csv") if path.name in first_release.FILES),
        collections={},
        by_permission={},
        by_resource={},
    )
    monkeypatch.setattr(policy_files, "registry", lambda: shipped)
    return shipped_copy(tmp_path / "instance" / "policies")


@pytest.fixture
def run(instance: Path) -> Run:
    def invoke(*arguments: str | Path, input: str | None = None) -> Result:
        result = CliRunner().invoke(policy, [str(one) for one in arguments], input=input, obj=no_app)
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return result

    return invoke


# Every command


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_a_command_shows_an_example(run: Run, command: str) -> None:
    result = run(command, "--help")
    assert result.exit_code == 0
    assert f"Example: gatepost policy {command}" in result.stdout


# Files that are none


@pytest.mark.parametrize("name", ["articles.csv", "tests.yaml", "model.conf"])
def test_a_fifo_among_the_files_is_a_finding_and_the_check_ends(run: Run, instance: Path, name: str) -> None:
    (instance / name).unlink(missing_ok=True)
    os.mkfifo(instance / name)
    result = run("check")
    assert result.exit_code == 1
    assert f"{name}: this is not a regular file" in result.stdout


@pytest.mark.parametrize("arguments", [["test"], ["diff", "shipped"], ["export"], ["matrix"]], ids=" ".join)
def test_on_a_fifo_a_command_that_needs_the_policy_says_so_and_leaves_with_2(
    run: Run, instance: Path, arguments: list[str]
) -> None:
    (instance / "articles.csv").unlink()
    os.mkfifo(instance / "articles.csv")
    (instance / "tests.yaml").write_text("cases: []\n")
    result = run(*arguments)
    assert result.exit_code == 2
    assert "articles.csv: this is not a regular file" in result.stderr


# Lines that an older version accepted


def test_tools_answer_as_the_service_does_that_serves_lines_which_are_no_longer_accepted(
    run: Run, instance: Path, tmp_path: Path
) -> None:
    always = "p.when == 'always' || \\\n"
    trial = shipped_copy(tmp_path / "trial")
    duty = "    p.when == 'duty' && inGroup(r.sub, r.sub.department) || \\\n"
    replace(instance / "model.conf", always, always + duty)
    add_line(instance / "articles.csv", "p, user, article.approve, duty, allow")
    add_line(instance / "articles.csv", "p, support, article.view, duty, deny")
    denied, allowed = (run("explain", "--as", *asked, "--json") for asked in (
        ("support", "article.view"), ("user", "article.approve")))
    assert [json.loads(one.stdout)["verdict"] for one in (denied, allowed)] == ["refused", "refused"]
    assert "no longer accepted, and matches every object" in denied.stdout
    changed = run("diff", trial)
    assert changed.exit_code == 1 and "support, owner, admin gain 1 (article.view)" in changed.stdout
    for result in (denied, allowed, changed, run("matrix")):
        assert "no longer accepted" in result.stderr and "gatepost policy check" in result.stderr
    for refused in (run("test"), run("check"), run("matrix", instance), run("diff", "shipped", instance)):
        assert refused.exit_code in (1, 2) and "inGroup takes" in refused.output


def test_an_upgrade_lists_lines_that_break_an_invariant(instance: Path) -> None:
    """The previous version may not have proved that they do."""
    database: Any = None  # it is asked where the rules are in it
    (instance / "invariants.csv").write_text("never, editor, user.create\n# end\n")
    assert policy_files.outdated_lines(database) == []
    add_line(instance / "users.csv", "p, editor, user.create, always, allow")
    [finding] = policy_files.outdated_lines(database)
    assert finding.file == "users.csv" and "forbids this" in finding.message


def test_an_upgrade_lists_both_kinds_of_lines_at_once(run: Run, instance: Path) -> None:
    replace(instance / "model.conf", "p.when == 'always' || \\\n",
            "p.when == 'always' || \\\n    p.when == 'duty' && inGroup(r.sub, r.sub.department) || \\\n")
    (instance / "invariants.csv").write_text(
        "never, editor, user.create\nalways, editor, article.view, always\n# end\n")
    add_line(instance / "users.csv", "p, editor, user.create, always, allow")
    add_line(instance / "articles.csv", "p, editor, article.view, duty, deny")
    found = policy_files.outdated_lines(cast(Any, None))
    assert [finding.file for finding in found] == ["model.conf", "users.csv"], "the deny alone breaks the promise"
    assert run("check").stdout.count("forbids this") == 1


def test_what_breaks_an_invariant_is_closed_where_it_was_in_force_and_is_an_error_in_an_edit(
        run: Run, instance: Path) -> None:
    asked = ("explain", "--as", "editor", "user.create", "--json")
    (instance / "invariants.csv").write_text("never, editor, user.create\n# end\n")
    add_line(instance / "users.csv", "p, editor, user.create, always, allow")
    edited = run(*asked)
    assert edited.exit_code == 2 and "forbids this" in edited.output
    keep(instance.parent / LAST_GOOD, Folder(instance, VOCABULARY).unjudged())
    served = run(*asked)
    assert json.loads(served.stdout)["verdict"] == "refused" and "no longer accepted" in served.stderr


def test_cases_that_are_a_fifo_are_not_waited_for(run: Run, instance: Path) -> None:
    os.mkfifo(instance / "tests.yaml")
    result = run("test")
    assert result.exit_code == 2 and "this is not a regular file" in result.stderr


def test_a_link_that_leads_nowhere_is_a_file_that_is_there(run: Run, instance: Path) -> None:
    (instance / "articles.csv").unlink()
    (instance / "articles.csv").symlink_to("nothing.csv")
    result = run("adopt", "articles")
    assert result.exit_code == 2 and "is there already" in result.stderr


QUESTIONS = [["matrix"], ["diff", "shipped"], ["explain", "--as", "user", "article.view"]]


@pytest.mark.parametrize("arguments", [["check"], ["test"], ["export"], ["adopt", "x"], ["adopt", "--new"], *QUESTIONS],
                         ids=" ".join)
def test_without_an_instance_a_command_says_so_and_leaves_with_2(
    run: Run, instance: Path, arguments: list[str]
) -> None:
    shutil.rmtree(instance)
    result = run(*arguments)
    assert result.exit_code == 2
    assert "Name a folder, or run: gatepost init" in result.stderr


@pytest.mark.parametrize("arguments", QUESTIONS, ids=" ".join)
def test_on_broken_files_a_command_says_what_is_broken_and_leaves_with_2(
    run: Run, instance: Path, arguments: list[str]
) -> None:
    add_line(instance / "contact.csv", "p, user, contact.view, always, dney")
    result = run(*arguments)
    assert result.exit_code == 2
    assert "contact.csv:7: `dney` is no effect" in result.stderr


# check


def test_check_finds_the_shipped_files_fine(run: Run) -> None:
    result = run("check")
    assert result.exit_code == 0
    assert result.stdout.startswith("Fine: ")


def test_check_names_every_error_with_its_line_and_leaves_with_1(run: Run, instance: Path) -> None:
    add_line(instance / "contact.csv", "p, usr, contact.view, always, allow")
    add_line(instance / "contact.csv", "p, user, contact.veiw, always, allow")
    result = run("check")
    assert result.exit_code == 1
    first, second, verdict = result.stdout.splitlines()
    assert first.startswith("contact.csv:7: `usr` is neither a role")
    assert second.startswith("contact.csv:8: `contact.veiw` is no permission")
    assert verdict == "2 errors."


def test_check_reads_another_folder(run: Run, tmp_path: Path) -> None:
    trial = shipped_copy(tmp_path / "trial")
    remove_line(trial / "roles.csv", "g, owner, support")
    assert run("check", trial).exit_code == 0
    (trial / "model.conf").unlink()
    assert run("check", trial).exit_code == 1


def test_an_instance_stands_for_the_folder_of_its_rules(run: Run, instance: Path, tmp_path: Path) -> None:
    other = shipped_copy(tmp_path / "other" / "policies").parent
    add_line(other / "policies" / "contact.csv", "p, user, contact.veiw, always, allow")
    assert run("check", instance.parent).exit_code == 0
    found = run("check", other)
    assert (found.exit_code, found.stdout.count("\n")) == (1, 2)
    assert "contact.csv:7: `contact.veiw` is no permission" in found.stdout
    assert run("matrix", instance.parent).exit_code == 0
    assert run("diff", instance.parent, other).exit_code == 2
    assert "contact.veiw" in run("explain", "--dir", other, "--as", "user", "order.view").stderr


def test_check_tells_of_a_single_file_what_is_wrong_with_it_in_its_folder(run: Run, tmp_path: Path) -> None:
    trial = shipped_copy(tmp_path / "trial")
    add_line(trial / "orders.csv", "p, support, order.view, always, allow")
    found = run("check", trial / "orders.csv")
    assert (found.exit_code, found.stdout.count("\n")) == (0, 2)
    assert "orders.csv:38: warning: the same as orders.csv:15" in found.stdout
    assert run("check", trial / "orders.csv", "--strict").exit_code == 1
    assert "orders.csv" not in run("check", trial / "contact.csv").stdout
    add_line(trial / "contact.csv", "p, user, contact.veiw, always, allow")
    for file in ("orders.csv", "model.conf"):
        found = run("check", trial / file)
        assert found.exit_code == 1, "these files cannot be used"
        assert found.stdout.startswith(f"{file}: 1 error in other files; see: gatepost policy check {trial}\n")
    found = json.loads(run("check", trial / "contact.csv", "--json").stdout)
    assert [(one["file"], one["line"]) for one in found["findings"]] == [("contact.csv", 7)]


def test_a_file_outside_of_a_policy_folder_is_checked_in_the_place_of_its_namesake(
    run: Run, instance: Path, tmp_path: Path
) -> None:
    draft, new = tmp_path / "contact.csv", tmp_path / "visits.csv"
    shutil.copyfile(instance / "contact.csv", draft)
    add_line(draft, "p, support, contact, delete")
    new.write_text("p, user, visit.view, own, allow\n# end\n")
    found = run("check", draft)
    assert found.exit_code == 1
    assert found.stdout.startswith("contact.csv:7: object and action are one column")
    assert "visits.csv:1: `visit.view` is no permission" in run("check", new).stdout
    draft.write_bytes((instance / "contact.csv").read_bytes())
    assert run("check", draft).stdout == run("check").stdout
    add_line(instance / "orders.csv", "p, user, order.veiw, own, allow")
    assert run("check", draft).stdout.startswith("contact.csv: 1 error in other files; see: gatepost policy check\n")


def test_check_refuses_a_file_that_is_none_of_a_policy(run: Run, tmp_path: Path) -> None:
    (tmp_path / "secret.key").write_text("hunter2")
    found = run("check", tmp_path / "secret.key")
    assert found.exit_code == 2
    assert "is no policy file: a .csv file, model.conf or tests.yaml" in found.stderr
    assert run("check", tmp_path / "nowhere").exit_code == 2


def test_who_asks_the_files_of_any_folder(tmp_path: Path) -> None:
    instance = Instance(tmp_path / "instance").made()
    trial = tmp_path / "trial"
    shutil.copytree(instance.folder / "policies", trial)
    remove_line(trial / "orders.csv", "p, manager, order.*, always, allow")
    add_line(trial / "orders.csv", "p, user, order.refund, office_hours, allow")
    mine = instance.run("policy", "who", "order.refund")
    assert mine.returncode == 0 and "admin.csv:" in mine.stdout
    assert instance.run("user", "add", "ada@example.org").returncode == 0
    asked = ("policy", "who", "--dir", str(trial), "--at", "2026-11-18T10:00", "order.refund")
    tried = instance.run(*asked)
    assert (tried.returncode, "ada@example.org  user  orders.csv:37" in tried.stdout) == (0, True), tried
    assert "ada@example.org" not in mine.stdout
    version = json.loads(instance.run(*asked, "--json").stdout)["policy_version"]
    assert version == load(trial, VOCABULARY).version
    (trial / "model.conf").unlink()
    broken = instance.run(*asked)
    assert (broken.returncode, "trial cannot be used" in broken.stderr) == (2, True)


def test_a_warning_does_not_change_the_exit_code(run: Run, instance: Path) -> None:
    add_line(instance / "contact.csv", "p, guest, contact.create, always, allow")
    result = run("check")
    assert result.exit_code == 0
    assert "warning: the same as contact.csv:4" in result.stdout


def test_a_missing_shipped_file_is_named_with_the_command_that_brings_it(run: Run, instance: Path) -> None:
    (instance / "orders.csv").unlink()
    result = run("check")
    assert result.exit_code == 1
    assert "gatepost policy adopt orders" in result.stdout
    for question in (["matrix"], ["explain", "--as", "user", "order.view"]):
        result = run(*question)
        assert result.exit_code == 2
        assert "gatepost policy adopt orders" in result.stderr
    assert run("diff", "shipped").exit_code == 1, "what an upgrade brought can be looked at before it is adopted"
    assert run("adopt", "orders").exit_code == 0
    assert run("check").exit_code == 0


def test_check_also_runs_the_cases_beside_the_files(run: Run, instance: Path) -> None:
    shutil.copyfile(SHIPPED / "tests.yaml", instance / "tests.yaml")
    assert run("check").exit_code == 0
    remove_line(instance / "users.csv", "p, user, user.view, always, allow")
    result = run("check")
    assert result.exit_code == 1
    assert "may not user.view" in result.stdout


def test_check_speaks_json(run: Run, instance: Path) -> None:
    assert json.loads(run("check", "--json").stdout)["fine"] is True
    add_line(instance / "contact.csv", "p, usr, contact.view, always, allow")
    result = run("check", "--json")
    data = json.loads(result.stdout)
    assert result.exit_code == 1
    assert (data["fine"], data["policy_version"]) == (False, None)
    [finding] = data["findings"]
    assert (finding["file"], finding["line"], finding["severity"]) == ("contact.csv", 7, "error")


def test_a_part_of_the_matcher_without_its_brackets_is_one_finding_and_no_rule_is_blamed(
    run: Run, instance: Path
) -> None:
    replace(instance / "model.conf", "'own_draft' && r.obj.owner_id == r.sub.id &&",
            "'own_draft' && r.obj.owner_id == r.sub.id ||")
    printed = run("check").stdout.splitlines()
    assert len(printed) == 2 and printed[0].startswith("model.conf:24: part of the matcher holds whatever")


def test_check_counts_warnings_where_it_is_strict(run: Run, instance: Path) -> None:
    assert run("check", "--strict").exit_code == 0
    add_line(instance / "contact.csv", "p, support, contact.delete, always, allow")
    assert run("check").exit_code == 0
    result = run("check", "--strict")
    assert result.exit_code == 1
    assert "Findings: " in result.stdout and "warning: the same as" in result.stdout
    assert json.loads(run("check", "--strict", "--json").stdout)["fine"] is False


@pytest.mark.parametrize("name", ["extra.CSV", "orders.csv.txt", "tests.yml", "Model.conf"])
def test_check_warns_of_a_file_that_is_nearly_called_like_one_that_is_read(
    run: Run, instance: Path, name: str
) -> None:
    (instance / name).write_text("p, guest, *, always, deny\n")
    result = run("check")
    assert result.exit_code == 0
    assert f"{name}: warning: nothing reads this file" in result.stdout


@pytest.mark.parametrize("name", ["orders.csv.bak", "orders.csv~", ".orders.csv.swp", "notes.txt"])
def test_check_says_nothing_of_the_files_that_editors_leave(run: Run, instance: Path, name: str) -> None:
    (instance / name).write_text("p, guest, *, always, allow\n")
    assert run("check", "--strict").exit_code == 0


@pytest.mark.parametrize(("arguments", "code"), [
    (("check",), 1), (("matrix",), 2), (("test",), 2), (("diff", "shipped"), 2),
    (("explain", "--as", "user", "article.view"), 2)], ids=lambda value: value[0] if isinstance(value, tuple) else "")
def test_with_json_a_broken_policy_is_json_with_its_findings(
    run: Run, instance: Path, arguments: tuple[str, ...], code: int
) -> None:
    shutil.copyfile(SHIPPED / "tests.yaml", instance / "tests.yaml")
    add_line(instance / "contact.csv", "p, usr, contact.view, always, allow")
    result = run(*arguments, "--json")
    assert (result.exit_code, result.stderr) == (code, "")
    data = json.loads(result.stdout)
    assert (data["policy_version"], data["fine"]) == (None, False)
    assert [(one["file"], one["line"], one["severity"]) for one in data["findings"]] == [("contact.csv", 7, "error")]
    assert "did you mean user?" in data["findings"][0]["message"]


@pytest.mark.parametrize("arguments", [
    ("check", "nowhere"), ("matrix", "nowhere"), ("export", "nowhere"), ("test", "nowhere"), ("diff", "nowhere"),
    ("matrix", "--role", "bishop"), ("explain", "--as", "user", "no.permission")])
def test_with_json_whatever_stops_a_command_is_json(run: Run, arguments: tuple[str, ...]) -> None:
    result = run(*arguments, "--json")
    assert (result.exit_code, result.stderr) == (2, "")
    data = json.loads(result.stdout)
    assert (data["policy_version"], data["fine"]) == (None, False)
    [finding] = data["findings"]
    assert (finding["file"], finding["line"], finding["severity"]) == ("", 0, "error")
    assert finding["message"]


# matrix


def test_matrix_shows_the_table(run: Run) -> None:
    result = run("matrix", "--role", "guest", "--role", "editor")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[0].split() == ["guest", "editor"]
    assert ["article.view", "published", "●"] in [line.split() for line in result.stdout.splitlines()]


def test_matrix_writes_a_page(run: Run, tmp_path: Path) -> None:
    result = run("matrix", "--html", tmp_path / "matrix.html")
    assert result.exit_code == 0
    assert (tmp_path / "matrix.html").read_text().startswith("<!doctype html>")
    assert (tmp_path / "matrix.html").stat().st_mode & 0o777 == 0o600
    assert run("matrix", "--html", "-").stdout == (tmp_path / "matrix.html").read_text()


def test_matrix_replaces_a_file_only_when_it_is_told_to(run: Run, tmp_path: Path) -> None:
    there = tmp_path / "articles.csv"
    there.write_text("p, guest, article.view, published, allow\n# end\n")
    before = there.read_text()
    result = run("matrix", "--html", there)
    assert (result.exit_code, there.read_text()) == (2, before)
    assert result.stderr == f"Error: {there} is there already; --overwrite replaces it.\n"
    assert run("matrix", "--html", there, "--overwrite").exit_code == 0
    assert there.read_text().startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("place", "sentence"),
    [
        ("missing/matrix.html", "cannot be written: No such file or directory."),
        ("instance", "is a link or no regular file; - writes to standard output."),
        ("/dev/null", "is a link or no regular file; - writes to standard output."),
        ("/proc/matrix.html", "cannot be written: No such file or directory."),
    ],
)
def test_matrix_says_where_it_cannot_write(run: Run, tmp_path: Path, place: str, sentence: str) -> None:
    result = run("matrix", "--html", tmp_path / place)
    assert (result.exit_code, result.stderr) == (2, f"Error: {tmp_path / place} {sentence}\n")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--overwrite"], "--overwrite replaces the file of --html, which is not given."),
        (["--html", "-", "--json"], "--json and --html - both write to standard output."),
        (["--role", "managr"], "there is no role 'managr'; did you mean manager?"),
        (["--resource", "orders"], "there is no resource 'orders'; did you mean order?"),
        (["--resource", "zzz"], "there is no resource 'zzz'\n"),
    ],
)
def test_matrix_refuses_what_makes_no_sense(run: Run, arguments: list[str], sentence: str) -> None:
    result = run("matrix", *arguments)
    assert result.exit_code == 2
    assert sentence in (result.stdout if "--json" in arguments else result.stderr)


def test_matrix_shows_chosen_resources_alone(run: Run) -> None:
    result = run("matrix", "--resource", "order", "--resource", "article", "--json")
    found = {permission.partition(".")[0] for permission in json.loads(result.stdout)["permissions"]}
    assert found == {"article", "order"}


def test_matrix_speaks_json(run: Run) -> None:
    data = json.loads(run("matrix", "--json").stdout)
    assert data["permissions"]["health.view"]["guest"]["allow"] == ["always"]


def test_matrix_refuses_a_role_that_is_none(run: Run) -> None:
    result = run("matrix", "--role", "boss")
    assert result.exit_code == 2
    assert "there is no role 'boss'" in result.stderr


# invariants


@pytest.fixture
def guarded(instance: Path) -> Path:
    """The instance with the shipped invariants."""
    shutil.copyfile(SHIPPED / "invariants.csv", instance / "invariants.csv")
    return instance


@pytest.mark.parametrize("command", [
    ("check",), ("test",), ("diff", "shipped"), ("matrix",), ("explain", "--as", "user", "user.create")])
def test_a_policy_that_breaks_an_invariant_is_used_by_no_command(run: Run, guarded: Path, command: tuple[str]) -> None:
    shutil.copyfile(SHIPPED / "tests.yaml", guarded / "tests.yaml")
    add_line(guarded / "users.csv", "p, editor, user.create, always, allow")
    result = run(*command)
    assert result.exit_code == (1 if command == ("check",) else result.exit_code) != 0
    said = result.stdout + result.stderr
    assert "users.csv:24: with this rule editor may user.create; invariants.csv:25 (`only, owner, user.*, " in said


def test_an_older_instance_adopts_the_shipped_invariants(run: Run, instance: Path) -> None:
    result = run("adopt", "invariants")
    assert result.exit_code == 0 and "Your rules keep it." in result.stdout
    assert (instance / "invariants.csv").read_bytes() == (SHIPPED / "invariants.csv").read_bytes()
    assert run("check").exit_code == 0


def test_invariants_that_the_rules_break_are_not_adopted(run: Run, instance: Path) -> None:
    add_line(instance / "users.csv", "p, editor, user.create, always, allow")
    result = run("adopt", "invariants")
    assert result.exit_code == 2 and not (instance / "invariants.csv").exists()
    assert "users.csv:24: with this rule editor may user.create; " in result.stderr
    assert f"or copy {SHIPPED / 'invariants.csv'} to" in result.stderr


def test_new_lines_that_break_an_invariant_are_not_adopted(run: Run, behind: Path) -> None:
    (behind / "invariants.csv").write_text("never, user, order.cancel\n# end\n")
    result = run("adopt", "--new", "--yes")
    assert result.exit_code == 2 and "invariants.csv:1 (`never, user, order.cancel`) forbids this" in result.stderr
    assert "order.cancel" not in (behind / "orders.csv").read_text()


def test_what_invariants_mention_is_new_all_the_same(run: Run, behind: Path) -> None:
    (behind / "invariants.csv").write_text("always, admin, order.cancel, always\n# end\n")
    assert run("adopt", "--new", "--yes").exit_code == 0
    remove_line(behind / "orders.csv", "p, user, order.cancel, own, allow")


def test_check_reports_invariants_that_are_gone_as_the_service_does(run: Run, guarded: Path, tmp_path: Path) -> None:
    Watcher(Folder(guarded, VOCABULARY, sample=0.02), keep=guarded.parent)
    (guarded / "invariants.csv").unlink()
    result = run("check")
    assert result.exit_code == 1 and "invariants.csv: the file is gone. Bring it back (`gatepost " in result.stdout
    # A folder for experiments has no history.
    assert run("check", shutil.copytree(guarded, tmp_path / "trial")).exit_code == 0
    (guarded / "invariants.csv").write_text("# end\n")
    assert run("check").exit_code == 0


def test_the_export_leaves_invariants_out(run: Run, guarded: Path) -> None:
    assert "invariants" not in run("export").stdout


# export and adopt


def test_export_prints_its_texts_or_writes_them_to_files(run: Run, tmp_path: Path) -> None:
    printed = run("export").stdout
    assert "[request_definition]" in printed
    assert "p, guest, article.view, published, allow" in printed
    assert run("export", "--to", tmp_path / "casbin").exit_code == 0
    assert (tmp_path / "casbin" / "model.conf").read_text() in printed
    assert (tmp_path / "casbin" / "policy.csv").read_text() in printed
    assert (tmp_path / "casbin" / "functions.js").read_text() in printed
    data = json.loads(run("export", "--json").stdout)
    assert data["model"] in printed
    assert data["functions"] in printed


@pytest.mark.parametrize("name", ["orders", "orders.csv", "model.conf", "model", "tests", "tests.yaml"])
def test_adopt_brings_a_shipped_file(run: Run, instance: Path, name: str) -> None:
    file = {"orders": "orders.csv", "model": "model.conf", "tests": "tests.yaml"}.get(name, name)
    (instance / file).unlink(missing_ok=True)
    assert run("adopt", name).exit_code == 0
    assert (instance / file).read_bytes() == (SHIPPED / file).read_bytes()
    assert not list(instance.glob(".*"))


def test_adopt_replaces_nothing(run: Run, instance: Path) -> None:
    add_line(instance / "orders.csv", "# mine")
    before = (instance / "orders.csv").read_bytes()
    result = run("adopt", "orders")
    assert result.exit_code == 2
    assert "is there already" in result.stderr
    assert (instance / "orders.csv").read_bytes() == before


@pytest.mark.parametrize("name", ["secrets", "../policies/orders.csv", "README.md", ""])
def test_adopt_brings_nothing_but_policy_files(run: Run, name: str) -> None:
    result = run("adopt", name)
    assert result.exit_code == 2
    assert f"No file {name!r} is shipped" in result.stderr and " There are: admin.csv, " in result.stderr


# adopt --new


@pytest.fixture
def behind(instance: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The policies of an instance from before orders could be cancelled."""
    monkeypatch.setattr(first_release, "PERMISSIONS", frozenset(VOCABULARY.by_permission) - {"order.cancel"})
    remove_line(instance / "orders.csv", "p, user, order.cancel, own, allow")
    remove_line(instance / "orders.csv", "p2, write:orders, order.cancel")
    add_line(instance / "users.csv", "p, editor, user.export, always, allow")
    return instance


def texts(folder: Path) -> dict[str, str]:
    return {file.name: file.read_text() for file in folder.iterdir()}


SHOWN = """\
orders.csv: p, user,    order.cancel,       own,    allow
orders.csv: p2, write:orders,  order.cancel
What changes:
+ order.cancel: never → own, for user, support, editor, moderator, developer
+ order.cancel: never → always, for scope write:orders
"""


def test_adopt_new_shows_what_it_would_write_and_asks(run: Run, behind: Path) -> None:
    before = texts(behind)
    for answer in ("n\n", "\n", ""):
        result = run("adopt", "--new", input=answer)
        assert result.exit_code == 1
        assert result.stdout.startswith(SHOWN)
        assert texts(behind) == before
    result = run("adopt", "--new", input="y\n")
    assert result.exit_code == 0 and "Written in" in result.stdout
    assert {name for name, text in texts(behind).items() if text != before[name]} == {"orders.csv"}
    assert run("check").exit_code == 0
    assert run("diff", "shipped").stdout.startswith("editor loses 1 (user.export)\n")
    assert not list(behind.glob(".*"))


def test_adopt_new_asks_nothing_where_yes_is_said_and_has_nothing_to_do_a_second_time(run: Run, behind: Path) -> None:
    assert run("adopt", "--new", "--yes").exit_code == 0
    adopted = texts(behind)
    result = run("adopt", "--new")
    assert (result.exit_code, result.stdout) == (
        0, "Nothing is new: your policy files mention every permission that came after 0.1.\n")
    assert texts(behind) == adopted


def test_adopt_tells_scripts_what_it_wrote(run: Run, behind: Path) -> None:
    result = run("adopt", "--new", "--json")
    assert result.exit_code == 2 and "Add --yes" in json.loads(result.stdout)["findings"][0]["message"]
    data = json.loads(run("adopt", "--new", "--yes", "--json").stdout)
    assert sorted(data) == ["changes", "conditions", "lines", "narrowed", "written"]
    assert data["written"] and set(data["lines"]) <= set(data["written"]) and data["changes"]
    assert json.loads(run("adopt", "--new", "--yes", "--json").stdout)["written"] == []
    (behind / "orders.csv").unlink()
    assert json.loads(run("adopt", "orders", "--json").stdout) == {"written": ["orders.csv"]}


def test_adopt_says_which_file_was_meant(run: Run) -> None:
    result = run("adopt", "oders")
    assert result.exit_code == 2 and "did you mean orders?" in result.stderr


def test_adopt_new_names_the_shipped_line_that_gives_less_and_leaves_the_own_one(run: Run, instance: Path) -> None:
    replace(instance / "comments.csv", "approved_public,", "approved,")
    before = texts(instance)
    result = run("adopt", "--new", "--yes")
    assert result.exit_code == 0
    assert result.stdout.startswith(
        "The shipped rules now say `p, guest, comment.view, approved_public, allow`, which gives less; yours stay: ")
    assert texts(instance) == before


def test_adopt_new_keeps_the_mode_of_a_file_and_the_link_that_leads_to_it(run: Run, behind: Path, tmp_path) -> None:
    real = (behind / "orders.csv").rename(tmp_path / "elsewhere.csv")
    (behind / "orders.csv").symlink_to(real)
    real.chmod(0o464)
    assert run("adopt", "--new", "--yes").exit_code == 0
    assert (behind / "orders.csv").is_symlink()
    assert real.stat().st_mode & 0o777 == 0o464
    assert "order.cancel" in real.read_text()


def test_adopt_new_overwrites_no_edit_that_is_made_while_it_asks(run: Run, behind: Path, monkeypatch) -> None:
    monkeypatch.setattr(click, "confirm", lambda *_, **__: add_line(behind / "orders.csv", "# mine"))
    result = run("adopt", "--new")
    assert result.exit_code == 2 and "was changed meanwhile" in result.stderr
    assert "# mine" in (behind / "orders.csv").read_text() and "order.cancel" not in (behind / "orders.csv").read_text()


def test_adopt_new_writes_nothing_that_a_case_of_ones_own_forbids(run: Run, behind: Path) -> None:
    (behind / "tests.yaml").write_text(
        "principals: {ann: {role: user}, visitor: {role: guest}}\nobjects: {order: {hers: {owner_id: ann}}}\n"
        "cases:\n  - {name: an order is final, who: [ann], what: hers,\n"
        "     may: [order.view, order.view_private, order.create, order.update]}\n"
        "  - {name: this one is wrong anyway, who: [visitor], what: hers, may: [order.refund]}\n")
    before = texts(behind)
    assert run("check").stdout.count("tests.yaml") == 1
    result = run("adopt", "--new", "--yes")
    assert result.exit_code == 2
    assert "cases would fail" in result.stderr and "order.cancel" in result.stderr
    assert "order.refund" not in result.stderr, "it fails already"
    assert texts(behind) == before


def test_adopt_new_writes_nothing_while_the_cases_of_ones_own_cannot_be_tried(run: Run, behind: Path) -> None:
    (behind / "tests.yaml").write_text("cases:\n  - {resource: order}\n")
    before = texts(behind)
    result = run("adopt", "--new", "--yes")
    assert result.exit_code == 2
    assert "tests.yaml cannot be used" in result.stderr and "tests.yaml:2: a case knows no 'resource'" in result.stderr
    assert texts(behind) == before


@pytest.mark.parametrize(("refused", "said"), [
    ("admin.csv", "Nothing is written. Fix this, and run it again."),
    ("orders.csv", "Written before: admin.csv. Run it again for the others."),
])
def test_adopt_new_says_how_far_it_came_where_a_file_cannot_be_written(
    run: Run, behind: Path, monkeypatch: pytest.MonkeyPatch, refused: str, said: str
) -> None:
    monkeypatch.setattr(first_release, "PERMISSIONS", first_release.PERMISSIONS - {"audit.view"})
    remove_line(behind / "admin.csv", "p, owner, audit.view, always, allow")

    def full(place: Path, content: bytes, *mode: int, **like: os.stat_result) -> None:
        if place.name == refused:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), f"{place}.fresh")
        write(place, content, *mode, **like)

    with monkeypatch.context() as patched:
        patched.setattr("blueprints.policy_changes.adoption.write", full)
        result = run("adopt", "--new", "--yes")
    assert result.exit_code == 2
    assert f"{refused} cannot be written: Read-only file system. {said}" in result.stderr
    assert run("check").exit_code == 0


def test_adopt_new_adds_nothing_to_files_that_cannot_be_used(run: Run, behind: Path) -> None:
    add_line(behind / "contact.csv", "p, user, contact.view, always, dney")
    before = texts(behind)
    result = run("adopt", "--new", "--yes")
    assert result.exit_code == 2 and "contact.csv:7: `dney` is no effect" in result.stderr
    assert texts(behind) == before


@pytest.mark.parametrize("arguments", [[], ["orders", "--new"], ["orders", "--yes"], ["--yes"]], ids=" ".join)
def test_adopt_takes_one_file_or_what_is_new(run: Run, arguments: list[str]) -> None:
    result = run("adopt", *arguments)
    assert result.exit_code == 2 and "Name one file, or use --new" in result.stderr


def test_a_file_that_came_after_0_1_need_not_be_there(instance: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(first_release, "FILES", first_release.FILES - {"orders.csv"})
    required = discover().required_policies
    assert "articles.csv" in required and "orders.csv" not in required
    (instance / "orders.csv").unlink()
    assert load(instance, VOCABULARY, required=required).rules


# explain, from the files


def test_explain_answers_for_a_role_from_the_files_alone(run: Run) -> None:
    result = run("explain", "--as", "guest", "article.update")
    assert result.exit_code == 0
    assert result.stdout.startswith("guest may not article.update: no rule gives article.update to guest\n")
    assert "others    user, support, moderator, manager, developer may (own_draft, shared_draft); " in result.stdout


@pytest.mark.parametrize(
    ("options", "verdict"),
    [
        (["--at", "2026-11-18T10:00"], "may stats.view: "),
        (["--at", "2026-11-18T22:00"], "the hour is 22, must be less than 18"),
        (["--at", "2026-11-21T10:00"], "the weekday (1 is Monday) is 6, must be less than 6"),
    ],
)
def test_explain_answers_for_another_time(run: Run, instance: Path, options: list[str], verdict: str) -> None:
    add_line(instance / "admin.csv", "p, user, stats.view, office_hours, allow")
    assert verdict in run("explain", "--as", "user", *options, "stats.view").stdout.splitlines()[0]


@pytest.mark.parametrize(
    ("options", "verdict"),
    [
        (["--ip", "10.1.2.3"], "may stats.view: "),
        (["--ip", "192.0.2.1"], "the caller's address is 192.0.2.1, which is not in 10.0.0.0/8"),
        ([], "the caller's address is missing, which is not in 10.0.0.0/8"),
    ],
)
def test_explain_answers_for_an_address(run: Run, instance: Path, options: list[str], verdict: str) -> None:
    add_line(instance / "admin.csv", "p, user, stats.view, intranet, allow")
    assert verdict in run("explain", "--as", "user", *options, "stats.view").stdout.splitlines()[0]


def test_explain_answers_for_a_token_with_scopes(run: Run) -> None:
    result = run("explain", "--as", "editor", "--scope", "read:articles", "article.update")
    assert "the token's scopes do not cover it" in result.stdout
    assert "needed    manage:articles or write:articles" in result.stdout


def test_explain_refuses_what_is_no_permission(run: Run) -> None:
    result = run("explain", "--as", "user", "article.fly")
    assert result.exit_code == 2
    assert "There is no permission 'article.fly'" in result.stderr


def test_explain_refuses_what_is_no_role(run: Run) -> None:
    result = run("explain", "--as", "boss", "article.view")
    assert result.exit_code == 2
    assert "There is no such user or role. Roles: admin, " in result.stderr


# explain: environment, other folders, expectations


@pytest.mark.parametrize(
    ("options", "line", "verdict"),
    [
        (["--at", "2026-11-18T22:00Z"], "office_hours", "the hour is 22, must be less than 18"),
        (["--at", "2026-11-18 22:30:00"], "office_hours", "the hour is 22, must be less than 18"),
        (["--at", "2026-11-18T22:00+08:00"], "office_hours", "may stats.view: "),
        (["--ip", "10.1.2.3"], "intranet", "may stats.view: "),
        (["--device", "mobile"], "on_a_phone", "may stats.view: "),
        ([], "on_a_phone", "the device is desktop, must be mobile"),
        (["--method", "POST"], "writing", "may stats.view: "),
        ([], "writing", "the kind of request is read, must be write"),
        (["--method", "HEAD"], "writing", "the kind of request is read, must be write"),
    ],
)
def test_explain_answers_for_other_circumstances(
    run: Run, instance: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], line: str, verdict: str
) -> None:
    monkeypatch.setenv("GATEPOST_TIME_ZONE", "UTC")
    model = instance / "model.conf"
    always = "p.when == 'always' || \\\n"
    model.write_text(model.read_text().replace(always, always + (
        "    p.when == 'on_a_phone' && r.env.device == 'mobile' || \\\n"
        "    p.when == 'writing' && r.env.request == 'write' || \\\n")))
    add_line(instance / "admin.csv", f"p, user, stats.view, {line}, allow")
    assert verdict in run("explain", "--as", "user", *options, "stats.view").stdout.splitlines()[0]


@pytest.mark.parametrize(
    ("options", "message"),
    sampled_rows([
        (["--at", "tomorrow"], "--at 'tomorrow': This is not a time"),
        (["--at", "2026-11-18"], "--at '2026-11-18': This is not a time"),
        (["--at", "0001-01-01T00:00Z"], "This is not a time"),
        (["--at", "2026-02-30T10:00"], "This is not a time"),
        (["--ip", "10.1.2"], "--ip '10.1.2': This is not an IP address."),
        (["--ip", "10.1.2.3:x"], "This is not an IP address."),
        (["--device", "fridge"], "--device 'fridge': Must be one of: desktop, mobile, tablet, bot, other"),
        (["--method", "FETCH"], "--method 'FETCH': Must be one of: GET"),
        (["--method", "post"], "--method 'post': Must be one of: GET"),
        (["--scope", "read:article"], "There is no scope 'read:article'; did you mean read:articles? Scopes: "),
        (["--scope", ""], "--scope ''"),
        (["--scope", "read:articles", "--as", "guest"], "A guest has no token"),
    ], 3),
)
@pytest.mark.parametrize("as_json", [False, True], ids=["text", "json"])
def test_circumstances_that_are_none_are_refused_and_never_passed_over(
    run: Run, options: list[str], message: str, as_json: bool
) -> None:
    result = run("explain", "--as", "user", *options, *(["--json"] if as_json else []), "article.view")
    assert result.exit_code == 2
    assert message in (json.loads(result.stdout)["findings"][0]["message"] if as_json else result.stderr)


def test_an_address_is_asked_about_as_the_service_reads_it(run: Run) -> None:
    for spelled in ("[::ffff:203.0.113.7]:443", "203.0.113.7:80", "203.0.113.7"):
        told = json.loads(run("explain", "--as", "user", "--ip", spelled, "--json", "article.view").stdout)
        assert told["circumstances"]["ip"] == "203.0.113.7"


def test_explain_suggests_the_permission_and_the_role_that_were_meant(run: Run) -> None:
    assert "'articl.view'; did you mean article.view?" in run("explain", "--as", "user", "articl.view").stderr
    assert "role; did you mean moderator?" in run("explain", "--as", "moderater", "article.view").stderr
    error = json.loads(run("explain", "--json", "--as", "moderater", "article.view").stdout)["findings"][0]["message"]
    assert error.startswith("There is no such user or role; did you mean moderator? Roles: ")


def test_explain_asks_the_files_of_any_folder(run: Run, instance: Path, tmp_path: Path) -> None:
    trial = shipped_copy(tmp_path / "trial")
    remove_line(trial / "articles.csv", "p, guest, article.view, published, allow")
    assert "depending on the object" in run("explain", "--as", "guest", "article.view").stdout
    assert "may not article.view" in run("explain", "--dir", trial, "--as", "guest", "article.view").stdout
    shutil.rmtree(instance)
    assert run("explain", "--dir", trial, "--as", "guest", "article.view").exit_code == 0


def test_explain_tells_what_is_wrong_with_the_files_as_json(run: Run, instance: Path) -> None:
    add_line(instance / "contact.csv", "p, user, contact.view, always, dney")
    result = run("explain", "--json", "--as", "user", "article.view")
    data = json.loads(result.stdout)
    assert result.exit_code == 2
    assert [(one["file"], one["line"]) for one in data["findings"]] == [("contact.csv", 7)]
    assert "dney" in data["findings"][0]["message"]


@pytest.mark.parametrize(
    ("who", "permission", "expected", "code"),
    [
        ("editor", "stats.view", "refused", 0), ("editor", "stats.view", "allowed", 1),
        ("editor", "stats.view", "hidden", 1), ("manager", "stats.view", "allowed", 0),
        ("user", "article.update", "allowed", 1), ("user", "article.update", "refused", 1),
        ("user", "article.fly", "refused", 2), ("nobody", "article.view", "refused", 2),
    ],
)
def test_an_expectation_is_an_exit_code(run: Run, who: str, permission: str, expected: str, code: int) -> None:
    result = run("explain", "--as", who, "--expect", expected, permission)
    assert result.exit_code == code, result.output
    if code == 1:
        found = "it depends on the object" if permission == "article.update" else "it is "
        assert f"Expected {expected}, and {found}" in result.stderr


def test_an_unknown_expectation_is_refused(run: Run) -> None:
    assert run("explain", "--as", "user", "--expect", "maybe", "article.view").exit_code == 2


# explain, from the rows

Rowed = SimpleNamespace  # ask, and the ids of what was inserted


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rowed]:
    """A complete instance with two users, three articles and a share."""
    folder = Instance(tmp_path_factory.mktemp("rows") / "instance").made().folder
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GATEPOST_INSTANCE", str(folder))
        database = open_database(f"sqlite:///{folder / 'gatepost.db'}", pool_size=1, synchronous="normal",
                                 statement_timeout=5)
        with database.connected():
            tenant = Tenant.by_name("default")
            assert tenant is not None
            found = database.transact(lambda: _filled(tenant.id))
        database.close_all()

        app = create_app()  # one for all commands of the module

        def ask(*arguments: str) -> Result:
            return CliRunner().invoke(policy, ["explain", *arguments], obj=lambda _, **_options: app)

        yield Rowed(ask=ask, **found)


def _filled(tenant: str) -> dict[str, str]:
    users, articles = Rows(User, tenant), Rows(Article, tenant)
    ann = users.insert(User(name="Ann", email="ann@example.org", password_hash="!", role="user"))
    users.insert(User(name="Gone", email="gone@example.org", password_hash="!", role="user", active=False))
    bob = users.insert(User(name="Bob", email="bob@example.org", password_hash="!", role="user"))

    def article(slug: str, owner: User, status: str) -> str:
        row = Article(title=slug, slug=slug, body="…", owner_id=owner.id, status=status, language="en")
        return str(articles.insert(row).id)

    elsewhere = Tenant.add("elsewhere").id
    foreign = Article(title="foreign", slug="foreign", body="…", status="published", language="en")
    root = User.by_email("admin@example.org")
    assert root is not None
    shared = article("shared", bob, "draft")
    share.grant(tenant, "article", shared, f"user:{ann.id}", "write")
    return {
        "own": article("own", ann, "draft"),
        "published": article("published", bob, "published"),
        "hidden": article("hidden", bob, "draft"),
        "shared": shared,
        "foreign": str(Rows(Article, elsewhere).insert(foreign).id),
        "root": str(root.id),
        "bob": str(bob.id),
        "ann": str(ann.id),
    }


def test_an_allowed_object_is_explained_by_its_line_and_facts(rows: Rowed) -> None:
    result = rows.ask("--as", "ann@example.org", "article.update", rows.own)
    assert result.exit_code == 0, result.output
    first, *rest = result.stdout.splitlines()
    assert first.startswith(f"ann@example.org (user) may article.update on {rows.own}: articles.csv:")
    assert "allows it (own_draft)" in first
    assert f"            ✓ owner_id is {rows.ann} (Ann, ann@example.org), the caller's id" in rest
    assert f"  object    {rows.own} (own)" in rest
    assert "  answer    200, to PATCH /api/articles/<id>" in rest


def test_a_refused_object_is_explained_by_the_missing_fact(rows: Rowed) -> None:
    result = rows.ask("--as", "ann@example.org", "article.update", rows.published)
    assert result.exit_code == 0, result.output
    assert "ann@example.org (user) may not article.update" in result.stdout
    assert f"✗ owner_id is {rows.bob} (Bob, bob@example.org), must be the caller's id, {rows.ann} (Ann" in result.stdout
    assert "  answer    403 forbidden, to PATCH /api/articles/<id>" in result.stdout
    assert "hidden" not in result.stdout


def test_a_hidden_object_is_explained_as_hidden(rows: Rowed) -> None:
    result = rows.ask("--as", "ann@example.org", "article.update", rows.hidden)
    assert result.exit_code == 0, result.output
    assert "hidden    ann@example.org cannot even view it: the answer is 404" in result.stdout
    assert f"ann@example.org (user) may not article.view on {rows.hidden}: " in result.stdout
    data = json.loads(rows.ask("--json", "--as", "ann@example.org", "article.update", rows.hidden).stdout)
    assert (data["verdict"], data["hidden"]) == ("refused", True)


def test_a_shared_object_is_explained_by_the_share(rows: Rowed) -> None:
    result = rows.ask("--as", "ann@example.org", "article.update", rows.shared)
    assert "✓ it is shared with the caller for update" in result.stdout
    assert "may not article.delete" in rows.ask("--as", "ann@example.org", "article.delete", rows.shared).stdout


def test_a_role_is_explained_on_an_object(rows: Rowed) -> None:
    assert "editor may article.delete" in rows.ask("--as", "editor", "article.delete", rows.hidden).stdout
    assert "guest may not article.view" in rows.ask("--as", "guest", "article.view", rows.hidden).stdout


def test_a_person_is_explained_without_an_object(rows: Rowed) -> None:
    assert "may article.update, depending on the object" in rows.ask("--as", "Ann@Example.org", "article.update").stdout


def test_a_disabled_person_is_answered_401(rows: Rowed) -> None:
    result = rows.ask("--as", "gone@example.org", "article.view", rows.published)
    assert result.exit_code == 0
    assert f"gone@example.org (user) may not article.view on {rows.published}: the account is disabled" in result.stdout
    assert "  answer    401 invalid_token, to GET /api/articles/<id>" in result.stdout


def test_a_row_of_another_tenant_is_explained_as_hidden(rows: Rowed) -> None:
    result = rows.ask("--as", "ann@example.org", "article.view", rows.foreign)
    assert result.exit_code == 0, result.output
    assert "the object belongs to another tenant" in result.stdout.splitlines()[0]
    assert "✗ tenant: the object belongs to another tenant (404 not_found)" in result.stdout
    assert rows.ask("--as", "ann@example.org", "--expect", "hidden", "article.view", rows.foreign).exit_code == 0


@pytest.mark.parametrize(("name", "expected"), [("own", "allowed"), ("published", "refused"), ("hidden", "hidden")])
def test_an_expectation_about_an_object_tells_hidden_from_refused(rows: Rowed, name: str, expected: str) -> None:
    for word in ("allowed", "refused", "hidden"):
        result = rows.ask("--as", "ann@example.org", "--expect", word, "article.update", getattr(rows, name))
        assert result.exit_code == int(word != expected), result.output


def test_an_action_from_another_state_is_a_rule_in_code(rows: Rowed) -> None:
    result = rows.ask("--as", "editor", "article.submit", rows.published)
    assert "status is published; status must be draft (articles.csv:" in result.stdout.splitlines()[0]
    assert "  answer    409 invalid_transition, to POST /api/articles/<id>/submit" in result.stdout
    assert "✗ state: status is published; status must be draft (409 invalid_transition)" in result.stdout


def test_a_user_of_a_higher_rank_is_a_rule_in_code(rows: Rowed) -> None:
    data = json.loads(rows.ask("--json", "--as", "owner", "user.disable", rows.root).stdout)
    assert (data["verdict"], data["policy_verdict"], data["status"]) == ("refused", "allowed", 403)
    rank = data["rules"][0]
    assert (rank["name"], rank["holds"], rank["status"]) == ("rank", False, 403)
    assert rank["text"].startswith("the user's role is admin, none of the caller's roles: editor, manager, ")


def test_persons_and_objects_of_the_instance_are_asked_about_under_other_files(rows: Rowed, tmp_path: Path) -> None:
    trial = shipped_copy(tmp_path / "trial")
    add_line(trial / "articles.csv", f"p, user:{rows.ann}, article.update, always, deny")
    result = rows.ask("--dir", str(trial), "--as", "ann@example.org", "article.update", rows.own)
    assert "denies it (always)" in result.stdout.splitlines()[0]
    assert f"p, user:{rows.ann}, article.update, always, deny  (Ann, ann@example.org)" in result.stdout


def test_another_request_for_the_permission_that_is_answered_otherwise_is_named(rows: Rowed, tmp_path: Path) -> None:
    trial = shipped_copy(tmp_path / "trial")
    model, always = trial / "model.conf", "p.when == 'always' || \\\n"
    model.write_text(model.read_text().replace(
        always, f"{always}    p.when == 'by_put' && r.env.method == 'PUT' || \\\n"))
    add_line(trial / "articles.csv", "p, editor, article.update, by_put, deny")
    asked = ("--dir", str(trial), "--as", "editor", "article.update", rows.own)
    told = rows.ask(*asked).stdout.splitlines()
    assert told[2:4] == ["  answer    200, to PATCH /api/articles/<id>",
                         "  otherwise 403 forbidden, to PUT /api/articles/<id>"]
    assert "otherwise" not in rows.ask(*asked, "--method", "PUT").stdout


def test_what_the_request_needs_besides_is_asked_too(rows: Rowed, tmp_path: Path) -> None:
    trial = shipped_copy(tmp_path / "trial")
    for line in ("article.view, always, deny", "article.export, always, allow"):
        add_line(trial / "articles.csv", f"p, support, {line}")
    (trial / "invariants.csv").unlink(missing_ok=True)
    result = rows.ask("--dir", str(trial), "--as", "support", "--expect", "refused", "article.export")
    assert result.exit_code == 0, result.output
    assert "may not article.export: the caller can view none of these (articles.csv:" in result.stdout
    assert "  answer    403 forbidden, to GET /api/articles/export" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--as", "nobody@example.org", "article.view"], "There is no such user or role"),
        (["--as", "ann@example.org", "article.view", "0199f3a0-0000-7000-8000-000000000009"], "There is no article"),
        (["--as", "ann@example.org", "article.view", "7"], "'7' is not an id"),
        (["--as", "ann@example.org", "stats.view", "0199f3a0-0000-7000-8000-000000000009"], "stats is not a coll"),
    ],
)
def test_an_unknown_user_role_or_object_is_refused(rows: Rowed, arguments: list[str], message: str) -> None:
    result = rows.ask(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr


# A rule that shows a hidden field

SUPPORT_SEES = "p, support, order.view_private, always, allow"


def test_every_tool_knows_a_permission_that_shows_a_field(run: Run, instance: Path, tmp_path: Path) -> None:
    trial = shipped_copy(tmp_path / "trial")
    add_line(trial / "orders.csv", SUPPORT_SEES)
    changed = run("diff", instance, trial)
    assert changed.exit_code == 1
    assert "support" in changed.stdout and "order.view_private" in changed.stdout
    cells = {folder: json.loads(run("matrix", folder, "--resource", "order", "--json").stdout)["permissions"]
             ["order.view_private"]["support"]["allow"] for folder in (instance, trial)}
    assert cells == {instance: ["own"], trial: ["always"]}
    asked = ("--as", "support", "order.view_private")
    assert "orders.csv" in run("explain", *asked, "--dir", trial).stdout
    scoped = run("explain", *asked, "--scope", "read:orders", "--dir", trial, "--json")
    assert json.loads(scoped.stdout)["verdict"] == "allowed", "as far as its owner has it, a token has it, too"
    scoped = run("explain", *asked, "--scope", "read:articles", "--dir", trial, "--json")
    assert json.loads(scoped.stdout)["verdict"] == "refused"


def test_an_invariant_keeps_a_field_from_a_role(run: Run, instance: Path) -> None:
    (instance / "invariants.csv").write_text("atmost, support, order.view_private, own\n# end\n")
    assert run("check").exit_code == 0
    add_line(instance / "orders.csv", SUPPORT_SEES)
    refused = run("check")
    assert refused.exit_code == 1
    assert "invariants.csv:1" in refused.stdout + refused.stderr
