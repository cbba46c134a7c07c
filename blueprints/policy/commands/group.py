"""The group `gatepost policy …`, to which features add their commands.

Commands that explain, check and compare need only files, except for questions about users, objects and the past. So
they work with a broken policy, with a stopped service, and without a database. Exit codes: 0 fine, 1 findings, 2 cannot
run.
"""

from __future__ import annotations

from typing import Any

import click

from gatepost.commands.features import Extensible
from gatepost.commands.policy_output import show_error
from policies.evaluation.compiled import FunctionFailed


class Tools(Extensible):
    """A group whose errors exit with 2, because 1 means findings; with `--json` they are JSON.

    Commands are listed by feature.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*self.of_features]

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except click.ClickException as error:
            show_error(ctx, error)
            ctx.exit(2)
        except FunctionFailed as error:
            show_error(ctx, click.ClickException(str(error)))
            ctx.exit(2)


@click.group(cls=Tools)
def policy() -> None:
    """Check, explain, test and compare the access rules.

    The rules are the files in <instance>/policies; README.md there is the guide. To try a change, copy that folder,
    edit the copy, and name it to `check`, `test` and `diff`. Exit codes: 0 fine, 1 findings or differences, 2 cannot
    run.
    """
