"""What the policy commands share: their argument, their JSON, and findings with the exit code that they lead to."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import click

from blueprints.commands.printing import echo, echo_json
from policies import Finding

DIRECTORY = click.argument("directory", type=click.Path(path_type=Path), required=False, metavar="[DIR]")
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON, for scripts.")


def finish(
    findings: Iterable[Finding], facts: Mapping[str, Any], as_json: bool, summary: str,
    failing: tuple[str, ...] = ("error",),
) -> None:
    """Print the findings, and exit with 1 when the severity of one of them is in `failing`."""
    found = list(findings)
    failed = any(finding.severity in failing for finding in found)
    if as_json:
        listed = [{"file": one.file, "line": one.line, "severity": one.severity, "message": one.message}
                  for one in found]
        print_json({**facts, "fine": not failed, "findings": listed})
    else:
        for finding in found:
            echo(finding)
        if summary:
            echo(f"{'Findings' if failed else 'Fine'}: {summary}.")
        else:
            echo(f"{counted(sum(one.severity == 'error' for one in found), 'error')}.")
    sys.exit(int(failed))


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def print_json(data: Any) -> None:
    echo_json(data, indent=2)
