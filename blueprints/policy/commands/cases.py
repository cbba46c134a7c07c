"""`gatepost policy test`: runs the cases of a tests.yaml against the rules, and lists rules that no case reaches."""

from __future__ import annotations

import os
import shlex
import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from gatepost.commands import policy_files
from gatepost.commands.context import show_path
from gatepost.commands.policy_output import AS_JSON, DIRECTORY, counted, show
from gatepost.commands.printing import echo
from policies import Finding, Policy
from policies.cases.cases import Coverage, Report, run
from policies.cases.junit import as_junit
from policies.loading.loader import CASES_FILE
from policies.loading.rule_sets import FOLDERS
from policies.questions.additions import additions
from system.files import write

_COVERAGE = "--coverage"
_XML = b"<?xml"


class _Command(click.Command):
    """A command that reads `--coverage` as `--coverage=100`.

    click would take the next word, which is DIR, as the optional value.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        end = args.index("--") if "--" in args else len(args)
        options = [f"{_COVERAGE}=100" if word == _COVERAGE else word for word in args[:end]]
        return super().parse_args(ctx, [*options, *args[end:]])


@dataclass(frozen=True)
class Trial:
    """A run of the cases in `path` on the rules of `folder`; `floor` is the required coverage in percent."""

    folder: Path
    path: Path
    policy: Policy
    report: Report
    coverage: Coverage
    floor: int | None

    @property
    def shipped(self) -> bool:
        """True if the cases are the shipped ones, because the folder has none."""
        return self.path.parent in FOLDERS.values() and self.path.parent != self.folder

    @property
    def below(self) -> bool:
        return self.floor is not None and self.coverage.percent < self.floor

    @property
    def figure(self) -> str:
        """The coverage as text: "12 of 184 rules reached (6 %, and 80 % are required)"."""
        floor = f", and {self.floor} % are required" if self.below else ""
        coverage = self.coverage
        return f"{coverage.reached} of {counted(coverage.lines, 'rule')} reached ({coverage.percent} %{floor})"

    @property
    def missed(self) -> list[Finding]:
        """Findings about the rules that no case reached; [] without `--coverage`."""
        return [] if self.floor is None else self.coverage.missed()

    @property
    def failed(self) -> bool:
        return bool(self.report.failures) or self.below

    @property
    def summary(self) -> str:
        report = self.report
        cases = f"{policy_files.SHIPPED_WORD}/{self.path.name}" if self.shipped else show_path(self.path)
        return ", ".join((f"{counted(len(report.suite.cases), 'case')} of {cases}",
                          counted(report.questions, "question"), counted(len(report.failures), "wrong answer"),
                          self.figure))


@click.command("test", cls=_Command)
@DIRECTORY
@click.option(_COVERAGE, "floor", type=click.IntRange(0, 100), metavar="[=N]",
              help="List the rules that no case reaches, and fail if the cases reach less than N percent (100).")
@click.option("--junit", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
              help="Also write the result as JUnit XML.")
@AS_JSON
def test_command(directory: Path | None, floor: int | None, junit: Path | None, as_json: bool) -> None:
    """Run the cases of tests.yaml against the rules.

    The rules and the cases are those of DIR; without DIR, those of the instance. If there is no tests.yaml, the shipped
    cases are run.

    \b
    Example: gatepost policy test --coverage=80 --junit report.xml
    """
    if floor is not None and directory is not None and directory.name.isdecimal() and not directory.exists():
        raise click.UsageError(f"Write {_COVERAGE}={directory}; a word after a blank is DIR.")
    if junit is not None:
        _require_report(junit)
    trial = _tried(policy_files.folder(directory), floor)
    if junit is not None:
        _write_report(junit, trial)
    report = trial.report
    if trial.shipped:
        echo(f"No {CASES_FILE} in {show_path(trial.folder)}: the shipped cases are run, {trial.path}", err=True)
    facts = {"policy_version": trial.policy.version, "cases_file": str(trial.path), "cases_shipped": trial.shipped,
             "cases": len(report.suite.cases), "questions": report.questions, "lines": trial.coverage.lines,
             "lines_reached": trial.coverage.reached, "coverage": trial.coverage.percent}
    show([*report.findings, *trial.missed], facts, as_json, trial.summary, trial.failed,
         {failure.finding: failure.as_json() for failure in report.failures})
    for sentence in _advice(trial, own=directory is None):
        echo(sentence, err=True)
    sys.exit(int(trial.failed))


def _tried(folder: Path, floor: int | None) -> Trial:
    """Runs the cases. Raises ClickException if the rules or the cases cannot be used."""
    policy = policy_files.policy_in(folder, whole=True)
    # `lexists` is true for a broken link: the shipped cases must not replace own cases that cannot be read.
    path = folder / CASES_FILE
    if not os.path.lexists(path):
        path = policy_files.shipped()[CASES_FILE]
    suite, coverage = policy_files.suite(path, policy), Coverage(policy)
    return Trial(folder, path, policy, run(policy, suite, coverage), coverage, floor)


def _advice(trial: Trial, *, own: bool) -> Iterator[str]:
    """Yields advice if the shipped cases fail."""
    if not (trial.shipped and trial.report.failures):
        return
    target = show_path(trial.folder / CASES_FILE)
    adopt = "gatepost policy adopt tests" if own else shlex.join(("cp", str(trial.path), target))
    yield f"If a difference is meant, copy the cases ({adopt}), and change the case in {target}."
    wrong = {failure.question.permission for failure in trial.report.failures}
    if own and (new := sorted(wrong.intersection(additions(trial.policy, policy_files.shipped_policy()).permissions))):
        yield f"These came with an upgrade: {', '.join(new)}. Add the shipped rules: gatepost policy adopt --new"


def _require_report(place: Path) -> None:
    """Raises ClickException if the file exists and is not an earlier report."""
    try:
        mode = place.lstat().st_mode
        if not stat.S_ISREG(mode):
            raise click.ClickException(f"{show_path(place)} is a link or no regular file; nothing is written.")
        with place.open("rb") as file:
            if file.read(len(_XML)) not in (_XML, b""):
                raise click.ClickException(f"{show_path(place)} is there and is no XML; nothing is written.")
    except FileNotFoundError:
        return
    except OSError as error:
        raise click.ClickException(f"{show_path(place)} cannot be read: {error.strerror}.") from None


def _write_report(place: Path, trial: Trial) -> None:
    properties = {"policy_version": trial.policy.version, "coverage": trial.coverage.percent,
                  "lines": trial.coverage.lines, "lines_reached": trial.coverage.reached}
    remarks = [*trial.report.warnings, *trial.missed]
    if trial.below:
        remarks.append(Finding(show_path(trial.folder), 0, trial.figure))
    try:
        write(place, as_junit(trial.report, show_path(trial.path), properties, remarks), 0o666)
    except OSError as error:
        raise click.ClickException(f"{show_path(place)} cannot be written: {error.strerror}.") from None
