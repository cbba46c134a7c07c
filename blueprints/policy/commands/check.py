"""`gatepost policy check`: can these files be used, and do they mean what their author meant?"""

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

# Every collection has these, and many leave them to who may do everything.
_OFTEN_LEFT = ("export", "import", "manage", "share")
_UNGRANTED = ("nobody has {} but who may do everything; add a line that grants it, or a comment that names it where "
              "that is meant")


def ungranted(installed: Registry, policy: Policy) -> Iterator[Finding]:
    """A warning for each permission that an endpoint of a plugin asks for, that its rules do not name and that no line
    grants but those about everything."""
    for file in sorted(installed.plugin_policies):
        name, text = Path(file).stem, policy.files.get(file, b"").decode(errors="replace")
        found = installed.collections.get(name)
        endpoints = found.served if found is not None else installed.routes[name].endpoints
        for permission in sorted({one.permission for one in endpoints if one.permission is not None}):
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
    """Can the policy files be used, and do they mean what they seem to?

    Those in DIR, which may be an instance; without DIR, those of the instance, wherever they are (policy_source). FILE
    is checked in its folder, or with the other files of the instance, and what is said is about this file. Exit code 1
    when they cannot be used; with --strict also when there are warnings.

    \b
    Example: gatepost policy check trial
    """
    file = place if place is not None and place.is_file() else None
    folder, base = policy_files.around(file) if file else (policy_files.folder(place),) * 2
    version, findings, summary = None, list[Finding](), ""
    try:
        found = load(folder, policy_files.registry().vocabulary, plugins=policy_files.plugins(base),
                     required=policy_files.required(base))
    except PolicyError as error:
        findings = _about(file, [*error.findings, *unread(folder)], base)
    else:
        version = found.version
        # What a service asks before it starts on the rules: it refuses them where the two differ.
        findings = [*warnings(found), *unread(folder), *sampled(found, seconds=SAMPLE),
                    *ungranted(policy_files.registry(), found)]
        if os.path.lexists(folder / CASES_FILE):
            findings += failures(found, folder / CASES_FILE, load_settings().zone)
        findings = _about(file, [*findings, *policy_files.gone(folder, found)], base)
        warned = sum(one.severity == "warning" for one in findings)
        numbers = [(len(found.rules), "rule"), (len(found.scopes), "scope line"), (warned, "warning")]
        summary = ", ".join([*(counted(*one) for one in numbers), *_left_out(found), f"version {version}"])
    findings += [] if file else policy_files.without_effect(place and folder)
    finish(findings, {"policy_version": version}, as_json, summary,
           failing=("error", "warning") if strict else ("error",))


def _left_out(policy: Policy) -> list[str]:
    """The number of lines about collections that the operator left out, as a part of the summary."""
    if not policy.left_out:
        return []
    found = policy_files.registry()
    named = ", ".join(sorted((*found.left_out, *found.absent)))
    return [f"{counted(len(policy.left_out), 'line')} without effect about what is left out ({named})"]


def _about(file: Path | None, findings: list[Finding], base: Path) -> list[Finding]:
    """The findings about a file (None: about all), and how many errors of others keep it from being used."""
    if file is None:
        return findings
    own = [one for one in findings if one.file == file.name]
    if others := sum(one.severity == "error" for one in findings) - sum(one.severity == "error" for one in own):
        where = f" {show_path(base)}" if base == file.parent else ""
        message = f"{counted(others, 'error')} in other files; see: gatepost policy check{where}"
        own.append(Finding(file.name, 0, message))
    return own
