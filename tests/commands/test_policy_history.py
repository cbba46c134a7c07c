"""`gatepost policy log | show | revert | accept | apply`, beside a service that follows the files."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing

import pytest

from gatepost.commands import install
from gatepost.rules import change
from policies import SHIPPED
from tests.running import Instance, wait_until

OPEN = "p, guest, product.view, always, allow"


def log(instance) -> list[dict]:
    done = instance.run("policy", "log", "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def edit(instance, name: str, line: str) -> None:
    edit_in(instance.folder / "policies" / name, line)


def edit_in(file, line: str) -> None:
    file.write_text(file.read_text().replace("# end", f"{line}\n# end"))


def versions_of_processes(instance) -> set[str]:
    """Returns the policy versions that the serving processes reported with their last heartbeat."""
    with closing(sqlite3.connect(instance.folder / "gatepost.db")) as database:
        return {version for version, in database.execute("SELECT policy_version FROM nodes")}


class Health:
    """The health of a server, as its administrator sees it."""

    def __init__(self, server):
        self._server, self._token = server, server.log_in()

    def __getitem__(self, name: str) -> str:
        return self._server.call("GET", "/api/health", token=self._token)[1][name]


@pytest.mark.slow
def test_a_policy_is_changed_in_eight_ways_and_the_history_tells_each(instance, tmp_path):
    """The changes beside two workers: an edit, a new file, a removed file, `accept`, `apply`, `revert`, a repaired
    broken edit, and an edit without a server."""
    if "GATEPOST_DATABASE_URL" in instance.environment:
        pytest.skip("the history itself is tried on both (tests/rules/test_history.py)")
    policies, seen = instance.folder / "policies", []

    def settled(health, cause):
        seen.append(cause)
        wait_until(lambda: len(log(instance)) >= len(seen)
                   and health["policy_version"] == log(instance)[0]["version"])
        assert [row["cause"] for row in reversed(log(instance))] == seen, "each once, though two workers see it"
        return log(instance)[0]["version"]

    seen.append("start")
    with instance.served("--workers", "2") as server:
        health, first = Health(server), log(instance)[0]["version"]
        edit(instance, "products.csv", OPEN)
        second = settled(health, "files")
        (policies / "mine.csv").write_text("p, support, order.approve, always, allow\n# end\n")
        third = settled(health, "files")
        wait_until(lambda: versions_of_processes(instance) == {third})  # a worker that never read it lacks nothing
        (policies / "mine.csv").unlink()
        wait_until(lambda: health["status"] == "degraded")
        assert health["policy_version"] == third, "the last good one stays"
        done = instance.run("policy", "accept", "--yes", "--note", "no longer needed")
        assert done.returncode == 0, done.stderr
        assert "− order.approve: always → never" in done.stdout
        assert settled(health, "accept") == second
        wait_until(lambda: health["status"] == "ok")
        shutil.copytree(policies, tmp_path / "trial")
        (tmp_path / "trial" / "products.csv").write_text(
            (policies / "products.csv").read_text().replace(OPEN, "p, guest, product.view, active, allow"))
        assert instance.run("policy", "apply", str(tmp_path / "trial"), "--yes").returncode == 0
        applied = settled(health, "command")
        assert instance.run("policy", "revert", first[:8], "--yes").returncode == 0
        assert settled(health, "revert") == first
        edit(instance, "products.csv", "p, guest, prduct.view, always, allow")
        wait_until(lambda: health["status"] == "degraded")
        assert len(log(instance)) == len(seen), "what is broken was never in force"
        edit(instance, "products.csv", "# mended")
        (policies / "products.csv").write_text((policies / "products.csv").read_text().replace("prduct", "product"))
        settled(health, "files")
    edit(instance, "products.csv", "# while nothing is served")
    with instance.served() as server:
        settled(Health(server), "start")
    assert applied not in (first, second, third)
    rows = log(instance)
    assert [row["cause"] for row in reversed(rows)] == seen
    assert [row["note"] for row in rows if row["cause"] == "accept"] == ["no longer needed"]
    assert {row["by"] for row in rows} == {"system", "operator"}


@pytest.fixture(scope="module", autouse=True)
def started(instance):
    """Starts the service once, so that the policy history has the policy of the first start for every test."""
    with instance.answering():
        pass


def test_show_gives_each_file_as_it_was(instance):
    version = log(instance)[-1]["version"]
    shown = instance.run("policy", "show", version[:8])
    assert shown.returncode == 0 and "articles.csv" in shown.stdout and version in shown.stdout
    file = instance.run("policy", "show", version[:8], "articles.csv")
    assert file.stdout == (instance.folder / "policies" / "articles.csv").read_text()
    assert json.loads(instance.run("policy", "show", version, "--json").stdout)["files"]["articles.csv"] == file.stdout


@pytest.mark.parametrize(("arguments", "said"), [
    (("show", "0000000"), "No policy 0000000 was in force"), (("show", "f" * 16), "was in force"),
    (("show", "%_%_%_%_%"), "was in force"), (("revert", "f" * 16, "--yes"), "was in force"),
    (("apply", "/nowhere", "--yes"), "There is no folder")])
def test_what_is_not_there_is_a_sentence(instance, arguments, said):
    done = instance.run("policy", *arguments)
    assert done.returncode == 2 and said in done.stderr


def test_show_names_the_files_where_there_is_none_of_that_name(instance):
    done = instance.run("policy", "show", log(instance)[-1]["version"], "../secret.key")
    assert done.returncode == 2 and "has no file" in done.stderr and "articles.csv" in done.stderr


def test_nothing_is_changed_without_a_yes(instance):
    edit(instance, "products.csv", "# a remark")
    before = {file.name: file.read_bytes() for file in (instance.folder / "policies").iterdir()}
    number = len(log(instance))
    done = instance.run("policy", "revert", log(instance)[-1]["version"], input="n\n")
    assert done.returncode == 1 and "Apply it?" in done.stdout
    assert {file.name: file.read_bytes() for file in (instance.folder / "policies").iterdir()} == before
    assert len(log(instance)) == number


def test_what_breaks_a_check_is_not_put_in_force(instance, tmp_path):
    trial = tmp_path / "trial"
    shutil.copytree(instance.folder / "policies", trial)
    (trial / "contact.csv").write_text("p, guest, contact.view, always, allow\n# end\n")
    done = instance.run("policy", "apply", str(trial), "--yes")
    assert done.returncode == 2 and "invariants.csv" in done.stderr
    assert "contact.view, always" not in (instance.folder / "policies" / "contact.csv").read_text()


def test_a_folder_that_is_broken_is_named_and_not_the_one_of_the_instance(instance, tmp_path):
    policies, trial = instance.folder / "policies", tmp_path / "trial"
    shutil.copytree(policies, trial)
    (trial / "products.csv").write_text("p, guest, prduct.view, always, allow\n# end\n")
    done = instance.run("policy", "apply", str(trial), "--yes")
    assert done.returncode == 2 and str(policies) not in done.stderr
    assert f"{trial} cannot be used:\n  products.csv:1: " in done.stderr
    (trial / "products.csv").write_text((policies / "products.csv").read_text())
    edit_in(trial / "products.csv", OPEN)
    cases = policies / "tests.yaml"
    cases.write_text("principals: {visitor: {role: guest}}\nobjects: {product: {a draft: {status: draft}}}\n"
                     "cases: [{name: drafts are hidden, who: visitor, what: a draft, may: []}]\n")
    try:
        done = instance.run("policy", "apply", str(trial), "--yes")
        assert done.returncode == 2 and f"{trial} cannot be used:\n  {cases}:3: drafts are hidden: " in done.stderr
        cases.write_text(cases.read_text().replace("may: []", "may: [product.view]"))
        done = instance.run("policy", "revert", "shipped", "--yes")
        assert done.returncode == 2 and f"policy shipped cannot be used:\n  {cases}:3: " in done.stderr
    finally:
        cases.unlink()


def names(instance) -> set[str]:
    return {file.name for file in (instance.folder / "policies").iterdir()}


@pytest.mark.parametrize("source", ["files", "database"])
def test_what_init_wrote_is_reverted_to_though_nothing_was_served_yet(empty, tmp_path, source):
    made = Instance(empty.folder, {**empty.environment, "GATEPOST_POLICY_SOURCE": source}).initialised()
    policies, trial = made.folder / "policies", tmp_path / "trial"
    if source == "files":
        [row] = log(made)
        assert (row["cause"], row["by"]) == ("start", "system")
    shutil.copytree(policies, trial)
    edit_in(trial / "products.csv", OPEN)
    (trial / "mine.csv").write_text("p, support, order.approve, always, allow\n# end\n")
    assert made.run("policy", "apply", str(trial), "--yes").returncode == 0
    changed, first = log(made)
    assert (changed["cause"], first["cause"]) == ("command", "start")
    done = made.run("policy", "revert", first["version"][:8], "--yes")
    assert done.returncode == 0, done.stderr
    assert [row["cause"] for row in log(made)] == ["revert", "command", "start"]
    assert log(made)[0]["version"] == first["version"]
    with made.answering() as service:
        assert service.call("GET", "/api/health", token=service.log_in())[1]["policy_version"] == first["version"]
    assert [row["cause"] for row in log(made)] == ["revert", "command", "start"]
    assert OPEN not in (policies / "products.csv").read_text()


def test_a_history_that_an_older_version_has_not_begun_begins_with_the_first_change(empty, tmp_path, monkeypatch):
    monkeypatch.setattr(install, "_begin_history", lambda *_: None)
    made = empty.initialised()
    assert log(made) == []
    shutil.copytree(made.folder / "policies", tmp_path / "trial")
    edit_in(tmp_path / "trial" / "products.csv", OPEN)
    assert made.run("policy", "apply", str(tmp_path / "trial"), "--yes").returncode == 0
    assert [row["cause"] for row in log(made)] == ["command", "start"]
    monkeypatch.undo()
    assert "nothing was changed" in made.run("init").stdout and len(log(made)) == 2


def test_the_shipped_rules_are_reverted_to_by_their_name(empty, tmp_path):
    made, trial = empty.made(), tmp_path / "trial"
    before = names(made)
    shutil.copytree(made.folder / "policies", trial)
    edit_in(trial / "products.csv", OPEN)
    (trial / "mine.csv").write_text("p, support, order.approve, always, allow\n# end\n")
    assert made.run("policy", "apply", str(trial), "--yes").returncode == 0
    assert names(made) == before | {"mine.csv"}
    done = made.run("policy", "revert", "shipped", "--yes", "--note", "as it came")
    assert done.returncode == 0, done.stderr
    assert "− order.approve: always → never" in done.stdout
    assert names(made) == before
    assert (made.folder / "policies" / "products.csv").read_text() == (SHIPPED / "products.csv").read_text()
    assert (log(made)[0]["cause"], log(made)[0]["note"]) == ("revert", "as it came")
    assert made.run("policy", "diff", "shipped").returncode == 0


def test_a_folder_that_cannot_be_written_leaves_everything_as_it_was(instance, tmp_path, monkeypatch):
    trial, policies = tmp_path / "trial", instance.folder / "policies"
    shutil.copytree(policies, trial)
    edit_in(trial / "orders.csv", "# another remark")
    before, number = {file.name: file.read_bytes() for file in policies.iterdir()}, len(log(instance))
    kept = (instance.folder / "policy.last-good.json").read_bytes()

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(change, "fresh_file", full)
    done = instance.run("policy", "apply", str(trial), "--yes")
    assert done.returncode == 2 and "The files cannot be written: No space left on device" in done.stderr
    assert {file.name: file.read_bytes() for file in policies.iterdir()} == before
    assert (instance.folder / "policy.last-good.json").read_bytes() == kept and len(log(instance)) == number


def test_a_note_is_short(instance):
    assert instance.run("policy", "accept", "--note", "x" * 501).returncode == 2


def test_new_files_get_the_owner_and_the_mode_of_the_others(instance, tmp_path):
    trial, policies = tmp_path / "trial", instance.folder / "policies"
    shutil.copytree(policies, trial)
    (policies / "model.conf").chmod(0o640)
    (trial / "new.csv").write_text("p, support, order.approve, always, allow\n# end\n")
    assert instance.run("policy", "apply", str(trial), "--yes").returncode == 0
    assert (policies / "new.csv").stat().st_mode & 0o777 == 0o640
    assert [file.name for file in policies.iterdir() if file.name.startswith(".")] == []
