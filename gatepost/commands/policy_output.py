"""What the policy commands share: their argument, their JSON, and findings with the exit code that they lead to.

With `--json` a command prints JSON also where it cannot run: an error is then a finding, see `Unusable`.
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

_ASKED = f"{__name__}.json"  # in the notes of click's context, which a group shares with its commands

DIRECTORY = click.argument("directory", type=click.Path(path_type=Path), required=False, metavar="[DIR]")


def _remember(ctx: click.Context, _: click.Parameter, asked: bool) -> bool:
    ctx.meta[_ASKED] = asked
    return asked


# Read before the other options, so that what is wrong with those is JSON, too.
AS_JSON = click.option("--json", "as_json", is_flag=True, is_eager=True, callback=_remember,
                       help="Print JSON, for scripts.")


class Unusable(click.ClickException):
    """A folder whose policy files cannot be used, with every finding."""

    def __init__(self, place: Path, broken: PolicyError) -> None:
        super().__init__(f"{show_path(place)} cannot be used:\n{broken}")
        self.findings = broken.findings


def show_error(ctx: click.Context, error: click.ClickException) -> None:
    """Print why a command cannot run: a sentence, or JSON of the form that `finish` prints where it was asked for."""
    if not ctx.meta.get(_ASKED):
        error.show()
        return
    findings = error.findings if isinstance(error, Unusable) else [Finding("", 0, error.format_message())]
    print_json({"policy_version": None, "fine": False, "findings": list(map(_as_json, findings))})


def compared(old: Policy, new: Policy, stored: Mapping[str, str] | None = None) -> Changes:
    """The diff of two policies. Somebody at a terminal sees how far it has come."""
    with progress("Permissions compared") as tell:
        return diff(old, new, stored, tell)


def finish(
    findings: Iterable[Finding], facts: Mapping[str, Any], as_json: bool, summary: str,
    failing: tuple[str, ...] = ("error",),
) -> None:
    """Print the findings, and exit with 1 when the severity of one of them is in `failing`."""
    found = list(findings)
    failed = any(finding.severity in failing for finding in found)
    show(found, facts, as_json, summary, failed)
    sys.exit(int(failed))


def show(
    findings: list[Finding], facts: Mapping[str, Any], as_json: bool, summary: str, failed: bool,
    details: Mapping[Finding, Mapping[str, Any]] = MappingProxyType({}),
) -> None:
    """Print the findings; `details` are further fields of some of them in JSON."""
    if as_json:
        listed = [{**_as_json(one), **details.get(one, {})} for one in findings]
        print_json({**facts, "fine": not failed, "findings": listed})
        return
    for finding in findings:
        echo(finding)
    if summary:
        echo(f"{'Findings' if failed else 'Fine'}: {summary}.")
    else:
        echo(f"{counted(sum(one.severity == 'error' for one in findings), 'error')}.")


def _as_json(finding: Finding) -> dict[str, Any]:
    return {"file": finding.file, "line": finding.line, "severity": finding.severity, "message": finding.message}


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def print_json(data: Any) -> None:
    echo_json(data, indent=2)
