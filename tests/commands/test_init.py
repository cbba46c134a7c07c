"""`gatepost init`: creates a complete instance, refuses a second run, and can be resumed."""

from __future__ import annotations

import re
import shutil
import stat
import subprocess

import pytest

from tests.apps import close, make_app
from tests.databases import NO_LETTERS, TURKISH, new_database
from tests.running import GATEPOST, PASSWORD, Instance

USE = ("user", "list")


def snapshot(instance: Instance) -> dict[str, bytes]:
    """Returns every file of an instance except the database, which other tests may read at the same time."""
    return {
        str(file.relative_to(instance.folder)): file.read_bytes()
        for file in instance.folder.rglob("*")
        if file.is_file() and "gatepost.db" not in file.name
    }


@pytest.mark.both_databases
def test_init_makes_everything_and_shows_the_password_once(empty):
    first = empty.run("init", "--no-demo")
    assert first.returncode == 0, first.stderr
    password = re.search(r"Password +(\S+)", first.stdout).group(1)
    assert len(password) >= 16
    assert "http://127.0.0.1:8000/docs" in first.stdout
    assert "admin@example.org" in first.stdout

    before = snapshot(empty)
    second = empty.run("init")
    assert second.returncode == 0
    assert "nothing was changed" in second.stdout
    assert password not in second.stdout
    assert snapshot(empty) == before
    assert len(empty.run(*USE).stdout.splitlines()) == 1, "no second administrator and no demo authors"


def test_other_users_of_the_system_cannot_read_the_instance(empty):
    empty.initialised()
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in [empty.folder, *empty.folder.iterdir()]}
    assert [name for name, mode in modes.items() if mode & 0o077] == []
    assert modes["secret.key"] == 0o600


def test_the_shipped_policies_are_copied_without_their_tests(empty):
    empty.initialised()
    names = {file.name for file in (empty.folder / "policies").iterdir()}
    assert {"model.conf", "roles.csv", "articles.csv", "README.md"} <= names
    assert "tests.yaml" not in names


def test_init_adds_something_to_look_at_unless_told_otherwise(empty):
    assert empty.run("init").returncode == 0
    with empty.answering() as service:
        status, page = service.call("GET", "/api/articles?page=1")
        assert status == 200
        assert page["total"] > 20


@pytest.mark.parametrize(
    ("given", "used"), [(PASSWORD, PASSWORD), (PASSWORD + "\n", PASSWORD), (PASSWORD + "\n\n", PASSWORD + "\n")]
)
def test_of_a_password_file_one_final_newline_is_dropped(tmp_path, given, used):
    file = tmp_path / "password"
    file.write_text(given, encoding="utf-8")
    instance = Instance(tmp_path / "instance")
    done = instance.run("init", "--no-demo", "--admin-email", "me@example.org", "--admin-password-file", str(file))
    assert done.returncode == 0, done.stderr
    assert used.strip() not in done.stdout
    app = make_app(instance.folder, f"sqlite:///{instance.folder / 'gatepost.db'}")
    answer = app.test_client().post("/api/login", json={"email": "me@example.org", "password": used})
    close(app)
    assert answer.status_code == 200


@pytest.mark.parametrize("weak", ["short", "password123", "PASSWORD123"])
def test_a_weak_password_makes_nothing(tmp_path, weak):
    instance = Instance(tmp_path / "instance")
    done = instance.run("init", "--admin-password-file", "-", input=weak)
    assert done.returncode == 1
    assert "password" in done.stderr.lower()
    assert not instance.folder.exists()


@pytest.mark.parametrize("missing", ["policies", "gatepost.db"])
def test_an_init_that_was_stopped_halfway_is_completed_by_the_next(tmp_path, missing):
    instance = Instance(tmp_path / "instance").initialised()
    for file in [instance.folder / missing, *instance.folder.glob(f"{missing}-*")]:
        shutil.rmtree(file) if file.is_dir() else file.unlink()
    done = instance.run("init", "--no-demo")
    assert done.returncode == 0, done.stderr
    assert "nothing was changed" not in done.stdout
    assert instance.run("doctor").returncode == 0


@pytest.mark.slow
def test_of_two_inits_at_once_one_makes_the_instance_and_the_other_says_so(empty):
    command = [*GATEPOST, "init", "--no-demo"]
    both = [
        subprocess.Popen(command, env=empty.environ(), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(2)
    ]
    outputs = [each.communicate(timeout=120) for each in both]
    assert [each.returncode for each in both] == [0, 0], outputs
    said = sorted("nothing was changed" in output for output, _ in outputs)
    assert said == [False, True]
    assert len(empty.run(*USE).stdout.splitlines()) == 1


def test_a_database_that_cannot_be_reached_is_reported_and_init_can_be_run_again(tmp_path):
    instance = Instance(tmp_path / "instance", {"GATEPOST_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none"})
    done = instance.run("init")
    assert done.returncode == 1
    assert "run `gatepost init` again" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_wrong_setting_stops_every_command_and_is_named(tmp_path):
    instance = Instance(tmp_path / "instance", {"GATEPOST_PORT": "http"})
    for command in ("init", "serve", "doctor", "settings"):
        done = instance.run(command)
        assert done.returncode == 1
        assert "GATEPOST_PORT" in done.stderr
        assert "Traceback" not in done.stderr


def test_commands_say_when_there_is_no_instance(tmp_path):
    instance = Instance(tmp_path / "instance")
    for command in (("serve",), ("migrate",), ("user", "list"), ("demo", "--articles", "1")):
        done = instance.run(*command)
        assert done.returncode == 1
        assert "gatepost init" in done.stderr


def test_the_doctor_sets_each_line_of_a_finding_below_its_head(instance):
    (instance.folder / "policy.last-good.json").unlink(missing_ok=True)
    place = instance.folder / "policies" / "contact.csv"
    place.write_text(place.read_text().replace("# end", "p, usr, contact.view, always, allow\n" * 2 + "# end"))
    done = instance.run("doctor")
    assert done.returncode == 1
    shown = [line for line in done.stdout.splitlines() if "contact.csv:" in line]
    assert len(shown) == 2 and shown[0].startswith("FAIL  policy ") and shown[1].startswith("      contact.csv:8: ")


def test_the_doctor_says_how_large_things_have_become(instance):
    backups = instance.folder / "backups"
    backups.mkdir(exist_ok=True)
    (backups / "mine.db").write_bytes(b"x" * 2**20)
    done = instance.run("doctor")
    (line,) = (line for line in done.stdout.splitlines() if line.split()[1] == "sizes")
    assert re.search(r"database [0-9.]+ MiB, .*1 backups 1\.0 MiB, .* about \d+ rows", line)


def test_without_memory_to_hash_the_password_init_says_so_and_can_be_run_again(empty, monkeypatch, without_memory):
    starved = empty.run("init", "--no-demo", "--admin-password-file", "-", input=PASSWORD)
    assert (starved.returncode, starved.stdout) == (1, "")
    assert starved.stderr == (f"Error: The instance in {empty.folder} is not complete: the password cannot be hashed: "
                              "Memory allocation error\n  What was made stays; run `gatepost init` again to go on.\n")
    monkeypatch.undo()
    again = empty.run("init", "--no-demo", "--admin-password-file", "-", input=PASSWORD)
    assert (again.returncode, "database" in again.stdout.partition("\n")[0]) == (0, True)


@pytest.mark.both_databases
@pytest.mark.parametrize(("locale", "said"), [
    (NO_LETTERS, "its locale is C, so that `contains` ignores the case of ASCII letters alone"),
    (TURKISH, "its locale is tr, so that `contains` takes i and I for different letters"),
    ("LC_CTYPE 'C.UTF-8'", None)], ids=["C", "tr", "C.UTF-8"])
def test_a_locale_that_breaks_contains_is_warned_of(request, tmp_path, locale, said):
    url = new_database("postgres", request, migrated=False, locale=locale)
    instance = Instance(tmp_path / "instance", {"GATEPOST_DATABASE_URL": url})
    made = instance.run("init", "--no-demo")
    assert made.returncode == 0
    finding = next(line for line in instance.run("doctor").stdout.splitlines() if " database " in line)
    if said is None:
        assert "Warning" not in made.stderr
        assert finding.startswith("ok")
    else:
        assert said in made.stderr
        assert finding.startswith("ok")
        assert said in finding
