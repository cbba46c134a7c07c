"""policy_source=database: commands use the rules in the database, and never the files of one node."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from gatepost.rules.exported import EDITED
from policies.loading.files import own_text
from tests.running import Instance

OPEN = "p, guest, product.view, always, allow"


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> tuple[Instance, Instance]:
    """Two nodes whose rules are in their database. No test changes them."""
    folder = tmp_path_factory.mktemp("nodes")
    stored = {"GATEPOST_DATABASE_URL": f"sqlite:///{folder}/shared.sqlite", "GATEPOST_POLICY_SOURCE": "database"}
    first, second = Instance(folder / "a", stored).made(), Instance(folder / "b", stored)
    assert first.run("doctor").returncode == 0
    second.folder.mkdir(mode=0o700)
    shutil.copy(first.folder / "secret.key", second.folder)
    assert second.run("init", "--no-demo").returncode == 0
    return first, second


@pytest.fixture
def first(nodes: tuple[Instance, Instance], tmp_path: Path) -> Instance:
    """A node whose rules are in the database."""
    return nodes[0].copied(tmp_path / "a")


@pytest.fixture
def second(nodes: tuple[Instance, Instance], first: Instance, tmp_path: Path) -> Instance:
    return Instance(shutil.copytree(nodes[1].folder, tmp_path / "b"), first.environment)


def in_files(node: Instance) -> Instance:
    """The same node without the setting."""
    return Instance(node.folder, {"GATEPOST_DATABASE_URL": node.environment["GATEPOST_DATABASE_URL"]})


def edit(node: Instance, name: str = "products.csv") -> Path:
    file = node.folder / "policies" / name
    text = file.read_text()
    assert "# end" in text
    file.write_text(text.replace("# end", f"{OPEN}\n# end"))
    return file


def versions(node: Instance) -> list[str]:
    done = node.run("policy", "log", "--json")
    assert done.returncode == 0, done.stderr
    return [one["version"] for one in json.loads(done.stdout)]


class TestANodeWhoseSettingWasForgotten:
    def test_does_not_start_and_puts_nothing_in_force(self, first, second):
        before = versions(first)
        edit(second)
        done = in_files(second).run("doctor")
        assert done.returncode == 1
        assert 'policy_source = "database"' in done.stdout and "gatepost policy accept" in done.stdout
        assert versions(first) == before

    @pytest.mark.parametrize("command", [("apply", "trial", "--yes"), ("revert", "VERSION", "--yes")],
                             ids=["apply", "revert"])
    def test_changes_nothing_by_a_command(self, first, second, tmp_path, monkeypatch, command):
        monkeypatch.chdir(tmp_path)
        shutil.copytree(edit(second).parent, tmp_path / "trial")
        before = versions(first)
        done = in_files(second).run("policy", *(before[0] if word == "VERSION" else word for word in command))
        assert (done.returncode, 'policy_source = "database"' in done.stderr) == (2, True), done
        assert versions(first) == before

    def test_makes_its_files_the_rules_once_an_operator_accepts_them(self, first, second):
        before = versions(first)
        edit(second)
        done = in_files(second).run("policy", "accept", "--yes")
        assert done.returncode == 0, done.stderr
        assert "each node uses its own files" in done.stdout
        assert len(versions(first)) == len(before) + 1
        done = in_files(second).run("doctor")
        assert done.returncode == 0, done.stdout

    def test_is_told_apart_from_an_instance_of_files_that_becomes_one_of_the_database(self, tmp_path):
        files = Instance(tmp_path / "c", {"GATEPOST_DATABASE_URL": f"sqlite:///{tmp_path}/other.sqlite"}).made()
        assert files.run("doctor").returncode == 0
        edit(files)
        assert files.run("doctor").returncode == 0
        before = versions(files)
        assert len(before) == 2
        stored = Instance(files.folder, {**files.environment, "GATEPOST_POLICY_SOURCE": "database"})
        assert stored.run("doctor").returncode == 0
        assert versions(stored) == before, "the newest policy stays"
        assert files.run("doctor").returncode == 1


class TestCommandsAskTheDatabase:
    """The node's export is edited or old, but the commands report the rules in force."""

    def test_what_a_guest_may_is_explained_by_the_rules_in_force(self, first):
        edit(first)
        done = first.run("policy", "explain", "--as", "guest", "product.view")
        assert done.returncode == 0, done.stderr
        assert "status must be active" in done.stdout and versions(first)[0] in done.stdout

    @pytest.mark.parametrize("command", [("matrix", "--json"), ("who", "product.view"), ("test", "--json")],
                             ids=lambda words: words[0])
    def test_an_edit_of_the_export_changes_no_answer(self, first, command):
        before = first.run("policy", *command)
        edit(first)
        after = first.run("policy", *command)
        assert (before.returncode, before.stdout) == (after.returncode, after.stdout)

    def test_a_folder_is_compared_with_the_rules_in_force(self, first, tmp_path):
        trial = shutil.copytree(first.folder / "policies", tmp_path / "trial")
        edit(first)
        done = first.run("policy", "diff", str(trial))
        assert (done.returncode, done.stderr) == (0, ""), done.stdout

    def test_a_file_that_is_gone_from_the_export_is_not_adopted_over_that_in_force(self, first, tmp_path):
        trial = shutil.copytree(first.folder / "policies", tmp_path / "trial")
        file = trial / "products.csv"
        file.write_text(file.read_text().replace("# end", f"{OPEN}\n# end"))
        assert first.run("policy", "apply", str(trial), "--yes").returncode == 0
        before = versions(first)
        (first.folder / "policies" / "products.csv").unlink()
        done = first.run("policy", "adopt", "products")
        assert (done.returncode, "already" in done.stderr) == (2, True), done
        assert versions(first) == before

    def test_the_lines_of_an_upgrade_do_not_bring_an_edit_of_the_export_along(self, first, tmp_path):
        trial = shutil.copytree(first.folder / "policies", tmp_path / "trial")
        shipped = (trial / "users.csv").read_text()
        (trial / "users.csv").write_text("".join(
            line for line in shipped.splitlines(keepends=True) if "view_private" not in line))
        (trial / "invariants.csv").unlink()
        done = first.run("policy", "apply", str(trial), "--yes")
        assert done.returncode == 0, done.stderr
        edit(first)
        edit(first, "users.csv")
        done = first.run("policy", "adopt", "--new", "--yes")
        assert done.returncode == 0, done.stderr
        assert "users.csv" in done.stdout
        assert OPEN.encode() not in own_text((first.folder / "policies" / "users.csv").read_bytes())
        assert first.run("policy", "diff", "shipped").stdout.count("product.view") == 0
        assert OPEN in (first.folder / "policies" / f"users.csv{EDITED}").read_text()

    def test_the_export_may_be_missing(self, first):
        shutil.rmtree(first.folder / "policies")
        assert first.run("policy", "check").returncode == 0
        assert first.run("policy", "explain", "--as", "guest", "product.view").returncode == 0
        assert first.run("user", "add", "ada@example.org", "--role", "editor").returncode == 0

    def test_lines_that_an_older_version_accepted_are_listed_before_the_schema_is_current(self, first):
        wrong = r"p.when == 'on_duty' && inGroup(r.sub, r.sub.department) || \\\n"
        file = first.environment["GATEPOST_DATABASE_URL"].removeprefix("sqlite:///")
        with closing(sqlite3.connect(file, isolation_level=None)) as connection:
            (text,) = connection.execute("SELECT files FROM policy_versions ORDER BY seq DESC LIMIT 1").fetchone()
            older = text.replace("p.when == 'always' ||", f"{wrong}p.when == 'always' ||")
            assert older != text
            connection.execute(
                "INSERT INTO policy_versions (id, version, applied_at, cause, author, late, files, packaged)"
                " SELECT '00000000-0000-7000-8000-000000000001', 'older', '9999', cause, author, late, ?, packaged"
                " FROM policy_versions LIMIT 1", (older,))
            connection.execute("ALTER TABLE policy_versions DROP COLUMN origin")
            connection.execute("DELETE FROM migrations_gatepost WHERE name = '0030_policy_origins'")
        listed = first.run("migrate", "--check")
        assert listed.returncode == 1 and "0030_policy_origins" in listed.stdout, listed
        assert "inGroup takes a column of the object" in listed.stdout
