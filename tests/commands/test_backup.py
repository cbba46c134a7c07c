"""`gatepost backup` and `restore`: the restored state equals the backup, or nothing changes."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from gatepost.instance import journal
from gatepost.instance.journal import Journal
from models.tables.backup import Backup, ages
from models.tables.instance import Instance as InstanceRow
from models.tables.job import Job
from models.tables.tenant import Tenant
from tests.databases import new_database
from tests.running import Instance, wait_until

ARTICLE = {"title": "A title", "slug": "a-title", "body": "Text."}


@pytest.fixture
def instance(dialect, request, tmp_path) -> Instance:
    """A new instance for each test, because most tests replace it."""
    return Instance(tmp_path / "instance", _environment(dialect, request)).made()


def _environment(dialect, request):
    return {} if dialect == "sqlite" else {"GATEPOST_DATABASE_URL": new_database(dialect, request, migrated=False)}


def tenants(instance):
    with instance.database():
        return sorted(tenant.name for tenant in Tenant.all())


def add_tenant(instance, name):
    assert instance.run("tenant", "add", name).returncode == 0


def unpack(archive: Path, folder: Path) -> None:
    folder.mkdir()
    subprocess.run(["tar", "--extract", "--file", archive, "--directory", folder], check=True, timeout=60)


def backed_up(instance, place):
    done = instance.run("backup", str(place))
    assert done.returncode == 0, done.stderr
    return place


def state(instance):
    """Returns the parts that must not change: contents of files (without locks and logs), rows, epoch."""
    files = {str(file.relative_to(instance.folder)): file.read_bytes() for file in instance.folder.rglob("*")
             if file.is_file() and not file.name.startswith(("gatepost.db", "restore.lock", "jobs.lock"))}
    with instance.database():
        return files, tenants(instance), InstanceRow.get_by_id(1).epoch


@pytest.mark.both_databases
def test_a_backup_becomes_an_instance_elsewhere(instance, dialect, request, tmp_path):
    add_tenant(instance, "kept")
    (instance.folder / "settings.toml").write_text('language = "de"\n', encoding="utf-8")
    archive = backed_up(instance, tmp_path / "a.tar.gz")
    assert archive.stat().st_mode & 0o777 == 0o600
    other = Instance(tmp_path / "other", _environment(dialect, request))
    done = other.run("restore", str(archive))
    assert done.returncode == 0, done.stderr
    assert tenants(other) == ["default", "kept"]
    for name in ("secret.key", "settings.toml", "policies/articles.csv"):
        assert (other.folder / name).read_bytes() == (instance.folder / name).read_bytes()
    assert other.folder.stat().st_mode & 0o777 == 0o700
    with other.answering() as served:
        assert served.log_in()
    assert other.run("audit", "verify").returncode == 0


def test_commands_that_restored_settings_run_are_named(instance, tmp_path):
    told = "Its settings run a command: backup_command = 'rclone \\x1b[2J'\n"
    settings = instance.folder / "settings.toml"
    settings.write_text('backup_command = "rclone \\u001b[2J"\n', encoding="utf-8")
    archive = backed_up(instance, tmp_path / "a.tar.gz")
    settings.unlink()
    proved = instance.run("restore", "--verify", str(archive))
    restored = instance.run("restore", "--replace", "--yes", str(archive))
    assert proved.returncode == restored.returncode == 0, (proved.stderr, restored.stderr)
    assert told in proved.stdout and told in restored.stdout


def test_a_backup_is_proved_and_that_is_written_down(instance, tmp_path):
    archive = backed_up(instance, tmp_path / "a.tar.gz")
    before = state(instance)
    done = instance.run("restore", "--verify", str(archive))
    assert (done.returncode, done.stderr) == (0, "")
    assert "answered a login and the list of each collection" in done.stdout
    assert state(instance) == before
    with instance.database():
        found = ages()
    assert found.made_at < found.proved_at and found.error is None


def test_what_is_not_as_it_was_written_is_neither_proved_nor_restored(instance, tmp_path):
    archive = backed_up(instance, tmp_path / "a.tar.gz")
    whole = archive.read_bytes()
    archive.write_bytes(whole[:5000] + bytes([whole[5000] ^ 4]) + whole[5001:])
    before = state(instance)
    for options in (["--verify"], ["--replace", "--yes"]):
        done = instance.run("restore", *options, str(archive))
        assert (done.returncode, done.stderr) == (1, f"Error: {archive} is not as it was written.\n")
    assert state(instance) == before


def test_an_instance_is_not_replaced_by_the_way(instance, tmp_path):
    archive = backed_up(instance, tmp_path / "a.tar.gz")
    before = state(instance)
    done = instance.run("restore", str(archive))
    assert done.returncode == 1 and "--replace" in done.stderr
    assert instance.run("restore", "--replace", str(archive), input="n\n").returncode == 1
    assert state(instance) == before


def test_a_backup_of_another_instance_replaces_it_by_name_alone(instance, dialect, request, tmp_path):
    folder = tmp_path / "theirs"
    theirs = Instance(folder, _environment(dialect, request)).initialised()
    add_tenant(theirs, "theirs")
    archive, named = backed_up(theirs, tmp_path / "a.tar.gz"), ["--name", instance.folder.name]
    before = state(instance)
    for options, typed in ((["--yes"], None), (["--yes", "--name", "theirs"], None), ([], "y\ntheirs\n")):
        done = instance.run("restore", "--replace", *options, str(archive), input=typed)
        assert (done.returncode, state(instance)) == (1, before), done.stderr
    refused = instance.run("restore", "--replace", "--yes", str(archive)).stderr
    assert refused == (f"Error: The backup is one of another instance than {instance.folder}. To replace that, name "
                       f"its folder: --name {instance.folder.name}\n")
    assert instance.run("restore", "--replace", str(archive), input="y\ninstance\n").returncode == 0
    assert tenants(instance) == ["default", "theirs"]
    saved, = instance.folder.glob("backups/before-restore-*")
    # Now that is a backup of another instance.
    assert instance.run("restore", "--replace", "--yes", str(saved)).returncode == 1
    assert instance.run("restore", "--replace", "--yes", *named, str(saved)).returncode == 0
    assert tenants(instance) == ["default"]


def test_a_backup_of_before_a_rotation_or_new_keys_is_none_of_another_instance(instance, tmp_path):
    archive = backed_up(instance, tmp_path / "a.tar.gz")
    assert instance.run("keys", "rotate", "--forget").returncode == 0
    (instance.folder / "secret.key").unlink()
    assert instance.run("init", "--no-demo", "--new-key").returncode == 0
    done = instance.run("restore", "--replace", "--yes", str(archive))
    assert done.returncode == 0, done.stderr


def test_the_keys_tell_whose_a_backup_is_where_the_database_cannot_be_read(tmp_path):
    ours, theirs = (Instance(tmp_path / name).initialised() for name in ("ours", "theirs"))
    mine, other = backed_up(ours, tmp_path / "mine.tar.gz"), backed_up(theirs, tmp_path / "other.tar.gz")
    (ours.folder / "gatepost.db").write_bytes(b"garbage" * 1000)
    assert "of another instance" in ours.run("restore", "--replace", "--yes", str(other)).stderr
    assert ours.run("restore", "--replace", "--yes", str(mine)).returncode == 0


def test_what_is_known_of_backups_outlives_a_restore(instance, tmp_path):
    first = backed_up(instance, tmp_path / "first.tar.gz")
    assert instance.run("restore", "--verify", str(first)).returncode == 0
    backed_up(instance, tmp_path / "second.tar.gz")
    def said() -> str:
        return next(line for line in instance.run("doctor").stdout.splitlines() if " backups " in line)

    with instance.database():
        before, known = ages(), sorted(Backup.select().tuples())
    told = said()
    for _ in range(2):
        done = instance.run("restore", "--replace", "--yes", str(first))
        assert done.returncode == 0, done.stderr
        with instance.database():
            assert (ages(), sorted(Backup.select().tuples())) == (before, known)
    assert said() == told and "none was proved" not in told


def test_what_was_restored_is_known_where_nothing_was(instance, dialect, request, tmp_path):
    archive = backed_up(instance, tmp_path / "a.tar.gz")
    new = Instance(tmp_path / "new", _environment(dialect, request))
    assert new.run("restore", str(archive)).returncode == 0
    with new.database():
        row, = Backup.select()
    assert (row.place, row.bytes, row.proved_at) == (str(archive), archive.stat().st_size, None)


def test_replacing_brings_back_rows_policies_and_keys_and_keeps_what_was_there(instance, tmp_path):
    keys = (instance.folder / "secret.key").read_bytes()
    rules = (instance.folder / "policies/articles.csv").read_bytes()
    archive = backed_up(instance, tmp_path / "a.tar.gz")
    add_tenant(instance, "later")
    assert instance.run("keys", "rotate", "--forget").returncode == 0
    with open(instance.folder / "policies/articles.csv", "ab") as file:
        file.write(b"# edited\n")
    (instance.folder / "policies/extra.csv").write_text("# end\n", encoding="utf-8")
    done = instance.run("restore", "--replace", "--yes", str(archive))
    assert done.returncode == 0, done.stderr
    assert tenants(instance) == ["default"]
    assert (instance.folder / "secret.key").read_bytes() == keys
    assert (instance.folder / "policies/articles.csv").read_bytes() == rules
    assert not (instance.folder / "policies/extra.csv").exists()
    assert instance.run("doctor").returncode == 0
    aside, = instance.folder.glob("replaced-*")
    assert b"# edited" in (aside / "policies/articles.csv").read_bytes() and (aside / "secret.key").exists()
    saved, = instance.folder.glob("backups/before-restore-*")
    assert instance.run("restore", "--replace", "--yes", str(saved)).returncode == 0
    assert tenants(instance) == ["default", "later"]


def test_the_doctor_names_a_backup_that_a_migration_made(instance):
    def said() -> str:
        return next(line for line in instance.run("doctor").stdout.splitlines() if " backups " in line)

    assert "none was made yet: gatepost backup, or the setting backup_hours" in said()
    (instance.folder / "backups").mkdir(exist_ok=True)
    for name in ("before-migration-20261123T101112Z.tar.gz", "before-restore-20261122T101112Z.tar.gz", "notes.txt"):
        (instance.folder / "backups" / name).touch()
    assert "there is before-migration-20261123T101112Z.tar.gz, and none by gatepost backup, or the setting" in said()


def test_what_was_under_way_has_ended(instance, tmp_path):
    with instance.answering() as served:
        token = served.log_in()
        status, made = served.call("POST", "/api/articles", ARTICLE, token, {"Idempotency-Key": "once"})
        assert status == 201
    program = instance.run("token", "add", "admin@example.org", "--scope", "read:articles").stdout.split()[1]
    with instance.database() as database:
        tenant = Tenant.by_name("default").id
        job = Job(kind="articles.export", run_at="2099-01-01T00:00:00.000000Z")
        job.stamp(tenant, "2026-01-01T00:00:00.000000Z")
        database.transact(lambda: job.save(force_insert=True))
    archive = backed_up(instance, tmp_path / "a.tar.gz")
    assert instance.run("restore", "--replace", "--yes", str(archive)).returncode == 0
    path = f"/api/articles/{made['id']}"
    with instance.answering() as served:
        assert served.call("GET", "/api/profile", token=token)[0] == 401
        assert served.call("GET", path, token=program)[0] == 401
        token = served.log_in()
        again = served.call("POST", "/api/articles", ARTICLE, token, {"Idempotency-Key": "once"})
        assert again[0] == 409  # the kept answer is no longer known
        assert served.call("PATCH", path, {"title": "Another"}, token, {"If-Match": '"1"'})[0] == 412
        assert "1 token acts again" in instance.run("token", "release").stdout
        assert served.call("GET", path, token=program)[0] == 200
    with instance.database():
        assert (Job.get_by_id(job.id).state, Job.get_by_id(job.id).last_error) == ("failed", "a backup was restored")


def test_tokens_and_jobs_can_go_on(instance, tmp_path):
    program = instance.run("token", "add", "admin@example.org", "--scope", "read:articles").stdout.split()[1]
    archive = backed_up(instance, tmp_path / "a.tar.gz")
    done = instance.run("restore", "--replace", "--yes", "--keep-tokens", "--resume-jobs", str(archive))
    assert done.returncode == 0 and "held" not in done.stdout
    with instance.answering() as served:
        assert served.call("GET", "/api/articles", token=program)[0] == 200


def test_a_served_instance_follows_on_sqlite_and_is_left_alone_on_postgres(instance, dialect, tmp_path):
    archive = backed_up(instance, tmp_path / "a.tar.gz")
    with instance.answering() as served:
        token = served.log_in()
        add_tenant(instance, "later")
        done = instance.run("restore", "--replace", "--yes", str(archive))
        if dialect == "postgres":
            assert done.returncode == 1 and "stop Gatepost on every machine first" in done.stderr
            assert tenants(instance) == ["default", "later"]
            assert served.call("GET", "/api/profile", token=token)[0] == 200
            return
        assert done.returncode == 0, done.stderr
        assert served.call("GET", "/api/profile", token=token)[0] == 401
        token = served.log_in()
        made = served.call("POST", "/api/articles", ARTICLE, token)
        assert made[0] == 201
        with instance.database():
            epoch = InstanceRow.get_by_id(1).epoch
        path = f"/api/articles/{made[1]['id']}"
        wait_until(lambda: served.call("PATCH", path, {"title": "Another"}, token,
                                       {"If-Match": f'"{epoch}.1"'})[0] == 200)
        assert served.call("GET", "/api/health")[1]["status"] == "ok"


@pytest.mark.parametrize("damage", ["garbage", "empty", "gone", "half"])
def test_a_database_that_cannot_be_read_is_moved_aside(tmp_path, damage):
    instance = Instance(tmp_path / "instance").made()
    archive = backed_up(instance, tmp_path / "a.tar.gz")
    file = instance.folder / "gatepost.db"
    found = {"garbage": b"no database" * 1000, "empty": b"", "half": file.read_bytes()[:file.stat().st_size // 2 + 100]}
    if damage == "gone":
        file.unlink()
    else:
        file.write_bytes(found[damage])
    done = instance.run("restore", "--replace", "--yes", str(archive))
    assert done.returncode == 0, done.stderr
    assert tenants(instance) == ["default"]
    aside = [each.read_bytes() for each in instance.folder.glob("replaced-*/gatepost.db")]
    assert aside == ([found[damage]] if found.get(damage) else [])


@pytest.mark.slow
def test_a_database_beside_a_foreign_log_is_replaced(tmp_path):
    instance = Instance(tmp_path / "instance").made()
    archive = backed_up(instance, tmp_path / "a.tar.gz")
    with instance.served() as served:
        token = served.log_in()
        for number in range(40):
            assert served.call("POST", "/api/articles", {**ARTICLE, "slug": f"s{number}"}, token)[0] == 201
        served.process.kill()
        served.process.wait()
    unpack(archive, tmp_path / "out")
    shutil.copy(tmp_path / "out" / "database", instance.folder / "gatepost.db")  # what one should not do
    log = (instance.folder / "gatepost.db-wal").read_bytes()
    done = instance.run("user", "list")
    assert done.returncode == 1 and "gatepost restore" in done.stderr
    assert (instance.folder / "gatepost.db-wal").read_bytes() == log
    done = instance.run("restore", "--replace", "--yes", str(archive))
    assert done.returncode == 0, done.stderr
    assert instance.run("doctor").returncode == 0 and tenants(instance) == ["default"]
    kept, = instance.folder.glob("replaced-*/gatepost.db-wal")
    assert kept.read_bytes() == log


@pytest.mark.slow
def test_a_damaged_database_that_is_served_is_replaced_after_a_stop(tmp_path):
    instance = Instance(tmp_path / "instance").made()
    archive = backed_up(instance, tmp_path / "a.tar.gz")
    with instance.served() as served:
        served.log_in()
        for name in ("gatepost.db", "gatepost.db-wal"):
            (instance.folder / name).write_bytes(b"no database" * 1000)
        done = instance.run("restore", "--replace", "--yes", str(archive))
        assert done.returncode == 1 and "stop Gatepost first" in done.stderr
    assert instance.run("restore", "--replace", "--yes", str(archive)).returncode == 0
    assert tenants(instance) == ["default"]


def test_a_backup_of_the_other_database_is_refused(instance, dialect, request, tmp_path):
    archive = backed_up(instance, tmp_path / "a.tar.gz")
    other = Instance(tmp_path / "other", _environment("sqlite" if dialect == "postgres" else "postgres", request))
    done = other.run("restore", str(archive))
    assert done.returncode == 1 and "gatepost export" in done.stderr
    assert not other.folder.exists()


@pytest.mark.parametrize("exchanged", [False, True])
@pytest.mark.parametrize("command", [["user", "password", "admin@example.org"], ["migrate", "--check"]])
def test_the_next_command_completes_or_undoes_what_was_broken_off(instance, tmp_path, exchanged, command):
    staged, before = instance.folder / ".gatepost-restore-x", (instance.folder / "policies/articles.csv").read_bytes()
    shutil.copytree(instance.folder / "policies", staged / "policies")
    (staged / "policies/articles.csv").write_bytes(before + b"# restored\n")
    journal.write_down(instance.folder, Journal("0badcafe", staged.name, "replaced-x", False))
    if exchanged:
        with instance.database():
            InstanceRow.update(epoch="0badcafe").execute()
    done = instance.run(*command)
    assert done.returncode == 0 and ("is completed" if exchanged else "is undone") in done.stderr
    assert (instance.folder / "policies/articles.csv").read_bytes() == before + b"# restored\n" * exchanged
    assert not staged.exists() and not (instance.folder / "restore.json").exists()
    assert "broken off" not in instance.run(*command).stderr


def test_a_backup_under_its_name_is_not_overwritten(instance, tmp_path):
    (tmp_path / "a.tar.gz").write_text("mine", encoding="utf-8")
    done = instance.run("backup", str(tmp_path / "a.tar.gz"))
    assert (done.returncode, done.stderr) == (1, f"Error: {tmp_path / 'a.tar.gz'} is there already.\n")
    assert [file.name for file in tmp_path.iterdir() if file.is_file()] == ["a.tar.gz"]


def test_without_a_file_it_goes_to_the_folder_of_backups(instance):
    assert instance.run("backup").returncode == 0
    file, = (instance.folder / "backups").iterdir()
    assert file.name.startswith("gatepost-2") and file.name.endswith(".tar.gz")


@pytest.fixture
def identity(tmp_path):
    import pyrage

    made = pyrage.x25519.Identity.generate()
    place = tmp_path / "identity.txt"
    place.write_text(f"# created: today\n{made}\n", encoding="utf-8")
    return str(made.to_public()), place


def test_a_backup_can_be_for_its_recipient_alone(tmp_path, identity):
    recipient, key = identity
    plain = Instance(tmp_path / "instance").made()
    instance = replace(plain, environment={"GATEPOST_BACKUP_RECIPIENT": recipient})
    done = instance.run("backup", str(tmp_path / "a.tar.gz"))
    archive = tmp_path / "a.tar.gz.age"
    assert done.returncode == 0 and "not encrypted" not in done.stdout
    assert archive.stat().st_mode & 0o777 == 0o600
    assert b"secret.key" not in archive.read_bytes()
    done = plain.run("restore", "--verify", str(archive))
    assert done.returncode == 1 and "--identity" in done.stderr
    assert plain.run("restore", "--verify", "--identity", str(key), str(archive)).returncode == 0
    flipped = bytearray(archive.read_bytes())
    flipped[-100] ^= 1
    archive.write_bytes(flipped)
    done = plain.run("restore", "--verify", "--identity", str(key), str(archive))
    assert done.returncode == 1 and "cannot be decrypted" in done.stderr


@pytest.mark.parametrize(("command", "error"), [
    (f"{sys.executable} -c 'import shutil, sys; shutil.copy(sys.argv[1], \"{{elsewhere}}\")'", None),
    (f"{sys.executable} -c 'import sys; sys.exit(\"no such host\")'", "backup_command ended with 1: no such host"),
    ("/no/such/program", "backup_command failed: "),
    ("'unclosed", "backup_command failed: "),
])
def test_the_schedule_makes_proves_and_sends(tmp_path, command, error):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    plain = Instance(tmp_path / "instance").made()
    instance = replace(plain, environment={"GATEPOST_BACKUP_HOURS": "24",
                                           "GATEPOST_BACKUP_COMMAND": command.format(elsewhere=elsewhere)})
    assert instance.run("backup", "--scheduled").returncode == 0
    assert instance.run("backup", "--scheduled").returncode == 0  # none is due
    file, = (instance.folder / "backups").iterdir()
    with instance.database():
        row, = Backup.select()
    assert (row.place, row.error or "") == (str(file), row.error if error and row.error.startswith(error) else "")
    assert row.proved_at is not None and (error is None) == (row.error is None)
    assert [each.name for each in elsewhere.iterdir()] == ([] if error else [file.name])


@pytest.mark.slow
def test_a_server_makes_the_backups_of_its_schedule(tmp_path):
    instance = replace(Instance(tmp_path / "instance").made(), environment={"GATEPOST_BACKUP_HOURS": "24"})
    with instance.served():
        folder = instance.folder / "backups"
        wait_until(lambda: folder.is_dir() and list(folder.glob("gatepost-*.tar.gz")))

        def proved() -> bool:
            with instance.database():
                return ages().proved_at is not None

        wait_until(proved)


def test_a_backup_that_cannot_be_made_is_written_down(tmp_path):
    instance = replace(Instance(tmp_path / "instance").made(), environment={
        "GATEPOST_BACKUP_HOURS": "24", "GATEPOST_BACKUP_FOLDER": "/proc/backups"})
    done = instance.run("backup", "--scheduled")
    assert done.returncode == 1 and done.stderr.startswith("Error: /proc/backups")
    with instance.database():
        assert ages().error.startswith("no backup was made: ")


def test_the_copy_in_an_archive_stands_alone(tmp_path):
    """sqlite3 and tar suffice to read it."""
    instance = Instance(tmp_path / "instance").made()
    archive = backed_up(instance, tmp_path / "a.tar.gz")
    unpack(archive, tmp_path / "out")
    with sqlite3.connect(f"file:{tmp_path / 'out' / 'database'}?mode=ro", uri=True) as copy:
        assert copy.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        said = json.loads((tmp_path / "out/manifest.json").read_text())["contents"]["rows"]
        assert copy.execute("SELECT count(*) FROM users").fetchone() == (said["users"],) == (1,)
    copy.close()
    assert {file.name for file in Path(tmp_path / "out").iterdir()} >= {"database", "manifest.json", "secret.key"}
