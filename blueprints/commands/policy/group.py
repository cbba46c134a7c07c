"""The administrator's tools: `gatepost policy …`, one a module, and two that put policies in force and tell of them.

Those that explain, check and compare work on files alone, but for questions about persons, objects and the past: with a
broken policy, a stopped service, without a database. Exit codes: 0 fine, 1 findings, 2 cannot run.
"""

from __future__ import annotations

from typing import Any

import click

from blueprints.commands.policy.adopt import adopt
from blueprints.commands.policy.cases import test_command
from blueprints.commands.policy.changing import accept_command, apply_command, revert_command
from blueprints.commands.policy.check import check
from blueprints.commands.policy.diff import diff_command
from blueprints.commands.policy.explain import explain_command
from blueprints.commands.policy.export import export_command
from blueprints.commands.policy.history import log_command, show_command
from blueprints.commands.policy.matrix import matrix_command
from blueprints.commands.policy.output import show_error
from blueprints.commands.policy.review import review_command
from blueprints.commands.policy.unused import unused_command
from blueprints.commands.policy.who import who_command
from blueprints.commands.printing import Group
from policies.evaluation.compiled import FunctionFailed


class Tools(Group):
    """Errors exit with 2, because 1 means findings; with `--json` they are JSON. Commands are listed as they are used:
    look, try, then what is rare."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

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


for _command in (explain_command, who_command, matrix_command, check, test_command, diff_command, unused_command,
                 review_command, apply_command, log_command, show_command, revert_command, accept_command, adopt,
                 export_command):
    policy.add_command(_command)
