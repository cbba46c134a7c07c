"""An instance with lost or wrong keys reports it, and restores them from a backup. A database that is too new is
refused."""

from __future__ import annotations

import pytest

from gatepost.http.security.keys import create_key_file
from models.engine.connect import open_database
from tests.databases import new_database
from tests.running import Instance, wait_until


def use(instance: Instance) -> Instance:
    """Seals a login with the keys of an instance."""
    with instance.answering() as service:
        assert service.log_in()
    return instance


@pytest.fixture(scope="module")
def used(tmp_path_factory) -> Instance:
    return use(Instance(tmp_path_factory.mktemp("used") / "instance").made())


@pytest.fixture(params=["sqlite", "postgres"])
def dialect(request):
    return request.param


@pytest.fixture
def on_either(dialect, used, request, tmp_path) -> Instance:
    """A used instance on each database."""
    if dialect == "sqlite":
        return used.copied(tmp_path / "instance")
    environment = {"GATEPOST_DATABASE_URL": new_database(dialect, request, migrated=False)}
    return use(Instance(tmp_path / "instance", environment).made())


@pytest.fixture
def instance(used, tmp_path) -> Instance:
    return used.copied(tmp_path / "instance")


def lose(instance):
    (instance.folder / "secret.key").unlink()


def mistake(instance):
    lose(instance)
    create_key_file(instance.folder / "secret.key")


def test_lost_keys_are_not_made_up_by_the_way(instance):
    lose(instance)
    done = instance.run("init", "--no-demo")
    assert done.returncode == 1
    for said in ("secret.key is missing", "gatepost restore --only-keys FILE", "gatepost init --new-key"):
        assert said in done.stderr
    assert not (instance.folder / "secret.key").exists()


@pytest.mark.parametrize("command", [["serve", "--port", "0"], ["audit", "verify"], ["keys", "rotate"]], ids=" ".join)
def test_other_keys_than_those_of_the_database_are_refused(instance, command):
    mistake(instance)
    before = (instance.folder / "secret.key").read_bytes()
    done = instance.run(*command)
    assert (done.returncode, "not those of this database" in done.stderr) == (1, True)
    assert (instance.folder / "secret.key").read_bytes() == before


@pytest.mark.parametrize("happened", [lose, mistake])
def test_an_operator_can_go_on_with_new_keys(instance, happened):
    happened(instance)
    done = instance.run("init", "--no-demo", "--new-key")
    assert done.returncode == 0 and "keys for the database" in done.stdout
    with instance.answering() as service:
        assert service.log_in()
    # Seals of the lost key cannot be verified, and the command reports that.
    assert "rows 1 to 1 are not those that were sealed" in instance.run("audit", "verify").stdout


def test_each_command_says_where_lost_keys_are(on_either):
    lose(on_either)
    for command in (["serve", "--port", "0"], ["migrate"], ["user", "list"], ["keys", "list"]):
        done = on_either.run(*command)
        assert (done.returncode, "gatepost restore --only-keys FILE" in done.stderr) == (1, True), done.stderr
        assert "There is no instance" not in done.stderr
    assert "secret.key is missing. Take the key file out of a backup" in on_either.run("doctor").stdout


def test_a_folder_without_an_instance_needs_no_backup(tmp_path):
    (tmp_path / "empty").mkdir()
    done = Instance(tmp_path / "empty").run("user", "list")
    assert done.stderr == f"Error: There is no instance in {tmp_path / 'empty'}. Run: gatepost init\n"


def damage(instance):
    (instance.folder / "secret.key").write_bytes(b"\0" * 40)


def the_backup(instance, kind="after-rotation"):
    found, = instance.folder.glob(f"backups/{kind}-*")
    return found


@pytest.mark.both_databases
@pytest.mark.parametrize("happened", [lose, mistake, damage])
def test_the_backup_that_a_rotation_makes_brings_the_keys_back(on_either, happened):
    done = on_either.run("keys", "rotate")
    assert f"{the_backup(on_either)}\n" in done.stdout, done.stderr
    file = on_either.folder / "secret.key"
    keys = file.read_bytes()
    happened(on_either)
    wrong = file.read_bytes() if file.exists() else None
    done = on_either.run("restore", "--only-keys", str(the_backup(on_either)))
    assert (done.returncode, file.read_bytes(), file.stat().st_mode & 0o777) == (0, keys, 0o600), done.stderr
    assert [kept.read_bytes() for kept in on_either.folder.glob("replaced-*/secret.key")] == (
        [] if wrong is None else [wrong])
    with on_either.answering() as service:
        assert service.log_in()
    assert on_either.run("audit", "verify").returncode == 0


@pytest.mark.both_databases
def test_keys_that_are_not_those_of_the_database_are_refused(on_either, tmp_path):
    old, strange = tmp_path / "old.tar.gz", tmp_path / "strange.tar.gz"
    assert on_either.run("backup", str(old)).returncode == 0
    assert Instance(tmp_path / "other").initialised().run("backup", str(strange)).returncode == 0
    assert on_either.run("keys", "rotate").returncode == 0
    kept = (on_either.folder / "secret.key").read_bytes()
    for happened in (lose, mistake):
        happened(on_either)
        found = sorted(on_either.folder.rglob("secret.key"))
        for archive, said in ((old, "they were rotated since. Take a backup made after that"),
                              (strange, "It is a backup of another instance")):
            done = on_either.run("restore", "--only-keys", str(archive))
            assert (done.returncode, said in done.stderr) == (1, True), done.stderr
        assert sorted(on_either.folder.rglob("secret.key")) == found
        (on_either.folder / "secret.key").write_bytes(kept)
        (on_either.folder / "secret.key").chmod(0o600)


def test_keys_that_are_right_stay(instance, tmp_path):
    archive = tmp_path / "a.tar.gz"
    assert instance.run("backup", str(archive)).returncode == 0
    assert instance.run("keys", "rotate").returncode == 0
    kept = (instance.folder / "secret.key").read_bytes()
    done = instance.run("restore", "--only-keys", str(archive))
    assert (done.returncode, "holds the keys of the database. Nothing was changed." in done.stderr) == (1, True)
    assert (instance.folder / "secret.key").read_bytes() == kept


def test_keys_come_out_of_an_encrypted_backup(instance, tmp_path):
    pyrage = pytest.importorskip("pyrage")
    identity = pyrage.x25519.Identity.generate()
    (tmp_path / "identity.txt").write_text(f"{identity}\n")
    encrypting = Instance(instance.folder, {"GATEPOST_BACKUP_RECIPIENT": str(identity.to_public())})
    assert encrypting.run("keys", "rotate").returncode == 0
    lose(instance)
    archive = str(the_backup(instance))
    assert "name the file of an identity" in instance.run("restore", "--only-keys", archive).stderr
    done = instance.run("restore", "--only-keys", archive, "--identity", str(tmp_path / "identity.txt"))
    assert done.returncode == 0, done.stderr
    assert instance.run("audit", "verify").returncode == 0


def test_a_service_that_runs_follows_restored_keys(instance, tmp_path):
    archive = tmp_path / "a.tar.gz"
    assert instance.run("backup", str(archive)).returncode == 0

    with instance.answering() as service:
        token = service.log_in()

        def keys(service):
            return service.call("GET", "/api/health", token=token)[1]["checks"]["keys"]

        mistake(instance)
        wait_until(lambda: keys(service) == "degraded")
        assert instance.run("restore", "--only-keys", str(archive)).returncode == 0
        wait_until(lambda: keys(service) == "ok")
        assert service.log_in()


def test_a_rotation_says_where_no_backup_can_be_made(instance):
    (instance.folder / "backups").write_text("no folder")
    done = instance.run("keys", "rotate")
    assert done.returncode == 0
    assert "No backup holds the new key" in done.stderr and "run: gatepost backup" in done.stderr


def test_where_no_database_is_the_keys_alone_are_of_no_use(instance, tmp_path):
    archive = tmp_path / "a.tar.gz"
    assert instance.run("backup", str(archive)).returncode == 0
    done = Instance(tmp_path / "new").run("restore", "--only-keys", str(archive))
    assert (done.returncode, "the whole instance is restored" in done.stderr) == (1, True)
    assert instance.run("restore", "--only-keys", "--verify", str(archive)).returncode == 2


@pytest.mark.parametrize("command", [["serve", "--port", "0"], ["migrate"], ["user", "list"], ["backup"]], ids=" ".join)
def test_a_database_of_newer_code_is_refused(instance, command):
    database = open_database(f"sqlite:///{instance.folder / 'gatepost.db'}", pool_size=4)
    with database.connected():
        database.execute_sql("INSERT INTO migrations_gatepost (id, name, applied) "
                             "VALUES (9999, '9999_future', '2030-01-01')")
        database.execute_sql("CREATE TABLE migrations_of_a_plugin_that_is_gone (id INTEGER, name TEXT)")
        database.execute_sql("INSERT INTO migrations_of_a_plugin_that_is_gone VALUES (1, '0001_things')")
    database.close_all()
    done = instance.run(*command)
    assert (done.returncode, done.stderr) == (
        1, "Error: The database was migrated by newer code, which has gatepost/9999_future. Install that version, or "
           "restore a backup of before: gatepost restore --replace FILE\n")
