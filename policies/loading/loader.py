"""Loading a directory of files: a policy, or every finding that stands against it at once."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from ..evaluation.policy import Policy
from ..invariants import report
from ..invariants.lines import ALWAYS, INVARIANTS_FILE, Invariant, read
from ..syntax.conditions import branches_of, with_branches
from ..syntax.model import MODEL_FILE, read_model
from ..syntax.roles import ROLES_FILE, Roles, declared
from ..syntax.rules import COLUMNS, Reader, Rule
from ..syntax.text import END, decoded, meaningful
from ..syntax.vocabulary import Patterns, Vocabulary
from ..wording.finding import Finding, PolicyError, summed
from ..wording.suggestions import nearest
from . import check
from .files import Unreadable, own_text, read_bytes
from .outdated import find_outdated
from .sample import failing_functions

CASES_FILE = "tests.yaml"  # no policy file: the cases that a policy has to pass
# A copy such as `articles copy.csv` would bring back the lines that were taken out of the original.
FILE_NAME = re.compile(r"[a-z][a-z0-9_]*\.csv")
_NEARLY = re.compile(r"[^.].*\.csv(\.txt)?|model\.(conf\.txt|cfg|conf)|tests?\.ya?ml(\.txt)?", re.IGNORECASE)
_UNREAD = "nothing reads this file; is it meant to be a .csv file, model.conf or tests.yaml? Rename it, or move it away"
_ORPHAN = ("no installed collection has these rules; if a plugin that had them was taken out, move the file out of "
           "this folder")
_PERMISSION = re.compile(r"[a-z][a-z0-9_]*\.[a-z0-9_*]+")
_NO_LINES = f"{END}\n".encode()
_STRANGE = (f"these rules come with a plugin ({{}}). Put a file of this name into the policy folder in their place, "
            f"change {INVARIANTS_FILE}, or take the plugin out")
LARGEST_POLICY = 16 << 20  # bytes of all policy files together


class Broken(PolicyError):
    """Error: the policy is valid but breaks an invariant.

    of_plugins  the files of plugins, by name, with guilty lines
    """

    def __init__(self, findings: Iterable[Finding], of_plugins: Mapping[str, bytes] | None = None) -> None:
        super().__init__(findings)
        self.of_plugins = dict(of_plugins or {})


def load(
    directory: Path | str, vocabulary: Vocabulary, *, plugins: Mapping[str, Path] | None = None,
    required: Collection[str] = (), extended: bool = False, closing: bool = False,
) -> Policy:
    """The policy in `directory`: model.conf and every CSV file.

    `plugins` maps file names such as `notes.csv` to the rules that a plugin ships, used unless the directory
    has a file of that name. `required` are the shipped file names, which must be there. `extended`: the shipped
    model.conf with the branches that words of plugins want. `closing` as in `from_files`. Raises PolicyError with every
    finding.
    """
    findings: list[Finding] = []
    files = read_files(Path(directory), plugins or {}, findings)
    if extended:
        branches = branches_of(vocabulary.functions.values(), vocabulary.conditions.values())
        files[MODEL_FILE] = with_branches(files[MODEL_FILE].decode(), branches.values()).encode()
    unreadable = {finding.file for finding in findings}
    for name in required:
        if name not in files and name not in unreadable:
            findings.append(Finding(name, 0, _missing(name, set(files) - {*required, *(plugins or {})})))
    try:
        return from_files(files, vocabulary, findings, closing=closing)
    except Broken as error:
        guilty = {finding.file for finding in error.findings}
        strange = {name: files[name] for name in plugins or ()
                   if name in guilty and not os.path.lexists(Path(directory) / name)}
        advice = [Finding(name, 0, _STRANGE.format((plugins or {})[name])) for name in strange]
        raise Broken([*error.findings, *advice], strange) from None
    except PolicyError as error:
        patterns = Patterns(vocabulary)
        orphans = [name for name in files if required and name not in (*required, *(plugins or ()), INVARIANTS_FILE)
                   and _is_foreign(files[name], patterns)]
        raise PolicyError([*error.findings, *(Finding(name, 0, _ORPHAN) for name in orphans)]) from None


def read_files(directory: Path, plugins: Mapping[str, Path], findings: list[Finding]) -> dict[str, bytes]:
    """The bytes of every policy file by name, without the line in front of what was written from the database.

    Raises nothing: a file that cannot be read is a finding.
    """
    places = dict(plugins)
    try:
        places |= {place.name: place for place in directory.iterdir() if _is_policy(place.name)}
    except OSError as error:
        findings.append(Finding(str(directory), 0, f"the directory cannot be read: {error.strerror}"))
    files = {}
    for name, place in sorted(places.items()):
        if name != MODEL_FILE and not FILE_NAME.fullmatch(name):
            plain = name.casefold()
            near = f"; rename it {plain}" if FILE_NAME.fullmatch(plain) else ""
            findings.append(Finding(name, 0, f"is this a copy? A policy file has a name like articles.csv{near}"))
        try:
            files[name] = own_text(read_bytes(place))
        except Unreadable as error:
            findings.append(Finding(name, 0, str(error)))
        if sum(map(len, files.values())) > LARGEST_POLICY:
            findings.append(Finding(str(directory), 0, f"the files have more than {LARGEST_POLICY >> 20} MiB together"))
            break
    return files


def packaged(directory: Path, plugins: Mapping[str, Path]) -> frozenset[str]:
    """The names of the files that are those of a plugin's package: the directory has none of that name."""
    return frozenset(name for name in plugins if not os.path.lexists(directory / name))


def from_files(files: Mapping[str, bytes], vocabulary: Vocabulary, findings: list[Finding] | None = None, *,
               closing: bool = False) -> Policy:
    """Returns the policy of these files, by name. Raises PolicyError with all findings, including the given ones.

    The invariants are checked last, if the policy is otherwise valid. Broken is raised if it breaks them.
    With `closing`, rules that only an older version accepted are closed (`Policy.closed`) instead of being an error;
    so is a rule that allows what an invariant forbids, by a proof that the older version did not have. What was in
    force once is loaded so. A broken promise (`always`) is then no error: to close a rule would not keep it.
    """
    findings = [] if findings is None else findings
    for name in (MODEL_FILE, ROLES_FILE):
        if name not in files and not any(finding.file == name for finding in findings):
            findings.append(Finding(name, 0, "the file is missing"))
    functions = tuple(vocabulary.functions.values())
    model, wrong = read_model(files[MODEL_FILE], functions) if MODEL_FILE in files else (None, ())
    findings.extend(wrong)
    patterns = Patterns(vocabulary)
    conditions = model.conditions if model else None
    roles = frozenset(declared(files))
    branches = branches_of(functions, vocabulary.conditions.values())
    reader = Reader(roles, patterns, conditions, _areas(files, vocabulary), findings, branches)
    for name, content in sorted(files.items()):
        if name not in (MODEL_FILE, INVARIANTS_FILE):
            reader.read(name, content)
    reader.close()
    lines = reader.lines
    invariants = read(files.get(INVARIANTS_FILE, _NO_LINES), roles, patterns, conditions, findings)
    if not lines.rules:
        findings.append(Finding("", 0, "the policy has no rules: nobody could do anything"))
    # Of a file that is missing or unreadable, a finding says so already.
    if not any(one.file == ROLES_FILE for one in findings) or any(one.file == ROLES_FILE for one in lines.links):
        findings += Roles(lines.links).check()
    if model is not None:
        findings += (faults := check.matchers(model, patterns, vocabulary, roles))
        rules = [*lines.rules, *(one.rule for one in invariants if one.when)]
        # A part of the matcher that lost its brackets is asked of every line: none of them is at fault.
        findings += [one for one in check.conditions(model, rules, patterns, vocabulary, roles)
                     if one.file == MODEL_FILE or not faults]
        findings += failing_functions(model, vocabulary)
        outdated = find_outdated(model, lines.rules, patterns, vocabulary)
        if not closing and outdated.findings:
            findings += outdated.findings
            if all(one.outdated or one.severity != "error" for one in findings):
                closed = Policy(vocabulary, model, lines, files, "", outdated.rules)
                findings += _broken_besides(closed, invariants)
    if findings:
        raise PolicyError([*summed(findings), *(model.remarks if model else ())])
    assert model is not None
    policy = Policy(vocabulary, model, lines, files, digest(files), outdated.rules)
    if closing:
        invariants = tuple(one for one in invariants if one.kind != ALWAYS)
    while broken := report.broken(policy, invariants):
        guilty = _guilty(policy, broken) if closing else frozenset[Rule]()
        if not guilty:
            raise Broken(broken)
        policy = Policy(vocabulary, model, lines, files, policy.version, policy.closed | guilty)
    return policy


def _broken_besides(closed: Policy, invariants: Iterable[Invariant]) -> list[Finding]:
    """Returns the breaches of invariants by a policy whose outdated rules are closed.

    So an upgrade names all problems at once. `always` lines are left out: the closed rules alone may break them.
    """
    restrictive = [one for one in invariants if one.kind != ALWAYS]
    return [replace(one, outdated=True) for one in report.broken(closed, restrictive)]


def _guilty(policy: Policy, broken: Iterable[Finding]) -> frozenset[Rule]:
    """The rules at which it is said that they allow what an invariant forbids."""
    places = {(one.file, one.line) for one in broken}
    return frozenset(rule for rule in policy.rules if rule.eft == "allow" and (rule.file, rule.line) in places
                     ) - policy.closed


def unread(directory: Path) -> list[Finding]:
    """A warning for each file whose name is nearly that of a policy file or of the cases, and that nothing reads."""
    try:
        names = sorted(place.name for place in directory.iterdir())
    except OSError:
        return []  # said by `load`
    return [Finding(name, 0, _UNREAD, "warning") for name in names
            if _NEARLY.fullmatch(name) and not _is_policy(name) and name != CASES_FILE]


def digest(files: Mapping[str, bytes]) -> str:
    """The version of a policy: the same files, the same version."""
    whole = hashlib.sha256()
    for name, content in sorted(files.items()):
        whole.update(f"{name}\0{len(content)}\0".encode())
        whole.update(content)
    return whole.hexdigest()[:16]


def _areas(files: Mapping[str, bytes], vocabulary: Vocabulary) -> frozenset[str]:
    """Returns the names that a scope can have: collections, which have a file, and resources without rows (profile)."""
    resources = (*vocabulary.resources.values(), *vocabulary.left_out.values())
    rowless = (resource.name for resource in resources if not resource.columns)
    return frozenset((*rowless, *(Path(name).stem for name in files if name != INVARIANTS_FILE)))


def _is_foreign(content: bytes, patterns: Patterns) -> bool:
    """True if each line is about a permission that there is not, as in the rules of a plugin that is not installed."""
    lines = [[column.strip() for column in line.split(",")] for _, line in meaningful(decoded("", content, []))]
    return bool(lines) and all(
        kind in ("p", "p2") and len(columns) == len(COLUMNS[kind]) and _PERMISSION.fullmatch(columns[1])
        and not patterns.covered(columns[1]) and not patterns.gone(columns[1]) for kind, *columns in lines)


def _missing(name: str, others: Collection[str]) -> str:
    near = nearest(name, others)
    renamed = f", or rename {near}" if near else ""
    given_up = "" if name in (MODEL_FILE, ROLES_FILE) else "; or do without it: gatepost policy accept"
    return f"the file is missing; `gatepost policy adopt {Path(name).stem}` brings it{renamed}{given_up}"


def _is_policy(name: str) -> bool:
    return name == MODEL_FILE or (name.endswith(".csv") and not name.startswith("."))
