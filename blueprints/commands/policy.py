"""The administrator's tools: `gatepost policy check | explain | matrix | test | diff | export | adopt`.

All but `explain` about a person or an object work on files alone: with a broken policy, a stopped service, without
a database. Exit codes: 0 fine, 1 findings, 2 cannot run.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import click

from blueprints.commands import policy_files
from blueprints.commands.adopt import adopt
from blueprints.commands.context import show_path
from blueprints.commands.explain import explain_command
from blueprints.commands.printing import Group, echo, echo_json, echo_lines
from blueprints.commands.private_file import overwrite_option, private_file
from policies import SHIPPED, Finding, PolicyError, load
from policies.loading.loader import CASES_FILE
from policies.questions.diff import diff
from policies.tools.case_file import failures
from policies.tools.cases import run, uncovered
from policies.tools.export import export
from policies.tools.lint import warnings
from policies.tools.matrix import as_text, matrix
from policies.tools.matrix_page import as_html

DIRECTORY = click.argument("directory", type=click.Path(path_type=Path), required=False, metavar="[DIR]")
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON, for scripts.")


class Tools(Group):
    """Errors exit with 2, because 1 means findings."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except click.UsageError:
            raise
        except click.ClickException as error:
            error.show()
            ctx.exit(2)


@click.group(cls=Tools)
def policy() -> None:
    """Check, explain, test and compare the access rules."""


policy.add_command(explain_command)


@policy.command()
@DIRECTORY
@AS_JSON
def check(directory: Path | None, as_json: bool) -> None:
    """Can the policy files in DIR be used?

    Without DIR, those of the instance.

    \b
    Example: gatepost policy check trial
    """
    folder = policy_files.folder(directory)
    installed = policy_files.registry()
    version, findings, summary = None, list[Finding](), ""
    try:
        found = load(folder, installed.vocabulary, plugins=installed.plugin_policies,
                     required=installed.required_policies)
    except PolicyError as error:
        findings = error.findings
    else:
        version = found.version
        findings = list(warnings(found))
        counted = [(len(found.rules), "rule"), (len(found.scopes), "scope line"), (len(findings), "warning")]
        summary = ", ".join([*(_counted(*one) for one in counted), f"version {version}"])
        if os.path.lexists(folder / CASES_FILE):
            findings += failures(found, folder / CASES_FILE)
    _finish(findings, {"policy_version": version}, as_json, summary)


@policy.command("matrix")
@DIRECTORY
@click.option("--role", "roles", multiple=True, metavar="ROLE", help="Only this role. May be repeated.")
@click.option("--html", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
              help="Write one self-contained page.")
@AS_JSON
def matrix_command(directory: Path | None, roles: tuple[str, ...], html: Path | None, as_json: bool) -> None:
    """Who may do what, as a table.

    A row for each permission, a column for each role, conditions in the cells.

    \b
    Example: gatepost policy matrix --html matrix.html
    """
    found = policy_files.policy_in(policy_files.folder(directory), whole=True)
    for role in roles:
        if role not in found.vocabulary.roles:
            raise click.BadParameter(f"there is no role {role!r}", param_hint="--role")
    table = matrix(found, roles)
    if html is not None:
        html.write_text(as_html(table), encoding="utf-8")
        echo(f"Written to {show_path(html)}.", err=as_json)
    if as_json:
        _print_json(table.as_json())
    elif html is None:
        echo_lines(as_text(table))


@policy.command()
@DIRECTORY
@click.option("--coverage", is_flag=True, help="Also name the lines that no case reaches.")
@AS_JSON
def test(directory: Path | None, coverage: bool, as_json: bool) -> None:
    """Run the cases in DIR/tests.yaml.

    Without DIR the instance's, or the shipped ones on the shipped files.

    \b
    Example: gatepost policy test --coverage
    """
    folder = policy_files.folder(directory)
    if directory is None and not os.path.lexists(folder / CASES_FILE):
        echo(f"No {CASES_FILE} in {show_path(folder)}: the shipped cases, on the shipped files.", err=True)
        folder = SHIPPED
    found = policy_files.policy_in(folder)
    suite = policy_files.suite(folder / CASES_FILE, found)
    report = run(found, suite)
    missed = uncovered(found, suite) if coverage else []
    counted = [(report.cases, "case"), (report.asked, "question"), (len(report.failures), "wrong answer")]
    summary = ", ".join(_counted(*one) for one in counted)
    summary += f", {_counted(len(missed), 'line')} without a case" if coverage else ""
    facts = {"cases": report.cases, "questions": report.asked, "policy_version": found.version}
    _finish([*report.failures, *missed], facts, as_json, summary, failing=("error", "warning"))


@policy.command("diff")
@click.argument("old")
@click.argument("new", required=False)
@AS_JSON
def diff_command(old: str, new: str | None, as_json: bool) -> None:
    """What NEW allows that OLD does not, and the reverse.

    Each is a folder, or `shipped`. Without NEW, the instance's files. Exit code 1 when there is a difference.

    \b
    Example: gatepost policy diff shipped
    """
    before = policy_files.policy_in(policy_files.named(old))
    after = policy_files.policy_in(policy_files.named(new) if new else policy_files.folder())
    found = diff(before, after)
    if as_json:
        listed = [one.as_json() for one in found]
        _print_json({"old": before.version, "new": after.version, "changes": listed})
    else:
        echo_lines("\n".join(map(str, found)) or "No difference in what anybody may do.")
    sys.exit(int(bool(found)))


@policy.command("export")
@DIRECTORY
@click.option("--to", "target", type=click.Path(path_type=Path, file_okay=False), metavar="FOLDER",
              help="Write model.conf and policy.csv there.")
@overwrite_option
@AS_JSON
def export_command(directory: Path | None, target: Path | None, overwrite: bool, as_json: bool) -> None:
    """Print the policy for the Casbin editor.

    As one model and one CSV file of plain Casbin. Only the user who runs this can read the files.

    \b
    Example: gatepost policy export --to casbin
    """
    try:
        found = export(policy_files.folder(directory), policy_files.registry().plugin_policies)
    except PolicyError as error:
        raise click.ClickException(str(error)) from None
    if target is not None:
        target.mkdir(parents=True, exist_ok=True)
        with (private_file(target / "model.conf", overwrite=overwrite) as model,
              private_file(target / "policy.csv", overwrite=overwrite) as lines):
            model.write(found.model.encode())
            lines.write(found.policy.encode())
        echo(f"Written to {show_path(target)}.", err=as_json)
    if as_json:
        _print_json({"model": found.model, "policy": found.policy})
    elif target is None:
        echo_lines(f"# ---- Model ----\n{found.model}\n# ---- Policy ----\n{found.policy}", nl=False)


policy.add_command(adopt)


def _finish(
    findings: Iterable[Finding], facts: Mapping[str, Any], as_json: bool, summary: str,
    failing: tuple[str, ...] = ("error",),
) -> None:
    """Print the findings, and exit with 1 when the severity of one of them is in `failing`."""
    found = list(findings)
    failed = any(finding.severity in failing for finding in found)
    if as_json:
        listed = [{"file": one.file, "line": one.line, "severity": one.severity, "message": one.message}
                  for one in found]
        _print_json({**facts, "fine": not failed, "findings": listed})
    else:
        for finding in found:
            echo(finding)
        if summary:
            echo(f"{'Findings' if failed else 'Fine'}: {summary}.")
        else:
            echo(f"{_counted(sum(one.severity == 'error' for one in found), 'error')}.")
    sys.exit(int(failed))


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _print_json(data: Any) -> None:
    echo_json(data, indent=2)
