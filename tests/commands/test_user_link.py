"""`gatepost user link`."""

from __future__ import annotations

import pytest

from tests.running import PASSWORD, Instance

NEW = "nine slow ferries at dawn"


@pytest.fixture(scope="module")
def service(instance: Instance):
    done = instance.run("user", "add", "ada@example.org", "--password-file", "-", input=PASSWORD)
    assert done.returncode == 0, done.stderr
    with instance.answering() as served:
        yield served


def under(instance: Instance, **settings: str) -> Instance:
    """Returns the same instance with other settings."""
    return Instance(instance.folder, {**instance.environment, **settings})


def test_a_link_is_printed_once_and_works_once(instance, service):
    done = instance.run("user", "link", "Ada@Example.org")
    assert done.returncode == 0, done.stderr
    path = done.stdout.strip()
    assert path.startswith("/console/password/"), "without public_url the path alone"
    assert "shown only now" in done.stderr
    token = path.rpartition("/")[2]
    body = {"token": token, "new_password": NEW}
    assert service.call("POST", "/api/password-links", body)[0] == 204
    assert service.call("POST", "/api/password-links", body)[0] == 404
    assert service.call("POST", "/api/login", {"email": "ada@example.org", "password": NEW})[0] == 200
    listed = instance.run("audit", "tail").stdout
    assert "create_password_link" in listed
    assert token not in listed


def test_the_link_is_below_public_url(instance, service):
    done = under(instance, GATEPOST_PUBLIC_URL="https://api.example.org/base").run("user", "link", "ada@example.org")
    assert done.stdout.startswith("https://api.example.org/base/console/password/"), done.stderr


def test_a_password_by_command_voids_a_link(instance, service):
    token = instance.run("user", "link", "ada@example.org").stdout.strip().rpartition("/")[2]
    assert instance.run("user", "password", "ada@example.org", "--password-file", "-", input=PASSWORD).returncode == 0
    assert service.call("POST", "/api/password-links", {"token": token, "new_password": NEW})[0] == 404


def test_neither_an_unknown_nor_a_disabled_user_gets_a_link(instance, service):
    done = instance.run("user", "link", "nobody@example.org")
    assert (done.returncode, done.stdout) == (1, "")
    assert "There is no user nobody@example.org." in done.stderr
    assert instance.run("user", "disable", "ada@example.org").returncode == 0
    done = instance.run("user", "link", "ada@example.org")
    assert (done.returncode, done.stdout) == (1, "")
    assert "gatepost user enable ada@example.org" in done.stderr


def test_without_the_console_there_is_no_link_to_print(instance, service):
    done = under(instance, GATEPOST_CONSOLE="off").run("user", "link", "admin@example.org")
    assert (done.returncode, done.stdout) == (1, "")
    assert "console" in done.stderr
