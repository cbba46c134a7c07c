"""The help of the commands, and their messages when a file, a row or a setting is missing."""

from __future__ import annotations

from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from blueprints.commands.lazy import loaded
from gatepost_start.command import cli
from tests.running import Instance

WIDTH = 80


def found(group: click.Group, *path: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    for name, deferred in sorted(group.commands.items()):
        command = loaded(deferred)
        yield (*path, name), command
        if isinstance(command, click.Group):
            yield from found(command, *path, name)


EVERY = list(found(cli))
GROUPS = [(), *(path for path, command in EVERY if isinstance(command, click.Group))]
COMMANDS = [path for path, command in EVERY if not isinstance(command, click.Group)]


def help_of(path: tuple[str, ...]) -> str:
    done = CliRunner().invoke(cli, [*path, "--help"], prog_name="gatepost", terminal_width=WIDTH)
    assert done.exit_code == 0
    return done.output


@pytest.mark.parametrize("path", GROUPS, ids=lambda path: " ".join(("gatepost", *path)))
def test_a_list_of_commands_says_whole_sentences(path):
    listed = help_of(path).partition("Commands:\n")[2].splitlines()
    assert listed
    assert [line for line in listed if not line.endswith((".", "?"))] == []
    assert [line for line in listed if line.endswith("...")] == []


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_command_shows_an_example_of_itself(path):
    assert f"Example: gatepost {' '.join(path)}" in help_of(path).replace("GATEPOST_PORT=9000 ", "")


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_option_says_what_it_is_for(path):
    command = dict(EVERY)[path]
    options = [one for one in command.params if isinstance(one, click.Option)]
    assert [one.name for one in options if not one.help] == []


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_no_option_is_described_in_the_words_of_the_library(path):
    assert "RANGE" not in help_of(path)


@pytest.mark.parametrize("path", GROUPS, ids=lambda path: " ".join(("gatepost", *path)))
def test_a_command_is_listed_by_the_first_sentence_of_its_help(path):
    group = cli if path == () else dict(EVERY)[path]
    listed = {name: deferred.get_short_help_str(200) for name, deferred in group.commands.items()}
    assert listed == {name: loaded(deferred).get_short_help_str(200) for name, deferred in group.commands.items()}


def test_the_policy_commands_stand_in_the_order_of_their_use():
    listed = help_of(("policy",)).partition("Commands:\n")[2].splitlines()
    assert [line.split()[0] for line in listed] == [
        "explain", "who", "matrix", "check", "test", "diff", "unused", "review", "apply", "log", "show", "revert",
        "accept", "adopt", "export"]


def test_gatepost_says_its_version():
    assert CliRunner().invoke(cli, ["--version"]).output.startswith("gatepost, version ")


@pytest.mark.parametrize("command", [("serve",), ("user", "list"), ("openapi",), ("export", "articles"), ("doctor",)],
                         ids=" ".join)
def test_without_an_instance_a_command_names_the_one_that_makes_it(tmp_path, command):
    done = Instance(tmp_path / "nothing").run(*command)
    assert done.returncode == 1
    assert "gatepost init" in done.stdout + done.stderr
    assert (done.stdout + done.stderr).count("nothing") == 1, "it is said once"


@pytest.mark.parametrize("command", [("serve",), ("user", "list"), ("openapi",), ("export", "articles"), ("doctor",)],
                         ids=" ".join)
def test_before_an_upgrade_a_command_names_the_one_that_does_it(tmp_path, command):
    instance = Instance(tmp_path / "instance").made()
    (instance.folder / "gatepost.db").write_bytes(b"")
    done = instance.run(*command)
    assert done.returncode == 1
    assert "gatepost migrate" in done.stdout + done.stderr
