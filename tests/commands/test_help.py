"""The help of the commands, and their messages when a file, a row or a setting is missing."""

from __future__ import annotations

from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from gatepost.commands import features
from gatepost.commands.lazy import loaded
from tests.running import Instance, cli

WIDTH = 80


def commands_of(group: click.Group) -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None, name
        yield name, loaded(command)


def below(group: click.Group, *path: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    for name, command in commands_of(group):
        yield (*path, name), command
        if isinstance(command, click.Group):
            yield from below(command, *path, name)


@pytest.fixture(scope="module")
def groups() -> list[tuple[str, ...]]:
    return [(), *(path for path, command in below(cli) if isinstance(command, click.Group))]


@pytest.fixture(scope="module")
def commands() -> dict[tuple[str, ...], click.Command]:
    return {path: command for path, command in below(cli) if not isinstance(command, click.Group)}


@pytest.fixture(scope="module")
def helps(commands) -> dict[str, str]:
    """Help of each command, by its name."""
    return {" ".join(path): help_of(path) for path in commands}


def help_of(path: tuple[str, ...]) -> str:
    done = CliRunner().invoke(cli, [*path, "--help"], prog_name="gatepost", terminal_width=WIDTH)
    assert done.exit_code == 0, path
    return done.output


def listed(path: tuple[str, ...]) -> list[str]:
    return help_of(path).partition("Commands:\n")[2].splitlines()


def test_a_list_of_commands_says_whole_sentences(groups):
    assert {path for path in groups if not listed(path)} == set()
    lines = [line for path in groups for line in listed(path)]
    assert [line for line in lines if not line.endswith((".", "?")) or line.endswith("...")] == []


def test_every_command_shows_an_example_of_itself(helps):
    assert len(helps) > 50
    assert [name for name, text in helps.items()
            if f"Example: gatepost {name}" not in text.replace("GATEPOST_PORT=9000 ", "")] == []


def test_every_option_says_what_it_is_for(commands):
    options = [(path, one) for path, command in commands.items() for one in command.params
               if isinstance(one, click.Option)]
    assert [(*path, one.name) for path, one in options if not one.help] == []


def test_no_option_is_described_in_the_words_of_the_library(helps):
    assert [name for name, text in helps.items() if "RANGE" in text] == []


def test_a_command_is_listed_by_the_first_sentence_of_its_help():
    def unlike(group: click.Group, path: str = "gatepost") -> Iterator[str]:
        for name, deferred in features.commands_of(group).items():
            command = loaded(deferred)
            if deferred.get_short_help_str(200) != command.get_short_help_str(200):
                yield f"{path} {name}"
            if isinstance(command, click.Group):
                yield from unlike(command, f"{path} {name}")

    assert list(unlike(cli)) == []


def test_the_policy_commands_are_listed_by_feature():
    assert [line.split()[0] for line in listed(("policy",))] == [
        "explain", "matrix", "check", "test", "export", "diff", "apply", "log", "show", "revert", "accept", "adopt",
        "who", "unused", "review"]


def test_gatepost_says_its_version():
    assert CliRunner().invoke(cli, ["--version"]).output.startswith("gatepost, version ")


NEED_AN_INSTANCE = [("serve",), ("user", "list"), ("openapi",), ("export", "articles"), ("doctor",)]


@pytest.mark.parametrize("command", NEED_AN_INSTANCE, ids=" ".join)
def test_without_an_instance_a_command_names_the_one_that_makes_it(tmp_path, command):
    done = Instance(tmp_path / "nothing").run(*command)
    assert done.returncode == 1
    assert "gatepost init" in done.stdout + done.stderr
    assert (done.stdout + done.stderr).count("nothing") == 1, "it is said once"


@pytest.mark.parametrize("command", NEED_AN_INSTANCE, ids=" ".join)
def test_before_an_upgrade_a_command_names_the_one_that_does_it(tmp_path, command):
    instance = Instance(tmp_path / "instance").made()
    (instance.folder / "gatepost.db").write_bytes(b"")
    done = instance.run(*command)
    assert done.returncode == 1
    assert "gatepost migrate" in done.stdout + done.stderr
