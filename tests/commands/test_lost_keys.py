"""An instance whose keys are lost, or not its own, says so; and so does a database that is too new."""

from __future__ import annotations

import pytest

from blueprints.http.security.keys import create_key_file
from models.engine.connect import open_database
from tests.running import Instance


@pytest.fixture(scope="module")
def used(tmp_path_factory) -> Instance:
    """An instance whose keys have sealed a login."""
    made = Instance(tmp_path_factory.mktemp("used") / "instance").made()
    with made.answering() as service:
        assert service.log_in()
    return made


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
    assert "from a backup" in done.stderr and "gatepost init --new-key" in done.stderr
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
    # What the lost key has sealed cannot be proved, and that is said.
    assert "rows 1 to 1 are not those that were sealed" in instance.run("audit", "verify").stdout


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
