"""Every operation, tested by schemathesis as guest, user and admin: `make contracts`.

schemathesis generates valid and invalid requests from the OpenAPI document of a running service, and applies all of its
checks to the answers. A finding that accepted.toml does not name is a fault: the status is 1. An entry of
accepted.toml without a finding is reported, because it may be stale.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import product
from pathlib import Path
from time import monotonic
from uuid import uuid4

from tests.running import PASSWORD, ROOT, Instance, Served

HERE = ROOT / "tests" / "clients"
CALLERS = ("guest", "user", "admin")
# It ends the caller's session, so that later requests would be refused. So it gets a session of its own.
ENDING = "session_log_out"
SETTINGS = {"GATEPOST_RATE_LIMITS": "off", "GATEPOST_ACCESS_TOKEN_MINUTES": "1440"}
_SECTION = re.compile(r"^_{4,} (.+?) _{4,}$", re.MULTILINE)
_CASE = re.compile(r"^\d+\. Test Case ID: \S+$", re.MULTILINE)
_CHECK = re.compile(r"^- (ST\d+) (.+)$", re.MULTILINE)
_CODE = re.compile(r'"code":"(\w+)"')
_LACKS = re.compile(r'^ *"\w+" is a required property$', re.MULTILINE)
_STATUS = re.compile(r"^\[(\d{3})\] ", re.MULTILINE)


@dataclass(frozen=True)
class Finding:
    """A finding of schemathesis. `check` is its code, such as ST105; `status` is 0 if there was no answer.

    `codes` are those of the errors in the answer, or of the problem if it lists none. They are `fields` if a row lacks
    only fields that the parameter `fields` left out, and `("",)` if the answer has no code.
    """

    caller: str
    operation: str
    check: str
    status: int
    codes: tuple[str, ...]
    told: str

    def __str__(self) -> str:
        return f"{self.caller}: {self.operation} answered {self.status}: {self.told}"


@dataclass(frozen=True)
class Accepted:
    """Findings that are not faults, and the reason. `operations` and `callers` are patterns."""

    check: str
    status: int
    code: str
    operations: tuple[str, ...]
    callers: tuple[str, ...]
    reason: str

    def covers(self, finding: Finding, code: str) -> bool:
        return ((self.check, self.status, self.code) == (finding.check, finding.status, code)
                and any(fnmatchcase(finding.operation, pattern) for pattern in self.operations)
                and any(fnmatchcase(finding.caller, pattern) for pattern in self.callers))


def accepted(path: Path = HERE / "accepted.toml") -> list[Accepted]:
    """Returns the entries of the list. Raises `KeyError` for one without a reason or another field."""
    entries = tomllib.loads(path.read_text(encoding="utf-8")).get("accepted", [])
    return [Accepted(entry["check"], entry["status"], entry["code"], tuple(entry["operations"]),
                     tuple(entry.get("callers", ["*"])), entry["reason"]) for entry in entries]


@dataclass(frozen=True)
class Run:
    """The size of a run. `seconds` limits the fuzzing; None: it ends when each operation had its examples."""

    seed: int
    examples: int
    phases: str = "examples,coverage,fuzzing"
    seconds: int | None = None


def findings(run: Run, served: Served, caller: str, headers: Mapping[str, str], *chosen: str) -> list[Finding]:
    """Returns the findings for the operations that the arguments `chosen` select. Raises `RuntimeError` on failure."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        arguments = [sys.executable, "-m", "schemathesis.cli", "--config-file", str(HERE / "schemathesis.toml"), "run",
                     f"{served.url}/api/openapi.json", "--checks", "all", "--phases", run.phases,
                     "--seed", str(run.seed), "--max-examples", str(run.examples), "--continue-on-failure",
                     "--no-color", "--no-shrink", "--output-truncate", "false", "--generation-database", "none",
                     "--report-json-path", str(report), *chosen]
        if run.seconds is not None:
            arguments += ["--max-time", str(run.seconds)]
        for name, value in headers.items():
            arguments += ["--header", f"{name}:{value}"]
        done = subprocess.run(arguments, cwd=folder, capture_output=True, text=True, check=False,
                              timeout=3600 + (run.seconds or 0),
                              env={**os.environ, "COLUMNS": "200", "PYTHONPATH": str(ROOT),
                                   "SCHEMATHESIS_HOOKS": "tests.clients.serializers"})
        if not report.is_file():
            raise RuntimeError(done.stdout + done.stderr)
        told = json.loads(report.read_text(encoding="utf-8"))
    found = list(parsed(caller, done.stdout))
    if told["errors"] or len(found) < told["test_cases"]["unique_failures"]:
        raise RuntimeError(done.stdout + done.stderr)
    print(f"{caller}: {told['operations']['tested']} operations, {told['test_cases']['generated']} requests, "
          f"{told['running_time']:.0f} s, {len(found)} findings", flush=True)
    return found


def parsed(caller: str, output: str) -> Iterator[Finding]:
    """Yields the findings in the output of schemathesis."""
    sections = _SECTION.split(output)
    for operation, text in zip(sections[1::2], sections[2::2], strict=True):
        for case in _CASE.split(text)[1:]:
            checks = list(_CHECK.finditer(case))
            status = _STATUS.search(case)
            answer = case[status.end():] if status else ""
            problem, *errors = _CODE.findall(answer.partition("Reproduce with:")[0]) or [""]
            codes = tuple(dict.fromkeys(errors or [problem]))
            for check, following in zip(checks, [*checks[1:], None], strict=True):
                detail = case[check.end():following.start() if following else status.start() if status else None]
                some_fields = check[1] == "ST108" and _LACKS.search(detail) and "fields=" in case
                yield Finding(caller, operation, check[1], int(status[1]) if status else 0,
                              ("fields",) if some_fields else codes,
                              f"{check[1]} {check[2]}: {' '.join(f'{detail} {answer}'.split())[:1500]}")


def compare(found: Iterable[Finding], entries: Iterable[Accepted]) -> tuple[list[Finding], list[Accepted]]:
    """Returns the findings with a code that no entry covers, and the entries that cover no finding."""
    found, entries = list(found), list(entries)
    return ([finding for finding in found
             if not all(any(entry.covers(finding, code) for entry in entries) for code in finding.codes)],
            [entry for entry in entries
             if not any(entry.covers(finding, code) for finding in found for code in finding.codes)])


def campaign(run: Run, folder: Path, *, callers: Iterable[str] = CALLERS, workers: int = 1) -> list[Finding]:
    """Returns the findings of each caller on a new instance with the rows of the demo."""
    instance = Instance(folder / "instance", SETTINGS)
    done = instance.run("init", "--admin-email", "admin@example.org", "--admin-password-file", "-", input=PASSWORD)
    assert done.returncode == 0, done.stderr
    found: list[Finding] = []
    with instance.served(*(("--workers", str(workers)) if workers > 1 else ())) as served:
        maker = served.log_in()
        # A new user each time, because users may change their own profile. All users come first and admins last,
        # because an admin may disable any user.
        runs = [(caller, chosen, {} if caller == "guest" else
                 {"Authorization": f"Bearer {_newcomer(served, maker, caller)}"})
                for chosen, caller in product(("--include-operation-id", "--exclude-operation-id"), callers)]
        for caller, chosen, headers in runs:
            found += findings(run, served, caller, headers, chosen, ENDING)
    return found


def _newcomer(served: Served, maker: str, role: str) -> str:
    """Creates a user with the token of `maker`, and returns the user's access token."""
    email = f"{role}-{uuid4()}@example.org"
    status, made = served.call("POST", "/api/users", {"name": role, "email": email, "role": role, "password": PASSWORD},
                               maker)
    assert status == 201, made
    return served.log_in(email)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    parser.add_argument("--examples", type=int, default=20, help="requests of a kind for each operation")
    parser.add_argument("--seconds", type=int, help="go on for so long with each caller")
    parser.add_argument("--callers", nargs="+", choices=CALLERS, default=CALLERS)
    parser.add_argument("--workers", type=int, default=1, help="more than one: on granian")
    chosen = parser.parse_args()
    print(f"seed {chosen.seed}, {chosen.examples} examples", flush=True)
    began = monotonic()
    with tempfile.TemporaryDirectory() as folder:
        found = campaign(Run(chosen.seed, chosen.examples, seconds=chosen.seconds), Path(folder),
                         callers=chosen.callers, workers=chosen.workers)
    unknown, idle = compare(found, accepted())
    for entry in idle:
        print(f"found nothing for the accepted {entry.check} with {entry.status} of {', '.join(entry.operations)}")
    for finding in unknown:
        print(f"UNKNOWN: {finding}")
    print(f"seed {chosen.seed}: {len(found)} findings, {len(unknown)} of them unknown, in {monotonic() - began:.0f} s")
    return 1 if unknown else 0


if __name__ == "__main__":
    sys.exit(main())
