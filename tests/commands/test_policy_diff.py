"""`gatepost policy diff`: the changes that another folder would make to an instance, on either database."""

from __future__ import annotations

import json
import os
import pty
import shutil
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from blueprints.policy_changes.affected_rows import NOTHING as NO_ROW
from gatepost.commands import printing
from gatepost.commands.policy_output import compared
from policies import SHIPPED, load
from policies.comparison.prover import Comparison
from policies.questions.changes import NOTHING
from policies.questions.replay import READS
from tests.policies.editing import add_line, remove_line
from tests.policies.shipped_vocabulary import VOCABULARY
from tests.running import PASSWORD, Instance

OWN = "p, user, comment.update, own, allow"
UPDATERS = "user, support, editor, manager, developer"


@pytest.fixture
def trial(instance: Instance, tmp_path: Path) -> Path:
    """A copy of the instance's rules, to edit."""
    shutil.copytree(instance.folder / "policies", tmp_path / "trial")
    return tmp_path / "trial"


def test_a_fresh_instance_differs_from_the_shipped_files_in_nothing(instance: Instance) -> None:
    done = instance.run("policy", "diff", "shipped")
    assert (done.returncode, done.stdout) == (0, f"{NOTHING}\n")


def test_it_tells_what_a_folder_would_change_here_and_leaves_with_1(instance: Instance, trial: Path) -> None:
    add_line(trial / "comments.csv", OWN)
    done = instance.run("policy", "diff", str(trial))
    assert done.returncode == 1
    summary, _, change, *details = done.stdout.splitlines()
    assert summary == f"{UPDATERS} gain 1 (comment.update)"
    assert change == "+ comment.update: own_pending → own_pending, own"
    assert details[0] == f"    for    {UPDATERS}"
    assert details[1].startswith("    gains  for example: ") and "owner_id is the caller's id" in details[1]
    assert details[2].startswith("    rule   comments.csv:")


def test_somebody_at_a_terminal_sees_how_far_it_has_come_and_a_pipe_gets_nothing_of_it(
    instance: Instance, trial: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert instance.run("policy", "diff", str(trial)).stderr == ""
    monkeypatch.setattr(printing, "PATIENCE", 0.0)
    leader, follower = pty.openpty()
    with os.fdopen(follower, "w") as terminal, monkeypatch.context() as patched:
        patched.setattr(sys, "stderr", terminal)
        assert not compared(*[load(SHIPPED, VOCABULARY)] * 2)
    shown = b""
    with suppress(OSError):  # after the last byte, because no writer is left
        while chunk := os.read(leader, 1 << 16):
            shown += chunk
    os.close(leader)
    of = len(VOCABULARY.by_permission)
    *steps, blank, rest = shown.decode().split("\r")[1:]
    assert steps == [f"Permissions compared: {number} of {of}" for number in range(of)]
    assert blank.isspace() and rest == "", "it is gone when it ends"


def test_a_quick_comparison_shows_nothing_on_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    leader, follower = pty.openpty()
    with os.fdopen(follower, "w") as terminal, monkeypatch.context() as patched:
        patched.setattr(sys, "stderr", terminal)
        patched.setattr(printing, "monotonic", lambda: 0.0)
        assert not compared(*[load(SHIPPED, VOCABULARY)] * 2)
        os.set_blocking(leader, False)
        with pytest.raises(BlockingIOError):
            os.read(leader, 1)
    os.close(leader)


def test_the_old_rules_are_those_of_the_instance_unless_they_are_named(instance: Instance, trial: Path) -> None:
    add_line(trial / "comments.csv", OWN)
    here = str(instance.folder / "policies")
    assert instance.run("policy", "diff", here, str(trial)) == instance.run("policy", "diff", str(trial))
    assert instance.run("policy", "diff", str(trial), here).stdout.startswith(f"{UPDATERS} lose 1 (comment.update)\n")


def test_shipped_on_the_left_tells_what_other_rules_do_beyond_the_shipped_ones(
    instance: Instance, trial: Path
) -> None:
    add_line(trial / "comments.csv", OWN)
    done = instance.run("policy", "diff", "shipped", str(trial))
    assert (done.returncode, done.stdout.splitlines()[0]) == (1, f"{UPDATERS} gain 1 (comment.update)")


def test_json_has_the_summary_and_each_change_with_its_witness(instance: Instance, trial: Path) -> None:
    remove_line(trial / "session.csv", "p, guest, user.register, always, allow")
    done = instance.run("policy", "diff", str(trial), "--json")
    assert done.returncode == 1
    data = json.loads(done.stdout)
    [change] = data["changes"]
    assert (change["permission"], change["change"], change["before"], change["after"]) == (
        "user.register", "less", "always", None)
    assert change["lost"]["text"] == "always" and data["summary"][0]["loses"] == ["user.register"]
    assert data["old"] != data["new"]


def test_without_the_database_a_person_is_tried_with_each_role_and_with_it_with_the_stored_one(
    instance: Instance, trial: Path
) -> None:
    for role in ("user", "editor"):
        add_line(trial / "articles.csv", f"p, user:{_person(instance, role)}, article.publish, own, allow")

    def listed(*options: str) -> list[tuple[list[str], list[str]]]:
        done = instance.run("policy", "diff", str(trial), "--json", *options)
        return [(change["who"], change["having"]) for change in json.loads(done.stdout)["changes"]]

    [(who, having)] = listed()
    assert len(who) == 2 and "user" in having and "editor" not in having
    keys = {role: f"user:{_person(instance, role)}" for role in ("user", "editor")}
    assert listed("--instance") == [([keys["user"]], [])], "an editor may publish anyway"


def _person(instance: Instance, role: str) -> str:
    """Returns the id of a user with that role, whom the first call creates."""
    email = f"{role}@example.org"
    instance.run("user", "add", email, "--role", role)
    [line] = [line for line in instance.run("user", "list").stdout.splitlines() if email in line]
    return next(word for word in line.split() if word.count("-") == 4)


def test_what_could_not_be_decided_is_said_and_leaves_with_1(
    instance: Instance, trial: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_line(trial / "comments.csv", OWN)
    monkeypatch.setattr("policies.questions.answers.Comparison", partial(Comparison, most=0))
    done = instance.run("policy", "diff", str(trial))
    assert done.returncode == 1 and "? comment.update: " in done.stdout


def test_with_rows_it_counts_whom_stored_rows_are_hidden_from_and_shown_to(instance: Instance, trial: Path) -> None:
    add_line(trial / "comments.csv", OWN)
    done = instance.run("policy", "diff", str(trial), "--rows")
    assert done.returncode == 1 and done.stdout.splitlines()[-2:] == ["Stored rows:", f"  {NO_ROW}"]
    add_line(trial / "users.csv", "p, guest, user.view, always, allow")
    done = instance.run("policy", "diff", str(trial), "--rows", "--json")
    data = json.loads(done.stdout)
    assert data["summary"] and data["rows"]["not_counted"] == []
    [guests] = [change for change in data["rows"]["changes"] if change["role"] == "guest"]
    assert (guests["permission"], guests["lost"]["rows"], guests["gained"]["users"]) == ("user.view", 0, None)
    assert guests["gained"]["rows"] == len(instance.run("user", "list").stdout.splitlines())


def test_without_an_instance_there_are_no_rows_to_count(empty: Instance, trial: Path) -> None:
    done = empty.run("policy", "diff", "shipped", str(trial), "--rows")
    assert done.returncode == 2 and "Run: gatepost init" in done.stderr


@pytest.mark.parametrize("arguments", [[], ["shipped"] * 3], ids=len)
def test_it_takes_one_folder_or_two(instance: Instance, arguments: list[str]) -> None:
    assert instance.run("policy", "diff", *arguments).returncode == 2


def test_a_folder_that_cannot_be_used_leaves_with_2(instance: Instance, trial: Path) -> None:
    add_line(trial / "articles.csv", "p, user, article.updat, own, allow")
    done = instance.run("policy", "diff", str(trial))
    assert done.returncode == 2 and "article.updat" in done.stderr


def test_without_an_instance_the_roles_of_persons_cannot_be_asked_for(empty: Instance, trial: Path) -> None:
    done = empty.run("policy", "diff", "shipped", str(trial), "--instance")
    assert done.returncode == 2 and "Run: gatepost init" in done.stderr


# Replay


@pytest.fixture(scope="module")
def recorded(instance: Instance) -> None:
    """An instance in which a guest has registered, and was refused an article."""
    with instance.answering() as served:
        assert served.call("POST", "/api/register", {
            "name": "Ann", "email": "ann@example.org", "password": PASSWORD})[0] == 201
        assert served.call("POST", "/api/articles", {"title": "T", "slug": "t", "body": "b"})[0] == 401


def test_a_replay_tells_whom_the_new_rules_would_have_refused_and_let_in(
    instance: Instance, trial: Path, recorded: None
) -> None:
    remove_line(trial / "session.csv", "p, guest, user.register, always, allow")
    add_line(trial / "articles.csv", "p, guest, article.create, always, allow")
    (trial / "invariants.csv").write_text("# end\n")
    done = instance.run("policy", "diff", str(trial), "--replay", "1h")
    lines = done.stdout.splitlines()
    assert done.returncode == 1
    assert next(line for line in lines if line.startswith("− user.register: 1 refused now")).split()[-1].startswith(
        "session.csv:")
    assert any(line.startswith("+ article.create: 1 let in by articles.csv:") for line in lines)
    assert lines[-1] == READS
    data = json.loads(instance.run("policy", "diff", str(trial), "--replay", "1h", "--json").stdout)
    [group] = data["replay"]["refused_now"]["groups"]
    assert (group["who"], group["count"], len(group["examples"])) == ("guest", 1, 1)


def test_the_same_rules_change_nothing_of_what_was_recorded(instance: Instance, trial: Path, recorded: None) -> None:
    done = instance.run("policy", "diff", str(trial), "--replay", "7d", "--json")
    found = json.loads(done.stdout)["replay"]
    assert done.returncode == 0
    assert found["decisions"] == found["unchanged"] >= 2


@pytest.mark.parametrize("window", ["7", "0d", "d", "-1d", "7w", "12345d", "٧d", "7d "])
def test_a_window_is_a_number_of_days_or_hours(instance: Instance, window: str) -> None:
    done = instance.run("policy", "diff", "shipped", f"--replay={window}")
    assert done.returncode == 2 and "such as 7d or 24h" in done.stderr


def test_a_replay_needs_an_instance(empty: Instance, trial: Path) -> None:
    done = empty.run("policy", "diff", "shipped", str(trial), "--replay", "7d")
    assert done.returncode == 2 and "Run: gatepost init" in done.stderr
