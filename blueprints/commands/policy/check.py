"""`gatepost policy check`: can these files be used, and do they mean what their author meant?"""

from __future__ import annotations

import os
from pathlib import Path

import click

from blueprints.commands.policy import folders
from blueprints.commands.policy.output import AS_JSON, DIRECTORY, counted, finish
from blueprints.commands.policy.ungranted import ungranted
from policies import Finding, PolicyError, load
from policies.cases.case_file import failures
from policies.lint.warnings import warnings
from policies.loading.loader import CASES_FILE, unread
from policies.loading.oracle import SAMPLE, sampled


@click.command()
@DIRECTORY
@click.option("--strict", is_flag=True, help="Warnings count as errors.")
@AS_JSON
def check(directory: Path | None, strict: bool, as_json: bool) -> None:
    """Can the policy files be used, and do they mean what they seem to?

    Those in DIR; without DIR, those of the instance, wherever they are (policy_source). Exit code 1 when they cannot;
    with --strict also when there are warnings.

    \b
    Example: gatepost policy check trial
    """
    folder = folders.folder(directory)
    version, findings, summary = None, list[Finding](), ""
    try:
        found = load(folder, folders.registry().vocabulary, plugins=folders.plugins(folder),
                     required=folders.required(folder))
    except PolicyError as error:
        findings = [*error.findings, *unread(folder)]
    else:
        version = found.version
        # What a service asks before it starts on the rules: it refuses them where the two differ.
        findings = [*warnings(found), *unread(folder), *sampled(found, seconds=SAMPLE),
                    *ungranted(folders.registry(), found)]
        warned = sum(one.severity == "warning" for one in findings)
        numbers = [(len(found.rules), "rule"), (len(found.scopes), "scope line"), (warned, "warning")]
        summary = ", ".join([*(counted(*one) for one in numbers), f"version {version}"])
        if os.path.lexists(folder / CASES_FILE):
            findings += failures(found, folder / CASES_FILE)
        findings += folders.gone(folder, found)
    findings += folders.without_effect(directory)
    finish(findings, {"policy_version": version}, as_json, summary,
           failing=("error", "warning") if strict else ("error",))
