"""`gatepost policy check`: checks policy files for errors and likely mistakes."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gatepost.commands import policy_files
from gatepost.commands.context import load_settings, show_path
from gatepost.commands.policy_output import AS_JSON, counted, finish
from policies import Finding, Policy, PolicyError, load
from policies.cases.case_file import failures
from policies.lint.warnings import warnings
from policies.loading.folder import SAMPLE
from policies.loading.loader import CASES_FILE, unread
from policies.loading.oracle import sampled

if TYPE_CHECKING:
    from gatepost.collections.registry import Registry

# Every collection has these permissions, and many grant them only with the rules for everything.
_OFTEN_LEFT = ("export", "import", "manage", "share")
_UNGRANTED = ("only those who may do everything have {}; add a rule that grants it, or a comment that names it if "
              "that is meant")


def ungranted(installed: Registry, policy: Policy) -> Iterator[Finding]:
    """Yields a warning for each permission of a plugin's endpoint that no rule grants, except rules for everything.

    A comment in the plugin's rule file that names the permission suppresses the warning.
    """
    for file in sorted(installed.plugin_policies):
        name, text = Path(file).stem, policy.files.get(file, b"").decode(errors="replace")
        collection = installed.collections.get(name)
        endpoints = collection.served if collection is not None else installed.routes[name].endpoints
        for permission in sorted({endpoint.permission for endpoint in endpoints if endpoint.permission is not None}):
            if (permission.rpartition(".")[2] not in _OFTEN_LEFT and not _granted(policy, permission)
                    and not re.search(rf"(?<![\w.]){re.escape(permission)}(?!\w)", text)):
                yield Finding(file, 0, _UNGRANTED.format(permission), "warning")


def _granted(policy: Policy, permission: str) -> bool:
    return any(rule.eft == "allow" and rule.act != "*" and permission in policy.patterns.covered(rule.act)
               for rule in policy.rules)


@click.command()
@click.argument("place", type=click.Path(path_type=Path), required=False, metavar="[DIR|FILE]")
@click.option("--strict", is_flag=True, help="Warnings count as errors.")
@AS_JSON
def check(place: Path | None, strict: bool, as_json: bool) -> None:
    """Check the policy files for errors and likely mistakes.

    The files are those in DIR, which may be an instance; without DIR, those of the instance (policy_source). FILE is
    checked together with the files in its folder, or with those of the instance; only findings about FILE are printed.
    Exit code 1 if the files cannot be used; with --strict also if there are warnings.

    \b
    Example: gatepost policy check trial
    """
    file = place if place is not None and place.is_file() else None
    folder, base = policy_files.around(file) if file else (policy_files.folder(place),) * 2
    version, findings, summary = None, list[Finding](), ""
    try:
        policy = load(folder, policy_files.registry().vocabulary, plugins=policy_files.plugins(base),
                      required=policy_files.required(base))
    except PolicyError as error:
        findings = _about(file, [*error.findings, *unread(folder)], base)
    else:
        version = policy.version
        # `sampled` compares the decisions with Casbin's, as the service does before it uses the rules.
        findings = [*warnings(policy), *unread(folder), *sampled(policy, seconds=SAMPLE),
                    *ungranted(policy_files.registry(), policy)]
        if os.path.lexists(folder / CASES_FILE):
            findings += failures(policy, folder / CASES_FILE, load_settings().zone)
        findings = _about(file, [*findings, *policy_files.gone(folder, policy)], base)
        warned = sum(finding.severity == "warning" for finding in findings)
        numbers = [(len(policy.rules), "rule"), (len(policy.scopes), "scope rule"), (warned, "warning")]
        summary = ", ".join([*(counted(*number) for number in numbers), *_left_out(policy), f"version {version}"])
    findings += [] if file else policy_files.without_effect(place and folder)
    finish(findings, {"policy_version": version}, as_json, summary,
           failing=("error", "warning") if strict else ("error",))


def _left_out(policy: Policy) -> list[str]:
    """Returns the number of rules about absent collections and features, as a part of the summary."""
    if not policy.left_out:
        return []
    installed = policy_files.registry()
    named = ", ".join(sorted((*installed.left_out, *installed.absent)))
    return [f"{counted(len(policy.left_out), 'rule')} without effect, about parts that are left out ({named})"]


def _about(file: Path | None, findings: list[Finding], base: Path) -> list[Finding]:
    """Returns the findings about a file (None: about all), and a finding with the number of errors in other files."""
    if file is None:
        return findings
    own = [finding for finding in findings if finding.file == file.name]
    if others := sum(finding.severity == "error" for finding in findings if finding.file != file.name):
        where = f" {show_path(base)}" if base == file.parent else ""
        message = f"{counted(others, 'error')} in other files; see: gatepost policy check{where}"
        own.append(Finding(file.name, 0, message))
    return own
