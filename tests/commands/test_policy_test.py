"""`gatepost policy test`: the cases and rules of a run, the rules that the cases reach, and reports for machines."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree as ET

import click
import pytest
from click.testing import CliRunner, Result

from blueprints.policy.commands import cases
from blueprints.policy.commands.group import policy
from gatepost.commands import policy_files
from policies import SHIPPED
from policies.loading import first_release
from tests.policies.editing import add_line, remove_line, shipped_copy
from tests.policies.shipped_vocabulary import VOCABULARY

Run = Callable[..., Result]
USER_VIEW = "p, user, user.view, always, allow"
FINE = """principals: {ann: {role: user}}
cases: [{name: reading, who: ann, what: health, may: [health.view]}]
"""
WRONG = FINE.replace("health", "stats")


@pytest.fixture
def instance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The policies of an instance without its own cases. The current folder is the one above it."""
    monkeypatch.setenv("GATEPOST_INSTANCE", str(tmp_path / "instance"))
    monkeypatch.chdir(tmp_path)
    shipped = SimpleNamespace(vocabulary=VOCABULARY, plugin_policies={}, collections={}, by_resource={},
                              required_policies=sorted(first_release.FILES))
    monkeypatch.setattr(policy_files, "registry", lambda: shipped)
    return shipped_copy(tmp_path / "instance" / "policies")


@pytest.fixture
def run(instance: Path) -> Run:
    def invoke(*arguments: str | Path) -> Result:
        result = CliRunner().invoke(policy, [*map(str, arguments)])
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return result

    return invoke


# Selection of cases and rules


def test_without_cases_of_its_own_an_instance_is_asked_the_shipped_ones(run: Run, instance: Path) -> None:
    result = run("test", "--coverage")
    assert result.exit_code == 0
    assert f"No tests.yaml in instance/policies: the shipped cases are run, {SHIPPED / 'tests.yaml'}" in result.stderr
    assert result.stdout.startswith("Fine: ") and "cases of shipped/tests.yaml, " in result.stdout
    assert result.stdout.endswith("(100 %).\n")


def test_they_are_asked_of_the_rules_that_the_instance_has_and_fail_where_these_differ(
    run: Run, instance: Path
) -> None:
    remove_line(instance / "users.csv", USER_VIEW)
    result = run("test")
    assert result.exit_code == 1
    wrong, *_, summary = result.stdout.splitlines()
    assert wrong.startswith("shipped/tests.yaml:") and "may not user.view" in wrong
    assert summary.startswith("Findings: ")
    assert ("If a difference is meant, copy the cases (gatepost policy adopt tests), "
            "and change the case in instance/policies/tests.yaml.") in result.stderr


def test_the_cases_can_be_adopted_then_and_changed_until_they_say_what_is_meant(run: Run, instance: Path) -> None:
    remove_line(instance / "users.csv", USER_VIEW)
    adopted = run("adopt", "tests")
    assert adopted.exit_code == 0
    assert "instance/policies/tests.yaml is adopted." in adopted.stdout
    assert "Your rules give " in adopted.stdout and "See: gatepost policy test" in adopted.stdout
    result = run("test")
    assert result.exit_code == 1 and result.stdout.startswith("tests.yaml:") and result.stderr == ""
    file = instance / "tests.yaml"
    file.write_text(file.read_text().replace("user.view, ", "").replace("[user.view]", "[]"))
    add_line(instance / "users.csv", USER_VIEW)
    assert run("test").exit_code == 1, "the changed cases say that nobody views users"


@pytest.mark.parametrize(("edit", "said"), [
    (lambda folder: None, "before it uses changed rules.\n"),
    (lambda folder: (folder / "roles.csv").unlink(), "They cannot be run now. See: gatepost policy check\n"),
], ids=["fine", "broken"])
def test_adopting_the_cases_says_whether_the_rules_pass_them(
    run: Run, instance: Path, edit: Callable[[Path], None], said: str
) -> None:
    edit(instance)
    result = run("adopt", "tests")
    assert result.exit_code == 0 and result.stdout.endswith(said)


def test_what_came_with_an_upgrade_is_named_with_the_command_that_adds_it(
    run: Run, instance: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(first_release, "PERMISSIONS", frozenset(VOCABULARY.by_permission) - {"order.cancel"})
    remove_line(instance / "orders.csv", "p, user, order.cancel, own, allow")
    remove_line(instance / "orders.csv", "p2, write:orders, order.cancel")
    result = run("test")
    assert result.exit_code == 1
    assert ("These came with an upgrade: order.cancel. Add the shipped rules: gatepost policy adopt --new"
            in result.stderr)


def test_a_trial_folder_without_cases_is_asked_the_shipped_ones(run: Run, tmp_path: Path) -> None:
    trial = shipped_copy(tmp_path / "trial")
    assert run("test", "trial").exit_code == 0
    remove_line(trial / "users.csv", USER_VIEW)
    result = run("test", "trial")
    assert result.exit_code == 1
    assert f"(cp {SHIPPED / 'tests.yaml'} trial/tests.yaml), and change the case in trial/tests.yaml." in result.stderr


def test_cases_of_its_own_are_the_only_ones(run: Run, instance: Path) -> None:
    (instance / "tests.yaml").write_text(WRONG)
    result = run("test")
    assert (result.exit_code, result.stderr) == (1, "")
    wrong, summary = result.stdout.splitlines()
    assert wrong == "tests.yaml:2: reading: ann may not stats.view, and should: no rule gives it to user"
    assert summary.startswith(
        "Findings: 1 case of instance/policies/tests.yaml, 1 question, 1 wrong answer, 0 of ")


def test_check_tells_a_wrong_answer_in_the_same_words(run: Run, instance: Path) -> None:
    (instance / "tests.yaml").write_text(WRONG)
    assert run("test").stdout.splitlines()[0] in run("check").stdout.splitlines()


def test_what_tests_nothing_is_told_and_fails_nothing(run: Run, instance: Path) -> None:
    (instance / "tests.yaml").write_text(FINE.replace("ann: {role: user}", "ann: {role: user}, bob: {role: user}"))
    for command in ("test", "check"):
        result = run(command)
        assert result.exit_code == 0
        assert "tests.yaml:1: warning: no case asks about the principal 'bob'" in result.stdout


def test_a_shipped_file_that_is_missing_is_no_rule_to_test(run: Run, instance: Path) -> None:
    (instance / "orders.csv").unlink()
    result = run("test")
    assert result.exit_code == 2 and "gatepost policy adopt orders" in result.stderr


def test_cases_that_cannot_be_read_leave_with_2(run: Run, instance: Path) -> None:
    (instance / "tests.yaml").write_text("cases: []\ncase: []\n")
    result = run("test")
    assert result.exit_code == 2
    assert "tests.yaml:2: the file knows no 'case'; did you mean cases?" in result.stderr


# Coverage


def test_the_number_of_lines_that_were_reached_is_always_told(run: Run, instance: Path) -> None:
    (instance / "tests.yaml").write_text(FINE)
    result = run("test")
    assert result.exit_code == 0
    lines = sum(line.startswith(("p,", "p2,", "g,")) for file in instance.glob("*.csv")
                for line in file.read_text().splitlines())
    # guest's health.view, which user inherits
    assert result.stdout == ("Fine: 1 case of instance/policies/tests.yaml, 1 question, 0 wrong answers, "
                             f"2 of {lines} rules reached (1 %).\n")


def test_coverage_names_the_lines_without_a_case_and_leaves_with_1(run: Run, instance: Path) -> None:
    (instance / "tests.yaml").write_text(FINE)
    result = run("test", "--coverage")
    assert result.exit_code == 1
    assert "articles.csv:4: warning: no case reaches this rule" in result.stdout
    assert "admin.csv:4:" not in result.stdout
    assert result.stdout.endswith("rules reached (1 %, and 100 % are required).\n")


@pytest.mark.parametrize(("floor", "code"), [("0", 0), ("1", 0), ("2", 1), ("100", 1)])
def test_coverage_may_have_a_floor(run: Run, instance: Path, floor: str, code: int) -> None:
    (instance / "tests.yaml").write_text(FINE)
    result = run("test", f"--coverage={floor}")
    assert result.exit_code == code
    assert "articles.csv:4: warning: no case reaches this rule" in result.stdout
    assert (f"(1 %, and {floor} % are required)" in result.stdout) is bool(code)


@pytest.mark.parametrize(("arguments", "folder", "floor"), [
    (["--coverage", "trial"], "trial", 100),
    (["trial", "--coverage"], "trial", 100),
    (["--coverage=7", "trial"], "trial", 7),
    (["--coverage", "--json"], "instance/policies", 100),
    (["--coverage", "--", "--coverage"], "--coverage", 100),
    (["--", "--coverage"], "--coverage", None),
], ids=str)
def test_only_behind_an_equals_sign_coverage_has_a_value(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], folder: str, floor: int | None
) -> None:
    asked: list[tuple[Path, int | None]] = []

    def tried(place: Path, asked_for: int | None) -> Any:
        asked.append((place, asked_for))
        raise click.ClickException("seen")

    (tmp_path / "trial").mkdir()
    (tmp_path / "--coverage").mkdir()
    monkeypatch.setattr(cases, "_tried", tried)
    assert run("test", *arguments).exit_code == 2
    [(place, asked_for)] = asked
    assert (place.absolute(), asked_for) == (tmp_path / folder, floor)


@pytest.mark.parametrize(("argument", "said"), [
    ("--coverage=101", "101 is not in the range"), ("--coverage=-1", "-1 is not in the range"),
    ("--coverage=most", "'most' is not a valid integer"), ("--coverage=", "is not a valid integer"),
])
def test_a_floor_is_a_percentage(run: Run, argument: str, said: str) -> None:
    result = run("test", argument)
    assert result.exit_code == 2 and said in result.stderr


def test_a_floor_behind_a_blank_is_told_how_it_is_written(run: Run) -> None:
    result = run("test", "--coverage", "80")
    assert result.exit_code == 2 and "Write --coverage=80; a word after a blank is DIR." in result.stderr


# JSON


def test_in_json_a_wrong_answer_is_told_in_fields(run: Run, instance: Path) -> None:
    file = instance / "tests.yaml"
    file.write_text("principals: {ann: {role: user}}\nobjects: {article: {a draft: {owner_id: bob, status: draft}}}\n"
                    "cases: [{name: hers, who: ann, what: a draft, may: [article.submit]}]\n")
    result = run("test", "--json")
    data = json.loads(result.stdout)
    assert result.exit_code == 1
    told = {"fine": False, "cases_file": str(file), "cases_shipped": False, "cases": 1, "lines_reached": 0}
    assert {key: data[key] for key in told} == told
    assert data["lines"] > 100 and data["questions"] == len(VOCABULARY.resources["article"].permissions)
    [finding] = data["findings"]
    line = 1 + (instance / "articles.csv").read_text().splitlines().index(
        "p, user,      article.submit,       own,          allow")
    assert finding == {
        "file": "tests.yaml", "line": 3, "severity": "error",
        "message": f"hers: ann may not article.submit on 'a draft', and should: articles.csv:{line} needs own",
        "case": "hers", "who": "ann", "permission": "article.submit", "object": "a draft", "expected": "allowed",
        "decided_by": None, "nearest": {"file": "articles.csv", "line": line},
    }


def test_in_json_the_shipped_cases_are_marked(run: Run, instance: Path) -> None:
    remove_line(instance / "users.csv", USER_VIEW)
    data = json.loads(run("test", "--json").stdout)
    assert (data["cases_shipped"], data["cases_file"]) == (True, str(SHIPPED / "tests.yaml"))
    assert {finding["file"] for finding in data["findings"]} == {"shipped/tests.yaml"}


def broken_rules(instance: Path) -> None:
    add_line(instance / "contact.csv", "p, user, contact.view, always, dney")


def broken_cases(instance: Path) -> None:
    (instance / "tests.yaml").write_text("cases: []\ncase: []\n")


def unreadable_cases(instance: Path) -> None:
    (instance / "tests.yaml").symlink_to("nothing.yaml")


@pytest.mark.parametrize(("edit", "file", "line", "said"), [
    (broken_rules, "contact.csv", 7, "`dney` is no effect"),
    (broken_cases, "tests.yaml", 2, "the file knows no 'case'"),
    (unreadable_cases, "tests.yaml", 0, "the file cannot be read"),
    (shutil.rmtree, "", 0, "There is no folder instance/policies."),
], ids=lambda value: getattr(value, "__name__", ""))
def test_where_it_cannot_run_json_says_so_too_and_it_leaves_with_2(
    run: Run, instance: Path, edit: Callable[[Path], None], file: str, line: int, said: str
) -> None:
    edit(instance)
    result = run("test", "--json")
    data = json.loads(result.stdout)
    assert result.exit_code == 2
    assert (data["policy_version"], data["fine"]) == (None, False)
    [finding] = data["findings"]
    assert (finding["file"], finding["line"], finding["severity"]) == (file, line, "error")
    assert said in finding["message"]


# JUnit


def test_the_result_is_also_written_as_junit_xml(run: Run, instance: Path, tmp_path: Path) -> None:
    (instance / "tests.yaml").write_text(WRONG)
    result = run("test", "--coverage=50", "--junit", "report.xml")
    assert result.exit_code == 1
    root = ET.parse(tmp_path / "report.xml").getroot()
    assert (root.tag, root.get("tests"), root.get("failures")) == ("testsuites", "1", "1")
    [case] = root.iter("testcase")
    assert (case.get("name"), case.get("file"), case.get("line")) == ("reading", "instance/policies/tests.yaml", "2")
    properties = {one.get("name"): one.get("value") for one in root.iter("property")}
    assert properties == {"policy_version": json.loads(run("test", "--json").stdout)["policy_version"],
                          "coverage": "0", "lines": properties["lines"], "lines_reached": "0"}
    [output] = root.iter("system-out")
    assert "articles.csv:4: warning: no case reaches this rule" in (output.text or "")
    assert "(0 %, and 50 % are required)" in (output.text or "")
    assert not [file for file in tmp_path.iterdir() if file.name.startswith(".")]


def test_an_earlier_report_is_replaced(run: Run, instance: Path, tmp_path: Path) -> None:
    (tmp_path / "report.xml").touch()
    for text, failures in ((WRONG, "1"), (FINE, "0")):
        (instance / "tests.yaml").write_text(text)
        run("test", "--junit", "report.xml")
        assert ET.parse(tmp_path / "report.xml").getroot().get("failures") == failures


def test_nothing_but_an_earlier_report_is_replaced(run: Run, instance: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo.xml")
    (tmp_path / "link.xml").symlink_to(instance / "articles.csv")
    (tmp_path / "other.xml").write_text("mine")
    before = (instance / "articles.csv").read_bytes()
    for name, said in (("fifo.xml", "no regular file"), ("link.xml", "is a link"), ("other.xml", "is no XML"),
                       (instance / "articles.csv", "is no XML"), (instance, "is a directory"),
                       ("none/report.xml", "cannot be written: No such file")):
        result = run("test", "--junit", name)
        assert result.exit_code == 2 and said in result.stderr
    assert (tmp_path / "other.xml").read_text() == "mine"
    assert (instance / "articles.csv").read_bytes() == before


def test_a_report_that_cannot_be_written_is_told_in_json_too(run: Run) -> None:
    result = run("test", "--json", "--junit", "none/report.xml")
    [finding] = json.loads(result.stdout)["findings"]
    assert result.exit_code == 2 and "cannot be written" in finding["message"]


def test_where_nothing_could_be_tested_no_report_is_written(run: Run, instance: Path, tmp_path: Path) -> None:
    broken_rules(instance)
    assert run("test", "--junit", "report.xml").exit_code == 2
    assert not (tmp_path / "report.xml").exists()


def test_a_disk_that_fails_leaves_no_half_report(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    result = run("test", "--junit", "report.xml")
    assert result.exit_code == 2 and "cannot be written: No space left on device" in result.stderr
    assert sorted(file.name for file in tmp_path.iterdir()) == ["instance"]


# The time zone of the settings


def test_the_clock_of_cases_is_that_of_the_time_zone_of_the_settings(
    run: Run, instance: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_line(instance / "admin.csv", "p, user, stats.view, office_hours, allow")
    for clock in ("2026-11-18T02:30:00Z", "2026-11-18T08:00:00", "2026-11-18T03:30:00+01:00"):
        (instance / "tests.yaml").write_text(f"clock: {clock}\n{WRONG.replace('health.view', 'stats.view')}")
        answers = []
        for zone in ("Asia/Kolkata", "America/New_York"):
            monkeypatch.setenv("GATEPOST_TIME_ZONE", zone)
            answers.append((run("test").exit_code, run("check").exit_code))
        assert answers == ([(0, 0), (0, 0)] if clock.endswith("08:00:00") else [(0, 0), (1, 1)]), clock
