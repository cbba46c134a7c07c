"""Additions of an upgrade: the shipped rules about new permissions, and an instance's files with them.

A shipped rule (`p` or `p2`) is *new* for an instance when 0.1 had none of the permissions that it covers, and when no
rule and no comment in the CSV files of the instance contains its permission column, letter for letter. A pattern of the
instance that happens to cover the permission (`*`, `user.*`) does not count, because it says nothing about the roles
that it does not name. A declined rule stays declined as a comment.

A permission with a fallback is new, too, until the files mention it. Its rules are not shipped ones: they are the
instance's own rules about the fallback, with the permission in its place. So they change nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from ..evaluation.policy import Policy
from ..invariants.lines import INVARIANTS_FILE
from ..loading import first_release
from ..loading.loader import from_files
from ..syntax.conditions import WHEN, Branch
from ..syntax.expression import Comparison, conjunction, text
from ..syntax.model import MODEL_FILE, read_model
from ..syntax.rules import Rule, ScopeRule
from ..syntax.text import END, decoded, meaningful
from ..wording.finding import PolicyError
from .diff import diff

HEADING = "# New with an upgrade, added by `gatepost policy adopt --new`:"
_FIRST_BRANCH = re.compile(rb"^[ \t]*p\.when == 'always' \|\| \\(\r?)\n", re.MULTILINE)


class NotAddable(Exception):
    """Error: the new rules cannot be added to the instance's files. The text says why, and what to do by hand."""


@dataclass(frozen=True)
class Additions:
    """The rules and conditions that an instance's files lack.

    permissions  the new permissions that the rules are about
    lines        file name → its new rules: as they are shipped, and those that a fallback in force means
    conditions   the words of the `when` column that they need and model.conf lacks, with their shipped meaning
    fallbacks    those of the permissions that a fallback decides in the instance, each with the fallback
    """

    permissions: tuple[str, ...]
    lines: Mapping[str, tuple[str, ...]]
    conditions: Mapping[str, Branch]
    fallbacks: Mapping[str, str]


def additions(policy: Policy, shipped: Policy, packaged: Collection[str] = ()) -> Additions:
    """The additions of `shipped` for the instance whose files are `policy`. Both have the same vocabulary.

    A fallback about which a file of a plugin's package has rules (`packaged`) stays in force: the file is not ours.
    """
    texts = [content.decode("utf-8") for name, content in policy.files.items()
             if name not in (MODEL_FILE, INVARIANTS_FILE)]

    def mentioned(act: str) -> bool:
        written = re.compile(rf"(?<![\w.*]){re.escape(act)}(?![\w*]|\.[\w*])")
        return any(written.search(text) for text in texts)

    new = {permission for permission in shipped.vocabulary.by_permission
           if permission not in first_release.PERMISSIONS and not mentioned(permission)}

    def is_new(line: Rule | ScopeRule) -> bool:
        return shipped.patterns.matching(line.act) <= new and not mentioned(line.act)

    rules = [rule for rule in shipped.rules if is_new(rule)]
    added: list[Rule | ScopeRule] = [*rules, *(scope for scope in shipped.scopes if is_new(scope))]
    covered = {permission for line in added for permission in shipped.patterns.matching(line.act)}
    lines = _as_shipped(added, shipped)
    decided = [line for line in policy.fallback_lines() if not mentioned(line.act)]
    # Only an allow rule names a permission.
    named = {line.act for line in decided if isinstance(line, Rule) and line.eft == "allow"} - covered - {
        line.act for line in decided if line.file in packaged}
    for line in decided:
        if line.act in named:
            lines[line.file] = (*lines.get(line.file, ()), str(line))
    words = {rule.when: shipped.conditions[rule.when] for rule in rules if rule.when not in policy.conditions}
    return Additions(tuple(sorted(covered | named)), dict(sorted(lines.items())), words,
                     {permission: policy.fallbacks[permission] for permission in sorted(named)})


def narrowed(policy: Policy, shipped: Policy) -> list[str]:
    """The messages about each rule of 0.1 that the instance still has and that now ships with less: both rules, and how
    to take over the shipped one."""
    sentences = []
    for old, new in first_release.NARROWED:
        condition = shipped.conditions[new.split(", ")[3]]
        for rule in policy.rules:
            if old == f"p, {rule.sub}, {rule.act}, {rule.when}, {rule.eft}":
                sentences.append(f"The shipped rules now say `{new}`, which gives less; yours stay: `{old}` "
                                 f"({rule.place}).")
                if condition.name in policy.conditions:
                    sentences.append("To take it over, write it there.")
                else:
                    sentences += [f"To take it over, first add this to {MODEL_FILE}, below the branch of `always`, "
                             "then write it there:", _branch(condition)]
    return sentences


def extended(policy: Policy, shipped: Policy, added: Additions) -> tuple[dict[str, bytes], Policy]:
    """File name → new content of each file that changes, and the policy with them. model.conf is the first, because
    the others use its words.

    Raises NotAddable unless the files with them can be used and differ in what is allowed by new permissions alone.
    """
    files: dict[str, bytes] = {}
    if added.conditions:
        files[MODEL_FILE] = _with_conditions(policy, added.conditions.values())
    for name, lines in added.lines.items():
        if name in policy.files:
            files[name] = _with_lines(policy.files[name], lines)
        elif len(lines) == len(list(meaningful(_texts(shipped, name)))):
            files[name] = shipped.files[name]
        else:
            files[name] = "\n".join([HEADING, *lines, END, ""]).encode()
    try:
        after = from_files({**policy.files, **files}, policy.vocabulary)
    except PolicyError as error:
        raise NotAddable(f"With the new rules the files could not be used:\n{error}") from None
    meant = set(added.permissions) - added.fallbacks.keys()
    if others := [str(change) for change in diff(policy, after) if change.permission not in meant]:
        raise NotAddable("The new rules would change more than the new permissions:\n" + "\n".join(others))
    return files, after


def _as_shipped(added: Iterable[Rule | ScopeRule], shipped: Policy) -> dict[str, tuple[str, ...]]:
    places: dict[str, list[int]] = {}
    for line in added:
        places.setdefault(line.file, []).append(line.line)
    return {name: tuple(_texts(shipped, name)[number - 1] for number in sorted(numbers))
            for name, numbers in sorted(places.items())}


def _texts(policy: Policy, name: str) -> list[str]:
    return decoded(name, policy.files[name], [])


def _with_lines(content: bytes, lines: Iterable[str]) -> bytes:
    """The file with these lines before its last one."""
    before, end, after = content.rpartition(END.encode())
    newline = "\r\n" if b"\r\n" in content else "\n"
    return before + newline.join(["", HEADING, *lines, ""]).encode() + end + after


def _with_conditions(policy: Policy, wanted: Iterable[Branch]) -> bytes:
    """model.conf with these branches below that of `always`, if there is nothing but an `||` beside a branch."""
    content = policy.files[MODEL_FILE]
    branches = [_branch(one) for one in wanted]
    by_hand = "\n".join(branches)
    refusal = NotAddable(f"{MODEL_FILE} lacks conditions that the new rules need, and its matcher has another form "
                         "than the shipped one. Add them by hand below the branch of `always`, then try again:\n"
                         + by_hand)
    places = list(_FIRST_BRANCH.finditer(content))
    if len(places) != 1:
        raise refusal
    newline = places[0][1] + b"\n"
    added = b"".join(branch.encode() + newline for branch in branches)
    changed = content[:places[0].end()] + added + content[places[0].end():]
    model, _ = read_model(changed, tuple(policy.vocabulary.functions.values()))
    existing = {word: one.expression for word, one in policy.conditions.items()}
    if model is None or existing | {one.name: one.expression for one in wanted} != {
            word: one.expression for word, one in model.conditions.items()}:
        raise refusal
    return changed


def _branch(condition: Branch) -> str:
    named = conjunction((Comparison("==", WHEN, condition.name), condition.expression))
    return f"    {text(named)} || \\"
