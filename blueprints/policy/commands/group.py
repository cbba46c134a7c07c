"""The administrator's tools: `gatepost policy …`, one a module, and two that put policies in force and tell of them.

Those that explain, check and compare work on files alone, but for questions about persons, objects and the past: with a
broken policy, a stopped service, without a database. Exit codes: 0 fine, 1 findings, 2 cannot run.
"""

from __future__ import annotations

from typing import Any

import click

from gatepost.commands.lazy import Lazy
from gatepost.commands.policy_output import show_error
from gatepost.commands.printing import Group
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


for _command in (
    Lazy("explain", "blueprints.policy.commands.explain:explain_command",
         "Why is this user or role allowed or refused it?"),
    Lazy("who", "blueprints.access_review.commands.who:who_command",
         "Who may do this, to an object or to any, and by which line?"),
    Lazy("matrix", "blueprints.policy.commands.matrix:matrix_command", "Who may do what? A table, or a page."),
    Lazy("check", "blueprints.policy.commands.check:check",
         "Can the policy files be used, and do they mean what they seem to?"),
    Lazy("test", "blueprints.policy.commands.cases:test_command",
         "Do the rules answer the cases of tests.yaml as they should?"),
    Lazy("diff", "blueprints.policy_changes.commands.diff:diff_command",
         "What does a change really change? With an example of each."),
    Lazy("unused", "blueprints.access_review.commands.unused:unused_command",
         "Which lines and permissions does nobody use?"),
    Lazy("review", "blueprints.access_review.commands.review:review_command",
         "Who has which role, how did they get it, and do they use it?"),
    Lazy("apply", "blueprints.policy_changes.commands.changing:apply_command",
         "Put the policy files of a folder in force."),
    Lazy("log", "blueprints.policy_changes.commands.history:log_command",
         "Which policies were in force, since when, and what each changed."),
    Lazy("show", "blueprints.policy_changes.commands.history:show_command", "The files of a policy that was in force."),
    Lazy("revert", "blueprints.policy_changes.commands.changing:revert_command",
         "Put a policy in force that was so before."),
    Lazy("accept", "blueprints.policy_changes.commands.changing:accept_command",
         "Put the files in force that are there, though a rule file is gone."),
    Lazy("adopt", "blueprints.policy_changes.commands.adopt:adopt",
         "Take over missing shipped files, or the lines of an upgrade."),
    Lazy("export", "blueprints.policy.commands.export:export_command", "Print the rules for the Casbin editor."),
):
    policy.add_command(_command)
