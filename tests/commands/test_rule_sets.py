"""`gatepost init --rules small`: the instance keeps to the rule set that it began with."""

from __future__ import annotations

import shutil

import pytest

from policies.loading.rule_sets import FOLDERS, SMALL, files_of
from tests.running import Instance

SIX = ["guest", "member", "user", "staff", "owner", "admin"]


def begun(instance, *options: str):
    done = instance.run("init", "--no-demo", *options)
    assert done.returncode == 0, done.stderr
    return instance


@pytest.mark.both_databases
def test_an_instance_begins_with_the_small_set_and_is_compared_with_it(empty):
    begun(empty, "--rules", "small")
    policies = empty.folder / "policies"
    assert {file.name for file in policies.iterdir()} == {*files_of(SMALL), "README.md"} - {"tests.yaml"}
    assert (policies / "roles.csv").read_bytes() == (FOLDERS[SMALL] / "roles.csv").read_bytes()
    same = empty.run("policy", "diff", "shipped")
    assert same.returncode == 0, same.stdout + same.stderr
    asked = empty.run("policy", "test")
    assert asked.returncode == 0, asked.stdout + asked.stderr
    assert "cases of shipped/tests.yaml" in asked.stdout
    assert empty.run("policy", "check").returncode == 0
    assert "Nothing is new" in empty.run("policy", "adopt", "--new").stdout

    file = policies / "articles.csv"
    file.write_text(file.read_text().replace("p, staff, article.*,            always,       allow\n", ""))
    assert "staff" in empty.run("policy", "diff", "shipped").stdout
    back = empty.run("policy", "revert", "shipped", "--yes")
    assert back.returncode == 0, back.stderr
    assert file.read_bytes() == (FOLDERS[SMALL] / "articles.csv").read_bytes()


@pytest.mark.both_databases
def test_adopt_takes_files_and_new_lines_of_the_small_set(empty):
    begun(empty, "--rules", "small")
    policies = empty.folder / "policies"
    assert empty.run("policy", "adopt", "tests").returncode == 0
    assert (policies / "tests.yaml").read_bytes() == (FOLDERS[SMALL] / "tests.yaml").read_bytes()
    (policies / "jobs.csv").unlink()
    (policies / "invariants.csv").write_text("# Nothing.\n# end\n")
    new = empty.run("policy", "adopt", "--new", "--yes")
    assert new.returncode == 0, new.stdout + new.stderr
    assert (policies / "jobs.csv").read_bytes() == (FOLDERS[SMALL] / "jobs.csv").read_bytes()
    assert empty.run("policy", "test").returncode == 0


def test_the_rules_of_an_instance_are_chosen_once(empty):
    begun(empty)
    refused = empty.run("init", "--rules", "small")
    assert refused.returncode == 1
    assert "began with the full rule set" in refused.stderr
    assert "gatepost policy apply" in refused.stderr
    assert "nothing was changed" in empty.run("init", "--rules", "full").stdout
    assert empty.run("policy", "diff", "shipped").returncode == 0
    unknown = empty.run("init", "--rules", "tiny")
    assert unknown.returncode == 2
    assert "'full', 'small'" in unknown.stderr


def test_a_run_that_was_killed_is_completed_with_the_rules_that_it_copied(empty):
    begun(empty, "--rules", "small")
    for file in empty.folder.glob("gatepost.db*"):
        file.unlink()
    shutil.rmtree(empty.folder / "history", ignore_errors=True)
    begun(empty, "--new-key")
    assert empty.run("policy", "diff", "shipped").returncode == 0
    assert empty.run("init", "--rules", "full").returncode == 1


def test_a_lost_policy_folder_is_made_again_with_the_same_rules(empty):
    begun(empty, "--rules", "small")
    shutil.rmtree(empty.folder / "policies")
    begun(empty)
    assert (empty.folder / "policies" / "roles.csv").read_bytes() == (FOLDERS[SMALL] / "roles.csv").read_bytes()


@pytest.mark.both_databases
def test_an_instance_without_a_mark_has_the_full_set(empty):
    """An instance of an older version, whose table lacks the column, as before its migrations."""
    begun(empty)
    with empty.database() as database:
        database.make("ALTER TABLE instance DROP COLUMN rules")
    same = empty.run("policy", "diff", "shipped")
    assert same.returncode == 0, same.stdout + same.stderr


def test_a_database_that_cannot_be_read_is_no_reason_to_compare_with_other_rules(tmp_path):
    instance = begun(Instance(tmp_path / "instance"), "--rules", "small")
    (instance.folder / "gatepost.db").write_bytes(b"no database" * 1000)
    failed = instance.run("policy", "diff", "shipped")
    assert failed.returncode == 2
    assert "restore a backup" in failed.stderr
    assert "Traceback" not in failed.stderr
    assert failed.stdout == ""


def test_the_demo_has_users_of_its_roles(empty):
    done = empty.run("init", "--rules", "small")
    assert done.returncode == 0, done.stderr
    roles = {line.split()[1] for line in empty.run("user", "list").stdout.splitlines()}
    assert roles <= set(SIX)
    assert {"user", "staff", "owner", "admin"} <= roles
