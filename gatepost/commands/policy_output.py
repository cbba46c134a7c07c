"""Output of the policy commands: their argument, their JSON, and findings with their exit code.

With `--json` a command also prints its errors as JSON: an error is then a finding, see `Unusable`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import click

from gatepost.commands.context import show_path
from gatepost.commands.printing import echo, echo_json, progress
from policies import Finding, Policy, PolicyError
from policies.questions.changes import Changes
from policies.questions.diff import diff

_JSON = f"{__name__}.json"  # key in click's context, which a group shares with its commands

DIRECTORY = click.argument("directory", type=click.Path(path_type=Path), required=False, metavar="[DIR]")


def _remember(ctx: click.Context, _: click.Parameter, as_json: bool) -> bool:
    ctx.meta[_JSON] = as_json
    return as_json


# Read before the other options, so that errors of those are JSON, too.
AS_JSON = click.option("--json", "as_json", is_flag=True, is_eager=True, callback=_remember,
                       help="Print JSON, for scripts.")


class Unusable(click.ClickException):
    """Error of a folder whose policy files cannot be used. `findings` has every error."""

    def __init__(self, place: Path, broken: PolicyError) -> None:
        super().__init__(f"{show_path(place)} cannot be used:\n{broken}")
        self.findings = broken.findings


def show_error(ctx: click.Context, error: click.ClickException) -> None:
    """Prints the reason why a command cannot run: as a sentence, or with `--json` as JSON in the form of `finish`."""
    if not ctx.meta.get(_JSON):
        error.show()
        return
    findings = error.findings if isinstance(error, Unusable) else [Finding("", 0, error.format_message())]
    print_json({"policy_version": None, "fine": False, "findings": list(map(_as_json, findings))})


def compared(old: Policy, new: Policy, stored: Mapping[str, str] | None = None) -> Changes:
    """Compares two policies, and shows the progress on a terminal."""
    with progress("Permissions compared") as tell:
        return diff(old, new, stored, tell)


def finish(
    findings: Iterable[Finding], facts: Mapping[str, Any], as_json: bool, summary: str,
    failing: tuple[str, ...] = ("error",),
) -> None:
    """Prints the findings, and exits with 1 if the severity of one is in `failing`, else with 0."""
    all_findings = list(findings)
    failed = any(finding.severity in failing for finding in all_findings)
    show(all_findings, facts, as_json, summary, failed)
    sys.exit(int(failed))


def show(
    findings: list[Finding], facts: Mapping[str, Any], as_json: bool, summary: str, failed: bool,
    details: Mapping[Finding, Mapping[str, Any]] = MappingProxyType({}),
) -> None:
    """Prints the findings; `details` are further fields of some of them in JSON."""
    if as_json:
        entries = [{**_as_json(finding), **details.get(finding, {})} for finding in findings]
        print_json({**facts, "fine": not failed, "findings": entries})
        return
    for finding in findings:
        echo(finding)
    if summary:
        echo(f"{'Findings' if failed else 'Fine'}: {summary}.")
    else:
        echo(f"{counted(sum(finding.severity == 'error' for finding in findings), 'error')}.")


def _as_json(finding: Finding) -> dict[str, Any]:
    return {"file": finding.file, "line": finding.line, "severity": finding.severity, "message": finding.message}


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def print_json(data: Any) -> None:
    echo_json(data, indent=2)
