"""`gatepost policy test`: do the rules answer the cases of a tests.yaml as it says?"""

from __future__ import annotations

import os
from pathlib import Path

import click

from blueprints.commands.context import show_path
from blueprints.commands.policy import folders
from blueprints.commands.policy.output import AS_JSON, DIRECTORY, counted, finish
from blueprints.commands.printing import echo
from policies import SHIPPED
from policies.loading.loader import CASES_FILE
from policies.tools.cases import run, uncovered


@click.command("test")
@DIRECTORY
@click.option("--coverage", is_flag=True, help="Also name the lines that no case reaches.")
@AS_JSON
def test_command(directory: Path | None, coverage: bool, as_json: bool) -> None:
    """Run the cases in DIR/tests.yaml.

    Without DIR the instance's, or the shipped ones on the shipped files.

    \b
    Example: gatepost policy test --coverage
    """
    folder = folders.folder(directory)
    if directory is None and not os.path.lexists(folder / CASES_FILE):
        echo(f"No {CASES_FILE} in {show_path(folder)}: the shipped cases, on the shipped files.", err=True)
        folder = SHIPPED
    found = folders.policy_in(folder)
    suite = folders.suite(folder / CASES_FILE, found)
    report = run(found, suite)
    missed = uncovered(found, suite) if coverage else []
    numbers = [(report.cases, "case"), (report.asked, "question"), (len(report.failures), "wrong answer")]
    summary = ", ".join(counted(*one) for one in numbers)
    summary += f", {counted(len(missed), 'line')} without a case" if coverage else ""
    facts = {"cases": report.cases, "questions": report.asked, "policy_version": found.version}
    finish([*report.failures, *missed], facts, as_json, summary, failing=("error", "warning"))
