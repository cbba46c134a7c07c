"""Commands that shipped features declare: of `gatepost` itself (`backup`), or of a group (`policy who`)."""

from __future__ import annotations

from collections.abc import Mapping

import click

from gatepost.collections.plugins import shipped
from gatepost.commands.context import load_settings
from gatepost.commands.lazy import Deferred, Lazy
from gatepost.commands.printing import Group

_LEFT_OUT = f"{__name__}.left_out"  # in the notes of click's context


class Extensible(Group):
    """A group of commands, to which features can add commands."""

    @property
    def of_features(self) -> Mapping[str, click.Command]:
        """The commands of served features for this group, by name."""
        return {name: command for name, command in declared(self.words).items()
                if not (isinstance(command, _Absent) or name in self.commands)}

    @property
    def words(self) -> str:
        """The words after `gatepost` that call the group."""
        return self.name or ""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*super().list_commands(ctx), *self.of_features])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return super().get_command(ctx, cmd_name) or declared(self.words).get(cmd_name)


def commands_of(group: click.Group) -> Mapping[str, click.Command]:
    """Returns the commands of a group by name: its own, and those of features."""
    return {**group.commands, **(group.of_features if isinstance(group, Extensible) else {})}


class _Absent(Deferred):
    """A command of a feature that is left out: it raises ClickException with that reason."""

    def __init__(self, words: str, feature: str) -> None:
        super().__init__(words.rpartition(" ")[2])
        self._why = f"gatepost {words}: the feature {feature} is left out (setting without)."

    def load(self) -> click.Command:
        raise click.ClickException(self._why)


def declared(group: str) -> Mapping[str, click.Command]:
    """Returns the commands of all features for a group, by name. Those of absent features raise ClickException."""
    without = _left_out()
    return {words.rpartition(" ")[2]: _Absent(words, feature.name) if feature.name in without else
            Lazy(words.rpartition(" ")[2], command.target, command.help)
            for feature in shipped.features().values() for words, command in feature.commands.items()
            if words.rpartition(" ")[0] == group}


def _left_out() -> frozenset[str]:
    """Returns the names in the setting `without`; none if the settings cannot be read, which the command reports."""
    context = click.get_current_context(silent=True)
    notes = {} if context is None else context.meta  # shared by all contexts of a command line
    if _LEFT_OUT not in notes:
        try:
            notes[_LEFT_OUT] = frozenset(load_settings().without)
        except click.ClickException:
            notes[_LEFT_OUT] = frozenset[str]()
    names: frozenset[str] = notes[_LEFT_OUT]
    return names
